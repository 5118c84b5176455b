"""The blocks of searches that the endpoint runs itself: a `server_tool_use` and its `..._tool_result`.

Both are `Opaque` blocks of an answer, kept and sent back unchanged: `encrypted_content` must be sent back byte for
byte. The endpoint rejects one without the other.
"""

from collections.abc import Mapping, Sequence

from prunecli.model.messages import Block, Json, Opaque
from prunecli.model.requests import SEARCH, Preamble

USE = "server_tool_use"
RESULT = "web_search_tool_result"

SEARCHES = "request.searches"
"""The setting that tells whether requests offer the search and contain its blocks; false: neither, only text."""

ENCRYPTED_SHARE = 4
"""One in this many characters of `encrypted_content` is counted, since base64 has about three times the tokens of its
text."""


def is_use(block: Block) -> bool:
    """Return whether a block is a call that the endpoint runs."""
    return isinstance(block, Opaque) and block.json.get("type") == USE


def is_result(block: Block) -> bool:
    """Return whether a block is the result of such a call."""
    return isinstance(block, Opaque) and is_result_type(block.json.get("type"))


def is_result_type(kind: Json) -> bool:
    """Return whether this is the type of a result that answers a `server_tool_use`."""
    return isinstance(kind, str) and kind.endswith("_tool_result") and kind != "mcp_tool_result"


def query_of(value: Mapping[str, Json]) -> str:
    """Return the query of a call, or its input as text."""
    given = value.get("input")
    query = given.get("query") if isinstance(given, dict) else None
    return query if isinstance(query, str) else "" if not given else str(given)


def found_by(value: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the titles and URLs of a result."""
    content = value.get("content")
    rows = [row for row in content if isinstance(row, Mapping)] if isinstance(content, Sequence) else []
    return [(str(row.get("title") or ""), str(row["url"])) for row in rows if isinstance(row.get("url"), str)]


def error_of(value: Mapping[str, Json]) -> str:
    """Return the error code of a result, such as `max_uses_exceeded`; "" for one that succeeded."""
    content = value.get("content")
    code = content.get("error_code") if isinstance(content, Mapping) else None
    return code if isinstance(code, str) else ""


def listing(value: Mapping[str, Json]) -> str:
    """Return a result as lines of titles and URLs, or its error."""
    if error := error_of(value):
        return f"search failed: {error}"
    return "\n".join(f"{title}\n  {url}" if title else url for title, url in found_by(value)) or "no results"


def in_words(value: Mapping[str, Json]) -> str:
    """Return a call or a result as text, for an endpoint that does not know such blocks."""
    if value.get("type") == USE:
        return f"[searched the web: {query_of(value)}]"
    return f"[search results]\n{listing(value)}"


def countable(block: Block) -> list[str]:
    """Return the texts of such a block that cost tokens; none for any other block."""
    if not isinstance(block, Opaque):
        return []
    if is_use(block):
        return [SEARCH + query_of(block.json)]
    if not is_result(block):
        return []
    rows = block.json.get("content")
    hidden = (
        [row.get("encrypted_content") for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, list)
        else []
    )
    texts = [one[: len(one) // ENCRYPTED_SHARE] for one in hidden if isinstance(one, str)]
    return [listing(block.json), *filter(None, texts)]


def preamble_of(recorded: Mapping[str, Json], *, searches: bool) -> Preamble:
    """Return the preamble of a recorded setting, without the search if it is not offered."""
    tools = (tool for tool in recorded.get("tools") or () if searches or not offers_search(tool))
    return Preamble.of(tuple(recorded.get("system") or ()), tuple(tools))


def offers_search(tool: Json) -> bool:
    """Return whether a tool definition is the endpoint's search."""
    return isinstance(tool, Mapping) and str(tool.get("type") or "").startswith(f"{SEARCH}_")
