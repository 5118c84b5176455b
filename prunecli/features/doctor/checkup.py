"""The checks of `doctor`: terminal, configuration, credential, endpoint, sandbox, rg, session folder.

Each check gives one line. A `Patient` describes the machine, so that every result can be tested. Run the checks in a
thread, because one waits for the endpoint.
"""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from prunecli import __version__
from prunecli.config.credentials import credentials, keys_of, lacks_key, provider_for
from prunecli.config.effective import Config
from prunecli.features.doctor.probing import price, questions
from prunecli.plugins.app import Brought
from prunecli.plugins.foreign import ForeignFailed, bounded
from prunecli.providers.models import ModelInfo, ModelTable, Offer, expectations_of
from prunecli.providers.provider import Provider
from prunecli.providers.registry import (
    DEFAULT,
    LISTING_SECONDS,
    SHIPPED,
    Connection,
    Credentials,
    Finding,
    Keys,
    State,
)
from prunecli.runtime.offered_models import asked
from prunecli.runtime.refusals import Refusals
from prunecli.runtime.session_sandbox import INSTALL, OFF, in_words, network_in_words
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.sandbox import Chosen
from prunecli.session.completing import system_clock
from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.figures import in_tokens
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places
from prunecli.util.programs import find_program

MARKS: Mapping[State, str] = {"ok": "ok", "warning": "note", "problem": "BAD"}
"""The mark shown for each state."""

LITTLE_BYTES = 200_000_000
"""Free space below which a warning is shown."""
NARROW, LOW = 40, 10
CHECK_SECONDS = 10.0
"""Time limit in seconds for the check of a plugin."""


@frozen
class Patient:
    """The machine that is checked.

    `size` is the terminal's columns and rows, None without one; `provider` makes the provider of a configuration;
    `free` returns the free bytes of a folder; `sandbox` finds out which sandbox works.
    """

    places: Places
    cwd: Path
    environ: Mapping[str, str] = field(repr=False)
    load_config: Callable[[], Config]
    provider: Callable[[Config], Provider]
    size: tuple[int, int] | None
    free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    sandbox: Callable[[], Chosen] = lambda: Chosen(None, why="none was tried")


def patient_of(
    places: Places, cwd: Path, environ: Mapping[str, str], load_config: Callable[[], Config]
) -> Patient:
    """Return this machine, with the endpoint that prunecli would use."""

    def provider(config: Config) -> Provider:
        return provider_for(config.model.name, config, environ, places)

    def sandbox() -> Chosen:
        return choose(str(cwd.resolve()), environ, only="bubblewrap")

    return Patient(places, cwd, environ, load_config, provider, terminal_size(), sandbox=sandbox)


def checkup(patient: Patient, *, offline: bool = False) -> Iterator[Finding]:
    """Yield all findings as they come, in the order of startup. Problems on the user's side never raise.

    With `offline`, no request is sent to the endpoint.
    """
    version = f"{__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    yield from (Finding("prunecli", "ok", version), _terminal(patient))
    try:
        config = patient.load_config()
    except PrunecliError as error:
        keys = SHIPPED.keys(DEFAULT)
        key, problem = _key(patient, keys)
        yield Finding("configuration", "problem", error.message, error.hint)
        yield from (problem or _credentials(key, keys, needed=True), _rg(patient), _sessions(patient))
        return
    service, keys = config.service(), keys_of(config)
    definition = config.providers.definition(service.provider)
    key, problem = _key(patient, keys)
    needed = lacks_key(config, "", Credentials())
    options, transport = config.provider_options(service.provider), config.model.transport
    parts = service.base_url, key, patient.environ, options, keys, transport, service.wire
    connection = Connection(*parts)
    endpoint, windows = Finding("endpoint", "ok", "not asked (--offline)"), dict[str, int]()

    def listed() -> Sequence[Offer]:
        rows = asked(patient.provider(config), LISTING_SECONDS)
        windows.update((row.name, row.window) for row in rows)
        return rows

    yield from (_configuration(patient, config), problem or _credentials(key, keys, needed=needed))
    if not offline:
        endpoint = definition.check(connection, listed)
    yield from (_model(patient, config, windows), endpoint)
    if service.provider != "demo" and endpoint.state == "ok":
        yield _features(patient, config)
    yield _sandbox(patient, config)
    for check in config.installed.of("check").values():
        is_ours = check.owner not in config.installed.foreign
        yield from check.load()(config) if is_ours else _of_plugin(check, config)
    yield from (_rg(patient), _sessions(patient))


def _of_plugin(check: Brought, config: Config) -> Sequence[Finding]:
    """Return what the check of a plugin finds: findings, or a text about what is wrong."""
    name = f"plugin {check.owner}"
    try:
        said = bounded(lambda: check.load()(config), CHECK_SECONDS)
    except ForeignFailed as error:
        return [Finding(name, "problem", f"its check failed: {error}")]
    if said is None or isinstance(said, str):
        return [Finding(name, "problem", said)] if said else [Finding(name, "ok", "ok")]
    is_sound = isinstance(said, list | tuple) and all(isinstance(one, Finding) for one in said)
    return said if is_sound else [Finding(name, "problem", f"its check answered {type(said).__name__}")]


def _terminal(patient: Patient) -> Finding:
    term = patient.environ.get("TERM", "")
    if patient.size is None:
        return Finding("terminal", "warning", "none: stdin or stdout is not a terminal", "use -p")
    columns, rows = patient.size
    said = f"{term or 'TERM is unset'}, {columns}x{rows}, {_colors(patient.environ)}"
    if term in ("", "dumb"):
        return Finding("terminal", "warning", said, "use --plain here")
    if columns < NARROW or rows < LOW:
        return Finding("terminal", "warning", said, f"enlarge it to {NARROW}x{LOW} or more")
    return Finding("terminal", "ok", said)


def _colors(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colors (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16M colors"
    return "256 colors" if "256color" in environ.get("TERM", "") else "16 colors, try the theme prune-16"


def _configuration(patient: Patient, config: Config) -> Finding:
    file = patient.places.config_file
    said = (
        patient.places.shown(file)
        if os.path.exists(file)
        else "defaults; `prunecli config init` creates a file"
    )
    try:
        expectations_of(patient.places)
    except ConfigError as error:
        return Finding("configuration", "problem", error.message, error.hint)
    if config.notices:
        return Finding("configuration", "warning", said, "; ".join(config.notices))
    return Finding("configuration", "ok", said)


def _key(patient: Patient, keys: Keys) -> tuple[Credentials, Finding | None]:
    try:
        return credentials(patient.environ, patient.places, keys), None
    except PrunecliError as error:
        return Credentials(), Finding("credentials", "problem", error.message, error.hint)


def _credentials(key: Credentials, keys: Keys, *, needed: bool) -> Finding:
    if key:
        return Finding("credentials", "ok", f"from {key.source}")
    return Finding("credentials", "problem" if needed else "warning", "no API key", keys.hint)


def _model(patient: Patient, config: Config, windows: Mapping[str, int]) -> Finding:
    """Check the configured model. `windows` are those listed by the endpoint, which a session uses after /model."""
    info = model_of(patient, config)
    if not info.context_window:
        assumed = f"window unknown, {in_tokens(config.pruning.context_tokens)} assumed"
        hint = f'set [models."{info.name}"] context_window'
        if window := windows.get(info.name):
            hint = f"the endpoint says {in_tokens(window)}; /model uses that"
        return Finding("model", "warning", f"{info.name}, {assumed}", hint)
    price = "" if info.prices.input is not None else ", price unknown"
    if info.assumed:
        price += f", limits of {info.assumed} assumed"
    return Finding("model", "ok", f"{info.name}, window {in_tokens(info.context_window)}{price}")


def refusals_of(patient: Patient, config: Config) -> Refusals:
    return Refusals(patient.places.endpoints_file, system_clock, lambda model: config.service(model).base_url)


def model_of(patient: Patient, config: Config) -> ModelInfo:
    return ModelTable.load(patient.places.shipped_data, config.models).info(config.model.name)


def _features(patient: Patient, config: Config) -> Finding:
    info = model_of(patient, config)
    refused = sorted(refusals_of(patient, config).of(info.name))
    said = f"requests leave out {', '.join(refused)}" if refused else "no field is known to be rejected"
    costs = price(questions(info, config.model.cache_ttl), info)
    return Finding("features", "ok", said, f"`prunecli doctor --probe` asks the endpoint: {costs}")


def _sandbox(patient: Patient, config: Config) -> Finding:
    if config.sandbox.mode == "off":
        return Finding("sandbox", "ok", OFF)
    chosen = patient.sandbox()
    if chosen.kind:
        return Finding("sandbox", "ok", f"{in_words(chosen)}, {network_in_words(config.sandbox.network)}")
    state: State = "problem" if config.sandbox.mode == "require" else "warning"
    return Finding("sandbox", state, in_words(chosen), INSTALL)


def _rg(patient: Patient) -> Finding:
    if path := find_program(patient.environ.get("PATH", os.defpath), "rg"):
        return Finding("rg", "ok", path)
    return Finding("rg", "ok", "not installed: grep and find use the slower built-in search")


def _sessions(patient: Patient) -> Finding:
    folder = patient.places.sessions_of(patient.cwd)
    shown = patient.places.shown(folder)
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    problem = _folder_problem(folder, there)
    if problem:
        return Finding("sessions", "problem", f"{shown}: {problem}", "set PRUNECLI_HOME to another folder")
    free = patient.free(there)
    said = f"{free / 1e9:.1f} GB free, {shown}"
    if free < LITTLE_BYTES:
        return Finding(
            "sessions", "warning", said, "free some space: a session stops when its log can't be written"
        )
    return Finding("sessions", "ok", said)


def _folder_problem(folder: Path, there: Path) -> str:
    if not os.path.isdir(there):
        return f"{there} is not a folder"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} is not writable"
    if folder == there and (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
        return f"readable by others (mode {mode:04o}); chmod 700 fixes it"
    return ""


def terminal_size() -> tuple[int, int] | None:
    """Return columns and rows of the terminal on standard output; None if it is not a terminal."""
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except (OSError, ValueError):
        return None
    return size.columns, size.lines
