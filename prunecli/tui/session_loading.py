"""Loads a long session onto the screen: its end at once, the rest while the keyboard stays responsive.

The session is read, folded and presented in slices of a few milliseconds, with longer pauses while the user types.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from prunecli.context.state import Context
from prunecli.front.presentation.presenter import Presenter, present_of
from prunecli.front.presentation.transcript_changes import Anew
from prunecli.model.events import Record
from prunecli.runtime.resuming import Resuming
from prunecli.tui.slices import Pace
from prunecli.tui.transcript_feed import TranscriptFeed

AT_A_TIME = 100
"""Records presented in one step."""


class SessionLoading:
    """The loading of the session that the runtime is resuming. `presenter` makes a presenter for a context, or one
    without token counts; `typed_at` returns the time of the last key."""

    def __init__(
        self,
        resuming: Resuming,
        feed: TranscriptFeed,
        presenter: Callable[[Context | None], Presenter],
        typed_at: Callable[[], float],
    ) -> None:
        self._resuming = resuming
        self._feed = feed
        self._presenter_of = presenter
        self._typed_at = typed_at
        self._presenter = presenter(resuming.context)
        self._rewound = False

    def show_end(self) -> None:
        """Show the end of the file, without token counts, since they are known only after a full read. If the end
        cannot be read, show nothing: reading the rest will report the error."""
        try:
            records = self._resuming.tail()
        except OSError:
            return
        self._feed.show_end(self._presenter_of(None), records)

    async def read(self, say: Callable[[str], None]) -> Presenter:
        """Read the whole session and return its presenter. Raises PrunecliError, OSError."""
        await self._read(say)
        await self._present_again()
        self._presenter.abandon()
        await asyncio.to_thread(self._resuming.make_ready)
        return self._presenter

    async def _read(self, say: Callable[[str], None]) -> None:
        resuming, pace = self._resuming, Pace(self._typed_at)
        for step in resuming.steps():
            self._present(step.records)
            if not step.records:
                await pace.rest()
            elif await pace.breathe():
                percent = min(99, 100 * step.read // max(1, resuming.size))
                say(f"Reading the session: {percent}%")
        self._present(resuming.answered())

    def _present(self, records: Sequence[Record]) -> None:
        for record in () if self._rewound else records:
            changes = self._presenter.take(record)
            self._rewound = self._rewound or any(isinstance(change, Anew) for change in changes)

    async def _present_again(self) -> None:
        if self._rewound:
            self._presenter = self._presenter_of(self._resuming.context)
            await Pace(self._typed_at).take(self._presented(self._presenter))

    def _presented(self, presenter: Presenter) -> Iterator[None]:
        present = present_of(self._resuming.records)
        for start in range(0, len(present), AT_A_TIME):
            for event in present[start : start + AT_A_TIME]:
                presenter.take(event)
            yield
