"""Plays a scripted provider through another wire: each request is translated and checked as the stand-in checks it,
and each response becomes the chunks or events of that protocol and is read again.

So a test of behavior that has nothing to do with the vendor proves it for each protocol. `python -m pytest --wire
responses` (or `chat`) runs all of them so; by default a tenth, drawn from their names, is played through one of the
two.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from prunecli.features.openai.chat import ChatChunks, chat_fields, chat_messages, system_messages
from prunecli.features.openai.responses import ResponseEvents, input_items, responses_fields
from prunecli.features.openai.tables import OPENAI, Dialect
from prunecli.features.openai.wording import full_names
from prunecli.model.messages import INVALID_INPUT, RedactedThinking, Text, Thinking, ToolUse
from prunecli.model.requests import Request
from prunecli.providers.messages_api import Translation
from prunecli.providers.provider import Provider, Response, StreamEvent
from prunecli.providers.stream import Assembly
from tests.endpoint.script import Call, Reply
from tests.endpoint.script import Text as Words
from tests.endpoint.script import Thinking as Thought
from tests.openai_endpoint.cache import PromptUsage
from tests.openai_endpoint.replies import FINISH, Asked, chat_pieces, responses_pieces
from tests.openai_endpoint.rules import CHAT, RESPONSES, Issued, OpenAiRules, check

MODEL = "gpt-5.5"
"""The name that the requests have on the wire: the scripts' models are Claude's, which these rules do not know."""


class ThroughWire:
    """A `Provider` like `inner`, whose requests and responses pass over a wire."""

    def __init__(self, inner: Provider, wire: str) -> None:
        self._inner, self._wire = inner, wire
        self._issued = Issued()
        self._count = 0

    @property
    def __class__(self) -> Any:
        """What the test made: tests ask for its class."""
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. Raises AssertionError for a request that would be rejected."""
        self._check(request)
        async for event in self._inner.stream(request):
            if isinstance(event, Response):
                yield self._read(request, event)
            else:
                yield event

    def _check(self, request: Request) -> None:
        if self._wire == "chat":
            dialect = Dialect("max_completion_tokens")
            found = [one for message in request.messages for one in chat_messages(message, dialect)]
            body = {
                **chat_fields(request, dialect),
                "messages": [*system_messages(request, mark=False), *found],
            }
        else:
            found = [one for message in request.messages for one in input_items(message, MODEL)]
            body = {**responses_fields(request, OPENAI, mark=False), "input": found}
        body["model"] = MODEL
        path = CHAT if self._wire == "chat" else RESPONSES
        check(path, json.dumps(body).encode(), OpenAiRules(lenient=True), self._issued)

    def _read(self, request: Request, response: Response) -> Response:
        """The response after its way over the wire."""
        blocks = [_scripted(block) for block in response.content]
        ends_so = response.stop_reason in FINISH
        if None in blocks or not ends_so or (response.content and isinstance(response.content[-1], Thinking)):
            return response  # what only the Messages API has
        reply = Reply([one for one in blocks if one is not None], stop_reason=response.stop_reason)
        self._count += 1
        asked = Asked(MODEL, f"{id(self)} {self._count}".encode(), PromptUsage(1))
        translation: Translation
        if self._wire == "chat":
            translation, pieces = ChatChunks(full_names(request)), chat_pieces(reply, asked)
        else:
            translation, pieces = ResponseEvents(request), responses_pieces(reply, asked, self._issued)
        assembly = Assembly(lambda: "call_without_id")
        for piece in pieces:
            data = piece.partition(b"data: ")[2].strip()
            event = {"type": "[DONE]"} if data == b"[DONE]" else json.loads(data)
            for one in translation.events(event):
                assembly.feed(one)
        read = assembly.response()
        content = tuple(
            old if isinstance(old, Thinking | RedactedThinking) else new
            for old, new in zip(response.content, read.content, strict=True)
        )
        assert [type(one) for one in content] == [type(one) for one in response.content]
        return Response(
            content, read.stop_reason, response.usage, response.model, response.request_id,
            response.input_transformations, response.thinking_tokens, response.applied_edits,
        )  # fmt: skip


def _scripted(block: Any) -> Any:
    match block:
        case Text(text, ()) if text:
            return Words(text)
        case Thinking(thinking, _) if thinking:
            return Thought(thinking)
        case ToolUse(call_id, name, given):
            raw = given.get(INVALID_INPUT) if given.keys() == {INVALID_INPUT} else None
            return Call(name, dict(given), call_id, raw if isinstance(raw, str) else None)
        case _:
            return None
