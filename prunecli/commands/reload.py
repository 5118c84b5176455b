"""/reload: the configuration again."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Reconfigured, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Read the configuration again; when it is wrong, the old values stay."""
    notices = runtime.reload()
    said: list[Effect] = [Say(notice, "warning") for notice in notices]
    return [*said, Reconfigured(), Say("Configuration read.")]
