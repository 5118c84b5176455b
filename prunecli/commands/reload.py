"""/reload: the configuration again."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Reconfigured, Say
from prunecli.errors import ConfigError
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Read the configuration again; when it is wrong, the old values stay."""
    try:
        notices = runtime.reload()
    except ConfigError as error:
        kept = "Nothing of it was taken over: the values from before stay. /config opens it again."
        return [Say("\n".join(filter(None, [error.message, error.hint, kept])), "error")]
    said: list[Effect] = [Say(notice, "warning") for notice in notices]
    return [*said, Reconfigured(), Say("Configuration read.")]
