"""/help: every command in one line."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Table, hidden, offered
from prunecli.runtime import Runtime
from prunecli.util.bindings import Keys, shown
from prunecli.util.errors import UsageError
from prunecli.util.paths import has_feature

_KEYS = (
    ("submit", "to send (steers while the agent works)"),
    ("follow_up", "to queue"),
    ("newline", "for a new line"),
    ("interrupt", "to interrupt"),
    ("cycle_mode", "to change mode"),
    ("show_keys", "for all keys"),
)
_IN_LINES = (
    "Enter to send · end a line with \\ for a new line · !command runs in the shell and is shown to the model, "
    "!!command is not · Tab to complete a command · Ctrl+C to interrupt · Ctrl+D to quit"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show the commands and the main keys; /help prune shows the matching ones."""
    rows = []
    for name, text, aliases in offered(runtime):
        names = ", ".join(f"/{one}" for one in (name, *aliases))
        if arguments in names:
            rows.append((names, text))
    if not rows:
        raise UsageError(f"no command is named {arguments}", "/help lists all")
    return [
        *(Say(line, "warning") for line in hidden(runtime)),
        Table(
            "Commands",
            ("command", "description"),
            tuple(rows),
            note=_note(Keys(runtime.config.ui.keys)),
            lines_note=_IN_LINES,
        ),
    ]


def _note(keys: Keys) -> str:
    """Return the main keys as bound now. Of several bindings, show the last, which more terminals support
    (Ctrl+J)."""
    bound = [f"{shown(keys.of(name)[-1])} {what}" for name, what in _KEYS if keys.of(name)]
    files = ["@ file"] if has_feature("attachments") else []
    return " · ".join([*bound, *files, "! shell"])
