"""The parts of a runtime: what each feature and plugin has of it, and the moments at which the runtime calls them.

A feature that keeps something for a session, or acts at a moment of it, brings a class of `Part` (`app.part`). Each
runtime makes one of each. A runtime of a task is given the part of the runtime that started it, if the class is
`shared`, and else makes its own.
"""

from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar

from prunecli.agent.hooks import Chain, Hooks, Recordable
from prunecli.model.messages import Block, Json, ToolUse
from prunecli.model.signals import Notice
from prunecli.plugins.app import Installed
from prunecli.plugins.features import available

if TYPE_CHECKING:
    from prunecli.agent.loop import Run
    from prunecli.runtime.host import Host
    from prunecli.session.session import Session


MOST_LINES = 5
"""Lines about unusable files to show at a time."""


Greet: TypeAlias = Callable[[str, str], None]
"""Shows a line below the welcome while the session is empty; Enter on an empty prompt sends the second text."""


class Prompt(NamedTuple):
    """A prompt, and the part of it that the user wrote and that may mention files."""

    text: str
    mentioning: str


class GivenServer(NamedTuple):
    """An MCP server that an editor brings: a program to start, or an address."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = MappingProxyType({})
    url: str = ""
    headers: Mapping[str, str] = MappingProxyType({})


class Part:
    """One feature's share in a runtime. Every method is a moment; by default nothing happens.

    `parent` is the part of the runtime that started this one for a task.
    """

    shared: ClassVar[bool] = False
    """Whether tasks use the part of the runtime that started them."""

    def __init__(self, host: "Host", parent: Self | None) -> None:
        self.host = host

    @property
    def for_tools(self) -> Any:
        """What the tools find under the name of this part in `ToolContext.parts`; None if nothing is available."""
        return self

    @property
    def keeps_sandbox(self) -> bool:
        """Whether something in the sandbox outlives the program."""
        return False

    # Sessions and configuration --------------------------------------------------------------------------

    def use_servers(self, given: Sequence[GivenServer]) -> Sequence[str]:
        """An editor opened the session and brings servers. Return a line for each that is not used."""
        return ()

    def switched(self, session: "Session") -> None:
        """Another session is open now."""

    def configured(self) -> None:
        """The configuration changed."""

    def opened(self, *, headless: bool) -> None:
        """The first session is open. Problems go to `host.notices`, questions for the screen to `host.opening`."""

    def system_texts(self) -> Sequence[str]:
        """Return texts for the system prompt of a new session."""
        return ()

    @property
    def codes(self) -> bool:
        """Whether the system prompt of a new session has the instructions for coding."""
        return True

    def unusable(self) -> Sequence[str]:
        """Return a line for each file of the user that cannot be used. Reads folders."""
        return ()

    def extra_status(self) -> str:
        """Return a few words for the status bar, or ""."""
        return ""

    def status_rows(self) -> Sequence[tuple[str, str]]:
        """Return rows for /status: a name and what to say of it."""
        return ()

    def spent(self) -> Sequence[str]:
        """Return lines for /cost."""
        return ()

    def facts(self) -> Mapping[str, Json]:
        """Return fields for the first message of a run in stream-json."""
        return {}

    # What people type and see ----------------------------------------------------------------------------

    def offered(self) -> Sequence[tuple[str, str]]:
        """Return the names and help of commands that change during a session. Called at each letter of a menu."""
        return ()

    def command(self, word: str, arguments: str) -> Sequence[Any] | None:
        """Return the effects (`commands.command`) of a typed command of this part; None if it is none."""
        return None

    def hidden(self, words: Container[str]) -> Sequence[str]:
        """Return a line for each of its commands that cannot be called because its name is one of these."""
        return ()

    def mentionable(self) -> Sequence[str]:
        """Return names that a prompt may mention after @."""
        return ()

    async def shown(self, greet: Greet) -> None:
        """The first frame of a screen is drawn. `greet` adds to the welcome."""

    async def ready(self) -> None:
        """A headless run is about to begin, which may wait for what it needs."""

    def reread(self) -> Sequence[Any]:
        """The settings were read again, by /reload or by trusting the directory. Return effects to carry out."""
        return ()

    def to_background(self) -> bool:
        """Move the running command to the background; return False if there is none."""
        return False

    def working(self) -> str:
        """Return a few words for work that ends with the program, such as "2 jobs"; "" for none."""
        return ""

    # A prompt --------------------------------------------------------------------------------------------

    def prompt(self, words: str) -> AbstractAsyncContextManager["Prompt"] | None:
        """Return a context that yields the prompt for a typed line; None to leave all lines alone."""

    def abandoned(self) -> None:
        """A new prompt takes the place of calls that have no result."""

    async def mentioned(self, words: str) -> Sequence[Block]:
        """Return blocks that a prompt mentions, which become a part of it."""
        return ()

    async def prompted(self, words: str) -> None:
        """A prompt is about to be recorded. Raises PromptBlocked."""

    async def attachments(self, run: "Run", words: str, *, strict: bool) -> Sequence[Recordable]:
        """Return what is recorded after a message that mentions it. Raises PromptBlocked if `strict`."""
        return ()

    # A run -----------------------------------------------------------------------------------------------

    def starting(self) -> None:
        """A run is about to begin. Must not wait."""

    async def begins(self) -> None:
        """A run begins."""

    def hooks(self) -> Hooks | None:
        """Return what acts on a run, or None."""
        return None

    async def before_change(self, call: ToolUse) -> None:
        """A call that may change files is about to run. May wait."""

    async def idle(self) -> None:
        """A run ended. May wait."""

    def rests(self) -> None:
        """The program waits for the user from now on."""

    def waits(self, kind: str, message: str, title: str, call: ToolUse | None = None) -> None:
        """A question is shown; `call` is the call whose permission it asks for."""

    async def finish(self) -> Sequence[str]:
        """End what must not outlive the program or task, and return a line for each."""
        return ()

    async def close(self) -> None:
        """The program ends."""


PartOf = TypeVar("PartOf", bound=Part)
Found = TypeVar("Found")


class Parts(Mapping[str, Part]):
    """The parts of one runtime, by name. The moments of a shared part come from the runtime that made it."""

    def __init__(self, installed: Installed, host: "Host", parents: "Parts | None") -> None:
        self._all: dict[str, Part] = {}
        self._own: list[Part] = []
        self._host = host
        self._complained = set[str]()
        self.vim_mode: Callable[[], str] = str
        """Returns the mode of vim in the prompt, "" without vim; a screen sets it."""
        for name, brought in installed.of("part").items():
            kind: type[Part] = brought.load()
            above = parents._all.get(name) if parents else None
            if kind.shared and above is not None:
                self._all[name] = above
            else:
                self._all[name] = part = kind(host, above)
                self._own.append(part)

    def __getitem__(self, name: str) -> Part:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def of(self, kind: type[PartOf]) -> PartOf:
        """Return the part of this class. Raises LookupError if its feature is not installed."""
        for part in self._all.values():
            if isinstance(part, kind):
                return part
        raise LookupError(kind)

    def for_tools(self) -> dict[str, Any]:
        found = {name: part.for_tools for name, part in self._all.items()}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def codes(self) -> bool:
        return all(part.codes for part in self._own)

    # Moments, in the order of installation ---------------------------------------------------------------

    def each(self, moment: Callable[[Part], object]) -> None:
        """Call a moment of the parts that this runtime made."""
        for part in self._own:
            moment(part)

    def system_texts(self) -> tuple[str, ...]:
        return tuple(text for part in self._own for text in part.system_texts())

    def gather(self, ask: Callable[[Part], Iterable[Found]]) -> tuple[Found, ...]:
        """Return what all parts answer, one after the other."""
        return tuple(one for part in self._all.values() for one in ask(part))

    def command(self, word: str, arguments: str) -> Sequence[Any] | None:
        """Return the effects of a typed command that a part offers; None if there is none."""
        found = (part.command(word, arguments) for part in self._all.values())
        return next((effects for effects in found if effects is not None), None)

    async def shown(self, greet: Greet) -> None:
        for part in self._own:
            await part.shown(greet)

    async def ready(self) -> None:
        for part in self._own:
            await part.ready()

    def unusable(self) -> tuple[str, ...]:
        return tuple(line for part in self._own for line in part.unusable())

    def complain(self, lines: Sequence[str]) -> None:
        """Tell of files that cannot be used, once each, and only the first few."""
        new = [line for line in lines if line not in self._complained]
        self._complained.update(new)
        if len(new) > MOST_LINES:
            new[MOST_LINES:] = [
                f"{len(new) - MOST_LINES} more files are not used{available('; /skills lists them')}."
            ]
        for line in new:
            self._host.session.tell(Notice(line, "warning"))

    @asynccontextmanager
    async def prompt(self, words: str) -> AsyncIterator[Prompt]:
        """Yield the prompt for a typed line."""
        prompt = Prompt(words, words)
        async with AsyncExitStack() as stack:
            for part in self._own:
                if (context := part.prompt(prompt.text)) is not None:
                    prompt = await stack.enter_async_context(context)
            yield prompt

    async def mentioned(self, words: str) -> tuple[Block, ...]:
        return tuple([block for part in self._all.values() for block in await part.mentioned(words)])

    async def prompted(self, words: str) -> None:
        for part in self._own:
            await part.prompted(words)

    async def attachments(self, run: "Run", words: str, *, strict: bool = True) -> list[Recordable]:
        found = [await part.attachments(run, words, strict=strict) for part in self._own]
        return [one for each in found for one in each]

    async def begins(self) -> None:
        for part in self._own:
            await part.begins()

    def hooks(self) -> Hooks | None:
        groups = [hooks for part in self._own if (hooks := part.hooks()) is not None]
        return groups[0] if len(groups) == 1 else Chain(groups) if groups else None

    async def before_change(self, call: ToolUse) -> None:
        for part in self._all.values():
            await part.before_change(call)

    async def idle(self) -> None:
        for part in self._own:
            await part.idle()

    def status(self) -> tuple[str, ...]:
        return tuple(filter(None, (part.extra_status() for part in self._all.values())))

    def waits(self, kind: str, message: str, title: str, call: ToolUse | None = None) -> None:
        for part in self._own:
            part.waits(kind, message, title, call)

    async def finish(self) -> list[str]:
        return [line for part in self._own for line in await part.finish()]

    async def close(self) -> None:
        for part in self._own:
            await part.close()
