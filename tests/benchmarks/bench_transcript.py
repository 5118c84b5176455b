"""Figures of the transcript: streaming, paging, long sessions, memory, against a bare ScrollView. Run as a script.

    python tests/benchmarks/bench_transcript.py [entries ...]

Nothing here is asserted: machines differ. Times are taken in-process with Textual's headless driver, from the call
to the frame that shows it, so the terminal and its output are not in them.
"""

import os

os.environ.setdefault("TEXTUAL_FPS", "1000")  # before Textual is imported: it draws no more frames than this

import asyncio
import gc
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from prunecli.presentation.entries import (
    Assistant,
    Diff,
    Entry,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.tui.startup import warm
from prunecli.tui.transcript.transcript_view import Transcript

SIZE = (120, 40)
DELTA = 40

PARAGRAPH = (
    "The parser keeps a **stack of states** and pops one whenever `close()` is called; what was left open is "
    "reported by [the checker](https://example.com/checker), with the line it began on.\n\n"
)
SECTION = (
    "## How it works\n\n"
    + PARAGRAPH * 2
    + "1. read the *next* token\n2. look at the top of the stack\n   - pop it\n   - or push\n3. go on\n\n"
    + '```python\ndef walk(node: Node, depth: int = 0) -> Iterator[Node]:\n    """All nodes below one."""\n'
    + "    for child in node.children:  # in order\n        yield child\n"
    + "        yield from walk(child, depth + 1)\n```\n\n"
    + "| state | on open | on close |\n|---|---|---|\n| start | push | error |\n| inside | push | pop |\n\n"
)
DIFF = Diff.between(
    "\n".join(f"line {n} = value({n})" for n in range(40)),
    "\n".join(f"line {n} = value({n + (n % 9 == 0)})" for n in range(40)),
    "src/values.py",
)


def markdown(size: int) -> str:
    """So many characters of Markdown as models write it, no two sections the same."""
    out, length, number = [], 0, 0
    while length < size:
        section = SECTION.replace("walk", f"walk_{number}").replace(
            "How it works", f"How part {number} works"
        )
        out.append(section)
        length += len(section)
        number += 1
    return "".join(out)[:size]


def session(entries: int) -> Iterator[Entry]:
    """Entries in the mixture of a coding session, about 700 characters each."""
    for number in range(entries):
        match number % 8:
            case 0:
                yield Prompt(f"please change part {number} so that the tests pass\nand keep it short")
            case 1:
                yield Thinking(f"The user wants part {number}. " + PARAGRAPH * 3, duration_ms=4200)
            case 2 | 6:
                yield Assistant(f"Part {number}.\n\n" + SECTION)
            case 7:
                yield ToolCall("edit", f"src/part_{number}.py", ToolState.OK, "+5 −5", 12, 310, DIFF)
            case _:
                output = Output(
                    "\n".join(f"src/part_{number}.py:{line}: something found" for line in range(30))
                )
                yield ToolCall(
                    "grep", f"-n something src/{number}", ToolState.OK, "30 matches", 18, 620, output
                )


class BareLines(ScrollView):
    """The least a line view can do: rows that are all there, drawn one by one."""

    INK = Style(color="#d5dbe3", bgcolor="#101418")

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.count = lines
        self.virtual_size = Size(100, lines)

    def render_line(self, y: int) -> Strip:
        text = f"{y + self.scroll_offset.y:>8}  a row of text that says nothing at all".ljust(self.size.width)
        return Strip([Segment(text, self.INK)], self.size.width)


class Bench(App[None]):
    """An application with one widget."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def megabytes() -> float:
    """Memory in use now, in MB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Took(NamedTuple):
    """Milliseconds from an act to the frame drawn after it, by the clock and of the processor."""

    wall: float
    cpu: float


async def frame(app: App[None], act: Callable[[], object]) -> Took:
    """Does something and waits until it is drawn."""
    start, cpu = time.perf_counter(), time.process_time()
    act()
    drawn = asyncio.Event()
    app.screen.call_after_refresh(drawn.set)
    await drawn.wait()
    return Took((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000)


def line(name: str, taken: list[Took]) -> None:
    """A line of figures: the processor's are those to compare where other programs run too."""
    out = f"  {name:<34}"
    for what, times in (("", sorted(t.wall for t in taken)), ("CPU ", sorted(t.cpu for t in taken))):
        p95 = times[int(len(times) * 0.95)]
        out += f" {what}p50 {statistics.median(times):6.2f} p95 {p95:6.2f} max {times[-1]:6.1f} ms "
    print(out)


def middle(taken: list[Took]) -> float:
    """The median of the processor's time."""
    return statistics.median([took.cpu for took in taken])


async def stream(size: int, paced: bool) -> None:
    """Markdown in deltas through feed() until all of it is on the page and the last row on the screen."""
    text = markdown(size)
    transcript = Transcript()
    app = Bench(transcript)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        key = transcript.append(Assistant(streaming=True))
        await pilot.pause()
        lags: list[float] = []
        stop = asyncio.Event()

        async def watch() -> None:
            while not stop.is_set():
                before = time.perf_counter()
                await asyncio.sleep(0.005)
                lags.append((time.perf_counter() - before) * 1000 - 5)

        watcher = asyncio.create_task(watch())
        cpu, start = time.process_time(), time.perf_counter()
        breath = start
        for place in range(0, len(text), DELTA):
            transcript.feed(key, text[place : place + DELTA])
            if paced:
                await asyncio.sleep(max(0, start + place / DELTA / 1000 - time.perf_counter()))
            elif time.perf_counter() - breath > 0.003:  # as a reader of a socket must
                await asyncio.sleep(0)
                breath = time.perf_counter()
        transcript.finish(key)
        while transcript.document.waiting:
            await asyncio.sleep(0.001)
        await frame(app, lambda: None)
        shown, used = time.perf_counter() - start, time.process_time() - cpu
        stop.set()
        await watcher
        everything = time.perf_counter()
        layout = transcript.document.layout
        for block in list(layout.heights):
            layout.rows(block)
        everything = time.perf_counter() - everything
        lags.sort()
        print(
            f"  {size // 1000:>5} KB {'1,000 deltas/s' if paced else 'unpaced':<15} on screen {shown:6.3f} s  "
            f"CPU {used:6.3f} s  loop lag p95 {lags[int(len(lags) * 0.95)]:5.1f} max {lags[-1]:5.1f} ms  "
            f"laying out all of it {everything:6.3f} s"
        )


async def paging(entries: int, bare: dict[str, float]) -> None:
    """Moving about in a session of so many entries."""
    before = megabytes()
    made = list(session(entries))
    text = megabytes()
    transcript = Transcript()
    app = Bench(transcript)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        start = time.perf_counter()
        transcript.append_many(made)
        added = time.perf_counter() - start
        first = await frame(app, lambda: None)
        del made
        total = transcript.window.total
        print(
            f"\n{entries:,} entries, {total:,} rows: appended in {added:.3f} s, "
            f"first frame {first.wall:.1f} ms later; memory {before:.0f} MB before, "
            f"+{text - before:.0f} text, +{megabytes() - text:.0f} transcript"
        )
        gc.collect()
        gc.freeze()  # as an application should once a session is loaded
        up = [await frame(app, transcript.page_up) for _ in range(200)]
        line("Page Up", up)
        again = [await frame(app, transcript.page_down) for _ in range(4)]
        again += [
            await frame(app, act) for _ in range(10) for act in (transcript.page_up, transcript.page_down)
        ]
        line("Page Up and Down, laid out before", again)
        line("Home", [await frame(app, transcript.home) for _ in range(1)])
        down = [await frame(app, transcript.page_down) for _ in range(200)]
        line("Page Down", down)
        ends = []
        for _ in range(10):
            ends.append(await frame(app, transcript.end))
            ends.append(await frame(app, transcript.home))
        line("Home, End", ends)
        jumps = [await frame(app, lambda n=n: transcript.scroll_to(y=total * n // 23)) for n in range(1, 22)]
        line("jump of the scroll bar", jumps)
        line("wheel, 3 rows", [await frame(app, lambda: transcript.scroll_rows(3)) for _ in range(100)])
        transcript.end()
        await pilot.pause()
        streaming = transcript.append(Assistant(streaming=True))
        feed = [await frame(app, lambda: transcript.feed(streaming, PARAGRAPH)) for _ in range(30)]
        line("feed one delta (no frame awaited)", feed)
        for width in (100, 120):
            start = time.perf_counter()
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            print(f"  resize to {width} columns {(time.perf_counter() - start) * 1000:30.1f} ms")
        start = time.perf_counter()
        transcript.search("nowhere to be found")
        while transcript._scan is not None:
            await asyncio.sleep(0.001)
        print(f"  search without a hit {(time.perf_counter() - start) * 1000:33.1f} ms, in slices of 8 ms")
        print(
            f"  ratio to a bare ScrollView, CPU: page up {middle(up) / bare['up']:.2f}, "
            f"page down {middle(down) / bare['down']:.2f}, laid out before {middle(again) / bare['down']:.2f}"
        )


async def bare() -> dict[str, float]:
    """The same moves in a view that does nothing."""
    view = BareLines(300_000)
    async with Bench(view).run_test(size=SIZE) as pilot:
        await pilot.pause()
        app = pilot.app
        view.scroll_end(animate=False, immediate=True)
        await pilot.pause()
        up = [await frame(app, lambda: view.scroll_page_up(animate=False)) for _ in range(200)]
        down = [await frame(app, lambda: view.scroll_page_down(animate=False)) for _ in range(200)]
        print("bare ScrollView, 300,000 rows")
        line("Page Up", up)
        line("Page Down", down)
        return {"up": middle(up), "down": middle(down)}


def main() -> None:
    """Prints everything."""
    sizes = [int(word) for word in sys.argv[1:]] or [10_000, 50_000]
    thread = threading.Thread(target=warm)
    start = time.perf_counter()
    thread.start()
    thread.join()
    print(f"warm(): {(time.perf_counter() - start) * 1000:.0f} ms in a thread")
    print(f"\nMarkdown in {DELTA}-character deltas, {SIZE[0]} x {SIZE[1]}")
    gc.collect()
    gc.freeze()
    asyncio.run(_all(sizes))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {peak:.0f} MB")


async def _all(sizes: list[int]) -> None:
    for size, paced in ((200_000, False), (1_000_000, False), (200_000, True)):
        await stream(size, paced)
    print()
    figures = await bare()
    for entries in sizes:
        await paging(entries, figures)


if __name__ == "__main__":
    main()
