"""What the name of a Claude model says about it."""

import re

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")
_UPPER = ("fable", "mythos")


def claude_version(name: str) -> tuple[int, int] | None:
    """(5, 5) of `claude-opus-5-5`; None for a name without a version or of another maker."""
    found = _VERSION.search(name.lower())
    return (int(found[1]), int(found[2] or 0)) if found else None


def is_bound(name: str) -> bool:
    """Whether the model signs its thinking over everything before it ("preserved thinking").

    A changed or missing block before such a thinking block makes it and what was thought after it invalid: the
    endpoint refuses the request or, when asked to, drops them. Assumed of models newer than the known ones.
    """
    version = claude_version(name)
    return version is not None and version >= (
        (5, 1) if any(one in name.lower() for one in _UPPER) else (5, 5)
    )
