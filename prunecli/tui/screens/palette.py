"""The command palette: every command and action in one filterable list."""

from prunecli.bindings import ACTIONS, Keys, shown
from prunecli.commands.command import Choice, Choose, all_commands
from prunecli.tui.screens.choose import ChooseScreen

_TYPING = frozenset({"submit", "newline", "follow_up", "older", "newer", "complete", "commands"})
"""Actions that only make sense while typing."""


def palette(keys: Keys) -> ChooseScreen:
    """Return the palette screen; its result is `/command` or the name of an action."""
    commands = [Choice(f"/{one.name}", f"/{one.name}", one.help) for one in all_commands()]
    actions = [
        Choice(one.name, one.name.replace("_", " "), f"{shown(keys.of(one.name)[0])} · {one.help}")
        for one in ACTIONS
        if one.name not in _TYPING and keys.of(one.name)
    ]
    return ChooseScreen(Choose("Everything", "", (*commands, *actions)))
