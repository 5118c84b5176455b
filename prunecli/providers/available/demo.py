"""The demo model: a script that needs no network and no key and calls the real tools.

It answers with the tour (demo_tour.py), with one of four commands that each make one tool call, or with help, which a
line that matches no pattern gets too. The answers stream at a natural pace and their tokens are counted, so that the
status line changes. Using it costs nothing.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import takewhile

from prunecli.model.messages import Block, Text, ToolUse, Usage
from prunecli.model.requests import Request
from prunecli.providers import demo_tour
from prunecli.providers.demo_script import (
    REAL_MODEL,
    WHO,
    Answered,
    Call,
    Reply,
    Scene,
    code,
    doing,
    problem,
    scene_of,
)
from prunecli.providers.models import Offer
from prunecli.providers.provider import Provider, Response, StreamEvent, TextDelta, ToolCallDelta
from prunecli.providers.registry import Connection, Finding, Listed

KEYS = None

CONTEXT_WINDOW = 200_000
"""The demo model's window in tokens; the model table has the same value."""

PACE = 0.008
"""Seconds between two deltas."""

_JSON_CHARS = 40
_BYTES_PER_TOKEN = 4
_IMAGE_TOKENS = 1_600

NOT_THE_USER = "[This is prunecli, not the user.]"
"""The beginning of a request for a summary (context/compaction.py)."""

_MAX_CHARS = 1_000
_SHOWN_LINES = 8
_HELP = ("", "help", "hello", "hi", "hey", "stop", "thanks")
_COMMANDS = (
    ("ls", r"(?:list|ls)(?:\s+@?(?P<path>\S+))?", "`list` · `list src`"),
    ("read", r"(?:read|show|open|cat)\s+@?(?P<path>\S+)", "`read README.md`"),
    (
        "grep",
        r"(?:search|grep)\s+(?:for\s+)?(?P<pattern>\S+)(?:\s+in\s+@?(?P<path>\S+))?",
        "`search for x in src`",
    ),
    ("bash", r"run\s+(?!(?:the|all|my|our|it|this|that)\b)(?P<command>\S.*)", "`run git status`"),
)
"""Tool, pattern and example of each command. Patterns are compiled when first needed."""


def needs_key(base_url: str) -> bool:
    return False


def make(connection: Connection) -> Provider:
    return DemoProvider()


def check(connection: Connection, listed: Listed) -> Finding:
    """Return a finding that there is no endpoint."""
    return Finding("endpoint", "ok", "the embedded demo model, no network")


class DemoProvider:
    """A `Provider` (provider.py). `pause` takes seconds. It is awaited between deltas, but never before the first."""

    def __init__(self, *, pause: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._pause = pause
        self._cached: Sequence[bytes] = ()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. Raises nothing."""
        scene = scene_of(request)
        reply = _reply_to(scene)
        ids = [f"demo_{scene.stamp}_{reply.step}_{number}" for number in range(len(reply.calls))]
        uses = [ToolUse(id_, call.name, call.input) for id_, call in zip(ids, reply.calls, strict=True)]
        for number, text in enumerate(re.findall(r"\s*\S+|\s+$", reply.text)):
            if number:
                await self._pause(PACE)
            yield TextDelta(text)
        if uses and reply.linger:
            await self._pause(reply.linger)
        for use in uses:
            for delta in _call_deltas(use):
                await self._pause(PACE)
                yield delta
        content: tuple[Block, ...] = (Text(reply.text), *uses)
        yield Response(
            content, "tool_use" if uses else "end_turn", self._usage(request, content), request.model
        )

    async def models(self) -> tuple[Offer, ...]:
        return (Offer("demo", CONTEXT_WINDOW),)

    async def close(self) -> None:
        """See `Provider.close`; there is nothing to free."""

    def _usage(self, request: Request, content: Sequence[Block]) -> Usage:
        """Return the usage: the tokens that the session counts, shared by bytes, or bytes / 4 of a request that it
        does not count. The part up to the last breakpoint is read from the cache where it equals the previous
        request, and written otherwise. Nothing expires."""
        pieces, marked = _pieces(request)
        pairs = zip(self._cached, pieces[:marked], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._cached = pieces[:marked]
        output = len(
            json.dumps([block.input if isinstance(block, ToolUse) else str(block) for block in content])
        )
        new, read, written = map(_tokens, (pieces[marked:], pieces[:same], pieces[same:marked]))
        if request.tokens:
            by = request.tokens / max(1, new + read + written)
            new, read = round(by * new), round(by * read)
            written = max(0, request.tokens - new - read)
        return Usage(new, -(-output // _BYTES_PER_TOKEN), read, written)


def _call_deltas(use: ToolUse) -> Iterator[ToolCallDelta]:
    text = json.dumps(use.input, ensure_ascii=False)
    yield ToolCallDelta(use.id, use.name)
    for at in range(0, len(text), _JSON_CHARS):
        yield ToolCallDelta(use.id, use.name, text[at : at + _JSON_CHARS])


def _pieces(request: Request) -> tuple[list[bytes], int]:
    """Return all pieces of a request in order, and the number of pieces up to the last breakpoint."""
    pieces = [*request.preamble.tools, *request.preamble.system]
    last = max(request.cache_marks, default=-1)
    marked = len(pieces) + sum(len(message.blocks) for message in request.messages[: last + 1])
    return [*pieces, *(block for message in request.messages for block in message.blocks)], marked


def _tokens(pieces: Sequence[bytes]) -> int:
    """Return the tokens of the pieces; an image counts as one, not by its base64 text."""
    sizes = (
        _IMAGE_TOKENS if b'"base64"' in piece else -(-len(piece) // _BYTES_PER_TOKEN) for piece in pieces
    )
    return sum(sizes)


def _reply_to(scene: Scene) -> Reply:
    if scene.words.startswith(NOT_THE_USER):
        return Reply(f"{WHO} It cannot summarize, so the earlier messages are dropped.")
    line = scene.words.strip()[: _MAX_CHARS + 1]
    plain = " ".join(line.lower().strip(" .!?").split())
    if demo_tour.is_tour(line):
        return demo_tour.reply_to(scene)
    if scene.results:
        return Reply("\n\n".join(map(_report, scene.results)))
    call = _call(line)
    if call is None:
        unknown = "" if plain in _HELP else f"I did not understand {code(line)}.\n\n"
        return Reply(unknown + _help_text(scene.tools))
    if call.name not in scene.tools:
        return Reply(
            f"{WHO} This command needs the tool `{call.name}`, which is not enabled (`[tools] enabled`)."
        )
    return Reply(f"{WHO} {REAL_MODEL}\n\nI'll {doing(call)} now.", (call,), "command")


def _help_text(tools: frozenset[str]) -> str:
    """Return the help text: the commands that the demo model has with these tools, and how to get a real model."""
    examples = "".join(f"\n- {example}" for tool, _, example in _COMMANDS if tool in tools)
    known = "I understand only these commands. The tools that they call are real."
    return f"{WHO} {REAL_MODEL}\n\n{known}\n\n- `tour`: fix a small bug, then prune{examples}"


def _call(line: str) -> Call | None:
    for tool, pattern, _ in _COMMANDS if len(line) <= _MAX_CHARS else ():
        if match := re.fullmatch(pattern, line, re.IGNORECASE | re.DOTALL):
            return Call(
                tool, {key: value for key, value in match.groupdict().items() if value} or {"path": "."}
            )
    return None


def _report(answered: Answered) -> str:
    """Return the first lines of a result (the last ones of a command's) as an indented code block."""
    call, is_command = answered.call, answered.call.name == "bash"
    if answered.stopped or (answered.is_error and not is_command):
        return problem(answered)
    lines = answered.text.splitlines() or ["(no output)"]
    shown = lines[-_SHOWN_LINES:] if is_command else lines[:_SHOWN_LINES]
    more = f" ({len(shown)} of {len(lines):,} lines)" if len(shown) < len(lines) else ""
    failed = " failed" if answered.is_error else ""
    given = call.input.get("command") or call.input.get("pattern") or call.input.get("path")
    subject = "This folder" if (call.name, given) == ("ls", ".") else code(given)
    return f"{subject}{failed}{more}:\n\n" + "\n".join(f"    {line[:100]}" for line in shown)
