"""Which key does what: the keys of all actions, the user's own in place of the given ones."""

from collections.abc import Mapping, Sequence

from prunecli.bindings import ACTIONS, keys_of

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
