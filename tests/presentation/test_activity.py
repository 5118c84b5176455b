"""What the agent is doing, in words."""

from prunecli.front.presentation.activity import SUMMARIZING, WAITING, CurrentActivity
from prunecli.model.events import AssistantMessage, Record, RunEnded, ToolResult, ToolStarted
from prunecli.model.signals import RetryScheduled, StreamStarted, SummaryEnded, SummaryStarted
from prunecli.providers.provider import TextDelta, ThinkingDelta, ToolCallDelta


def words(*told: object) -> list[str]:
    doing, said = CurrentActivity(), []
    for one in told:
        doing.take(one)
        said.append(doing.words)
    return said


def test_a_response_is_waited_for_thought_written_and_its_calls_prepared() -> None:
    told = StreamStarted(), ThinkingDelta("hm"), TextDelta("I"), ToolCallDelta("t1", "bash")
    assert words(*told) == [WAITING, "Thinking", "Writing", "Preparing bash"]


def test_calls_are_named_while_they_run_and_counted_when_several_do() -> None:
    first, second = ToolStarted("t1", "read", {}), ToolStarted("t2", "grep", {})
    done = ToolResult("t1", "read", ())
    records = [Record(n, n, event) for n, event in enumerate((AssistantMessage(()), first, second, done))]
    assert words(*records) == ["Working", "Running read", "Running 2 calls", "Running grep"]


def test_a_retry_says_when_and_why_until_the_next_sign_of_life() -> None:
    doing = CurrentActivity()
    assert doing.take(RetryScheduled(2, 8.0, "overloaded"))
    assert (doing.words, doing.retry) == ("Retry 2", (8.0, "overloaded"))
    assert doing.take(StreamStarted())
    assert doing.retry is None


def test_a_delta_like_the_one_before_changes_nothing() -> None:
    doing = CurrentActivity()
    assert doing.take(TextDelta("a"))
    assert not doing.take(TextDelta("b"))
    assert doing.take(Record(9, 9, RunEnded("finished")))


def test_a_summary_says_how_much_of_it_is_written_and_begins_again_where_its_stream_does() -> None:
    told = (
        SummaryStarted(90_000),
        StreamStarted(),
        TextDelta("x" * 900),
        TextDelta("x" * 900),
        RetryScheduled(1, 2.0, "gone"),
        StreamStarted(),
        TextDelta("y"),
        SummaryEnded(),
        StreamStarted(),
        TextDelta("I"),
    )
    assert words(*told) == [
        SUMMARIZING,
        SUMMARIZING,
        f"{SUMMARIZING} · 900 characters",
        f"{SUMMARIZING} · 1.8K characters",
        "Retry 1",
        SUMMARIZING,
        f"{SUMMARIZING} · 1 characters",
        "Working",
        WAITING,
        "Writing",
    ]
