"""The composition root: combines configuration, session, provider, tools and policy for one directory."""

from prunecli.runtime.runtime import Runtime
from prunecli.runtime.setup import Setup, Status

__all__ = ["Runtime", "Setup", "Status"]
