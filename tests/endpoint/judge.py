"""Would the service take this request? The order of the checks, and what is remembered from one to the next.

Three modes with the same verdicts: "full" reads every request from its first byte, "incremental" does not read
again the messages that the previous request had, "off" accepts everything unread (for measuring a client).
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tests.endpoint.binding import (
    UNBOUND,
    Mismatch,
    Prefix,
    PrefixChain,
    Reader,
    bind,
)
from tests.endpoint.body import Body, Fresh, Known, parse_body
from tests.endpoint.clearing import Cleared, clear
from tests.endpoint.content import Facts, examine
from tests.endpoint.conversation import Replies, check_breakpoints, check_messages, check_open_loop
from tests.endpoint.fields import Preamble, check_fields
from tests.endpoint.headers import check_headers
from tests.endpoint.http1 import HttpRequest
from tests.endpoint.render import Prompt, RenderedBlock, compact
from tests.endpoint.rules import BINDING_CONTROLS, Rules
from tests.endpoint.shape import Json, RefusedError, cache_ttl
from tests.endpoint.summaries import Replaced, check_summaries, preamble_digest

Mode: TypeAlias = Literal["full", "incremental", "off"]

_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')
_STREAM = re.compile(rb'"stream"\s*:\s*true')


@dataclass(frozen=True, slots=True)
class Examined:
    """A message with its facts, kept for the next request."""

    value: Json
    facts: Facts


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that the service would answer. `json` is None when it was not read (mode "off"); `prefix` is what
    the reply's thinking is bound to; `visible`: its text is shown; `transformations` are what is reported of the
    request, `applied_edits` what was edited in its copy, None where nothing is; `replaced` is what a summary would
    replace, None where an answer is asked for."""

    json: dict[str, Json] | None
    prompt: Prompt
    stream: bool
    prefix: Prefix = UNBOUND
    visible: bool = True
    transformations: tuple[dict[str, Json], ...] | None = None
    applied_edits: tuple[dict[str, Json], ...] | None = None
    replaced: Replaced | None = None


class Judge:
    """Judges requests of one endpoint, in the order they arrive."""

    def __init__(self, rules: Rules, mode: Mode = "incremental"):
        self.replies = Replies()
        """What was sent so far; the service adds to it."""
        self._rules = rules
        self._mode = mode
        self._known: Known[Examined] | None = None
        self._chain = PrefixChain()

    def judge(self, request: HttpRequest, counting: bool = False) -> Accepted:
        """Judge a POST request; `counting` for count_tokens. Raises RefusedError."""
        rules = self._rules
        client = check_headers(request.headers, rules)
        if request.oversized or len(request.body) > rules.body_limit:
            raise RefusedError("", "Request exceeds the maximum size", 413, "request_too_large")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusedError("content-type", "header must be application/json")
        if self._mode == "off":
            return self._unread(request.body)
        parsed = parse_body(request.body, self._known)
        preamble = check_fields(parsed.fields, parsed.messages is not None, client, rules, counting)
        messages = self._examined(parsed)
        facts = [message.facts for message in messages]
        last = messages[-1].value if messages else None
        goes_on = isinstance(last, dict) and self.replies.goes_on(last.get("content"))
        goes_on = goes_on or preamble.compacts
        if preamble.compacts and not facts:
            raise RefusedError("messages", "nothing to summarize", code="compaction_nothing_to_summarize")
        check_messages(facts, preamble.model, rules, self.replies, client.version, goes_on=goes_on)
        check_summaries(facts, client.betas, preamble.model, rules, asked=preamble.compacts)
        if preamble.thinking == "enabled":
            check_open_loop(facts)
        reported = BINDING_CONTROLS in client.betas
        reader = Reader(preamble.model, client.account, self._mismatch(preamble), reported)
        bound = bind(preamble.blocks, facts, self._chain, reader)
        prompt, cleared = self._prompt(parsed, preamble, facts, bound.dropped), Cleared()
        for edit in preamble.edits or ():
            cleared = clear(edit, messages, prompt.tokens)
            prompt = self._prompt(parsed, preamble, facts, bound.dropped, cleared)
        window = preamble.model.window
        if (tokens := prompt.tokens) > window:
            raise RefusedError("", f"prompt is too long: {tokens} tokens > {window} maximum")
        json = {**parsed.fields, "messages": [message.value for message in messages]}
        return Accepted(
            json,
            prompt,
            parsed.fields.get("stream") is True,
            bound.prefix,
            preamble.visible,
            bound.transformations if reported else None,
            None if preamble.edits is None else cleared.applied,
            Replaced(bound.prefix.digest, preamble_digest(preamble.blocks), facts[-1].role)
            if preamble.compacts
            else None,
        )

    def _mismatch(self, preamble: Preamble) -> Mismatch:
        """What is done with thinking out of its conversation: as the client asks, else as the account is old."""
        if preamble.mismatch:
            return preamble.mismatch
        return "allow" if self._rules.old_account and not preamble.model.every_account else "error"

    def _examined(self, parsed: Body[Examined]) -> list[Examined]:
        """The messages with their facts, which are not made again for those of the previous request."""
        messages = [
            Examined(message.value, examine(message.value, self._rules))
            if isinstance(message, Fresh)
            else message
            for message in parsed.messages or []
        ]
        if self._mode == "incremental" and all(isinstance(message.value, dict) for message in messages):
            self._known = Known(parsed.places, messages)
        return messages

    def _prompt(
        self,
        parsed: Body[Examined],
        preamble: Preamble,
        facts: Sequence[Facts],
        dropped: Set[tuple[int, int]],
        cleared: Cleared | None = None,
    ) -> Prompt:
        fields = parsed.fields
        marks = list(preamble.marks)
        blocks: list[RenderedBlock] = [*preamble.blocks]
        for index, message in enumerate(facts):
            if cleared and cleared.blocks:
                places = [((index, at), block) for at, block in enumerate(message.blocks)]
                blocks += [cleared.blocks.get(at, block) for at, block in places if at not in dropped]
            elif message.thoughtful and dropped:
                blocks += [block for at, block in enumerate(message.blocks) if (index, at) not in dropped]
            else:
                blocks += message.blocks
            if message.marks:
                marks.extend((f"messages.{index}.{where}", ttl) for where, ttl in message.marks)
        automatic = cache_ttl(fields, "")
        if automatic:
            marks.append(("", automatic))
            last = max((place for place, block in enumerate(blocks) if not block.thinking), default=None)
            if last is not None:
                blocks[last] = replace(blocks[last], ttl=blocks[last].ttl or automatic)
        check_breakpoints(marks, self._rules.max_breakpoints)
        parameters = compact([fields.get("tool_choice"), preamble.thinking, preamble.effort])
        return Prompt(tuple(blocks), len(preamble.blocks), preamble.model.id, parameters)

    def _unread(self, body: bytes) -> Accepted:
        model = _MODEL.search(body)
        name = model[1].decode(errors="replace") if model else ""
        whole = RenderedBlock(b"", max(1, -(-len(body) // self._rules.chars_per_token)))
        return Accepted(None, Prompt((whole,), 0, name, ""), _STREAM.search(body) is not None)
