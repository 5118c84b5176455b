"""One layer of the configuration: the values that one source sets, and where in it each one stands."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from prunecli.config.declared import Key
from prunecli.config.files import line_of, parse_toml
from prunecli.config.keys import parse, shown
from prunecli.config.project import refusal
from prunecli.config.schema import Schema
from prunecli.errors import ConfigError

Kind = Literal["user", "settings", "project", "environment", "flag", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of sources, the one that counts least first."""


class Layer(NamedTuple):
    """Typed values by full key.

    A file has a `label`, as errors name it, a `place`, as people find it, and its `text`; for other sources `places`
    says where each value came from.
    """

    kind: Kind
    values: Mapping[Key, Any]
    label: str = ""
    place: str = ""
    text: str = ""
    places: Mapping[Key, str] = MappingProxyType({})

    def where(self, key: Key) -> str:
        """Where the key's value came from: "~/.config/prunecli/config.toml:12", "flag --model"."""
        if key in self.places:
            return self.places[key]
        line = line_of(self.text, key)
        return f"{self.place}:{line}" if line else self.place

    def with_value(self, key: Key, value: Any, place: str) -> "Layer":
        """This layer with one more value."""
        return self._replace(values={**self.values, key: value}, places={**self.places, key: place})

    def without(self, key: Key) -> "Layer":
        """This layer without a value."""
        return self._replace(values={name: value for name, value in self.values.items() if name != key})

    def error(self, key: Key, what: str, hint: str = "") -> ConfigError:
        """The error of a key: the source by its label, the key, what is wrong; a file's line is in the hint."""
        if not self.label:
            source = self.places.get(key, "")
            return ConfigError(f"{source}: {shown(key)}: {what}" if source else f"{shown(key)}: {what}", hint)
        line = line_of(self.text, key)
        where = f"line {line} of {self.place}" if line else self.place
        return ConfigError(f"{self.label}: {shown(key)}: {what}", f"{where}; {hint}" if hint else where)


def file_layer(kind: Kind, text: str, label: str, path: Path, place: str, schema: Schema) -> Layer:
    """The layer of a file's text. Raises ConfigError as `label`, naming the key; the hint names the line."""
    empty = Layer(kind, {}, label, place, text)

    def fault(key: Key, what: str, hint: str) -> NoReturn:
        raise empty.error(key, what, hint)

    values = dict(schema.values(parse_toml(text, label, path), fault))
    if kind == "project":
        for key, value in values.items():
            if why := refusal(key, value):
                fault(key, why, "your own config.toml can")
    return empty._replace(values=values)


def text_layer(kind: Kind, assignments: Iterable[tuple[str, str, str, str]], schema: Schema) -> Layer:
    """The layer of (key, text, label, place) each, later ones counting. Raises ConfigError as the label."""
    layer = Layer(kind, {})
    for key_text, text, label, place in assignments:
        key, value = text_value(key_text, text, label, schema)
        layer = layer.with_value(key, value, place)
    return layer


def text_value(key_text: str, text: str, label: str, schema: Schema) -> tuple[Key, Any]:
    """The full key and the typed value of `key=text`. Raises ConfigError as `label`, which may be empty."""
    prefix = f"{label}: " if label else ""

    def fault(key: Key, what: str, hint: str) -> NoReturn:
        raise ConfigError(f"{prefix}{shown(key)}: {what}", hint)

    key = parse(key_text)
    if key is None:
        raise ConfigError(f"{prefix}{key_text[:60]!r} is no dotted key", "like pruning.pi.prune_protect")
    key = schema.resolve(key)
    return key, schema.text_value(key, text, fault)
