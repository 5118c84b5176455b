"""One conversation of another program: recorded as a session of ours, and pruned by its policy.

The program sends its whole, unpruned history each time. What it adds becomes records; where its history differs from
the last one, the session is rewound to there. Then the policy decides, and the session's own messages say what is
sent. A message without an edit is sent as the program wrote it.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

from prunecli.agent.assemble import cache_marks
from prunecli.agent.policy import Policy
from prunecli.context.repair import strip_stale, strip_thinking
from prunecli.features.proxy.body import (
    Incoming,
    Message,
    begins_summary,
    is_summary,
    plain,
    summary_in,
    text_of,
    without_thinking,
)
from prunecli.features.proxy.way_back import WayBack, body_of, edited, pieces
from prunecli.model.claude import is_bound
from prunecli.model.codec import content_to_json
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    RequestSent,
    Rewound,
    SettingChanged,
    ToolResult,
    UserMessage,
    is_edit,
)
from prunecli.model.messages import Json, Text, plain_text, tool_uses
from prunecli.model.requests import PREAMBLE, own_name, tool_names
from prunecli.providers.failures import Failures
from prunecli.providers.provider import Response
from prunecli.runtime import Runtime
from prunecli.session.importers.anthropic_messages import events_of
from prunecli.session.importers.tool_names import Touching
from prunecli.util.errors import PrunecliError, SignatureRejected, UsageError
from prunecli.util.frozen import frozen

PROXIED = "session.proxied"
"""The setting that marks a session of another program with its name."""


PRUNING, NAME = "pruning.enabled", "session.name"
"""The settings that a user may change while the program runs."""


@frozen
class HowToPrune:
    """`program` is the name of the program behind the proxy. With `prunes` False, requests are only recorded; with
    `bound`, models with bound thinking are pruned too."""

    program: str = ""
    prunes: bool = True
    bound: bool = False


class Unlike(ValueError):
    """What the session would send differs from what the program sent, without a prune."""


class Conversation:
    """A program's conversation and its session.

    Models with bound thinking are pruned only with `how.bound`, or if the program asks the endpoint to drop invalid
    thinking. The program's own history is the unpruned one: without the proxy, thinking that was made after a prune
    would be rejected there. `is_lost`: the session of earlier requests can't be read. `off` says why the conversation
    is left alone from now on, "" for no reason.
    """

    def __init__(self, runtime: Runtime, how: HowToPrune, *, is_lost: bool = False) -> None:
        self.runtime = runtime
        self.off = ""
        self.turn = asyncio.Lock()
        """Held from a request until its answer is recorded."""
        self._is_lost = is_lost and how.bound
        self._committing = asyncio.Lock()
        self._how, self._binds = how, False
        self.last: Incoming | None = None
        self._said: list[Message] = []
        self._before: list[int] = []
        """The seq of the last record before each message."""
        self._way_back = WayBack(self._before)
        self._names: dict[str, str] = {}
        self._touching = Touching()
        self._details: dict[str, Mapping[str, Json]] = {}
        self._whole: dict[str, list[Message]] = {}
        """The program's results that are shortened, by call."""
        self._answer: Response | None = None
        self._answered_at = 0

    # The program's history -----------------------------------------------------------------------------------

    def shared(self, messages: Sequence[Message]) -> int:
        """Return how many of these messages the conversation begins with."""
        same = 0
        for ours, theirs in zip(self._said, messages, strict=False):
            if ours is not theirs and ours != theirs:
                break
            same += 1
        return same

    @property
    def length(self) -> int:
        """Messages of the last request."""
        return len(self._said)

    @property
    def busy(self) -> bool:
        return self.turn.locked()

    def goes_on(self, request: Incoming, shared: int) -> bool:
        """Return whether a request adds an answer to everything said so far, of which it has `shared` messages."""
        more = request.messages[shared:]
        return shared == len(self._said) and bool(more) and more[0]["role"] == "assistant"

    def serves(self, request: Incoming) -> bool:
        """Return whether a request has this conversation's tools, more or fewer; a side request has others."""
        ours, theirs = set(self._tools), set(tool_names(request.preamble) or ())
        return ours <= theirs or theirs <= ours

    def summarized_in(self, request: Incoming) -> bool:
        """Return whether a request begins with its program's summary of this conversation: the words of the last
        answer, or any before its last message."""
        if not is_summary(request.messages[0]):
            return False
        words = summary_in(plain_text(self._answer.content)) if self._answer else ""
        return (bool(words) and words in text_of(request.messages[0])) or self._said[-1] in request.messages[
            1:
        ]

    def resume(self, messages: Sequence[Message]) -> bool:
        """Take over the messages that the session, read from disk, begins with. Return whether there are any."""
        session = self.runtime.session
        whole = self.runtime.new_context()
        for record in session.records:
            if isinstance(record.event, ToolResult) and record.event.spilled:
                record = replace(record, event=replace(record.event, spilled=None))
            if not is_edit(record.event):
                whole.apply(record)
        for group in whole.messages():
            blocks, first = plain([json.loads(group.canonical)]), len(self._said)
            while blocks and len(self._said) < len(messages):  # several, if messages of one role are joined
                theirs = plain([messages[len(self._said)]])
                if blocks[: len(theirs)] != theirs:
                    break
                self._before.append(group.seqs[-len(blocks)] - 1)
                self._said.append(messages[len(self._said)])
                del blocks[: len(theirs)]
            if blocks:
                del self._said[first:], self._before[first:]
                if self._said:  # the program went back
                    self.runtime.emit(Rewound(group.seqs[0] - 1))
                break
        for record in session.records:
            if isinstance(record.event, AssistantMessage):
                self._names.update((call.id, call.name) for call in tool_uses(record.event.content))
        return bool(self._said)

    @property
    def _tools(self) -> tuple[str, ...]:
        return tool_names(self.runtime.session.context.settings.get(PREAMBLE))

    # The model's own tools -----------------------------------------------------------------------------------

    def made_call(self, asked: Mapping[str, Json]) -> str:
        """Return the id of the call in the last answer that a program runs now, "" if it is none of these."""
        calls = tool_uses(self._answer.content) if self._answer else ()
        fits = (
            call.id
            for call in calls
            if own_name(call.name) == asked["tool"]
            and (asked["call"] == call.id if asked["call"] else asked["input"] == call.input)
            and call.id not in self._details
        )
        return next(fits, "")

    def keep_details(self, call: str, details: Mapping[str, Json]) -> None:
        """Keep the details of a result, which the program sends without them."""
        self._details[call] = details

    # Requests ------------------------------------------------------------------------------------------------

    def send(self, request: Incoming) -> bytes:
        """Record a request and return the body to send. Raises ValueError for one that can't be recorded as it is,
        and StorageFailed."""
        self._follow(request)
        context, policy = self.runtime.session.context, self._policy(request)
        if self._edits:
            if self._is_lost:
                self._leave_out(strip_thinking(policy.view(context)))
            for prune in (*policy.planned_by_model(context), *policy.prunes(context)):
                self.runtime.emit(prune)
        if policy.leaves_out and (context.pruns or self._edits):
            self._leave_out(strip_stale(policy.view(context)))
        return self._recorded(request)

    def mended(self, request: Incoming, refusal: bytes) -> bytes | None:
        """Return the body without thinking, if the endpoint refused it because of thinking that is bound to another
        conversation: records were lost. None if it did not, or if there is none left."""
        policy = self._policy(request)
        if not (is_about_thinking(refusal) and policy.leaves_out and self._edits):
            return None
        remedy = strip_thinking(policy.view(self.runtime.session.context))
        self._leave_out(remedy)
        return self._recorded(request) if remedy else None

    def thoughtless(self, request: Incoming, body: bytes, refusal: bytes) -> bytes | None:
        """Return the program's request without thinking, if the endpoint refused it after this conversation was
        pruned. None in any other case."""
        pruned = self._how.bound and body is request.raw and is_about_thinking(refusal)
        return without_thinking(request) if pruned else None

    def _policy(self, request: Incoming) -> Policy:
        """Return the policy. It leaves out thinking that is invalid, unless the program asks the endpoint to."""
        leaves_out = is_bound(request.model) and not request.drops_thinking
        return self.runtime.policy._replace(leaves_out=leaves_out)

    def _leave_out(self, thinking: PrunApplied | None) -> None:
        self._is_lost = False
        if thinking:
            self.runtime.emit(thinking)

    def _recorded(self, request: Incoming) -> bytes:
        context = self.runtime.session.context
        spans = self._way_back.spans(request, context.messages())
        wanted = cache_marks(context, len(spans), model=request.model)[:-1]
        gone = context.cache.is_cold(request.model, self.runtime.setup.clock())
        body, marks = body_of(request, spans, wanted[::-1] if gone else wanted)
        self.runtime.emit(RequestSent(request.model, context.counts.context_tokens, context.sha256(), marks))
        return body

    @property
    def _edits(self) -> bool:
        """Whether the conversation may be sent other than as it is."""
        return self._how.prunes and not self._binds

    def preview(self, request: Incoming) -> bytes:
        """Return the body as it would be sent now, for a count of its tokens. Nothing is recorded."""
        if self.off or self.shared(request.messages) < len(self._said):
            return request.raw
        spans = self._way_back.spans(request, self.runtime.session.context.messages())
        return request.with_messages(pieces(request, spans)) if edited(spans, self.length) else request.raw

    def edit(self, event: Event) -> int:
        """Record an edit of the user, which counts from the next request on, and return its seq. Raises UsageError if
        the program's requests would not be sent with it, and StorageFailed."""
        if self.off:
            raise UsageError("this conversation is not pruned", self.off)
        if isinstance(event, SettingChanged):
            if event.key not in (PRUNING, NAME):
                raise UsageError(f"only the program can change {event.key}", "change it there")
        elif not isinstance(event, PrunApplied | PrunReverted | Pinned):
            raise UsageError("only its program adds messages", "R restores in place")
        elif isinstance(event, PrunApplied) and self._binds:
            raise UsageError(
                "this model's thinking is bound to the unpruned conversation", "start the proxy with --bound"
            )
        return self.runtime.emit(event).seq

    def leave(self, why: str, request: Incoming) -> None:
        """Leave the conversation alone from this request on."""
        self.off, self._said, self.last = why, request.messages, None

    def answered(self, answer: Response | None) -> None:
        """Take the answer to the last request. It is recorded in the form in which the program sends it back."""
        self._answer, self._answered_at = answer, self.runtime.setup.clock()

    async def commit(self) -> None:
        """Make the session durable. If that fails, the next request passes unpruned, with a line."""
        async with self._committing:
            with suppress(PrunecliError):
                await asyncio.to_thread(self.runtime.session.commit)

    async def close(self) -> None:
        """Record the last answer and close the session. Raises StorageFailed."""
        await self._committing.acquire()
        if self._answer is not None and not self.off and self._said and self._said[-1]["role"] == "user":
            event = self._with_usage(AssistantMessage(self._answer.content, self._answer.model))
            self.runtime.session.emit(event, self._answered_at)
        self.runtime.session.close()

    def _follow(self, request: Incoming) -> None:
        """Record what is new in the program's history. Raises ValueError."""
        session, before, same = self.runtime.session, self.length, self.shared(request.messages)
        new = iter(request.messages[same:])
        if self._answer and self.goes_on(request, same):
            self._add(next(new), request.model, shortens=False)  # before a change of the settings
        elif self._answer and not (same == 0 < before and self._said[-1] not in request.messages):
            session.emit(AttemptBilled(self._answer.model, self._answer.usage, "cut"), self._answered_at)
            self._answer = None
        fixed = ("model.name", request.model), (PROXIED, self._how.program), (PREAMBLE, request.preamble)
        for key, value in fixed:
            known = session.context.settings.get(key)
            if known is not value and known != value:
                self.runtime.emit(SettingChanged(key, value))
        if same < before:
            self.runtime.emit(Rewound(self._before[same]))
            del self._said[same:], self._before[same:]
            self._way_back.went_back(same)
        self._binds = is_bound(request.model) and not (request.drops_thinking or self._how.bound)
        shortens = self._edits and self.runtime.choices.recall
        for message in new:
            self._add(message, request.model, shortens=shortens)
        self._said[:] = request.messages
        self.last = request
        self._check(request, same)

    def _add(self, message: Message, model: str, *, shortens: bool) -> None:
        before, at = self.runtime.session.next_seq - 1, self._answered_at if self._answer else None
        events = events_of(message, self._names, model, first=not self._said)
        for event in events if self._said else self._summarized(events):
            if isinstance(event, AssistantMessage):
                self._names.update((call.id, call.name) for call in tool_uses(event.content))
                event = self._with_usage(event)
            for one in self._touching.events(_prompt(event)):
                self.runtime.session.emit(self._shortened(one) if shortens else one, at)
        self._said.append(message)
        self._before.append(before)

    def _summarized(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield these events, the program's own summary among them as one."""
        for event in events:
            if not isinstance(event, UserMessage):
                yield event
                continue
            texts = [block.text if isinstance(block, Text) else "" for block in event.content]
            at = next((number for number, text in enumerate(texts) if begins_summary(text)), len(texts))
            if before := event.content[:at]:
                yield replace(event, content=before)
            if at < len(texts):
                seq, answer, self._answer = self.runtime.session.next_seq, self._answer, None
                cost = (answer.model, answer.usage) if answer else ()
                yield CompactionApplied(texts[at], seq - 1, seq, 0, 0, "", *cost)
            if after := event.content[at + 1 :]:
                yield replace(event, content=after)

    def _shortened(self, event: Event) -> Event:
        """Return a result with the part of it that is sent, if it is long."""
        session = self.runtime.session
        if not isinstance(event, ToolResult):
            return event
        event = replace(event, details={**event.details, **self._details.pop(event.tool_use_id, {})})
        shown = self.runtime.shorten(event, session.next_seq, session.context)
        if isinstance(shown, ToolResult) and shown.spilled:
            self._whole[event.tool_use_id] = content_to_json(event.content)
        return shown

    def _with_usage(self, event: AssistantMessage) -> AssistantMessage:
        answer, self._answer = self._answer, None
        if answer is None:
            return event
        return replace(
            event,
            model=answer.model,
            stop_reason=answer.stop_reason,
            usage=answer.usage,
            input_transformations=answer.input_transformations,
            thinking_tokens=answer.thinking_tokens,
            applied_edits=answer.applied_edits,
        )

    def _check(self, request: Incoming, same: int) -> None:
        """Raise Unlike if the session says anything else than the new messages."""
        if same == len(self._said):
            return
        spans = self._way_back.spans(request, self.runtime.session.context.messages())
        new = [span for span in spans if span.to > same]
        ours = [self._unshortened(json.loads(span.group.canonical)) for span in new]
        first = new[0].at if new else same  # one before `same`, if two of one role are joined
        if plain(ours) != plain(self._said[first:]):
            raise Unlike(f"message {same + 1} has a form that prunecli would write differently")

    def _unshortened(self, message: Message) -> Message:
        blocks = [
            {**block, "content": self._whole[id_]}
            if (id_ := block.get("tool_use_id")) in self._whole
            else block
            for block in message["content"]
        ]
        return {**message, "content": blocks}


def is_about_thinking(refusal: bytes) -> bool:
    """Return whether this answer of an endpoint (status 400) rejects a thinking block."""
    return isinstance(Failures("").refused(HTTPStatus.BAD_REQUEST, {}, refusal, 0), SignatureRejected)


def _prompt(event: Event) -> Event:
    return replace(event, origin="prompt") if isinstance(event, UserMessage) else event
