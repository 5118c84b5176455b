"""What a scripted reply looks like in both protocols: its chunks or its events, and the faults of each."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.endpoint.script import Call, Raw, Redacted, Reply, Text, Thinking
from tests.openai_endpoint.cache import PromptUsage
from tests.openai_endpoint.rules import Issued

Json = Any
DONE = b"data: [DONE]\n\n"
FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is answered: `seed` makes the ids. `field` is that of a chat's reasoning; `usage` None reports
    none."""

    model: str
    seed: bytes
    usage: PromptUsage | None
    explicit: bool = False
    field: str = "reasoning_content"

    def name(self, prefix: str, what: object) -> str:
        return prefix + hashlib.sha256(self.seed + str(what).encode()).hexdigest()[:24]


def _output_tokens(reply: Reply) -> int:
    texts = (getattr(block, "text", "") + getattr(block, "thinking", "") for block in reply.blocks)
    calls = (json.dumps(dict(block.input)) for block in reply.blocks if isinstance(block, Call))
    return max(1, -(-sum(map(len, (*texts, *calls))) // 4))


def _reasoning_tokens(reply: Reply) -> int:
    return sum(-(-len(block.thinking) // 4) for block in reply.blocks if isinstance(block, Thinking))


# Chat Completions


def chat_pieces(reply: Reply, asked: Asked) -> list[bytes]:
    """The chunks of a reply, each as a piece of the body."""
    return [*(_data(chunk) for chunk in _chunks(reply.cut_short(), asked)), DONE]


def _data(chunk: Mapping[str, Json]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _chunks(reply: Reply, asked: Asked) -> Iterator[dict[str, Json]]:
    head = {
        "id": asked.name("chatcmpl-", ""),
        "object": "chat.completion.chunk",
        "created": 1,
        "model": asked.model,
    }

    def chunk(delta: Mapping[str, Json], reason: str | None = None) -> dict[str, Json]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for at, block in enumerate(reply.blocks):
        match block:
            case Text(text):
                yield from (chunk({"content": piece}) for piece in reply.parts(text))
            case Thinking(thinking):
                yield from (chunk({asked.field: piece}) for piece in reply.parts(thinking))
            case Call(name, _, call_id):
                call_id = asked.name("call_", at) if call_id is None else call_id
                function: dict[str, Json] = {"name": name, "arguments": ""}
                first = {"index": calls, "id": call_id, "type": "function", "function": function}
                yield chunk({"tool_calls": [first]})
                for piece in reply.parts(block.text):
                    yield chunk({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
                calls += 1
            case Raw(start):
                yield chunk(start)
    yield chunk({}, FINISH.get(reply.reason, reply.reason))
    if asked.usage is not None:
        usage = asked.usage
        details = {"cached_tokens": usage.read}
        if asked.explicit:
            details["cache_write_tokens"] = usage.written
        output = _output_tokens(reply)
        counts = {
            "prompt_tokens": usage.prompt,
            "completion_tokens": output,
            "total_tokens": usage.prompt + output,
        }
        yield {**head, "choices": [], "usage": {**counts, "prompt_tokens_details": details, **reply.usage}}


# Responses


def responses_pieces(reply: Reply, asked: Asked, issued: Issued) -> list[bytes]:
    """The events of a reply, each as a piece of the body."""
    found = []
    for number, event in enumerate(_events(reply.cut_short(), asked, issued)):
        data = json.dumps({**event, "sequence_number": number})
        found.append(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return found


def _events(reply: Reply, asked: Asked, issued: Issued) -> Iterator[dict[str, Json]]:
    head = {
        "id": asked.name("resp_", ""),
        "object": "response",
        "created_at": 1,
        "model": asked.model,
        "output": [],
    }
    yield {"type": "response.created", "response": {**head, "status": "in_progress"}}
    yield {"type": "response.in_progress", "response": {**head, "status": "in_progress"}}
    output: list[Json] = []
    for at, block in enumerate(reply.blocks):
        item = _item(block, at, reply, asked, issued)
        if item is None:
            continue
        place = {"output_index": len(output), "item_id": item["id"]}
        opened = {**item, **({"content": []} if item["type"] == "message" else {}), "status": "in_progress"}
        if item["type"] == "function_call":
            opened["arguments"] = ""
        yield {"type": "response.output_item.added", "output_index": len(output), "item": opened}
        yield from _inside(item, place, reply)
        yield {"type": "response.output_item.done", "output_index": len(output), "item": item}
        output.append(item)
    reason = reply.reason
    usage = asked.usage or PromptUsage(0)
    said = _output_tokens(reply)
    counts = {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.read, "cache_write_tokens": usage.written},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": _reasoning_tokens(reply)},
        "total_tokens": usage.prompt + said,
        **reply.usage,
    }
    done = {**head, "output": output, "usage": counts}
    if reason in INCOMPLETE:
        details = {"reason": INCOMPLETE[reason]}
        response = {**done, "status": "incomplete", "incomplete_details": details}
        yield {"type": "response.incomplete", "response": response}
        return
    if reply.transformations is not None:
        done["input_transformations"] = list(reply.transformations)
    yield {"type": "response.completed", "response": {**done, "status": "completed"}}


def _item(block: Any, at: int, reply: Reply, asked: Asked, issued: Issued) -> dict[str, Json] | None:
    match block:
        case Text(text):
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            message = {
                "id": asked.name("msg_", at),
                "type": "message",
                "role": "assistant",
                "status": "completed",
            }
            return {**message, "content": [part]}
        case Thinking() | Redacted():
            text = block.thinking if isinstance(block, Thinking) else ""
            item_id, sealed = asked.name("rs_", at), asked.name("gAAAAA", f"sealed {at}")
            issued.items[item_id] = (sealed, asked.model)
            summary = [{"type": "summary_text", "text": text}] if text else []
            return {"id": item_id, "type": "reasoning", "summary": summary, "encrypted_content": sealed}
        case Call(name, _, call_id):
            call_id = asked.name("call_", at) if call_id is None else call_id
            call = {"id": asked.name("fc_", at), "type": "function_call", "status": "completed", "name": name}
            return {**call, "call_id": call_id, "arguments": block.text}
        case Raw(start):
            return {"id": asked.name("item_", at), **start}
    return None


def _inside(item: Mapping[str, Json], place: Mapping[str, Json], reply: Reply) -> Iterator[dict[str, Json]]:
    match item["type"]:
        case "message":
            part, where = item["content"][0], {**place, "content_index": 0}
            kind, text = ("refusal", part["refusal"]) if "refusal" in part else ("output_text", part["text"])
            yield {"type": "response.content_part.added", **where, "part": {"type": kind, "text": ""}}
            for piece in reply.parts(text):
                yield {"type": f"response.{kind}.delta", **where, "delta": piece, "logprobs": []}
            yield {"type": f"response.{kind}.done", **where, "text": text, "logprobs": []}
            yield {"type": "response.content_part.done", **where, "part": part}
        case "reasoning":
            for at, part in enumerate(item["summary"]):
                where = {**place, "summary_index": at}
                yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
                for piece in reply.parts(part["text"]):
                    yield {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
                yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
        case "function_call":
            for piece in reply.parts(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **done}
        case "web_search_call":
            yield {"type": "response.web_search_call.in_progress", **place}
            yield {"type": "response.web_search_call.completed", **place}
