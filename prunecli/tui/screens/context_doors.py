"""The screens opened by the inspector's keys. Each is imported when it is first opened."""

from collections.abc import Sequence
from typing import Any

from textual.app import App

from prunecli.commands.command import Table
from prunecli.inspector.labels import Key
from prunecli.inspector.outline import Outline
from prunecli.model.events import Record
from prunecli.tui.screens.context_words import HELP, tools_table


def show_text(app: App[Any], outline: Outline, key: Key) -> None:
    from prunecli.tui.screens.context_text import TextScreen

    app.push_screen(TextScreen(outline, key))


def show_difference(app: App[Any], records: Sequence[Record], outline: Outline) -> None:
    from prunecli.tui.screens.context_diff import DiffScreen

    app.push_screen(DiffScreen(records, outline))


def show_tools(app: App[Any], outline: Outline) -> bool:
    """Show the totals per tool; return False if there are none."""
    totals = outline.tools
    if totals:
        _show_table(app, tools_table(totals, outline.rides.requests))
    return bool(totals)


def show_help(app: App[Any]) -> None:
    _show_table(app, Table("Context inspector", ("key", "action"), HELP))


def _show_table(app: App[Any], table: Table) -> None:
    from prunecli.tui.screens.table import TableScreen

    app.push_screen(TableScreen(table))
