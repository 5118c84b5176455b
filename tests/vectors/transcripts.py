"""Random transcripts in Anthropic Messages form, with what the recorded vectors do not have: several blocks in a
result, empty ones, images, errors, thinking, letters beyond the basic plane, calls that nobody answered."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

TOOLS = ("read", "bash", "grep", "edit", "ls", "skill", "Grep_Web", "image_read")
WORDS = st.sampled_from(["go on", "why?", "ünï", "𝔘nicode 🐍", "two words"])
PIECES = st.sampled_from(["line\n", "def x", "ü", "🐍", "0123456789" * 8, " tail ", "漢字"])
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


@dataclass
class Transcript:
    """Messages being written."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0


@st.composite
def texts(draw: st.DrawFn) -> str:
    return draw(PIECES) * draw(st.sampled_from([0, 1, 1, 5, 40, 200, 900]))


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """What a result holds: a string, or blocks."""
    if draw(st.integers(0, 4)) == 0:
        return draw(texts())
    blocks: list[Any] = [
        {"type": "text", "text": text} for text in draw(st.lists(texts(), min_size=0, max_size=3))
    ]
    if draw(st.integers(0, 7)) == 0:
        blocks.append(IMAGE)
    return blocks


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(["path", "command", "pattern", "query", "extra"]), max_size=2))
    values = st.one_of(st.sampled_from(["src/a.py", "x" * 120, "🐍" * 90, ""]), st.integers(0, 9))
    return {name: draw(values) for name in names}


@st.composite
def transcripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = Transcript([{"role": "user", "content": draw(WORDS)}])
    for _ in range(draw(st.integers(4, 10))):
        _exchange(draw, made, answered=True)
        for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
            made.messages.append(draw(_user()))
    if draw(st.integers(0, 4)) == 0:
        _exchange(draw, made, answered=False)
    elif draw(st.booleans()):
        made.messages.append({"role": "assistant", "content": "the end"})
    return made.messages


@st.composite
def _user(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"role": "user", "content": draw(WORDS)}
    blocks: list[Any] = [
        {"type": "text", "text": word} for word in draw(st.lists(WORDS, min_size=1, max_size=2))
    ]
    return {"role": "user", "content": [*blocks, *([IMAGE] if draw(st.integers(0, 5)) == 0 else [])]}


def _exchange(draw: st.DrawFn, made: Transcript, *, answered: bool) -> None:
    blocks: list[Any] = []
    if draw(st.integers(0, 5)) == 0:
        blocks.append({"type": "thinking", "thinking": "hm " * draw(st.integers(1, 9)), "signature": "s"})
    if draw(st.booleans()):
        blocks.append({"type": "text", "text": draw(WORDS)})
    uses = []
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3])) if blocks and answered else 1):
        made.calls += 1
        name, given = draw(st.sampled_from(TOOLS)), draw(inputs())
        uses.append({"type": "tool_use", "id": f"toolu_{made.calls}", "name": name, "input": given})
    if not uses and not any(block["type"] == "text" for block in blocks):
        blocks.append({"type": "text", "text": "done"})
    made.messages.append({"role": "assistant", "content": [*blocks, *uses]})
    results = [
        {
            "type": "tool_result",
            "tool_use_id": use["id"],
            "content": draw(contents()),
            **({"is_error": True} if draw(st.integers(0, 5)) == 0 else {}),
        }
        for use in uses
    ]
    if results and answered:
        after = [{"type": "text", "text": draw(WORDS)}] if draw(st.integers(0, 5)) == 0 else []
        made.messages.append({"role": "user", "content": [*results, *after]})
