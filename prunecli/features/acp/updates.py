"""Converts a session's events to updates for an editor, live or when a session is loaded."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, assert_never

from acp.schema import AgentPlanUpdate, ToolCallProgress, ToolCallStart, ToolCallStatus

from prunecli.features.acp.calls import Calls, kind_of, plan_of_todos, text_content
from prunecli.features.acp.feed import Update
from prunecli.features.acp.texts import fenced, noticed, prompted, said, thought
from prunecli.front.presentation.presenter import STOPPED, present_of
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    Record,
    RunEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Json, Text, Thinking, ToolUse, is_media, plain_text, tool_uses
from prunecli.model.notes import notice_parts, typed
from prunecli.model.signals import (
    FileMoved,
    HooksRunning,
    Notice,
    RetryScheduled,
    SessionEvent,
    StreamDiscarded,
    StreamStarted,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolProgress,
)
from prunecli.model.todos import TOOL
from prunecli.model.touches import named
from prunecli.runtime.notices import notice_of
from prunecli.util.figures import in_tokens, short
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime import Runtime

AGAIN = "The answer was cut off; starting it again."
NOT_FINISHED = "interrupted"
_ANY: Mapping[str, Json] = {"path": ".", "command": ":"}


@dataclass(slots=True)
class _Open:
    """A call without a result: its id for the editor, and its input once complete."""

    shown_id: str
    name: str
    given: Mapping[str, Json] | None = None


class Updates:
    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime
        self._calls = Calls(runtime.tools, runtime.setup.cwd)
        self._open: dict[str, _Open] = {}
        self._used: set[str] = set()
        self._more = count(2)
        self._text = self._thought = ""
        self._summarizing = False

    @property
    def calls(self) -> Calls:
        return self._calls

    def id_of(self, call_id: str) -> str:
        """Return the editor's id of an open call. Local servers repeat ids, but an editor needs unique ones."""
        return self._open[call_id].shown_id if call_id in self._open else call_id

    def closed(self, shown_id: str, *, done: bool) -> ToolCallProgress:
        status: ToolCallStatus = "completed" if done else "failed"
        return ToolCallProgress(session_update="tool_call_update", tool_call_id=shown_id, status=status)

    def replay(self) -> Iterator[Update]:
        for event in present_of(self._runtime.session.records):
            if isinstance(event, Record) and isinstance(event.event, UserMessage):
                yield from self._user(event.event)
            elif not isinstance(event, Notice):
                yield from self.of(event)
        yield from self._abandoned()

    def of(self, event: SessionEvent) -> Iterator[Update]:
        match event:
            case SummaryStarted(tokens):
                self._summarizing = True
                yield noticed(f"Summarizing the older part of {in_tokens(tokens)} …")
            case SummaryEnded():
                self._summarizing = False
            case TextDelta() | ThinkingDelta() | ToolCallDelta() | StreamDiscarded() if self._summarizing:
                pass
            case TextDelta() | ThinkingDelta() | ToolCallDelta() | ToolProgress():
                yield from self._streamed(event)
            case StreamDiscarded():
                if self._text:
                    yield noticed(AGAIN)
                yield from self._discarded()
            case StreamStarted():
                yield from self._discarded()
            case RetryScheduled(_, seconds, reason):
                yield noticed(f"{one_line(reason)}; retrying in {seconds:.0f} s")
            case Notice() | FileMoved():
                yield noticed(notice_of(event, self._runtime))
            case Record():
                yield from self._record(event.event)
                if (line := notice_of(event, self._runtime)) and not isinstance(event.event, RunEnded):
                    yield noticed(line)
            case HooksRunning():
                pass
            case _:
                assert_never(event)

    def _streamed(self, event: TextDelta | ThinkingDelta | ToolCallDelta | ToolProgress) -> Iterator[Update]:
        match event:
            case TextDelta(text):
                self._text += text
                yield said(text)
            case ThinkingDelta(text):
                self._thought += text
                yield thought(text)
            case ToolCallDelta(id_, name):
                if id_ not in self._open:
                    yield self._begun(id_, name)
            case ToolProgress(id_, text, now):
                if id_ in self._open:
                    lines = fenced(text) if text.strip() else ""
                    yield self._progress(id_, content=[text_content(f"{now}\n\n{lines}".strip())])
            case _:
                assert_never(event)

    # Records -------------------------------------------------------------------------------------------------

    def _record(self, event: Event) -> Iterator[Update]:
        match event:
            case AssistantMessage():
                yield from self._answer(event)
            case ToolStarted(id_, name, given, touches):
                if id_ not in self._open:
                    yield self._begun(id_, name)
                self._open[id_].given = given
                view = self._calls.view(name, given, touches)
                places = list(view.locations) or None
                yield self._progress(id_, status="in_progress", kind=view.kind, locations=places)
            case ToolResult():
                yield from self._result(event)
            case CompactionApplied(tokens_before=before, tokens_after=after):
                yield noticed(f"Compacted: {short(before)} → {in_tokens(after)}")
            case _:
                pass

    def _user(self, event: UserMessage) -> Iterator[Update]:
        if notice_parts(event):
            return
        pictures = "".join("\n[image]" for one in event.content if is_media(one))
        if text := f"{typed(event)}{pictures}".strip():
            yield prompted(text)
        if event.origin == "command" and (output := plain_text(event.content[1:])).strip():
            yield said(f"\n\n{fenced(output)}\n\n")

    def _answer(self, event: AssistantMessage) -> Iterator[Update]:
        """Yield the parts of an answer that were not streamed, and the complete input of each call."""
        words = "".join(block.text for block in event.content if isinstance(block, Text))
        thoughts = "".join(block.thinking for block in event.content if isinstance(block, Thinking))
        if thoughts.strip() and not self._thought:
            yield thought(thoughts)
        if words.startswith(self._text):
            if rest := words[len(self._text) :]:
                yield said(rest)
        else:
            yield said(f"\n\n{words}")
        self._text = self._thought = ""
        uses = tool_uses(event.content)
        yield from self._discarded({use.id for use in uses})
        for use in uses:
            yield from self._use(use)
        if event.stop_reason in STOPPED and not uses:
            yield noticed(STOPPED[event.stop_reason])

    def _use(self, use: ToolUse) -> Iterator[Update]:
        if use.id in self._open and self._open[use.id].given is not None:
            yield from self._ended(use.id)
        if use.id not in self._open:
            yield self._begun(use.id, use.name)
        self._open[use.id].given = use.input
        view = self._calls.view(use.name, use.input)
        yield self._progress(
            use.id,
            title=view.title,
            kind=view.kind,
            locations=list(view.locations) or None,
            content=view.content or None,
            raw_input=dict(use.input),
        )
        if use.name == TOOL and (entries := plan_of_todos(use.input)) is not None:
            yield AgentPlanUpdate(session_update="plan", entries=entries)

    def _result(self, event: ToolResult) -> Iterator[Update]:
        id_ = event.tool_use_id
        if id_ not in self._open:
            yield self._begun(id_, event.tool_name)
        content, places = self._calls.result(event, self._open[id_].given or {})
        yield self._progress(
            id_,
            status="failed" if event.is_error else "completed",
            content=content or None,
            locations=places or None,
        )
        del self._open[id_]

    # Calls ---------------------------------------------------------------------------------------------------

    def _begun(self, id_: str, name: str) -> ToolCallStart:
        shown_id = id_ if id_ not in self._used else f"{id_}-{next(self._more)}"
        self._used.add(shown_id)
        self._open[id_] = _Open(shown_id, name)
        kind = kind_of(name, named(name, _ANY))  # its input is still being written
        return ToolCallStart(
            session_update="tool_call",
            tool_call_id=shown_id,
            title=one_line(name),
            kind=kind,
            status="pending",
        )

    def _progress(self, id_: str, **fields: object) -> ToolCallProgress:
        given = {name: value for name, value in fields.items() if value is not None}
        return ToolCallProgress.model_validate(
            {"sessionUpdate": "tool_call_update", "toolCallId": self._open[id_].shown_id, **given}
        )

    def _discarded(self, kept: Collection[str] = ()) -> Iterator[Update]:
        """Close calls that were being streamed but are not part of the answer."""
        self._text = self._thought = ""
        for id_ in [id_ for id_, one in self._open.items() if one.given is None and id_ not in kept]:
            yield from self._ended(id_)

    def _abandoned(self) -> Iterator[Update]:
        for id_ in list(self._open):
            yield from self._ended(id_)

    def _ended(self, id_: str) -> Iterator[Update]:
        yield self._progress(id_, status="failed", content=[text_content(NOT_FINISHED)])
        del self._open[id_]
