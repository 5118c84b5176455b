"""/trust: whether this directory is trusted."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Trust this directory: tools may change it, its AGENTS.md and .prunecli/ count."""
    if runtime.gatekeeper.trusted:
        return [Say(f"{runtime.setup.cwd} is trusted.")]
    if arguments == "yes":
        said: list[Effect] = [Say(notice, "warning") for notice in runtime.trust()]
        return [
            *said,
            Say(f"{runtime.setup.cwd} is trusted from now on. `prunecli trust --remove` takes it back."),
        ]
    if arguments == "no":
        return [Say("Read-only: the agent may look, not change. /trust changes that.")]
    return [
        Choose(
            f"Do you trust {runtime.setup.cwd}?",
            "trust",
            (
                Choice("yes", "Yes", "the agent may change files here; AGENTS.md and .prunecli/ count"),
                Choice("no", "No", "read-only; nothing of this directory is run or obeyed"),
            ),
            grave=True,
        )
    ]
