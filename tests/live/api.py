"""The smallest client: posts JSON, reads JSON or an event stream. And a conversation that thinks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

BINDING = "thinking-binding-controls-2026-08-01"
ADAPTIVE: dict[str, Any] = {"type": "adaptive"}
PUZZLES = (
    "What is the smallest number that 4, 6 and 15 divide and whose digits add up to 6? Answer with it alone.",
    "And the smallest above 200 of which the same holds? Answer with it alone.",
    "How many such numbers are there below 2000? Answer with the number alone.",
    "Which of them is the largest? Answer with it alone.",
)


def bound(behavior: str = "drop_block") -> dict[str, Any]:
    """Adaptive thinking with this behavior for what no longer fits."""
    return {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": behavior}}


def text(words: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": [{"type": "text", "text": words}]}


@dataclass(frozen=True)
class Answer:
    """A status with its body; of a stream its events."""

    status: int
    body: Any
    events: tuple[Any, ...] = ()

    @property
    def error(self) -> str:
        """The message of a refusal."""
        return str(self.body["error"]["message"]) if self.status != 200 else ""

    @property
    def dropped(self) -> list[str]:
        """Where thinking was dropped."""
        told = self.body.get("input_transformations")
        assert told is not None, "nothing was reported"
        return [one["path"] for one in told if one["type"] == "thinking_dropped"]

    @property
    def tokens(self) -> int:
        """Prompt tokens that were billed."""
        usage = self.body["usage"]
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(usage.get(key) or 0 for key in keys)


@dataclass(frozen=True)
class Api:
    """An endpoint; `model` is asked unless a body names another."""

    base_url: str
    key: str = field(repr=False)
    model: str = "claude-opus-5-5"

    def post(
        self, messages: Sequence[Any], betas: tuple[str, ...] = (), path: str = "/v1/messages", **fields: Any
    ) -> Answer:
        """One request; fields given as None are left out."""
        given = {
            "model": self.model,
            "max_tokens": 4_000,
            "thinking": ADAPTIVE,
            "messages": messages,
            **fields,
        }
        headers = {
            "x-api-key": self.key,
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
            **({"anthropic-beta": ",".join(betas)} if betas else {}),
        }
        data = json.dumps({name: value for name, value in given.items() if value is not None}).encode()
        request = Request(f"{self.base_url}{path}", data, headers)  # http on loopback, else https
        try:
            with urlopen(request, timeout=300) as response:
                text = response.read().decode()
        except HTTPError as refused:
            return Answer(refused.code, json.loads(refused.read()))
        if not given.get("stream"):
            return Answer(200, json.loads(text))
        events = tuple(json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))
        return Answer(200, events[0]["message"], events)


@dataclass
class Talk:
    """A conversation with thinking in every answer: messages 1, 3, 5, …"""

    api: Api
    messages: list[dict[str, Any]] = field(default_factory=list)

    def turn(self, **fields: Any) -> Answer:
        """The next puzzle and its answer."""
        puzzle = PUZZLES[len(self.messages) // 2]
        self.messages.append({"role": "user", "content": [{"type": "text", "text": puzzle}]})
        answer = self.api.post(self.messages, (BINDING,), **{"thinking": bound(), **fields})
        assert answer.status == 200, answer.error
        content = answer.body["content"]
        if all(block["type"] != "thinking" for block in content):
            pytest.skip("the model did not think")
        self.messages.append({"role": "assistant", "content": content})
        return answer

    def ask(self, betas: tuple[str, ...] = (BINDING,), **fields: Any) -> Answer:
        """What the conversation as it stands is answered with; it is not kept."""
        last = {"role": "user", "content": [{"type": "text", "text": "Say only: ok"}]}
        return self.api.post([*self.messages, last], betas, **{"thinking": bound(), **fields})

    def edit(self, at: int, more: str = " Please.") -> str:
        """Adds words to a message of the user; the words as they were."""
        block = self.messages[at]["content"][0]
        before: str = block["text"]
        self.messages[at] = {"role": "user", "content": [{"type": "text", "text": before + more}]}
        return before

    def strip(self, *places: int) -> None:
        """Leaves out the thinking of these messages."""
        for at in places:
            kept = [block for block in self.messages[at]["content"] if block["type"] != "thinking"]
            self.messages[at] = {"role": "assistant", "content": kept}

    def thinking(self, at: int) -> Mapping[str, Any]:
        """The first thinking block of a message."""
        blocks: list[Mapping[str, Any]] = self.messages[at]["content"]
        return next(block for block in blocks if block["type"] == "thinking")
