"""/memory: edit the agent instructions of this directory."""

from collections.abc import Sequence

from prunecli.agent.instructions import INSTRUCTION_FILES
from prunecli.commands.command import EditFile, Effect, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Edit AGENTS.md in $EDITOR; new sessions use it."""
    folder = runtime.setup.cwd
    paths = [folder / name for name in INSTRUCTION_FILES]
    path = next((path for path in paths if path.is_file()), paths[0])
    said = f"New sessions load {path.name}: /new to use your changes. /init lets the agent write it."
    return [Say(said), EditFile(path)]
