"""The composition root: combines configuration, session, provider, tools and policy for one directory."""

from typing import TYPE_CHECKING, Any

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.runtime import runtime, setup
    from prunecli.runtime.runtime import Runtime
    from prunecli.runtime.setup import Setup, Status
else:
    runtime = lazy("prunecli.runtime.runtime")
    setup = lazy("prunecli.runtime.setup")

__all__ = ["Runtime", "Setup", "Status"]


def __getattr__(name: str) -> Any:
    """Import the runtime on first use. Commands that only list or count sessions start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    return getattr(runtime if name == "Runtime" else setup, name)
