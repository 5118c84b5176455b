"""Which key does what: the actions, their keys, and what is wrong with the keys that a user gave them.

Pure and without imports of ours: the configuration checks with it, and the first frame needs it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Action(NamedTuple):
    """Something a key does. `keys` are Textual's names; `help` is a few words; `group` is where it is listed."""

    name: str
    keys: tuple[str, ...]
    help: str
    group: str


ACTIONS: tuple[Action, ...] = (
    Action("submit", ("enter",), "send; while the agent works, steer it", "Prompt"),
    Action("newline", ("shift+enter", "ctrl+j"), "a new line", "Prompt"),
    Action("follow_up", ("alt+enter",), "send when the agent is done", "Prompt"),
    Action("older", ("up",), "the prompt before, or what waits", "Prompt"),
    Action("newer", ("down",), "the prompt after", "Prompt"),
    Action("search_history", ("ctrl+r",), "search the prompts you typed", "Prompt"),
    Action("complete", ("tab",), "complete; on an empty prompt: move above", "Prompt"),
    Action("edit", ("ctrl+g",), "write the prompt in $EDITOR", "Prompt"),
    Action("take_back", ("alt+up",), "take the last waiting message back", "Prompt"),
    Action("interrupt", ("escape",), "stop the agent; twice when idle: rewind", "Agent"),
    Action("cycle_mode", ("shift+tab",), "ask, edits, plan, auto", "Agent"),
    Action("quit", ("ctrl+c",), "clear the prompt; twice: quit", "Program"),
    Action("leave", ("ctrl+d",), "quit, on an empty prompt", "Program"),
    Action("commands", ("ctrl+p",), "the palette: every command and action", "Program"),
    Action("show_keys", ("f1",), "this list; ? on an empty prompt", "Program"),
    Action("page_up", ("pageup",), "a page up", "Transcript"),
    Action("page_down", ("pagedown",), "a page down", "Transcript"),
    Action("top", ("ctrl+home",), "to the beginning", "Transcript"),
    Action("bottom", ("ctrl+end",), "to the end", "Transcript"),
    Action("previous_prompt", ("ctrl+up",), "to your prompt above", "Transcript"),
    Action("next_prompt", ("ctrl+down",), "to your prompt below", "Transcript"),
    Action("fold_all", ("ctrl+o",), "unfold or fold everything", "Transcript"),
    Action("find", ("ctrl+f",), "search in the transcript", "Transcript"),
    Action("browse", ("ctrl+t",), "move in it: Enter folds, r restores", "Transcript"),
)
"""All actions, in the order in which they are listed."""

NONE = "none"
"""In place of a key: the action has none."""

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
"""Actions that can't be without a key."""
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMED = frozenset(
    {"enter", "escape", "tab", "space", "backspace", "delete", "insert"}
    | {"up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
)


def keys_of(text: str) -> tuple[str, ...]:
    """The keys that a value of `[ui.keys]` names: "ctrl+s, F5" are two; none for "none"."""
    keys = tuple(key.strip().lower() for key in text.split(",") if key.strip())
    return () if keys == (NONE,) else keys


def problem(own: Mapping[str, str]) -> tuple[str, str] | None:
    """The first action whose keys can't be used, and what is wrong with them; None where all is well."""
    return next(_problems(own), None)


def _problems(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = {action.name for action in ACTIONS}
    given: dict[str, str] = {}
    for name, text in own.items():
        if name not in names:
            yield name, f"unknown action, {_nearest(name, names)}"
            continue
        keys = keys_of(text)
        if not keys and (text.strip().lower() != NONE or name in _NEEDED):
            yield name, f"expected a key such as ctrl+s, got {text!r}"
        for key in keys:
            if not is_key(key):
                yield name, f"expected a key such as ctrl+s, alt+enter or f5, got {key!r}"
            if given.setdefault(key, name) != name:
                yield name, f"{key} is given to {given[key]} too"
    for action in ACTIONS:
        if action.name not in own and (lost := _lost(action, given)):
            yield lost, f"takes the only key of {action.name}: give {action.name} another, or {NONE!r}"


def _lost(action: Action, given: Mapping[str, str]) -> str:
    """The action that took the last key of this one, "" where it has one left."""
    takers = [given.get(key, "") for key in action.keys]
    return takers[0] if all(takers) else ""


def is_key(key: str) -> bool:
    """Whether this names a key that can be bound: a letter alone could not be typed any more."""
    *modifiers, last = key.split("+")
    if not set(modifiers) <= _MODIFIERS:
        return False
    if re.fullmatch(r"f([1-9]|1[0-9]|2[0-4])", last) or last in _NAMED:
        return last != "space" or bool(modifiers)
    letter = re.fullmatch(r"[a-z0-9]|[a-z]+(_[a-z]+)+|minus|plus|comma|slash|backslash|semicolon|at", last)
    return letter is not None and bool({"ctrl", "alt", "super", "hyper", "meta"} & set(modifiers))


def _nearest(name: str, known: set[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name[:60], sorted(known), 1, 0.0)
    return f"the nearest is {found[0]}" if found else f"there are {', '.join(sorted(known))}"


def shown(key: str) -> str:
    """A key as people write it: Ctrl+G, Alt+Enter."""
    *modifiers, last = key.split("+")
    name = _SHOWN.get(last, last.upper() if len(last) == 1 or last[1:].isdigit() else last)
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])


class Keys:
    """The keys in force. What a user gave was checked with the configuration."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._actions: dict[str, str] = {}
        self.use(own or {})

    def use(self, own: Mapping[str, str]) -> None:
        """Takes the user's own keys in place of the given ones."""
        self._keys = {action.name: action.keys for action in ACTIONS}
        self._keys |= {name: keys_of(text) for name, text in own.items() if name in self._keys}
        taken = {key for name in own for key in self._keys.get(name, ())}
        self._actions = {}
        for name, keys in self._keys.items():
            for key in keys:
                if name in own or key not in taken:
                    self._actions.setdefault(key, name)

    def action(self, key: str) -> str:
        """What a key does, "" for nothing."""
        return self._actions.get(key, "")

    def of(self, name: str) -> Sequence[str]:
        """The keys of an action that do work."""
        return [key for key in self._keys[name] if self._actions.get(key) == name]

    def hint(self, name: str) -> str:
        """The first key of an action as people write it, "" where it has none."""
        keys = self.of(name)
        return shown(keys[0]) if keys else ""
