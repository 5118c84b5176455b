"""Writes the sample of config.toml from the classes of options, for `config init`.

Run `python -m prunecli.config.sample > sample-config.toml`. Each value is commented out with its default, so that a
copy changes nothing and does not hold back a better default in a later version. A class may name values for it in
`example`, by field; the name of a table is at "".
"""

import os
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

from prunecli.config.declared import Key, declared, is_mapping, is_table, item_type
from prunecli.config.keys import dotted
from prunecli.config.options import SECTIONS
from prunecli.config.plugins import installed_for
from prunecli.config.save import locked, write
from prunecli.config.schema import Schema
from prunecli.config.sources import FLAGS, VARIABLES
from prunecli.config.strategies import Strategies
from prunecli.config.typed import expected, in_toml
from prunecli.context.expectations import KINDS
from prunecli.providers.models import load_expectations
from prunecli.util.by_project import Refused
from prunecli.util.errors import ConfigError
from prunecli.util.paths import PACKAGE, Places

WIDTH = 100
NOT_BY_PROJECTS = "Not allowed in project files."

HEADER = """\
prunecli's configuration: every key with its default. Copy keys to $XDG_CONFIG_HOME/prunecli/config.toml
(~/.config/prunecli/config.toml), or create that file with `prunecli config init`; then remove the # from
the lines you change. `prunecli config show` lists what differs from them and its sources,
and `prunecli config check` checks every file.

Precedence, lowest first: defaults; config.toml; settings.toml beside it, which --save writes;
.prunecli/config.toml of a trusted project, from the repository's root down to the current directory; the
environment; flags and --set KEY=VALUE. Rules in [permissions] add up instead.

Never put a credential here. Use ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or `prunecli login`."""


@cache
def unset() -> Mapping[str, Any]:
    """Return example values for keys that are unset by default, so that every line is valid without its #."""
    caps = load_expectations(PACKAGE / "data").caps["normal"]
    return {
        "max_tokens": 32_000,
        "context_window": 200_000,
        "input": 3.0,
        "output": 15.0,
        "cache_read": 0.3,
        "cache_write_5m": 3.75,
        "cache_write_1h": 6.0,
        **{kind: caps.of(kind) for kind in KINDS},
    }


def sample(schema: Schema) -> str:
    lines = [*_comment(HEADER), ""]
    lines += _comment(
        "Environment: " + ", ".join(f"{name} sets {key}" for name, key in VARIABLES.items()) + "."
    )
    lines += _comment("Flags: " + ", ".join(f"{name} sets {key}" for name, key in FLAGS.items()) + ".")
    for section in schema.sections:
        lines += ["", *_section(section, schema)]
        for name, brought in schema.brought.items():
            if name.startswith(f"{section}."):
                table = brought.load()
                lines += ["", *_comment(_about(table)), f"[{name}]", *_fields(table)]
        if section == "model":
            for name in schema.providers.names():
                if options := schema.providers.options_class(name):
                    lines += ["", *_comment(f"Options of the provider {name}.")]
                    lines += [f"[{dotted((section, name))}]", *_fields(options)]
        if section == "pruning":
            for name in schema.strategies.names():
                if schema.strategies.has_module(name):
                    lines += ["", *_strategy(name, schema.strategies)]
    return "\n".join(lines) + "\n"


def init(places: Places) -> Path:
    """Write the sample as the user's config.toml. Raises ConfigError if the file exists."""
    target = places.config_file
    if os.path.lexists(target):
        raise ConfigError(f"{places.shown(target)} already exists", "edit it, or move it away first")
    text = sample(Schema(installed=installed_for(places, None)))
    with locked(places.config):
        write(target, text.encode())
    return target


def _strategy(name: str, strategies: Strategies) -> Iterator[str]:
    doc = (strategies.module(name).__doc__ or "").strip().partition("\n\n")[0]
    yield from _comment(" ".join(doc.split()))
    yield f"[{dotted(('pruning', name))}]"
    yield from _fields(strategies.options_class(name))


def _section(section: str, schema: Schema) -> Iterator[str]:
    owner = schema.type_of(section)
    if is_mapping(owner):
        inner = item_type(owner)
        yield from _comment(f"{_about(inner)} One table per name.")
        yield f"#[{section}.{inner.example['']}]"
        yield from _fields(inner)
        return
    yield from _comment(_about(owner))
    yield f"[{section}]"
    tables = {name: item.type for name, item in declared(owner).items() if is_table(item.type)}
    yield from _fields(owner, skip=tables.keys())
    if section in SECTIONS and section in schema.brought:
        yield from _fields(schema.brought[section].load())
    for name, table in tables.items():
        yield ""
        yield from _comment(_about(table))
        yield f"[{dotted((section, name))}]"
        yield from _fields(table)


def _fields(options: type, prefix: Key = (), skip: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the fields of a table; fields of nested tables become dotted keys."""
    examples: Mapping[str, Any] = getattr(options, "example", {})
    for item in declared(options).values():
        if item.name in skip:
            continue
        name = (*prefix, item.name)
        if is_table(item.type):
            yield from _comment(item.doc) if item.doc else ()
            yield from _fields(item.type, name)
            continue
        yield from _comment(_doc(item.doc, item))
        default = unset().get(item.name, item.low or 0) if item.default is None else item.default
        value = examples.get(item.name, default)
        if is_mapping(item.type):
            ((inner, value),) = (value or {"name": ""}).items()
            name = (*name, inner)
        line = f"{dotted(name)} = {in_toml(value)}"
        names = isinstance(default, tuple) and not any(" " in str(one) for one in default)
        lines = wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False) if names else [line]
        yield from (f"#{one}" for one in lines)


def _doc(doc: str, item: Any) -> str:
    """Return the field's documentation with its allowed values, unless the default makes them clear."""
    doc = f"{doc} {NOT_BY_PROJECTS}" if isinstance(item.by_project, Refused) else doc
    plain = is_mapping(item.type) or item.type is bool or (item.type is str and not item.optional)
    unset = "; unset by default" if item.default is None else ""
    return doc if plain else f"{doc} ({expected(item)}{unset})".strip()


def _about(owner: Any) -> str:
    """Return a table's documentation. Its first paragraph tells if projects may not set it."""
    first, *more = owner.__doc__.split("\n\n")
    return "\n\n".join([f"{first} {NOT_BY_PROJECTS}" if getattr(owner, "refused", "") else first, *more])


def _comment(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        yield from ["#"] if number else []
        yield from (f"# {line}" for line in wrap(" ".join(paragraph.split()), WIDTH - 2))


if __name__ == "__main__":
    sys.stdout.write(sample(Schema()))
