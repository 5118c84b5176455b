"""The known name that an unknown one most likely means."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")


def near(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the most similar of these, with at least this likeness (0 to 1), or ""."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, likeness)), "")
