"""Starting: what the command line asked for becomes a runtime and a front end. Imports no typer, so that the
plain `prunecli` need not wait for it."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from prunecli.agent.trust import TrustStore
from prunecli.agent.unattended import unattended_environment
from prunecli.config import Config, load
from prunecli.config.credentials import Credentials as FoundCredentials
from prunecli.config.credentials import credentials
from prunecli.errors import PrunecliError, SessionError, UsageError
from prunecli.paths import Places
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Provider
from prunecli.runtime import Runtime, Setup
from prunecli.tools.processes.environment import child_environment, hide_environment

NO_KEY_HINT = "set ANTHROPIC_API_KEY, run `prunecli login`, or try `--model demo`, which needs none"
_LOCAL = ("http://127.", "http://localhost", "http://[::1]", "http://0.0.0.0")


@dataclass(frozen=True, slots=True)
class Launch:
    """What the command line asked for."""

    prompt: str = ""
    headless: bool = False
    output_format: str = "text"
    input_format: str = "text"
    max_turns: int | None = None
    max_cost: float | None = None
    continue_last: bool = False
    resume: str | None = None
    fork: bool = False
    config_file: Path | None = None
    flags: Mapping[str, str] | None = None
    sets: tuple[str, ...] = ()
    no_session: bool = False
    trust: bool = False
    cwd: Path | None = None


def launch(asked: Launch, environ: Mapping[str, str] | None = None) -> int:
    """Starts what was asked for and returns the exit code. Raises PrunecliError before a front end runs."""
    environ = dict(os.environ if environ is None else environ)
    if not asked.headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the terminal interface needs a terminal", "use -p for a run without one")
    runtime = make_runtime(asked, environ)
    hide_environment()
    if asked.headless:
        return _headless(asked, runtime)
    from prunecli.tui import run_tui  # textual is imported only where it is shown

    return run_tui(runtime, prompt=asked.prompt, notices=runtime.notices)


def demo_launch() -> Launch:
    """The tour: the demo model in a new scratch folder, which is left for the person to look at."""
    from tempfile import mkdtemp

    folder = Path(mkdtemp(prefix="prunecli-demo-"))
    return Launch(prompt="tour", flags={"--model": "demo"}, trust=True, cwd=folder)


def make_runtime(asked: Launch, environ: Mapping[str, str]) -> Runtime:
    """The runtime of this command line, with its session. Raises PrunecliError."""
    places = Places.of(environ)
    cwd = (asked.cwd or _cwd()).resolve()
    store = TrustStore(places.trust_store)
    trusted = asked.trust or store.is_trusted(cwd)

    def load_config(trusted: bool) -> Config:
        return load(
            places,
            cwd,
            environ,
            flags=asked.flags,
            sets=asked.sets,
            config_file=asked.config_file,
            trusted=trusted,
        )

    config = load_config(trusted)
    found = credentials(environ, places)
    demo = _needs_demo(config, found)
    if demo and asked.headless:
        raise UsageError("no API key", NO_KEY_HINT)
    if demo:
        config = config.with_value("model.name", "demo")
    setup = Setup(
        places,
        cwd,
        config,
        unattended_environment(child_environment(environ)),
        unattended_environment(child_environment(environ), hooks=True),
        trusted,
        f"{sys.platform}, {environ.get('SHELL', 'sh')}",
        load_config=load_config,
        trust_store=store,
        keep_log=not asked.no_session,
    )
    table = ModelTable.load(places.shipped_data, config.models)
    runtime = Runtime(setup, lambda name: provider_for(name, config, found, environ), table.info)
    runtime.run_limits = replace(runtime.run_limits, max_turns=asked.max_turns, max_cost=asked.max_cost)
    runtime.notices = [
        *config.notices,
        *([f"No API key: this is the demo model. {NO_KEY_HINT}"] if demo else []),
    ]
    if asked.headless:
        _warm(runtime.provider)
    _open(runtime, asked)
    return runtime


def provider_for(name: str, config: Config, found: FoundCredentials, environ: Mapping[str, str]) -> Provider:
    """Who answers for a model name: the demo model, or the configured provider."""
    if name == "demo" or config.model.provider == "demo":
        from prunecli.providers.demo import DemoProvider

        return DemoProvider()
    from prunecli.providers.anthropic import DEFAULT_BASE_URL, AnthropicProvider, Endpoint

    if config.model.provider != "anthropic":
        raise UsageError(f"model.provider: there is no provider {config.model.provider!r}", "anthropic, demo")
    address = config.model.base_url or DEFAULT_BASE_URL
    endpoint = Endpoint(found.api_key, found.auth_token, address)
    proxy, ca_file = _proxy(address, environ), environ.get("SSL_CERT_FILE", "")
    return AnthropicProvider(endpoint, proxy=proxy, ca_file=ca_file, environ=environ)


def _proxy(address: str, environ: Mapping[str, str]) -> str:
    """The proxy that the environment names for an address, "" for none; NO_PROXY is heeded."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    host = parts.hostname or ""
    named = {key.lower(): value.strip() for key, value in environ.items() if key.lower().endswith("_proxy")}
    for spared in named.get("no_proxy", "").split(","):
        suffix = spared.strip().lstrip("*").lstrip(".").lower()
        if spared.strip() == "*" or (suffix and (host == suffix or host.endswith(f".{suffix}"))):
            return ""
    return named.get(f"{parts.scheme}_proxy") or named.get("all_proxy") or ""


def _needs_demo(config: Config, found: FoundCredentials) -> bool:
    """Whether nothing but the demo model can answer: no key, and no endpoint of the user's own."""
    return (
        not found
        and not config.model.base_url
        and config.model.name != "demo"
        and (config.model.provider != "demo")
    )


def _open(runtime: Runtime, asked: Launch) -> None:
    if asked.continue_last:
        runtime.open_session(runtime.store.last(runtime.setup.cwd), fork=asked.fork)
    elif asked.resume:
        runtime.open_session(runtime.store.find(asked.resume), fork=asked.fork)


def _warm(provider: Provider) -> None:
    """Readies the provider in a thread, beside everything else that a start does."""
    warm: Callable[[], None] | None = getattr(provider, "warm", None)
    if warm is not None:
        threading.Thread(target=warm, name="warm", daemon=True).start()


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError("the current directory no longer exists", "change into another one") from error


def _headless(asked: Launch, runtime: Runtime) -> int:
    from prunecli.headless import run_headless, user_turns

    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    if asked.input_format == "stream-json":
        prompts = ([asked.prompt] if asked.prompt else []) + user_turns(piped, "stream-json")
    else:
        whole = "\n\n".join(part for part in (asked.prompt, piped.strip()) if part)
        prompts = [whole] if whole else []
    if not prompts and not (asked.continue_last or asked.resume):
        raise UsageError("no prompt", "give one after -p, or pipe it in")

    def out(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def err(line: str) -> None:
        sys.stderr.write(line + "\n")

    async def run() -> int:
        try:
            return await run_headless(runtime, prompts, form=asked.output_format, out=out, err=err)  # type: ignore[arg-type]
        finally:
            await runtime.close()

    return asyncio.run(run())


def exit_code(error: PrunecliError) -> int:
    """The exit code of an error that stopped a start."""
    return 4 if isinstance(error, SessionError) else 2


def complain(error: PrunecliError) -> int:
    """Prints an error as one line and one hint, and gives its exit code."""
    sys.stderr.write(f"prunecli: {error.message}\n" + (f"{error.hint}\n" if error.hint else ""))
    return exit_code(error)
