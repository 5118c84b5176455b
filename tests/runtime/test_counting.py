"""Counting tokens beside a session that goes on, and with which counter."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.execute import Measured
from prunecli.config.effective import Config
from prunecli.config.options import Spill
from prunecli.context.expectations import KINDS, Caps
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.model.events import AssistantMessage, Record, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.touches import Touches
from prunecli.providers.models import ModelInfo, load_expectations
from prunecli.runtime.choices import Choices
from prunecli.runtime.counting import LARGE_CHARS, Measuring, count_ahead, to_count
from prunecli.session.session import Session
from prunecli.util.paths import PACKAGE
from tests.starting import start

EXPECTATIONS = load_expectations(PACKAGE / "data")


class Counter:
    """Counts characters under the shipped tokenizer's name; keeps the threads that asked."""

    name = "tiktoken"

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def count(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        return len(text)


def talked(context: Context, result: ToolResult) -> Context:
    """A context with one result."""
    events = (
        UserMessage((Text("read it"),)),
        AssistantMessage((ToolUse("t1", "read", {"path": "a"}),), "m", "tool_use"),
        result,
    )
    for seq, event in enumerate(events):
        context.apply(Record(seq, seq, event))
    return context


async def measured(counter: TokenCounter, text: str, caps: Caps | None = None) -> Measured:
    session = Session(SessionStarted("s", "/w", "demo"), Context(counter), path=None)
    spill = Spill(**{kind: (caps or Caps()).of(kind) for kind in KINDS})
    config = replace(Config(), pruning=replace(Config().pruning, spill=spill))
    table = replace(EXPECTATIONS, caps={"normal": Caps(least=10), "strong": Caps()})
    measuring = Measuring(session, lambda: Choices(config, {}, ModelInfo, expectations=table))
    return await measuring(said(text), ToolUse("t1", "bash", {}), Touches(runs=("make",)), 5)


def said(output: str, tokens: int | None = None) -> ToolResult:
    return ToolResult("t1", "read", (Text(output),), tokens=tokens)


async def test_large_texts_are_counted_in_a_thread_and_not_again() -> None:
    counter = Counter()
    context = talked(Context(counter), said("x" * LARGE_CHARS))
    waiting = to_count(context)
    assert [entry.kind for entry in waiting] == ["assistant", "result"]
    assert counter.threads == set()
    await count_ahead(context, waiting)
    assert counter.threads
    assert threading.get_ident() not in counter.threads
    assert to_count(context) == []
    assert context.counts.context_tokens > LARGE_CHARS
    assert threading.get_ident() not in counter.threads


def test_small_texts_are_counted_where_they_are_asked_for() -> None:
    assert to_count(talked(Context(Counter()), said("x"))) == []


@pytest.mark.parametrize("size", [10, LARGE_CHARS])
async def test_a_result_is_recorded_with_its_count_and_a_large_one_is_counted_in_a_thread(size: int) -> None:
    counter = Counter()
    assert (await measured(counter, "x" * size)).tokens == size
    assert (threading.get_ident() in counter.threads) is (size < LARGE_CHARS)


@pytest.mark.parametrize("size", [10, LARGE_CHARS])
async def test_a_long_result_is_cut_in_a_thread_and_recorded_with_the_count_of_what_is_shown(
    size: int,
) -> None:
    counter = Counter()
    found = await measured(counter, "line\n" * size, Caps(bash=100, least=10))
    assert (found.cut is None) is (size == 10)
    assert (threading.get_ident() in counter.threads) is (size == 10)
    if found.cut:
        event = found.cut.of(said("line\n" * size), 5)
        assert event.spilled is not None
        assert event.tokens == len(event.spilled.shown) < 200
        assert event.spilled.tokens == 5 * size - event.tokens


async def test_other_estimators_leave_nothing_in_the_log(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=("pruning.estimator=chars4",))
    assert (await measured(runtime.session.context.counts.counter, "x")).tokens is None


@pytest.mark.parametrize(("counter", "tokens"), [(Counter(), 7), (Chars4(), 10)])
def test_a_recorded_count_stands_for_the_text_and_only_for_the_tokenizer_that_made_it(
    counter: TokenCounter, tokens: int
) -> None:
    context = talked(Context(counter), said("x" * 40, 7))
    assert context.counts.tokens(context.entries[2]) == tokens


def test_each_result_that_is_recorded_has_its_count() -> None:
    assert Context(Counter()).counts.with_tokens(said("x" * 40)).tokens == 40
    assert Context(Chars4()).counts.with_tokens(said("x")).tokens is None
