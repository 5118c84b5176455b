"""/local: use a model server on this machine."""

import re
from collections.abc import Iterator, Sequence

from prunecli.commands.command import WORKING, Choice, Choose, Effect, InThread, Say
from prunecli.config.save import save
from prunecli.runtime import Runtime, reconfiguring
from prunecli.runtime.local_servers import HOST, LocalServer, find, ports
from prunecli.util.figures import in_tokens

_CHOSEN = re.compile(rf"(http://{re.escape(HOST)}:\d{{1,5}}) (\S.*)")


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Find model servers on this machine, such as llama.cpp or Ollama, and use one."""
    if runtime.running:
        return [WORKING]
    if chosen := _CHOSEN.fullmatch(arguments):
        return _use(runtime, chosen[1], chosen[2])
    if arguments:
        return [Say("Run /local without arguments; it lists the servers that it finds.", "error")]
    return [InThread("Looking for model servers on this machine", lambda: _found(runtime))]


def _found(runtime: Runtime) -> Sequence[Effect]:
    """Look for servers. Runs in a thread."""
    places = ports(runtime.setup.environ)
    servers = find(places)
    for server in servers:
        if server.models:
            runtime.offered.keep(server.models, server.address)
    said = [
        Say(f"{server.title} at {server.address} {server.problem}.", "warning")
        for server in servers
        if server.problem
    ]
    choices = tuple(choice for server in servers for choice in _choices(runtime, server))
    if choices:
        return [*said, Choose("Model on this machine", "local", choices)]
    listed = ", ".join(map(str, places)) or "none"
    none = f"No model server answers on this machine (ports {listed}). Set model.base_url to use another one."
    return said or [Say(none)]


def _choices(runtime: Runtime, server: LocalServer) -> Iterator[Choice]:
    in_use = runtime.config.model.base_url == server.address
    for name, window, _ in server.models:
        detail = f"{server.title} · {f'{in_tokens(window)}' if window else 'window not told'}"
        yield Choice(f"{server.address} {name}", name, detail, in_use and name == runtime.model_name)


def _use(runtime: Runtime, address: str, name: str) -> Sequence[Effect]:
    """Save the address and the model in settings.toml, and use them from now on."""
    values = {"model.base_url": address, "model.name": name}
    if runtime.config.model.endpoint:
        values["model.endpoint"] = ""
    places = runtime.setup.places
    notes = [save(places, runtime.config, key, value) for key, value in values.items()]
    notices = [*reconfiguring.reload(runtime), *(f"Saved, {note}." for note in notes if note)]
    if runtime.model_name != name:
        runtime.set_model(name)
    saved = f"Using {name} at {address} from now on. Saved in {places.shown(places.settings_file)}."
    return [*(Say(notice, "warning") for notice in notices), Say(saved)]
