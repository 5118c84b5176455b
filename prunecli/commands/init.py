"""/init: have the agent write AGENTS.md."""

from collections.abc import Sequence

from prunecli.agent.system_prompt import INSTRUCTION_FILES
from prunecli.commands.command import Effect, Say, Submit
from prunecli.runtime import Runtime

_WRITE = """\
Write AGENTS.md in this directory: what a coding agent has to know to work here and can't see at a glance.

Look first: the manifest and lock files, the README, the CI configuration, the layout, typical sources and tests.
Then write, at most 60 lines:

- how to build it, run all tests, run one test, lint and type-check: commands that you found in the project
- how it is laid out, in a few lines, and what depends on what
- conventions that are followed here and differ from what is usual
- traps: what must not be edited, what is generated, what needs a service

Nothing that holds for every project, no praise, nothing that you did not see."""

_IMPROVE = """\
Read {name} in this directory and check it against the project: are the commands right, is the layout as described, \
what is missing, what is no longer true? Then edit it with the smallest changes. Keep what people wrote where it \
still holds, and keep it below 60 lines where you can."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Create or update AGENTS.md, with optional instructions."""
    if runtime.running:
        return [Say("The agent is working. Esc to stop it.", "warning")]
    if not runtime.gatekeeper.trusted:
        return [Say("This directory is read-only until you trust it: /trust.", "warning")]
    if runtime.gatekeeper.mode == "plan":
        return [Say("Plan mode allows no changes. Shift+Tab to change mode.", "warning")]
    found = next((name for name in INSTRUCTION_FILES if (runtime.setup.cwd / name).is_file()), "")
    task = _IMPROVE.format(name=found) if found else _WRITE
    return [Submit(f"{task}\n\n{arguments}".strip())]
