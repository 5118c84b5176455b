"""/doctor: what works here and what is missing, one line each."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, InThread, Say, Table
from prunecli.context.repair import leave_out
from prunecli.runtime import Runtime
from prunecli.runtime.checkup import MARKS, checkup, patient_of
from prunecli.runtime.entries import entries_of


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Check terminal, key, endpoint and more; /doctor 17 leaves out an entry that is refused."""
    if arguments:
        return [_leave_out(runtime, seq) for seq in entries_of(runtime, arguments.split())]
    setup, config = runtime.setup, runtime.config

    def work() -> Sequence[Effect]:
        found = checkup(patient_of(setup.places, setup.cwd, setup.environ, lambda: config))
        rows = tuple((MARKS[one.state], one.name, one.said) for one in found)
        hints = "\n".join(f"{one.name}: {one.hint}" for one in found if one.hint)
        return [Table("Doctor", ("", "what", "how it is"), rows, note=hints)]

    return [InThread("Checking", work)]


def _leave_out(runtime: Runtime, seq: int) -> Say:
    context = runtime.session.context
    event = leave_out(runtime.policy.view(context), context.entries[seq])
    if event is None:
        return Say(f"Entry {seq} stays: it is yours, in progress, or out already.", "warning")
    runtime.emit(event)
    return Say(f"Entry {seq} is left out from now on. Enter on an empty prompt goes on; /undo takes it back.")
