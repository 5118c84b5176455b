"""The valid dotted keys: the sections of the core, those that features and plugins bring, and the options of each
strategy below `pruning`.

Turns a table of a file into typed values by key and reports errors.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from prunecli.config.declared import Declared, Key, declared, from_hint, is_mapping, is_table, item_type
from prunecli.config.keys import dotted, nearest
from prunecli.config.options import SECTIONS, Model, Pruning
from prunecli.config.strategies import Strategies, shipped_strategies
from prunecli.config.typed import MistypedError, expected, from_text, from_toml, got
from prunecli.plugins.app import Brought, Installed, resolved
from prunecli.plugins.features import features
from prunecli.providers.registry import SHIPPED, Providers
from prunecli.safety.permissions.rules import parse_rule
from prunecli.tools.registry import ALIASES, names, off_switches, switches
from prunecli.util.by_project import ByProject, Refused
from prunecli.util.errors import ConfigError

Fault = Callable[[Key, str, str], NoReturn]
"""(key, problem, hint): raises the ConfigError, which also names the source."""

SECRETS = ("api_key", "auth_token", "key", "token", "apikey", "secret", "password")
"""Names that people try for a credential."""


class Schema(NamedTuple):
    """The valid keys, given the strategies, the providers, and what is installed (by default, the features)."""

    strategies: Strategies = shipped_strategies()
    providers: Providers = SHIPPED
    installed: Installed | None = None

    @property
    def there(self) -> Installed:
        """What is installed."""
        return self.installed or features()

    @property
    def brought(self) -> Mapping[str, Brought]:
        """The options of features and plugins by section, also of those that are switched off. "tools" are further
        keys of it, "tools.web" a table."""
        return self.there.known("options")

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections in the order of `config show`; those of features and plugins come before the last."""
        *core, last = SECTIONS
        return (*core, *(name for name in self.brought if "." not in name and name not in SECTIONS), last)

    def type_of(self, section: str) -> Any:
        return SECTIONS[section] if section in SECTIONS else self.brought[section].load()

    def _added(self, section: str) -> dict[str, Declared]:
        """Return what features and plugins add to a section of the core."""
        found = dict(declared(self.brought[section].load())) if section in self.brought else {}
        for name, one in self.brought.items():
            if name.startswith(f"{section}."):
                table = name.removeprefix(f"{section}.")
                found[table] = from_hint(table, one.load())
        return found

    def member(self, owner: Any, name: str) -> Declared | None:
        """Return the field `name` of a table type, or of the root if `owner` is None; None if there is none."""
        if owner is None:
            return from_hint(name, self.type_of(name)) if name in self.sections else None
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
        return self._added(_section_of(owner)).get(name)

    def names(self, owner: Any) -> tuple[str, ...]:
        """Return the valid names in a table of this type; none for a free table."""
        if owner is None:
            return self.sections
        if not is_table(owner):
            return ()
        extra = self.strategies.names() if owner is Pruning else ()
        if owner is Model:
            extra = tuple(name for name in self.providers.names() if self.providers.options_class(name))
        return (*declared(owner), *self._added(_section_of(owner)), *extra)

    def left_out(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the unknown sections of a file that may belong to a plugin that is off. They are no errors."""
        known = self.sections
        return tuple(name for name in table if name not in known) if self.there.absent else ()

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
        if key and key[0] not in self.sections and key[0] in self.names(Pruning):
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
        """Check rules that no declared type can express."""
        if key == ("pruning", "strategy"):
            known = self.strategies.names()
            for name in (value,) if isinstance(value, str) else value:
                if name not in known:
                    near = nearest(name, known)
                    fault(key, f"no strategy named {got(name)} (did you mean {near!r}?)", _all(known))

        if key == ("model", "provider") and value not in self.providers.names():
            fault(key, f"expected one of {', '.join(self.providers.names())}, got {got(value)}", "")
        if key == ("tools", "enabled"):
            tools = tuple(dict.fromkeys((*switches(self.there), *names(self.there))))
            off = off_switches(self.there)
            for name in value if not self.there.absent else ():
                if name not in tools and name not in ALIASES and name not in off:
                    fault(
                        key,
                        f"no tool named {got(name)} (did you mean {nearest(name, tools)!r}?)",
                        _all(tools),
                    )
        if (brought := self.brought.get(key[0])) and (check := resolved(brought.facts["check"])):
            for wrong, problem in check(key, value):
                fault(wrong, problem, "")
        if key[0] == "permissions" and key[1] != "mode":
            for rule in value:
                try:
                    parse_rule(rule)
                except ConfigError as error:
                    fault(key, error.message, error.hint)

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
        for section in self.sections:
            item = self.member(None, section)
            if item and name in self.names(item.type):
                return dotted((section, name))
        return ""


def _section_of(owner: Any) -> str:
    return next((name for name, kind in SECTIONS.items() if kind is owner), "")


def _all(names: tuple[str, ...]) -> str:
    return f"choose from {', '.join(names)}" if names else ""
