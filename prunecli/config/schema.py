"""The valid dotted keys: the sections, and the options of each strategy below `pruning`.

Turns a table of a file into typed values by key and reports errors.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from prunecli.config.declared import Declared, Key, declared, from_hint, is_mapping, is_table, item_type
from prunecli.config.keys import dotted, nearest
from prunecli.config.options import SECTIONS, Model, Pruning
from prunecli.config.strategies import Strategies
from prunecli.config.typed import MistypedError, expected, from_text, from_toml, got
from prunecli.providers.registry import SHIPPED, Providers
from prunecli.util.by_project import ByProject, Refused
from prunecli.util.errors import ConfigError

Fault = Callable[[Key, str, str], NoReturn]
"""(key, problem, hint): raises the ConfigError, which also names the source."""

SECRETS = ("api_key", "auth_token", "key", "token", "apikey", "secret", "password")
"""Names that people try for a credential."""


class Schema(NamedTuple):
    """The valid keys, given the strategies and providers."""

    strategies: Strategies
    providers: Providers = SHIPPED

    def member(self, owner: Any, name: str) -> Declared | None:
        """Return the field `name` of a table type, or of the root if `owner` is None; None if there is none."""
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
        """Return the valid names in a table of this type; none for a free table."""
        if owner is None:
            return tuple(SECTIONS)
        if not is_table(owner):
            return ()
        extra = self.strategies.names() if owner is Pruning else ()
        if owner is Model:
            extra = tuple(name for name in self.providers.names() if self.providers.options_class(name))
        return (*declared(owner), *extra)

    def find(self, key: Key) -> Declared | None:
        """Return the value or table at a key; None if the key is not valid."""
        item: Declared | None = None
        for name in key:
            item = self.member(item.type if item else None, name)
            if item is None:
                return None
        return item

    def by_project(self, key: Key) -> ByProject | None:
        """Return what a key, or the nearest table around it, declares for project files; None for nothing."""
        item: Declared | None = None
        found: ByProject | None = None
        for name in key:
            item = self.member(item.type if item else None, name)
            if item is None:
                return None
            why = getattr(item_type(item.type) if is_mapping(item.type) else item.type, "refused", "")
            found = item.by_project or (Refused(why) if why else found)
        return found

    def resolve(self, key: Key) -> Key:
        """Return the full key of one that may omit `pruning`: ("pi", "prune_protect")."""
        longer = ("pruning", *key)
        if key and key[0] not in SECTIONS and key[0] in self.names(Pruning):
            return longer
        return key

    def text_value(self, key: Key, text: str, fault: Fault) -> Any:
        item = Declared("", None)
        for at, name in enumerate(key):
            member = self.member(item.type, name)
            if member is None:
                self._unknown(item.type, key[: at + 1], fault)
            item = member
        if is_table(item.type) or is_mapping(item.type):
            fault(key, "is a table; expected a key inside it", _all(self.names(item.type)))
        try:
            value = from_text(item, text)
        except MistypedError as error:
            fault(key, str(error), "")
        self._check(key, value, fault)
        return value

    def values(
        self, table: Mapping[str, Any], fault: Fault, owner: Any = None, above: Key = ()
    ) -> Iterator[tuple[Key, Any]]:
        """Yield the values of a table by full key, as their declared types."""
        for name, value in table.items():
            key = (*above, name)
            if owner is Pruning and value == {} and name in self.strategies.names():
                continue  # an empty [pruning.NAME], as in the sample, need not import the strategy
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
        """Check rules that no declared type can express. Imports only what a layer sets."""
        if key == ("pruning", "strategy"):
            known = self.strategies.names()
            for name in (value,) if isinstance(value, str) else value:
                if name not in known:
                    near = nearest(name, known)
                    fault(key, f"no strategy named {got(name)} (did you mean {near!r}?)", _all(known))

        if key == ("model", "provider") and value not in self.providers.names():
            fault(key, f"expected one of {', '.join(self.providers.names())}, got {got(value)}", "")
        if key == ("tools", "enabled"):
            from prunecli.tools.registry import ALIASES, names, switches

            tools = tuple(dict.fromkeys((*switches(), *names())))
            for name in value:
                if name not in tools and name not in ALIASES:
                    fault(
                        key,
                        f"no tool named {got(name)} (did you mean {nearest(name, tools)!r}?)",
                        _all(tools),
                    )
        if key[0] in ("mcp", "hooks"):
            self._check_extension(key, value, fault)
        if key[0] == "permissions" and key[1] != "mode":
            from prunecli.safety.permissions.rules import parse_rule

            for rule in value:
                try:
                    parse_rule(rule)
                except ConfigError as error:
                    fault(key, error.message, error.hint)

    def _check_extension(self, key: Key, value: Any, fault: Fault) -> None:
        if key[0] == "mcp":
            from prunecli.features.mcp.definition import name_problem, text_problem

            if problem := name_problem(key[1]):
                fault(key[:2], problem, "")
            if problem := text_problem(".".join(key[2:]), value) if isinstance(value, str) else "":
                fault(key[:3], problem, "")
        if key[0] == "hooks":
            from prunecli.features.hooks.settings import parse

            for problem in parse({key[1]: list(value)}).problems:
                fault(key, problem.removeprefix(f"hooks.{key[1]}"), "")

    def _unknown(self, owner: Any, key: Key, fault: Fault) -> NoReturn:
        """Report an unknown key and suggest a similar one in its table, or the same name in another."""
        name, names = key[-1], self.names(owner)
        if name.lower() in SECRETS:
            fault(key, "credentials do not belong in a configuration file", "use `prunecli login`")
        close = nearest(name, names, 0.6)
        near = dotted((*key[:-1], close)) if close else self._elsewhere(name)
        near = near or dotted((*key[:-1], nearest(name, names)))
        if names:
            fault(key, f"unknown key (did you mean {near}?)", _all(names))
        fault(key, "unknown key", "this table has no keys")

    def _elsewhere(self, name: str) -> str:
        """Return the full key with this name in another section, for a forgotten or mistaken section."""
        for section, owner in SECTIONS.items():
            if name in self.names(owner):
                return dotted((section, name))
        return ""


def _all(names: tuple[str, ...]) -> str:
    return f"choose from {', '.join(names)}" if names else ""
