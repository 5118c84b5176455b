"""A long session on the screen: its end at once, and everything that may happen while the rest is read."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from prunecli.front.presentation.entries import ToolCall
from prunecli.model.edits import Edit
from prunecli.model.events import Event, Pinned, PrunApplied, Rewound, UserMessage
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.resuming import Resuming
from prunecli.session.log import read_log
from prunecli.session.session import Step
from prunecli.session.writer import LogWriter
from prunecli.tui.screens.table import TableScreen
from prunecli.util.errors import SessionCorrupt, SessionLocked
from tests.benchmarks.long_sessions import events, write
from tests.scripted import says
from tests.starting import start
from tests.tui.showing_app import Shown, shown

ENTRIES = 900


class Gate:
    """Reading waits where a test wants it to: the steps go on while it is open."""

    def __init__(self) -> None:
        self.is_open = False


class Waiting(Resuming):
    """Reads half of the file, then waits for the gate; the loop goes on meanwhile."""

    gate: Gate

    def steps(self) -> Iterator[Step]:
        for step in super().steps():
            yield step
            while step.read > self.size // 2 and not self.gate.is_open:
                yield Step([], step.read)


def long_one(folder: Path, more: Iterable[Event] = (), name: str = "20260101-long") -> tuple[Runtime, Path]:
    """A runtime, and a session of its directory that is long enough to be read in steps."""
    runtime = start(folder, [says("heard")])
    path = runtime.store.new_path(runtime.setup.cwd, name)
    happened = events(ENTRIES // 2, 2_000, str(runtime.setup.cwd), name, 0)
    write(path, [*happened, *more])
    return runtime, path


def resume_slowly(runtime: Runtime, path: Path, *, fork: bool = False) -> Gate:
    """As `Runtime.resume`, waiting at a gate."""
    gate = Gate()
    waiting = Waiting(path, runtime.new_context(), runtime, fork=fork)
    waiting.gate = gate
    runtime.resuming = waiting
    return gate


async def all_there(s: Shown) -> None:
    """Until everything is read and stands in the transcript. Whether it is being read (`loading`) says too little:
    at first the worker that reads has not begun."""
    await s.until(lambda: s.runtime.resuming is None and not s.conversation.runs.loading)
    await s.until(lambda: next(s.conversation.feed.put_above(), None) is None)


def words(s: Shown) -> list[str]:
    """What the entries say, in order."""
    return [
        f"{type(one).__name__} {getattr(one, 'text', '') or getattr(one, 'argument', '')}"
        for one in s.entries
    ]


async def test_the_end_is_there_while_the_rest_is_read_and_then_all_of_it(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    gate = resume_slowly(runtime, path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown("That was the last one.", "Reading the session")
        part = words(s)
        assert not runtime.session.records
        gate.is_open = True
        await all_there(s)
        assert runtime.session.path == path
        assert words(s)[-len(part) :] == part
        whole = words(s)
        s.conversation.feed.show_all(runtime.session.records)
        assert words(s) == whole
        assert len(whole) > ENTRIES


async def test_a_prompt_said_meanwhile_waits_visibly_and_is_said_once(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    gate = resume_slowly(runtime, path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("go on", "enter")
        await s.until_shown("↳ go on")
        gate.is_open = True
        await all_there(s)
        await s.until_shown("heard")
        await s.idle()
        said = [record.event for record in read_log(path).records if isinstance(record.event, UserMessage)]
        assert [plain_text(event.content) for event in said].count("go on") == 1
        assert plain_text(said[-1].content) == "go on"


async def test_a_prompt_of_the_command_line_waits_too(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    resume_slowly(runtime, path).is_open = True
    async with shown(tmp_path, runtime=runtime, prompt="from outside") as s:
        await s.until_shown("from outside", "heard")
        assert runtime.session.path == path


async def test_a_command_that_needs_the_session_waits_and_help_does_not(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    gate = resume_slowly(runtime, path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("/rename there", "enter")
        await s.until_shown("↳ /rename there")
        await s.type("/help", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        assert runtime.resuming is not None, "help did not wait for the session"
        await s.pilot.press("escape")
        gate.is_open = True
        await all_there(s)
        await s.until_shown("Session renamed to there.")
        assert (runtime.session.path, runtime.session.name) == (path, "there")


async def test_esc_stops_the_reading_lets_the_lock_go_and_gives_the_words_back(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    before = runtime.session
    resume_slowly(runtime, path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("keep me", "enter")
        await s.until_shown("↳ keep me")
        await s.type("", "escape")
        await s.until_shown("Stopped opening the session")
        await s.idle()
        assert (runtime.session, runtime.resuming) == (before, None)
        assert s.frame.prompt.typed == "keep me"
        LogWriter(path).close()


async def test_where_one_looks_stays_while_the_rest_is_put_above(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    gate = resume_slowly(runtime, path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown("That was the last one.")
        await s.type("", "pageup", "pageup")
        await s.pilot.pause()
        before = s.frame.transcript.window.lines[5].row.text.split("   ")[0]
        gate.is_open = True
        await all_there(s)
        await s.pilot.pause()
        assert s.frame.transcript.window.lines[5].row.text.startswith(before)  # its tokens are known now
        await s.type("", "ctrl+home")
        await s.until_shown("Prompt 0: make rule 0")


async def test_a_prune_of_what_was_far_above_is_marked_there(tmp_path: Path) -> None:
    pruned = PrunApplied("user", (Edit("clear", 5, None, "[gone]", 500, 3),))
    runtime, path = long_one(tmp_path, [pruned])
    resume_slowly(runtime, path).is_open = True
    async with shown(tmp_path, runtime=runtime) as s:
        await all_there(s)
        (marked,) = [one for one in s.entries if getattr(one, "pruned", "")]
        assert isinstance(marked, ToolCall)
        assert "rules_0.py" in marked.argument


async def test_a_session_with_a_rewind_shows_what_leads_to_the_present(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path, [Rewound(40), UserMessage(())])
    resume_slowly(runtime, path).is_open = True
    async with shown(tmp_path, runtime=runtime) as s:
        await all_there(s)
        arrived = [line for line in words(s) if "was interrupted" not in line]
        s.conversation.feed.show_all(runtime.session.records)
        assert arrived == words(s)
        assert len(arrived) < 60


async def test_a_copy_is_made_of_what_was_read(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path, [Pinned((2,))])
    resume_slowly(runtime, path, fork=True).is_open = True
    async with shown(tmp_path, runtime=runtime) as s:
        await all_there(s)
        assert runtime.session.path != path
        assert len(runtime.session.records) == len(read_log(path).records)
        LogWriter(path).close()


async def test_a_file_that_turns_out_to_be_no_session_is_said_and_changes_nothing(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    path = runtime.store.new_path(runtime.setup.cwd, "broken")
    path.parent.mkdir(parents=True)
    path.write_bytes((b'{"seq":0}' + b" " * 1_000 + b"\n") * 1_000)
    before = runtime.session
    runtime.resume(path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown("Stopped opening the session")
        assert runtime.session is before


def finish(runtime: Runtime) -> None:
    """Reads the rest at once, as a front end without a screen does."""
    assert runtime.resuming is not None
    for _ in runtime.resuming.steps():
        pass
    runtime.resuming.finish()


def test_without_a_screen_it_is_read_at_once(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    runtime.resume(path)
    finish(runtime)
    assert runtime.session.path == path
    assert runtime.bill.requests == ENTRIES // 2 + 1
    runtime.session.close()
    whole = runtime.bill
    assert runtime.open_session(path).path == path
    assert runtime.bill == whole
    runtime.session.close()


def test_a_short_one_is_there_at_once(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    path = runtime.store.new_path(runtime.setup.cwd, "short")
    write(path, events(3, 100, "/w", "short", 0))
    runtime.resume(path)
    assert runtime.resuming is None
    assert runtime.session.path == path
    runtime.session.close()


def test_leaving_lets_the_lock_go(tmp_path: Path) -> None:
    runtime, path = long_one(tmp_path)
    runtime.resume(path)
    with pytest.raises(SessionLocked):
        LogWriter(path)
    runtime.drop_resuming()
    LogWriter(path).close()
    assert runtime.resuming is None


def test_a_broken_one_raises_where_there_is_no_screen(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    path = runtime.store.new_path(runtime.setup.cwd, "broken")
    path.parent.mkdir(parents=True)
    path.write_bytes((b"x" * 1_000 + b"\n") * 1_000)
    runtime.resume(path)
    with pytest.raises(SessionCorrupt):
        finish(runtime)
