"""The replies of hooks: turns an exit code and output into a decision, and combines several decisions.

With exit code 0, standard output may be a JSON object. 2 means blocked, with the reason on standard error. Any other
code means that the hook failed, which is reported and has no other effect.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from prunecli.features.hooks.settings import Hook
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import uncolored

Decision: TypeAlias = Literal["", "allow", "ask", "deny"]

CONTEXT_CHARS = 10_000
"""Maximum characters of a hook's text that the model gets, as in Claude Code."""

TELLING = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events whose plain output becomes context for the model."""
BLOCKING = frozenset({"UserPromptSubmit", "PreToolUse", "Stop", "SubagentStop", "PreCompact", "PrePrune"})
"""Events that a hook can block."""
FEEDBACK = frozenset({"PostToolUse", "PostToolUseFailure"})
"""Events whose reason goes to the model, because the tool has already run."""

_DECISIONS: Mapping[str, Decision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}
_KEYS = frozenset(
    {
        *("continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput"),
        *("systemMessage", "additionalContext", "permissionDecision", "permissionDecisionReason"),
        *("updatedInput", "hookEventName", "pin", "veto"),
    }
)
"""The known keys of an answer."""
_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_ANSWER = re.compile(r'"(?:hookSpecificOutput|permissionDecision|decision|continue)"\s*:')
_STRICTNESS: tuple[Decision, ...] = ("", "allow", "ask", "deny")


@frozen
class Ran:
    """The end of a hook's process. If it was stopped or could not start, only `problem` says why."""

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    duration_ms: int = 0
    problem: str = ""


@frozen
class Reply:
    """The reply of a hook. `reason` belongs to the decision, `context` is for the model, `message` for the user.

    `changed` is a new input for a call. `stop` ends the run, with this text for the user. `veto` and `pin` are
    entries by seq. `failure` describes an error in one line; then no other field is set.
    """

    name: str = ""
    decision: Decision = ""
    reason: str = ""
    context: str = ""
    message: str = ""
    changed: Mapping[str, Json] | None = None
    stop: str | None = None
    veto: tuple[int, ...] = ()
    pin: tuple[int, ...] = ()
    failure: str = ""


def reply_of(hook: Hook, ran: Ran) -> Reply:
    name, out, err = hook.name, _text(ran.stdout), _text(ran.stderr)
    if ran.problem:
        return Reply(name, failure=ran.problem)
    if ran.exit_code == 2:
        return _blocked(hook, err or "no reason given")
    if ran.exit_code:
        how = f"exit code {ran.exit_code}" if ran.exit_code > 0 else f"ended by signal {-ran.exit_code}"
        said = next((line.strip() for line in err.split("\n") if line.strip()), "")
        return Reply(name, failure=f"{how}: {said}" if said else how)
    try:
        value = json.loads(out) if out.startswith("{") else _object_in(out)
        if value is None:
            return Reply(name, context=_bounded(out) if hook.event in TELLING else "")
        return _from_json(hook, value)
    except (ValueError, RecursionError) as error:
        return Reply(name, failure=f"its output is not valid JSON: {error}")
    except ToolError as error:
        return Reply(name, failure=f"unexpected output: {error}")


def _object_in(out: str) -> Mapping[str, Any] | None:
    """Return the answer that follows other text, such as a profile's greeting; None if there is none.

    Raises ValueError if there is something like an answer that can't be read.
    """
    starts = [found.start() for found in _OBJECT.finditer(out)]
    for at in starts:
        try:
            value: Mapping[str, Any] = json.loads(out[at:])
        except (ValueError, RecursionError):
            continue
        if not _KEYS.isdisjoint(value):
            return value
    if starts and _ANSWER.search(out, starts[0]):
        raise ValueError("other text around it")
    return None


def _text(output: str) -> str:
    return well_formed(uncolored(output)).strip()


def _blocked(hook: Hook, why: str) -> Reply:
    why = _bounded(why)
    if hook.event in BLOCKING:
        return Reply(hook.name, "deny", why)
    return Reply(hook.name, context=why) if hook.event in FEEDBACK else Reply(hook.name, message=why)


def _from_json(hook: Hook, value: Mapping[str, Any]) -> Reply:
    """Parse an answer. Keys of `hookSpecificOutput` may also stand at the top, where other agents' hooks put them."""
    special = {**value, **_typed(value, "hookSpecificOutput", dict, {})}
    for key, word in special.items():
        if key not in _KEYS and isinstance(word, str) and word in _DECISIONS:
            raise ToolError(f"the key {key[:40]!r} is unknown; use decision or permissionDecision")
    decided = _typed(special, "permissionDecision", str, "") or _typed(special, "decision", str, "")
    if decided and decided not in _DECISIONS:
        raise ToolError(f"the decision {decided[:40]!r} is unknown; use allow, deny, ask or block")
    why = _typed(special, "permissionDecisionReason", str, "") or _typed(special, "reason", str, "")
    decision, context = _DECISIONS.get(decided, ""), _typed(special, "additionalContext", str, "")
    if hook.event in FEEDBACK and decision == "deny":
        decision, context = "", "\n".join(filter(None, (why, context)))
    if decision == "deny" and hook.event not in BLOCKING:
        decision = ""
    going = value.get("continue", True)
    veto = special.get("veto", [])
    if veto == "all":
        decision, veto = "deny", []
    return Reply(
        hook.name,
        decision,
        _bounded(why or ("no reason given" if decision == "deny" else "")),
        _bounded(context),
        _bounded(_typed(value, "systemMessage", str, "")),
        _typed(special, "updatedInput", dict, None),
        _bounded(_typed(value, "stopReason", str, "")) if going is False else None,
        _seqs("veto", veto),
        _seqs("pin", special.get("pin", [])),
    )


def _typed(table: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = table.get(key)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise ToolError(f"{key} is not {'a string' if kind is str else 'an object'}")
    return value


def _seqs(key: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise ToolError(f"{key} is not a list of entry numbers")
    return tuple(value)


def _bounded(text: str) -> str:
    text = well_formed(text).strip()
    return (
        text if len(text) <= CONTEXT_CHARS else f"{text[:CONTEXT_CHARS]}\n[… {len(text):,} characters in all]"
    )


def strictest(replies: Iterable[Reply]) -> Reply:
    """Return the reply with the strictest decision: deny, then ask, then allow; the first of equals."""
    return max(replies, key=lambda one: _STRICTNESS.index(one.decision), default=Reply())
