"""What a question shows of commands that already ran."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from prunecli.agent.asking import Asked
from prunecli.front.presentation.entry_text import sheet_lines
from prunecli.front.presentation.proposals import MANY, shown_changes
from prunecli.front.presentation.questions import Sheet, sheet_of
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.tools.processes.sandboxing import Blocked
from tests.proposals.laying import Trial, chosen_here
from tests.proposals.laying import trial as layered


def trial(folder: Path) -> AbstractContextManager[Trial]:
    chosen = chosen_here(folder)
    if not chosen.overlays:
        pytest.skip("needs bubblewrap and overlays")
    return layered(folder, chosen)


def sheet(*commands: str, **given) -> Sheet:
    call = ToolUse("t1", "bash", {"command": commands[-1]})
    return sheet_of(
        Asked(call, Touches(runs=commands), given.pop("reason", ""), **given), lambda _: None, Path("/w")
    )


async def shown(folder: Path, command: str) -> list[tuple[str, str, str]]:
    with trial(folder) as one:
        (one.workspace / "a.py").write_text("x = 1\ny = 2\n")
        (one.workspace / "run.sh").write_text("true\n")
        _, code = await one.run(command)
        assert code == 0
        return [(change.verb, change.path, change.outcome) for change in shown_changes(one.freeze())]


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("echo z = 3 >> a.py", [("changed", "a.py", "+1")]),
        ("sed -i s/1/5/ a.py; rm run.sh", [("changed", "a.py", "+1 −1"), ("deleted", "run.sh", "−1")]),
        ("mkdir -p d/e; echo hi > d/e/f", [("new", "d/e/f", "+1")]),
        ("mkdir -p d/e", [("new", "d", "folder")]),
        ("touch none; chmod +x run.sh", [("new", "none", "empty"), ("changed", "run.sh", "executable")]),
        ("ln -s a.py l", [("new", "l", "link to a.py")]),
        (r"printf '\0\1' > bin", [("new", "bin", "binary, 2 bytes")]),
        ("echo x > z; echo '{}' > package.json", [
            ("new", "package.json", "+1 · controls other programs"), ("new", "z", "+1"),
        ]),
        ("printf 'x' > $'b\\e[2J'", [("new", "b␛[2J", "+1")]),
        (f"mkdir d; for n in $(seq {MANY + 1}); do echo 1 > d/$n; done", [
            ("new", "d/", f"{MANY + 1} files, 26 bytes"),
        ]),
    ],
)  # fmt: skip
async def test_each_changed_file_is_a_line_and_those_that_control_programs_come_first(
    tmp_path: Path, command: str, rows: list[tuple[str, str, str]]
) -> None:
    assert await shown(tmp_path, command) == rows


async def test_a_controlling_file_is_never_hidden_in_the_line_of_a_folder(tmp_path: Path) -> None:
    command = f"mkdir d; for n in $(seq {MANY + 1}); do echo > d/$n; done; echo > d/AGENTS.md"
    rows = await shown(tmp_path, command)
    assert [path for _, path, _ in rows] == ["d/AGENTS.md", "d/"]


async def test_the_question_names_the_command_and_shows_the_diffs_in_text_too(tmp_path: Path) -> None:
    with trial(tmp_path) as one:
        await one.run("echo one > a")
        asked = sheet("make", proposal=one.freeze())
        assert asked.title == "`make` changed 1 file. Keep it?"
        lines = sheet_lines(asked)
        assert "  new  a  +1" in lines
        assert any(line.strip() == "+one" for line in lines)
        assert "1 or y: Yes, keep it" in lines
        assert sheet("make", "ls", proposal=one.freeze()).title == "2 commands changed 1 file. Keep it?"


@pytest.mark.parametrize(
    ("blocked", "title"),
    [
        (Blocked(network=True), "Run `npm i` again with network?"),
        (Blocked(reads=("~/.x",)), "Run `npm i` again and let it read ~/.x?"),
        (Blocked(outside=True), "Run `npm i` again outside the sandbox?"),
        (Blocked(), "Run `npm i` again?"),
    ],
)
def test_the_question_after_a_wall_says_what_the_second_run_gets(blocked: Blocked, title: str) -> None:
    asked = sheet("npm i", reason="needs network: registry.npmjs.org", again=True, blocked=blocked)
    assert (asked.title, asked.text, asked.reason) == (title, "npm i", "Needs network: registry.npmjs.org")
    assert (asked.yes, asked.no) == ("Yes, run it again", "No, and tell the model why")


def test_only_the_first_line_of_a_long_command_is_in_the_title() -> None:
    assert sheet("cat <<X\nsecond\nX", again=True).title == "Run `cat <<X …` again?"
    assert os.linesep not in sheet("a\x1b[2J\nb", again=True).title
