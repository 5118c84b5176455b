"""Wire rendering: canonical block bytes of entries, whole or edited.

They are made once, when an entry is folded, so the same log always gives the same bytes.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from prunecli.model.codec import block_to_json, canonical, canonical_string
from prunecli.model.events import (
    WITH_CONTENT,
    AssistantMessage,
    CompactionApplied,
    Event,
    ToolResult,
)
from prunecli.model.messages import (
    Blob,
    Block,
    Document,
    Image,
    Json,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    sendable,
)
from prunecli.model.requests import COMPACTION

Ids = Mapping[str, str]
"""The wire ids of a message's calls whose own ids cannot be sent."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 128


def wire_name(name: str) -> str:
    """Return a tool's name as sent: unchanged if the endpoint accepts it."""
    return _UNFIT.sub("_", name)[:_MAX_NAME] or "unnamed"


def wire_ids(calls: Sequence[ToolUse], seq: int, taken: Container[str]) -> dict[str, str]:
    """Return the wire ids of a message's calls that differ from their own ids.

    Local servers start with the same id in each turn, and other agents' sessions have ids of other forms. The log
    identifies a call by its entry's seq, so only what cannot be sent is rewritten, always in the same way.
    `seq` is its entry, `taken` are earlier wire ids.
    """
    changed: dict[str, str] = {}
    used: set[str] = set()
    for call in calls:
        wanted = found = _UNFIT.sub("_", call.id) or f"call_{seq}"
        number = seq
        while found in taken or found in used:
            found, number = f"{wanted}_{number}", number + 1
        used.add(found)
        if found != call.id:
            changed[call.id] = found
    return changed


NO_OUTPUT = "(no output)"
CONTINUES = "[session continues]"
"""Sent before a conversation that would otherwise begin with an assistant message."""
SUMMARIZED = "[Earlier messages were replaced by this summary.]"
INTERRUPTED = "[interrupted: the call did not finish; it may have partly run]"
"""The result sent for a call that has none because of a crash or Esc."""
NOT_RUN = "[interrupted before the call started: nothing was run]"
"""The result sent for a call that is known not to have started."""


LOST = "[The session file is damaged here: a message from the user may be missing.]"
"""Sent in place of a user message that was or may have been lost."""
LOST_RESULT = "[The session file is damaged here: the result is missing.]"

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def compact(value: Json) -> str:
    """Return a JSON value as compact text, used to size tool inputs."""
    return _COMPACT.encode(value)


def text(words: str) -> bytes:
    """Return a text block; blank text becomes `(no output)`, because the endpoint rejects blank blocks."""
    return _text(words if words.strip() else NO_OUTPUT)


def _text(words: str) -> bytes:
    return b'{"text":%b,"type":"text"}' % canonical_string(words)


def block(value: Block, ids: Ids = MappingProxyType({})) -> bytes | None:
    """Return the block's canonical bytes; None if it can't be sent: blank text or unsigned thinking."""
    match value:
        case Text(words, citations) if citations and words.strip():
            return canonical(block_to_json(value))
        case Text(words):
            return _text(words) if words.strip() else None
        case Thinking(thinking, signature):
            if not signature:
                return None
            return canonical({"type": "thinking", "thinking": thinking, "signature": signature})
        case RedactedThinking(data):
            return canonical({"type": "redacted_thinking", "data": data})
        case ToolUse(id_, name, given):
            return canonical(
                {"type": "tool_use", "id": ids.get(id_, id_), "name": wire_name(name), "input": given}
            )
        case Image(media_type, data):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return canonical({"type": "image", "source": source})
        case Document(media_type, data):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return canonical({"type": "document", "source": source})
        case Blob(sha256, size, media_type):
            return text(f"[missing: {media_type}, {size:,} bytes, blob {sha256[:12]}]")
        case Opaque(unknown):
            return canonical(unknown)


def is_sent(value: Block) -> bool:
    """Return whether `block` returns bytes for it."""
    match value:
        case Text(words):
            return bool(words) and not words.isspace()
        case Thinking(_, signature):
            return bool(signature)
        case _:
            return True


_IN_ANSWERS = frozenset((Text, ToolUse, Thinking, RedactedThinking, Blob))
_ELSEWHERE = frozenset((Text, Image, Document, Blob))
_BESIDES = (Thinking, RedactedThinking, Blob)
_OF_USERS = frozenset(("image", "document", "search_result"))
_OF_NO_ANSWER = frozenset((None, "image", "document", "search_result", "tool_result", "compaction"))


def is_out_of_place(value: Block, *, answer: bool) -> bool:
    """Return whether no endpoint accepts the block in its position: in an answer, or in user and tool content.

    Such a block is left out of requests, because it would make every later request fail.
    """
    if isinstance(value, Opaque):
        kind = value.json.get("type")
        return kind in _OF_NO_ANSWER if answer else kind not in _OF_USERS
    return type(value) not in (_IN_ANSWERS if answer else _ELSEWHERE)


def out_of_place(seq: int, event: Event) -> list[str]:
    """Describe the blocks of record `seq` that are left out of requests, one line per type."""
    if not isinstance(event, WITH_CONTENT):
        return []
    answer = isinstance(event, AssistantMessage)
    if (_IN_ANSWERS if answer else _ELSEWHERE).issuperset(map(type, event.content)):
        return []
    blocks = [block for block in event.content if is_out_of_place(block, answer=answer)]
    kinds = dict.fromkeys(str(block_to_json(block).get("type") or "nameless")[:40] for block in blocks)
    return [f"record {seq}: a {kind} block can't be sent there and is left out" for kind in kinds]


def is_said(value: Block) -> bool:
    """Return whether a block of user or tool content is sent."""
    return is_sent(value) and not is_out_of_place(value, answer=False)


def is_lost(content: tuple[Block, ...]) -> bool:
    """Return whether no part of user or tool content can be sent, because its blocks don't belong there."""
    return not any(map(is_said, content)) and any(is_out_of_place(block, answer=False) for block in content)


def is_answer(content: tuple[Block, ...]) -> bool:
    """Return whether an assistant message has text or calls besides thinking; otherwise it is not sent."""
    return any(
        is_sent(block) and not is_out_of_place(block, answer=True)
        for block in content
        if not isinstance(block, _BESIDES)
    )


def blocks(content: tuple[Block, ...], lost: str = LOST) -> tuple[bytes, ...]:
    """Return the blocks of user or tool content that are sent; the text `lost` if none can be sent."""
    if is_lost(content):
        return (text(lost),)
    said = (block(_uncited(value)) for value in content if not is_out_of_place(value, answer=False))
    return tuple(piece for piece in said if piece is not None)


def _uncited(value: Block) -> Block:
    """Return text without its citations, which only answers may have."""
    return Text(value.text) if isinstance(value, Text) and value.citations else value


def assistant(
    content: tuple[Block, ...],
    ids: Ids,
    *,
    stripped: bool = False,
    inputs: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
) -> tuple[bytes, ...]:
    """Return an assistant message's blocks, with these ids for its calls, and these `inputs` instead of their own, by
    their own ids; `stripped` omits the thinking.

    The result is empty if only thinking would be left, since such a message is not sent.
    """
    kept = tuple(
        b for b in sendable(content) if not (stripped and isinstance(b, Thinking | RedactedThinking))
    )
    fit = [value for value in kept if not is_out_of_place(value, answer=True)] if is_answer(kept) else []
    if inputs:
        fit = [
            replace(v, input=inputs[v.id]) if isinstance(v, ToolUse) and v.id in inputs else v for v in fit
        ]
    found = (block(value, ids) for value in fit)
    return tuple(piece for piece in found if piece is not None)


def sent_blocks(content: tuple[Block, ...], *, answer: bool) -> int:
    """Return the number of blocks that `assistant` or `blocks` returns for this content, without making them."""
    if answer and not is_answer(content):
        return 0
    kept = sendable(content) if answer else content
    found = sum([is_sent(value) and not is_out_of_place(value, answer=answer) for value in kept])
    return found or int(is_lost(content))


def result(event: ToolResult, ids: Ids, replacement: str | None = None) -> bytes:
    """Return a tool_result block as it is sent. A replacement replaces all content, including images; is_error is
    kept."""
    pieces = (
        (text(replacement),) if replacement is not None else blocks(event.sent, LOST_RESULT) or (text(""),)
    )
    head = b'{"content":[' + b",".join(pieces) + b"]"
    error = b',"is_error":true' if event.is_error else b""
    use = canonical_string(ids.get(event.tool_use_id, event.tool_use_id))
    return head + error + b',"tool_use_id":' + use + b',"type":"tool_result"}'


def interrupted_text(printed: str) -> str:
    """Return the text of an interrupted result: the call's output, then the note that it did not finish."""
    return f"{printed.rstrip()}\n{INTERRUPTED}" if printed.strip() else INTERRUPTED


def interrupted(call: ToolUse, ids: Ids) -> bytes:
    """Return the derived result of a call that has none."""
    return result(ToolResult(call.id, call.name, (Text(INTERRUPTED),), is_error=True), ids)


def is_signed(value: Mapping[str, Json]) -> bool:
    """Return whether a block is a nonempty summary by the endpoint that can be sent back."""
    said, signature = value.get("content"), value.get("signature")
    whole = isinstance(said, str) and said.strip() and isinstance(signature, str) and signature
    return value.get("type") == COMPACTION and bool(whole)


def signed(event: CompactionApplied) -> bytes | None:
    """Return the endpoint's own summary; None for prunecli's summary or one that no endpoint accepts."""
    return canonical(dict(event.block)) if event.block and is_signed(event.block) else None


def summary(words: str, beside: str = "") -> str:
    """Return a summary as the model sees it, unless the endpoint made it.

    `beside` are the user's own messages.
    """
    said = f"<user-words>\n{beside}\n</user-words>\n" if beside else ""
    return f"{SUMMARIZED}\n{said}<summary>\n{words.strip()}\n</summary>"


def users_words(words: str) -> str:
    """Return the user's messages beside a summary by the endpoint."""
    return f"[The user's words in the messages that were summarized:]\n<user-words>\n{words}\n</user-words>"


def summary_texts(event: CompactionApplied, words: Iterable[str]) -> list[str]:
    """Return the texts that are sent for a summary: the user's messages beside it, then the summary."""
    own = str(event.block["content"]) if event.block and is_signed(event.block) else event.summary
    return [*map(users_words, words), own]


def memo(words: str, ranges: str, by: str = "assistant") -> str:
    """Return a memo in the form to send: marked as the model's or the user's, with `&`, `<` and `>` escaped."""
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<pruned-memo by="{by}" entries="{ranges}">{escaped}</pruned-memo>'
