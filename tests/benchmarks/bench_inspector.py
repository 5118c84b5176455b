"""How long the inspector's figures take, by the length of the session: opening, an edit, a filter, a difference.

`python tests/benchmarks/bench_inspector.py` prints milliseconds (median of five).
"""

from collections import deque
from collections.abc import Callable
from statistics import median
from time import perf_counter

from prunecli.context.economics import Market
from prunecli.context.impact import impact
from prunecli.context.ledger import ledger
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.inspector.difference import Requests
from prunecli.inspector.labels import Key
from prunecli.inspector.listing import Found, Listing
from prunecli.inspector.manual_edits import plan
from prunecli.inspector.outline import Outline
from prunecli.inspector.spending import paid
from prunecli.inspector.window_map import window_map
from prunecli.model.events import (
    AssistantMessage,
    Event,
    Pinned,
    Record,
    RequestSent,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage


def session(entries: int) -> list[Record]:
    """A log of so many entries: user turns of ten exchanges, each with one result of a kilobyte."""
    events: list[Event] = []
    while len(events) < entries * 1.4:
        events.append(UserMessage((Text("please go on with the next part of this"),)))
        for _ in range(10):
            use = ToolUse(f"t{len(events)}", "read", {"path": f"src/file{len(events)}.py"})
            events.append(RequestSent("m", 1_000, ""))
            events.append(
                AssistantMessage((Text("I read it."), use), "m", "tool_use", Usage(10, 10, 900, 100))
            )
            events.append(ToolResult(use.id, "read", (Text(f"line {len(events)} of it\n" * 50),)))
    return [Record(seq, 1_700_000_000_000 + seq, event) for seq, event in enumerate(events)]


def timed(work: Callable[[], object]) -> float:
    """Milliseconds, the median of five."""
    took = []
    for _ in range(5):
        start = perf_counter()
        work()
        took.append((perf_counter() - start) * 1000)
    return median(took)


def measure(entries: int) -> None:
    """One line of the table."""
    records = session(entries)
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    view = View(context, 200_000)
    ledger(view, ())

    def opened() -> Outline:
        outline = Outline(context, records)
        window_map(outline, 200_000, 32_000, 0)
        Listing(outline, unfolded=False).done()
        return outline

    def unfolded_again() -> None:
        outline.below.clear()
        Listing(outline).done()

    def searched_anew() -> None:
        outline.texts.clear()
        Found(outline, "file77").done()

    outline = opened()
    result = next(e for e in reversed(context.entries.values()) if e.kind == "result" and not view.locked(e))
    events = plan(view, outline, "prune", Key("result", result.seq)).events
    figures = {
        "open": timed(opened),
        "preview": timed(lambda: impact(context, events, Market())),
        "rows unfolded": timed(unfolded_again),
        "again": timed(lambda: Listing(outline).done()),
        "filter": timed(searched_anew),
        "again ": timed(lambda: Found(outline, "file77").done()),
        "50 nodes": timed(lambda: [outline.node(row.key) for row in Listing(outline).done()[:50]]),
    }
    for event in events:
        records.append(Record(records[-1].seq + 1, records[-1].timestamp + 1, event))
        context.apply(records[-1])

    def refreshed() -> None:
        records.append(Record(records[-1].seq + 1, records[-1].timestamp + 1, Pinned((result.seq,))))
        context.apply(records[-1])
        outline.take(records)
        window_map(outline, 200_000, 32_000, 0)
        Listing(outline, unfolded=False).done()

    requests = Requests(context, records)

    def compared(number: int) -> None:
        deque(requests.compare(requests.sent[number - 1], requests.sent[number]), 0)

    figures["requests"] = timed(lambda: deque(Requests(context, records).reading(), 0))
    deque(requests.reading(), 0)
    last = len(requests.sent) - 1
    started = perf_counter()
    compared(last)
    figures["first difference"] = (perf_counter() - started) * 1000
    figures["refresh"] = timed(refreshed)
    numbers = iter(range(last - 1, 0, -1))
    figures["one before"] = timed(lambda: compared(next(numbers)))
    figures["/cost"] = timed(lambda: paid(records, lambda *_: 0.0))
    print(f"{entries:>7,} entries  " + "  ".join(f"{name} {ms:.1f}" for name, ms in figures.items()))


if __name__ == "__main__":
    for count in (1_000, 10_000, 50_000):
        measure(count)
