"""Searches that the endpoint runs, as calls in the transcript: the query, and the titles and URLs that it found."""

from collections.abc import Mapping

from prunecli.figures import counted
from prunecli.model.messages import Block, Json, Opaque
from prunecli.model.searches import error_of, found_by, is_result, is_use, listing, query_of
from prunecli.presentation.entries import Entry, Output, ToolCall, ToolState


def search_of(block: Block) -> tuple[str, ToolCall] | None:
    """The id and the entry of a call that the endpoint runs; None for any other block."""
    if not isinstance(block, Opaque) or not is_use(block):
        return None
    name = str(block.json.get("name") or "search")
    return str(block.json.get("id") or ""), ToolCall(name, query_of(block.json), ToolState.WAITING)


def result_of(block: Block) -> tuple[str, Mapping[str, Json]] | None:
    """The id of the call that a block answers, and the block; None for any other block."""
    if not isinstance(block, Opaque) or not is_result(block):
        return None
    return str(block.json.get("tool_use_id") or ""), block.json


def answered(call: Entry | None, value: Mapping[str, Json]) -> ToolCall:
    """The entry of a call with its result."""
    name, argument = (call.name, call.argument) if isinstance(call, ToolCall) else ("search", "")
    error = error_of(value)
    outcome = error or counted(len(found_by(value)), "result")
    state = ToolState.ERROR if error else ToolState.OK
    return ToolCall(name, argument, state, outcome, body=Output(listing(value)))
