"""web_search: a search that the endpoint runs itself and bills per search.

The model's call never reaches prunecli: the blocks of a search are part of the answer (`model/searches.py`).
"""

from collections.abc import Mapping
from typing import ClassVar

from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MAX_SEARCHES = 8
"""Maximum searches of one request."""


@frozen
class WebSearchInput:
    """The input of a call that an endpoint passed on instead of running it."""

    query: str = ""


class WebSearch:
    """The endpoint's tool. `server` is its definition there, sent instead of a schema."""

    name: ClassVar[str] = "web_search"
    description: ClassVar[str] = "Search the web, run by the endpoint."
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = WebSearchInput
    server: ClassVar[Mapping[str, Json]] = {
        "type": "web_search_20250305",
        "name": "web_search",
        "max_uses": MAX_SEARCHES,
    }

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("query"))

    def touches(self, _: object) -> Touches:
        return Touches()

    async def run(self, given: WebSearchInput, context: ToolContext) -> ToolOutput:  # noqa: ARG002
        raise ToolError(
            "The endpoint runs this tool itself, but this endpoint did not. Search in another way."
        )
