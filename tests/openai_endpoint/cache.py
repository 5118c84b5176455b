"""What do automatic and explicit prompt caches answer? Usage by exact prefix, as OpenAI documents it.

Automatic (up to GPT-5.5, and most other vendors): the longest prefix that an earlier request of the model had, from
1,024 tokens on, in blocks of 128; written for nothing. Explicit (GPT-5.6 and newer): prefixes end at the breakpoints
of earlier requests, exactly; what a request writes is reported and billed.

A token is four characters of the prompt's canonical JSON.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

LEAST, BLOCK, CHARS = 1_024, 128, 4
_MARK = '"prompt_cache_breakpoint"'


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """Tokens of one prompt: all of them, and those read from the cache and written to it."""

    prompt: int
    read: int = 0
    written: int = 0


@dataclass(slots=True)
class Caches:
    """The caches of one endpoint, by model. `clock` gives seconds, of which a prefix lives `seconds`."""

    seconds: float
    clock: Callable[[], float]
    _seen: dict[str, list[list[Any]]] = field(default_factory=dict)

    def account(self, request: Mapping[str, Any], *, explicit: bool) -> PromptUsage:
        """The usage of a request, whose prefixes are kept from now on."""
        pieces, marks = pieces_of(request)
        whole = "".join(pieces)
        ends = [len("".join(pieces[: at + 1])) for at in marks] if explicit else [len(whole)]
        now, known = self.clock(), self._seen.setdefault(request["model"], [])
        known[:] = [one for one in known if one[1] > now]
        best = 0
        for entry in known:
            same = _common(entry[0], whole)
            if explicit and same < len(entry[0]):
                continue
            if same > best:
                best = same
            if same // CHARS >= LEAST:
                entry[1] = now + self.seconds
        read = best // CHARS if explicit else best // CHARS // BLOCK * BLOCK
        read = read if best // CHARS >= LEAST else 0
        for end in ends:
            if end // CHARS >= LEAST:
                known.append([whole[:end], now + self.seconds])
        total = -(-len(whole) // CHARS)
        read = min(read, total - 1)
        written = max([end // CHARS for end in ends if end // CHARS >= LEAST], default=0) - read
        return PromptUsage(total, read, max(0, written) if explicit else 0)


def pieces_of(request: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """The prompt as text, item by item, and the items that end in a breakpoint."""
    items = request.get("messages") or request.get("input") or ()
    head = [json.dumps([request.get("tools"), request.get("instructions")], sort_keys=True)]
    texts = [json.dumps(item, sort_keys=True) for item in items]
    marks = [at + 1 for at, text in enumerate(texts) if _MARK in text]
    plain = [json.dumps(_unmarked(item), sort_keys=True) for item in items]
    return [*head, *plain], marks


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "prompt_cache_breakpoint"}
    if isinstance(value, list):
        found = [_unmarked(one) for one in value]
        only = found[0] if len(found) == 1 else None  # a text that stands alone is the same without its list
        text = only.get("text") if isinstance(only, dict) and only.keys() == {"type", "text"} else None
        return found if text is None else text
    return value


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
