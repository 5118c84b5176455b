"""The pictures of the README and of docs/ show what the program draws now."""

import re
from pathlib import Path

from tests.screenshots.make import FOLDER, pictures
from tests.tui.snapshots.picture import settled

NAMES = {"context", "session", "cost"}


async def test_the_pictures_of_the_readme_are_what_the_program_draws(tmp_path: Path) -> None:
    drawn = set()
    async for name, screen in pictures(tmp_path):
        kept = (FOLDER / f"{name}.svg").read_text("utf-8")
        picture = await settled(screen, "prunecli", kept)
        drawn.add(name)
        if name == "session":
            shown = screen.screen_text()
            assert "lexer.py   pruned" in shown
            assert re.search(
                r"ctx \S+ \d+% · scanned \S+ · pruned \S+ · protected \S+ · saved \$0\.\d*[1-9]", shown
            )
        again = "python -m tests.screenshots.make"
        assert picture == kept, f"{name} changed; look, then run {again}:\n{screen.screen_text()}"
    assert drawn == NAMES == {path.stem for path in FOLDER.glob("*.svg")}
