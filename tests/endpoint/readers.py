"""Whose thinking may a model read? The model check and the account check of thinking blocks.

Both hold on every account, can't be switched off and are never an error: such a block is left out, and comes back
when the conversation returns to a model, or an account, that may read it.
"""

import re

_NAME = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)")
_UPPER = ("fable", "mythos")
_FIRST_BOUND = (5, 5)


def may_read(reader: str, writer: str) -> bool:
    """Whether thinking of `writer` reaches `reader`; "" stands for thinking signed by hand, which all may read."""
    if not writer or reader == writer:
        return True
    mine, its = _NAME.match(reader), _NAME.match(writer)
    if mine is None or its is None:
        return False
    family, version = mine[1], (int(mine[2]), int(mine[3] or 0))
    other, age = its[1], (int(its[2]), int(its[3] or 0))
    if other in _UPPER and age >= (5, 2):
        return family in _UPPER and version >= (5, 2)
    if other == "haiku" and age >= _FIRST_BOUND:
        return True
    if family == "haiku" and version >= _FIRST_BOUND:
        return False
    if family in _UPPER and version >= (5, 1):
        return age < _FIRST_BOUND or other == "opus" or version >= (5, 2)
    if family == "opus" and version >= _FIRST_BOUND:
        return other not in _UPPER and (age < _FIRST_BOUND or other == "sonnet")
    if family == "sonnet" and version >= _FIRST_BOUND:
        return other not in _UPPER and age <= ((4, 8) if other == "opus" else (5, 0))
    return age < ((5, 1) if other in _UPPER else _FIRST_BOUND)
