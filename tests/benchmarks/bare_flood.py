"""The least a Textual program can do with a stream: its text as plain lines in a scroll view, above an input.

`python -m tests.benchmarks.bare_flood URL` asks the endpoint at the address with each Enter. For comparison only: no
Markdown, no log, no loop, no errors, no wrapping.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

INK = Style(color="#d5dbe3", bgcolor="#101418")
ASKED = {"model": "claude-sonnet-5-5", "max_tokens": 100, "stream": True}
BODY = json.dumps({**ASKED, "messages": [{"role": "user", "content": "x"}]}).encode()


class Lines(ScrollView):
    """Lines, the last always in view."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self.grown = False

    def add(self, text: str) -> None:
        """More text at the end."""
        first, *more = text.split("\n")
        self.lines[-1] += first
        self.lines += more
        self.grown = True

    def show(self) -> None:
        """What came since the last time."""
        if not self.grown:
            return
        self.grown = False
        self.virtual_size = Size(self.size.width, len(self.lines))
        self.scroll_end(animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """A line, cut to the width."""
        at, width = y + self.scroll_offset.y, self.size.width
        text = self.lines[at] if at < len(self.lines) else ""
        return Strip([Segment(text[:width].ljust(width), INK)], width)


class Bare(App[None]):
    """An input below lines."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = urlsplit(url)
        self.view = Lines()

    def compose(self) -> ComposeResult:
        """Lines and input."""
        yield self.view
        yield Input(placeholder="bare")

    def on_mount(self) -> None:
        """Thirty times a second."""
        self.query_one(Input).focus()
        self.set_interval(1 / 30, self.view.show)

    def on_input_submitted(self) -> None:
        """Asks."""
        self.run_worker(self._ask())

    async def _ask(self) -> None:
        reader, writer = await asyncio.open_connection(self.url.hostname, self.url.port, limit=1 << 20)
        head = (
            f"POST /v1/messages HTTP/1.1\r\nhost: {self.url.netloc}\r\nx-api-key: sk-ant-x\r\n"
            "anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n"
            f"content-length: {len(BODY)}\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + BODY)
        resumed = time.perf_counter()
        while line := await reader.readline():
            if line.startswith(b"data: "):
                delta = json.loads(line[6:]).get("delta") or {}
                self.view.add(delta.get("text", ""))
            if time.perf_counter() - resumed > 0.003:
                await asyncio.sleep(0)
                resumed = time.perf_counter()
        writer.close()


if __name__ == "__main__":
    Bare(sys.argv[1]).run()
