"""Try another strategy on a session that is open: what it would have sent so far, and what that would have cost."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from prunecli.errors import UsageError
from prunecli.model.events import Record
from prunecli.replay.play import Player, Sent
from prunecli.replay.rows import Row
from prunecli.replay.script import is_answer, script_of
from prunecli.replay.stage import Setting, Stage

MOST_REQUESTS = 2_000
"""A longer session is tried up to here, so that it takes seconds."""
MOST_SECONDS = 60.0


class TrialStopped(UsageError):
    """The user stopped a trial, or it took too long."""


class Trial:
    """Plays a session as it would be without pruning, with its present setting, and with another.

    `stop` ends it from another thread.
    """

    def __init__(self, stage: Stage, records: Sequence[Record], settings: Sequence[Setting]) -> None:
        self._stage = replace(stage, settings=tuple(dict.fromkeys(settings)))
        self._records, self.whole = _bounded(records)
        self._stopped = False
        self._until = 0.0

    def stop(self) -> None:
        """Stop at the next request."""
        self._stopped = True

    def rows(self) -> tuple[Row, ...]:
        """One row for each setting, the first without pruning. Raises TrialStopped."""
        self._until = monotonic() + MOST_SECONDS
        script = script_of(self._records, self._stage.counter)
        return self._stage.play(script, self._watch)

    def _watch(self, player: Player, sent: Sent) -> None:  # noqa: ARG002  # what a play calls
        if self._stopped:
            raise TrialStopped("stopped")
        if monotonic() > self._until:
            raise TrialStopped(
                f"stopped after {MOST_SECONDS:.0f} seconds", "`prunecli replay` has no time limit"
            )


def _bounded(records: Sequence[Record]) -> tuple[Sequence[Record], bool]:
    """The records of the first requests, and whether these are all."""
    count = 0
    for at, record in enumerate(records):
        count += is_answer(record.event)
        if count > MOST_REQUESTS:
            return records[:at], False
    return list(records), True
