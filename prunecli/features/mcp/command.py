"""/mcp: the MCP servers of this session."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import sha256

from prunecli.commands.command import Choice, Choose, Effect, InThread, Live, Say, Table
from prunecli.features.mcp.approved import McpDefinitions, Servers
from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.login import LoginAttempt, login_of
from prunecli.features.mcp.server_state import RemoteTool, Server
from prunecli.features.mcp.servers import UNTRUSTED, RemoteServers
from prunecli.features.mcp.starting import explain
from prunecli.runtime.host import Host
from prunecli.runtime.outside import open_page
from prunecli.util.errors import ConfigError
from prunecli.util.figures import short
from prunecli.util.sanitize import one_line

NONE = "No MCP servers. Add one with `prunecli mcp add`, then /reload."
ACTIONS = ("reconnect", "disable", "enable")


def run(runtime: Host, arguments: str) -> Sequence[Effect]:
    """Show MCP servers; /mcp NAME, or login, logout, approve, revoke, reconnect, disable or enable NAME."""
    verb, _, rest = arguments.partition(" ")
    match verb, rest.strip():
        case "approve", name:
            return approval_question(runtime, name)
        case ("allow" | "leave") as answer, said if said:
            return _answered(runtime, answer, said)
        case "revoke", name if name:
            return _revoke(runtime, name)
        case "login", name if name:
            return _login(runtime, name)
        case "logout", name if name:
            return _logout(runtime, name)
    servers = servers_of(runtime)
    servers.prepare()
    servers.starting()
    if not servers.servers:
        return [Say(NONE)]
    word, _, name = arguments.partition(" ")
    if not word:
        return [_all(runtime)]
    action, wanted = (word, name.strip()) if word in ACTIONS and name.strip() else ("", arguments)
    found = servers.named(wanted)
    if found is None:
        known = ", ".join(server.name for server in servers.servers)
        nameless = wanted in (*ACTIONS, "login", "logout", "revoke")
        what = f"/mcp {wanted} needs the name of a server" if nameless else f"No MCP server named {wanted!r}"
        return [Say(f"{what}. Servers: {known}.", "error")]
    match action:
        case "reconnect":
            servers.restart(wanted)
            said = f"Connecting to {wanted} again. /mcp shows its state."
            return [_held(servers.named(wanted), f" /mcp enable {wanted} to start it.") or Say(said)]
        case "enable":
            servers.switch(wanted, on=True)
            return [_held(servers.named(wanted)) or Say(f"{wanted} is on in this session.")]
        case "disable":
            servers.switch(wanted, on=False)
            return [Say(f"{wanted} is off in this session.")]
        case _:
            return _one(runtime, found)


def _held(server: Server | None, way_out: str = "") -> Say | None:
    if server is None or server.state not in ("disabled", "needs approval"):
        return None
    hint = way_out if server.why != UNTRUSTED and server.state == "disabled" else ""
    return Say(f"{server.name}: {server.state}, {server.why}.{hint}", "warning")


def _all(runtime: Host) -> Table:
    servers = servers_of(runtime).servers
    rows = tuple(
        (
            server.name,
            server.state,
            server.transport,
            str(len(server.offer.tools)),
            short(_tokens(runtime, server.offer.tools)),
            server.why,
        )
        for server in servers
    )
    wanting = next((server.name for server in servers if server.state == "needs login"), "")
    note = "Tokens are those of all its tools; only tools that mcp_search finds are sent. /mcp NAME for more."
    note = f"/mcp {wanting} to log in. {note}" if wanting else note
    headings = ("server", "state", "transport", "tools", "tokens", "")
    live = Live(partial(_all, runtime), servers_of(runtime).watch)
    return Table("MCP servers", headings, rows, right=(3, 4), note=note, live=live)


def _one(runtime: Host, server: Server) -> list[Effect]:
    rows = [(tool.name, short(_tokens(runtime, [tool])), tool.description) for tool in server.offer.tools]
    facts = [
        f"{server.name}: {server.state}{f', {server.why}' if server.why else ''}",
        f"{server.transport}, from {server.origin}" if server.origin else server.transport,
        f"resources: {len(server.offer.resources)}, prompts: {len(server.offer.prompts)}",
    ]
    said: list[Effect] = [
        Table(f"MCP server {server.name}", ("tool", "tokens", "about"), tuple(rows), right=(1,))
    ]
    log = [f"Log:\n{chr(10).join(server.log[-20:])}"] if server.log else []
    return [Say("\n".join([*facts, *log])), *(said if rows else []), *_login_offer(server)]


def _login_offer(server: Server) -> list[Effect]:
    if server.state != "needs login":
        return []
    row = Choice(f"login {server.name}", f"Log in to {server.name}", "Opens your browser")
    return [Choose("Log in?", "mcp", (row,))]


def _tokens(runtime: Host, tools: Iterable[RemoteTool]) -> int:
    """Return the tokens of the tools' definitions; many or long ones are estimated by their characters."""
    text = "\n".join(f"{tool.name} {tool.description} {json.dumps(tool.schema)}" for tool in tools)
    return len(text) // 4 if len(text) > 100_000 else runtime.session.context.counts.counter.count(text)


# Approval ----------------------------------------------------------------------------------------------------


def approval_question(runtime: Host, name: str = "", after: str = "") -> Sequence[Effect]:
    """Return the question about a project's server: the one with this name, or else the first waiting one after
    `after`."""
    found = _definitions(runtime)
    if name and all(one.name != name for one in found.waiting):
        usable = any(one.name == name for one in found.usable)
        what = "needs no approval" if usable else "is not a server of this project"
        return [Say(f"{name} {what}.", "info" if usable else "error")]
    for one in found.waiting:
        if one.name == name or (not name and one.name > after):
            try:
                lines = [f"{one.name}, from {one_line(one.origin)}", *explain(one, runtime.setup.child_env)]
            except ConfigError as error:
                return [_broken(error), *([] if name else approval_question(runtime, after=one.name))]
            return [
                Choose(
                    "Allow this MCP server of the project?",
                    "mcp",
                    (
                        Choice(
                            f"allow {_digest(one)} {one.name}", "Yes", "Asks again if its definition changes"
                        ),
                        Choice(f"leave {one.name}", "No", "It stays off"),
                    ),
                    grave=True,
                    about="\n".join(lines),
                )
            ]
    return [] if name or after or found.waiting else [Say("No MCP server is waiting for approval.")]


def servers_of(runtime: Host) -> RemoteServers:
    return runtime.parts.of(RemoteServers)


def newly_waiting(runtime: Host) -> list[Effect]:
    found = _definitions(runtime)
    return [
        *(Say(problem, "warning") for problem in found.problems),
        *(approval_question(runtime) if found.waiting else ()),
    ]


def _answered(runtime: Host, answer: str, said: str) -> Sequence[Effect]:
    """Carry out an answer, then ask about the next server. An answer applies only to the definition that its question
    showed."""
    digest, _, name = said.partition(" ") if answer == "allow" else ("", "", said)
    if answer == "leave":
        return [
            Say(f"{name} stays off. /mcp approve {name} to change that."),
            *approval_question(runtime, after=name),
        ]
    one = next((one for one in _definitions(runtime).waiting if one.name == name), None)
    if one is None or _digest(one) != digest:
        return [
            Say(f"{name} changed since the question.", "warning"),
            *approval_question(runtime, name if one else ""),
        ]
    McpDefinitions(runtime.setup.places, runtime.setup.cwd).approve(one)
    servers_of(runtime).configured()
    servers_of(runtime).starting()
    return [Say(f"{name} is allowed. /mcp revoke {name} to undo."), *approval_question(runtime, after=name)]


def _revoke(runtime: Host, name: str) -> Sequence[Effect]:
    gone = McpDefinitions(runtime.setup.places, runtime.setup.cwd).revoke(name)
    servers_of(runtime).configured()
    return [Say(f"{name} is off until you approve it again." if gone else f"{name} is not approved.")]


# Logins ------------------------------------------------------------------------------------------------------


def _login(runtime: Host, name: str) -> Sequence[Effect]:
    """Ask the server for its login page, open the page, then wait until the browser returns."""
    setup, definition = runtime.setup, _reachable(runtime, name)
    attempt = LoginAttempt(setup.places, definition)

    def begin() -> Sequence[Effect]:
        address = attempt.address()
        opened = open_page(address, setup.child_env, setup.places.home)
        how = (
            "Your browser will open. If it does not, open" if opened else "Open in a browser on this machine"
        )
        return [
            Say(f"{how}:\n{address}"),
            InThread("Waiting for the browser, Esc to stop", finish, attempt.stop),
        ]

    def finish() -> Sequence[Effect]:
        attempt.finish()
        servers_of(runtime).restart(name)
        return [Say(f"Logged in to {name}. /mcp logout {name} to undo.")]

    return [InThread(f"Asking {name} for its login page", begin, attempt.stop)]


def _logout(runtime: Host, name: str) -> Sequence[Effect]:
    gone = login_of(runtime.setup.places, _reachable(runtime, name)).forget()
    servers_of(runtime).restart(name)
    return [Say(f"Logged out of {name}." if gone else f"Not logged in to {name}.")]


def _reachable(runtime: Host, name: str) -> Definition:
    """Return the server to log in to, with its variables filled in. Raises ConfigError."""
    found = _definitions(runtime)
    for one in found.usable:
        if one.name == name:
            return one.expanded(runtime.setup.child_env)
    if any(one.name == name for one in found.waiting):
        raise ConfigError(f"{name} is not approved", f"/mcp approve {name} first")
    known = ", ".join(one.name for one in found.usable) or "none"
    raise ConfigError(f"No MCP server named {name!r}. Servers: {known}.")


def _definitions(runtime: Host) -> Servers:
    setup = runtime.setup
    return McpDefinitions(setup.places, setup.cwd).current(runtime.config, trusted=runtime.gatekeeper.trusted)


def _digest(definition: Definition) -> str:
    return sha256(json.dumps(definition.to_json(), sort_keys=True).encode()).hexdigest()[:16]


def _broken(error: ConfigError) -> Say:
    return Say(f"{error.message}\n{error.hint}".strip(), "warning")
