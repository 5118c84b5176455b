"""/doctor: what works here and what is missing, one line each."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, InThread, Table
from prunecli.runtime import Runtime
from prunecli.runtime.checkup import MARKS, checkup, patient_of


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:  # noqa: ARG001  # every command is called alike
    """Check terminal, configuration, key, endpoint, sandbox, rg and session folder."""

    setup, config = runtime.setup, runtime.config

    def work() -> Sequence[Effect]:
        found = checkup(patient_of(setup.places, setup.cwd, setup.environ, lambda: config))
        rows = tuple((MARKS[one.state], one.name, one.said) for one in found)
        hints = "\n".join(f"{one.name}: {one.hint}" for one in found if one.hint)
        return [Table("Doctor", ("", "what", "how it is"), rows, note=hints)]

    return [InThread("Checking", work)]
