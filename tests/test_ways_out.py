"""Fuzzed text through every way out to a terminal: screen, plain, headless, questions, command line. 0 bytes act.

A short dose always; `-m long` sends 200,000 strings.
"""

import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.__main__ import run as run_words
from prunecli.agent.asking import Asked
from prunecli.cli.app import app
from prunecli.commands.command import Choice, Choose, Table
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.front.headless.run import OutputFormat, run_headless
from prunecli.front.presentation.entry_text import choice_lines, entry_lines, sheet_lines, table_lines
from prunecli.front.presentation.questions import sheet_of
from prunecli.model.codec import well_formed
from prunecli.model.events import SessionStarted, SettingChanged, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.touches import Touches
from prunecli.session.session import Session
from prunecli.util.errors import ConnectionLost
from tests.scripted import calls, fails, says
from tests.starting import start
from tests.tui.transcript.test_hostile import acting, everywhere

SEQUENCES = (
    *(
        "\x1b[2J",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\x90q\x1b\\",
        "\x1bc",
        "\x07",
        "\x08",
        "\r",
    ),
    *(
        "\x1b[6n",
        "\x1b]8;;file:///etc\x1b\\",
        "\x1b[?1049l",
        "\x1bP+q\x1b\\",
        "\x05",
        "\x0e",
        "\x7f",
        "\x85",
        "\x9d0;x\x9c",
    ),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\u115f",
        "\u3164",
        "\ud800",
        "\U000e0041",
        "\x00",
        "[@click=app.quit]x[/]",
    ),
)
ORDINARY = ("a", "README.md", "日本", "é", " ", "`", "$(id)", "-", "\n", "\t", "[bold]", "&#27;", "%1b")
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
BATCH = 50


def strings(count: int, seed: int) -> Iterator[str]:
    """Short texts in which control sequences and ordinary ones are mixed."""
    draw = random.Random(seed)
    for _ in range(count):
        parts = draw.choices((*SEQUENCES, *ORDINARY), k=draw.randint(1, 6))
        parts.insert(draw.randint(0, len(parts)), chr(draw.randrange(0x110000)))
        yield "".join(parts)


def foreign(lines: Iterable[str]) -> set[str]:
    """The characters that could act on a terminal; line breaks and tabs are ours."""
    return {
        char
        for line in lines
        for char in line
        if char not in "\n\t\u200d" and unicodedata.category(char) in FORBIDDEN
    }


def screen(text: str) -> set[str]:
    return acting(everywhere(text), 60) - {"\u200d"}


def plain(text: str) -> set[str]:
    table = Table(text, (text, text), ((text, text),), (), text, text)
    choose = Choose(text, "x", (Choice(text, text, text),), about=text)
    entries = (line for entry in everywhere(text) for line in entry_lines(entry))
    return foreign([*entries, *table_lines(table), *choice_lines(choose)])


def questions(text: str) -> set[str]:
    found = set[str]()
    for touches in (Touches(runs=(text,)), Touches(changes=(text,)), Touches(reads=(text,)), None):
        given = {"command": text, "path": text, "content": text, text: text}
        asked = Asked(ToolUse("t", text, given), touches, text)
        sheet = sheet_of(asked, lambda _: text, Path("/w"))
        shown = (sheet.title, sheet.text, sheet.reason, sheet.beside, sheet.rule, sheet.covers)
        found |= foreign([*sheet_lines(sheet), *shown])
    return found


WAYS: dict[str, Callable[[str], set[str]]] = {"screen": screen, "plain": plain, "questions": questions}
DOSES = [pytest.param(60, id="short"), pytest.param(25_000, id="long", marks=pytest.mark.long)]


@pytest.mark.parametrize("count", DOSES)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_acts_on_the_terminal(way: str, count: int) -> None:
    for text in strings(count, 1):
        assert WAYS[way](text) == set(), repr(text)


@pytest.mark.parametrize(
    "count", [pytest.param(100, id="short"), pytest.param(40_000, id="long", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
async def test_nothing_of_a_headless_run_acts_on_the_terminal(
    tmp_path: Path, form: OutputFormat, count: int
) -> None:
    """The reply, a tool's output, the prompt, an unknown tool's name, and the error that ends the run."""
    drawn = list(strings(count, 2))
    for number, at in enumerate(range(0, count, BATCH)):
        text = well_formed(" ".join(drawn[at : at + BATCH]))  # as each provider's stream makes it
        script = [
            calls(
                ToolUse("t", "bash", {"command": f"printf %s {text!r}"}),
                ToolUse("u", text[:40], {}),
                text=text,
            ),
            says(text) if number % 2 else fails(ConnectionLost(text, text, permanent=True)),
        ]
        out, err = list[str](), list[str]()
        runtime = start(tmp_path / str(number), script, sets=("permissions.mode=auto", "sandbox.mode=off"))
        await run_headless(runtime, (text,), form=form, out=out.append, err=err.append)
        assert foreign(out) == set(), form
        assert foreign(err) == set(), form
        assert number % 2 == 0 or out


@pytest.mark.parametrize(
    "count", [pytest.param(30, id="short"), pytest.param(5_000, id="long", marks=pytest.mark.long)]
)
def test_nothing_of_the_command_line_acts_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    """`prunecli trust`, wrong flags and sessions, errors of a configuration."""
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "80"}
    for text in strings(count, 3):
        word = text.replace("\0", "")
        for words in (
            ["trust", f"/nonexistent/{word}"],
            ["--resume", word],
            [f"--x{word}"],
            ["sessions", "show", f"x{word}"],
            ["--set", f"{word}=1", "-p", "x"],
            ["--model", word or "x", "-p", "x"],
        ):
            try:
                run_words(words, environ)
            except SystemExit:
                pass
            said = capsys.readouterr()
            assert foreign([said.out, said.err]) == set(), words


@pytest.mark.parametrize(
    "count", [pytest.param(60, id="short"), pytest.param(5_000, id="long", marks=pytest.mark.long)]
)
def test_no_title_name_or_folder_of_a_listed_session_acts_on_the_terminal(tmp_path: Path, count: int) -> None:
    """As an imported or edited log may hold them, with a copy and a task."""
    environ = {"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data"), "COLUMNS": "80"}
    folder = tmp_path / "data" / "sessions" / "x"
    drawn = [well_formed(text) for text in strings(count, 4)]
    for number, text in enumerate(drawn):
        parent = {"id": f"s{number - 1}", "seq": 1, **({"tool_use_id": text} if number % 3 else {})}
        started = SessionStarted(f"s{number}", text, text, parent=parent if number % 2 else None)
        session = Session(started, Context(Chars4()), path=folder / f"s{number}.jsonl")
        session.emit(UserMessage((Text(text),)))
        if number % 4 > 1:
            session.emit(SettingChanged("session.name", text))
        session.close()
    runner = CliRunner(env=environ)
    for words in (["list"], ["list", "--tree"], ["list", "--json"], ["search", "a"], ["show", "s1"]):
        done = runner.invoke(app, ["sessions", *words])
        assert done.exit_code == 0, done.output
        assert done.output.count("\n") >= 1
        assert foreign([done.output]) == set(), words
    shown = runner.invoke(app, ["sessions", "list", "--tree"]).output
    assert len(shown.splitlines()) == count, "each session stays on a line of its own"
