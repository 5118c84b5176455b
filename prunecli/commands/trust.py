"""/trust: trust this directory or keep it read-only."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, refuse
from prunecli.runtime import Runtime, reconfiguring
from prunecli.util.sanitize import one_line

NOT_IN = {"headless": "use prunecli trust, or --trust"}

CHANGED = "The settings of this directory changed since you trusted it, so it is read-only for now:"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Trust this directory: tools may change it, and AGENTS.md and .prunecli/ are loaded."""
    if arguments not in ("yes", "no"):
        refuse("trust", arguments.split())
    if runtime.gatekeeper.trusted:
        return [Say(f"{runtime.setup.cwd} is trusted.")]
    if arguments == "yes":
        said: list[Effect] = [Say(notice, "warning") for notice in reconfiguring.trust(runtime)]
        return [
            *said,
            Say(f"{runtime.setup.cwd} is now trusted. To undo: `prunecli trust --remove`."),
            *runtime.parts.gather(lambda part: part.reread()),
        ]
    if arguments == "no":
        return [Say("Read-only: no edits, no commands. /trust to change that.")]
    changed = runtime.setup.trust_store.changes(runtime.setup.cwd)
    shown = [Say(f"{CHANGED}\n{changed}", "warning")]
    return [
        *(shown if changed else ()),
        Choose(
            "Do you trust this folder?",
            "trust",
            (
                Choice("yes", "Yes", "Loads AGENTS.md, .prunecli/, .claude/, .mcp.json; allows edits"),
                Choice("no", "No", "Read-only: no edits, no commands, project config ignored"),
            ),
            grave=True,
            about=one_line(str(runtime.setup.cwd)),
        ),
    ]
