"""A runtime on scripted responses in a temporary directory: what tests above the loop share."""

from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

from prunecli.config.effective import Config
from prunecli.config.sources import load
from prunecli.model.events import ToolResult
from prunecli.model.messages import plain_text
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Provider
from prunecli.runtime import Runtime, Setup
from prunecli.safety.command_env import unattended_environment
from prunecli.safety.trust import TrustStore
from prunecli.tools.processes.environment import child_environment
from prunecli.util.paths import Places
from tests.scripted import Scripted, ScriptedProvider
from tests.wires import over_wire


def start(
    folder: Path,
    script: Sequence[Scripted] = (),
    *,
    sets: Sequence[str] = (),
    trusted: bool = True,
    keep_log: bool = True,
    provider: Provider | None = None,
    work: str = "work",
    clock: Callable[[], int] | None = None,
) -> Runtime:
    """A runtime whose places, working directory (`work`, below the folder) and clock are the test's own."""
    environ = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}
    places = Places.of(environ)
    cwd = folder / work
    cwd.mkdir(parents=True, exist_ok=True)

    def load_config(is_trusted: bool) -> Config:
        return load(places, cwd, environ, sets=sets, trusted=is_trusted)

    config = load_config(trusted)
    times = iter(range(1_700_000_000_000, 1_800_000_000_000, 1_000))
    setup = Setup(
        places,
        cwd,
        config,
        unattended_environment(child_environment(environ)),
        unattended_environment(child_environment(environ), hooks=True),
        trusted,
        "linux, /bin/sh",
        load_config=load_config,
        trust_store=TrustStore(places.trust_store),
        clock=clock or (lambda: next(times)),
        keep_log=keep_log,
        zone=UTC,
    )
    played = provider or ScriptedProvider(script)
    if provider is None or isinstance(provider, ScriptedProvider):
        played = over_wire(played)
    return Runtime(setup, lambda _: played, ModelTable.load(places.shipped_data, config.models).info)


async def closed(runtime: Runtime) -> Path:
    """Closes a runtime; the path of its session."""
    path = runtime.session.path
    assert path is not None
    await runtime.close()
    return path


def result_events(runtime: Runtime) -> list[ToolResult]:
    """The results of calls, in order."""
    return [one.event for one in runtime.session.records if isinstance(one.event, ToolResult)]


def results(runtime: Runtime) -> list[str]:
    """The texts of the results."""
    return [plain_text(event.content) for event in result_events(runtime)]
