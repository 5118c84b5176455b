"""/help: every command in one line."""

from collections.abc import Sequence

from prunecli.bindings import Keys, shown
from prunecli.commands.command import Effect, Table, all_commands
from prunecli.runtime import Runtime

_KEYS = (
    ("submit", "sends (steers while the agent works)"),
    ("follow_up", "queues"),
    ("newline", "new line"),
    ("interrupt", "interrupts"),
    ("cycle_mode", "mode"),
    ("show_keys", "keys"),
)
_IN_LINES = (
    "Enter sends · a line that ends in \\ goes on · !command runs in the shell and is shown to the model, "
    "!!command is not · Tab completes a command · Ctrl+C interrupts · Ctrl+D leaves"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show the commands and the main keys."""
    rows = []
    for command in all_commands():
        names = ", ".join(f"/{name}" for name in (command.name, *command.aliases))
        rows.append((names, command.help))
    return [
        Table(
            "Commands",
            ("command", "what it does"),
            tuple(rows),
            note=_note(Keys(runtime.config.ui.keys)),
            lines_note=_IN_LINES,
        )
    ]


def _note(keys: Keys) -> str:
    """The main keys as they are bound now; of several the last, which more terminals have (Ctrl+J)."""
    bound = [f"{shown(keys.of(name)[-1])} {what}" for name, what in _KEYS if keys.of(name)]
    return " · ".join([*bound, "@ file", "! shell"])
