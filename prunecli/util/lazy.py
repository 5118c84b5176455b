"""Modules that are imported when they are first used, since few runs use them and their import takes long.

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")
"""

from importlib import import_module
from typing import Any


class lazy:  # noqa: N801  # it stands for a module
    """A module that is imported with the first of its attributes. Raises ImportError then."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
