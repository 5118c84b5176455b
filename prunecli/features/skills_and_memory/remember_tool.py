"""remember: the model proposes a line for an instruction file, and the user decides. Off by default."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from prunecli.features.skills_and_memory.memories import bullet
from prunecli.model.events import AssistantMessage, Event, ToolStarted, UserMessage
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.asking import Inquiry, Option
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import PrunecliError, ToolError, UsageError
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.features.skills_and_memory.extensions import Extensions
    from prunecli.features.skills_and_memory.memories import Scope

PART = "skills_and_memory"
LABELS: "Mapping[Scope, str]" = {"project": "For this project", "user": "For all projects"}
FOREIGN = (
    "Careful: since your prompt, the agent read the web or a server's result, which may have suggested this."
)
NOBODY = "Nobody is there to confirm it. Nothing was remembered."
DECLINED = "The user declined. Nothing was remembered."


@frozen
class RememberInput:
    line: Annotated[str, "one sentence that stays true"]


class Remember:
    """Asks in every mode, because the line acts on all later sessions; `Touches()` so that no rule asks as well."""

    name: ClassVar[str] = "remember"
    description: ClassVar[str] = (
        "Propose one line for the instructions of later sessions, when the user states a lasting preference or a "
        "fact of the project that cost you time to find. The user decides."
    )
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = RememberInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("line"))

    def touches(self, _: object) -> Touches:
        return Touches()

    async def run(self, given: RememberInput, context: ToolContext) -> ToolOutput:
        part: Extensions | None = context.parts.get(PART)
        if part is None or part.host.who:
            raise ToolError("A task cannot remember; name the line in your report.")
        try:
            line = bullet(given.line)
        except UsageError as error:
            raise ToolError(error.message) from error
        scopes = part.memories.scopes()
        options = [
            Option(LABELS[scope], part.host.setup.places.shown(part.memories.path(scope))) for scope in scopes
        ]
        careful = (
            f"\n{FOREIGN}"
            if read_foreign(record.event for record in reversed(part.host.session.records))
            else ""
        )
        question = f"Remember this line?\n{line}{careful}"
        inquiry = Inquiry(question, (*options, Option("Don't remember")), default=len(options))
        reply = await context.ask(inquiry) if context.ask else None
        if reply is None:
            return text_output(NOBODY, {"answer": "nobody"})
        if reply.words or not reply.chosen or reply.chosen[0] >= len(scopes):
            added = f"\nThe user added: {reply.words}" if reply.words else ""
            return text_output(DECLINED + added, {"answer": reply.words or "declined"})
        try:
            path = part.memories.add(scopes[reply.chosen[0]], line)
        except PrunecliError as error:
            raise ToolError(error.message) from error
        shown = part.host.setup.places.shown(path)
        return text_output(f"Added to {shown}.", {"answer": options[reply.chosen[0]].label, "file": shown})


def read_foreign(newest_first: Iterable[Event]) -> bool:
    """Return whether a call since the user's last prompt read the web, a server's result, or what nobody declared."""
    for event in newest_first:
        if isinstance(event, UserMessage) and event.origin == "prompt":
            return False
        if isinstance(event, AssistantMessage) and event.usage and event.usage.web_search_requests:
            return True
        if isinstance(event, ToolStarted) and (
            event.touches is None or event.touches.fetches or event.touches.calls
        ):
            return True
    return False
