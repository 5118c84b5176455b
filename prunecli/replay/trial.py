"""Tries another strategy on an open session: computes what it would have sent and cost so far."""

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
"""Maximum requests to try of a long session, so that a trial takes only seconds."""
MOST_SECONDS = 60.0


class TrialStopped(UsageError):
    """The user stopped a trial, or it took too long."""


class Trial:
    """A trial that plays a session without pruning, with its current setting, and with another setting.

    `stop` ends the trial from another thread. `notes` are the lines of `Stage.failures` and `Stage.assumptions`, once
    it is played.
    """

    def __init__(self, stage: Stage, records: Sequence[Record], settings: Sequence[Setting]) -> None:
        self._stage = replace(stage, settings=tuple(dict.fromkeys(settings)))
        self._records, self.whole = _bounded(records)
        self.notes: list[str] = []
        self._stopped = False
        self._until = 0.0

    def stop(self) -> None:
        """Stop at the next request."""
        self._stopped = True

    def rows(self) -> tuple[Row, ...]:
        """Return one row for each setting, the first without pruning. Raises TrialStopped."""
        self._until = monotonic() + MOST_SECONDS
        script = script_of(self._records, self._stage.counter)
        rows = self._stage.play(script, self._watch)
        self.notes = [*self._stage.failures, *self._stage.assumptions(script)]
        return rows

    def _watch(self, player: Player, sent: Sent) -> None:  # noqa: ARG002  # the signature of `Watch`
        if self._stopped:
            raise TrialStopped("stopped")
        if monotonic() > self._until:
            raise TrialStopped(
                f"stopped after {MOST_SECONDS:.0f} seconds", "`prunecli replay` has no time limit"
            )


def _bounded(records: Sequence[Record]) -> tuple[Sequence[Record], bool]:
    """Return the records of the first requests, and whether those are all records."""
    count = 0
    for at, record in enumerate(records):
        count += is_answer(record.event)
        if count > MOST_REQUESTS:
            return records[:at], False
    return list(records), True
