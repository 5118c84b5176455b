"""A long session comes onto the screen: its end at once, the rest while the keyboard goes on working.

It is read, folded and presented in slices of a few milliseconds; who types is given way.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record
from prunecli.presentation.presenter import Presenter, present_of
from prunecli.presentation.transcript_changes import Anew
from prunecli.runtime.resuming import Resuming
from prunecli.tui.slices import Pace
from prunecli.tui.transcript_feed import Stage

AT_A_TIME = 100
"""Records that are presented anew in one step."""


class Arriving:
    """Brings the session that the runtime is resuming onto a stage. `presenter` is for a context, with or without
    `figures`; `typed_at`: when the user typed last."""

    def __init__(
        self,
        resuming: Resuming,
        stage: Stage,
        presenter: Callable[..., Presenter],
        typed_at: Callable[[], float],
    ) -> None:
        self._resuming = resuming
        self._stage = stage
        self._presenter_of = presenter
        self._typed_at = typed_at
        self._presenter = presenter(resuming.context)
        self._rewound = False

    def show_end(self) -> None:
        """Shows the end of the file, without tokens: how the endpoint counts is known when all is read. Where it
        can't be read nothing is shown: reading the rest will say why."""
        try:
            records = self._resuming.tail()
        except OSError:
            return
        context = Context(Chars4())
        for record in records:
            context.apply(record)
        self._stage.show_end(self._presenter_of(context, figures=False), records)

    async def read(self, say: Callable[[str], None]) -> Presenter:
        """Reads it all; what presents it. Raises PrunecliError, OSError."""
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
        """After a rewind only what leads to the present is shown."""
        if self._rewound:
            self._presenter = self._presenter_of(self._resuming.context)
            await Pace(self._typed_at).take(self._presented(self._presenter))

    def _presented(self, presenter: Presenter) -> Iterator[None]:
        present = present_of(self._resuming.records)
        for start in range(0, len(present), AT_A_TIME):
            for event in present[start : start + AT_A_TIME]:
                presenter.take(event)
            yield
