"""The to-do list in force: the newest accepted call of `todo` in this branch.

The call shows the list, so a newer call replaces an older one at once. Its exchange is never dropped while it is the
newest. An older one goes with the next batch of prunes that changes something before it, never on its own: an edit
in the middle costs more than a short list does.
"""

from typing import Protocol

from prunecli.context.exchange import Entry, Exchange
from prunecli.model.todos import TOOL, Todos, is_open, todos_of

CURRENT = "the current to-do list"
"""Why no strategy drops an exchange."""


def newest(known: Entry | None, result: Entry) -> Entry | None:
    """The result of the call that holds the list, given one more result. A failed call changes nothing."""
    if result.call is None or result.call.name != TOOL or result.is_error:
        return known
    return known if known and _order(known) > _order(result) else result


def _order(result: Entry) -> tuple[int, int]:
    """The place of a result's call in the log; calls of one message may end in any order."""
    exchange = result.exchange
    calls = [call.id for call in exchange.calls] if exchange else []
    return exchange.seq if exchange else -1, calls.index(result.call.id) if result.call else -1


class Fold(Protocol):
    """What of `state.Context` is asked here."""

    todo: Entry | None
    boundary: int
    user_turns: list[int]

    def is_shown(self, seq: int) -> bool:
        """Whether this answer is among the items."""
        ...

    def dropped(self, exchange: Exchange) -> bool:
        """Whether the exchange is left out."""
        ...


def todos(context: Fold) -> Todos:
    """The list in force, () if there is none."""
    call = context.todo.call if context.todo else None
    return todos_of(call.input) if call else ()


def shown_todos(context: Fold) -> Todos:
    """The list as a person should see it: a finished one is gone after the next prompt."""
    found = todos(context)
    if context.todo is None or is_open(found):
        return found
    later = max(context.boundary, context.user_turns[-1] if context.user_turns else -1)
    return found if later < context.todo.seq else ()


def is_sent(context: Fold) -> bool:
    """Whether the next request contains the call that holds the list."""
    exchange = context.todo.exchange if context.todo else None
    return exchange is not None and context.is_shown(exchange.seq) and not context.dropped(exchange)
