"""What is sent for a reply? Its blocks with ids, signatures and deltas, its usage.

Ids are deterministic, from the request's bytes and its number: they never repeat within a session, and the same run
gives the same ones.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.endpoint.binding import Prefix
from tests.endpoint.cache import Usage
from tests.endpoint.render import length, render
from tests.endpoint.script import Block, Call, Raw, Redacted, Reply, Text, Thinking
from tests.endpoint.shape import Json
from tests.endpoint.signatures import Origin, redact, sign, tag
from tests.endpoint.summaries import Replaced


@dataclass(frozen=True, slots=True)
class WireBlock:
    """A block ready to be sent: as content_block_start has it, its deltas, and as it is in a whole message."""

    start: Mapping[str, Json]
    deltas: tuple[Mapping[str, Json], ...]
    whole: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Response:
    """A reply with everything that is sent of it."""

    message_id: str
    model: str
    blocks: tuple[WireBlock, ...]
    stop_reason: str
    stop_sequence: str | None
    usage: Mapping[str, Json]
    pings: bool
    transformations: Sequence[Mapping[str, Json]] | None = None
    applied_edits: Sequence[Mapping[str, Json]] | None = None
    diagnostics: Mapping[str, Json] | None = None

    def kinds(self) -> list[str]:
        """The types of the blocks."""
        return [str(block.whole.get("type")) for block in self.blocks]

    def calls(self) -> dict[str, int]:
        """The place of each call, by its id."""
        return {
            str(block.whole["id"]): place
            for place, block in enumerate(self.blocks)
            if block.whole.get("type") == "tool_use"
        }

    def message(self) -> dict[str, Json]:
        """The message as a response that is not streamed has it."""
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [dict(block.whole) for block in self.blocks],
            "stop_reason": self.stop_reason,
            "stop_sequence": self.stop_sequence,
            "usage": dict(self.usage),
            **({} if self.diagnostics is None else {"diagnostics": dict(self.diagnostics)}),
            **self.transformed(),
            **self.management(),
        }

    def transformed(self) -> dict[str, Json]:
        """What is reported of the request's thinking."""
        if self.transformations is None:
            return {}
        return {"input_transformations": [dict(one) for one in self.transformations]}

    def management(self) -> dict[str, Json]:
        """What was edited in the service's copy of the request."""
        if self.applied_edits is None:
            return {}
        return {"context_management": {"applied_edits": [dict(one) for one in self.applied_edits]}}


@dataclass(frozen=True, slots=True)
class Prompted:
    """The request that is answered: `seed` makes the ids, thinking is signed with `key` and bound to `prefix`, and to
    its account where `of_account`; `visible`: its text is shown. `transformations`: what is reported of the request.
    """

    seed: bytes
    model: str
    usage: Usage
    cache_fields: bool
    prefix: Prefix
    key: bytes
    visible: bool = True
    of_account: bool = False
    transformations: Sequence[Mapping[str, Json]] | None = None
    applied_edits: Sequence[Mapping[str, Json]] | None = None

    def name(self, prefix: str, what: str) -> str:
        """An id that is this request's own."""
        return prefix + hashlib.sha256(self.seed + what.encode()).hexdigest()[:22]


def respond(reply: Reply, prompted: Prompted) -> Response:
    """The response of a reply to a request."""
    reply = reply.cut_short()
    message_id = prompted.name("msg_01", "message")
    prefix = prompted.prefix
    blocks: list[WireBlock] = []
    account = prefix.account if prompted.of_account else ""
    thought = said = 0
    for place, block in enumerate(reply.blocks):
        origin = Origin(
            message_id,
            place,
            prefix.digest.hex(),
            prefix.previous,
            prompted.model,
            account,
            len(block.thinking) if isinstance(block, Thinking) and prefix.digest else 0,
        )
        blocks.append(_wire(block, origin, prompted, reply))
        prefix = _behind(prefix, blocks[-1].whole)
        tokens = -(-origin.chars // 4) or _tokens(blocks[-1].whole)
        said += tokens
        thought += tokens if isinstance(block, Thinking | Redacted) else 0
    usage = replace(prompted.usage, output_tokens=max(1, said), thinking_tokens=thought)
    cache_fields = prompted.cache_fields if reply.cache_fields is None else reply.cache_fields
    counted = {**usage.json(cache_fields), **reply.usage}
    counted = {name: value for name, value in counted.items() if value is not None}
    return Response(
        message_id,
        prompted.model,
        tuple(blocks),
        reply.reason,
        reply.stop_sequence,
        counted,
        reply.pings,
        prompted.transformations if reply.transformations is None else reply.transformations,
        prompted.applied_edits,
    )


def summarized(response: Response, replaced: Replaced, key: bytes) -> Response:
    """The answer to a request for a summary, of what the model said: its text as one signed block, nothing where it
    said none or called a tool. What it took stands among the iterations only."""
    told = [block.whole for block in response.blocks]
    text = "".join(str(block["text"]) for block in told if block.get("type") == "text")
    made = bool(text.strip()) and response.stop_reason == "end_turn"
    block = replaced.block(text, response.model, key)
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = {name: response.usage[name] for name in names if name in response.usage}
    return replace(
        response,
        blocks=(WireBlock(block, (), block),) if made else (),
        stop_reason="compaction" if made else response.stop_reason,
        usage={**dict.fromkeys(counts, 0), "iterations": [{"type": "compaction", **counts}]},
    )


def _behind(prefix: Prefix, block: Mapping[str, Json]) -> Prefix:
    """What stands in front of the next block, once this one is replayed."""
    match block.get("type"):
        case "thinking":
            return replace(prefix, previous=tag(block["signature"]))
        case "redacted_thinking":
            return replace(prefix, previous=tag(block["data"]))
        case "text" | "tool_use" | "server_tool_use" | "web_search_tool_result":
            return prefix.after(render("assistant", block, "", 4))
    return prefix


def _wire(block: Block, origin: Origin, prompted: Prompted, reply: Reply) -> WireBlock:
    match block:
        case Text(text):
            deltas = tuple({"type": "text_delta", "text": part} for part in reply.parts(text))
            return WireBlock({"type": "text", "text": ""}, deltas, {"type": "text", "text": text})
        case Thinking(thinking, signature):
            signature = sign(thinking, origin, prompted.key) if signature is None else signature
            if origin.sealed and not prompted.visible:
                thinking = ""
            deltas = tuple({"type": "thinking_delta", "thinking": part} for part in reply.parts(thinking))
            if signature:
                deltas += ({"type": "signature_delta", "signature": signature},)
            start = {"type": "thinking", "thinking": "", "signature": ""}
            return WireBlock(start, deltas, {**start, "thinking": thinking, "signature": signature})
        case Redacted(secret, data):
            whole = {"type": "redacted_thinking", "data": data or redact(secret, origin, prompted.key)}
            return WireBlock(whole, (), whole)
        case Call(name, given, call_id):
            call_id = prompted.name("toolu_01", str(origin.position)) if call_id is None else call_id
            deltas = tuple(
                {"type": "input_json_delta", "partial_json": part} for part in ["", *reply.parts(block.text)]
            )
            opening: dict[str, Json] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            return WireBlock(opening, deltas, {**opening, "input": dict(given)})
        case Raw():
            return WireBlock(block.start, block.deltas, block.start if block.whole is None else block.whole)


def _tokens(block: Mapping[str, Json]) -> int:
    """ceil(length / 4) of what the model wrote."""
    text = str(block.get("text", "")) + str(block.get("thinking", "")) + str(block.get("data", ""))
    if "input" in block:
        text += str(block.get("name", "")) + json.dumps(block["input"], ensure_ascii=False)
    return math.ceil(length(text) / 4)
