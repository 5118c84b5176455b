"""The table of keys."""

from collections.abc import Sequence

from prunecli.bindings import Action, Keys, shown
from prunecli.commands.command import Table
from prunecli.tui.screens.table import TableScreen


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
