"""Turns records and signals into transcript changes, in order. It keeps its own state and does not use the screen."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from prunecli.context.labels import prune_in_words, tokens_pruned_by
from prunecli.context.lineage import branch
from prunecli.context.render import LOST, is_lost
from prunecli.context.state import Context
from prunecli.front.presentation import entries as shown
from prunecli.front.presentation import outcomes
from prunecli.front.presentation.marks import Marks, Saved, label, raw_saved
from prunecli.front.presentation.outcomes import (
    Summarize,
    answered_search,
    search_call,
    search_result,
    text_of,
)
from prunecli.front.presentation.streaming import NOTHING, Growing, Streaming, Summarizing
from prunecli.front.presentation.transcript_changes import Add, Anew, Board, Change, Tail
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    FilesSaved,
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
    Unknown,
    UserMessage,
)
from prunecli.model.messages import Block, Json, Text, Thinking, ToolUse, tool_uses
from prunecli.model.notes import TYPED, change_in_words, notice_parts, resources_in_words, without_notes
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
from prunecli.plugins.features import available
from prunecli.runtime import Runtime
from prunecli.runtime.counting import saver, teller
from prunecli.runtime.toolbox import summaries
from prunecli.session.log import LOST_WORDS
from prunecli.util.figures import in_tokens, short
from prunecli.util.sanitize import uncolored

OPEN_LINES = 40
"""Maximum lines of `!cmd` output shown unfolded."""
TAIL_LINES = 6
"""Maximum output lines shown for a running tool."""

REWOUND = Notice(available("Rewound. The other messages stay in the log; /rewind to return to them"))
FORWARD = Notice(REWOUND.text.replace("Rewound", "Went forward"))

_ORIGINS = {"steering": shown.Origin.STEERING, "follow_up": shown.Origin.FOLLOW_UP}
STOPPED = {
    "max_tokens": 'Reply hit the length limit. Type "continue"',
    "model_context_window_exceeded": 'Reply filled the context window. /compact, then type "continue"',
    "refusal": "The model refused to answer" + available(". /rewind to change the prompt"),
}
"""The notice below an answer that ended abnormally, by stop reason."""


class Presenter:
    """The presenter of one session.

    `tokens` returns the tokens of a record's entry, None if unknown. `saved` returns the tokens that an edit saves.
    `withheld` returns the tokens of a prune by its record, None if unknown.
    """

    def __init__(
        self,
        summarize: Summarize,
        tokens: Callable[[int], int | None],
        saved: Saved = raw_saved,
        withheld: Callable[[int], int | None] = lambda _: None,
        *,
        open_thinking: bool = False,
    ) -> None:
        self.board = Board()
        self._summarize = summarize
        self._tokens = tokens
        self._saved = saved
        self._withheld = withheld
        self._prunes: dict[int, tuple[int, PrunApplied]] = {}  # by slot
        self._fold_thinking = not open_thinking
        self._marks = Marks()
        self._streaming = Streaming(self.board, fold_thinking=self._fold_thinking)
        self._summarizing = Summarizing(self.board)
        self._slots_of: dict[int, list[int]] = {}
        self._seq_of: dict[int, int] = {}
        self._calls: dict[str, tuple[int, int]] = {}  # by id: slot, and seq of its message
        self._ids: dict[int, str] = {}  # of calls, by slot
        self._line = ""  # typed for the prompt that the next record has
        self._asked: dict[str, tuple[object, str]] = {}  # by id: name and input, and how they are shown

    def target(self, slot: int) -> int | None:
        """Return the record whose edits a restore of this entry would undo; None if there is none."""
        seq = self._seq_of.get(slot)
        made = self._marks.on(seq) if seq is not None else None
        return made[1].seq if made else None

    def call(self, slot: int) -> str | None:
        """Return the id of the tool call in this slot."""
        return self._ids.get(slot)

    def take(self, event: SessionEvent) -> list[Change]:
        """Return the changes for a record or a signal."""
        match event:
            case Record(seq, _, recorded):
                return self._record(seq, recorded)
            case SummaryStarted(tokens, focus):
                return self._summarizing.begin(tokens, focus)
            case SummaryEnded():
                return self._summarizing.end()
            case TextDelta() | ThinkingDelta() | ToolCallDelta() | StreamDiscarded() if self._summarizing.now:
                return self._summary(event)
            case TextDelta(text):
                return self._streaming.grow("text", text)
            case ThinkingDelta(text):
                return self._streaming.grow("thinking", text)
            case ToolCallDelta(id_, name, json):
                return self._streaming.write_call(id_, name, json)
            case ToolProgress(id_, text, now, ended):
                return self._progress(id_, text, now, ended)
            case StreamStarted():
                return self._streaming.settle()
            case StreamDiscarded():
                return self._streaming.discard()
            case Notice(text, level):
                return [self._add(shown.Notice(text, shown.Level(level)))]
            case RetryScheduled() | FileMoved() | HooksRunning():
                return []
            case _:
                assert_never(event)

    def _progress(self, id_: str, text: str, now: str, ended: str) -> list[Change]:
        """Return the changes for the output of a running call: a task's line shows its current activity."""
        slot = self._calls[id_][0] if id_ in self._calls else -1
        entry = self.board.entries[slot] if slot >= 0 else None
        if now and isinstance(entry, shown.ToolCall):
            return [self.board.put(slot, outcomes.doing(entry, text, now, ended))]
        return [Tail(slot, tuple(uncolored(text).rstrip("\r\n").split("\n")[-TAIL_LINES:]))] if entry else []

    def _summary(self, event: TextDelta | ThinkingDelta | ToolCallDelta | StreamDiscarded) -> list[Change]:
        """Return the changes while a summary streams: its text is not an answer."""
        match event:
            case TextDelta(text):
                return self._summarizing.grow(text)
            case StreamDiscarded():
                return self._summarizing.again()
            case ThinkingDelta() | ToolCallDelta():
                return []
            case _:
                assert_never(event)

    def _add(self, entry: shown.Entry, seq: int | None = None) -> Add:
        added = self.board.add(entry)
        if seq is not None:
            self._belongs(added.slot, seq)
        return added

    def _belongs(self, slot: int, seq: int) -> None:
        self._slots_of.setdefault(seq, []).append(slot)
        self._seq_of[slot] = seq

    # Records -------------------------------------------------------------------------------------------------

    def _record(self, seq: int, event: Event) -> list[Change]:
        match event:
            case RequestSent():
                return []
            case UserMessage():
                return self._user(seq, event)
            case AssistantMessage():
                return self._assistant(seq, event)
            case ToolStarted(id_, name, given):
                return self._started(id_, name, given)
            case ToolResult():
                return self._result(seq, event)
            case PrunApplied():
                return self._pruned(seq, event)
            case PrunReverted(seqs, requires):
                return [self._add(shown.Divider("summary taken back"))] if requires else self._reverted(seqs)
            case CompactionApplied():
                return self._compacted(event)
            case Rewound():
                return [Anew()]
            case RunEnded(reason, error):
                ended = self._streaming.settle()
                if reason == "interrupted":
                    ended.append(self._add(shown.Notice("Interrupted.")))
                return [*ended, self._add(outcomes.failure(error))] if error else ended
            case SettingChanged(key, str(line)) if key == TYPED:
                self._line = line
                return []
            case AttemptBilled() | SessionStarted() | Pinned() | FilesSaved() | SettingChanged() | Unknown():
                return []
            case _:
                assert_never(event)

    def _user(self, seq: int, event: UserMessage) -> list[Change]:
        line = self._line
        if event == LOST_WORDS or is_lost(event.content):
            return [self._add(shown.Notice(LOST, shown.Level.WARNING), seq)]
        if parts := notice_parts(event):
            return [self._add(outcomes.notice_entry(*parts, self._tokens(seq)), seq)]
        if event.origin == "attachment":
            return [self._add(outcomes.attached_entry(event, self._tokens(seq), self._summarize), seq)]
        if event.origin == "command" and len(event.content) > 1:
            output = command_output(text_of(event.content[1:]), self._tokens(seq))
            if event.restores:
                output = outcomes.restored(output, event)
            return [self._add(outcomes.typed_entry(text_of(event.content[:1]))), self._add(output, seq)]
        origin = _ORIGINS.get(event.origin, shown.Origin.PROMPT)
        text, self._line = text_of(without_notes(event.content)), ""
        said: list[Change] = [self._add(shown.Prompt(line or text, origin), seq)]
        if line:
            said.append(self._add(outcomes.sent_entry(text, self._tokens(seq)), seq))
        lines = [*resources_in_words(event.content), *filter(None, [change_in_words(event.content)])]
        return [*said, *(self._add(shown.Notice(line)) for line in lines)]

    def _assistant(self, seq: int, event: AssistantMessage) -> list[Change]:
        changes = [change for block in event.content for change in self._block(seq, block)]
        interrupted = event.stop_reason == "interrupted"  # the log keeps the text, not the thinking before it
        changes += self._streaming.settle() if interrupted else self._streaming.discard()
        goes_on = event.stop_reason != "refusal" and tool_uses(event.content)
        if event.stop_reason in STOPPED and not goes_on:
            changes.append(self._add(shown.Notice(STOPPED[event.stop_reason], shown.Level.WARNING)))
        return changes

    def _block(self, seq: int, block: Block) -> list[Change]:
        """Return the entry for a block, replacing its streamed part if there is one."""
        part = self._streaming.claim(block)
        entry: shown.Entry
        match block:
            case Text(words) if words.strip():
                entry = shown.Assistant(words)
            case Thinking(words) if words.strip():
                entry = shown.Thinking(words, folded=self._fold_thinking)
            case ToolUse(id_, name, given):
                argument = outcomes.argument_of(name, given, self._summarize)
                self._asked[id_] = (name, given), argument
                return [self._called(id_, shown.ToolCall(name, argument, shown.ToolState.WAITING), part, seq)]
            case _ if search := search_call(block):
                return [self._called(*search, part, seq)]
            case _ if result := search_result(block):
                slot = self._calls.pop(result[0], (-1, -1))[0]
                entry = answered_search(self.board.entries[slot] if slot >= 0 else None, result[1])
                return [self.board.put(slot, entry) if slot >= 0 else self._add(entry, seq)]
            case _:
                return [self.board.put(part.slot, NOTHING)] if part else []
        if part is None:
            return [self._add(entry, seq)]
        self._belongs(part.slot, seq)
        return [self._streaming.show(part, entry, words)]

    def _called(self, id_: str, entry: shown.Entry, part: Growing | None, seq: int) -> Change:
        change = self._streaming.show(part, entry, "") if part else self._add(entry)
        slot = part.slot if part else len(self.board.entries) - 1
        self._calls[id_], self._ids[slot] = (slot, seq), id_
        return change

    def _started(self, id_: str, name: str, given: Mapping[str, Json]) -> list[Change]:
        asked, argument = self._asked.pop(id_, (None, ""))
        if asked != (name, given):
            argument = outcomes.argument_of(name, given, self._summarize)
        entry = shown.ToolCall(name, argument, shown.ToolState.RUNNING)
        if id_ in self._calls:
            return [self.board.put(self._calls[id_][0], entry)]
        added = self._add(entry)
        self._calls[id_] = added.slot, -1
        return [added]

    def _result(self, seq: int, event: ToolResult) -> list[Change]:
        slot, head = self._calls.pop(event.tool_use_id, (-1, -1))
        before = self.board.entries[slot] if slot >= 0 else None
        argument = before.argument if isinstance(before, shown.ToolCall) else ""
        entry = shown.ToolCall(
            event.tool_name,
            argument,
            outcomes.state_of(event),
            outcomes.outcome_of(event, argument),
            event.duration_ms or None,
            self._tokens(seq),
            outcomes.body_of(event),
        )
        if head >= 0:
            self._marks.answered(head, seq)
        if slot < 0:
            return [self._add(entry, seq)]
        self._belongs(slot, seq)
        return [self.board.put(slot, entry)]

    # Pruning -------------------------------------------------------------------------------------------------

    def _pruned(self, seq: int, event: PrunApplied) -> list[Change]:
        changes = self._remark(self._marks.prune(seq, event.edits))
        added = self._add(self._prune_notice(seq, event))
        self._prunes[added.slot] = seq, event
        return [*changes, added]

    def _reverted(self, seqs: Sequence[int]) -> list[Change]:
        changes = self._remark(self._marks.revert(seqs))
        found = ((slot, self._prune_notice(*prune)) for slot, prune in self._prunes.items())
        return changes + [self.board.put(slot, now) for slot, now in found if now != self.board.entries[slot]]

    def _prune_notice(self, seq: int, event: PrunApplied) -> shown.Notice:
        tokens = self._withheld(seq)
        said = prune_in_words(
            event, sum(edit.tokens_saved for edit in event.edits) if tokens is None else tokens
        )
        first, line_end, memo = said.partition("\n")
        return shown.Notice(f"{first} · undone{line_end}{memo}" if self._marks.is_undone(seq) else said)

    def _remark(self, seqs: Iterable[int]) -> list[Change]:
        changes: list[Change] = []
        for seq in sorted(seqs):
            made = self._marks.on(seq)
            for slot in self._slots_of.get(seq, ()):
                entry = self.board.entries[slot]
                if isinstance(entry, shown.Notice | shown.Divider):
                    continue
                spared = made and made[1].kind == "strip" and not isinstance(entry, shown.Thinking)
                tokens = entry.tokens if isinstance(entry, shown.ToolCall) else None
                mark = label(None if spared else made, tokens, self._saved)
                if entry.pruned != mark:
                    changes.append(self.board.put(slot, replace(entry, pruned=mark)))
        return changes

    def recounted(self) -> Iterator[Change | None]:
        """Yield updates to all figures after token counts change; None for an unchanged entry."""
        for seq, slots in tuple(self._slots_of.items()):
            for slot in slots:
                entry = self.board.entries[slot]
                tokens = self._tokens(seq) if isinstance(entry, shown.ToolCall) else None
                if not isinstance(entry, shown.ToolCall) or tokens is None or entry.tokens == tokens:
                    yield None
                    continue
                mark = label(self._marks.on(seq), tokens, self._saved) if entry.pruned else ""
                yield self.board.put(slot, replace(entry, tokens=tokens, pruned=mark))
        for slot, (seq, event) in tuple(self._prunes.items()):
            said = self._prune_notice(seq, event)
            yield self.board.put(slot, said) if said != self.board.entries[slot] else None

    def _compacted(self, event: CompactionApplied) -> list[Change]:
        sizes = f"{short(event.tokens_before)} → {in_tokens(event.tokens_after)}"
        body = shown.Output(event.summary, "markdown")
        by = "by the endpoint" if event.block else "by the model"
        summary = shown.ToolCall("summary", event.focus, shown.ToolState.OK, by, body=body)
        return [self._add(shown.Divider(f"summarized · {sizes}")), self._add(summary)]

    def abandon(self) -> None:
        for slot, _ in self._calls.values():
            entry = self.board.entries[slot]
            if isinstance(entry, shown.ToolCall):
                self.board.put(slot, replace(entry, state=shown.ToolState.INTERRUPTED))


def command_output(output: str, tokens: int | None = None) -> shown.ToolCall:
    """Return the entry below a `!cmd`."""
    text = uncolored(output).rstrip("\n")
    state, outcome = outcomes.of_command(text)
    return shown.ToolCall(
        "output",
        state=state,
        outcome=outcome,
        tokens=tokens,
        body=None if outcomes.is_no_output(text) else shown.Output(text),
        folded=text.count("\n") >= OPEN_LINES,
    )


def presenter_of(runtime: Runtime, context: Context | None, *, open_thinking: bool = False) -> Presenter:
    """Return a presenter of a session with this context, or one without token counts."""
    summarize = summaries(runtime.tools, runtime.setup.cwd)
    if context is None:
        return Presenter(summarize, lambda _: None, open_thinking=open_thinking)
    figures = teller(context), saver(context), partial(tokens_pruned_by, context)
    return Presenter(summarize, *figures, open_thinking=open_thinking)


def present_of(records: Sequence[Record]) -> list[Record | Notice]:
    """Return the records to show: those on the current branch, and a notice if the last rewind abandoned any."""
    present, left = branch(records)
    if not left:
        return [*present]
    at = max(record.seq for record in records if isinstance(record.event, Rewound))
    place = bisect_left(present, at, key=lambda record: record.seq)
    before = {record.seq for record in branch(one for one in records if one.seq < at)[0]}
    is_back = before.issuperset(record.seq for record in present[:place])
    return [*present[:place], REWOUND if is_back else FORWARD, *present[place:]]


def present_all(
    presenter: Presenter, records: Sequence[Record], *, running: bool = False
) -> list[shown.Entry]:
    """Return the entries of a whole session after its last record: entry i is in slot i."""
    for event in present_of(records):
        presenter.take(event)
    if not running:
        presenter.abandon()
    return list(presenter.board.entries)
