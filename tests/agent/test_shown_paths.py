"""What the model and the user read of a file inside the workspace names it relative to the working directory."""

from pathlib import Path

import pytest

from prunecli.model.events import ToolResult
from prunecli.model.messages import Json, ToolUse, plain_text
from prunecli.tools.files.workspace import seen_in
from tests.scripted import calls, says
from tests.starting import start

CASES: list[tuple[str, dict[str, Json], str]] = [
    ("read", {"path": "none.txt"}, "none.txt does not exist."),
    ("read", {"path": "{cwd}/none.txt"}, "none.txt does not exist."),
    ("read", {"path": "folder/notez.md"}, "folder/notez.md does not exist. Did you mean folder/notes.md?"),
    ("read", {"path": "folder"}, "folder is a folder. It contains: notes.md"),
    ("read", {"path": "binary"}, "binary is binary data (4 bytes), not text."),
    ("ls", {"path": "{cwd}/none"}, "none does not exist."),
    ("grep", {"pattern": "a", "path": "{cwd}/none"}, "none does not exist."),
    ("edit", {"path": "folder", "old_string": "a", "new_string": "b"}, "folder is a folder."),
    ("read", {"path": "/none/at/all"}, "/none/at/all does not exist."),
]


@pytest.mark.parametrize(("name", "given", "expected"), CASES)
async def test_an_error_names_a_file_relative_to_the_working_directory(
    tmp_path: Path, name: str, given: dict[str, Json], expected: str
) -> None:
    folder = tmp_path / "work" / "folder"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text("a")
    (tmp_path / "work" / "binary").write_bytes(b"\0\1\2\3")
    asked = {key: str(value).format(cwd=tmp_path / "work") for key, value in given.items()}
    script = [calls(ToolUse("toolu_1", name, asked)), says("I see.")]
    runtime = start(tmp_path, script, sets=("permissions.mode=auto",))
    await runtime.submit("look")
    (result,) = [one.event for one in runtime.session.records if isinstance(one.event, ToolResult)]
    assert plain_text(result.content) == expected
    await runtime.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/w/p/a.py: no", "a.py: no"),
        ("see '/w/p/a b', /w/p/c", "see 'a b', c"),
        ("/w/pp/a, /x/w/p/a and ~/w/p/a", "/w/pp/a, /x/w/p/a and ~/w/p/a"),
        ("/w/p is gone, so is /w/p/", "/w/p is gone, so is /w/p/"),
    ],
)
def test_only_paths_below_the_folder_are_shortened(text: str, expected: str) -> None:
    assert seen_in(text, "/w/p") == expected
