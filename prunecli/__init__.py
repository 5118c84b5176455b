"""prunecli: the coding agent for the terminal whose context you can see, prune, restore and trust."""

__version__ = "0.1.0"
