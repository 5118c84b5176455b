"""The currently defined subagents, and the notice that tells the model of changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from prunecli.agent.project_settings import down_to
from prunecli.context.state import Context
from prunecli.extensions.definition_folders import Shelf, folders
from prunecli.extensions.subagent_definitions import HEADING, Definition, chosen, parse
from prunecli.model.events import UserMessage
from prunecli.model.notes import newest_notice, notice
from prunecli.model.requests import PREAMBLE, system_texts

TITLE = "subagents"
"""The title of the notice that lists changed subagents during a session."""
GONE = "The only agent now is explore."


class Agents:
    """A reader of subagent definitions. It reads a file again only after the file changed."""

    def __init__(self) -> None:
        self._shelf = Shelf(parse)

    def definitions(
        self, cwd: Path, config: Path, home: Path, *, trusted: bool
    ) -> tuple[Mapping[str, Definition], tuple[str, ...]]:
        """Return the subagents by name, and a line for each unusable file. A project's subagents are included only if
        it is trusted."""
        shelved = self._shelf.look(folders("agents", down_to(cwd) if trusted else (), config, home))
        return chosen(shelved.definitions), shelved.problems


def agents_notice(context: Context, now: str) -> Sequence[UserMessage]:
    """Return the notice with the current subagents, unless the context already has it."""
    known = newest_notice((one.event for one in reversed(context.items)), TITLE)
    if known is None:
        system = system_texts(context.settings[PREAMBLE])
        known = next((text for text in system if text.startswith(HEADING)), GONE)
    return () if (now or GONE) == known else (notice(TITLE, now or GONE, kept=True),)
