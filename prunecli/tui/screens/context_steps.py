"""What of the inspector's work goes on between keys: at once where a moment is enough, else in slices."""

from collections.abc import Callable, Iterator

from textual.screen import Screen

from prunecli.tui.slices import finish, go_on


class Between:
    """Works of one screen by name; of each name only the newest goes on."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._under_way: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Whether anything is not done yet."""
        return bool(self._under_way)

    def do(self, name: str, steps: Iterator[object], then: Callable[[], object]) -> None:
        """Takes all steps, then does `then`; what was under way by this name is given up."""
        self._screen.workers.cancel_group(self._screen, name)
        if go_on(steps):
            self._under_way.discard(name)
            then()
        else:
            self._under_way.add(name)
            self._screen.run_worker(self._later(name, steps, then), group=name)

    async def _later(self, name: str, steps: Iterator[object], then: Callable[[], object]) -> None:
        await finish(steps)
        self._under_way.discard(name)
        then()
