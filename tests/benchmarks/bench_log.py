"""What one record costs: appended to the file and folded into the context, at growing sizes of the session.

`python -m tests.benchmarks.bench_log [records]`: microseconds, medians by the clock and by the processor's time,
and p99 of the latter (a busy machine makes the clock's meaningless), of the last 2,000 records before each size,
without syncs (the disk's own time, which is waited for in a thread); then the parts of it; then a sync on this disk;
and first a line of 100 MB. Results are of 2,000 characters, every fifth one is pruned later.
"""

import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Event,
    PrunApplied,
    Record,
    RequestSent,
    SessionStarted,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.record_codec import encode_record
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter

SIZES = (1_000, 10_000, 50_000, 100_000)
WINDOW = 2_000
LINE = "a line of some forty characters, as many are.\n" * 44


def exchange(number: int, last_result: int) -> list[Event]:
    """What one turn writes."""
    call = ToolUse(f"toolu_{number}", "bash", {"command": f"make test-{number}"})
    events: list[Event] = [
        RequestSent("m", 1_000, "0" * 64),
        AssistantMessage(
            (Text(f"I run test {number} now."), call), "m", "tool_use", Usage(10, 20, 30_000, 500)
        ),
        ToolStarted(call.id, call.name, call.input),
        ToolResult(call.id, call.name, (Text(f"{number} {LINE}"),), duration_ms=12),
    ]
    if number % 20 == 0:
        events.insert(0, UserMessage((Text(f"and what about {number}?"),)))
    if number % 5 == 0 and last_result:
        events.append(PrunApplied("strategy", (Edit("clear", last_result, None, "[gone]", 500, 3),), "pi"))
    return events


def emits(session: Session, records: int) -> dict[int, list[tuple[int, int]]]:
    """Nanoseconds of each emit just before each size, by the clock and of the processor."""
    taken: list[tuple[int, int]] = []
    found: dict[int, list[tuple[int, int]]] = {}
    number, results = 0, 0
    while len(session.records) < records:
        number += 1
        for event in exchange(number, results):
            begun, spent = perf_counter_ns(), thread_time_ns()
            record = session.emit(event)
            taken.append((perf_counter_ns() - begun, thread_time_ns() - spent))
            if isinstance(event, ToolResult):
                results = record.seq
        for size in SIZES:
            if size not in found and len(session.records) >= size:
                found[size] = taken[-WINDOW:]
    return found


def each(what: Callable[[Record], object], records: list[Record]) -> float:
    """Median microseconds of a part of the work."""
    taken = []
    for record in records:
        begun = perf_counter_ns()
        what(record)
        taken.append(perf_counter_ns() - begun)
    return statistics.median(taken) / 1_000


def huge_line(folder: Path) -> None:
    """A record of 100 MB, as another program may have written it."""
    path = folder / "huge.jsonl"
    text = LINE * (100_000_000 // len(LINE))
    first = encode_record(Record(0, 1, SessionStarted("s", "/w", "m")))
    path.write_bytes(first + encode_record(Record(1, 2, UserMessage((Text(text),)))))
    del text
    child = os.fork()
    if child == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun, spent = perf_counter_ns(), thread_time_ns()
        loaded = read_log(path)
        taken, spent = (perf_counter_ns() - begun) / 1e9, (thread_time_ns() - spent) / 1e9
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"a line of 100 MB: {taken:.2f} s, of the processor {spent:.2f} s, peak +{more:.0f} MB")
        os._exit(0 if len(loaded.records) == 2 else 1)
    os.waitpid(child, 0)
    path.unlink()


def main() -> None:
    """Prints the figures."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        huge_line(folder)
        session = Session(
            SessionStarted("s", "/w", "m"),
            Context(Chars4()),
            path=folder / "s.jsonl",
            open_log=lambda path: LogWriter(path, sync=lambda _: None),
        )
        print("append and fold, µs: median by the clock; median and p99 of the processor's time")
        for size, taken in emits(session, records).items():
            clock, spent = (statistics.median(column) / 1e3 for column in zip(*taken, strict=True))
            worst = sorted(one for _, one in taken)[len(taken) * 99 // 100] / 1e3
            print(f"{size:>8,} records {clock:8.1f} {spent:8.1f} {worst:8.1f}")
        some = session.records[-WINDOW:]
        fold = Context(Chars4())
        log = LogWriter(folder / "parts.jsonl", sync=lambda _: None)
        print(
            f"encoding {each(encode_record, some):.1f}, encoding and appending {each(log.append, some):.1f}"
        )
        print(f"folding {each(fold.apply, some):.1f}")
        real = LogWriter(folder / "synced.jsonl")
        print(
            f"append and sync on this disk {each(lambda one: (real.append(one), real.commit()), some[:300]):.0f}"
        )


if __name__ == "__main__":
    main()
