"""What must not break the interface: defects, random keys, odd terminals."""

import random
import stat
from pathlib import Path

import pytest
from textual import events
from textual.worker import WorkerFailed

from prunecli.front.presentation.entries import ToolCall, ToolState
from prunecli.model.messages import ToolUse
from prunecli.tui.defect import EXIT_DEFECT, report
from prunecli.util.paths import Places
from tests.scripted import calls, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown

KEYS = (  # noqa: SIM905  # shorter than a list
    "a_ b space enter tab shift+tab backspace delete up down left right home end pageup pagedown escape "
    "ctrl+r ctrl+f ctrl+o ctrl+t ctrl+u ctrl+k ctrl+p ctrl+home ctrl+end ctrl+up ctrl+down alt+up ctrl+j "
    "f1 slash at question_mark ctrl+w ctrl+z ctrl+y f7 r k j n N"
).split()
"""No y, 1, a or 2: what allows something is in none of them. Enter is left out while something is asked."""


COMMANDS = (
    *("context", "theme", "resume", "rewind", "tree", "model", "permissions", "prune-config"),
    *("cost", "help", "palette", "export", "search", "x"),
)


async def play(s: Shown, chance: random.Random, steps: int) -> None:
    """Presses, clicks and resizes at random; now and then a command is typed that may open a screen."""
    for _ in range(steps):
        what = chance.random()
        if what < 0.78:
            key = chance.choice(KEYS)
            if key == "enter" and s.frame.prompt.question is not None:
                continue
            await s.pilot.press("underscore" if key == "a_" else key)
        elif what < 0.8:
            await s.type("/" + chance.choice(COMMANDS))
        elif what < 0.95:
            width, height = s.app.size
            at = chance.randrange(max(1, width)), chance.randrange(max(1, height))
            await s.pilot.click(offset=at)
        else:
            await s.pilot.resize_terminal(chance.randrange(1, 140), chance.randrange(1, 50))


async def played(folder: Path, seed: int, steps: int) -> Path:
    """A program that was played with while it asked for permission; the file that only a permission makes."""
    asking = calls(ToolUse("t1", "bash", {"command": "touch made"}))
    async with shown(folder, [asking, *(says("answer") for _ in range(steps))]) as s:
        await s.type("go", "enter")
        await play(s, random.Random(seed), steps)
        s.conversation.runs.interrupt()
        await s.idle()
    return folder / "work" / "made"


@pytest.mark.parametrize(
    ("seed", "steps"), [(0, 60), *(pytest.param(n, 500, marks=pytest.mark.long) for n in range(100, 120))]
)
async def test_random_keys_clicks_and_sizes_break_nothing_and_allow_nothing(
    tmp_path: Path, seed: int, steps: int
) -> None:
    assert not (await played(tmp_path, seed, steps)).exists()


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦" * 40, "e" + "\u0301" * 1_000, "مرحبا " * 60, "\t|" * 60, "全角" * 90]
)
async def test_odd_text_leaves_the_rows_where_they_are(tmp_path: Path, text: str) -> None:
    """No misalignment of borders."""
    async with shown(tmp_path, [says(text), says(text)]) as s:
        s.frame.prompt.post_message(events.Paste(text[:900]))
        await s.pilot.pause()
        s.runtime.follow_up(text)
        s.conversation.show_waiting()
        s.conversation.runs.submit("go")
        await s.idle()
        for strip in s.app.screen._compositor.render_strips():
            assert strip.cell_length == 80


async def test_a_defect_ends_the_program_and_is_known(tmp_path: Path) -> None:

    def broken() -> None:
        raise KeyError("a defect")

    async def run() -> Shown:
        async with shown(tmp_path) as s:
            seen.append(s)
            s.frame.call_later(broken)
            await s.until(lambda: s.app.defect)
        return s

    seen: list[Shown] = []
    with pytest.raises(KeyError):
        await run()
    assert isinstance(seen[0].app.defect, KeyError)


async def test_a_defect_in_a_run_is_one_too(tmp_path: Path) -> None:
    """The session is saved all the same."""

    async def run() -> None:
        async with shown(tmp_path, runtime=runtime) as s:
            await s.type("a prompt without an answer in the script", "enter")
            await s.until(lambda: s.app.defect)

    runtime = start(tmp_path)
    with pytest.raises(WorkerFailed):
        await run()
    assert runtime.session.path is not None
    assert b"a prompt without" in runtime.session.path.read_bytes()


def test_a_defect_is_said_in_lines_and_its_traceback_kept_for_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = start(tmp_path)
    with pytest.raises(ValueError, match="bad") as raised:
        raise ValueError("bad \x1b[31m value")
    assert report(raised.value, runtime, runtime.setup.places) == EXIT_DEFECT
    said = capsys.readouterr().err
    assert "internal error: ValueError: bad ␛[31m value" in said
    assert "Traceback" not in said
    (kept,) = (runtime.setup.places.data / "defects").iterdir()
    assert str(kept) in said
    assert "Traceback" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_defect_is_said_where_nothing_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").write_text("a file in the way")
    places = Places.of({"HOME": str(tmp_path / "home")})
    assert report(ValueError("x"), None, places) == EXIT_DEFECT
    assert "ValueError: x" in capsys.readouterr().err


async def test_the_wheel_moves_the_transcript_wherever_the_mouse_is(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("\n\n".join(f"line {n}" for n in range(100)))]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until_shown("line 99")
        wheel = {"delta_x": 0, "delta_y": 0, "button": 0, "shift": False, "meta": False, "ctrl": False}
        before = s.frame.transcript.window.offset
        for _ in range(3):
            s.app.post_message(events.MouseScrollUp(None, 10, 23, **wheel))
        await s.until(lambda: "line 99" not in s.screen_text())
        assert s.frame.transcript.window.offset < before


async def test_a_session_can_be_left_while_a_call_is_asked_about(tmp_path: Path) -> None:
    async with shown(tmp_path, [calls(ToolUse("t1", "bash", {"command": "touch made"}))]) as s:
        await s.type("go", "enter")
        await s.until_shown("Run this command?")
        s.app.leave()
        await s.until(lambda: s.app._exit)
        (call,) = [entry for entry in s.entries if isinstance(entry, ToolCall)]
        assert call.state is ToolState.INTERRUPTED
