"""The MCP servers at the moments of a runtime, and what front ends show of them."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.servers import DEFINITIONS, PROJECT_FILE, RemoteServers, with_given
from prunecli.model.messages import Json
from prunecli.plugins.app import resolved
from prunecli.runtime.parts import GivenServer, Greet
from prunecli.safety.project_settings import down_to
from prunecli.util.errors import ConfigError
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.features.mcp.approved import McpDefinitions

NEWLY_WAITING = "prunecli.features.mcp.command:newly_waiting"
SEND_PROMPT = "prunecli.features.mcp.prompts:send_prompt"
STATES = {"starting": "pending", "needs login": "needs-auth", "needs approval": "needs-approval"}
"""The states of a server that have other names in the first object of stream-json."""


class McpServers(RemoteServers):
    """The servers of one runtime, which its tasks share."""

    def opened(self, *, headless: bool) -> None:
        """Tell of unusable definitions, and ask about servers that need approval, or name them if `headless`."""
        host, setup = self.host, self.host.setup
        folders = down_to(setup.cwd) if setup.trusted else ()
        files = [setup.places.claude_plugins, *(folder / PROJECT_FILE for folder in folders)]
        if not host.config.section("mcp") and not any(map(os.path.lexists, files)):
            return
        made: type[McpDefinitions] = resolved(DEFINITIONS)
        found = made(setup.places, setup.cwd).current(host.config, trusted=setup.trusted)
        host.notices += found.problems
        names = ", ".join(one.name for one in found.waiting)
        if names and headless:
            host.notices.append(
                f"MCP servers not approved, so they are off: {names}. Run prunecli to approve them."
            )
        elif names:
            host.opening.append("/mcp approve")

    def use_servers(self, given: Sequence[GivenServer]) -> Sequence[str]:
        """Add servers of the editor, which need no approval because the user configured them there.

        Like all servers, they run only in a trusted directory. If config.toml has a server of the same name, that
        one is used, because rules may refer to it.
        """
        ours, problems = list[Definition](), list[str]()
        for server in given:
            made = Definition(**server._asdict(), origin="the editor")
            try:
                made.check()
            except ConfigError as error:
                problems.append(f"MCP server not used: {one_line(error.message)}")
                continue
            if made.name in self.host.config.section("mcp"):
                problems.append(
                    f"MCP server {one_line(made.name)}: the server of this name in config.toml is used instead"
                )
            else:
                ours.append(made)
        if ours:
            self.load = lambda: with_given(self.host, ours)
            if not self.host.gatekeeper.trusted:
                problems.append("The editor's MCP servers start once this folder is trusted.")
        return problems

    async def shown(self, greet: Greet) -> None:  # noqa: ARG002  # the base class's signature
        if self.host.gatekeeper.trusted:
            await asyncio.to_thread(self.prepare)
            self.starting()

    def reread(self) -> Sequence[Any]:
        """Start the servers, and ask about those that need approval."""
        self.starting()
        asked: Sequence[Any] = resolved(NEWLY_WAITING)(self.host)
        return asked

    def status_rows(self) -> Sequence[tuple[str, str]]:
        said = ", ".join(
            server.name if server.state == "connected" else f"{server.name} ({server.state})"
            for server in self.servers
        )
        return (("MCP servers", f"{said} · /mcp"),) if said else ()

    def facts(self) -> Mapping[str, Json]:
        """Return the servers for the first message of stream-json, with Claude Code's states."""
        servers: list[Json] = [
            {
                "name": server.name,
                "status": STATES.get(server.state, server.state),
                **({"error": server.fault} if server.state == "failed" else {}),
            }
            for server in self.servers
        ]
        return {"mcp_servers": servers}

    def offered(self) -> Sequence[tuple[str, str]]:
        return [(word, prompt.description) for word, prompt in self.prompts()]

    def command(self, word: str, arguments: str) -> Sequence[Any] | None:
        """Send a prompt of a server: `/server:prompt` and its arguments in order; the last takes what remains."""
        if ":" not in word:
            return None
        effects: Sequence[Any] = resolved(SEND_PROMPT)(self, word, arguments)
        return effects

    def mentionable(self) -> list[str]:
        """Return the resources of the servers, as a prompt mentions them."""
        return self.resources()
