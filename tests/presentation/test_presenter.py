"""Records and signals as changes of the transcript."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from prunecli.front.presentation import entries as shown
from prunecli.front.presentation.entries import ToolState
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.front.presentation.transcript_changes import Add, Anew, Change, Feed, Finish, Put, Tail
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
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
    Unknown,
    UserMessage,
)
from prunecli.model.messages import RedactedThinking, Text, Thinking, ToolUse
from prunecli.model.signals import (
    FileMoved,
    Notice,
    RetryScheduled,
    StreamDiscarded,
    StreamStarted,
    SummaryEnded,
    SummaryStarted,
    ToolProgress,
)
from prunecli.providers.provider import TextDelta, ThinkingDelta, ToolCallDelta

CALL = ToolUse("t1", "bash", {"command": "pytest -q"})


def presenter(**options: bool) -> Presenter:
    return Presenter(lambda name, given: f"{name}!", lambda seq: seq * 100, **options)


def records(*events: Event) -> list[Record]:
    return [Record(seq, 1_000 + seq, event) for seq, event in enumerate(events)]


def told(*told: object, to: Presenter | None = None) -> list[Change]:
    one = to or presenter()
    return [change for each in told for change in one.take(each)]


def seen(changes: Iterable[Change]) -> dict[int, shown.Entry]:
    """What each slot shows in the end; streamed text is in its entry."""
    entries: dict[int, shown.Entry] = {}
    streamed: dict[int, str] = {}
    for change in changes:
        match change:
            case Add(slot, entry) | Put(slot, entry):
                entries[slot] = entry
                streamed.pop(slot, None)
            case Feed(slot, text):
                streamed[slot] = streamed.get(slot, "") + text
            case _:
                pass
    for slot, text in streamed.items():
        entries[slot] = dataclasses.replace(entries[slot], text=text, streaming=False)
    return entries


def test_a_prompt_shows_how_it_came_in() -> None:
    said = [UserMessage((Text("a"),), origin) for origin in ("prompt", "steering", "follow_up", "import")]
    found = [change.entry for change in told(*records(*said)) if isinstance(change, Add)]
    origins = [entry.origin for entry in found if isinstance(entry, shown.Prompt)]
    assert origins == [
        shown.Origin.PROMPT,
        shown.Origin.STEERING,
        shown.Origin.FOLLOW_UP,
        shown.Origin.PROMPT,
    ]


def test_what_streamed_stays_as_it_is_when_its_record_says_the_same() -> None:
    changes = told(
        StreamStarted(),
        ThinkingDelta("hm"),
        TextDelta("Hel"),
        TextDelta("lo"),
        *records(AssistantMessage((Thinking("hm", "sig"), Text("Hello")))),
    )
    assert changes == [
        Add(0, shown.Thinking(streaming=True)),
        Feed(0, "hm"),
        Finish(0),
        Add(1, shown.Assistant(streaming=True)),
        Feed(1, "Hel"),
        Feed(1, "lo"),
        Finish(0),
        Finish(1),
    ]


def test_the_record_decides_where_it_says_something_else() -> None:
    changes = told(TextDelta("Helo"), *records(AssistantMessage((Text("Hello"),))))
    assert changes[-1] == Put(0, shown.Assistant("Hello"))


def test_what_streamed_and_is_not_in_the_record_disappears() -> None:
    changes = told(TextDelta("x"), ToolCallDelta("t9", "bash"), *records(AssistantMessage((Text("x"),))))
    assert changes[-1] == Put(1, shown.Assistant(""))


def test_a_discarded_stream_leaves_no_row_and_the_next_one_starts_anew() -> None:
    changes = told(TextDelta("half"), StreamDiscarded(), TextDelta("whole"))
    assert seen(changes) == {0: shown.Assistant(""), 1: shown.Assistant("whole")}


def test_a_call_goes_from_written_to_waiting_to_running_to_done_in_one_line() -> None:
    one = presenter()
    written = told(ToolCallDelta("t1", "bash"), ToolCallDelta("t1", "bash", '{"comm'), to=one)
    assert written == [Add(0, shown.ToolCall("bash", state=ToolState.WAITING))]
    waiting, running, tail, done = told(
        *records(AssistantMessage((CALL,)), ToolStarted("t1", "bash", CALL.input)),
        ToolProgress("t1", "a\nb\nc\n"),
        Record(2, 2, ToolResult("t1", "bash", (Text("ok"),), False, {"exit_code": 0}, 2_100)),
        to=one,
    )
    assert waiting == Put(0, shown.ToolCall("bash", "pytest -q", ToolState.WAITING))
    assert running == Put(0, shown.ToolCall("bash", "pytest -q", ToolState.RUNNING))
    assert tail == Tail(0, ("a", "b", "c"))
    assert done == Put(
        0, shown.ToolCall("bash", "pytest -q", ToolState.OK, "ok", 2_100, 200, shown.Output("ok"))
    )


def test_a_call_that_a_hook_changed_shows_what_ran() -> None:
    ran = ToolStarted("t1", "bash", {"command": "pytest -q -x"})
    changes = told(*records(AssistantMessage((CALL,)), ran, ToolResult("t1", "bash", (Text("ok"),))))
    assert seen(changes)[0].argument == "pytest -q -x"  # type: ignore[union-attr]


def test_a_long_call_says_how_much_of_it_was_written() -> None:
    changes = told(ToolCallDelta("t1", "write"), ToolCallDelta("t1", "write", "x" * 2_500))
    assert changes[-1] == Put(
        0, shown.ToolCall("write", state=ToolState.WAITING, outcome="writing, 2.5K characters")
    )


def test_parallel_calls_keep_their_lines_in_whatever_order_they_end() -> None:
    uses = [ToolUse(f"t{n}", "read", {"path": f"{n}.py"}) for n in range(3)]
    results = [ToolResult(use.id, "read", (Text("x"),)) for use in reversed(uses)]
    entries = present_all(presenter(), records(AssistantMessage(tuple(uses)), *results))
    assert [entry.tokens for entry in entries if isinstance(entry, shown.ToolCall)] == [300, 200, 100]


def test_an_answer_of_two_parts_with_a_call_between_keeps_its_order() -> None:
    message = AssistantMessage((Text("a"), CALL, Text("b")))
    changes = told(TextDelta("a"), ToolCallDelta("t1", "bash"), TextDelta("b"), *records(message))
    entries = seen(changes)
    assert [type(entries[slot]).__name__ for slot in sorted(entries)] == [
        "Assistant",
        "ToolCall",
        "Assistant",
    ]


def test_thinking_is_folded_unless_it_is_wanted_open_and_what_is_secret_is_not_shown() -> None:
    message = AssistantMessage((Thinking("deep", "s"), RedactedThinking("x"), Text("  "), Text("out")))
    folded, _ = present_all(presenter(), records(message))
    opened, _ = present_all(presenter(open_thinking=True), records(message))
    assert (folded, opened) == (shown.Thinking("deep"), shown.Thinking("deep", folded=False))


def test_a_run_that_failed_says_why_live_and_after_a_resume() -> None:
    failed = Record(3, 3, RunEnded("error", "invalid x-api-key\nreplace the key"))
    why = shown.Notice("invalid x-api-key\nReplace the key", shown.Level.ERROR)
    assert told(failed) == [Add(0, why)]
    assert present_all(presenter(), [failed]) == [why]


def test_a_run_that_was_interrupted_keeps_what_streamed_and_says_so() -> None:
    changes = told(ThinkingDelta("hm"), ToolCallDelta("t1", "bash"), Record(3, 3, RunEnded("interrupted")))
    assert seen(changes) == {
        0: shown.Thinking("hm"),
        1: shown.ToolCall("bash", state=ToolState.INTERRUPTED),
        2: shown.Notice("Interrupted."),
    }
    partial = AssistantMessage((Text("half"),), stop_reason="interrupted")
    changes = told(ThinkingDelta("hm"), TextDelta("half"), *records(partial))
    assert seen(changes) == {0: shown.Thinking("hm"), 1: shown.Assistant("half")}


def test_an_answer_that_was_cut_in_a_call_goes_on_by_itself_and_asks_for_nothing() -> None:
    cut = AssistantMessage((ToolUse("t1", "bash", {}),), stop_reason="max_tokens")
    changes = told(*records(UserMessage((Text("go"),)), cut))
    assert not [one for one in changes if isinstance(one, Add) and isinstance(one.entry, shown.Notice)]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_an_answer_that_was_cut_or_refused_says_so(reason: str) -> None:
    *_, last = told(*records(AssistantMessage((Text("a"),), stop_reason=reason)))
    assert isinstance(last, Add)
    assert isinstance(last.entry, shown.Notice)
    assert last.entry.level is shown.Level.WARNING


def test_a_shell_command_shows_what_was_typed_and_its_output_open() -> None:
    entries = present_all(presenter(), records(UserMessage((Text("!ls"), Text("a\nb\n")), "command")))
    assert entries == [
        shown.Prompt("ls", shown.Origin.SHELL),
        shown.ToolCall("output", "", ToolState.OK, "2 lines", None, 0, shown.Output("a\nb"), folded=False),
    ]
    colored = UserMessage((Text("!ls"), Text("\x1b[0m\x1b[01;34mfolder\x1b[0m\x1b[2J\n")), "command")
    listing = present_all(presenter(), records(colored))[1]
    assert isinstance(listing, shown.ToolCall)
    assert listing.body == shown.Output("folder\x1b[2J"), "only colors are left out"
    content = (
        Text("/restore 7-8"),
        Text("[entry 7: your answer]"),
        Text("a\n\nb"),
        Text("[entry 8: x]"),
        Text("c"),
    )
    restored = present_all(presenter(), records(UserMessage(content, "command", (7, 8))))[1]
    assert isinstance(restored, shown.ToolCall)
    assert (restored.name, restored.outcome) == ("restored", "4 lines")
    long = present_all(presenter(), records(UserMessage((Text("!ls"), Text("a\n" * 99)), "command")))
    assert isinstance(long[1], shown.ToolCall)
    assert long[1].folded is True


def test_what_another_program_wrote_is_a_notice_and_its_commands_are_no_shell_commands() -> None:
    notice = UserMessage((Text("[Agent finished]"), Text("a\n")), "command")
    slash = UserMessage((Text("/context"), Text("b\n")), "command")
    first, _, second, _ = present_all(presenter(), records(notice, slash))
    assert first == shown.Notice("Agent finished")
    assert second == shown.Prompt("/context")


def pruned(entries: Iterable[shown.Entry]) -> list[str]:
    return [getattr(entry, "pruned", "") for entry in entries]


def exchange() -> list[Event]:
    return [
        UserMessage((Text("do"),)),
        AssistantMessage((Text("I will"), CALL)),
        ToolStarted("t1", "bash", CALL.input),
        ToolResult("t1", "bash", (Text("ok"),)),
        AssistantMessage((Text("done"),)),
    ]


def test_a_cleared_result_is_marked_until_it_is_restored() -> None:
    clear = PrunApplied("user", (Edit("clear", 3, "t1", "[gone]", 4_100, 12),), tokens_removed=4_088)
    one = presenter()
    told(*records(*exchange(), clear), to=one)
    assert pruned(one.board.entries) == ["", "", "pruned ~4.1K", "", ""]
    assert one.target(2) == 3
    told(Record(6, 6, PrunReverted((3,))), to=one)
    assert pruned(one.board.entries) == ["", "", "", "", ""]
    assert one.target(2) is None


def test_a_dropped_exchange_is_marked_with_all_that_belongs_to_it() -> None:
    drop = PrunApplied(
        "model",
        (Edit("drop", 1, None, None, 900, 0),),
        tokens_removed=900,
        messages_removed=2,
        memo="fixed it",
    )
    one = presenter()
    told(*records(*exchange(), drop), to=one)
    assert pruned(one.board.entries) == ["", "pruned", "pruned ~300", "", ""]
    assert (one.target(1), one.target(2), one.target(3)) == (1, 1, None)
    assert one.board.entries[-1] == shown.Notice(
        "✂ pruned ~900 tokens in 2 entries, by the model\nIts memo: fixed it"
    )
    told(Record(6, 6, PrunReverted((5,))), to=one)
    assert one.board.entries[-1] == shown.Notice(
        "✂ pruned ~900 tokens in 2 entries, by the model · undone\nIts memo: fixed it"
    )
    assert pruned(one.board.entries) == ["", "", "", "", ""]


def test_a_prune_is_undone_once_its_last_entry_was_restored() -> None:
    edits = tuple(Edit("clear", seq, None, "[gone]", 50, 1) for seq in (1, 3))
    one = presenter()
    told(*records(*exchange(), PrunApplied("user", edits, messages_removed=2)), to=one)
    last = len(one.board.entries) - 1
    assert told(Record(6, 6, PrunReverted((1,))), to=one)[1:] == []
    assert told(Record(7, 7, PrunReverted((3,))), to=one)[-1] == Put(
        last, shown.Notice("✂ pruned ~98 tokens in 2 entries, by you · undone")
    )


def test_a_prune_says_who_and_why() -> None:
    edits = (Edit("clear", 3, "t1", "[gone]", 50, 1),)
    by_strategy = PrunApplied("strategy", edits, "pi", (), 49, 1, None, "old")
    *_, last = told(*records(*exchange(), by_strategy))
    assert last == Add(4, shown.Notice("✂ pruned ~49 tokens in 1 entry, by pi: old"))
    *_, last = told(*records(*exchange(), dataclasses.replace(by_strategy, source="user")))
    assert last == Add(4, shown.Notice("✂ pruned ~49 tokens in 1 entry, by you"))
    longer = dataclasses.replace(
        by_strategy, edits=(dataclasses.replace(edits[0], tokens_after=63),), tokens_removed=-13
    )
    *_, last = told(*records(*exchange(), longer))
    assert last == Add(4, shown.Notice("✂ pruned ~0 tokens in 1 entry, by pi: old"))


def test_only_the_thought_of_a_stripped_message_is_marked() -> None:
    message = AssistantMessage((Thinking("deep", "s"), Text("out")))
    strip = PrunApplied("strategy", (Edit("strip", 0, None, None, 10, 0),))
    entries = present_all(presenter(), records(message, strip))
    assert pruned(entries) == ["not sent again", "", ""]


def test_a_compaction_is_a_rule_across_with_its_summary_folded_below() -> None:
    rule, summary = told(*records(CompactionApplied("# sum", 2, 9, 120_000, 24_000, "tests")))
    assert rule == Add(0, shown.Divider("summarized · 120K → 24.0K tokens"))
    assert isinstance(summary, Add)
    assert isinstance(summary.entry, shown.ToolCall)
    assert summary.entry.body == shown.Output("# sum", "markdown")


def test_a_rewind_has_the_session_shown_anew_without_what_came_after() -> None:
    assert told(*records(*exchange()), Record(9, 9, Rewound(0)))[-1] == Anew()
    entries = present_all(presenter(), [*records(*exchange()), Record(5, 5, Rewound(0))])
    assert entries == [
        shown.Prompt("do"),
        shown.Notice("Rewound. The other messages stay in the log; /rewind to return to them"),
    ]


def test_a_rewind_is_marked_where_it_happened_and_no_longer_when_it_was_undone() -> None:
    done = records(*exchange())
    last = done[-1].seq
    back = [*done, Record(last + 1, 50, Rewound(0)), Record(last + 2, 51, UserMessage((Text("anew"),)))]
    entries = present_all(presenter(), back)
    assert [type(entry).__name__ for entry in entries] == ["Prompt", "Notice", "Prompt"]
    forward = present_all(presenter(), [*back, Record(last + 3, 52, Rewound(last))])
    assert forward[-1] == shown.Notice(
        "Went forward. The other messages stay in the log; /rewind to return to them"
    )
    undone = [*done, Record(last + 1, 50, Rewound(0)), Record(last + 2, 51, Rewound(last))]
    assert present_all(presenter(), undone) == present_all(presenter(), done)


def test_a_session_that_is_opened_shows_what_it_showed_when_it_was_left() -> None:
    clear = PrunApplied("user", (Edit("clear", 3, "t1", "[gone]", 4_100, 12),))
    log = records(*exchange(), clear, RunEnded("finished"))
    assert present_all(presenter(), log) == list(seen(told(*log)).values())


def test_a_call_without_a_result_does_not_seem_to_run_in_a_session_that_is_opened() -> None:
    open_call = records(AssistantMessage((CALL,)), ToolStarted("t1", "bash", CALL.input))
    (entry,) = present_all(presenter(), open_call)
    assert isinstance(entry, shown.ToolCall)
    assert entry.state is ToolState.INTERRUPTED
    (entry,) = present_all(presenter(), open_call, running=True)
    assert isinstance(entry, shown.ToolCall)
    assert entry.state is ToolState.RUNNING


@pytest.mark.parametrize(("ended", "state"), [("", "running"), ("finished", "ok"), ("error", "error")])
def test_a_task_whose_result_waits_is_shown_as_ended(ended: str, state: str) -> None:
    started = records(AssistantMessage((CALL,)), ToolStarted("t1", "bash", CALL.input))
    changes = told(*started, ToolProgress("t1", "", "3 calls", ended))
    assert changes[-1] == Put(
        0, shown.ToolCall("bash", "pytest -q", ToolState(state), "3 calls", folded=True)
    )


def test_results_and_progress_of_unknown_calls_break_nothing() -> None:
    changes = told(ToolProgress("t7", "x"), *records(ToolResult("t7", "old", (Text("a\nb"),))))
    assert changes == [
        Add(0, shown.ToolCall("old", "", ToolState.OK, "2 lines", None, 0, shown.Output("a\nb")))
    ]


def test_what_has_nothing_to_show_shows_nothing() -> None:
    quiet = [
        SessionStarted("s", "/", "m"),
        RequestSent("m", 1, "x"),
        SettingChanged("a", 1),
        Pinned((1,)),
        Unknown("future", {}),
        RunEnded("finished"),
    ]
    assert told(*records(*quiet), RetryScheduled(1, 2.0, "busy"), FileMoved("is gone", Path("x"))) == []
    assert told(Notice("careful", "warning")) == [Add(0, shown.Notice("careful", shown.Level.WARNING))]


def test_tokens_that_are_counted_in_another_way_are_shown_anew() -> None:
    counted = {"by": 100}
    shows = Presenter(lambda name, given: name, lambda seq: seq * counted["by"])
    use = ToolUse("t1", "read", {"path": "a"})
    events = records(
        UserMessage((Text("go"),)),
        AssistantMessage((use,), stop_reason="tool_use"),
        ToolStarted("t1", "read", {}),
        ToolResult("t1", "read", (Text("text"),)),
    )
    for record in events:
        shows.take(record)
    assert not any(shows.recounted())
    counted["by"] = 90
    (put,) = [change for change in shows.recounted() if change]
    assert isinstance(put, Put)
    assert isinstance(put.entry, shown.ToolCall)
    assert put.entry.tokens == 270
    assert shows.board.entries[put.slot] == put.entry
    assert not any(shows.recounted())


def test_the_line_of_a_prune_is_shown_anew_at_the_present_scale() -> None:
    rate = {"by": 1.0}
    shows = presenter(withheld=lambda seq: round({5: 2_096}[seq] * rate["by"]))
    drop = PrunApplied(
        "model", (Edit("drop", 1, None, None, 900, 0),), tokens_removed=900, messages_removed=2
    )
    told(*records(*exchange(), drop), to=shows)
    assert shows.board.entries[-1] == shown.Notice("✂ pruned ~2.1K tokens in 2 entries, by the model")
    rate["by"] = 0.95
    assert any(shows.recounted())
    assert shows.board.entries[-1] == shown.Notice("✂ pruned ~2.0K tokens in 2 entries, by the model")


def test_a_summary_that_is_written_is_a_running_line_with_its_last_words_and_no_answer() -> None:
    changes = told(
        SummaryStarted(90_000, "the parser"),
        StreamStarted(),
        ThinkingDelta("hm"),
        TextDelta("The go"),
        TextDelta("al.\nThe state."),
    )
    running = shown.ToolCall("summary", "of ~90.0K tokens: the parser", ToolState.RUNNING)
    assert changes == [Add(0, running), Tail(0, ("The go",)), Tail(0, ("The goal.", "The state."))]


def test_a_summary_that_ends_leaves_what_is_told_next() -> None:
    to = presenter()
    ended = [SummaryStarted(90_000), TextDelta("The goal."), StreamDiscarded(), SummaryEnded()]
    assert told(*ended, to=to)[-2:] == [Tail(0, ()), Put(0, shown.Assistant(""))]
    compacted = CompactionApplied("The goal.", 0, 5, 90_000, 9_000)
    entries = seen(told(*records(compacted), TextDelta("So,"), to=to))
    assert entries[1] == shown.Divider("summarized · 90.0K → 9.0K tokens")
    assert entries[3] == shown.Assistant("So,")
