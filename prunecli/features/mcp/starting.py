"""Starting a server: its environment, the explanation that the user sees before allowing it, and what `config show`
and `doctor` show of it."""

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from prunecli.config.effective import Config
from prunecli.features.mcp.definition import VARIABLE, Definition
from prunecli.features.mcp.login import auth_of
from prunecli.features.mcp.options import Servers
from prunecli.features.mcp.server_state import World
from prunecli.providers.registry import Finding
from prunecli.runtime.forms import Elicit
from prunecli.runtime.host import Host
from prunecli.util.sanitize import one_line

_KEPT = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        # The variables for reaching the network, which npx and uvx need for installing.
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    }
)
_HIDDEN = "***"
_SCHEMES = ("", "bearer", "basic", "token")
_SECRET_WORDS = ("AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN")


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that every server gets, before what its definition adds.

    `environ` is that of other commands, without prunecli's keys. A definition names anything that its server needs
    beyond PATH, HOME and the like, so one server never gets another's token.
    """
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.startswith("LC_")}
    if "PATH" in kept:
        entries = kept["PATH"].split(os.pathsep)
        kept["PATH"] = os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
    return kept


def world_of(host: Host, elicit: Elicit) -> World:
    setup = host.setup
    return World(
        setup.cwd,
        server_environment(setup.child_env),
        setup.child_env,
        lambda one: auth_of(setup.places, one),
        elicit,
        lambda: host.choices.media,
    )


def masked(text: str) -> str:
    """Return a value of `env` or `headers` for the screen. References to variables stay; literal values are
    hidden."""
    found, at = [], 0
    for match in VARIABLE.finditer(text):
        found += [_masked(text[at : match.start()]), _reference(match[1], match[2])]
        at = match.end()
    return "".join((*found, _masked(text[at:])))


def masked_url(url: str) -> str:
    """Return an address for the screen, without its query and fragment, which may contain a key."""
    address, mark, _ = url.partition("?")
    address, anchor, _ = address.partition("#")
    return f"{address}{mark or anchor}{_HIDDEN}" if mark or anchor else address


def displayed(key: tuple[str, ...], value: object) -> object:
    """Return a value of the configuration for the screen."""
    if not isinstance(value, str):
        return value
    if key[2] == "url":
        return masked_url(value)
    return masked(value) if key[2] in ("env", "headers") else value


def findings(config: Config) -> list[Finding]:
    """Return what `prunecli doctor` says of the servers."""
    servers: Servers = config.section("mcp")
    if not servers:
        return []
    said = ", ".join(f"{name}{'' if one.enabled else ' (off)'}" for name, one in servers.items())
    if find_spec("mcp") is None:
        return [
            Finding("MCP servers", "problem", f"{said}: the package mcp is missing", "install prunecli again")
        ]
    return [Finding("MCP servers", "ok", f"{said}; /mcp shows their state")]


def explain(definition: Definition, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the consequences of approving a server, as lines: the program or host, and the data it gets. Variables
    that determine the program or the destination are expanded. Raises DefinitionError as `expanded` does.
    """
    ready = definition.expanded(environ)
    if definition.transport == "stdio":
        yield f"Runs: {one_line(' '.join((ready.command, *definition.args)))}"
        if ready.cwd:
            yield f"In: {one_line(ready.cwd)}"
        for name, value in definition.env.items():
            if (name, value) == ("CLAUDE_PROJECT_DIR", ready.cwd):
                continue  # prunecli's own; the line above names it
            yield f"With: {one_line(name)}={one_line(masked(value) if _is_secret(name) else value)}"
    else:
        yield f"Connects to: {one_line(masked_url(ready.url))}"
        for name, value in definition.headers.items():
            yield f"Sends: {one_line(name)}: {one_line(masked(value))}"
    if names := definition.variables():
        yield f"Gets your variables: {', '.join(names)}"


def literal_secrets(definition: Definition) -> list[str]:
    """Return the variables and headers that are secrets by their names and written out, not as references."""
    given = (*definition.env.items(), *definition.headers.items())
    return [name for name, value in given if _is_secret(name) and _HIDDEN in masked(value)]


def _is_secret(name: str) -> bool:
    return any(word in name.upper() for word in _SECRET_WORDS)


def _masked(text: str) -> str:
    return text if text.strip().lower() in _SCHEMES else _HIDDEN


def _reference(name: str, default: str | None) -> str:
    return f"${{{name}}}" if default is None else f"${{{name}:-{_masked(default)}}}"
