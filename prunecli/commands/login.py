"""/login: a key for the endpoint, kept in a file of the user's own."""

from collections.abc import Sequence

from prunecli.commands.command import AskSecret, Effect, Say
from prunecli.config.credentials import credentials, save_key
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Enter an API key; it goes into a key file that only you can read."""
    if arguments:
        return [Say("A key does not belong on the command line: type /login alone.", "error")]
    if runtime.running:
        return [Say("The agent is working: Esc stops it.", "warning")]
    places = runtime.setup.places

    def keep(key: str) -> Sequence[Effect]:
        if not key.strip():
            return [Say("No key was entered; nothing changed.")]
        save_key(places, key)
        notices = runtime.reload()
        used = credentials(runtime.setup.environ, places).source
        said = f"Saved to {places.shown(places.key_file)}. {runtime.model_name} answers from now on."
        if used != places.shown(places.key_file):
            said = f"Saved to {places.shown(places.key_file)}; but {used} is set, and counts more."
        return [*(Say(notice, "warning") for notice in notices), Say(said)]

    return [AskSecret("API key", keep)]
