"""/doctor: check the environment, one line per check."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, InThread, Say, Table
from prunecli.context.repair import leave_out
from prunecli.runtime import Runtime
from prunecli.runtime.checkup import MARKS, checkup, patient_of
from prunecli.runtime.entry_numbers import entries_of


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Check terminal, key, endpoint and more; /doctor 17 removes a rejected entry."""
    if arguments:
        return [_leave_out(runtime, seq) for seq in entries_of(runtime, arguments.split())]
    setup, config = runtime.setup, runtime.config

    def work() -> Sequence[Effect]:
        found = checkup(patient_of(setup.places, setup.cwd, setup.environ, lambda: config))
        rows = tuple((MARKS[one.state], one.name, one.said) for one in found)
        hints = "\n".join(f"{one.name}: {one.hint}" for one in found if one.hint)
        return [Table("Doctor", ("", "check", "result"), rows, note=hints)]

    return [InThread("Checking", work)]


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
