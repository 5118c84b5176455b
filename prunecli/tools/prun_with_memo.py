"""prun_with_memo: like `prun`, with a memo in place of the removed exchanges. Source: phi-core."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from prunecli.context.prun import MAX_MEMO_CHARS
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.prun import planned, wanted
from prunecli.tools.tool import ToolContext, ToolOutput
from prunecli.util.errors import ToolError


class PrunWithMemo:
    """The `prun_with_memo` tool. The memo is marked as written by the model and never merged into the user's
    words."""

    name: ClassVar[str] = "prun_with_memo"
    description: ClassVar[str] = (
        "Like prun, leaving a memo in place of what is removed: what you learned and still need."
    )
    parallel: ClassVar[bool] = False

    @dataclass(frozen=True, slots=True)
    class Input:
        memo: Annotated[str, "at most 2000 characters"]
        tokens: Annotated[int | None, "tokens to free, at least 1"] = None
        entries: Annotated[str | None, 'instead of tokens, such as "12-20, 25"'] = None

    def summary(self, given: Mapping[str, Json]) -> str:
        return f"{wanted(given)}, memo: {str(given.get('memo', ''))[:60]}"

    def touches(self, _: object) -> Touches:
        """Return no touches: a prun call only changes the context."""
        return Touches()

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        if not given.memo.strip():
            raise ToolError("Invalid input: memo must not be blank")
        if len(given.memo) > MAX_MEMO_CHARS:
            raise ToolError(
                f"Invalid input: the memo has {len(given.memo):,} characters, at most {MAX_MEMO_CHARS:,} are kept"
            )
        return planned(context, given.tokens, given.entries, given.memo)
