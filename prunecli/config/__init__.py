"""The configuration: options from files, environment and flags, typed and checked, each with its source."""

from prunecli.config.effective import Config, Item
from prunecli.config.options import (
    Compaction,
    McpServer,
    Model,
    ModelFacts,
    Permissions,
    Prices,
    Pruning,
    Sandbox,
    Tools,
    Ui,
)
from prunecli.config.sources import assignment, load, user_files

__all__ = [
    "Compaction",
    "Config",
    "Item",
    "McpServer",
    "Model",
    "ModelFacts",
    "Permissions",
    "Prices",
    "Pruning",
    "Sandbox",
    "Tools",
    "Ui",
    "assignment",
    "load",
    "user_files",
]
