"""Branches of a context: copies that share everything that never changes, and go on by themselves.

Replay folds a session once for many strategies, and branches where a strategy prunes for the first time. A branch
costs O(context), a small part of folding its records again. Entries, exchanges and recorded values are shared, and so
is what was computed from them, such as their tokens. This module alone knows the insides of all parts of a context.
"""

from array import array
from copy import copy, deepcopy
from functools import partial
from typing import Any, TypeVar

from prunecli.context.counted import Item
from prunecli.context.memo import Measures
from prunecli.context.shown import shown
from prunecli.context.state import Context, searches_as_text
from prunecli.context.thoughts import thinks
from prunecli.context.wire import Group

Part = TypeVar("Part")
_CONTAINERS = (dict, list, set, array)
_CHANGING = frozenset((*_CONTAINERS, Measures, Item, Group))
"""The types of values inside containers that may change after they were made."""


def branched(context: Context) -> Context:
    """Return a branch of a context. Neither sees the records that the other folds from now on.

    No later result may answer a call that was made before, because both have the same exchanges.
    """
    branch = twin(context)
    branch.counts, kept_out = twin(context.counts), twin(context.counts._kept_out)
    branch.counts._kept_out, kept_out._tokens = kept_out, branch.counts
    branch.unseen = twin(context.unseen)
    branch.unseen._context = branch
    branch.prefixes = twin(context.prefixes)
    branch.prefixes._context = branch
    branch.thoughts = twin(context.thoughts)
    branch.thoughts.sent = partial(thinks, branch)
    branch.wire = twin(context.wire)
    branch.wire._show, branch.wire._as_text = partial(shown, branch), partial(searches_as_text, branch)
    branch.prune_history, branch._lineage = twin(context.prune_history), twin(context._lineage)
    branch.memo = twin(context.memo)
    same = {id(one): one for one in (*context.entries.values(), *context.exchanges)}
    branch.memo._kept = deepcopy(context.memo._kept, same)
    return branch


def twin(part: Part) -> Part:
    """Return a copy of an object with containers of its own, also nested ones. All other values are shared."""
    other = copy(part)
    for name in getattr(part, "__slots__", None) or vars(part):
        setattr(other, name, _own(getattr(part, name)))
    return other


def _own(value: Any) -> Any:
    """Return a copy of a value that may change, otherwise the value."""
    if isinstance(value, Item | Group):
        return twin(value)
    if not isinstance(value, _CONTAINERS):
        return value
    other = copy(value)
    if isinstance(other, dict) and not _CHANGING.isdisjoint(map(type, other.values())):
        other.update([(key, _own(one)) for key, one in other.items()])
    elif isinstance(other, list) and not _CHANGING.isdisjoint(map(type, other)):
        other[:] = map(_own, other)
    return other
