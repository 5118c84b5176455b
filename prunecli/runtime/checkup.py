"""What `doctor` looks at: terminal, configuration, credentials, endpoint, sandbox, rg, session folder.

Each check gives one line. The world comes in as a `Patient`, so that each answer can be tested; for a thread, since
the endpoint is asked.
"""

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli import __version__
from prunecli.config import Config
from prunecli.config.credentials import Credentials, credentials
from prunecli.errors import PrunecliError, Unauthorized
from prunecli.figures import short
from prunecli.paths import Places
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Provider
from prunecli.runtime.make import provider_for
from prunecli.tools.processes.environment import program_in

State: TypeAlias = Literal["ok", "warning", "problem"]
MARKS: Mapping[State, str] = {"ok": "ok", "warning": "note", "problem": "BAD"}
"""How a state is written."""

ENDPOINT_SECONDS = 8.0
LITTLE_BYTES = 200_000_000
"""Below so much free space one is told."""
NARROW, LOW = 40, 10

ADD_KEY = "set ANTHROPIC_API_KEY, or run `prunecli login` (/login); --model demo needs none"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and the way out where it is not well."""

    name: str
    state: State
    said: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """Who is examined. `size` is columns and rows of the terminal, None where there is none; `provider` makes who
    answers for a configuration; `free` gives the free bytes below a folder."""

    places: Places
    cwd: Path
    environ: Mapping[str, str] = field(repr=False)
    load_config: Callable[[], Config]
    provider: Callable[[Config], Provider]
    size: tuple[int, int] | None
    free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free


def patient_of(
    places: Places, cwd: Path, environ: Mapping[str, str], load_config: Callable[[], Config]
) -> Patient:
    """This machine, and the endpoint that a start would use."""

    def provider(config: Config) -> Provider:
        return provider_for(config.model.name, config, credentials(environ, places), environ)

    return Patient(places, cwd, environ, load_config, provider, terminal_size())


def checkup(patient: Patient) -> list[Finding]:
    """All findings, in the order in which things are needed. Raises nothing that a user can cause."""
    version = f"{__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    found = [Finding("prunecli", "ok", version), _terminal(patient)]
    key, problem = _key(patient)
    try:
        config = patient.load_config()
    except PrunecliError as error:
        found += [Finding("configuration", "problem", error.message, error.hint)]
        found += [problem or _credentials(key, demo=False)]
        return [*found, _rg(patient), _sessions(patient)]
    demo = _is_demo(config)
    found += [_configuration(patient, config), problem or _credentials(key, demo=demo or _own(config))]
    found += [_model(patient, config), _endpoint(patient, config, key), _sandbox(patient, config)]
    return [*found, _rg(patient), _sessions(patient)]


def _is_demo(config: Config) -> bool:
    return config.model.provider == "demo" or config.model.name == "demo"


def _own(config: Config) -> bool:
    """Whether the endpoint is a server of the user's own, which may need no key."""
    return bool(config.model.base_url)


def _terminal(patient: Patient) -> Finding:
    term = patient.environ.get("TERM", "")
    if patient.size is None:
        return Finding("terminal", "warning", "none: standard input or output is no terminal", "-p works")
    columns, rows = patient.size
    said = f"{term or 'TERM is unset'}, {columns}x{rows}, {_colours(patient.environ)}"
    if term in ("", "dumb"):
        return Finding("terminal", "warning", said, "only --plain works here")
    if columns < NARROW or rows < LOW:
        return Finding("terminal", "warning", said, f"smaller than {NARROW}x{LOW}: little can be seen")
    return Finding("terminal", "ok", said)


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16M colours"
    return "256 colours" if "256color" in environ.get("TERM", "") else "16 colours, try the theme prune-16"


def _configuration(patient: Patient, config: Config) -> Finding:
    file = patient.places.config_file
    said = (
        patient.places.shown(file)
        if file.exists()
        else "built-in values; `prunecli config init` makes a file"
    )
    if config.notices:
        return Finding("configuration", "warning", said, "; ".join(config.notices))
    return Finding("configuration", "ok", said)


def _key(patient: Patient) -> tuple[Credentials, Finding | None]:
    try:
        return credentials(patient.environ, patient.places), None
    except PrunecliError as error:
        return Credentials(), Finding("credentials", "problem", error.message, error.hint)


def _credentials(key: Credentials, *, demo: bool) -> Finding:
    if key:
        return Finding("credentials", "ok", f"from {key.source}")
    return Finding("credentials", "warning" if demo else "problem", "no API key", ADD_KEY)


def _model(patient: Patient, config: Config) -> Finding:
    info = ModelTable.load(patient.places.shipped_data, config.models).info(config.model.name)
    if not info.context_window:
        assumed = f"window unknown, {short(config.pruning.context_tokens)} tokens assumed"
        hint = f'set [models."{info.name}"] context_window'
        return Finding("model", "warning", f"{info.name}, {assumed}", hint)
    price = "" if info.prices.input is not None else ", price unknown"
    if info.assumed:
        price += f", limits of {info.assumed} assumed"
    return Finding("model", "ok", f"{info.name}, window {short(info.context_window)} tokens{price}")


def _endpoint(patient: Patient, config: Config, key: Credentials) -> Finding:
    if _is_demo(config):
        return Finding("endpoint", "ok", "the embedded demo model, no network")
    address = config.model.base_url or "https://api.anthropic.com"
    if not key and not _own(config):
        return Finding("endpoint", "warning", f"{address}: not asked without a key")
    try:
        models = offered(patient.provider(config))
    except Unauthorized as error:
        return Finding("endpoint", "problem", f"{address} refuses the key: {error.message}", ADD_KEY)
    except TimeoutError:
        hint = "proxy, firewall or address? https_proxy and model.base_url are used"
        return Finding("endpoint", "problem", f"{address}: no answer in {ENDPOINT_SECONDS:.0f} s", hint)
    except PrunecliError as error:
        named = error.message if address in error.message else f"{address}: {error.message}"
        return Finding("endpoint", "problem", named, error.hint)
    listed = f"answers, {len(models)} models" if models else "answers, lists no models"
    return Finding("endpoint", "ok", f"{address} {listed}")


def offered(provider: Provider) -> Sequence[tuple[str, int]]:
    """What an endpoint lists: models and their windows in tokens (0: not said); the provider is closed then.

    For a thread. Raises ProviderError, and TimeoutError after `ENDPOINT_SECONDS`.
    """
    return asyncio.run(_offered(provider))


async def _offered(provider: Provider) -> Sequence[tuple[str, int]]:
    try:
        async with asyncio.timeout(ENDPOINT_SECONDS):
            return await provider.models()
    finally:
        await provider.close()


def sandbox_words(environ: Mapping[str, str]) -> str:
    """No sandbox is built in so far: it is said, and what one could be made of."""
    there = "is" if program_in(environ, "bwrap") else "is not"
    return f"none so far: commands run with your rights (bwrap {there} there)"


def _sandbox(patient: Patient, config: Config) -> Finding:
    said = sandbox_words(patient.environ)
    return Finding("sandbox", "ok" if config.sandbox.mode == "off" else "warning", said)


def _rg(patient: Patient) -> Finding:
    if path := program_in(patient.environ, "rg"):
        return Finding("rg", "ok", path)
    return Finding("rg", "ok", "not there: grep and find use their own search, which is slower")


def _sessions(patient: Patient) -> Finding:
    folder = patient.places.sessions_of(patient.cwd)
    shown = patient.places.shown(folder)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    problem = _folder_problem(folder, there)
    if problem:
        return Finding("sessions", "problem", f"{shown}: {problem}", "set PRUNECLI_HOME to another folder")
    free = patient.free(there)
    said = f"{free / 1e9:.1f} GB free, {shown}"
    if free < LITTLE_BYTES:
        return Finding("sessions", "warning", said, "a session that can't be written stops")
    return Finding("sessions", "ok", said)


def _folder_problem(folder: Path, there: Path) -> str:
    if not there.is_dir():
        return f"{there} is no folder"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} can't be written"
    if folder == there and (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
        return f"others can look into it (mode {mode:04o}): chmod 700"
    return ""


def terminal_size() -> tuple[int, int] | None:
    """Columns and rows of the terminal that standard output is, None where it is none."""
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except (OSError, ValueError):
        return None
    return size.columns, size.lines
