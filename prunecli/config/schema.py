"""Which dotted keys exist: the sections, with the options of each strategy below `pruning`.

Turns a table of a file into typed values by key, and names what is wrong with it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from prunecli.config.declared import Declared, Key, declared, from_hint, is_mapping, is_table, item_type
from prunecli.config.keys import dotted, nearest
from prunecli.config.options import SECTIONS, Model, Pruning
from prunecli.config.strategies import Strategies
from prunecli.config.typed import MistypedError, expected, from_text, from_toml, got
from prunecli.errors import ConfigError
from prunecli.providers.registry import SHIPPED, Providers

Fault = Callable[[Key, str, str], NoReturn]
"""(key, what is wrong, hint): raises the ConfigError that names the source too."""

SECRETS = ("api_key", "auth_token", "key", "token", "apikey", "secret", "password")
"""What people call a credential when they look for its place in a configuration file."""


class Schema(NamedTuple):
    """The keys that exist, given the strategies and the providers that exist."""

    strategies: Strategies
    providers: Providers = SHIPPED

    def member(self, owner: Any, name: str) -> Declared | None:
        """The field `name` of a table's type; of the root with `owner` None. None where there is none."""
        if owner is None:
            return from_hint(name, SECTIONS[name]) if name in SECTIONS else None
        if is_mapping(owner):
            return from_hint(name, item_type(owner))
        if not is_table(owner):
            return None
        if name in declared(owner):
            return declared(owner)[name]
        if owner is Pruning and name in self.strategies.names():
            return Declared(name, self.strategies.options_class(name))
        if owner is Model and (options := self.providers.options_class(name)):
            return Declared(name, options)
        return None

    def names(self, owner: Any) -> tuple[str, ...]:
        """The names that a table of this type can have; none for a free table."""
        if owner is None:
            return tuple(SECTIONS)
        if not is_table(owner):
            return ()
        extra = self.strategies.names() if owner is Pruning else ()
        if owner is Model:
            extra = tuple(name for name in self.providers.names() if self.providers.options_class(name))
        return (*declared(owner), *extra)

    def find(self, key: Key) -> Declared | None:
        """What stands at a key, a value or a table; None where nothing can."""
        item: Declared | None = None
        for name in key:
            item = self.member(item.type if item else None, name)
            if item is None:
                return None
        return item

    def resolve(self, key: Key) -> Key:
        """The full key for one that may leave out `pruning`: ("pi", "prune_protect") (PRUNING.md section 8)."""
        longer = ("pruning", *key)
        if key and key[0] not in SECTIONS and key[0] in self.names(Pruning):
            return longer
        return key

    def text_value(self, key: Key, text: str, fault: Fault) -> Any:
        """The value of `key=text`, typed as it is declared."""
        item = Declared("", None)
        for at, name in enumerate(key):
            member = self.member(item.type, name)
            if member is None:
                self._unknown(item.type, key[: at + 1], fault)
            item = member
        if is_table(item.type) or is_mapping(item.type):
            fault(key, "is a table, expected a key inside it", _all(self.names(item.type)))
        try:
            value = from_text(item, text)
        except MistypedError as error:
            fault(key, str(error), "")
        self._check(key, value, fault)
        return value

    def values(
        self, table: Mapping[str, Any], fault: Fault, owner: Any = None, above: Key = ()
    ) -> Iterator[tuple[Key, Any]]:
        """The values of a table by full key, typed as they are declared."""
        for name, value in table.items():
            key = (*above, name)
            if owner is Pruning and value == {} and name in self.strategies.names():
                continue  # an empty [pruning.NAME], as in the sample: no reason to import the strategy
            item = self.member(owner, name)
            if item is None:
                self._unknown(owner, key, fault)
            if is_table(item.type) or is_mapping(item.type):
                if not isinstance(value, dict):
                    fault(key, f"expected {expected(item)}, got {got(value)}", "")
                yield from self.values(value, fault, item.type, key)
                continue
            try:
                typed = from_toml(item, value)
            except MistypedError as error:
                fault(key, str(error), "")
            self._check(key, typed, fault)
            yield key, typed

    def _check(self, key: Key, value: Any, fault: Fault) -> None:
        """The rules that no declared type can state. Imports only what a layer sets."""
        if key == ("pruning", "strategy"):
            known = self.strategies.names()
            for name in (value,) if isinstance(value, str) else value:
                if name not in known:
                    near = nearest(name, known)
                    fault(key, f"there is no strategy {got(name)}, the nearest is {near}", _all(known))

        if key == ("model", "provider") and value not in self.providers.names():
            fault(key, f"expected one of {', '.join(self.providers.names())}, got {got(value)}", "")
        if key == ("tools", "enabled"):
            from prunecli.tools.registry import ALIASES, names

            tools = names()
            for name in value:
                if name not in tools and name not in ALIASES:
                    fault(
                        key,
                        f"there is no tool {got(name)}, the nearest is {nearest(name, tools)}",
                        _all(tools),
                    )
        if key[0] == "permissions" and key[1] != "mode":
            from prunecli.agent.judging.rules import parse_rule

            for rule in value:
                try:
                    parse_rule(rule)
                except ConfigError as error:
                    fault(key, error.message, error.hint)

    def _unknown(self, owner: Any, key: Key, fault: Fault) -> NoReturn:
        """Names the nearest valid key: among the neighbours, or the same name in another table."""
        name, names = key[-1], self.names(owner)
        if name.lower() in SECRETS:
            fault(key, "a credential never stands in a configuration file", "prunecli login keeps it safely")
        close = nearest(name, names, 0.6)
        near = dotted((*key[:-1], close)) if close else self._elsewhere(name)
        near = near or dotted((*key[:-1], nearest(name, names)))
        if names:
            fault(key, f"unknown key, the nearest is {near}", _all(names))
        fault(key, "unknown key", "its table has no keys")

    def _elsewhere(self, name: str) -> str:
        """The full key of another section that has this name: somebody forgot, or mistook, the section."""
        for section, owner in SECTIONS.items():
            if name in self.names(owner):
                return dotted((section, name))
        return ""


def _all(names: tuple[str, ...]) -> str:
    return f"there are {', '.join(names)}" if names else ""
