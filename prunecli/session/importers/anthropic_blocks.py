"""Converts content in Anthropic's blocks, as in Claude Code and agent-session/1 files.

Keeps only blocks that the endpoint accepts back in the same place, and counts the others.
"""

from collections.abc import Iterator

from prunecli.model.codec import block_from_json, mapping, string
from prunecli.model.messages import Block, Json, Opaque, RedactedThinking, Text, Thinking
from prunecli.model.searches import RESULT, USE
from prunecli.session.importers.transcript import Transcript, part, picture, words


def said(value: Json, transcript: Transcript) -> tuple[Block, ...]:
    """Return the texts, images and documents of a user or tool. Raises ValueError if `value` is neither text nor
    list."""
    if isinstance(value, str):
        return (Text(string(value)),)
    return tuple(one for block in blocks(value) for one in _said(block, transcript))


def answered(value: Json, transcript: Transcript) -> tuple[Block, ...]:
    """Return a response's content, with calls under our tool names. Raises ValueError if `value` is neither text nor
    list."""
    if isinstance(value, str):
        return (Text(string(value)),)
    return tuple(one for block in blocks(value) for one in _answered(block, transcript))


def blocks(value: Json) -> list[dict[str, Json]]:
    """Return the blocks of a content list. Raises ValueError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("content is neither a string nor a list of blocks")
    return value


def _said(block: dict[str, Json], transcript: Transcript) -> Iterator[Block]:
    kind = block.get("type")
    if kind == "text":
        yield Text(string(block["text"]))
    elif kind == "image":
        source = part(block.get("source"))
        yield picture(source.get("media_type"), source.get("data"), transcript)
    elif kind == "document" and isinstance(block.get("source"), dict):
        yield block_from_json(block)
    elif kind in ("document", "search_result") and isinstance(block.get("source"), dict | str):
        yield Opaque(mapping(block))
    elif kind == "tool_reference":
        yield Text(words(block.get("tool_name")))
    elif kind not in ("tool_result", "thinking"):
        transcript.skip(f"{words(kind)[:40] or 'unnamed'} blocks")


def _answered(block: dict[str, Json], transcript: Transcript) -> Iterator[Block]:
    kind = block.get("type")
    if kind in ("text", USE, RESULT):
        yield block_from_json(block)
    elif kind == "thinking":
        text = block["thinking"] if "thinking" in block else block.get("text") or ""
        yield Thinking(string(text), string(block.get("signature") or ""))
    elif kind == "redacted_thinking":
        yield RedactedThinking(string(block["data"]))
    elif kind == "tool_use":
        yield transcript.call(block.get("id"), block["name"], block.get("input"))
    else:
        transcript.skip(f"{words(kind)[:40] or 'unnamed'} blocks")
