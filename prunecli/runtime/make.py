"""Makes a runtime from a command line: places, trust, configuration, provider, session."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.agent.decide import Limits
from prunecli.agent.instructions import Instructions
from prunecli.config.credentials import keys_of, misses_key, provider_for
from prunecli.config.effective import Config
from prunecli.config.references import import_own
from prunecli.config.sources import load
from prunecli.plugins.app import Installed
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Provider
from prunecli.providers.thinking import budget_note
from prunecli.runtime import launch_flags
from prunecli.runtime.guide import Guide
from prunecli.runtime.importers import importer_of, is_agent, titles
from prunecli.runtime.pruning_log import log_prunes
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.setup import Added, MakeSandbox, Setup
from prunecli.safety.command_env import unattended_environment
from prunecli.safety.permissions.verdict import Rules
from prunecli.safety.project_settings import refused_links
from prunecli.safety.trust import TrustStore
from prunecli.session.completing import Clock, system_clock
from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import ConfigError, SessionLocked, SessionNotFound, UsageError
from prunecli.util.launch_options import PICKER, Launch
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.safety.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from prunecli.runtime import local_servers, sandbox_rules
else:
    local_servers = lazy("prunecli.runtime.local_servers")
    sandbox_rules = lazy("prunecli.runtime.sandbox_rules")


DEMO_NOTICE = 'No API key, so this is the demo model. /login to add one · type "tour"'
"""The first line shown to a new user; it fits 80 columns."""
CHANGED_SETTINGS = (
    "AGENTS.md, CLAUDE.md or .prunecli/ changed since you trusted this directory, so it is untrusted now: "
    "read-only, its settings are ignored. `prunecli trust` shows what changed and trusts it again."
)
STAND_IN = "demo"
"""The model used without an API key."""
NO_KEY = "no API key"
"""The source of the model's name if the user did not choose a model."""
NO_KEY_HINT = "run `prunecli login`, or try `--model demo`, which needs none"


def make_runtime(asked: Launch, environ: Mapping[str, str], clock: Clock = system_clock) -> Runtime:
    """Make the runtime of a command line, with its session. Raises PrunecliError."""
    places = Places.of(environ)
    cwd = (asked.cwd or Path.cwd()).resolve()
    store = TrustStore(places.trust_store)
    trusted = asked.trust or store.may_act(cwd)

    load_config = _loader(asked, places, cwd, environ)
    config = load_config(trusted)
    demo = config.origin("model.name") == NO_KEY
    keys = keys_of(config)
    if demo and asked.headless:
        raise UsageError(NO_KEY, f"set {keys.key_variable}, {NO_KEY_HINT}")
    folders, waiting = launch_flags.folders(asked, store, cwd, places.home)
    added = Added(folders)
    child = child_environment(environ, (*keys.variables, *config.key_variables))
    setup = Setup(
        places,
        cwd,
        config,
        unattended_environment(child),
        unattended_environment(child, hooks=True),
        trusted,
        f"{sys.platform}, {environ.get('SHELL', 'sh')}",
        load_config=load_config,
        trust_store=store,
        keep_log=not asked.no_session,
        environ=environ,
        clock=clock,
        walls=_maker(places, cwd, unattended_environment(child), added),
        added=added,
        append_prompt=launch_flags.appended(asked),
        naming=[asked.name] if asked.name else [],
        local_ports=local_servers.ports(environ) if demo else (),
    )
    table = ModelTable.load(places.shipped_data, config.models)

    runtime = Runtime(setup, lambda name: provider_for(name, runtime.config, environ, places), table.info)
    runtime.sandbox.check()
    runtime.run_limits = Limits(asked.max_turns, asked.max_cost)
    untold = asked.headless and store.is_trusted(cwd) and not trusted  # otherwise /trust shows the changes
    notes = _trust_notes(setup, trusted, untold), config.notices, [DEMO_NOTICE] if demo else []
    runtime.notices = [*chain(*notes), *_model_notes(config, runtime)]
    runtime.introduction, runtime.guide = asked.introduction, Guide(asked.guide)
    if config.origin("model.name").startswith("flag "):
        runtime.session_model.asked = config.model.name
    _begin(runtime, asked, waiting)
    if asked.introduction:
        runtime.prepare()  # so that the first figures are those of the first request
    return runtime


def _loader(asked: Launch, places: Places, cwd: Path, environ: Mapping[str, str]) -> Callable[[bool], Config]:
    """Return a function that reads the configuration; its argument tells whether the directory is trusted."""
    there: Installed | None = None

    def load_config(trusted: bool) -> Config:
        nonlocal there
        config = load(
            places,
            cwd,
            environ,
            flags=asked.flags,
            sets=asked.sets,
            config_file=asked.config_file,
            trusted=trusted,
            installed=there,
        )
        there = config.installed  # for good, because a session keeps its tools
        import_own(config)
        return _answering(config, environ, places)

    return load_config


def _begin(runtime: Runtime, asked: Launch, waiting: Sequence[Path]) -> None:
    """Open the requested session, and queue the questions to ask when the screen opens."""
    if asked.headless:
        _warm(runtime.provider)
    launch_flags.watch_prompt(runtime)
    launch_flags.check_id(asked, runtime.store)
    _open(runtime, asked)
    runtime.opening += [f"/add-dir {path}" for path in waiting]
    runtime.parts.each(lambda part: part.opened(headless=asked.headless))
    if runtime.setup.keep_log:
        log_prunes(runtime.setup.places.log_file, runtime)


def _answering(config: Config, environ: Mapping[str, str], places: Places) -> Config:
    """Return the configuration, with the demo model if the model's endpoint needs a key and there is none."""
    if misses_key(config.model.name, config, environ, places):
        return config.with_value("model.name", STAND_IN, origin=NO_KEY)
    return config


def _trust_notes(setup: Setup, trusted: bool, changed: bool) -> list[str]:
    """Return the notices about settings that do not take effect: changed ones, links out of the project, and
    instructions that can't be read."""
    read = Instructions(setup.cwd, setup.places.config, setup.places.home, trusted=trusted)
    read.at_start()
    links = refused_links(setup.cwd) if trusted else ()
    return [*([CHANGED_SETTINGS] if changed else ()), *links, *map(visible, read.missed)]


def _model_notes(config: Config, runtime: Runtime) -> list[str]:
    """Return warnings about a thinking budget without effect and an unknown model. Raises ConfigError for an effort
    that the model lacks."""
    wanted, taken = runtime.choices.wanted_effort, runtime.choices.efforts
    if wanted and wanted not in taken:
        where, name = config.origin("model.effort"), runtime.model_name
        listed = f"{name} accepts {', '.join(taken)}" if taken else f"{name} has no effort setting"
        off = (runtime.choices.model_settings.thinking or {}).get("type") == "disabled"
        more = "; with model.thinking = 1024 or more also xhigh and max" if off else ""
        raise ConfigError(
            f"{where}: model.effort: {wanted!r} is not supported by this model", f"{listed}{more}"
        )
    origin, model = config.origin("model.thinking"), runtime.choices.model
    note = "" if origin == "default" else budget_note(model, config.model.thinking)
    return list(filter(None, (model.assumption, note and f"{origin}: {note}.")))


def _maker(places: Places, cwd: Path, env: Mapping[str, str], added: Added) -> MakeSandbox:
    def make(config: Config, rules: Callable[[], Rules]) -> "Sandbox":
        return sandbox_rules.make_sandbox(config, places, cwd, env, rules, lambda: added.paths)

    return make


def _open(runtime: Runtime, asked: Launch) -> None:
    if asked.continue_last:
        _open_path(runtime, asked, runtime.store.last(runtime.setup.cwd))
    elif asked.resume == PICKER:
        if asked.headless:
            raise UsageError("--resume: no session given", "`prunecli sessions list` shows the sessions")
        runtime.opening.append("/resume")
    elif asked.resume:
        wanted, at = _copied_until(asked.resume) if asked.fork else (asked.resume, None)
        path = _file_of(runtime, wanted, headless=asked.headless)
        if path is not None and at is None:
            _open_path(runtime, asked, path)
        elif path is not None:
            runtime.open_session(path, fork=True, at=at, fork_id=asked.session_id)
    elif asked.session_id:
        runtime.new_session(asked.session_id)
    if not runtime.gatekeeper.trusted:
        runtime.opening.insert(0, "/trust")


def _file_of(runtime: Runtime, wanted: str, *, headless: bool) -> Path | None:
    """Return the file of the session that `--resume` names, importing another agent's session. Return None if the
    user will choose the session on the screen."""
    if not is_agent(wanted, runtime.config.installed):
        try:
            return runtime.store.find(wanted)
        except SessionNotFound as error:
            agents = titles(runtime.config.installed)
            if not (wanted.startswith("@") and agents):
                raise
            message = f"--resume: no agent and no session named {wanted!r}"
            raise UsageError(message, f"the agents are {', '.join(agents)}") from error
    setup, importer = runtime.setup, importer_of(wanted, runtime.config.installed)
    if ":" not in wanted and not headless:
        importer.check_some(setup.environ, setup.cwd)
        runtime.opening.append(f"/resume {wanted}")
        return None
    done = importer.hand_over(wanted, setup.environ, setup.cwd, runtime.store)
    runtime.notices.append(done.note)
    return done.path


def _open_path(runtime: Runtime, asked: Launch, path: Path) -> None:
    """Resume a session. If another process is writing to it, offer a copy on the screen."""
    try:
        if asked.session_id:
            runtime.open_session(path, fork=True, fork_id=asked.session_id)
        else:
            (runtime.open_session if asked.headless else runtime.resume)(path, fork=asked.fork)
    except SessionLocked:
        if asked.headless:
            raise
        runtime.opening.append(f"/resume {path.stem}")


def _copied_until(resume: str) -> tuple[str, int | None]:
    """Split `ID@17` into the session and the record up to which to copy it; None for the whole session."""
    wanted, mark, at = resume.rpartition("@")
    return (wanted, int(at)) if mark and wanted and at.isdecimal() else (resume, None)


def _warm(provider: Provider) -> None:
    warm: Callable[[], None] | None = getattr(provider, "warm", None)
    if warm is not None:
        threading.Thread(target=warm, name="warm", daemon=True).start()
