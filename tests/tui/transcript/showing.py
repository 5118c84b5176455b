"""What the tests of the transcript share: an application with one transcript, and ways to look at what it shows."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from prunecli.front.presentation.entries import Entry
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.items import Block, Item
from prunecli.tui.transcript.palette import Palette, inks
from prunecli.tui.transcript.rows import Dress, Row
from prunecli.tui.transcript.transcript_view import Transcript

INKS = inks(Palette())
DRESS = Dress(INKS.text)

MARKDOWN = """# Title
Intro right below the heading,
on two lines.

A paragraph with **bold**, *italic*, `code`, ~~gone~~ and [a link](https://example.com).
- one
- two
  goes on

  and has a second paragraph
  - nested

1. First:

   ```bash
   echo "three spaces in"
   ```

2. Second

> quoted text
> - with a list

| name | value |
|:-----|------:|
| a    | 1     |
| long name | 漢字 |

```python
def f(x):
    '''a string
    over lines'''
    return x
```

~~~
no language
~~~
Last line with [a reference][ref] and 👩\u200d👧.

[ref]: https://example.com/target
"""


def document(*entries: Entry, width: int = 60) -> Document:
    """A document of a width with some entries."""
    made = Document(INKS, lambda: 0.0)
    made.layout.resize(width)
    for entry in entries:
        made.append(entry)
    return made


def blocks(made: Document) -> list[Block]:
    """All blocks from top to bottom."""
    return list(made.layout.heights)


def rows(made: Document) -> list[Row]:
    """All rows of a document from top to bottom."""
    return [row for block in blocks(made) for row in made.layout.rows(block)]


def texts(made: Document) -> list[str]:
    """What all rows say, without the spaces at their ends."""
    return [row.text.rstrip() for row in rows(made)]


class Showing(App[None]):
    """An application with one transcript; what it tells is collected."""

    def __init__(self, transcript: Transcript, entries: Iterable[Entry] = ()) -> None:
        super().__init__()
        self.transcript = transcript
        self.entries = list(entries)
        self.told: list[object] = []
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.transcript.append_many(self.entries)

    def copy_to_clipboard(self, text: str) -> None:
        super().copy_to_clipboard(text)
        self.copied.append(text)

    def on_transcript_unseen(self, message: Transcript.Unseen) -> None:
        self.told.append(("unseen", message.count))

    def on_transcript_restore_requested(self, message: Transcript.RestoreRequested) -> None:
        self.told.append(("restore", message.key))

    def on_transcript_searched(self, message: Transcript.Searched) -> None:
        self.told.append(("searched", message.text, message.found))


@asynccontextmanager
async def showing(
    *entries: Entry, size: tuple[int, int] = (60, 20), transcript: Transcript | None = None
) -> AsyncIterator[tuple[Transcript, Pilot[None], Showing]]:
    """A running application that shows some entries."""
    app = Showing(transcript or Transcript(), entries)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app.transcript, pilot, app


def item(document: Document, key: int) -> Item:
    """An entry that must be there."""
    found = document.item(key)
    assert found is not None, f"there is no entry {key}"
    return found


def screen(transcript: Transcript) -> list[str]:
    """The rows on the screen as text, empty ones at the end left out."""
    lines = [line.row.text.rstrip() for line in transcript.window.lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def painted(transcript: Transcript) -> list[str]:
    """The rows on the screen as they are drawn, pill included."""
    return [transcript.render_line(y).text.rstrip() for y in range(transcript.window.height)]


def position(transcript: Transcript, text: str) -> tuple[int, int]:
    """Where on the screen a text is drawn, as the offset of its first cell in the widget."""
    for y, line in enumerate(transcript.window.lines):
        column = line.row.text.find(text)
        if column >= 0:
            return column, y
    raise AssertionError(f"{text!r} is not on the screen: {screen(transcript)}")
