"""The lists of actions: the command palette and the table of keys."""

from collections.abc import Sequence

from prunecli.bindings import ACTIONS, Action, Keys, shown
from prunecli.commands.command import Choice, Choose, Table, all_commands
from prunecli.tui.screens.choose import ChooseScreen
from prunecli.tui.screens.table import TableScreen

_TYPING = frozenset({"submit", "newline", "follow_up", "older", "newer", "complete", "commands"})
"""Actions that only make sense while typing."""


def keys_table(keys: Keys, actions: Sequence[Action]) -> Table:
    """Build a table with a row for each action, grouped by name."""
    rows: list[tuple[str, ...]] = []
    group = ""
    for action in actions:
        rows.append(
            (
                action.group if action.group != group else "",
                " ".join(map(shown, keys.of(action.name))),
                action.help,
            )
        )
        group = action.group
    note = 'Change keys under [ui.keys] in config.toml, such as submit = "ctrl+s"'
    return Table("Keys", ("", "key", "action"), tuple(rows), note=note)


def keys_screen(keys: Keys, actions: Sequence[Action]) -> TableScreen:
    """Return a screen that shows the table."""
    return TableScreen(keys_table(keys, actions))


def palette(keys: Keys) -> ChooseScreen:
    """Return the palette screen; its result is `/command` or the name of an action."""
    commands = [Choice(f"/{one.name}", f"/{one.name}", one.help) for one in all_commands()]
    actions = [
        Choice(one.name, one.name.replace("_", " "), f"{shown(keys.of(one.name)[0])} · {one.help}")
        for one in ACTIONS
        if one.name not in _TYPING and keys.of(one.name)
    ]
    return ChooseScreen(Choose("Everything", "", (*commands, *actions)))
