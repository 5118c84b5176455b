"""The palette: every command and every action in one list that typing filters."""

from prunecli.bindings import ACTIONS, Keys, shown
from prunecli.commands.command import Choice, Choose, all_commands
from prunecli.tui.screens.choose import ChooseScreen

_TYPING = frozenset({"submit", "newline", "follow_up", "older", "newer", "complete", "commands"})
"""Actions that mean something only while one types."""


def palette(keys: Keys) -> ChooseScreen:
    """The screen; it gives `/command` or the name of an action."""
    commands = [Choice(f"/{one.name}", f"/{one.name}", one.help) for one in all_commands()]
    actions = [
        Choice(one.name, one.name.replace("_", " "), f"{shown(keys.of(one.name)[0])} · {one.help}")
        for one in ACTIONS
        if one.name not in _TYPING and keys.of(one.name)
    ]
    return ChooseScreen(Choose("Everything", "", (*commands, *actions)))
