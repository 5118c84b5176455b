"""The slow, obvious projection: computes the next request's messages from all records at once.

It shares only the rendering of single blocks with the fold. `Context` must always agree with it; a property test
checks that.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from prunecli.context import render
from prunecli.context.render import wire_ids
from prunecli.context.wire import paired
from prunecli.model.edits import Edit
from prunecli.model.events import (
    SUMMARY_UNDO,
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    FilesSaved,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Text, ToolUse, tool_uses
from prunecli.model.notes import SYSTEM
from prunecli.model.requests import WireMessage
from prunecli.model.searches import SEARCHES
from prunecli.util.frozen import frozen

_OUTSIDE = (SettingChanged, SessionStarted, RequestSent, AttemptBilled, RunEnded, FilesSaved)


def project(records: Sequence[Record]) -> tuple[WireMessage, ...]:
    """Return the messages that result from these records."""
    branch = _branch(records)
    edits, ids = _live_edits(branch), _call_ids(branch)
    settings = {one.event.key: one.event.value for one in records if isinstance(one.event, SettingChanged)}
    out = _Messages(as_text=settings.get(SEARCHES) is False)
    tells = settings.get(SYSTEM) is True
    for number, record in enumerate(_visible(branch)):
        event = record.event
        if isinstance(event, UserMessage):
            fixed = {at for at in event.fixed if tells and edits.text(record.seq) is None}
            ours = [one for at, one in enumerate(event.content) if at in fixed and isinstance(one, Text)]
            rest = tuple(one for one in event.content if one not in ours)
            out.user(record.seq, _user(record.seq, replace(event, content=rest) if ours else event, edits))
            out.note(record.seq, render.blocks(tuple(ours)))
        elif isinstance(event, _Words):
            out.user(record.seq, [render.text(render.users_words(event.text))])
        elif isinstance(event, CompactionApplied):
            edit = edits.text(record.seq)
            if (block := render.signed(event)) and edit is None and number == 0:
                out.leading(record.seq, block)
            else:
                out.user(record.seq, [render.text(event.summary if edit is None else edit.text or "")])
        elif isinstance(event, AssistantMessage):
            _assistant(out, record.seq, event, edits, branch, ids.get(record.seq, {}))
    return out.done()


def _branch(records: Sequence[Record]) -> list[Record]:
    """Return the records of the current branch. A rewind returns to an earlier record."""
    history: dict[int, list[Record]] = {}
    branch: list[Record] = []
    for record in records:
        if isinstance(record.event, Rewound):
            known = [seq for seq in history if seq <= record.event.to_seq]
            branch = list(history[max(known)]) if known else []
            history[record.seq] = list(branch)
        elif not isinstance(record.event, _OUTSIDE):
            branch = [*branch, record]
            history[record.seq] = branch
    return branch


def _results(branch: list[Record]) -> dict[int, list[tuple[int, ToolResult]]]:
    """Return the results of each assistant message: for each call, the first later result."""
    found: dict[int, list[tuple[int, ToolResult]]] = {}
    owner: dict[str, int] = {}
    for record in branch:
        event = record.event
        if isinstance(event, AssistantMessage):
            found[record.seq] = []
            is_sent = render.assistant(event.content, {}) and event.stop_reason != "refusal"
            for call in tool_uses(event.content):
                owner.pop(call.id, None)
                if is_sent:
                    owner[call.id] = record.seq
        elif isinstance(event, ToolResult) and event.tool_use_id in owner:
            mine = found[owner[event.tool_use_id]]
            if all(other.tool_use_id != event.tool_use_id for _, other in mine):
                mine.append((record.seq, event))
    return found


@dataclass(slots=True)
class _LiveEdits:
    of: dict[int, list[tuple[int, Edit]]] = field(default_factory=dict)

    def dropped(self, seq: int) -> bool:
        return any(edit.kind == "drop" for _, edit in self.of.get(seq, ()))

    def text(self, seq: int) -> Edit | None:
        kinds = ("clear", "trim", "repair")
        return next((edit for _, edit in reversed(self.of.get(seq, [])) if edit.kind in kinds), None)

    def stripped(self, seq: int) -> bool:
        return any(edit.kind == "strip" for _, edit in self.of.get(seq, ()))

    def cut(self, seq: int, content: tuple[Block, ...]) -> tuple[Block, ...]:
        for _, edit in self.of.get(seq, ()):
            if edit.kind == "cut":
                given = json.loads(edit.text or "")
                content = tuple(
                    replace(one, input=given)
                    if isinstance(one, ToolUse) and one.id == edit.tool_use_id
                    else one
                    for one in content
                )
        return content

    def memos(self, seq: int) -> list[Edit]:
        live = {prun for stack in self.of.values() for prun, edit in stack if edit.kind == "drop"}
        return [edit for prun, edit in self.of.get(seq, ()) if edit.kind == "memo" and prun in live]


def _live_edits(branch: list[Record]) -> _LiveEdits:
    events: dict[int, Event] = {}
    answered = {seq for results in _results(branch).values() for seq, _ in results}
    pruns: set[int] = set()
    live = _LiveEdits()
    for record in branch:
        event = record.event
        if isinstance(event, ToolResult) and record.seq not in answered:
            continue
        events[record.seq] = event
        if isinstance(event, PrunApplied):
            pruns.add(record.seq)
            for edit in event.edits:
                if _may(edit, events.get(edit.seq)):
                    live.of.setdefault(edit.seq, []).append((record.seq, edit))
        elif isinstance(event, PrunReverted) and not event.requires:
            for seq in event.seqs:
                if seq in pruns:
                    pruns.remove(seq)
                    for target, stack in live.of.items():
                        live.of[target] = [pair for pair in stack if pair[0] != seq]
                elif isinstance(
                    events.get(seq), UserMessage | AssistantMessage | ToolResult | CompactionApplied
                ):
                    live.of[seq] = [pair for pair in live.of.get(seq, []) if pair[1].kind == "memo"]
    return live


def _may(edit: Edit, target: Event | None) -> bool:
    match edit.kind:
        case "drop" | "memo" | "strip":
            return isinstance(target, AssistantMessage)
        case "cut":
            calls = tool_uses(target.content) if isinstance(target, AssistantMessage) else ()
            return any(call.id == edit.tool_use_id for call in calls)
        case "clear" | "trim":
            output = isinstance(target, UserMessage) and target.has_output
            return output or isinstance(target, ToolResult)
        case _:
            return isinstance(target, UserMessage | AssistantMessage | ToolResult | CompactionApplied)


@frozen
class _Words:
    """The user's messages beside a summary by the endpoint, placed at its record."""

    text: str


@frozen
class _Shown:
    """A shown item: its record and its content."""

    seq: int
    event: UserMessage | AssistantMessage | CompactionApplied | _Words


def _without_undone(branch: list[Record]) -> list[Record]:
    """Return the records without the summaries that were taken back, each while it was the newest one."""
    effective: list[Record] = []
    gone: set[int] = set()
    for record in branch:
        if isinstance(record.event, CompactionApplied):
            effective.append(record)
        elif isinstance(record.event, PrunReverted) and SUMMARY_UNDO in record.event.requires and effective:
            gone |= {effective.pop().seq} if record.event.seqs[:1] == (effective[-1].seq,) else set()
    return [record for record in branch if record.seq not in gone]


def _visible(branch: list[Record]) -> list[_Shown]:
    """Return the messages in order, with each compacted range replaced by its summary."""
    shown: list[tuple[int, _Shown]] = []
    for record in _without_undone(branch):
        event = record.event
        if isinstance(event, UserMessage | AssistantMessage):
            shown.append((record.seq, _Shown(record.seq, event)))
        elif isinstance(event, CompactionApplied):
            kept = [pair for pair in shown if not _covered(pair, event)]
            before = [pair for pair in kept if pair[0] <= event.head_end]
            shown = [*before, (event.head_end, _Shown(record.seq, event)), *kept[len(before) :]]
            if event.words:
                shown.append((record.seq, _Shown(record.seq, _Words(event.words))))
    return [one for _, one in shown]


def _covered(pair: tuple[int, _Shown], gone: CompactionApplied) -> bool:
    place, one = pair
    if isinstance(one.event, CompactionApplied):
        return gone.head_end <= place < gone.tail_start
    return gone.head_end < place < gone.tail_start


def _user(seq: int, event: UserMessage, edits: _LiveEdits) -> Iterable[bytes]:
    edit = edits.text(seq)
    if edit is None:
        return render.blocks(event.sent)
    replacement = render.text(edit.text or "")
    if edit.kind != "repair" and (event.origin == "command" or event.has_output):
        return [render.blocks(event.content)[0], replacement]
    return [replacement]


def _call_ids(branch: list[Record]) -> dict[int, dict[str, str]]:
    """Return the calls sent under another id, by assistant message, including those not shown."""
    taken: set[str] = set()
    found: dict[int, dict[str, str]] = {}
    for record in branch:
        event = record.event
        if isinstance(event, AssistantMessage) and event.stop_reason != "refusal":
            calls = tool_uses(event.content)
            found[record.seq] = wire_ids(calls, record.seq, taken)
            taken |= {found[record.seq].get(call.id, call.id) for call in calls}
    return found


def _assistant(
    out: "_Messages",
    seq: int,
    event: AssistantMessage,
    edits: _LiveEdits,
    branch: list[Record],
    ids: dict[str, str],
) -> None:
    for memo in edits.memos(seq):
        out.user(seq, [render.text(memo.text or "")])
    if edits.dropped(seq) or event.stop_reason == "refusal" or not render.assistant(event.content, {}):
        return
    calls = tool_uses(event.content)
    edit = edits.text(seq)
    if edit is not None and not calls:
        out.assistant(seq, [render.text(edit.text or "")])
        return
    out.assistant(seq, render.assistant(edits.cut(seq, event.content), ids, stripped=edits.stripped(seq)))
    if calls:
        out.results(seq, calls, [(n, e, edits.text(n)) for n, e in _results(branch)[seq]], ids)


class _Messages:
    """Messages under construction. Results come first, and neighbors of one role are merged."""

    def __init__(self, *, as_text: bool) -> None:
        self._as_text = as_text
        self._notes: set[tuple[int, bytes]] = set()
        self._built: list[tuple[str, list[tuple[int, bytes]], list[tuple[int, bytes]]]] = []

    def user(self, seq: int, blocks: Iterable[bytes]) -> None:
        pieces = [(seq, block) for block in blocks]
        if pieces:
            self._last("user")[2].extend(pieces)

    def note(self, seq: int, blocks: Iterable[bytes]) -> None:
        self.user(seq, blocks)
        self._notes |= {(seq, block) for block in blocks}

    def leading(self, seq: int, block: bytes) -> None:
        self._last("assistant")[2].append((seq, block))

    def assistant(self, seq: int, blocks: Iterable[bytes]) -> None:
        pieces = [(seq, block) for block in blocks]
        if pieces:
            if not self._built:
                self.user(seq, [render.text(render.CONTINUES)])
            self._last("assistant")[2].extend(pieces)

    def results(
        self,
        seq: int,
        calls: tuple[ToolUse, ...],
        answers: list[tuple[int, ToolResult, Edit | None]],
        ids: dict[str, str],
    ) -> None:
        first = self._last("user")[1]
        for answer_seq, event, edit in answers:
            first.append((answer_seq, render.result(event, ids, edit.text if edit else None)))
        answered = {event.tool_use_id for _, event, _ in answers}
        first.extend((seq, render.interrupted(call, ids)) for call in calls if call.id not in answered)

    def done(self) -> tuple[WireMessage, ...]:
        messages = []
        for number, (role, first, rest) in enumerate(self._built, 1):
            pieces = [*first, *rest]
            notes = tuple(piece for piece in pieces if piece in self._notes)
            notes = () if len(notes) == len(pieces) else notes
            pieces = [piece for piece in pieces if piece not in notes]
            blocks, seqs = tuple(block for _, block in pieces), tuple(seq for seq, _ in pieces)
            if role == "assistant":
                last = number == len(self._built)
                blocks = paired(blocks, last=last, as_text=self._as_text)
            messages.append(
                WireMessage.of("assistant" if role == "assistant" else "user", blocks, seqs, notes)
            )
        return tuple(messages)

    def _last(self, role: str) -> tuple[str, list[tuple[int, bytes]], list[tuple[int, bytes]]]:
        if not self._built or self._built[-1][0] != role:
            self._built.append((role, [], []))
        return self._built[-1]
