"""Key bindings: the actions, their default keys, and checks of the user's keys.

Pure, and imports nothing else from prunecli: the configuration check and the first frame need it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")


class Action(NamedTuple):
    """An action. `keys` are Textual's names, `help` is a short description, and `group` its heading in the list.
    Without `command`, it is not offered."""

    name: str
    keys: tuple[str, ...]
    help: str
    group: str
    command: str = ""


ACTIONS: tuple[Action, ...] = (
    Action("submit", ("enter",), "send; steer while the agent works", "Prompt"),
    Action("newline", ("shift+enter", "ctrl+j"), "new line", "Prompt"),
    Action("follow_up", ("alt+enter",), "send when the agent is done; new line when idle", "Prompt"),
    Action("older", ("up",), "previous prompt, or a queued message", "Prompt"),
    Action("newer", ("down",), "next prompt", "Prompt"),
    Action("search_history", ("ctrl+r",), "search your prompts", "Prompt"),
    Action("complete", ("tab",), "complete; on an empty prompt: transcript", "Prompt"),
    Action("paste_image", ("ctrl+v",), "paste the image in the clipboard, or text", "Prompt"),
    Action("edit", ("ctrl+g",), "edit the prompt in $EDITOR", "Prompt"),
    Action("take_back", ("alt+up",), "take back the last queued message", "Prompt"),
    Action("interrupt", ("escape",), "stop the agent; twice when idle: /rewind", "Agent"),
    Action("background", ("ctrl+b",), "move the running command to the background", "Agent", "jobs"),
    Action("summarize", ("ctrl+s",), "on return to a long session: summarize it first", "Agent"),
    Action("cycle_mode", ("shift+tab",), "change mode: ask, edits, plan", "Agent"),
    Action("todos", ("alt+t",), "fold or unfold the to-do list", "Agent", "todo"),
    Action("quit", ("ctrl+c",), "clear the prompt; twice: quit", "Program"),
    Action("leave", ("ctrl+d",), "quit, on an empty prompt", "Program"),
    Action("commands", ("ctrl+p",), "palette of all commands and actions", "Program"),
    Action("suspend", ("ctrl+z",), "suspend; fg in the shell to continue", "Program"),
    Action("redraw", ("ctrl+l",), "redraw the screen", "Program"),
    Action("show_keys", ("f1",), "show keys; also ? on an empty prompt", "Program"),
    Action("page_up", ("pageup",), "page up", "Transcript"),
    Action("page_down", ("pagedown",), "page down", "Transcript"),
    Action("top", ("ctrl+home",), "go to the start", "Transcript"),
    Action("bottom", ("ctrl+end",), "go to the end", "Transcript"),
    Action("previous_prompt", ("ctrl+up",), "your previous prompt", "Transcript"),
    Action("next_prompt", ("ctrl+down",), "your next prompt", "Transcript"),
    Action("fold_all", ("ctrl+o",), "fold or unfold all", "Transcript"),
    Action("find", ("ctrl+f",), "search the transcript", "Transcript"),
    Action("browse", ("ctrl+t",), "browse: Enter to fold, r to restore", "Transcript"),
)
"""All actions, in the order of the key list."""

NONE = "none"
"""The value that leaves an action without a key."""

_SHOWN = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "up": "Up",
    "down": "Down",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "space": "Space",
}

_NEEDED = frozenset({"submit", "interrupt", "quit"})
"""Actions that must have a key."""
_YIELDING = frozenset({"summarize"})
"""Actions that lose their key to one of the user's without a question: they are offered with it."""
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMED = frozenset(
    {"enter", "escape", "tab", "space", "backspace", "delete", "insert"}
    | {"up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
)


def keys_of(text: str) -> tuple[str, ...]:
    """Return the keys in a value of `[ui.keys]`: two for "ctrl+s, F5", none for "none"."""
    keys = tuple(key.strip().lower() for key in text.split(",") if key.strip())
    return () if keys == (NONE,) else keys


def problem(own: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first action with unusable keys and the reason; None if all keys are fine."""
    return next(_problems(own), None)


def _problems(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = {action.name for action in ACTIONS}
    given: dict[str, str] = {}
    for name, text in own.items():
        if name not in names:
            yield name, f"unknown action{_nearest(name, names)}"
            continue
        keys = keys_of(text)
        if not keys and (text.strip().lower() != NONE or name in _NEEDED):
            yield name, f"expected a key such as ctrl+s, got {text!r}"
        for key in keys:
            if not is_key(key):
                yield name, f"expected a key such as ctrl+s, alt+enter or f5, got {key!r}"
            if given.setdefault(key, name) != name:
                yield name, f"{key} is already bound to {given[key]}"
    for action in ACTIONS:
        if action.name not in own and action.name not in _YIELDING and (lost := _lost(action, given)):
            yield (
                lost,
                f"takes the only key of {action.name}: bind {action.name} to another key or to {NONE!r}",
            )


def _lost(action: Action, given: Mapping[str, str]) -> str:
    """Return the action that took the last key of this one; "" if it still has a key."""
    takers = [given.get(key, "") for key in action.keys]
    return takers[0] if all(takers) else ""


def is_key(key: str) -> bool:
    """Return whether a key can be bound. A letter alone cannot: it could not be typed any more."""
    *modifiers, last = key.split("+")
    if not set(modifiers) <= _MODIFIERS:
        return False
    if re.fullmatch(r"f([1-9]|1[0-9]|2[0-4])", last) or last in _NAMED:
        return last != "space" or bool(modifiers)
    letter = re.fullmatch(r"[a-z0-9]|[a-z]+(_[a-z]+)+|minus|plus|comma|slash|backslash|semicolon|at", last)
    return letter is not None and bool({"ctrl", "alt", "super", "hyper", "meta"} & set(modifiers))


def _nearest(name: str, known: set[str]) -> str:
    found = difflib.get_close_matches(name[:60], sorted(known), 1, 0.0)
    return f" (did you mean {found[0]}?)" if found else f": expected one of {', '.join(sorted(known))}"


def shown(key: str) -> str:
    *modifiers, last = key.split("+")
    name = _SHOWN.get(last, last.upper() if len(last) == 1 or last[1:].isdigit() else last)
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])


class Keys:
    """The keys in effect. The user's keys have been checked with the configuration."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._actions: dict[str, str] = {}
        self.use(own or {})

    def use(self, own: Mapping[str, str]) -> None:
        self._keys = {action.name: action.keys for action in ACTIONS}
        self._keys |= {name: keys_of(text) for name, text in own.items() if name in self._keys}
        taken = {key for name in own for key in self._keys.get(name, ())}
        self._actions = {}
        for name, keys in self._keys.items():
            for key in keys:
                if name in own or key not in taken:
                    self._actions.setdefault(key, name)

    def action(self, key: str) -> str:
        return self._actions.get(key, "")

    def of(self, name: str) -> Sequence[str]:
        return [key for key in self._keys[name] if self._actions.get(key) == name]

    def hint(self, name: str) -> str:
        """Return the first key of an action in its usual spelling, or ""."""
        keys = self.of(name)
        return shown(keys[0]) if keys else ""
