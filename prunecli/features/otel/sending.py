"""Has the SDK work in threads: one imports it and makes the spans, its own send them in batches from bounded queues.

So nothing here delays a turn, and a failure becomes a line.
"""

import logging
import threading
from asyncio import Event, get_running_loop, timeout
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prunecli.plugins.foreign import ForeignFailed, called
from prunecli.util.sanitize import one_line, shortened

if TYPE_CHECKING:
    from prunecli.features.otel.sdk import Sdk

SECONDS = 2.0
"""The longest that the end of the program waits for the collector."""


class _Listening(logging.Handler):
    """Hears what the SDK logs, which Python would print otherwise: batches that are lost, and those that are tried
    again because the collector does not answer."""

    def __init__(self, heard: Callable[[str, bool], None]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        given = record.args if isinstance(record.args, tuple) else ()
        error = next((type(one).__name__ for one in given if isinstance(one, Exception)), "")
        is_lost = record.levelno >= logging.ERROR
        if error or is_lost:
            self._heard(error or record.getMessage(), is_lost)


class Sender:
    """Does work with the SDK in a thread, one piece after the other. `problem` says why something was lost."""

    def __init__(self, make: "Callable[[], Sdk]") -> None:
        self.problem, self._cause = "", ""
        self._make, self._has_work = make, False
        self._sdk: Sdk | None = None
        self._threads = ThreadPoolExecutor(1, "otel")
        self._gave_up: Callable[[], object] = bool
        self._listening = _Listening(self._hear)

    def later(self, work: str, *given: Any) -> None:
        """Call this method of `Sdk` once what came before is done."""
        self._has_work = True
        self._threads.submit(self._do, work, *given)

    def _do(self, work: str, *given: Any) -> None:
        try:
            if self._sdk is None:
                logging.getLogger("opentelemetry").addHandler(self._listening)
                self._sdk = called(self._make)
            called(getattr(self._sdk, work), *given)
        except ForeignFailed as error:
            self._hear(str(error), True)

    def _hear(self, why: str, is_lost: bool) -> None:
        if is_lost:
            self.problem, self._cause = self._cause or shortened(one_line(why).rstrip("."), 200), ""
        else:
            self._cause = why
            self._gave_up()

    async def finish(self, seconds: float = SECONDS) -> None:
        """Send what is left. Waits until that is done or the collector does not answer, at most this long. What comes
        later starts anew."""
        if not self._has_work:
            return
        loop, over = get_running_loop(), Event()

        def end() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(over.set)

        self._has_work, self._cause, self._gave_up = False, "", end
        threading.Thread(target=self._shutdown, args=(end,), name="otel end", daemon=True).start()
        try:
            async with timeout(seconds):
                await over.wait()
        except TimeoutError:
            self._cause = f"no answer within {seconds:g} s"
        self.problem = self._cause or self.problem

    def _shutdown(self, ended: Callable[[], object]) -> None:
        sdk, self._sdk = self._threads.submit(lambda: self._sdk).result(), None
        try:
            if sdk is not None:
                called(sdk.shutdown)
        except ForeignFailed as error:
            self._hear(str(error), True)
        ended()
