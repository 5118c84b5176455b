"""Back at a long, cold session: one line offers a summary, Ctrl+S makes it, and Enter just sends."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.model.events import AssistantMessage, CompactionApplied, RequestSent, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from tests.scripted import Scripted, says
from tests.starting import start
from tests.tui.showing_app import shown

MODEL = "claude-opus-4-6"
HOUR_MS = 3_600_000


class Clock:
    """A time in unix ms, moved by the test."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


def long_session(
    folder: Path, *sets: str, script: Sequence[Scripted] = (says("the gist"), says("ok"))
) -> tuple[Runtime, Clock]:
    """Four prompts with reads that the last answer quotes, 100K tokens in all."""
    clock = Clock()
    runtime = start(
        folder,
        script,
        clock=clock,
        sets=(f"model.name={MODEL}", "pruning.enabled=false", *sets),
    )
    for number in range(5):
        runtime.emit(UserMessage((Text(f"read {number}"),)))
        call = ToolUse(f"t{number}", "read", {"path": f"{number}.py"})
        runtime.emit(RequestSent(MODEL, 0, ""))
        runtime.emit(AssistantMessage((call,), MODEL, "tool_use", Usage(25_000 * number + 3_000, 50, 0, 0)))
        runtime.emit(ToolResult(call.id, "read", (Text("word and more " * 8_000),)))
        runtime.emit(RequestSent(MODEL, 0, ""))
        runtime.emit(
            AssistantMessage((Text("done"),), MODEL, "end_turn", Usage(25_000 * number + 27_000, 5, 0, 0))
        )
    return runtime, clock


def summaries(runtime: Runtime) -> int:
    return sum(isinstance(record.event, CompactionApplied) for record in runtime.session.records)


async def test_the_offer_is_one_line_and_ctrl_s_summarizes_first(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path)
    async with shown(tmp_path, runtime=runtime) as s:
        clock.now += HOUR_MS
        await s.until_shown("The cache expired: 127K to send again, ~$0.79. Ctrl+S summarizes first")
        await s.pilot.press("h", "i", "ctrl+s")
        await s.until(lambda: summaries(runtime) == 1)
        await s.until_shown("hi")
        assert not isinstance(runtime.session.records[-1].event, UserMessage), "the draft is not sent"


async def test_enter_sends_without_a_summary(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path)
    async with shown(tmp_path, runtime=runtime) as s:
        clock.now += HOUR_MS
        await s.until_shown("The cache expired: ")
        await s.pilot.press("h", "i", "enter")
        await s.until_shown("the gist")
        assert summaries(runtime) == 0


async def test_off_offers_nothing_and_auto_summarizes_without_asking(tmp_path: Path) -> None:
    runtime, clock = long_session(tmp_path, "compaction.on_return=auto")
    async with shown(tmp_path, runtime=runtime) as s:
        clock.now += HOUR_MS
        await s.pilot.press("h", "i", "enter")
        await s.until(lambda: summaries(runtime) == 1)
