"""A layer of the configuration: the values from one source, each with its place in it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from prunecli.config.declared import Key
from prunecli.config.files import line_of, parse_toml
from prunecli.config.keys import parse, shown
from prunecli.config.project_config import refusal
from prunecli.config.schema import Schema
from prunecli.util.errors import ConfigError

Kind = Literal["user", "settings", "project", "environment", "flag", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of sources, in ascending order of precedence."""


class Layer(NamedTuple):
    """Typed values by full key.

    A file has a `label` for errors, a `place` for people and its `text`. For other sources, `places` gives the source
    of each value. `left_out` are sections of a file that may belong to a plugin that is off.
    """

    kind: Kind
    values: Mapping[Key, Any]
    label: str = ""
    place: str = ""
    text: str = ""
    places: Mapping[Key, str] = MappingProxyType({})
    left_out: tuple[str, ...] = ()

    def where(self, key: Key) -> str:
        """Return the source of a key's value: "~/.config/prunecli/config.toml:12", "flag --model"."""
        if key in self.places:
            return self.places[key]
        line = line_of(self.text, key)
        return f"{self.place}:{line}" if line else self.place

    def with_value(self, key: Key, value: Any, place: str) -> "Layer":
        return self._replace(values={**self.values, key: value}, places={**self.places, key: place})

    def without(self, key: Key) -> "Layer":
        return self._replace(values={name: value for name, value in self.values.items() if name != key})

    def error(self, key: Key, what: str, hint: str = "") -> ConfigError:
        """Return the error for a key: names the source and the key; for a file, the hint gives the line."""
        if not self.label:
            source = self.places.get(key, "")
            return ConfigError(f"{source}: {shown(key)}: {what}" if source else f"{shown(key)}: {what}", hint)
        line = line_of(self.text, key)
        where = f"line {line} of {self.place}" if line else self.place
        return ConfigError(f"{self.label}: {shown(key)}: {what}", f"{where}; {hint}" if hint else where)


def file_layer(kind: Kind, text: str, label: str, path: Path, place: str, schema: Schema) -> Layer:
    """Parse a file into a layer. Raises ConfigError that names `label` and the key; the hint gives the line."""
    empty = Layer(kind, {}, label, place, text)

    def fault(key: Key, what: str, hint: str) -> NoReturn:
        raise empty.error(key, what, hint)

    table = parse_toml(text, label, path)
    left_out = schema.left_out(table)
    values = dict(schema.values({name: table[name] for name in table if name not in left_out}, fault))
    if kind == "project":
        for key, value in values.items():
            if why := refusal(key, value, schema.by_project(key)):
                fault(key, why, "set it in your own config.toml")
    return empty._replace(values=values, left_out=left_out)


def text_layer(kind: Kind, assignments: Iterable[tuple[str, str, str, str]], schema: Schema) -> Layer:
    """Return the layer of (key, text, label, place) tuples; later ones win. Raises ConfigError with the label."""
    layer = Layer(kind, {})
    for key_text, text, label, place in assignments:
        key, value = text_value(key_text, text, label, schema)
        layer = layer.with_value(key, value, place)
    return layer


def text_value(key_text: str, text: str, label: str, schema: Schema) -> tuple[Key, Any]:
    """Return the full key and typed value of `key=text`. Raises ConfigError with `label`, which may be empty."""
    prefix = f"{label}: " if label else ""

    def fault(key: Key, what: str, hint: str) -> NoReturn:
        raise ConfigError(f"{prefix}{shown(key)}: {what}", hint)

    key = parse(key_text)
    if key is None:
        raise ConfigError(
            f"{prefix}{key_text[:60]!r} is not a dotted key", "for example pruning.pi.prune_protect"
        )
    key = schema.resolve(key)
    return key, schema.text_value(key, text, fault)
