"""recall: the original of a pruned result or answer, by its entry's number (PRUNING.md section 10).

The answer is an ordinary result under the output limit; no edit changes, and it can be pruned again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from prunecli.errors import ToolError
from prunecli.model.messages import Image, Json, Text, ToolUse
from prunecli.tools.tool import Effect, ToolContext, ToolOutput, text_output


class Recall:
    """The call; thinking is not recalled."""

    name: ClassVar[str] = "recall"
    description: ClassVar[str] = (
        "Get back the original text of a pruned entry, by the number in its placeholder."
    )
    effect: ClassVar[Effect] = "context"
    parallel: ClassVar[bool] = True

    @dataclass(frozen=True, slots=True)
    class Input:
        """What the model gives."""

        entry: Annotated[int, "the number after 'recall'"]

    def summary(self, given: Mapping[str, Json]) -> str:
        """The entry asked for."""
        return f"entry {given.get('entry', '')}"

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        """Gives the original. Raises ToolError for an unknown entry and for the user's."""
        if context.recall is None:
            raise ToolError("recall is not available here")
        content = context.recall(given.entry)
        kept = tuple(block for block in content if isinstance(block, Text | Image))
        called = [f"(called {block.name})" for block in content if isinstance(block, ToolUse)]
        if not kept:
            return text_output(" ".join(called))
        return ToolOutput(kept, details={"recalled": given.entry})
