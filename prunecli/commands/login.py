"""/login: save an API key in a file that only the user can read."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, AskSecret, Effect, Say
from prunecli.config.credentials import credentials, keys_of, save_key
from prunecli.runtime import Runtime, reconfiguring

NOT_IN = {"headless": "use prunecli login", "editor": "Run `prunecli login` in a terminal."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Enter an API key and save it in a file that only you can read."""
    if arguments:
        return [Say("Run /login without arguments; it asks for the key.", "error")]
    if runtime.running:
        return [WORKING]
    places = runtime.setup.places

    def keep(key: str) -> Sequence[Effect]:
        if not key.strip():
            return [Say("No key entered; nothing changed.")]
        keys = keys_of(runtime.config, runtime.model_name)
        file = save_key(places, key, keys)
        notices = reconfiguring.reload(runtime)
        used = credentials(runtime.setup.environ, places, keys).source
        said = f"Saved to {file}. Now using {runtime.model_name}."
        if used != file:
            said = f"Saved to {file}, but {used} is set and takes precedence."
        return [*(Say(notice, "warning") for notice in notices), Say(said)]

    return [AskSecret("API key", keep)]
