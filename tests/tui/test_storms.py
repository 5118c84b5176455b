"""Storms in a real terminal, against the fake endpoint: sizes, hostile bytes, floods of deltas."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Blob, Text
from prunecli.session.log import read_log
from tests.endpoint.script import Call, Item, Reply, Thinking
from tests.endpoint.server import serve
from tests.tui.test_program import Terminal

pytestmark = pytest.mark.terminal

END = "ΩtheendΩ"
WORDS = (
    "Some **bold** words and `code`, a [link](https://example.com) and 漢字 👩\u200d👧 in a paragraph.\n\n"
)
CODE = "```python\ndef walk(node):\n    '''All of them.'''\n    return [node]\n```\n\n"
UNFOLD_PAGE_TOP_PAGE = ("\x0f", "\x1b[5~", "\x1b[5~", "\x1b[1;5H", "\x1b[6~", "\x1b[6~")
TABLE = "| a | b |\n|---|--:|\n| one | 1 |\n| two words | 22 |\n\n- item\n  - nested\n\n"

_OURS = re.compile(
    rb"\x1b\[[0-9;:]*m"  # colors
    rb"|\x1b\[\d*(?:;\d*)?[GHJK]|\x1b\[6n"  # where to draw
    rb"|\x1b\[\?(?:7|25|100[0236]|1004|1006|1015|1016|1049|2004|2026|2027|2048)[hl]"  # modes of the terminal
    rb"|\x1b\[\?(?:2026|2027|2048)\$p"  # and whether it has them
    rb"|\x1b\[[<>=][\d;]*u|\x1b\[>1u|\x1b\[\?u|\x1b\[>0q|\x1b\[c"  # its keyboard and its name
    rb"|\x1b\[2[23];[02]t"  # its title, kept and brought back
    rb"|\x1b\][02];(?:prunecli|Go)[^\x00-\x1f\x7f]*(?:\x07|\x1b\\)"  # and what we make of it
    rb"|\x1b\]22;[a-z-]*(?:\x07|\x1b\\)"  # the pointer's shape
)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(url: str, *flags: str) -> Terminal:
        words = ["--model", "claude-sonnet-5-5", "--set", "permissions.mode=auto", *flags]
        opened.append(Terminal(tmp_path, *words, ANTHROPIC_API_KEY="sk-ant-x", ANTHROPIC_BASE_URL=url))
        opened[-1].shows("auto")
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def said(folder: Path) -> list[str]:
    """Every text of the model in the logs below a folder; the long ones lie beside them."""
    texts: list[str] = []
    for path in folder.rglob("*.jsonl"):
        for record in read_log(path).records if "sessions" in path.parts else ():
            for block in record.event.content if isinstance(record.event, AssistantMessage) else ():
                if isinstance(block, Text):
                    texts.append(block.text)
                elif isinstance(block, Blob):
                    texts.append((path.parent / "blobs" / block.sha256).read_text("utf-8"))
    return texts


def storm(program: Callable[..., Terminal], folder: Path, count: int) -> tuple[list[str], list[str]]:
    """So many sizes while a text streams: the text, and what is in the log. At the end it is on the screen."""
    chance = random.Random(7)
    text = (WORDS + CODE + TABLE) * 60 + f"\n\n{END}\n"
    with serve([Reply(text, delay=0.002)]) as endpoint:
        terminal = program(endpoint.base_url)
        terminal.send("go\r")
        terminal.shows("bold")
        odd = [(1, 1), (1, 500), (200, 1), (200, 500), (24, 80), (2, 2), (0, 0), (48, 160)]
        for number in range(count):
            rows, columns = (
                odd[number % len(odd)] if number % 3 else (chance.randrange(1, 200), chance.randrange(1, 500))
            )
            terminal.resize(rows, columns)
            terminal.rest(0.006)  # a storm, but each size is seen
            terminal.forget()
        terminal.resize(30, 100)
        terminal.until(lambda: END in "".join(said(folder)[-1:]) or terminal.has_ended())
        assert not terminal.has_ended()
        terminal.forget()
        terminal.resize(31, 101)
        terminal.shows(END)
        terminal.send("typed")
        terminal.shows("typed")
    return [text], said(folder)


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.long)])
def test_a_storm_of_sizes_while_text_streams(
    program: Callable[..., Terminal], tmp_path: Path, count: int
) -> None:
    text, kept = storm(program, tmp_path, count)
    assert kept == text


def evil(seed: int, size: int) -> str:
    """Hostile text of about so many characters: what acts, what hides, and all of it cut and mixed."""
    chance = random.Random(seed)
    pieces = [
        "\x1b]52;c;aGk=\x07",
        "\x1b[31m",
        "\x1b[2J",
        "\x1b[?1049l",
        "\x1b]0;owned\x07",
        "\x1b]8;;file:///etc/passwd\x1b\\",
        "\x1bP+q544e\x1b\\",
        "\x9b31m",
        "\x9d52;c;aGk=\x9c",
        "\x1bc",
        "\x07\x08\x0b\x0c\x0e\x7f",
        "\u202e\u2066\u200b",
        "&#x1b;[31m",
        "<http://x/%1b[31m>",
        "[@click=app.bell]x[/]",
        "[bold]x[/bold]",
        "[a](javascript:alert)",
        "\U000e0041",
        "```\n",
        "| a |\n|---|\n",
        "\r",
        "\n\n",
        "- ",
        "word ",
    ]
    out: list[str] = []
    while sum(map(len, out)) < size:
        piece = chance.choice(pieces)
        out.append(piece if chance.random() < 0.8 else piece[: chance.randrange(1, len(piece) + 1)])
    return "".join(out)


def hostile(seed: int, size: int) -> Sequence[Item]:
    """An answer in which every field is hostile, a call whose output is, and one that does not exist."""
    output = f"printf '%s' \"$(cat evil)\"; printf '\\033]52;c;aGk=\\007 {END}1\\n'; sleep 0.3"
    return [
        Reply(
            [
                Thinking(evil(seed, size)),
                evil(seed + 1, size),
                Call("bash", {"command": output}),
                Call("read", {"path": "evil\x1b[31m\x9b2J"}),
                Call("nosuch", {"a\x1b[2J": evil(seed + 2, 300)}),
            ],
            chunk=17,
        ),
        Reply(evil(seed + 3, size) + f"\n\n```\n```\n\n{END}2\n", chunk=23),
    ]


@pytest.mark.parametrize("size", [3_000, pytest.param(60_000, marks=pytest.mark.long)])
def test_no_sequence_of_others_reaches_the_terminal(
    program: Callable[..., Terminal], tmp_path: Path, size: int
) -> None:
    """Model, thinking, tool names, arguments, output, errors."""
    assert foreign(program, tmp_path, size) == []


def foreign(program: Callable[..., Terminal], folder: Path, size: int) -> list[bytes]:
    """What reaches the terminal of a hostile conversation, looked at from its end to its top, and is not ours."""
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / "evil").write_bytes(
        evil(5, 2_000).encode("utf-8", "surrogatepass").replace(b"\0", b"")
    )
    with serve(hostile(11, size)) as endpoint:
        terminal = program(endpoint.base_url)
        everything = bytearray()
        terminal.send("go\r")
        terminal.shows(f"{END}2")
        for key in UNFOLD_PAGE_TOP_PAGE:
            everything += terminal.seen
            terminal.forget()
            terminal.send(key)
            terminal.send("Ω")
            terminal.shows("Ω")
        everything += terminal.seen
    left = _OURS.sub(b"", bytes(everything))
    return sorted(set(re.findall(rb"\x1b.{0,12}|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", left)))


@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_line_of_a_megabyte_keeps_nobody_waiting(
    program: Callable[..., Terminal], tmp_path: Path, fence: str
) -> None:
    """The keyboard is answered while it comes, and its end is there."""
    text = fence + "0123456789abcdef" * 62_500 + END
    with serve([Reply(text, chunk=2_000)]) as endpoint:
        terminal = program(endpoint.base_url)
        terminal.send("go\r")
        terminal.shows("abcdef0123")
        terminal.send("typed")
        terminal.shows("typed")
        terminal.shows(END)
        terminal.until(lambda: said(tmp_path))
    assert said(tmp_path) == [text]
