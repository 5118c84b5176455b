"""The program in a pseudo-terminal: what only a real one shows."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.terminal

ROOT = Path(__file__).parents[2]
LEFT = b"\x1b[?1049l"
ASKED_FIRST = "--set", "sandbox.proposals=false"
"""Commands are asked about before they run, even behind a sandbox."""


class Terminal:
    """A pseudo-terminal with the program in it."""

    wrapper: tuple[str, ...] = ()
    """Words before the program's own."""
    trust: tuple[str, ...] = ("--trust",)

    def __init__(self, folder: Path, *flags: str, **environ: str) -> None:
        self.home, self.work = folder / "home", folder / "work"
        temporary = folder / "tmp"  # a program that is killed leaves its folders there
        for path in (self.home, self.work, temporary):
            path.mkdir(exist_ok=True)
        given = {
            "HOME": str(self.home),
            "TMPDIR": str(temporary),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            **environ,
        }
        words = ["--model", "demo", *self.trust, *flags]
        self.seen = b""
        self.file, theirs = pty.openpty()
        self.resize(30, 100)
        wrapper = self.wrapper or (("env",) if "TERM" in environ else ())  # read while libraries are imported
        if wrapper:
            self.process: Any = subprocess.Popen(
                [*wrapper, sys.executable, "-m", "prunecli", *words],
                cwd=self.work,
                env=given,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        else:
            streams = (theirs, theirs, theirs)
            self.process = preloaded.start(words, cwd=self.work, env=given, streams=streams, terminal=True)
        os.close(theirs)
        self.is_open = True

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, data: str) -> None:
        os.write(self.file, data.encode())

    def read(self, seconds: float) -> None:
        """Reads what is drawn next, for which it waits so many seconds at most."""
        if select.select([self.file] if self.is_open else [], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.file, 65_536)
            except OSError:  # the program closed its side and is about to end
                self.is_open = False

    def until(self, condition: Callable[[], object]) -> None:
        """Reads what is drawn until something is so."""
        wait_until(condition, lambda: self.seen[-3_000:].decode("utf-8", "replace"), pause=self.read)

    def rest(self, seconds: float) -> None:
        """What is drawn while nobody types for so many seconds: whether a key answers a question hangs on time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def shows(self, text: str) -> None:
        self.until(lambda: text.encode() in self.seen)

    def ready(self) -> "Terminal":
        """The agent is there: the status line has its mode."""
        self.shows("ask")
        return self

    def forget(self) -> None:
        self.seen = b""

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def is_cooked(self) -> bool:
        flags = termios.tcgetattr(self.file)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE)
        if self.file >= 0:
            os.close(self.file)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


@pytest.fixture
def program(tmp_path: Path, terminals: list[Terminal]) -> Callable[..., Terminal]:
    def start(*flags: str, **environ: str) -> Terminal:
        terminals.append(Terminal(tmp_path, *flags, **environ))
        return terminals[-1]

    return start


@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)])
def test_a_signal_gives_the_terminal_back_as_it_was(
    program: Callable[..., Terminal], name: str, code: int
) -> None:
    terminal = program().ready()
    assert not terminal.is_cooked()
    os.kill(terminal.process.pid, signal.Signals[f"SIG{name}"])
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == code
    assert LEFT in terminal.seen
    assert terminal.is_cooked()


def test_ctrl_d_leaves_with_success_and_says_nothing_of_an_empty_session(
    program: Callable[..., Terminal],
) -> None:
    terminal = program().ready()
    terminal.send("\x04")
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == 0
    assert LEFT in terminal.seen
    assert b"Continue" not in terminal.seen.rpartition(LEFT)[2]


def test_leaving_says_how_to_continue_a_session_that_has_prompts(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    terminal.send("hello\r")
    terminal.shows("cache 4m")
    terminal.send("\x04\x04")  # the second counts only while it still works
    terminal.until(terminal.has_ended)
    after = terminal.seen.rpartition(LEFT)[2].decode()
    found = re.search(r"Continue this session with: prunecli --resume (\S+)", after)
    sessions = list((terminal.home / ".local/share/prunecli/sessions").rglob("*.jsonl"))
    assert found
    assert any(found[1] in path.name for path in sessions)


def test_a_terminal_that_vanishes_takes_the_program_and_its_command_with_it(
    program: Callable[..., Terminal], tmp_path: Path
) -> None:
    terminal = program().ready()
    mark = tmp_path / "alive"
    terminal.send(f"!echo $$ > {mark}; sleep 600\r")
    terminal.until(mark.exists)
    terminal.until(lambda: mark.read_text().strip())
    shell = int(mark.read_text())
    os.close(terminal.file)
    terminal.file, terminal.is_open = -1, False
    terminal.until(terminal.has_ended)
    with pytest.raises(ProcessLookupError):
        os.kill(shell, 0)


def test_a_program_that_was_stopped_comes_back_whole(program: Callable[..., Terminal]) -> None:
    """By kill -STOP, which gives no notice, and by SIGTSTP. Ctrl+L draws what another program wrote over."""
    terminal = program().ready()
    terminal.send("typed before")
    terminal.shows("typed before")
    for name in ("SIGSTOP", "SIGTSTP"):
        os.kill(terminal.process.pid, getattr(signal, name))
        stat = Path(f"/proc/{terminal.process.pid}/stat")
        if stat.exists():
            terminal.until(lambda stat=stat: stat.read_text().rsplit(")", 1)[1].split()[0] == "T")
        terminal.forget()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.shows("typed before")
        terminal.forget()
        terminal.send(" and")
        terminal.shows("and")
    terminal.forget()
    terminal.send("\x0c")
    terminal.shows("typed before and and")
    terminal.send("\x03\x04")
    terminal.until(terminal.has_ended)
    assert terminal.is_cooked()


class Job(Terminal):
    """The program as a job of a shell, which brings it to the foreground again once it has stopped."""

    wrapper = ("bash", "-c", 'set -m; "$@"; stty -a; echo back in the shell; fg', "bash")


@pytest.mark.parametrize("flags", [(), ("--inline",)])
def test_ctrl_z_returns_to_the_shell_and_fg_to_the_program(
    tmp_path: Path, terminals: list[Terminal], flags: tuple[str, ...]
) -> None:
    terminals.append(terminal := Job(tmp_path, *flags))
    terminal.ready().send("typed before")
    terminal.shows("typed before")
    terminal.forget()
    terminal.send("\x1a")
    terminal.shows("back in the shell")
    assert b" icanon" in terminal.seen
    terminal.forget()
    terminal.shows("typed before")
    terminal.send(" and after")
    terminal.shows("after")
    terminal.send("\x03\x04")
    terminal.until(terminal.has_ended)


def test_ctrl_z_without_a_shell_stops_nothing(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    terminal.send("\x1a")
    terminal.shows("No shell to return to")
    assert LEFT not in terminal.seen
    assert not terminal.has_ended()
    assert not terminal.is_cooked()


def test_five_megabytes_are_pasted_and_the_keyboard_goes_on(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    data = b"\x1b[200~" + b"hello world line of text\r" * 200_000 + b"\x1b[201~"

    def paste() -> None:
        for at in range(0, len(data), 4_096):
            os.write(terminal.file, data[at : at + 4_096])

    writing = threading.Thread(target=paste)
    writing.start()
    terminal.shows("[Pasted #1, 200,000 lines]")
    writing.join()
    terminal.forget()
    terminal.send("Ω")
    terminal.shows("Ω")
    assert not terminal.has_ended()
    assert b"hello world" not in terminal.seen, "a paste of that size is shown as one word"


def test_bytes_that_are_no_text_break_nothing(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    os.write(terminal.file, b"a\xff\xfe\x80b")
    terminal.shows("b")
    assert not terminal.has_ended()


@pytest.mark.parametrize("flags", [(), ("--inline",)])
def test_the_editor_gets_the_terminal_and_gives_it_back(
    program: Callable[..., Terminal], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\necho EDITING "$(stty -a < /dev/tty | grep -o " echo ")"\necho edited >> "$1"\n'
    )
    editor.chmod(0o755)
    terminal = program(*flags, EDITOR=str(editor)).ready()
    terminal.send("my words ")
    terminal.shows("my words")
    terminal.send("\x07")
    terminal.shows("EDITING  echo")
    terminal.shows("edited")
    terminal.forget()
    terminal.send("!")
    terminal.until(lambda: b"!" in terminal.seen)
    assert not terminal.is_cooked()


@pytest.mark.parametrize(
    ("editor", "said"), [("no-such-editor", "cannot start no-such-editor"), ("false", "false exited with 1")]
)
@pytest.mark.parametrize("flags", [(), ("--inline",)])
def test_an_editor_that_fails_leaves_the_prompt_as_it_was_and_the_keyboard_live(
    program: Callable[..., Terminal], flags: tuple[str, ...], editor: str, said: str
) -> None:
    terminal = program(*flags, EDITOR=editor).ready()
    terminal.send("my words ")
    terminal.shows("my words")
    terminal.send("\x07")
    terminal.shows(said)
    terminal.forget()
    terminal.send("Ω")
    terminal.shows("Ω")
    assert not terminal.is_cooked()
    terminal.forget()
    terminal.resize(31, 99)
    terminal.shows("my words Ω")


def test_what_is_typed_at_once_is_there_when_the_prompt_is(program: Callable[..., Terminal]) -> None:
    terminal = program()
    terminal.send("Ωfirst")
    terminal.ready()
    terminal.until(lambda: "Ωfirst".encode() in terminal.seen.partition(b"\x1b[?1049h")[2])
    terminal.forget()
    terminal.send(" and")
    terminal.shows("and")
    assert not terminal.is_cooked()


def test_a_configuration_that_is_wrong_ends_the_start_with_a_line(program: Callable[..., Terminal]) -> None:
    terminal = program("--set", "pruning.strategy=nosuch")
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == 2
    after = terminal.seen.rpartition(LEFT)[2].decode()
    assert "nosuch" in after
    assert "Traceback" not in after
    assert terminal.is_cooked()


LOCALES = ({"LANG": "C.UTF-8"}, {"LANG": "C"}, {"LC_ALL": "en_US.ISO-8859-1"})
MATRIX = [
    *({"TERM": term, **locale} for term in ("screen", "linux", "vt100") for locale in LOCALES),
    {"TERM": "xterm", "NO_COLOR": "1"},
    {"TERM": "dumb", "LANG": "C"},
    {"TERM": ""},
]
DOSE = (0, 4, 8, 9, 10, 11)
"""Places in the matrix that are always tried: each terminal and each locale once."""


@pytest.mark.parametrize(
    "environ",
    [pytest.param(one, marks=[] if at in DOSE else pytest.mark.long) for at, one in enumerate(MATRIX)],
    ids=[" ".join(map("=".join, environ.items())) for environ in MATRIX],
)
def test_poor_terminals_are_readable(program: Callable[..., Terminal], environ: dict[str, str]) -> None:
    """12 environments. Where there is no UTF-8 only ASCII is written, without colors none."""
    unset = {"LC_ALL": "", "LANG": "", **environ}
    terminal = program(**unset).ready()
    terminal.send("hello\r")
    terminal.shows("demo model: a script")
    terminal.shows("$0.00")
    assert not terminal.has_ended()
    if environ["TERM"] in ("", "dumb"):
        assert b"\x1b" not in terminal.seen
    elif environ["TERM"] == "linux" or environ.get("LANG") == "C" or "LC_ALL" in environ:
        assert terminal.seen.isascii()
        assert b"sk, or / for commands" in terminal.seen  # the cursor stands on the first letter
    else:
        assert "❯".encode() in terminal.seen
    if "NO_COLOR" in environ:
        assert not re.search(rb"\x1b\[[0-9;]*(?:38|48);[25]", terminal.seen)


def test_a_draft_outlives_kill_9(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    terminal.send("not sent yet ")
    terminal.send("\x1b[200~" + "pasted \x1b[7m line\r" * 40 + "\x1b[201~")
    terminal.shows("[Pasted #1")
    drafts = terminal.home / ".local" / "share" / "prunecli" / "drafts"
    terminal.until(lambda: any("Pasted" in path.read_text() for path in drafts.rglob("*.json")))
    os.kill(terminal.process.pid, signal.SIGKILL)
    terminal.until(terminal.has_ended)
    again = program().ready()
    again.shows("not sent yet")
    again.shows("[Pasted #1")
    again.send("\r")
    sessions = terminal.home / ".local" / "share" / "prunecli" / "sessions"
    again.until(lambda: any("UserMessage" in path.read_text() for path in sessions.rglob("*.jsonl")))
    (log,) = [path for path in sessions.rglob("*.jsonl") if "UserMessage" in path.read_text()]
    records = map(json.loads, log.read_text().splitlines())
    (sent,) = [record["content"][0]["text"] for record in records if record["type"] == "UserMessage"]
    assert sent == "not sent yet " + "pasted  line\n" * 40


@pytest.mark.parametrize(
    "delay_ms", [-500, 0, 250, *(pytest.param(ms, marks=pytest.mark.long) for ms in (-100, 50, 150))]
)
def test_what_is_typed_around_the_moment_of_a_question_is_no_answer(
    program: Callable[..., Terminal], delay_ms: int
) -> None:
    """0 accidental approvals from -500 to +300 ms, typed or pasted."""
    terminal = program(*ASKED_FIRST).ready()
    target = terminal.work / "made"
    terminal.send(f"run touch {target}\r")
    if delay_ms >= 0:
        terminal.shows("Run this command?")
    else:  # what is said before the first request would go with it
        terminal.shows("\x1b]0;prunecli · work · working\x07")
    terminal.rest(delay_ms / 1000 + (0.6 if delay_ms < 0 else 0.0))
    for burst in ("y\r", "\x1b[200~y\r\x1b[201~", "1y"):
        terminal.send(burst)
    terminal.shows("Run this command?")
    terminal.shows("with your text")  # after half a second of silence
    assert not target.exists()
    terminal.send("\x1b")
    terminal.shows("denied")
    assert not target.exists()


def test_a_paste_while_something_lies_over_the_prompt_is_no_answer_and_breaks_nothing(
    program: Callable[..., Terminal],
) -> None:
    """With the end of a paste inside of it, too."""
    terminal = program().ready()
    terminal.send("\x10")
    terminal.shows("Commands")
    terminal.send("\x1b[200~/quit\r\x1b[201~")
    terminal.shows("quit")
    terminal.forget()
    terminal.send("\x1b")
    terminal.shows("sk, or / for commands")  # the cursor stands on the first letter
    terminal.forget()
    terminal.send("\x1b[200~one\x1b[201~two\r\x1b[201~")
    terminal.shows("two")
    assert not terminal.has_ended()
    terminal.send("\x03\x04")
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == 0


def test_inline_it_stands_below_the_shell_and_leaves_the_conversation_there(
    program: Callable[..., Terminal],
) -> None:
    terminal = program("--inline").ready()
    assert b"\x1b[?1049h" not in terminal.seen
    terminal.send("list\r")
    terminal.shows("0 names")
    terminal.forget()
    terminal.send("\x04\x04")  # the second counts only while it still works
    terminal.until(terminal.has_ended)
    left = terminal.seen.rpartition(b"\x1b[?1004l")[2].decode()
    assert "> list\r\n" in left
    assert "[ls] . - done" in left
    assert "prunecli --resume" in left
    assert terminal.process.returncode == 0
    assert terminal.is_cooked()


def test_plain_it_writes_no_escape_sequence_whatever_the_terminal_can(
    program: Callable[..., Terminal],
) -> None:
    terminal = program("--plain", *ASKED_FIRST)
    terminal.shows("> ")
    terminal.send("list\x1b[D\x1b[D\x1b[C\x1b[C\r")
    terminal.shows("[ls] done")
    terminal.send("run touch made\r")
    terminal.shows("1 or y: ")
    terminal.until(lambda: terminal.seen.endswith(b": "))
    terminal.rest(0.5)
    terminal.send("y\r")
    terminal.until((terminal.work / "made").exists)
    terminal.until(lambda: terminal.seen.endswith(b"\n> "))
    terminal.forget()
    terminal.send("\x1b[A\x1b[A\r")
    terminal.shows("[ls] done")
    terminal.until(lambda: terminal.seen.endswith(b"\n> "))
    terminal.send("\x04")
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == 0
    assert b"\x1b" not in terminal.seen


def test_plain_what_was_typed_before_a_question_is_no_answer(program: Callable[..., Terminal]) -> None:
    terminal = program("--plain", *ASKED_FIRST)
    terminal.shows("> ")
    terminal.send("run touch made\ry\r")
    terminal.shows("1 or y: ")
    terminal.until(lambda: terminal.seen.endswith(b": "))
    terminal.send("y\r")
    terminal.shows("typed before the question")
    terminal.rest(0.5)
    assert not (terminal.work / "made").exists()
    terminal.send("n\r")
    terminal.shows("[bash] denied")


def test_plain_ctrl_c_stops_what_runs_and_not_the_program(program: Callable[..., Terminal]) -> None:
    terminal = program("--plain")
    terminal.shows("> ")
    terminal.send("!echo begun | tee made; sleep 600\r")
    terminal.until((terminal.work / "made").exists)
    terminal.send("\x03")
    terminal.shows("Interrupted.")
    terminal.shows("begun")
    terminal.send("!echo still here\r")
    terminal.until(lambda: terminal.seen.count(b"still here") >= 2)
    os.kill(terminal.process.pid, signal.SIGTERM)
    terminal.until(terminal.has_ended)
    assert terminal.process.returncode == 143


def test_title_and_notification_say_that_somebody_is_waited_for(program: Callable[..., Terminal]) -> None:
    terminal = program(*ASKED_FIRST).ready()
    terminal.shows("\x1b]0;prunecli · work\x07")
    terminal.send("run touch made\r")
    terminal.shows("\x1b]0;prunecli · work · working\x07")
    terminal.shows("\x1b]9;prunecli needs your answer · work\x07")
    terminal.shows("\x1b]0;Run touch made · work · waiting for you\x07")
    terminal.forget()
    terminal.send("\x1b[I")  # the terminal is looked at now
    terminal.rest(0.6)
    terminal.send("\x1b")
    terminal.shows("\x1b]0;Run touch made · work\x07")
    terminal.forget()
    terminal.send("\x04")
    terminal.until(terminal.has_ended)
    assert b"\x1b[23;0t" in terminal.seen
