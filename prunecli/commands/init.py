"""/init: have the agent write AGENTS.md."""

from collections.abc import Sequence

from prunecli.agent.system_prompt import INSTRUCTION_FILES
from prunecli.commands.command import Effect, Say, Submit
from prunecli.runtime import Runtime

_WRITE = """\
Write AGENTS.md in this directory: what a coding agent must know to work here and cannot see at a glance.

Look first: the manifest and lock files, the README, the CI configuration, the layout, typical sources and tests.
Then write at most 60 lines:

- how to build it, run all tests, run one test, lint and type-check: only commands that you found in the project
- the layout in a few lines, and which parts depend on which
- conventions that differ from common practice
- pitfalls: files that must not be edited, generated files, tests that need a service

Leave out advice that fits any project, praise, and anything you did not verify."""

_IMPROVE = """\
Read {name} in this directory and check it against the project: are the commands and the layout correct, what is \
missing, what is out of date? Then update it with the smallest changes. Keep what people wrote if it is still true, \
and stay below 60 lines if you can."""


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
