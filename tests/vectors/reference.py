"""A second implementation of the rules, on plain messages: what each strategy with an original must answer.

Written from the text alone, with lists and loops, and without anything of the engine: tokens are characters / 4,
recall and gate are off, nothing was pruned before.
"""

import json
import unicodedata
from dataclasses import dataclass, field
from math import ceil
from typing import Any

Messages = list[dict[str, Any]]
DENSE = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH"}


@dataclass
class Result:
    """A tool result: where it stands, what it shows, and whose it is."""

    at: int
    step: int
    use: str
    tool: str
    given: dict[str, Any]
    texts: list[str]
    images: int
    error: bool

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def chars(self) -> int:
        return sum(map(len, self.texts))


@dataclass
class Read:
    """A transcript taken apart: places of user messages and steps, and the results."""

    users: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)
    thinks: list[bool] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    user_chars: int = 0
    user_images: int = 0
    said: int = 0

    @property
    def seen(self) -> set[int]:
        """The steps whose results the model has answered to; one without calls is finished at once."""
        last = len(self.steps) - 1
        return {step for step in range(len(self.steps)) if step < last or not self.calls[step]}


def read(messages: Messages) -> Read:
    found, place, made = Read(), 0, dict[str, tuple[int, str, dict[str, Any]]]()
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            place += 1
            step = len(found.steps)
            found.steps.append(place)
            uses = [block for block in blocks if block["type"] == "tool_use"]
            found.calls.append([use["id"] for use in uses])
            found.thinks.append(blocks[0]["type"] == "thinking")
            made.update((use["id"], (step, use["name"], use["input"])) for use in uses)
            found.said += sum(len(b["text"]) for b in blocks if b["type"] == "text")
            found.said += sum(len(b["thinking"]) for b in blocks if b["type"] == "thinking")
            found.said += sum(
                len(json.dumps(u["input"], ensure_ascii=False, separators=(",", ":"))) for u in uses
            )
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                place += 1
                step, tool, given = made[block["tool_use_id"]]
                parts = block["content"]
                parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
                texts = [part["text"] for part in parts if part["type"] == "text"]
                images = sum(part["type"] == "image" for part in parts)
                error = bool(block.get("is_error"))
                use = block["tool_use_id"]
                found.results.append(Result(place, step, use, tool, given, texts, images, error))
        words = [block for block in blocks if block["type"] != "tool_result"]
        if words:
            place += 1
            found.users.append(place)
            found.user_chars += sum(len(b["text"]) for b in words if b["type"] == "text")
            found.user_images += sum(b["type"] == "image" for b in words)
    return found


def smaller(result: Result, text: str) -> bool:
    """Whether a replacement has fewer tokens: else it is not made."""
    before = sum(map(tokens_of, result.texts)) + 1600 * result.images
    return tokens_of(text) < before


def tokens_of(text: str) -> int:
    """A quarter of the characters; Chinese, Japanese and Korean ones count two and a half times."""
    names = [unicodedata.name(one, "").split() for one in text if ord(one) > 0x10FF]
    dense = sum(any(word in DENSE for word in name) for name in names)
    return ceil(len(text) / 4 + dense * 3 / 8)


def pi(found: Read, o: dict[str, Any], window: int) -> dict[str, str]:
    recent = _turn(found, o["protected_turns"])
    used, freed, edits = 0, 0, dict[str, str]()
    for result in reversed(found.results):
        if result.at > recent or result.tool in o["protected_tools"]:
            continue
        if o["prunable_tools"] and result.tool not in o["prunable_tools"]:
            continue
        tokens = ceil((result.chars + 4800 * result.images) / 4)
        if used < o["prune_protect"]:
            used += tokens
            continue
        if result.error or result.step not in found.seen:
            continue
        freed += tokens
        names = [n for n in ("path", "command", "pattern", "query") if isinstance(result.given.get(n), str)]
        argument = f' {names[0]}="{result.given[names[0]][:80]}"' if names else ""
        edits[result.use] = f"[output pruned — ~{tokens:,} tokens | {result.tool}{argument}]"
    return _made(found, edits) if freed >= o["prune_minimum"] else {}


def opencode(found: Read, o: dict[str, Any], window: int) -> dict[str, str]:
    recent = _turn(found, o["protected_turns"])
    total, freed, edits = 0, 0, dict[str, str]()
    for result in reversed(found.results):
        if result.at > recent or result.error or result.tool in o["protected_tools"]:
            continue
        tokens = int(result.chars / 4 + 0.5)
        total += tokens
        if total > o["prune_protect"] and result.step in found.seen:
            freed += tokens
            edits[result.use] = "[Old tool result content cleared]"
    return _made(found, edits) if freed > o["prune_minimum"] else {}


def aggressive(found: Read, o: dict[str, Any], window: int) -> dict[str, str]:
    text = o["hard_clear.placeholder"]
    return _made(found, {result.use: text for result in _eligible(found, o)})


def adaptive(found: Read, o: dict[str, Any], window: int) -> dict[str, str]:
    room, eligible = 4 * window, _eligible(found, o)
    images = found.user_images + sum(result.images for result in found.results)
    total = found.user_chars + found.said + sum(r.chars for r in found.results) + 8000 * images
    if total / room < o["soft_trim_ratio"]:
        return {}
    head, tail = o["soft_trim.head_chars"], o["soft_trim.tail_chars"]
    edits, shown = dict[str, str](), {result.use: result.chars for result in eligible}
    for result in eligible:
        text = result.text
        if len(text) > o["soft_trim.max_chars"] and head + tail < len(text):
            note = f"kept first {head} chars and last {tail} chars of {len(text)} chars.]"
            end = text[len(text) - tail :]
            edits[result.use] = f"{text[:head]}\n...\n{end}\n\n[Tool result trimmed: {note}"
            total += len(edits[result.use]) - shown[result.use]
            shown[result.use] = len(edits[result.use])
    if o["hard_clear.enabled"] and sum(shown.values()) >= o["min_prunable_tool_chars"]:
        for result in eligible:
            if total / room < o["hard_clear_ratio"]:
                break
            total += len(o["hard_clear.placeholder"]) - shown[result.use]
            if smaller(result, o["hard_clear.placeholder"]):
                edits[result.use] = o["hard_clear.placeholder"]
    return _made(found, edits)


def prune_old_observations(found: Read, o: dict[str, Any], window: int) -> dict[str, str]:
    first = len(found.steps) - max(0, o["keep_last_n"])
    edits = {
        result.use: result.text[: o["max_length"]] + "..."
        for result in found.results
        if result.step < first
        and result.step in found.seen
        and len(result.text) > o["max_length"]
        and not result.images
    }
    return _made(found, edits)


def keep_last_n_steps(found: Read, o: dict[str, Any], window: int) -> set[str]:
    """The calls that are still there."""
    first = len(found.steps) - max(0, o["n"])
    kept = [step for step in range(len(found.steps)) if step >= first or step not in found.seen]
    kept += _thinking_needed(found, kept)
    return {use for step in kept for use in found.calls[step]}


def _thinking_needed(found: Read, kept: list[int]) -> list[int]:
    """The step that stays so that the open tool loop begins with thinking (section 9, rule 2)."""
    last = len(found.steps) - 1
    if last < 0 or last in found.seen:
        return []
    begin = max((at for at in found.users if at < found.steps[last]), default=0)
    loop = [step for step in range(last + 1) if found.steps[step] > begin]
    head = next(step for step in loop if step in kept)
    if found.thinks[head] or not found.calls[head]:
        return []
    return [step for step in loop if step < head and found.thinks[step]][-1:]


CHANGES = {
    "pi": pi,
    "opencode": opencode,
    "aggressive": aggressive,
    "adaptive": adaptive,
    "prune_old_observations": prune_old_observations,
}


def _turn(found: Read, turns: int) -> float:
    """The place of the user message that begins the last `turns` user turns; after it all is protected."""
    if turns <= 0:
        return float("inf")
    return found.users[-turns] if turns <= len(found.users) else -1


def _eligible(found: Read, o: dict[str, Any]) -> list[Result]:
    keep = o["keep_last_assistants"]
    if keep > len(found.steps) or not found.users:
        return []
    cutoff = found.steps[-keep] if keep > 0 else float("inf")
    return [
        result
        for result in found.results
        if found.users[0] < result.at < cutoff
        and result.step in found.seen
        and not result.images
        and _allowed(result.tool.lower(), o["tools.allow"], o["tools.deny"])
    ]


def _allowed(tool: str, allow: list[str], deny: list[str]) -> bool:
    if any(_matches(tool, pattern.lower()) for pattern in deny):
        return False
    return not allow or any(_matches(tool, pattern.lower()) for pattern in allow)


def _matches(name: str, pattern: str) -> bool:
    """`*` stands for any characters, nothing else is special."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == first
    if not name.startswith(first):
        return False
    name, last = name[len(first) :], rest.pop()
    for part in rest:
        at = name.find(part)
        if at < 0:
            return False
        name = name[at + len(part) :]
    return name.endswith(last)


def _made(found: Read, edits: dict[str, str]) -> dict[str, str]:
    return {r.use: edits[r.use] for r in found.results if r.use in edits and smaller(r, edits[r.use])}
