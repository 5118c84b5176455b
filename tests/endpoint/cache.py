"""What does the prompt cache answer? Usage by exact prefix match, as the service documents it.

Every prefix that was ever sent is a path in a tree of blocks. A breakpoint stores an entry at its prefix; a lookup
walks back from each breakpoint over at most `lookback` blocks, itself included. An entry lives five minutes or an
hour, and longer when it is read, itself or within a longer one. The same tree answers what the transcripts would have
allowed at best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.endpoint.render import Prompt, RenderedBlock
from tests.endpoint.rules import Rules
from tests.endpoint.shape import Json

SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request. `write_5m` and `write_1h` add up to what was written to the cache; `reusable` is the
    longest prefix, in blocks, that any earlier request had: the most that a cache could have read.
    `thinking_tokens` are part of `output_tokens`."""

    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    write_5m: int = 0
    write_1h: int = 0
    output_tokens: int = 0
    reusable: int = 0
    thinking_tokens: int = 0

    @property
    def cache_creation_input_tokens(self) -> int:
        """What was written to the cache."""
        return self.write_5m + self.write_1h

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt: read, written and new."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens

    def json(self, cache_fields: bool = True) -> dict[str, Json]:
        """The usage object of a response; without cache fields all of the prompt is input, as local servers say."""
        if not cache_fields:
            return {"input_tokens": self.prompt_tokens, "output_tokens": self.output_tokens}
        return {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.write_5m,
                "ephemeral_1h_input_tokens": self.write_1h,
            },
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"thinking_tokens": self.thinking_tokens},
            "service_tier": "standard",
        }


class _Entry:
    """A stored prefix: until when (seconds of the clock), and its lifetime."""

    __slots__ = ("expires", "lifetime")

    def __init__(self) -> None:
        self.expires = 0.0
        self.lifetime = 0.0


class _Node:
    """A prefix: `tokens` up to and with its last block; entries by (model, parameters)."""

    __slots__ = ("children", "entries", "tokens")

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.children: dict[bytes, _Node] = {}
        self.entries: dict[tuple[str, str], _Entry] = {}


class PromptCache:
    """The cache of one endpoint; `clock` gives seconds and may be a test's own."""

    def __init__(self, rules: Rules, clock: Callable[[], float]):
        self._rules = rules
        self._clock = clock
        self._root = _Node(0)
        self._last: tuple[Sequence[RenderedBlock], list[_Node]] = ((), [])

    def account(self, prompt: Prompt) -> Usage:
        """The usage of a request that is answered; its breakpoints are stored."""
        now = self._clock()
        path, shared = self._walk(prompt)
        breakpoints = [place for place, block in enumerate(prompt.blocks) if block.ttl]
        read = self._read(prompt, path, breakpoints, now)
        covered = path[read].tokens if read is not None else 0
        written = {"5m": covered, "1h": covered}
        for place in breakpoints:
            if path[place].tokens < self._rules.cache_minimum:
                continue
            ttl = prompt.blocks[place].ttl if self._rules.caches_an_hour else "5m"
            self._store(path[place], self._name(prompt, place), SECONDS[ttl], now)
            written[ttl] = max(written[ttl], path[place].tokens)
        end = max(written["5m"], written["1h"])
        long = written["1h"] - covered
        total = path[-1].tokens if path else 0
        return Usage(total - end, covered, end - covered - long, long, reusable=shared)

    def _walk(self, prompt: Prompt) -> tuple[list[_Node], int]:
        """The nodes of every prefix, made where new, and the tokens of the longest one that was there before."""
        same = _same(self._last[0], prompt.blocks)
        path = self._last[1][:same]
        node = path[-1] if path else self._root
        shared = node.tokens
        for block in prompt.blocks[same:]:
            child = node.children.get(block.key)
            if child is None:
                child = node.children[block.key] = _Node(node.tokens + block.tokens)
            else:
                shared = child.tokens
            path.append(child)
            node = child
        self._last = prompt.blocks, path
        return path, shared

    def _read(self, prompt: Prompt, path: list[_Node], breakpoints: list[int], now: float) -> int | None:
        """The block at which the longest stored prefix ends. What is read renews each entry within it."""
        found: int | None = None
        for place in breakpoints:
            for back in range(place, max(-1, place - self._rules.lookback), -1):
                entry = path[back].entries.get(self._name(prompt, back))
                if entry is not None and entry.expires > now:
                    found = back if found is None else max(found, back)
                    break
        for place in range(0 if found is None else found + 1):
            entry = path[place].entries and path[place].entries.get(self._name(prompt, place))
            if entry and entry.expires > now:
                entry.expires = now + entry.lifetime
        return found

    def _name(self, prompt: Prompt, place: int) -> tuple[str, str]:
        """Parameters are part of what is stored behind the preamble only."""
        return prompt.model, prompt.parameters if place >= prompt.preamble else ""

    @staticmethod
    def _store(node: _Node, name: tuple[str, str], lifetime: float, now: float) -> None:
        entry = node.entries.setdefault(name, _Entry())
        entry.lifetime = max(lifetime, entry.lifetime if entry.expires > now else 0.0)
        entry.expires = now + entry.lifetime


def _same(old: Sequence[RenderedBlock], new: Sequence[RenderedBlock]) -> int:
    """How many blocks in front are the very same objects, as they are when messages were not read again."""
    for place, (before, now) in enumerate(zip(old, new, strict=False)):
        if before is not now:
            return place
    return min(len(old), len(new))
