"""What a request says to the demo model: the newest words, what was called since and what came back.

Everything is read from the request itself, so that the same request always gets the same answer, also after a
resume.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from prunecli.model.messages import Json, ToolUse
from prunecli.model.planning import is_plan_note
from prunecli.model.requests import Request, WireMessage

MEMO = "<pruned-memo "
"""How a memo begins: a block of the user's side that holds no words of the user (PRUNING.md section 2)."""

NOT_THE_USER = "[This is prunecli, not the user.]"
"""How the request for a summary begins (context/compaction.py)."""

SUMMARY = "[Earlier messages were replaced by this summary.]"
"""How the block that a compaction left begins; the user's words in it are the last it holds."""

_OWN_ID = r"demo_\d+_([a-z0-9]+)_\d+"
_REMEMBERED_MESSAGES = 40
_DENIED = ("The user did not allow", "Not allowed:")
_INTERRUPTED = "[interrupted: "
"""Begins the last line of a result that was cut; above it is what the call had printed."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the demo model wants to make."""

    name: str
    input: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the demo model answers: words, then calls. `label` names the step, so that the next request tells
    which one it was; `linger` is a pause in seconds between words and calls, for a person to read."""

    text: str
    calls: tuple[Call, ...] = ()
    label: str = ""
    linger: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with its result."""

    call: ToolUse
    text: str
    is_error: bool

    @property
    def denied(self) -> bool:
        """Whether the user or a rule did not let it run."""
        return self.is_error and self.text.startswith(_DENIED)

    @property
    def interrupted(self) -> bool:
        """Whether it did not finish."""
        return self.is_error and self.text.rpartition("\n")[2].startswith(_INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the demo model knows.

    `words` are the user's newest, or with `asks_summary` those of a compaction; `shown` is the output of a `!cmd`
    where they were one, else None.
    `run` are its own calls since then that the context still holds, `last` those of the newest message, `label`
    its step ("" before the first). `earlier` are its calls of before. `memos` are all that the context holds.
    """

    words: str
    shown: str | None
    asks_summary: bool
    run: tuple[Answered, ...]
    last: tuple[Answered, ...]
    label: str
    earlier: tuple[Answered, ...]
    memos: tuple[str, ...]
    tools: frozenset[str]
    begins: bool
    stamp: int

    def id_of(self, label: str, number: int) -> str:
        """The id of a call: unique in the session, because the newest entry's seq is in it."""
        return f"demo_{self.stamp}_{label}_{number}"


@dataclass(frozen=True, slots=True)
class _Words:
    message: int
    text: str
    shown: str | None


def conversation(request: Request) -> Conversation:
    """What the request says. A request that is no conversation gives empty words."""
    messages = request.messages
    said = _newest_words(messages)
    start = said.message
    run = list(_exchanges(messages[start:]))
    last = run[-1] if run else ()
    asks_summary = said.text.startswith(NOT_THE_USER)
    remembered = 0 if asks_summary else max(0, start + 1 - _REMEMBERED_MESSAGES)
    earlier = list(_exchanges(messages[remembered : start + 1]))
    final = messages[-1].seqs if messages else ()
    return Conversation(
        said.text,
        said.shown,
        asks_summary,
        tuple(answered for exchange in run for answered in exchange),
        last,
        label_of(last[0].call.id) if last else "",
        tuple(answered for exchange in earlier for answered in exchange),
        tuple(_memos(messages)),
        frozenset(
            name for tool in request.preamble.tools if isinstance(name := _object(tool).get("name"), str)
        ),
        not any(message.role == "assistant" for message in messages),
        max(final, default=len(messages)),
    )


def _newest_words(messages: Sequence[WireMessage]) -> _Words:
    """The newest entry of the user that has words: its first text. More texts are the output of a `!cmd`."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role != "user":
            continue
        entries: dict[int, list[str]] = {}
        for at, (block, text) in enumerate(_texts(messages[index])):
            seqs = messages[index].seqs
            entries.setdefault(seqs[block] if block < len(seqs) else -1 - at, []).append(text)
        if entries:
            first, *rest = list(entries.values())[-1]
            if first.startswith(SUMMARY):
                first = _last_words_in(first)
            command = bool(rest) and first.startswith("!")
            return _Words(index, first, "\n".join(rest) if command else None)
    return _Words(0, "", None)


def _last_words_in(summary: str) -> str:
    found = re.search(r"<user-words>\n(.*)\n</user-words>", summary, re.DOTALL)
    return found[1].rpartition("\n\n")[2] if found else ""


def _texts(message: WireMessage) -> Iterator[tuple[int, str]]:
    """The message's own texts with the index of their block; memos and tool results left out."""
    for index, block in enumerate(message.blocks):
        value = _object(block)
        if value.get("type") != "text" or is_plan_note(str(value["text"])):
            continue
        if not str(value["text"]).startswith(MEMO):
            yield index, str(value["text"])


def _memos(messages: Sequence[WireMessage]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks if message.role == "user" and MEMO.encode() in message.canonical else ():
            value = _object(block)
            if value.get("type") == "text" and str(value["text"]).startswith(MEMO):
                inner = str(value["text"]).partition(">")[2].removesuffix("</pruned-memo>")
                yield inner.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _exchanges(messages: Sequence[WireMessage]) -> Iterator[tuple[Answered, ...]]:
    """The demo model's own calls of each assistant message, with the results in the message after it."""
    for message, following in pairwise(messages):
        if message.role != "assistant":
            continue
        values = [_object(block) for block in following.blocks]
        results = {value.get("tool_use_id"): value for value in values if value.get("type") == "tool_result"}
        uses = [use for block in message.blocks if (use := _object(block)).get("type") == "tool_use"]
        own = [use for use in uses if use["id"] in results and label_of(use["id"])]
        yield tuple(_answered(use, results[use["id"]]) for use in own)


def _answered(use: Mapping[str, Json], result: Mapping[str, Json]) -> Answered:
    content = result.get("content") or ()
    texts = (
        [content] if isinstance(content, str) else [str(part.get("text") or "[an image]") for part in content]
    )
    call = ToolUse(str(use["id"]), str(use["name"]), use["input"])
    return Answered(call, "\n".join(texts), result.get("is_error") is True)


def label_of(id_: str) -> str:
    """The label in the id of a call of the demo model's, "" in another's."""
    found = re.fullmatch(_OWN_ID, id_)
    return found[1] if found else ""


def _object(block: bytes) -> dict[str, Json]:
    """A canonical block; the fold made it, so it is JSON. Anything but an object is as good as an empty one."""
    value = json.loads(block)
    return value if isinstance(value, dict) else {}
