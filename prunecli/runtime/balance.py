"""The running balance of pruning in a session: savings, costs, and the cost of fetching content again."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from prunecli.context.ledger import Ledger
from prunecli.context.strategies.auto import LOSING
from prunecli.runtime.choices import Choices
from prunecli.session.session import Session
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.context import spending
else:
    spending = lazy("prunecli.context.spending")


def billed(session: Session, choices: Choices) -> "list[spending.Paid]":
    """Return all responses with usage, oldest first."""
    return spending.billed_responses(session.records, session.context, choices.known_price)


class Balance:
    """The balance of the current session, recomputed when it is read after the log has grown.

    `responses` counts the responses so far.
    """

    def __init__(
        self, session: Callable[[], Session], choices: Callable[[], Choices], responses: Callable[[], int]
    ) -> None:
        self._session, self._choices = session, choices
        self._known: tuple[Session, int, spending.Pruning] | None = None
        self._responses = responses
        self._saved: tuple[Session, int, float | None] | None = None
        self._said: tuple[Session, set[str]] | None = None

    @property
    def said(self) -> set[str]:
        """The notices about strategies already shown in this session. The caller adds to the set."""
        session = self._session()
        if self._said is None or self._said[0] is not session:
            self._said = session, set()
        return self._said[1]

    @property
    def now(self) -> "spending.Pruning":
        session = self._session()
        if self._known is None or self._known[0] is not session or self._known[1] != len(session.records):
            self._known = session, len(session.records), self._of(session)
        return self._known[2]

    @property
    def saved(self) -> float | None:
        """What pruning has saved so far in USD, net of its cost; None if a price is unknown.

        It changes with responses only, so that a status bar can ask at each event.
        """
        session, responses = self._session(), self._responses()
        if self._saved is None or self._saved[:2] != (session, responses):
            self._saved = session, responses, self.now.balance
        return self._saved[2]

    def _of(self, session: Session) -> "spending.Pruning":
        choices = self._choices()
        return spending.balance(session.records, session.context, choices.known_price)

    def beside(self, ledger: Ledger) -> Ledger:
        """Return the ledger with this balance, computed when read."""
        return replace(ledger, balance=lambda: self.now.to_json())

    def losing(self) -> bool:
        """Return whether pruning has cost more than it saved.

        Once it no longer has, the notice that says so may be shown again.
        """
        net = self.now.balance
        if net is not None and net < 0:
            return True
        self.said.discard(LOSING)
        return False
