"""Keeps the token counts on the screen current: counts new entries and follows the endpoint's scale."""

from collections.abc import Callable, Sequence

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.plugins.app import resolved
from prunecli.runtime import Runtime, Status
from prunecli.runtime.counting import count_ahead, to_count
from prunecli.tui.runs import Runs
from prunecli.tui.screens.frame import Frame
from prunecli.tui.slices import Pace
from prunecli.tui.transcript_feed import TranscriptFeed
from prunecli.tui.widgets.status import cache_words


class Figures:
    """The status figures of one runtime, and the tokens of its entries. `typed_at` returns the time of the last
    key."""

    def __init__(
        self, runtime: Runtime, frame: Frame, feed: TranscriptFeed, runs: Runs, typed_at: Callable[[], float]
    ) -> None:
        self._runtime = runtime
        self._frame = frame
        self._feed = feed
        self._runs = runs
        self._typed_at = typed_at
        self._counting = False
        self._scale: object = None

    def show(self) -> None:
        """Update all figures. If a large text must be counted first, the update follows later. Only one count runs at
        a time."""
        context = self._runtime.session.context
        self.show_above()
        if waiting := to_count(context):
            if not self._counting:
                self._counting = True
                self._frame.run_worker(self._count(context, waiting), group="count")
            return
        self._follow_scale(context)
        status = self._runtime.status()
        self._frame.status.show(status, self._cache(status))
        self._frame.masthead.show_session(status.session_name)
        self.show_waiting()

    def show_above(self) -> None:
        """Update the widgets of features around the prompt."""
        for widget in self._runtime.config.installed.of("widget").values():
            shows = resolved(widget.facts["shows"])
            self._frame.show_above(widget, shows(self._runtime))

    async def _count(self, context: Context, waiting: Sequence[Entry]) -> None:
        try:
            await count_ahead(context, waiting)
        finally:
            self._counting = False
        self.show()

    def _follow_scale(self, context: Context) -> None:
        scale = (context, context.counts.scale.ratio)
        if self._scale != scale:
            self._scale = scale
            recount = Pace(self._typed_at).take(self._feed.recount())
            self._frame.run_worker(recount, group="rescale", exclusive=True)

    def show_cache(self) -> None:
        if status := self._frame.status.status:
            self._frame.status.show_cache(self._cache(status))

    def _cache(self, status: Status) -> str:
        return cache_words(status, self._runtime.choices.ttl_ms, self._runtime.setup.clock())

    def show_waiting(self) -> None:
        steering, follow_ups = self._runs.waiting()
        self._frame.waiting.show(steering, follow_ups)
        self._frame.prompt.set_class(bool(steering or follow_ups), "-waiting")
