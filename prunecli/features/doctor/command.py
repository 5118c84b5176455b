"""/doctor: check the environment, one line per check."""

import asyncio
from collections.abc import Sequence

from prunecli.commands.command import Effect, InThread, Say, Table
from prunecli.config.credentials import provider_for
from prunecli.context.repair import leave_out
from prunecli.features.doctor.checkup import MARKS, checkup, patient_of
from prunecli.features.doctor.probing import probe
from prunecli.providers.registry import Finding
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import NUMBERS, entries_of
from prunecli.runtime.make import STAND_IN

PROBE = "probe"
"""The argument that tests the endpoint's features."""
USAGE = f"/doctor checks the environment, /doctor probe tests the endpoint, /doctor 17 removes entry 17; {NUMBERS}"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Check key, endpoint and more; /doctor probe tests features; /doctor 17 removes a rejected entry."""
    if arguments == PROBE:
        return [InThread("Asking the endpoint", lambda: _probed(runtime))]
    if arguments:
        return [_leave_out(runtime, seq) for seq in entries_of(runtime, arguments.split(), USAGE)]
    setup, config = runtime.setup, runtime.config

    def work() -> Sequence[Effect]:
        patient = patient_of(setup.places, setup.cwd, setup.environ, lambda: config)
        return [_table(list(checkup(patient)))]

    return [InThread("Checking", work)]


def _probed(runtime: Runtime) -> Sequence[Effect]:
    """Test the features of the session's endpoint. Runs in a thread."""
    setup, config = runtime.setup, runtime.config
    info, ttl, found = runtime.choices.model, config.model.cache_ttl, list[Finding]()
    if info.name == STAND_IN:
        return [Say("The demo model has no endpoint to ask.")]
    provider = provider_for(info.name, config, setup.environ, setup.places)
    asyncio.run(probe(provider, info, runtime.refusals, found.append, ttl=ttl))
    return [_table(found)]


def _table(found: Sequence[Finding]) -> Table:
    rows = tuple((MARKS[one.state], one.name, one.said) for one in found)
    hints = "\n".join(f"{one.name}: {one.hint}" for one in found if one.hint)
    return Table("Doctor", ("", "check", "result"), rows, note=hints)


def _leave_out(runtime: Runtime, seq: int) -> Say:
    context = runtime.session.context
    event = leave_out(runtime.policy.view(context), context.entries[seq])
    if event is None:
        return Say(
            f"Entry {seq} was kept: it is a user message, still in progress, or already removed.", "warning"
        )
    runtime.emit(event)
    return Say(
        f"Removed entry {seq} from the context. Enter on an empty prompt to continue; /undo to restore it."
    )
