"""Replays many sessions on a `dask.distributed` cluster (the extra `cluster`), one task for each.

A worker gets what this configuration says of a replay, and makes its own from it, with its own copy of the package.
It reads a session at a URL itself; a file of this machine is read here and sent with its task. Few tasks are under
way at a time, so that not all sessions are in memory.
"""

import logging
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from prunecli import __version__
from prunecli.config.effective import config_of
from prunecli.config.layer import Layer
from prunecli.config.plugins import installed_for
from prunecli.config.sources import schema_of
from prunecli.config.strategies import Strategies
from prunecli.features.replay.replay import Stage
from prunecli.features.replay.working import Outcome, done, size_of
from prunecli.providers.registry import SHIPPED
from prunecli.session.importers.origin import no_branches
from prunecli.session.importers.remote import SessionFile
from prunecli.session.importers.source import Source, read_source
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line

distributed: Any = lazy("distributed")

Result = TypeVar("Result")
CONNECT_SECONDS = 10.0
_AHEAD = 2
"""Tasks under way for each thread of the cluster."""
_SENT = frozenset({"model", "models", "tools", "pruning", "compaction"})
"""The sections of the configuration that decide a replay. Others may hold secrets (hooks, servers) and stay here."""
_MADE_THERE = ("config", "_terms", "_failures")
"""The fields of a stage that a worker makes itself."""


def each_on_cluster(
    address: str,
    files: Sequence[SessionFile],
    stage: Stage,
    job: Callable[..., Result],
    seconds: float = CONNECT_SECONDS,
) -> Generator[Outcome[Result], None, None]:
    """Run a job on each session, like `each_session`. Closing the iterator cancels what is under way.

    `seconds` bounds the time to connect. Raises UsageError if the cluster cannot be used, and PrunecliError if the
    connection to it is lost.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it logs tracebacks
    client = _connected(address, seconds)
    try:
        threads = client.nthreads()
        if problem := unusable(client.run(version, "prunecli", on_error="return")):
            raise UsageError(f"--cluster {address}: {problem}", "start workers with this version of prunecli")
        settings = {
            one.name: getattr(stage, one.name) for one in fields(Stage) if one.name not in _MADE_THERE
        }
        run = partial(_run, sent_layers(stage.config.layers), stage.config.plugins.disabled, settings, job)
        left, running = sorted(files, key=size_of), dict[Any, SessionFile]()
        finished = distributed.as_completed(loop=client.loop)
        while left or running:
            while left and len(running) < _AHEAD * sum(threads.values()):
                file = left.pop()
                read = done(_sources, stage, file)
                if read.result is None:
                    yield Outcome(file, None, read.problem, read.foreign)
                else:
                    task = client.submit(run, file, read.result, pure=False)
                    running[task] = file
                    finished.add(task)
            if running:
                task = next(finished)
                yield _outcome(address, task, running.pop(task))
    finally:
        client.close()


def _connected(address: str, seconds: float) -> Any:
    try:
        return distributed.Client(address, timeout=seconds, set_as_default=False)
    except ImportError:
        raise UsageError("--cluster needs dask.distributed", "pip install 'prunecli[cluster]'") from None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--cluster {address}: {error}", "ADDRESS is that of a dask scheduler, such as tcp://host:8786"
        ) from None


def sent_layers(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers without the text of their files, and with the values that a replay reads only."""
    return tuple(
        layer._replace(text="", values={key: value for key, value in layer.values.items() if key[0] in _SENT})
        for layer in layers
    )


def unusable(versions: Mapping[str, object]) -> str:
    """Return why these workers, each with its version of prunecli, would not give this program's rows; "" if they
    would."""
    if not versions:
        return "it has no workers"
    for worker, found in versions.items():
        if isinstance(found, PackageNotFoundError):
            return f"the worker {worker} has no prunecli"
        if found != __version__:
            return f"the worker {worker} has prunecli {one_line(str(found))}, this is {__version__}"
    return ""


def _sources(stage: Stage, file: SessionFile) -> Mapping[bool, Source]:
    """Return what `read_source` returns for a file of this machine, by `compactions`. Raises like it."""
    if not isinstance(file, Path):
        return {}
    found = {}
    for compactions in {True, stage.compactions}:
        source = read_source(file, compactions=compactions)
        found[compactions] = Source(replace(source.imported, branches=no_branches), source.notices)
    return found


def _run(
    layers: Sequence[Layer],
    disabled: Sequence[str],
    settings: Mapping[str, Any],
    job: Callable[..., Result],
    file: SessionFile,
    sources: Mapping[bool, Source],
) -> Outcome[Result]:
    """Run a job on a worker."""

    def read(path: SessionFile, *, compactions: bool = False) -> Source:
        return sources[compactions] if sources else read_source(path, compactions=compactions)

    def run(_: None, file: SessionFile) -> Result:
        places = Places.of(os.environ)
        installed = installed_for(places, None, frozenset(disabled))
        config = config_of(tuple(layers), schema_of(Strategies.of(places), SHIPPED, installed), ())
        return job(Stage(config, **settings), file, read)

    return done(run, None, file)


def _outcome(address: str, task: Any, file: SessionFile) -> Outcome[Any]:
    try:
        found: Outcome[Any] = task.result()
    except (CancelledError, OSError):
        raise PrunecliError(
            f"--cluster {address}: lost the connection to the scheduler",
            "run it again when the scheduler is back",
        ) from None
    except distributed.KilledWorker:
        return Outcome(file, None, f"{file}: its workers ended, perhaps because memory ran out")
    except Exception as error:  # noqa: BLE001  # a defect, or what the worker lacks
        return Outcome(file, None, one_line(f"{file}: its worker failed: {type(error).__name__}: {error}"))
    return found
