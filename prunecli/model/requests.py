"""A request as values: the pieces that the fold keeps, joined into the posted body.

Each message is its canonical block bytes; the hash chain over system, tools and messages proves what was sent. Cache
marks are added when the body is joined and are not part of any piece or hash.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

from prunecli.model.codec import canonical
from prunecli.model.messages import OTHER_WIRE, Json, Usage
from prunecli.util.frozen import frozen

Role: TypeAlias = Literal["user", "assistant"]
CacheTtl: TypeAlias = Literal["5m", "1h"]
"""How long the endpoint keeps a cached prefix after its last use, in the endpoint's terms."""

TTL_MS: Mapping[CacheTtl, int] = {"5m": 300_000, "1h": 3_600_000}


def reported_ttl(usage: Usage) -> CacheTtl | None:
    """Return how long the endpoint keeps what this request wrote to the cache, if it reports that."""
    if usage.cache_1h_input_tokens is None or not usage.cache_creation_input_tokens:
        return None
    return "1h" if usage.cache_1h_input_tokens else "5m"


PREAMBLE = "request.preamble"
"""The setting that records system prompt and tool schemas, so the log alone can prove requests."""

IMPORTED = "session.imported"
"""The setting that stores an imported session's origin: `importers.origin.Origin.to_json`."""

TASK = "task"
"""The tool whose calls run in separate sessions. After a crash, such a call is continued, not interrupted."""

ASK = "ask"
"""The tool that asks the user. Its results are the user's words, which are never pruned."""

JOBS = "jobs"
"""The tool that reads the output of background commands. Its results count as those of commands."""

COMPACTION = "compaction"
"""The field that requests a summary by the endpoint, and the type of its block."""

SEARCH = "web_search"
"""The endpoint's own tool, and the name under which it may be omitted."""
_SEARCH_TYPE = b'"type":"web_search_'

DIAGNOSTICS = "diagnostics"
"""The field that asks the endpoint why a request did not read what the one before it had stored."""

SYSTEM_MESSAGES = "system messages"
"""The name under which system messages between the others may be omitted: their texts become the user's."""

COMPACTION_BETA = "compact-2026-09-04"
"""The beta feature for both, also needed by each later request that contains the block."""


_OF_OUR_SERVER = ("mcp__prunecli__", "prunecli_")
"""What Claude Code, and what OpenCode and others write before the names of our server's tools."""


def system_texts(preamble: Json) -> tuple[str, ...]:
    """Return the texts of the system prompt in a value of `PREAMBLE`; () if it has none."""
    return tuple(preamble.get("system") or ()) if isinstance(preamble, Mapping) else ()


def own_name(tool: str) -> str:
    """Return the name of a tool here, also of one that another agent has from `prunecli mcp serve`."""
    return next((tool.removeprefix(one) for one in _OF_OUR_SERVER if tool.startswith(one)), tool)


def tool_names(preamble: Json) -> tuple[str, ...]:
    """Return our names of the tools in a value of `PREAMBLE`; () if it has none."""
    tools = preamble.get("tools") if isinstance(preamble, dict) else None
    names = (tool["name"] for tool in tools or () if isinstance(tool, dict) and "name" in tool)
    return tuple(own_name(str(name)) for name in names)


def takes(preamble: Json, tool: str, argument: str) -> bool:
    """Return whether a tool's schema in a recorded preamble has this argument; true if none was recorded yet."""
    if not isinstance(preamble, Mapping) or not preamble.get("tools"):
        return True
    tools = [one for one in preamble["tools"] if isinstance(one, Mapping)]
    schemas = [one.get("input_schema") for one in tools if own_name(str(one.get("name"))) == tool]
    known = [one.get("properties") for one in schemas if isinstance(one, Mapping)]
    return any(isinstance(one, Mapping) and argument in one for one in known)


MAX_BODY_BYTES = 24_000_000
"""The endpoint's limit of 32 MB, minus a margin."""


@frozen
class WireMessage:
    """One message of a request.

    `blocks` are canonical JSON, `seqs[i]` is the entry of block i, `canonical` is the message's canonical JSON
    without cache marks. `notes` are the fixed sentences behind a user's message, each with its entry: they are sent
    as a system message, which `canonical` includes. So it always stands where the endpoint allows it: behind a user's
    message, and last or before an answer.
    """

    role: Role
    blocks: tuple[bytes, ...]
    seqs: tuple[int, ...]
    canonical: bytes
    notes: tuple[tuple[int, bytes], ...] = ()

    @staticmethod
    def of(
        role: Role,
        blocks: tuple[bytes, ...],
        seqs: tuple[int, ...],
        notes: tuple[tuple[int, bytes], ...] = (),
    ) -> "WireMessage":
        made = b'{"content":[%b],"role":"%b"}' % (b",".join(blocks), role.encode())
        if notes:
            made += b',{"content":[%b],"role":"system"}' % b",".join(note for _, note in notes)
        return WireMessage(role, blocks, seqs, made, notes)


def messages_json(messages: Iterable[WireMessage]) -> list[Json]:
    """Return the messages as they are posted, without cache marks."""
    found: list[Json] = json.loads(b"[%b]" % b",".join(message.canonical for message in messages))
    return found


def posted(messages: Iterable[WireMessage]) -> list[WireMessage | None]:
    """Return the messages by their places in the posted request; None stands for a system message."""
    return [one for message in messages for one in ((message, None) if message.notes else (message,))]


def leads_with_summary(messages: Sequence[WireMessage]) -> bool:
    """Return whether the first message is the endpoint's own summary, the only assistant content allowed there."""
    return bool(messages) and messages[0].role == "assistant"


@frozen
class Preamble:
    """The part before the messages: system blocks and tool schemas, as canonical JSON."""

    system: tuple[bytes, ...]
    tools: tuple[bytes, ...]

    @staticmethod
    def of(system: tuple[str, ...], tools: tuple[Json, ...]) -> "Preamble":
        """Return the preamble of these system texts (blank ones omitted) and tool definitions."""
        texts = tuple(canonical({"type": "text", "text": text}) for text in system if text.strip())
        return Preamble(texts, tuple(canonical(tool) for tool in tools))

    def digest(self) -> bytes:
        """Return the first link of the hash chain."""
        return sha256(
            b'{"system":[%b],"tools":[%b]}' % (b",".join(self.system), b",".join(self.tools))
        ).digest()


def link(previous: bytes, message: WireMessage) -> bytes:
    """Return the next link of the chain: h = sha256(h + piece)."""
    return sha256(previous + message.canonical).digest()


@frozen
class Request:
    """One request.

    `cache_marks` are indices of messages whose last block gets a breakpoint; the end of the preamble always gets one.
    `thinking` is the endpoint's thinking configuration, None to send none; `betas` go into a header. `cache_ttl` is
    None for an endpoint without breakpoints; `effort` is "" for the model's default. `context_management` lists the
    edits for the endpoint's own copy; None for none. `sha256` is the end of the chain. `compaction` asks the endpoint
    for a summary of the messages instead of an answer. `diagnostics` names the message of the response before, to ask
    why its prompt was not read from the cache. `without` are the optional fields that the endpoint rejected
    before, for providers whose fields have no place here.
    """

    model: str
    max_tokens: int
    preamble: Preamble
    messages: tuple[WireMessage, ...]
    cache_marks: tuple[int, ...] = ()
    thinking: Mapping[str, Json] | None = None
    cache_ttl: CacheTtl | None = "5m"
    betas: tuple[str, ...] = ()
    tokens: int = 0
    sha256: str = ""
    effort: str = ""
    context_management: Mapping[str, Json] | None = None
    compaction: Mapping[str, Json] | None = None
    without: frozenset[str] = frozenset()
    diagnostics: Mapping[str, Json] | None = None

    @property
    def optional_fields(self) -> frozenset[str]:
        """The optional fields that the request uses, by their names in providers/optional_fields.py."""
        found = {f"thinking.{key}" for key in self.thinking or ()}
        given = {
            "thinking": self.thinking is not None,
            "cache_control": self.cache_ttl is not None,
            "cache_control.ttl": self.cache_ttl == "1h",
            "output_config": bool(self.effort),
            "context_management": self.context_management is not None,
            COMPACTION: self.compaction is not None or leads_with_summary(self.messages),
            DIAGNOSTICS: self.diagnostics is not None,
            SYSTEM_MESSAGES: any(message.notes for message in self.messages),
            SEARCH: any(_SEARCH_TYPE in tool for tool in self.preamble.tools),
        }
        return frozenset(found.union(name for name, there in given.items() if there))

    def can_omit(self, field: str) -> bool:
        """Return whether the request has an optional field that later ones can leave out."""
        return field in self.optional_fields or (field.startswith(OTHER_WIRE) and field not in self.without)

    def body(self) -> bytes:
        """Return the JSON body with cache marks, ready to be posted."""
        lifetime = b',"ttl":"1h"' if self.cache_ttl == "1h" else b""
        mark = b'"cache_control":{"type":"ephemeral"%b},' % lifetime if self.cache_ttl else b""
        system, tools = list(self.preamble.system), list(self.preamble.tools)
        if system or tools:
            place = system or tools
            place[-1] = _marked(place[-1], mark)
        pieces = [message.canonical for message in self.messages]
        for index in self.cache_marks:
            message = self.messages[index]
            blocks = (*message.blocks[:-1], _marked(message.blocks[-1], mark))
            pieces[index] = WireMessage.of(message.role, blocks, message.seqs, message.notes).canonical
        head = canonical(
            {"max_tokens": self.max_tokens, "model": self.model, "stream": True, **self._settings()}
        )
        return b'%b,"messages":[%b],"system":[%b],"tools":[%b]}' % (
            head[:-1],
            b",".join(pieces),
            b",".join(system),
            b",".join(tools),
        )

    def _settings(self) -> dict[str, Json]:
        given = {
            "thinking": self.thinking,
            "output_config": {"effort": self.effort} if self.effort else None,
            "context_management": self.context_management,
            COMPACTION: self.compaction,
            DIAGNOSTICS: self.diagnostics,
        }
        return {key: value for key, value in given.items() if value is not None}


def _marked(block: bytes, mark: bytes) -> bytes:
    return b"{%b%b" % (mark, block[1:])
