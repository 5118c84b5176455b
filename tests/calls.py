"""Counts Python's calls: how much work something is, whatever else the machine does."""

import sys
from collections.abc import Callable


def calls_of(act: Callable[[], object]) -> int:
    """How many calls Python makes for it."""
    count = 0

    def profile(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count
