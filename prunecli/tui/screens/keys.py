"""The keys and what they do, as a table."""

from collections.abc import Sequence

from prunecli.bindings import Action, Keys, shown
from prunecli.commands.command import Table
from prunecli.tui.screens.table import TableScreen


def keys_table(keys: Keys, actions: Sequence[Action]) -> Table:
    """A row for each action, under the name of its group."""
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
    note = 'Others: [ui.keys] in config.toml, such as submit = "ctrl+s".'
    return Table("Keys", ("", "key", "what it does"), tuple(rows), note=note)


def keys_screen(keys: Keys, actions: Sequence[Action]) -> TableScreen:
    """The screen that shows them."""
    return TableScreen(keys_table(keys, actions))
