"""The MCP servers of a runtime: their configuration, their start, and the notices about them to the model.

They start in the background with the first request or after the first frame of a screen. They start only in a trusted
directory, since elsewhere no call may run. The system prompt and the tools never name them. A notice does, once they
have started, and again when a server is added, lost or restored.
"""

import asyncio
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.server_state import RemotePrompt, Server, Wanted
from prunecli.model.events import UserMessage
from prunecli.model.messages import Block, Json, Text, plain_text
from prunecli.model.notes import RESOURCE, UNREAD, newest_notice, notice
from prunecli.model.signals import Notice
from prunecli.plugins.app import resolved
from prunecli.runtime.forms import Elicit, Elicitation, Reply
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.safety.project_settings import down_to
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted

if TYPE_CHECKING:
    from prunecli.features.mcp.approved import McpDefinitions
    from prunecli.features.mcp.hub import Hub

# Imported when they are first needed: most directories have no servers, and every start imports this module.
DEFINITIONS = "prunecli.features.mcp.approved:McpDefinitions"
HUB = "prunecli.features.mcp.hub:Hub"
SEARCH = "prunecli.features.mcp.catalogue:answer"
WORLD = "prunecli.features.mcp.starting:world_of"

TITLE = "MCP servers"
NONE_LEFT = "There are no MCP servers any more."
OFF = "off in the configuration"
UNTRUSTED = "this folder is not trusted, /trust"
DECLINED = "The MCP server {} asked a question. Nobody can answer here, so its questions are declined."
PROJECT_FILE = ".mcp.json"
HOW = "mcp_search finds their tools, mcp_call calls one."
START_SECONDS = 20.0
"""Seconds after which a server that is still starting no longer holds back the notice about the others, or a run. One
that failed is told at once."""
WAIT_SECONDS = 2.0
"""Seconds that a headless run waits for its servers, so that its first message can tell their states."""
FAILED = {
    "failed": "The MCP server {} is not available: {}",
    "needs login": "The MCP server {} needs a login: {}",
}
_MENTION = re.compile(r"(?:^|(?<=[\s(\[{\"'`,]))@([^\s@:]+):([^\s@]+)")
MAX_ATTACHED = 100_000
"""Maximum bytes of the text of one resource."""


class RemoteServers(Part):
    """The servers of one runtime.

    `load` returns the configured servers; it is called when they are first needed and when the configuration
    changed. `load_sdk` imports what they need, if not the SDK.
    """

    shared = True

    def __init__(self, runtime: Host, parent: "RemoteServers | None" = None) -> None:
        super().__init__(runtime, parent)
        self._runtime = runtime
        self.load: Callable[[], Sequence[Wanted]] = lambda: configured(runtime)
        self.patience = WAIT_SECONDS
        self.load_sdk: Callable[[], None] | None = None
        self._hub: Hub | None = None
        self._main: asyncio.AbstractEventLoop | None = None
        self._wanted: Sequence[Wanted] | None = None
        self._disabled: dict[str, bool] = {}
        self._begun_at = 0.0
        self._declined: set[str] = set()
        self._told: dict[str, str] = {}
        self._watchers: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        runtime.mailbox.news.append(self.news)
        runtime.mailbox.complete = self.completed
        runtime.gatekeeper.claims = self.claims

    @property
    def servers(self) -> tuple[Server, ...]:
        """The current state of all configured servers; () before `prepare`."""
        return self._hub.servers if self._hub else ()

    @property
    def for_tools(self) -> "RemoteServers | None":
        """This object if servers are configured, else None."""
        return self if self._wanted else None

    def prepare(self) -> None:
        """Find out which servers are configured. Reads a few files the first time; any thread may call it."""
        with self._lock:
            if self._wanted is None:
                self._use(self.load())

    def starting(self) -> None:
        """Start the servers in the background, if the directory is trusted. Their questions are asked in the event
        loop of the caller, if it has one."""
        if self._runtime.gatekeeper.trusted:
            self.prepare()
            if self._hub is not None:
                with suppress(RuntimeError):  # a command of the plain interface runs without an event loop
                    self._main = asyncio.get_running_loop()
                self._begun_at = self._begun_at or time.monotonic()
                self._hub.begin()

    def configured(self) -> None:
        if self._wanted is not None:
            self._use(self.load())
            if self._hub is not None and self._begun_at:
                self._hub.begin()

    def _use(self, wanted: Sequence[Wanted]) -> None:
        self._wanted = wanted
        if not wanted and self._hub is None:
            return
        if self._hub is None:
            made: type[Hub] = resolved(HUB)
            world = resolved(WORLD)(self._runtime, self._elicit)
            self._hub = made(world, self._changed, self.load_sdk)
        self._hub.use([self._switched(one) for one in wanted])

    def _switched(self, one: Wanted) -> Wanted:
        off = self._disabled.get(one.definition.name)
        if off:
            return Wanted(one.definition, "disabled", "off in this session")
        return Wanted(one.definition) if off is False and one.why == OFF else one

    async def close(self) -> None:
        if self._hub is not None:
            await asyncio.to_thread(self._hub.close)

    async def settled(self, seconds: float) -> None:
        """Wait until no server is starting, for at most this many seconds."""
        if self._hub is not None and self._hub.begun:
            await self._hub.ask(self._hub.settled(seconds))

    def watch(self, changed: Callable[[], object]) -> Callable[[], None]:
        """Call `changed` in the caller's event loop after each change of a server; return a function that ends
        this."""
        loop, context = asyncio.get_running_loop(), copy_context()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(changed, context=context)

        self._watchers.append(tell)
        return lambda: self._watchers.remove(tell)

    async def ready(self) -> None:
        """Start the servers, and wait until each is connected or has failed: for `patience` seconds at most after the
        SDK was imported, which takes long on a busy machine."""
        self.starting()
        with suppress(TimeoutError, ToolError):
            async with asyncio.timeout(max(START_SECONDS, self.patience)):
                await self.settled(self.patience)

    def _changed(self) -> None:
        """Tell the watchers, and the user of a server that failed. Runs in the hub's thread."""
        for tell in tuple(self._watchers):
            tell()
        if self._main is not None:
            with suppress(RuntimeError):  # the loop has closed
                self._main.call_soon_threadsafe(self._tell_failed)

    def _tell_failed(self) -> None:
        """Tell the user, once for each reason, which servers can't be used and why."""
        for server in self.servers:
            reason = f"{server.state}: {server.why}" if server.state in FAILED else ""
            if reason and self._told.get(server.name) != reason:
                self._runtime.session.tell(
                    Notice(FAILED[server.state].format(server.name, server.fault), "warning")
                )
            if reason or server.state == "connected":
                self._told[server.name] = reason

    # Asked by the user ---------------------------------------------------------------------------------------

    def named(self, name: str) -> Server | None:
        return next((server for server in self.servers if server.name == name), None)

    def restart(self, name: str) -> None:
        if self._hub is not None:
            self._hub.restart(name)

    def switch(self, name: str, *, on: bool) -> None:
        self._disabled[name] = not on
        self.configured()

    def prompts(self) -> list[tuple[str, RemotePrompt]]:
        return [
            (f"{server.name}:{prompt.name}", prompt)
            for server in self.servers
            if server.state == "connected"
            for prompt in server.offer.prompts
        ]

    def resources(self) -> list[str]:
        return [
            f"{server.name}:{resource.uri}"
            for server in self.servers
            if server.state == "connected"
            for resource in server.offer.resources
        ]

    def prompt_text(self, word: str, arguments: Mapping[str, str]) -> str:
        """Return the text of `server:prompt`; waits for the server, so call it in a thread. Raises ToolError."""
        server, _, name = word.partition(":")
        hub = self._running()
        return hub.send(hub.prompt(server, name, arguments)).result()

    async def mentioned(self, words: str) -> tuple[Block, ...]:
        """Return the resources that a prompt names as `@server:uri`: a text for each, and its images."""
        known = {one.name for one in self.servers}
        found = dict.fromkeys(
            (match[1], match[2].rstrip(".,;!?)]}\"'`"))
            for match in _MENTION.finditer(words)
            if match[1] in known
        )
        blocks: list[Block] = []
        for server, uri in found:
            head = f"{RESOURCE} {server}:{uri}"
            try:
                text, images = await self._running().ask(self._running().read(server, uri, MAX_ATTACHED))
            except ToolError as error:
                blocks.append(Text(f"{head}\n{UNREAD}{error})"))
            else:
                blocks += [Text(f"{head}\n{text}"), *images]
        return tuple(blocks)

    async def completed(self, message: UserMessage) -> UserMessage:
        """Return a message that the user sent while the agent worked, with the resources that it names."""
        if message.origin == "command" or not self._wanted:
            return message
        return replace(
            message, content=(*message.content, *await self.mentioned(plain_text(message.content)))
        )

    # For the tools -------------------------------------------------------------------------------------------

    async def search(self, words: str) -> str:
        """Return the tools that match these words, with the schemas of the best matches."""
        if self._hub is not None and self._hub.begun:
            await self._hub.ask(self._hub.settled())
        servers = self.servers
        missing = [_line(server) for server in servers if server.state != "connected"]

        def found() -> str:
            states = f"Not connected: {'; '.join(missing)}" if missing else ""
            said: str = resolved(SEARCH)(words, servers, states)
            return said

        return await asyncio.to_thread(found)  # takes seconds for thousands of tools with long descriptions

    def check(self, server: str, tool: str) -> None:
        """Raise ToolError if a call to this tool cannot succeed now."""
        self._running().check(server, tool)

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> ToolOutput:
        """Call a server's tool. Raises ToolError if there is no result."""
        loop = asyncio.get_running_loop()

        def tell(text: str) -> None:
            loop.call_soon_threadsafe(progress, text)

        hub = self._running()
        return await hub.ask(hub.call(server, tool, arguments, tell))

    def _running(self) -> "Hub":
        if self._hub is None:
            raise ToolError("No MCP server is running.")
        return self._hub

    def claims(self, target: str) -> str:
        """Return a server's own statement on the effects of its tool `server:tool`, or ""."""
        server, _, name = target.partition(":")
        found = self.named(server)
        tools = found.offer.tools if found else ()
        return next((tool.claims for tool in tools if tool.name == name), "")

    # Notices --------------------------------------------------------------------------------------------

    def news(self) -> Sequence[UserMessage]:
        """Return the notice about the servers, unless the model already has it."""
        context = self._runtime.session.context
        known_tools = context.tool_names or ()
        if self._wanted is None or "mcp_call" not in known_tools or "mcp_call" not in self._runtime.tools:
            return ()
        known = newest_notice((item.event for item in reversed(context.items)), TITLE)
        if not self.servers:
            return () if known in (None, NONE_LEFT) else (notice(TITLE, NONE_LEFT, fixed=True),)
        text = "\n".join([*map(_line, self.servers), HOW])
        waits = time.monotonic() < self._begun_at + START_SECONDS
        if known is not None and waits and any(server.state == "starting" for server in self.servers):
            told = known.splitlines()
            if all(server.state not in FAILED or _line(server) in told for server in self.servers):
                return ()
        return () if text == known else (notice(TITLE, text, kept=True),)

    async def _elicit(self, asked: Elicitation) -> Reply:
        """Ask in the event loop of the front end. Runs in the hub's thread."""
        main, asker = self._main, self._runtime.fill_form
        if main is None or not main.is_running():
            return Reply("decline")
        if asker is None:
            main.call_soon_threadsafe(self._tell_declined, asked.server)
            return Reply("decline")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(asker, asked), main))

    async def _answer(self, asker: Elicit, asked: Elicitation) -> Reply:
        message = f"The MCP server {asked.server} asks: {asked.message}"
        self._runtime.parts.waits("elicitation_dialog", message, "Question from an MCP server")
        return await asker(asked)

    def _tell_declined(self, server: str) -> None:
        """Tell the user, once for each server, that its questions are declined."""
        if server not in self._declined:
            self._declined.add(server)
            self._runtime.session.tell(Notice(DECLINED.format(server), "warning"))


def _line(server: "Server") -> str:
    count = len(server.offer.tools)
    if server.state == "connected":
        return f"{server.name}: {counted(count, 'tool')}"
    return f"{server.name}: {server.state}{f' ({server.why})' if server.why else ''}"


def configured(runtime: Host) -> Sequence[Wanted]:
    """Return the servers of the configuration and the project, with the reasons why some are not started."""
    setup, trusted = runtime.setup, runtime.gatekeeper.trusted
    project = trusted and any(os.path.lexists(folder / PROJECT_FILE) for folder in down_to(setup.cwd))
    plugins = trusted and os.path.lexists(setup.places.claude_plugins)
    if not (runtime.config.section("mcp") or project or plugins):
        return ()
    made: type[McpDefinitions] = resolved(DEFINITIONS)
    found = made(setup.places, setup.cwd).current(runtime.config, trusted=trusted)

    def of(one: Definition) -> Wanted:
        why = "" if trusted and one.enabled else OFF if trusted else UNTRUSTED
        return Wanted(one, "disabled" if why else None, why)

    return [
        *map(of, found.usable),
        *(Wanted(one, "needs approval", f"/mcp approve {one.name}") for one in found.waiting),
    ]


def with_given(runtime: Host, given: Sequence[Definition]) -> Sequence[Wanted]:
    """Return the servers of the configuration and the project, and those of the editor, which come first."""
    names = {one.name for one in given}
    own = [one for one in configured(runtime) if one.definition.name not in names]
    return [*own, *map(Wanted, given)]
