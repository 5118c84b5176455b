"""Which key does what: one table of actions, the keys they have, and the user's own from `[ui.keys]`."""

from collections.abc import Mapping, Sequence
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
    Action("commands", ("ctrl+p",), "the list of commands", "Program"),
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


def shown(key: str) -> str:
    """A key as people write it: Ctrl+G, Alt+Enter."""
    *modifiers, last = key.split("+")
    name = _SHOWN.get(last, last.upper() if len(last) == 1 or last[1:].isdigit() else last)
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])


class Keys:
    """The keys in force. `problems` are lines about what of the user's could not be used."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self.problems: list[str] = []
        self._keys: dict[str, tuple[str, ...]] = {}
        self._actions: dict[str, str] = {}
        self.use(own or {})

    def use(self, own: Mapping[str, str]) -> None:
        """Takes the user's own keys in place of the given ones."""
        self.problems = []
        self._keys = {action.name: action.keys for action in ACTIONS}
        for name, text in own.items():
            keys = tuple(key.strip().lower() for key in text.split(",") if key.strip())
            if name not in self._keys:
                self.problems.append(_unknown(name, self._keys))
            elif not keys:
                self.problems.append(f"ui.keys.{name}: expected a key such as ctrl+s")
            else:
                self._keys[name] = keys
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


def _unknown(name: str, known: Mapping[str, object]) -> str:
    from prunecli.config.keys import (
        nearest,  # the configuration is not there yet when the first frame is drawn
    )

    return f"ui.keys.{name}: unknown action, the nearest is {nearest(name, list(known))}"
