"""Assembles and validates the next request: messages, cache breakpoints and hash."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prunecli.context.compaction import CompactionPlan
from prunecli.context.economics import Market, cold
from prunecli.context.item_order import group_of
from prunecli.context.state import Context
from prunecli.context.validate import MAX_MARKS, validate
from prunecli.model.codec import canonical
from prunecli.model.events import AssistantMessage, RequestSent, SettingChanged
from prunecli.model.messages import Json
from prunecli.model.notes import SYSTEM
from prunecli.model.requests import (
    COMPACTION_BETA,
    PREAMBLE,
    CacheTtl,
    Request,
    WireMessage,
    leads_with_summary,
)
from prunecli.model.searches import SEARCHES, offers_search
from prunecli.util.frozen import frozen


@frozen
class ModelSettings:
    """The model options of a request.

    `max_tokens` limits the answer; `thinking` is in the endpoint's form. With `cache_ttl` None, no breakpoints are
    set; with `effort` "", the model's default applies; with `context_management` None, none is sent. `without` are
    the optional fields that the endpoint rejected. Without `breakpoints`, the endpoint caches every prefix by itself.
    With `diagnoses`, the endpoint is asked why a prompt was not read from its cache.
    """

    name: str
    max_tokens: int = 32_000
    thinking: Mapping[str, Json] | None = None
    cache_ttl: CacheTtl | None = "5m"
    betas: tuple[str, ...] = ()
    effort: str = ""
    context_management: Mapping[str, Json] | None = None
    without: frozenset[str] = frozenset()
    breakpoints: bool = True
    diagnoses: bool = False


def assemble(context: Context, model: ModelSettings, cut: int = 0) -> Request:
    """Build the next request. Raises InvalidRequest if it breaks an invariant.

    `cut` is the number of messages that the endpoint's next summary would replace.
    """
    messages = context.messages()
    request = replace(
        _request(
            context,
            model,
            messages,
            cache_marks(context, len(messages), cut, model.name) if model.breakpoints else (),
        ),
        tokens=context.counts.context_tokens,
        sha256=context.sha256(),
        context_management=model.context_management,
        diagnostics={"previous_message_id": context.last_message or None} if model.diagnoses else None,
    )
    validate(request, context.wire.unchanged, paused=paused(context))
    return request


def thinking_for(
    messages: Sequence[WireMessage], thinking: Mapping[str, Json] | None
) -> Mapping[str, Json] | None:
    """Return the `thinking` option that these messages allow.

    With a budget, the first answer of an open tool loop must begin with thinking. If that thinking is gone, the
    result is None until the loop ends.
    """
    if thinking is None or thinking.get("type") != "enabled":
        return thinking
    first: WireMessage | None = None
    for at in range(len(messages) - 1, 0, -2):
        if not any(block.endswith(_RESULT) for block in messages[at].blocks):
            break
        first = messages[at - 1]
    return thinking if first is None or first.blocks[0].endswith(_THOUGHTS) else None


_RESULT = b'"type":"tool_result"}'
_THOUGHTS = (b'"type":"thinking"}', b'"type":"redacted_thinking"}')


def paused(context: Context) -> bool:
    """Return whether the endpoint paused the model's turn. Sending the turn back unchanged continues it."""
    last = context.items[-1].event if context.items else None
    return isinstance(last, AssistantMessage) and last.stop_reason == "pause_turn"


def searches_change(context: Context, offered: bool) -> SettingChanged | None:
    """Return the record that starts or stops offering the endpoint's search; None if nothing changes.

    Some models and endpoints reject the tool and its blocks, so later requests contain neither. Switching back to the
    first model restores the original bytes.
    """
    recorded = context.settings.get(PREAMBLE)
    tools = recorded.get("tools") or () if isinstance(recorded, dict) else ()
    if offered is (context.settings.get(SEARCHES) is not False) or not any(map(offers_search, tools)):
        return None
    return SettingChanged(SEARCHES, offered)


def system_messages_change(context: Context, taken: bool) -> SettingChanged | None:
    """Return the record that starts or stops sending fixed sentences as system messages; None if nothing changes.

    They stand at the same place in both forms, and each model always gets the same one, so that what it has stored
    and thought stays valid."""
    fixed = context.fixed
    return SettingChanged(SYSTEM, taken) if fixed.seqs and taken is not fixed.tells else None


_UNKNOWN = Market()


def summary_request(
    context: Context,
    model: ModelSettings,
    plan: CompactionPlan,
    market: Market = _UNKNOWN,
    *,
    short: bool = False,
) -> Request:
    """Return the request for a summary: everything sent before, so that it is read from the cache, plus the question.
    With a cold cache, nothing is stored, since no later request begins with it.

    `short` leaves out the messages that stay after the summary, in case the full request was rejected as too long.
    """
    messages = _before(context, plan.tail_start) if short else list(context.messages())
    question = canonical({"type": "text", "text": plan.request_text()})
    if messages and messages[-1].role == "user":
        last = messages.pop()
        asked = WireMessage.of("user", (*last.blocks, question), (*last.seqs, -1), last.notes)
    else:
        asked = WireMessage.of("user", (question,), (-1,))
    marks = () if cold(context, market) else cache_marks(context, len(messages))
    request = replace(
        _request(context, model, (*messages, asked), marks),
        context_management=model.context_management,
    )
    validate(request)
    return request


def compaction_request(
    context: Context, model: ModelSettings, plan: CompactionPlan, market: Market
) -> Request:
    """Return the request for a summary by the endpoint. It contains only the messages that the summary replaces.

    They are sent unchanged, so that they are read from the cache up to a breakpoint of the last request. No later
    request starts with them, so no other breakpoint writes them to the cache.
    """
    cut = plan.cut(context)
    marks = compaction_marks(context, cut, market)
    request = replace(
        _request(context, model, context.messages()[:cut], marks, summarizes=True),
        compaction={"type": "summarize", "instructions": plan.instructions()},
    )
    validate(request)
    return request


def compaction_marks(context: Context, cut: int, market: Market) -> tuple[int, ...]:
    """Return those of the first `cut` messages that get a cache breakpoint in the request for their summary."""
    wire = context.wire
    if cold(context, market):
        return ()
    same = wire.items_before(min(wire.unchanged, cut))
    read = max((items for items in context.cache.marks if items <= same), default=context.cache.stored(same))
    return (wire.group_at(read) - 1,) if read else ()


def _request(
    context: Context,
    model: ModelSettings,
    messages: tuple[WireMessage, ...],
    marks: tuple[int, ...],
    *,
    summarizes: bool = False,
) -> Request:
    return Request(
        model.name,
        model.max_tokens,
        context.preamble,
        messages,
        marks,
        thinking_for(messages, model.thinking),
        model.cache_ttl,
        _betas(model, messages, summarizes=summarizes),
        effort=model.effort,
        without=model.without,
    )


def _betas(model: ModelSettings, messages: Sequence[WireMessage], *, summarizes: bool) -> tuple[str, ...]:
    """Return the beta features of a request. The summary feature is included only if the request asks for a summary
    or contains one."""
    if summarizes or leads_with_summary(messages):
        return (*model.betas, COMPACTION_BETA)
    return model.betas


def _before(context: Context, seq: int) -> list[WireMessage]:
    """Return the messages before an entry; calls among them keep their results."""
    messages, at = context.messages(), group_of(context, seq)
    kept, shared = list(messages[:at]), messages[at : at + 1]
    place = context.position(seq)
    for message in shared:
        pieces = [
            (one, block)
            for one, block in zip(message.seqs, message.blocks, strict=True)
            if context.position(_head(context, one)) < place
        ]
        if pieces:
            kept.append(
                WireMessage.of(
                    message.role, tuple(b for _, b in pieces), tuple(s for s, _ in pieces), message.notes
                )
            )
    return kept


def _head(context: Context, seq: int) -> int:
    exchange = context.entries[seq].exchange
    return exchange.seq if exchange else seq


def cache_marks(context: Context, count: int, cut: int = 0, model: str = "") -> tuple[int, ...]:
    """Return those of the first `count` messages that get a cache breakpoint, with the model of the request if it may
    not be that of the last one.

    One is the last message, which caches the whole request. One is the last user message that is unchanged since the
    previous request, so that a later change after it leaves it cached. The endpoint stores prefixes at breakpoints
    only and looks back twenty blocks for them, so the last one stored is marked too. The end of the preamble always
    has its own breakpoint. If one is left, it keeps the last user message before `cut` stored, which the request for
    the endpoint's next summary will read.
    """
    wire, last = context.wire, count - 1
    same = max(0, min(wire.unchanged, last))
    stable = next((index for index in range(same - 1, -1, -1) if wire.role(index) == "user"), None)
    newest = last if count and wire.role(last) == "user" else None
    stored = wire.group_at(context.cache.stored(wire.items_before(same))) - 1
    switched = bool(model) and model != context.requested
    if same < last - 1 or switched:
        # Back on another branch, which may have more of it, or to another model, which may also have less.
        longest, _ = context.prompts.longest(context.digests(), model or context.requested, 0)
        if longest - 1 != stable:  # else that mark finds it, and the other keeps a shorter prefix stored
            stored = longest - 1 if longest and switched else max(stored, longest - 1)
    marks = {at for at in (stored, stable, newest) if at is not None and at >= 0}
    if len(marks) < MAX_MARKS - 1 and cut:
        marks |= {next(index for index in range(cut - 1, -1, -1) if wire.role(index) == "user")}
    return tuple(sorted(marks))


def sent(request: Request) -> RequestSent:
    return RequestSent(request.model, request.tokens, request.sha256, request.cache_marks)
