"""The invariants of every request, checked before each send.

Checks the bytes that will be sent, not the values they were made from, starting at the first message not known to be
good.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from prunecli.model.requests import COMPACTION, MAX_BODY_BYTES, Request, WireMessage
from prunecli.model.searches import USE, is_result_type
from prunecli.plugins.features import available
from prunecli.util.errors import InvalidRequest

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_MARKS = 4
"""Cache breakpoints that the endpoint allows in a request, including the one after the preamble."""


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest(message, available("use /rewind to go back to before that message"))


def validate(request: Request, known_good: int = 0, *, paused: bool = False) -> None:
    """Raise InvalidRequest, with the message and the broken rule, if a request breaks an invariant.

    `known_good` leading messages are byte-identical to those of a request that passed. `paused`: the last message is
    the model's, sent back unchanged so that its turn continues. A request for a summary by the endpoint also ends
    with the model's message.
    """
    messages = request.messages
    if not messages:
        raise _invalid("no messages")
    if messages[0].role != "user" and _blocks(messages[0])[0].get("type") != COMPACTION:
        raise _invalid("messages.0: the first message must be the user's")
    if len(request.cache_marks) + 1 > MAX_MARKS:
        raise _invalid(f"{len(request.cache_marks) + 1} cache breakpoints; the limit is {MAX_MARKS}")
    size = sum(len(message.canonical) for message in messages)
    if size > MAX_BODY_BYTES:
        raise _invalid(f"a body of {size:,} bytes; the limit is {MAX_BODY_BYTES:,}")
    start = max(0, min(known_good, len(messages)) - 1)
    _check_messages(messages, start)
    last = messages[-1]
    if request.compaction is not None and last.role != "assistant":
        raise _invalid("a summary by the endpoint must end with an answer")
    if last.role != "user" and not paused and request.compaction is None:
        raise _invalid("the last message must be a user message")


def _check_messages(messages: Sequence[WireMessage], start: int) -> None:
    open_calls = (
        _calls(_blocks(messages[start - 1])) if start and messages[start - 1].role == "assistant" else []
    )
    for index in range(start, len(messages)):
        message = messages[index]
        if index and messages[index - 1].role == message.role:
            raise _invalid(f"messages.{index}: two messages of one role in a row")
        blocks = _blocks(message)
        if not blocks:
            raise _invalid(f"messages.{index}: empty content")
        for at, block in enumerate(blocks):
            _check_block(block, f"messages.{index}.content.{at}", message.role)
        if message.role == "user":
            _check_answers(blocks, open_calls, index)
            open_calls = []
        else:
            open_calls = _calls(blocks)
            _check_searches(blocks, index, last=index == len(messages) - 1)
    if open_calls:
        raise _invalid(f"messages.{len(messages) - 1}: calls without results: {', '.join(open_calls)}")


def _blocks(message: WireMessage) -> list[dict[str, Any]]:
    return [json.loads(block.decode("utf-8", "strict")) for block in message.blocks]


def _check_block(block: dict[str, Any], where: str, role: str) -> None:
    kind = block.get("type")
    if kind == COMPACTION and where != "messages.0.content.0":
        raise _invalid(f"{where}: a summary by the endpoint that is not first")
    if kind == "text" and not block["text"].strip():
        raise _invalid(f"{where}: blank text")
    if kind in ("thinking", "redacted_thinking", "tool_use") and role != "assistant":
        raise _invalid(f"{where}: {kind} in a user message")
    if kind == "thinking" and not block["signature"]:
        raise _invalid(f"{where}: unsigned thinking")
    if kind == "tool_use" and not (_NAME.fullmatch(block["name"]) and isinstance(block["input"], dict)):
        raise _invalid(f"{where}: a tool use with an invalid name or input")
    if kind == "tool_result" and role != "user":
        raise _invalid(f"{where}: a tool result in an assistant message")
    if kind == "tool_result" and not block["content"]:
        raise _invalid(f"{where}: an empty tool result")


def _calls(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["id"] for block in blocks if block.get("type") == "tool_use"]


def _check_searches(blocks: list[dict[str, Any]], index: int, *, last: bool) -> None:
    """Check that each call run by the endpoint has its result in the same message; in the last message it may be
    pending."""
    asked: list[str] = []
    for at, block in enumerate(blocks):
        if block.get("type") == USE:
            asked.append(block["id"])
        elif is_result_type(block.get("type")):
            if block["tool_use_id"] not in asked:
                raise _invalid(f"messages.{index}.content.{at}: a search result without its call")
            asked.remove(block["tool_use_id"])
    if asked and not last:
        raise _invalid(f"messages.{index}: searches without results: {', '.join(asked)}")


def _check_answers(blocks: list[dict[str, Any]], calls: list[str], index: int) -> None:
    kinds = [block.get("type") == "tool_result" for block in blocks]
    answers = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    if len(set(calls)) != len(calls):
        raise _invalid(f"messages.{index - 1}: tool use ids repeat")
    if sorted(answers) != sorted(calls):
        raise _invalid(f"messages.{index}: results {answers} do not answer calls {calls}")
    if kinds != sorted(kinds, reverse=True):
        raise _invalid(f"messages.{index}: tool results must come first")
