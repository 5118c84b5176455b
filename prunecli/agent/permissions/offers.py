"""The narrow rule that "allow for this session" would add for a call."""

import os

from prunecli.agent.permissions.calls import Call
from prunecli.agent.permissions.harmless import Surroundings
from prunecli.agent.permissions.places import Place, is_inside, is_protected, is_secret, lies_in, real_path
from prunecli.agent.permissions.rule_checks import allows_call
from prunecli.errors import ConfigError

_MAX_RULE = 200
"""The longest rule, in characters, that a person can check before saving it."""
_NOT_IN_RULES = frozenset("*?[]()\\")


def offered_rule(call: Call, around: Surroundings) -> str:
    """The narrowest rule that covers the call, or "" if there is none to offer.

    For a command, its exact words. For an edit in the workspace or a read outside of it, the folder. For secrets,
    places from which programs start, and edits outside the workspace, the single path.
    """
    text = _text(call, around)
    if not text or len(text) > _MAX_RULE or not text.isprintable():
        return ""
    try:
        return text if allows_call(text, call, around) else ""
    except ConfigError:
        return ""


def _text(call: Call, around: Surroundings) -> str:
    if call.effect == "unknown":
        return call.tool
    if call.effect == "run":
        return f"bash({call.line})" if call.line else ""
    place = call.places[0]
    pattern = _edit_pattern(place, around) if call.effect == "edit" else _read_pattern(place, around)
    tool = "edit" if call.effect == "edit" else call.tool
    return f"{tool}({pattern})" if pattern else ""


def _edit_pattern(place: Place, around: Surroundings) -> str:
    path = _plain(place.real)
    root = real_path(around.workspace)
    if not path or not lies_in(path, root):
        return path
    inside = os.path.relpath(path, root)
    if is_protected(place, around.workspace) or is_secret(place, around.secrets):
        return f"./{inside}"
    folder = os.path.dirname(inside)
    return f"{folder}/**" if folder else "./*"


def _read_pattern(place: Place, around: Surroundings) -> str:
    path = _plain(place.real)
    if is_secret(place, around.secrets) or is_inside(place, around.workspace) or not path:
        return path
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if folder.count("/") < 2 or lies_in(real_path(around.home), folder):
        return "" if folder == path else path
    return f"{folder}/**"


def _plain(path: str) -> str:
    """The path if a pattern can spell it literally, else ""."""
    return "" if _NOT_IN_RULES.intersection(path) else path
