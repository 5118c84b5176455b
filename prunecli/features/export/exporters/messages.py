"""Exports a session as Anthropic Messages JSON: the next request, including edits and summaries."""

import json
from collections.abc import Sequence

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record
from prunecli.model.requests import messages_json


def write(records: Sequence[Record]) -> str:
    """Write `{"messages": [...]}`, with `system` and `tools` if the log has them, as ASCII with a final newline."""
    context = Context(Chars4(), billed=False)
    for record in records:
        context.apply(record)
    preamble = context.preamble
    body = {
        "system": [json.loads(piece) for piece in preamble.system],
        "tools": [json.loads(piece) for piece in preamble.tools],
        "messages": messages_json(context.messages()),
    }
    return (
        json.dumps({key: value for key, value in body.items() if value or key == "messages"}, indent=1) + "\n"
    )
