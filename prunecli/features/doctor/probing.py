"""Tests an endpoint's features with a few tiny requests: `prunecli doctor --probe`.

Each result is one line. Fields that the endpoint rejects are stored, and later requests omit them; fields that it
accepts are sent again.
"""

import asyncio
import struct
import time
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace

from prunecli.model.codec import canonical
from prunecli.model.messages import Json, Text, Thinking, ToolUse, Usage
from prunecli.model.requests import CacheTtl, Preamble, Request, WireMessage
from prunecli.providers.models import ModelInfo, cost
from prunecli.providers.optional_fields import (
    CACHE_TTL,
    CONTEXT_MANAGEMENT,
    CONTEXT_MANAGEMENT_BETA,
    EFFORT,
    THINKING,
)
from prunecli.providers.provider import Provider, Response, TextDelta, ThinkingDelta
from prunecli.providers.registry import Finding, State
from prunecli.providers.thinking import betas_for, efforts_for, thinking_config, without
from prunecli.runtime.refusals import Refusals
from prunecli.util.errors import ConnectionLost, FieldRefused, ProviderError, PrunecliError, Unauthorized
from prunecli.util.figures import duration, in_tokens, money
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import shortened

SECONDS = 60.0
"""Time limit of one request: a local model may be slow to load."""

STREAMING = "streaming"
"""The first question. If it fails, no other question is asked."""

_MAX_SHOWN = 160
_BUDGET = 1024
_SYSTEM = "You answer in one word."
_TOOL = {
    "name": "ping",
    "description": "Answers pong.",
    "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
}


@frozen
class Question:
    """One request and the meaning of its answer. `judge` gets the answer and the ms until its first token.

    `needed`: prunecli cannot work without this feature."""

    name: str
    request: Request
    judge: Callable[[Response, int], tuple[State, str]]
    needed: bool = False


def questions(info: ModelInfo, ttl: CacheTtl) -> tuple[Question, ...]:
    """Return the requests to send for a model, the most important first."""
    plain = _request(info.name, "Say OK.")
    config = thinking_config(info.name, _BUDGET) or {}
    tokens = _BUDGET + 64 if config.get("type") == "enabled" else 64
    thinking = replace(plain, max_tokens=tokens, thinking=config, betas=betas_for(config))
    edits: dict[str, Json] = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    efforts = efforts_for(info, None) if "claude" in info.name or info.efforts else ()
    found = [
        Question(STREAMING, plain, _streaming, needed=True),
        Question("tools", _request(info.name, "Call the tool ping.", _TOOL), _tools, needed=True),
        Question("images", _request(info.name, "Which color is this?", image=_red_square()), _images),
        Question("cache", replace(plain, cache_ttl=ttl), _cache),
        Question("thinking", thinking, _thinking),
        Question(
            "context edits",
            replace(plain, context_management=edits, betas=(CONTEXT_MANAGEMENT_BETA,)),
            _accepted,
        ),
    ]
    if efforts:
        found.append(Question("effort", replace(plain, effort=efforts[0]), _accepted))
    return tuple(found)


def price(asked: tuple[Question, ...], info: ModelInfo) -> str:
    sent = sum(len(one.request.body()) // 3 for one in asked)
    got = sum(one.request.max_tokens for one in asked)
    usd = cost(Usage(sent, got), info, "5m")
    money_ = "price not known here" if usd is None else f"at most {money(usd)}"
    return f"{len(asked)} requests, at most {in_tokens(sent + got)}, {money_}"


async def probe(
    provider: Provider,
    info: ModelInfo,
    refusals: Refusals,
    tell: Callable[[Finding], None],
    *,
    ttl: CacheTtl = "5m",
    seconds: float = SECONDS,
) -> None:
    """Ask all questions and pass each finding to `tell`. Closes the provider. Reports all errors as findings."""
    try:
        for question in questions(info, ttl):
            try:
                async with asyncio.timeout(seconds):
                    found = await _finding(question, provider, info.name, refusals)
            except TimeoutError:
                tell(Finding(question.name, "problem", f"no answer in {seconds:.0f} s; probe stopped"))
                return
            except (ConnectionLost, Unauthorized) as error:
                tell(Finding(question.name, "problem", _brief(error), error.hint))
                return
            tell(found)
            if question.name == STREAMING and found.state == "problem":
                return
        tell(await _count(provider, questions(info, ttl)[0].request, seconds))
    except PrunecliError as error:
        tell(Finding("features", "problem", error.message, error.hint))
    finally:
        await provider.close()


async def _finding(question: Question, provider: Provider, model: str, refusals: Refusals) -> Finding:
    """Ask one question, and repeat it without rejected fields."""
    request, refused = question.request, list[str]()
    while True:
        try:
            response, first = await _answer(provider, request)
        except FieldRefused as error:
            field = next((one for one in error.fields if one in request.optional_fields), "")
            if not field:
                return Finding(question.name, "warning", f"no: {_brief(error)}")
            refusals.add(model, field)
            refused.append(field)
            request = _less(request, field)
            if not request.optional_fields:
                return Finding(question.name, "warning", f"no: requests omit {', '.join(refused)}")
        except (ConnectionLost, Unauthorized):
            raise
        except ProviderError as error:
            return Finding(question.name, "problem" if question.needed else "warning", f"no: {_brief(error)}")
        else:
            for field in request.optional_fields:
                refusals.drop(model, field)
            state, said = question.judge(response, first)
            less = f"; requests omit {', '.join(refused)}" if refused else ""
            return Finding(question.name, state, f"{said}{less}")


async def _answer(provider: Provider, request: Request) -> tuple[Response, int]:
    begun, first = time.monotonic(), 0.0
    async for event in provider.stream(request):
        if isinstance(event, TextDelta | ThinkingDelta) and not first:
            first = time.monotonic() - begun
        if isinstance(event, Response):
            return event, round(1000 * (first or time.monotonic() - begun))
    raise ConnectionLost("the stream ended without an answer")


async def _count(provider: Provider, request: Request, seconds: float) -> Finding:
    """Return a finding on whether the endpoint counts tokens. The request is free."""
    count = getattr(provider, "count", None)
    try:
        async with asyncio.timeout(seconds):
            tokens = await count(request) if count else None
    except TimeoutError:
        return Finding("count_tokens", "warning", f"no answer in {seconds:.0f} s")
    except PrunecliError as error:
        return Finding("count_tokens", "warning", f"no: {_brief(error)}")
    return Finding(
        "count_tokens", "ok", f"yes, {tokens} tokens" if tokens else "no; prunecli does not need it"
    )


def _brief(error: PrunecliError) -> str:
    """Return the error's message, cut to a line or two because gateways add irrelevant details."""
    return shortened(error.message, _MAX_SHOWN)


def _less(request: Request, field: str) -> Request:
    if field.startswith(THINKING):
        config = without(request.thinking, {field}) or None
        return replace(request, thinking=config, betas=betas_for(config))
    if field == EFFORT:
        return replace(request, effort="")
    if field == CONTEXT_MANAGEMENT:
        return replace(request, context_management=None, betas=())
    return replace(request, cache_ttl="5m" if field == CACHE_TTL else None)


def _request(model: str, words: str, *tools: Json, image: str = "") -> Request:
    source = {"type": "base64", "media_type": "image/png", "data": image}
    blocks: list[Json] = [{"type": "image", "source": source}] if image else []
    blocks.append({"type": "text", "text": words})
    message = WireMessage.of("user", tuple(map(canonical, blocks)), (0,) * len(blocks))
    return Request(model, 200 if tools else 16, Preamble.of((_SYSTEM,), tools), (message,), cache_ttl=None)


def _red_square() -> str:
    """Return a PNG in base64."""
    side = 32

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _streaming(response: Response, first: int) -> tuple[State, str]:
    said = f"yes, first token after {duration(first)}"
    if response.usage.prompt_tokens:
        return "ok", said
    return "warning", f"{said}; the endpoint reports no prompt tokens, so figures are estimates"


def _tools(response: Response, _: int) -> tuple[State, str]:
    if any(isinstance(block, ToolUse) for block in response.content):
        return "ok", "yes"
    return "warning", "accepted, but the model did not call one; prunecli needs a model that does"


def _images(response: Response, _: int) -> tuple[State, str]:
    words = " ".join(block.text for block in response.content if isinstance(block, Text))
    if "red" in words.lower():
        return "ok", "yes"
    return "warning", "accepted, but the model did not see the color of a red square"


def _cache(response: Response, _: int) -> tuple[State, str]:
    usage = response.usage
    if usage.cache_read_input_tokens is None and usage.cache_creation_input_tokens is None:
        return "warning", "accepted; usage has no cache figures, so savings are unknown"
    return "ok", "accepted, and usage has cache figures"


def _thinking(response: Response, _: int) -> tuple[State, str]:
    thoughts = [block for block in response.content if isinstance(block, Thinking)]
    if not thoughts:
        return "ok", "accepted; this answer had no thinking"
    if all(block.signature for block in thoughts):
        return "ok", "yes, with signatures"
    return "warning", "yes, without signatures, so it is not sent back"


def _accepted(_: Response, __: int) -> tuple[State, str]:
    return "ok", "accepted, but the endpoint may ignore it"
