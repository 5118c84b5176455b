"""The part of the demo model that reads a request and reports results.

It keeps no state between requests, so the same request always gets the same answer, even after a resume.
"""

import json
import re
from collections.abc import Iterator, Mapping

from prunecli.model.messages import Json, ToolUse
from prunecli.model.notes import ATTACHED, NOTICE, is_note
from prunecli.model.requests import Request, WireMessage
from prunecli.util.frozen import frozen

WHO = "I am prunecli's demo model: a script, not a language model."
REAL_MODEL = "To use a real model, run `prunecli login` or set `ANTHROPIC_API_KEY`."

_NOT_WORDS = ("<pruned-memo ", "[Earlier messages were replaced by this summary.]")
"""The beginnings of texts that a prune or a compaction adds in the user's role (context/render.py, compaction.py)."""
_OWN_ID = r"demo_\d+_([a-z]+)_\d+"
_VERBS = {
    "bash": ("run", "command"),
    "grep": ("search for", "pattern"),
    "ls": ("list", "path"),
    "prun_with_memo": ("prune", ""),
}


@frozen
class Call:
    name: str
    input: Mapping[str, Json]


@frozen
class Reply:
    """Text, then calls. `step` names the calls for the next request; `linger` is the pause before them in seconds."""

    text: str
    calls: tuple[Call, ...] = ()
    step: str = ""
    linger: float = 0.0


@frozen
class Answered:
    call: ToolUse
    text: str
    is_error: bool

    @property
    def stopped(self) -> bool:
        """Whether the user or a rule denied the call, or it was interrupted."""
        denied = self.text.startswith(("The user did not allow", "Not allowed:"))
        return self.is_error and (denied or self.text.rpartition("\n")[2].startswith("[interrupted: "))


@frozen
class Scene:
    """The user's last message, the step taken since then ("" for none) with its results, the last step before the
    message, the enabled tools, and the newest entry's number."""

    words: str
    step: str
    results: tuple[Answered, ...]
    step_before: str
    tools: frozenset[str]
    stamp: int


def scene_of(request: Request) -> Scene:
    """Return the scene of a request; without a user message, `words` is empty."""
    messages = request.messages
    said = ((at, words) for at in reversed(range(len(messages))) if (words := _words(messages[at])))
    at, words = next(said, (0, ""))
    results = _results(messages[-2], messages[-1]) if len(messages) > at + 1 else ()
    before = (
        _step_of(use["id"]) for message in reversed(messages[:at]) for use in _objects(message, "tool_use")
    )
    return Scene(
        words,
        _step_of(results[0].call.id) if results else "",
        results,
        next(filter(None, before), ""),
        frozenset(str(json.loads(tool)["name"]) for tool in request.preamble.tools),
        max(messages[-1].seqs, default=len(messages)) if messages else 0,
    )


def _words(message: WireMessage) -> str:
    """Return the first text of the last user entry in a message that is not a notice or an attachment. A second text
    would be the output of a `!cmd`."""
    entries: dict[int, str] = {}
    for index, block in enumerate(message.blocks if message.role == "user" else ()):
        value = json.loads(block)
        text = str(value.get("text", ""))
        if value.get("type") == "text" and not is_note(text) and not text.startswith(_NOT_WORDS):
            entries.setdefault(message.seqs[index] if index < len(message.seqs) else -1 - index, text)
    said = [text for text in entries.values() if not text.startswith((NOTICE, ATTACHED))]
    return said[-1] if said else ""


def _results(asked: WireMessage, given: WireMessage) -> tuple[Answered, ...]:
    """Return the demo model's own calls in one message, with their results in the next."""
    found = {value["tool_use_id"]: value for value in _objects(given, "tool_result")}
    uses = [use for use in _objects(asked, "tool_use") if use["id"] in found and _step_of(use["id"])]
    return tuple(
        Answered(ToolUse(use["id"], use["name"], use["input"]), _text(result), result.get("is_error") is True)
        for use in uses
        for result in [found[use["id"]]]
    )


def _text(result: Mapping[str, Json]) -> str:
    content = result.get("content") or ()
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def _step_of(id_: str) -> str:
    """Return the step in the id of a call of the demo model, "" for a call of another model."""
    match = re.fullmatch(_OWN_ID, id_)
    return match[1] if match else ""


def _objects(message: WireMessage, kind: str) -> Iterator[dict[str, Json]]:
    return (value for block in message.blocks if (value := json.loads(block)).get("type") == kind)


def code(text: object) -> str:
    """Return the text as inline code: one short line without back-ticks."""
    line = " ".join(str(text).replace("`", "'").split())
    return f"`{line if len(line) <= 80 else line[:79] + '…'}`"


def doing(call: Call | ToolUse) -> str:
    """Return a description of a call that follows "I'll"."""
    if call.name == "ls" and call.input.get("path") == ".":
        return "list this folder"
    verb, key = _VERBS.get(call.name, (call.name, "path"))
    return f"{verb} {code(call.input[key])}" if key in call.input else verb


def problem(answered: Answered) -> str:
    """Return the reason why a call failed: a denial, an interruption, or the tool's error."""
    what, text = doing(answered.call), answered.text.strip() or "the tool gave no reason"
    if not answered.stopped:
        return f"I could not {what}: {text.splitlines()[0]}"
    reason, _, word = text.partition(" They said: ")
    if reason.startswith("Not allowed:"):
        return f"I am not allowed to {what}: {reason.partition(': ')[2]}"
    if reason.startswith("The user"):
        return f"You did not allow me to {what}." + (f" You said: {word}" if word else "")
    return f"The call to {what} was interrupted and may have partly run."
