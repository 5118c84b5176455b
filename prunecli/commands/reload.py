"""/reload: read the configuration again."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Reconfigured, Say, hidden, refuse
from prunecli.config.keys import shown
from prunecli.runtime import Runtime, reconfiguring
from prunecli.util.errors import ConfigError


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Reload the config; values set for this session stay."""
    refuse("reload", arguments.split())
    try:
        notices = reconfiguring.reload(runtime)
    except ConfigError as error:
        kept = "Nothing changed: the previous values stay in effect. /config to edit again."
        return [Say("\n".join(filter(None, [error.message, error.hint, kept])), "error")]
    lines = (*notices, *runtime.parts.unusable(), *hidden(runtime))
    warnings: list[Effect] = [Say(line, "warning") for line in lines]
    kept = ", ".join(shown(key) for key in runtime.config.chosen)
    said = "Configuration reloaded." + (f" Kept for this session: {kept}" if kept else "")
    return [*warnings, Reconfigured(), Say(said), *runtime.parts.gather(lambda part: part.reread())]
