"""/statusline: the command of the status line, and its approval."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, refuse
from prunecli.features.status_line.part import StatusLine, digest
from prunecli.runtime import Runtime
from prunecli.util.sanitize import one_line

NONE = (
    "No status line. Set [ui] status_command to a shell command that prints one; it gets Claude Code's JSON on "
    "standard input."
)
NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor draws the screen."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show the command of the status line; /statusline approve allows Claude Code's."""
    part = runtime.parts.of(StatusLine)
    word, _, rest = arguments.partition(" ")
    if word == "approve":
        return _approval(part, rest)
    refuse("statusline", arguments.split(), "approve")
    if part.source is None:
        return [Say(NONE if runtime.gatekeeper.trusted else "It runs only in a trusted directory: /trust.")]
    state = {"yes": "runs", "no": "is off; /statusline approve", "": "waits for /statusline approve"}
    said = f"The status line of {part.source.label} {state[part.decision]}: {one_line(part.source.command)}"
    return [Say(said), *([Say(f"It failed: {part.failed}", "warning")] if part.failed else [])]


def _approval(part: StatusLine, rest: str) -> Sequence[Effect]:
    """Ask about the command, or carry out an answer, which applies only to the definition that was shown."""
    source = part.source
    if source is None or source.owner is None:
        return [Say("No status line is waiting for approval.")]
    answer, _, named = rest.partition(" ")
    if answer in ("yes", "no") and named == digest(source):
        part.decide(source, answer)
        return [
            Say(
                f"The status line of {source.label} {'runs from now on' if answer == 'yes' else 'stays off'}."
            )
        ]
    choices = (
        Choice(f"approve yes {digest(source)}", "Yes", "It runs with your permissions, outside the sandbox"),
        Choice(f"approve no {digest(source)}", "No", "It stays off; /statusline approve asks again"),
    )
    title = f"Run the status line of {source.label}?"
    return [Choose(title, "statusline", choices, grave=True, about=source.command)]
