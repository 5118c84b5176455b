"""A fault in any handler, in a pseudo-terminal: the way out is the same whatever fails.

The faults come from a strategy of the user's own. It is the only code of others that runs inside the program.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.tui.test_program import LEFT, Terminal, program, terminals

pytestmark = pytest.mark.terminal
__all__ = ["program", "terminals"]

STRATEGY = '''
"""Changes nothing, and once puts a fault where NAME says."""

import asyncio

from textual import events
from textual._context import active_app
from textual.widget import Widget

from prunecli.context.strategy import Proposal

KIND = "{kind}"
begun = []


def fail(*_):
    raise ZeroDivisionError("a defect in a " + KIND)


async def fail_later():
    await asyncio.sleep(0)
    fail()


class Broken(Widget, can_focus=True):
    BINDINGS = [("x", "fail")]
    DEFAULT_CSS = "Broken {{ height: 3; dock: top; }}"
    action_fail = fail

    def render(self):
        return fail() if KIND == "render" else "BROKEN"

    def on_key(self, event: events.Key) -> None:
        if KIND == "key":
            fail()

    def on_click(self) -> None:
        if KIND == "click":
            fail()

    def on_resize(self) -> None:
        if KIND == "message":
            fail()


def propose(view, options):
    if view.results and not begun:
        begun.append(True)
        app = active_app.get()
        match KIND:
            case "timer":
                app.set_timer(0.01, fail)
            case "worker":
                app.run_worker(fail_later())
            case "thread":
                app.run_worker(fail, thread=True)
            case "callback":
                asyncio.get_running_loop().call_soon(fail)
            case _:
                if KIND == "reader":
                    app.frame.keys.action = fail
                broken = Broken()
                app.call_later(app.screen.mount, broken)
                app.call_later(broken.focus)
    return Proposal(())
'''

PRESSED = {"key": "k", "action": "x", "click": "\x1b[<0;5;2M\x1b[<0;5;2m", "reader": "\x1bx"}
"""What the user does where the fault waits for that."""
KINDS = ("key", "worker", "thread", "render", "reader")
MORE_KINDS = ("action", "click", "message", "timer", "callback")


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(one, marks=pytest.mark.long) for one in MORE_KINDS)])
def test_a_fault_in_a_handler_restores_the_terminal_and_names_its_report(
    program: Callable[..., Terminal], tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "home" / ".config" / "prunecli" / "strategies"
    folder.mkdir(parents=True)
    (folder / "breaks.py").write_text(STRATEGY.format(kind=kind))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("a line\n")
    terminal = program("--set", "pruning.strategy=breaks").ready()
    terminal.send("read notes.txt\r")
    if kind in PRESSED:
        terminal.shows("BROKEN")
        terminal.send(PRESSED[kind])
    terminal.until(terminal.has_ended)

    assert terminal.process.returncode == 70
    assert terminal.is_cooked()
    _, _, after = terminal.seen.rpartition(LEFT)
    said = after.decode()
    assert f"internal error: ZeroDivisionError: a defect in a {kind}" in said
    assert "Traceback" not in terminal.seen.decode("utf-8", "replace")
    (report,) = (tmp_path / "home").rglob("defects/*.txt")
    (line,) = [line for line in said.splitlines() if str(report) in line]
    assert line.startswith("Details for a bug report:")
    assert "ZeroDivisionError" in report.read_text()
    (log,) = (tmp_path / "home").rglob("sessions/**/*.jsonl")
    found = verify_session(log, read_log(log))
    assert found.clean, found.lines
    assert "prunecli --continue" in said
