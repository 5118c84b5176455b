"""What a subcommand says while it takes its time."""

import io
import signal
import threading

import pytest

from prunecli.cli.progress import working


class Told(io.StringIO):
    """Standard error as a terminal or as a file; `said` is set with the first word."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self.said = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        self.said.set()
        return super().write(text)


def test_on_a_terminal_it_says_what_is_done_and_how_to_stop_it_and_leaves_nothing() -> None:
    err = Told(terminal=True)
    with working("verifying", err, 0.0):
        assert err.said.wait(10)
    shown, blank, rest = err.getvalue().rsplit("\r", 2)
    assert shown.startswith("\rverifying ... 0 s, Ctrl+C to stop")
    assert blank == " " * len("verifying ... 0 s, Ctrl+C to stop")
    assert rest == ""
    assert "\x1b" not in err.getvalue()


def test_the_line_fits_the_terminal_so_that_it_can_be_overwritten() -> None:
    err = Told(terminal=True)
    with working("verifying", err, 0.0, lambda _: 20):
        assert err.said.wait(10)
    assert [len(line) for line in err.getvalue().split("\r") if line.strip()] == [19]


def test_signals_are_left_to_the_thread_that_works() -> None:
    err, blocked = Told(terminal=True), set[int]()

    def words() -> str:
        blocked.update(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        return "verifying"

    with working(words, err, 0.0):
        assert err.said.wait(10)
    assert blocked >= {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def test_a_file_gets_nothing_and_neither_does_a_terminal_for_what_is_done_at_once() -> None:
    for err in (Told(terminal=False), Told(terminal=True)):
        with working("verifying", err, 600.0):
            pass
        assert err.getvalue() == ""


def test_what_goes_wrong_inside_is_raised_when_the_line_is_blank_again() -> None:
    err = Told(terminal=True)

    def stopped() -> None:
        with working("verifying", err, 0.0):
            err.said.wait(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert err.getvalue().endswith(" \r")


def test_words_are_asked_for_when_they_are_shown() -> None:
    err = Told(terminal=True)
    done = [1]
    with working(lambda: f"replayed {done[0]} of 5", err, 0.0):
        done[0] = 2
        assert err.said.wait(10)
    assert err.getvalue().startswith(("\rreplayed 1 of 5 ... 0 s", "\rreplayed 2 of 5 ... 0 s"))
