"""What features and plugins add to the program, and the door through which they add it.

A feature or plugin defines `install(app)`. Each verb of `App` files an object under a kind and a name. In place of an
object, a reference may be given ("package.module:name"), which is imported when it is first used, so that installing
costs next to nothing. `Installed` holds what was filed.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from prunecli.util.errors import PrunecliError
from prunecli.util.frozen import frozen


class PluginError(PrunecliError):
    """A plugin that cannot be installed or that failed. The message names it."""


@frozen
class Brought:
    """One object that `owner` brought under a name, or the reference to it. `facts` are what its kind adds."""

    owner: str
    name: str
    target: Any
    facts: Mapping[str, Any]

    def load(self) -> Any:
        """Return the object, imported now if it was given as a reference. Raises ImportError, AttributeError."""
        return resolved(self.target)


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_. -]{0,63}")


def resolved(target: Any) -> Any:
    """Return the object of a reference ("package.module" or "package.module:name"); anything else as it is."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    found: Any = import_module(module)
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    return found


@frozen
class Plugin:
    """A feature or plugin: its kind, where it comes from, and the ms of its installation. `off` says why it is not
    there, "" if it is."""

    name: str
    kind: str
    source: str
    ms: float = 0.0
    off: str = ""

    @property
    def is_ours(self) -> bool:
        return self.kind == "feature"


class Installed:
    """Everything that features and plugins brought, by kind and name, in the order of installation.

    What a switched-off owner brought stays known, so that its options and the names of its tools are no errors.
    """

    def __init__(self, plugins: Sequence[Plugin] = (), off: Collection[str] = ()) -> None:
        self.plugins = list(plugins)
        self.problems = list[str]()
        self._off = frozenset(off)
        self._kinds: dict[str, dict[str, Brought]] = {}

    def of(self, kind: str) -> Mapping[str, Brought]:
        """Return what was brought of a kind, by name."""
        found = self._kinds.get(kind, {})
        if not self._off:
            return found
        return {name: one for name, one in found.items() if one.owner not in self._off}

    @property
    def foreign(self) -> tuple[str, ...]:
        """The plugins that are on and not features of prunecli."""
        return tuple(plugin.name for plugin in self.plugins if not (plugin.off or plugin.is_ours))

    @property
    def absent(self) -> tuple[str, ...]:
        """The plugins that are off and whose options and tools are therefore unknown."""
        return tuple(plugin.name for plugin in self.plugins if plugin.off and not plugin.is_ours)

    def known(self, kind: str) -> Mapping[str, Brought]:
        """Return what was brought of a kind, also by owners that are switched off."""
        return self._kinds.get(kind, {})

    def each(self) -> Iterator[tuple[str, Brought]]:
        """Yield the kind and the object of everything that was brought."""
        for kind, found in self._kinds.items():
            yield from ((kind, one) for one in found.values())

    def by(self, owner: str) -> Iterator[tuple[str, Brought]]:
        """Yield the kind and the object of everything that one owner brought."""
        return ((kind, one) for kind, one in self.each() if one.owner == owner)

    def file(self, kind: str, one: Brought) -> None:
        """File an object. Raises PluginError if the name is taken."""
        names = self._kinds.setdefault(kind, {})
        if one.name in names:
            raise PluginError(f"the {kind} {one.name!r} is taken by {names[one.name].owner}")
        names[one.name] = one

    def take(self, other: "Installed") -> None:
        """File everything of another, or nothing. Raises PluginError if a name is taken."""
        found = list(other.each())
        for kind, one in found:
            if (taken := self._kinds.get(kind, {}).get(one.name)) is not None:
                raise PluginError(f"the {kind} {one.name!r} is taken by {taken.owner}")
        for kind, one in found:
            self.file(kind, one)


class App:
    """The door: one for each feature or plugin, passed to its `install`."""

    def __init__(self, owner: str, installed: Installed) -> None:
        self.owner: Final = owner
        self._installed = installed
        self._closed = False

    def close(self) -> None:
        """End the installation: what comes later, from one that took too long, is refused."""
        self._closed = True

    def _file(self, kind: str, name: str, target: Any, **facts: Any) -> None:
        if self._closed:
            raise PluginError(f"the {kind} {name!r} came after the installation")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise PluginError(f"the {kind} {name!r:.60} needs a name of letters, digits, - and _")
        self._installed.file(kind, Brought(self.owner, name, target, facts))

    def _file_next(self, kind: str, target: Any, **facts: Any) -> None:
        """File an object of a kind whose objects have no names."""
        count = sum(one.owner == self.owner for one in self._installed.of(kind).values())
        self._file(kind, f"{self.owner}-{count + 1}", target, **{"verb": kind, **facts})

    def tool(
        self,
        target: Any,
        name: str = "",
        *,
        switch: str = "",
        enabled: bool = True,
        opens: str = "",
        suits: Any = None,
    ) -> None:
        """Add a tool of the model: a `Tool`, or a reference and its name.

        `switch` is its name in `[tools] enabled` if that enables several tools; `enabled`: by default. `opens` is the
        command, given the id of a call, that runs when the user opens the call in the transcript. `suits(model)`: a
        session that begins with such a model gets the tool beside `edit`, also if it is not enabled.
        """
        name = name or target.name
        self._file("tool", name, target, switch=switch or name, enabled=enabled, opens=opens, suits=suits)

    def command(self, name: str, target: Any, text: str = "") -> None:
        """Add the slash command /name: a function of the session and its arguments, or a reference to one or to a
        module like those of `prunecli.commands`. "prune-config try" adds the word `try` to /prune-config, and `text`
        is its help."""
        self._file("command", name, target, help=text)

    def subcommand(self, name: str, target: Any, text: str, flags: Collection[str] = ()) -> None:
        """Add `prunecli name`: a reference to its Typer application. `flags` are those of the main command that work
        before it; `text` is its help. "sessions import" adds `import` to `prunecli sessions`."""
        self._file("subcommand", name, target, help=text, flags=flags)

    def options(self, section: str, target: Any, *, check: Any = None, display: Any = None) -> None:
        """Add the section `[section]` of the configuration: an options class, as in `prunecli.config.options`, or a
        `Mapping[str, ...]` of one for a table per name. "tools" adds keys to that section, "tools.web" a table.

        `check` yields the wrong key and a problem for a key and its value, beyond what types and `__post_init__`
        tell. `display` returns a value without its secrets.
        """
        self._file("options", section, target, check=check, display=display)

    def strategy(self, name: str, target: Any) -> None:
        """Add a pruning strategy: a module or class with `propose` and, if it has options, `Options`."""
        self._file("strategy", name, target)

    def part(self, name: str, target: Any) -> None:
        """Add a class of `prunecli.runtime.parts.Part`, of which each runtime makes one."""
        self._file("part", name, target)

    def on(self, moment: str, function: Callable[..., Any]) -> None:
        """Call a function at a moment of a session; docs/plugins.md lists them. Raises PluginError for others."""
        if moment not in MOMENTS:
            raise PluginError(f"no moment named {moment!r}; choose from {', '.join(MOMENTS)}")
        self._file_next("moment", function, verb=moment)

    def widget(self, name: str, target: Any, shows: Any, *, below: bool = False) -> None:
        """Add a widget above the prompt, or `below` it: a class of Textual's `Widget` with `show`. `shows` is a
        function of the runtime that returns what to show; the widget is made when that is first something."""
        self._file("widget", name, target, shows=shows, below=below)

    def notices(self, due: Callable[..., Any]) -> None:
        """Add a function of the `Glance` that returns what the model is told before the next request, "" for
        nothing."""
        self._file_next("notices", due)

    def status(self, segment: Any) -> None:
        """Add a function of the `Glance` that returns a few words for the status bar, "" for none."""
        self._file_next("status", segment)

    def check(self, line: Any) -> None:
        """Add a check of `prunecli doctor`: a function of the configuration that returns findings, as in
        `prunecli.providers.registry`."""
        self._file_next("check", line)

    def provider(self, name: str, target: Any) -> None:
        """Add a provider: a module like those of `prunecli.providers.available`."""
        self._file("provider", name, target)

    def importer(self, name: str, recognize: Any, read: Any) -> None:
        """Add an importer: `recognize` tells whether it knows the file of a path, and `read` returns its conversation
        as messages of the Messages API."""
        self._file("importer", name, read, recognize=recognize)

    def sessions(self, name: str, title: str, target: Any) -> None:
        """Add the sessions of another agent, which people open as @name: an object like the protocol
        `prunecli.runtime.importers.Importer`. `title` is the agent's name in lists."""
        self._file("sessions", name, target, title=title)


MOMENTS = (
    *("session", "prompt", "before_call", "after_call", "before_prune", "before_compaction", "stop", "close"),
)
