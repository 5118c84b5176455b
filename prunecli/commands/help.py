"""/help: every command in one line."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Table, all_commands
from prunecli.runtime import Runtime

_KEYS = (
    "Enter sends (steers while the agent works) · Alt+Enter queues · Ctrl+J new line · Esc interrupts · "
    "Shift+Tab mode · @ file · ! shell · F1 keys"
)
_IN_LINES = (
    "Enter sends · a line that ends in \\ goes on · !command runs in the shell and is shown to the model, "
    "!!command is not · Tab completes a command · Ctrl+C interrupts · Ctrl+D leaves"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:  # noqa: ARG001  # every command is called alike
    """Show the commands and the main keys."""
    rows = []
    for command in all_commands():
        names = ", ".join(f"/{name}" for name in (command.name, *command.aliases))
        rows.append((names, command.help))
    return [Table("Commands", ("command", "what it does"), tuple(rows), note=_KEYS, lines_note=_IN_LINES)]
