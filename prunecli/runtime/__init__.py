"""The composition root: combines configuration, session, provider, tools and policy for one directory."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime
    from prunecli.runtime.setup import Setup, Status

__all__ = ["Runtime", "Setup", "Status"]


def __getattr__(name: str) -> Any:
    """Import the runtime on first use. Commands that only list or count sessions start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from prunecli.runtime import runtime, setup

    return getattr(runtime if name == "Runtime" else setup, name)
