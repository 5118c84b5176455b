"""The program in a pseudo-terminal: what only a real one shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.terminal

ROOT = Path(__file__).parents[2]
DEADLINE = 20.0
LEFT = b"\x1b[?1049l"


class Terminal:
    """A pseudo-terminal with the program in it."""

    def __init__(self, folder: Path, *flags: str, **environ: str) -> None:
        self.home, self.work = folder / "home", folder / "work"
        for path in (self.home, self.work):
            path.mkdir(exist_ok=True)
        known = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL") if key in os.environ}
        given = {
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            **known,
            **environ,
        }
        argv = [sys.executable, "-m", "prunecli", "--model", "demo", "--trust", *flags]
        self.seen = b""
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.chdir(self.work)
            os.execve(argv[0], argv, given)
        self.ended: int | None = None
        self.resize(30, 100)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, data: str) -> None:
        os.write(self.file, data.encode())

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, self.seen[-3_000:].decode("utf-8", "replace")
            if select.select([self.file], [], [], 0.02)[0]:
                try:
                    self.seen += os.read(self.file, 65_536)
                except OSError:  # the program closed its side and is about to end
                    time.sleep(0.01)

    def shows(self, text: str) -> None:
        self.until(lambda: text.encode() in self.seen)

    def ready(self) -> "Terminal":
        """The agent is there: the status line has its mode."""
        self.shows("ask")
        return self

    def forget(self) -> None:
        self.seen = b""

    def has_ended(self) -> bool:
        if self.ended is None:
            child, status = os.waitpid(self.child, os.WNOHANG)
            if child:
                self.ended = os.waitstatus_to_exitcode(status)
        return self.ended is not None

    def is_cooked(self) -> bool:
        flags = termios.tcgetattr(self.file)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def close(self) -> None:
        if not self.has_ended():
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
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
    """TUI-04."""
    terminal = program().ready()
    assert not terminal.is_cooked()
    os.kill(terminal.child, signal.Signals[f"SIG{name}"])
    terminal.until(terminal.has_ended)
    assert terminal.ended == code
    assert LEFT in terminal.seen
    assert terminal.is_cooked()


def test_ctrl_d_leaves_with_success(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    terminal.send("\x04")
    terminal.until(terminal.has_ended)
    assert terminal.ended == 0
    assert LEFT in terminal.seen


def test_a_terminal_that_vanishes_takes_the_program_and_its_command_with_it(
    program: Callable[..., Terminal], tmp_path: Path
) -> None:
    """TUI-05, EXE-05."""
    terminal = program().ready()
    mark = tmp_path / "alive"
    terminal.send(f"!echo $$ > {mark}; sleep 600\r")
    terminal.until(mark.exists)
    terminal.until(lambda: mark.read_text().strip())
    shell = int(mark.read_text())
    os.close(terminal.file)
    terminal.file = -1
    end = time.monotonic() + DEADLINE
    while not terminal.has_ended():
        assert time.monotonic() < end
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(shell, 0)


def test_a_program_that_was_stopped_comes_back_whole(program: Callable[..., Terminal]) -> None:
    """TUI-15: by kill -STOP, which gives no notice, and by SIGTSTP."""
    terminal = program().ready()
    terminal.send("typed before")
    terminal.shows("typed before")
    for name in ("SIGSTOP", "SIGTSTP"):
        os.kill(terminal.child, getattr(signal, name))
        stat = Path(f"/proc/{terminal.child}/stat")
        if stat.exists():
            terminal.until(lambda stat=stat: stat.read_text().rsplit(")", 1)[1].split()[0] == "T")
        terminal.forget()
        os.kill(terminal.child, signal.SIGCONT)
        terminal.shows("typed before")
        terminal.forget()
        terminal.send(" and")
        terminal.shows("and")
    terminal.send("\x03\x04")
    terminal.until(terminal.has_ended)
    assert terminal.is_cooked()


def test_five_megabytes_are_pasted_and_the_keyboard_goes_on(program: Callable[..., Terminal]) -> None:
    """TUI-08."""
    terminal = program().ready()
    data = b"\x1b[200~" + b"hello world line of text\r" * 200_000 + b"\x1b[201~"

    def paste() -> None:
        for at in range(0, len(data), 4_096):
            os.write(terminal.file, data[at : at + 4_096])

    writing = threading.Thread(target=paste)
    writing.start()
    terminal.shows("[Pasted #1 +200,001 lines]")
    writing.join()
    terminal.send("Ω")
    terminal.shows("Ω")


def test_bytes_that_are_no_text_break_nothing(program: Callable[..., Terminal]) -> None:
    terminal = program().ready()
    os.write(terminal.file, b"a\xff\xfe\x80b")
    terminal.shows("b")
    assert not terminal.has_ended()


def test_the_editor_gets_the_terminal_and_gives_it_back(
    program: Callable[..., Terminal], tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\necho EDITING "$(stty -a < /dev/tty | grep -o " echo ")"\necho edited >> "$1"\n'
    )
    editor.chmod(0o755)
    terminal = program(EDITOR=str(editor)).ready()
    terminal.send("my words ")
    terminal.shows("my words")
    terminal.send("\x07")
    terminal.shows("EDITING  echo")
    terminal.shows("edited")
    terminal.forget()
    terminal.send("!")
    terminal.until(lambda: b"!" in terminal.seen)
    assert not terminal.is_cooked()


def test_what_is_typed_at_once_is_there_when_the_prompt_is(program: Callable[..., Terminal]) -> None:
    terminal = program()
    terminal.send("Ωfirst")
    terminal.until(lambda: "Ωfirst" in terminal.seen.partition(b"\x1b[?1049h")[2].decode("utf-8", "replace"))


def test_a_configuration_that_is_wrong_ends_the_start_with_a_line(program: Callable[..., Terminal]) -> None:
    terminal = program("--set", "pruning.strategy=nosuch")
    terminal.until(terminal.has_ended)
    assert terminal.ended == 2
    after = terminal.seen.rpartition(LEFT)[2].decode()
    assert "nosuch" in after
    assert "Traceback" not in after
    assert terminal.is_cooked()


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "dumb"},
        {"TERM": "linux", "LANG": "C", "LC_ALL": "C"},
        {"TERM": "screen", "NO_COLOR": "1"},
        {"TERM": "vt100", "LANG": "en_US.ISO-8859-1", "LC_ALL": "en_US.ISO-8859-1"},
    ],
)
def test_poor_terminals_get_a_screen_too(program: Callable[..., Terminal], environ: dict[str, str]) -> None:
    """TUI-11."""
    terminal = program(**environ).ready()
    terminal.send("hello\r")
    terminal.shows("hit 0%")
    assert not terminal.has_ended()
    if "NO_COLOR" in environ:
        assert b"\x1b[38;2;130;170;255" not in terminal.seen
