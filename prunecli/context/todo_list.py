"""The to-do list in effect: the newest accepted call to `todo` in this branch.

The call shows the list, so a newer call replaces an older one at once. The exchange of the newest call is never
dropped. An older one is dropped with the next batch of prunes that changes something before it, never on its own,
because an edit in the middle costs more than a short list.
"""

from typing import Protocol

from prunecli.context.exchange import Entry, Exchange
from prunecli.model.todos import TOOL, Todos, is_open, todos_of

CURRENT = "the current to-do list"
"""The reason why no strategy drops the exchange."""


def newest(known: Entry | None, result: Entry) -> Entry | None:
    """Return the result of the call that holds the list, given one more result. A failed call changes nothing."""
    if result.call is None or result.call.name != TOOL or result.is_error:
        return known
    return known if known and _order(known) > _order(result) else result


def _order(result: Entry) -> tuple[int, int]:
    """Return the position of a result's call in the log, since calls of one message may end in any order."""
    exchange = result.exchange
    calls = [call.id for call in exchange.calls] if exchange else []
    return exchange.seq if exchange else -1, calls.index(result.call.id) if result.call else -1


class Fold(Protocol):
    """The part of `state.Context` that is used here."""

    todo: Entry | None
    boundary: int
    user_turns: list[int]

    def is_shown(self, seq: int) -> bool:
        """Return whether this answer is among the items."""

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is left out."""


def todos(context: Fold) -> Todos:
    """Return the current list; () if there is none."""
    call = context.todo.call if context.todo else None
    return todos_of(call.input) if call else ()


def shown_todos(context: Fold) -> Todos:
    """Return the list to show to the user. A finished list disappears after the next prompt."""
    found = todos(context)
    if context.todo is None or is_open(found):
        return found
    later = max(context.boundary, context.user_turns[-1] if context.user_turns else -1)
    return found if later < context.todo.seq else ()


def is_sent(context: Fold) -> bool:
    """Return whether the next request contains the call that holds the list."""
    exchange = context.todo.exchange if context.todo else None
    return exchange is not None and context.is_shown(exchange.seq) and not context.dropped(exchange)
