"""recall: return the original text of a pruned tool result or answer, by its entry number.

The text is an ordinary result under the output limit: the prune stays, and the result can be pruned again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from prunecli.context.again import readable
from prunecli.errors import ToolError
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput


class Recall:
    """The call; thinking is not recalled."""

    name: ClassVar[str] = "recall"
    description: ClassVar[str] = (
        "Get back the original text of a pruned entry, by the number in its placeholder."
    )
    parallel: ClassVar[bool] = True

    @dataclass(frozen=True, slots=True)
    class Input:
        """The model's input."""

        entry: Annotated[int, "the number after 'recall'"]

    def summary(self, given: Mapping[str, Json]) -> str:
        """The entry's number."""
        return f"entry {given.get('entry', '')}"

    def touches(self, _: object) -> Touches:
        """Nothing: a recall only reads the log."""
        return Touches()

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        """Return the original. Raises ToolError for unknown entries and user messages."""
        if context.recall is None:
            raise ToolError("recall is not available here")
        return ToolOutput(readable(context.recall(given.entry)), details={"recalled": given.entry})
