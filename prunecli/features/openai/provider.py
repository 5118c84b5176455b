"""The provider of OpenAI's protocols: sends requests over one of them, and reads the answers."""

import json
from collections.abc import Callable
from dataclasses import field, replace
from typing import Literal, TypeAlias

from prunecli.features.openai.chat import PATH as CHAT_PATH
from prunecli.features.openai.chat import ChatChunks, chat_fields, chat_messages, system_messages
from prunecli.features.openai.failures import OpenAiFailures
from prunecli.features.openai.responses import PATH as RESPONSES_PATH
from prunecli.features.openai.responses import ResponseEvents, input_items, responses_fields, system_items
from prunecli.features.openai.sdk_wire import OpenAiWire
from prunecli.features.openai.tables import PHASE, Dialect
from prunecli.features.openai.wording import full_names, has_marks
from prunecli.model.codec import canonical
from prunecli.model.messages import Json
from prunecli.model.requests import COMPACTION, SEARCH, Request, WireMessage
from prunecli.providers.messages_api import HttpProvider, Translation
from prunecli.providers.model_list import page_of
from prunecli.providers.models import Offer
from prunecli.providers.network import DIRECT, Route
from prunecli.providers.optional_fields import CONTEXT_MANAGEMENT
from prunecli.providers.provider import Response
from prunecli.providers.response_reader import LOCAL_PATIENCE, EventReader, Patience
from prunecli.providers.wire import Wire
from prunecli.util.errors import BadRequest, FieldRefused
from prunecli.util.frozen import frozen

WireName: TypeAlias = Literal["responses", "chat"]


@frozen
class Target:
    """Where requests go and how: the address, the headers with the credential, the secrets in them, the protocol, and
    what the server does differently. `has_search`: it searches the web itself."""

    base_url: str
    wire: WireName
    dialect: Dialect = Dialect()
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    has_search: bool = False
    patience: Patience = LOCAL_PATIENCE


class OpenAiProvider(HttpProvider):
    """A `Provider` for one address. Keeps the translations of the messages of the last request."""

    def __init__(self, target: Target, route: Route = DIRECT) -> None:
        super().__init__(OpenAiFailures(target.base_url, target.secrets, route), target.patience)
        self._target = target
        self._route = route
        self._pieces: dict[tuple[bytes, bool], bytes] = {}
        self._made_for: tuple[str, frozenset[str]] = ("", frozenset())

    async def _asked(self, request: Request) -> tuple[EventReader, Translation]:
        lacked = (CONTEXT_MANAGEMENT, COMPACTION, *(() if self._target.has_search else (SEARCH,)))
        if fields := tuple(name for name in lacked if name in request.optional_fields):
            raise FieldRefused(f"{self._target.base_url} has no {fields[0]}", fields=fields)
        if self._target.wire == "chat":
            return await self._open(CHAT_PATH, self._chat_body(request)), ChatChunks(full_names(request))
        return await self._open(RESPONSES_PATH, self._responses_body(request)), ResponseEvents(request)

    def _connect(self) -> Wire:
        target = self._target
        parts = target.base_url, target.headers, self._route, self._patience.connect
        return OpenAiWire(*parts, is_openai=target.dialect.is_openai)

    def _told(self, response: Response, request: Request) -> Response:
        """Return the response with the true stop reason. llama.cpp reports a reply cut by its limit as completed over
        the Responses API."""
        cut = response.stop_reason == "end_turn" and response.usage.output_tokens >= request.max_tokens
        if cut and not self._target.dialect.is_openai:
            return replace(response, stop_reason="max_tokens")
        return response

    async def models(self) -> tuple[Offer, ...]:
        """See `Provider.models`."""
        try:
            body = await self._get("/models")
        except BadRequest:
            return ()
        return page_of(body).models if body else ()

    def _chat_body(self, request: Request) -> bytes:
        dialect, marks = self._target.dialect, has_marks(request) and self._target.dialect.is_openai

        def translated(message: WireMessage, *, mark: bool) -> list[Json]:
            return chat_messages(message, dialect, mark=mark)

        head = system_messages(request, mark=marks)
        return self._body(chat_fields(request, dialect), "messages", head, request, translated, marks=marks)

    def _responses_body(self, request: Request) -> bytes:
        model, without = request.model, request.without & {PHASE}
        marks = has_marks(request) and self._target.dialect.is_openai

        def translated(message: WireMessage, *, mark: bool) -> list[Json]:
            return input_items(message, model, without, mark=mark)

        head = system_items(request) if marks else []
        return self._body(
            responses_fields(request, self._target.dialect, mark=marks),
            "input",
            head,
            request,
            translated,
            marks=marks,
        )

    def _body(
        self,
        fields: dict[str, Json],
        name: str,
        head: list[Json],
        request: Request,
        translate: Callable[..., list[Json]],
        *,
        marks: bool,
    ) -> bytes:
        """Return the JSON body, with the translation of each message made only once."""
        marked = frozenset(request.cache_marks) if marks else frozenset()
        made_for = request.model, request.without
        known = self._pieces if self._made_for == made_for else {}
        pieces, found = [canonical(item) for item in head], dict[tuple[bytes, bool], bytes]()
        for at, message in enumerate(request.messages):
            key = message.canonical, at in marked
            piece = known.get(key)
            if piece is None:
                piece = b",".join(canonical(item) for item in translate(message, mark=key[1]))
            found[key] = piece
            if piece:
                pieces.append(piece)
        self._pieces, self._made_for = found, made_for
        return b'%b,"%b":[%b]}' % (json.dumps(fields).encode()[:-1], name.encode(), b",".join(pieces))
