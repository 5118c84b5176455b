"""The definition of one MCP server: how to start or reach it, and what an approval covers.

`command`, `args`, `env`, `url` and `headers` may contain `${VAR}` and `${VAR:-default}`. A definition contains them
as written; `expanded` fills them in. An approval covers the written form, so it names variables but contains none of
their values.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from prunecli.model.messages import Json
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.hosts import is_loopback
from prunecli.util.programs import can_be_passed

Transport: TypeAlias = Literal["stdio", "http", "sse"]

DEFAULT_TIMEOUT = 60.0
MAX_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_.@+~ -]+")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""A reference to an environment variable: its name, and its default or None."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class DefinitionError(ConfigError):
    """A definition cannot be used. The message names file, server and key."""


@frozen
class OAuth:
    """A client that the user registered with the authorization server beforehand. Empty values are found by
    discovery."""

    client_id: str = ""
    callback_port: int = 0
    """The port of the registered redirect `http://localhost:PORT/callback`; 0: a random one."""
    scopes: tuple[str, ...] = ()
    """The scopes to request, which override those of the server."""


@frozen
class Definition:
    """One server. `transport` decides which other fields apply: `command` and those with it, or `url` and those with
    it.

    `origin` names the place for messages (".mcp.json", "~/.config/prunecli/config.toml:12").
    """

    name: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    oauth: OAuth | bool = True
    """True: log in if the server asks for it. False: never."""
    enabled: bool = True
    timeout: float = DEFAULT_TIMEOUT
    """Maximum seconds for connecting, or for a request without progress."""
    origin: str = ""

    def to_json(self) -> Json:
        """Return the content of an approval: the program or address, and the data it gets. Variables stay
        unexpanded."""
        oauth = self.oauth
        if isinstance(oauth, OAuth):
            scopes: Json = list(oauth.scopes)
            client: Json = {
                "client_id": oauth.client_id,
                "callback_port": oauth.callback_port,
                "scopes": scopes,
            }
        else:
            client = oauth
        return {
            "transport": self.transport,
            "command": self.command,
            "args": list(self.args),
            "env": dict(self.env),
            "cwd": self.cwd,
            "url": self.url,
            "headers": dict(self.headers),
            "oauth": client,
        }

    def check(self) -> None:
        """Raise DefinitionError for the first key whose value, as written, cannot work."""
        problem = next(self._problems(), None)
        if problem:
            raise self.error(*problem)

    def error(self, key: str, what: str, hint: str = "") -> DefinitionError:
        """Return an error for a key of this definition that names file, server and key."""
        where = f"{self.origin}: " if self.origin else ""
        named = f"{self.name}.{key}" if key else self.name
        return DefinitionError(f"{where}{named}: {what}", hint)

    def variables(self) -> tuple[str, ...]:
        """Return the names of the environment variables that the definition uses, sorted."""
        return tuple(sorted({match[1] for _, text in self._texts() for match in VARIABLE.finditer(text)}))

    def expanded(self, environ: Mapping[str, str]) -> "Definition":
        """Return the definition with its variables filled in.

        Raises DefinitionError for a variable that is not set and has no default, and for an address that is unusable
        after expansion. An empty variable with a default gets the default, as in a shell.
        """
        for key, text in self._texts():
            for match in VARIABLE.finditer(text):
                if match[2] is None and match[1] not in environ:
                    raise self.error(
                        key,
                        f"variable {match[1]} is not set",
                        "set it, or write ${" + match[1] + ":-default}",
                    )

        def fill(text: str) -> str:
            return VARIABLE.sub(lambda match: environ.get(match[1], "") or match[2] or "", text)

        filled = replace(
            self,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            cwd=fill(self.cwd),
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )
        filled.check()
        return filled

    def _texts(self) -> Iterator[tuple[str, str]]:
        yield "command", self.command
        yield from (("args", text) for text in self.args)
        yield from ((f"env.{name}", text) for name, text in self.env.items())
        yield "cwd", self.cwd
        yield "url", self.url
        yield from ((f"headers.{name}", text) for name, text in self.headers.items())

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        if problem := name_problem(self.name):
            yield "", problem, ""
        for key, text in self._texts():
            if problem := text_problem(key, text):
                yield key.partition(".")[0], problem, ""
        if self.timeout <= 0:
            yield "timeout", f"expected seconds above 0, got {self.timeout:g}", ""
        local = self.command or self.args or self.env or self.cwd
        if self.transport == "stdio" and not self.command.strip():
            yield "command", "expected a program, got nothing", ""
        if self.transport != "stdio" and not self.url:
            yield "url", "expected an https URL", ""
        if self.url if self.transport == "stdio" else local:
            yield "url", "not both command and url", "use command to start a server, url to connect to one"


def wrong(key: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with the name of a server in the configuration, or with a value of it."""
    if problem := name_problem(key[1]):
        yield key[:2], problem
    if problem := text_problem(".".join(key[2:]), value) if isinstance(value, str) else "":
        yield key[:3], problem


def text_problem(key: str, text: str) -> str:
    """Return why a value cannot work at a key ("url", "env.NAME", "headers.NAME"), or "". It may contain references.

    Values of headers and variables are never quoted, since they may be secrets.
    """
    if not can_be_passed(text):
        return "contains a character that cannot be passed to a program"
    table, _, name = key.partition(".")
    if table == "env" and not _VARIABLE_NAME.fullmatch(name):
        return f"invalid variable name: {name[:40]!r}"
    if table == "headers" and not _HEADER_NAME.fullmatch(name):
        return f"invalid header name: {name[:40]!r}"
    if table == "headers" and not (text.isprintable() and text.isascii()):
        return f"{name}: expected printable ASCII"
    if table == "url" and text and not VARIABLE.search(text):
        return url_problem(text)
    return ""


def name_problem(name: str) -> str:
    """Return why this cannot name a server, or "". Names appear in rules, in the log and in the terminal."""
    if not name or len(name) > MAX_NAME or not _NAME.fullmatch(name) or name != name.strip():
        return (
            f"invalid server name: {name[:40]!r} (letters, digits, - _ . and at most {MAX_NAME} characters)"
        )
    return ""


def url_problem(url: str) -> str:
    """Return why this cannot be a server's address, or "". http:// is allowed only for this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "expected an https URL"
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        return "expected an https URL"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user or password; use headers"
    if parts.scheme == "http" and not is_loopback(host):
        return "http:// to another machine is unencrypted; use https"
    return ""
