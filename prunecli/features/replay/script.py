"""A recorded session prepared for playing: its events without any edits, counted once for all strategies."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from prunecli.context.exchange import Said
from prunecli.context.render import NO_OUTPUT
from prunecli.context.spill import Cut
from prunecli.context.tokens import Sizes, TokenCounter, result_tokens
from prunecli.features.replay.regret import Quotes, find_quotes
from prunecli.features.replay.uses import Uses, find_uses
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Json, Text, Thinking, tool_uses
from prunecli.model.requests import PREAMBLE, CacheTtl, reported_ttl
from prunecli.model.touches import Touches
from prunecli.util.frozen import frozen

_PLAN = "prun"
"""The key, in a result's details, of a prune by the model, whose seqs refer to the recorded log."""
_SENT = (UserMessage, AssistantMessage, ToolResult)
_SIGNATURE = "recorded"
_NOT_A_REQUEST = "<synthetic>"
"""The model name in messages that Claude Code itself wrote."""


class Counted:
    """A token counter that counts each text once."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Return the tokens of the text."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._counter.count(text)
        return found


@frozen
class Step:
    """An event to play: its time, its place in the original log, and the touches that its call declared."""

    at: int
    source: int
    event: Event
    touches: Touches | None = None


@dataclass(frozen=True)
class Script:
    """A session to play.

    `name` is for display, `agent` is the program that recorded the session, and `cwd` its directory. `preamble` is
    the recorded system prompt with the tools, None if the recording has none. `numbered`: it is a log of prunecli, so
    that a play keeps its numbers: the steps include all records but edits. `cuts` has the cut of each result, by
    caps and wording. `folded` has the shortened texts that quotes were looked for in, each with its white space
    folded.
    """

    name: str
    agent: str
    steps: tuple[Step, ...]
    counter: TokenCounter
    cwd: str = ""
    preamble: Mapping[str, Json] | None = None
    numbered: bool = False
    cuts: dict[Hashable, dict[int, Cut | None]] = field(default_factory=dict, compare=False, repr=False)
    folded: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _sizes(self) -> Mapping[int, Sizes]:
        """The sizes of the contents that all plays send whole, by identity."""
        contents = (step.event.content for step in self.steps if isinstance(step.event, _SENT))
        return {key: Sizes() for key, count in Counter(map(id, contents)).items() if count == 1}

    def sizes_of(self, event: Said) -> Sizes:
        """Return the sizes of an event's content. Plays do not share those of summaries and shortened results."""
        cut = event.attached if isinstance(event, UserMessage) else event
        if isinstance(event, CompactionApplied) or getattr(cut, "spilled", None):
            return Sizes()
        return self._sizes.get(id(event.content)) or Sizes()

    @cached_property
    def quotes(self) -> Quotes:
        """The passages of earlier messages that responses quote."""
        return find_quotes((step.source, step.event) for step in self.steps)

    @cached_property
    def uses(self) -> Uses:
        """The names and constraints of earlier messages that responses use."""
        return find_uses((step.source, step.event) for step in self.steps)

    @cached_property
    def requests(self) -> tuple[Step, ...]:
        """The responses, one for each request."""
        return tuple(step for step in self.steps if is_answer(step.event))

    @cached_property
    def further(self) -> Mapping[int, int]:
        """For each request, the number of further ones until the session ends or is compacted."""
        found: dict[int, int] = {}
        count = 0
        for step in reversed(self.steps):
            if isinstance(step.event, CompactionApplied):
                count = 0
            elif is_request(step.event):
                found[step.source] = count
                count += 1
        return found

    @property
    def models(self) -> tuple[str, ...]:
        """The models that answered, in order of appearance; the session's model if none is named."""
        named = [step.event.model for step in self.requests if isinstance(step.event, AssistantMessage)]
        started = next((one.event.model for one in self.steps if isinstance(one.event, SessionStarted)), "")
        return tuple(dict.fromkeys(filter(None, named))) or ((started,) if started else ())

    @property
    def cache_ttl(self) -> CacheTtl | None:
        """The cache lifetime that the recording's endpoint reported last, if it did."""
        events = (step.event for step in reversed(self.requests))
        reports = (reported_ttl(event.usage) for event in events if isinstance(event, AssistantMessage))
        return next(filter(None, reports), None)

    @property
    def largest_prompt(self) -> int:
        """The largest prompt that the recording's endpoint reported, in tokens; 0 without a report."""
        events = (step.event for step in self.requests)
        return max(
            (event.usage.prompt_tokens for event in events if isinstance(event, AssistantMessage)), default=0
        )


def is_answer(event: Event) -> bool:
    return isinstance(event, AssistantMessage) and event.model != _NOT_A_REQUEST


def is_request(event: Event) -> bool:
    """Return whether the event reports a request of the session, answered or not."""
    return is_answer(event) or (isinstance(event, AttemptBilled) and event.reason in ("cut", "stopped"))


def is_idle(event: Event, before: bool) -> bool:
    """Return whether prunecli waits for the user after this event, given whether it did `before`."""
    match event:
        case RunEnded():
            return True
        case UserMessage(origin=origin) if origin not in ("command", "attachment"):
            return False
        case _:
            return before and not isinstance(event, RequestSent)


def script_of(records: Sequence[Record], counter: TokenCounter, *, name: str = "", agent: str = "") -> Script:
    """Make a script of a session's records. Edits are left out, since replay makes its own."""
    counted = Counted(counter)
    events = [record.event for record in records]
    cwd = next((event.cwd for event in events if isinstance(event, SessionStarted)), "")
    recorded = (
        event.value for event in events if isinstance(event, SettingChanged) and event.key == PREAMBLE
    )
    preamble = next((one for one in recorded if isinstance(one, dict)), None)
    numbered = preamble is not None
    steps = list(_steps(records, counted, numbered=numbered))
    ordered = steps if numbered else _in_call_order(steps)
    return Script(name, agent, tuple(ordered), counted, cwd, preamble, numbered)


def _steps(records: Sequence[Record], counter: TokenCounter, *, numbered: bool) -> Iterator[Step]:
    touches: dict[str, Touches | None] = {}  # of the calls so far: a later turn may repeat an id
    for record in records:
        match record.event:
            case ToolStarted(tool_use_id, touches=declared) as event:
                touches[tool_use_id] = declared
                if numbered:
                    yield Step(record.timestamp, record.seq, event)
            case AssistantMessage(content=content) as event:
                for call in tool_uses(content):
                    touches.pop(call.id, None)
                unedited = replace(event, input_transformations=None, applied_edits=None)
                if not numbered:
                    unedited = replace(unedited, content=tuple(map(_signed, content)))
                yield Step(record.timestamp, record.seq, unedited)
            case ToolResult() as event:
                details = {key: value for key, value in event.details.items() if key != _PLAN}
                content = event.content if any(map(_says, event.content)) else (Text(NO_OUTPUT),)
                tokens = result_tokens(content, counter.count)
                result = replace(event, content=content, details=details, tokens=tokens, spilled=None)
                yield Step(record.timestamp, record.seq, result, touches.get(event.tool_use_id))
            case UserMessage(attached=Attached() as attached) as event:
                whole = replace(event, attached=replace(attached, spilled=None))
                yield Step(record.timestamp, record.seq, whole)
            case SessionStarted() | UserMessage() | CompactionApplied() | Rewound() | Pinned() as event:
                yield Step(record.timestamp, record.seq, event)
            case PrunApplied() | PrunReverted(requires=()):
                pass
            case event:
                if numbered:
                    yield Step(record.timestamp, record.seq, event)


def _signed(block: Block) -> Block:
    """Return a block as the endpoint made it: recordings leave out the signatures of thinking."""
    return replace(block, signature=_SIGNATURE) if isinstance(block, Thinking) else block


def _says(block: Block) -> bool:
    return not isinstance(block, Text) or bool(block.text.strip())


def _in_call_order(steps: list[Step]) -> Iterator[Step]:
    """Yield the steps with the results of each response in the order of its calls, as the program records them."""
    place: dict[str, int] = {}
    waiting: list[Step] = []
    for step in steps:
        if isinstance(step.event, ToolResult):
            waiting.append(step)
            continue
        yield from sorted(waiting, key=lambda one: place.get(getattr(one.event, "tool_use_id", ""), -1))
        waiting = []
        if isinstance(step.event, AssistantMessage):
            place = {call.id: at for at, call in enumerate(tool_uses(step.event.content))}
        yield step
    yield from sorted(waiting, key=lambda one: place.get(getattr(one.event, "tool_use_id", ""), -1))
