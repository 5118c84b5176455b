"""prunecli: a terminal coding agent whose context you can see, prune and restore."""

__version__ = "0.1.0"
