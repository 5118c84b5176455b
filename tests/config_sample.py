"""Generates sample-config.toml from the classes of options.

Run `python -m tests.config_sample > sample-config.toml`. Each value is commented out with its default, so that a
copy changes nothing and does not hold back a better default in a later version.
"""

import sys
from collections.abc import Iterator, Mapping, Set
from textwrap import wrap
from typing import Any

from prunecli.config.declared import Key, declared, is_mapping, is_table, item_type
from prunecli.config.keys import dotted
from prunecli.config.schema import Schema
from prunecli.config.sources import FLAGS, VARIABLES
from prunecli.config.strategies import Strategies, shipped_strategies
from prunecli.config.typed import expected, in_toml
from prunecli.context.expectations import KINDS
from prunecli.providers.models import load_expectations
from prunecli.providers.registry import SHIPPED, Providers
from prunecli.util.by_project import Refused
from prunecli.util.paths import PACKAGE

WIDTH = 100
NOT_BY_PROJECTS = "Not allowed in project files."

HEADER = """\
prunecli's configuration: every key with its default. Copy keys to $XDG_CONFIG_HOME/prunecli/config.toml
(~/.config/prunecli/config.toml), or create that file with `prunecli config init`; then remove the # from
the lines you change. `prunecli config show` lists the values in effect and their sources, and `prunecli
config check` checks every file.

Precedence, lowest first: defaults; config.toml; settings.toml beside it, which --save writes;
.prunecli/config.toml of a trusted project, from the repository's root down to the current directory; the
environment; flags and --set KEY=VALUE. Rules in [permissions] add up instead.

Never put a credential here. Use ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or `prunecli login`."""

EXAMPLES: Mapping[Key, str] = {
    ("models",): "my-model",
    ("mcp",): "my-server",
    ("mcp", "my-server", "env"): "API_TOKEN",
    ("mcp", "my-server", "headers"): "Authorization",
    ("ui", "keys"): "submit",
}
"""An example name for each table of free keys."""

VALUES: Mapping[Key, Any] = {
    ("mcp", "my-server", "command"): "npx",
    ("mcp", "my-server", "args"): ("-y", "@modelcontextprotocol/server-filesystem", "."),
    ("mcp", "my-server", "env", "API_TOKEN"): "${API_TOKEN}",
    ("mcp", "my-server", "headers", "Authorization"): "Bearer ${API_TOKEN}",
    ("ui", "keys", "submit"): "ctrl+s",
}
"""Example values for keys of free tables, and for those without a usable default."""

UNSET: Mapping[str, Any] = {
    "max_tokens": 32_000,
    "context_window": 200_000,
    "input": 3.0,
    "output": 15.0,
    "cache_read": 0.3,
    "cache_write_5m": 3.75,
    "cache_write_1h": 6.0,
    **{kind: load_expectations(PACKAGE / "data").caps["normal"].of(kind) for kind in KINDS},
}
"""Example values for keys that are unset by default, so that every line is valid without its #."""


def sample(strategies: Strategies, providers: Providers = SHIPPED) -> str:
    lines = [*_comment(HEADER), ""]
    lines += _comment(
        "Environment: " + ", ".join(f"{name} sets {key}" for name, key in VARIABLES.items()) + "."
    )
    lines += _comment("Flags: " + ", ".join(f"{name} sets {key}" for name, key in FLAGS.items()) + ".")
    schema = Schema(strategies, providers)
    for section in schema.sections:
        hint = schema.member(None, section).type
        lines += ["", *_section((section,), hint)]
        for name, brought in schema.brought.items():
            if name.startswith(f"{section}."):
                table = brought.load()
                lines += ["", *_comment(_about(table)), f"[{name}]", *_fields(tuple(name.split(".")), table)]
        if section == "model":
            for name in providers.names():
                if options := providers.options_class(name):
                    lines += [
                        "",
                        *_comment(f"Options of the provider {name}."),
                        f"[{dotted(('model', name))}]",
                    ]
                    lines += _fields(("model", name), options)
        if section == "pruning":
            for name in strategies.names():
                if strategies.has_module(name):
                    lines += ["", *_strategy(name, strategies)]
    return "\n".join(lines) + "\n"


def _strategy(name: str, strategies: Strategies) -> Iterator[str]:
    doc = (strategies.module(name).__doc__ or "").strip().partition("\n\n")[0]
    yield from _comment(" ".join(doc.split()))
    yield f"[{dotted(('pruning', name))}]"
    yield from _fields(("pruning", name), strategies.options_class(name))


def _section(key: Key, hint: Any) -> Iterator[str]:
    if is_mapping(hint):
        inner = item_type(hint)
        yield from _comment(f"{_about(inner)} One table per name.")
        yield f"#[{key[0]}.{EXAMPLES[key]}]"
        yield from _fields((*key, EXAMPLES[key]), inner)
    else:
        yield from _comment(_about(hint))
        yield f"[{key[0]}]"
        inner = {name: item.type for name, item in declared(hint).items() if is_table(item.type)}
        yield from _fields(key, hint, skip=inner.keys())
        for name, table in inner.items():
            yield ""
            yield from _comment(_about(table))
            yield f"[{dotted((*key, name))}]"
            yield from _fields((*key, name), table)


def _fields(key: Key, options: type, prefix: Key = (), skip: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the fields of a table; fields of nested tables become dotted keys."""
    for item in declared(options).values():
        if item.name in skip:
            continue
        name = (*prefix, item.name)
        if is_table(item.type):
            yield from _comment(item.doc) if item.doc else ()
            yield from _fields(key, item.type, name)
            continue
        yield from _comment(_doc(item.doc, item))
        if is_mapping(item.type):
            name = (*name, EXAMPLES[(*key, *name)])
        default = UNSET.get(item.name, item.low or 0) if item.default is None else item.default
        line = f"{dotted(name)} = {in_toml(VALUES.get((*key, *name), default))}"
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
    sys.stdout.write(sample(shipped_strategies()))
