"""Going back and forward: what always holds for every log."""

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.lineage import branch
from prunecli.context.state import Context
from prunecli.context.validate import validate
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Event,
    FilesSaved,
    PrunApplied,
    Record,
    RequestSent,
    Rewound,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.notes import opens_turn
from prunecli.model.requests import Preamble, Request
from prunecli.session.timeline import points, saved_after, spans
from tests.context.project import project
from tests.laws.logs import logs
from tests.session.points import folded

QUICK = settings(max_examples=50, deadline=None)


def then(records: list[Record], *events: Event) -> list[Record]:
    """The log with these events behind it."""
    more = list(records)
    for event in events:
        more.append(Record(len(more), 1_800_000_000_000 + 1000 * len(more), event))
    return more


def state(context: Context) -> tuple[object, ...]:
    counts = context.counts
    return (
        context.messages(),
        context.sha256(),
        context.pinned,
        context.boundary,
        context.user_turns,
        [record.seq for record in context.live_pruns()],
        {seq: context.edits_of(seq) for seq in context.entries},
        (
            counts.length,
            counts.scale,
            counts.scanned.raw,
            counts.pruned.raw,
            counts.fixed_tokens,
            counts.context_tokens,
        ),
    )


@given(logs(), st.integers(-1, 45))
@QUICK
def test_a_rewind_and_its_undoing_leave_everything_as_it_was(records: list[Record], seq: int) -> None:
    last = records[-1].seq
    there_and_back = then(records, Rewound(min(seq, last)), UserMessage((Text("else"),)), Rewound(last))
    assert state(folded(there_and_back)) == state(folded(records))
    assert folded(there_and_back).messages() == project(there_and_back)


@given(logs(), st.integers(0, 45))
@QUICK
def test_a_rewind_gives_the_state_that_was(records: list[Record], seq: int) -> None:
    """The messages, and their hash, are those of the log cut there: so a copy of the log up to there is the same."""
    at = min(seq, len(records) - 1)
    cut, gone = folded(records[: at + 1]), folded(then(records, Rewound(at)))
    assert gone.messages() == cut.messages()
    assert gone.sha256() == cut.sha256()
    assert gone.pinned == cut.pinned
    assert [entry.seq for entry in gone.items] == [entry.seq for entry in cut.items]


REQUEST, USAGE = RequestSent("m", 100, ""), Usage(100, 5)


@given(logs(), st.integers(0, 45))
@QUICK
def test_after_any_rewind_the_next_request_can_be_answered(records: list[Record], seq: int) -> None:
    answer = AssistantMessage((Text("on"),), "m", usage=USAGE)
    log = then(records, Rewound(min(seq, len(records) - 1)), REQUEST, answer)
    context = folded(log)
    assert context.messages() == project(log)
    assert context.counts.context_tokens >= 0


def test_after_a_rewind_to_a_request_without_an_answer_the_next_one_can_be_answered() -> None:
    def said(text: str, *calls: ToolUse) -> AssistantMessage:
        return AssistantMessage((Text(text), *calls), "m", usage=USAGE)

    before = [
        UserMessage((Text("go"),)),
        said("one", ToolUse("a", "read", {})),
        ToolResult("a", "read", (Text("r" * 100),)),
        said("two"),
        UserMessage((Text("more"),)),
        REQUEST,  # 5, not answered
    ]
    detour = [PrunApplied("strategy", (Edit("drop", 1),)), REQUEST, said("three"), Rewound(5)]
    there_and_back = folded(then([], *before, *detour, REQUEST, said("four")))
    direct = folded(then([], *before, REQUEST, said("four")))
    assert there_and_back.sha256() == direct.sha256()
    assert there_and_back.counts.shown == direct.counts.shown


@given(logs())
@QUICK
def test_every_point_that_is_offered_can_be_gone_to(records: list[Record]) -> None:
    """Before each present prompt only what was said before it is shown; forward, the words that were left."""
    present = [
        record.seq
        for record in branch(records)[0]
        if isinstance(record.event, UserMessage) and opens_turn(record.event)
    ]
    offered = points(records)
    assert [point.seq + 1 for point in offered if not point.forward] == present[::-1]
    for point in offered:
        more = then(records, Rewound(point.seq), UserMessage((Text("again"),)))
        context = folded(more)
        validate(Request("m", 1, Preamble((), ()), context.messages()))
        if point.forward:
            assert point.text in [
                entry.text for entry in context.entries.values() if entry.kind == "user"
            ] or point.text.startswith(("!", "/restore"))
        else:
            assert all(entry.seq <= point.seq or entry.seq > records[-1].seq for entry in context.items)


@given(logs())
@QUICK
def test_the_files_of_a_point_are_the_next_snapshot_and_work_lies_between_two(records: list[Record]) -> None:
    saved = [(record.seq, record.event) for record in records if isinstance(record.event, FilesSaved)]
    for seq in range(-1, len(records)):
        later = [event for at, event in saved if at > seq]
        found = saved_after(records, seq, "/w")
        assert found == (later[0] if later else None)
        begun = [event for event in later if event.moment == "before"]
        assert len(spans(records, seq, "/w")) == len(begun)
        assert saved_after(records, seq, "/elsewhere") is None
