"""One language server of a session: started when a file of its kind is first edited, asked after each edit, and
stopped for good once it fails.

Checks run one after the other: the content before an edit is shown first, so that what it reports is known and only
what an edit made is new. An edit waits for its check for a bounded time; the check itself goes on and is told later.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.features.lsp.options import Wanted, programs_of
from prunecli.plugins.foreign import described
from prunecli.runtime.host import Host
from prunecli.tools.processes.guarded import start
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.features.lsp import connection
else:
    connection = lazy("prunecli.features.lsp.connection")

SECONDS = 60.0, 20.0
"""Seconds for a server to start and to answer for the first time, when it may read the whole workspace, and later."""
MOST_OPEN = 20
"""Files that stay open in a server, so that an edit of one shows what it broke in the others."""


@frozen
class Found:
    """A new problem of a file, which has so many lines."""

    path: str
    lines: int
    problem: "connection.Problem"


class Server:
    """`say` tells the user, once, why the server is not asked any more. `limits` are those of `SECONDS`."""

    def __init__(
        self, wanted: Wanted, host: Host, say: Callable[[str], None], limits: tuple[float, float] = SECONDS
    ) -> None:
        self.wanted, self.limits = wanted, limits
        self.failed = ""
        self._host, self._say = host, say
        self._turn = asyncio.Lock()
        self._exit = AsyncExitStack()
        self._connection: connection.Connection | None = None
        self._answered = False
        self._texts: dict[str, str] = {}
        self._states: dict[str, tuple[int, int] | None] = {}
        self._known: dict[str, Sequence[connection.Problem]] = {}

    @property
    def running(self) -> bool:
        return self._connection is not None

    async def prepare(self, path: str, text: str) -> None:
        """Learn the problems of a file that is about to change."""
        await self._checked(self._prepare, path, text)

    async def check(self, path: str, text: str, *, new: bool) -> list[Found]:
        """Return the problems that an edit made in the file, and in others that were edited before."""
        found: list[Found] | None = await self._checked(self._check, path, text, new)
        return found or []

    def still(self, found: Found) -> bool:
        """Return whether the server, as far as it told, still sees a problem."""
        return any(one.text == found.problem.text for one in self._known.get(found.path, ()))

    async def close(self) -> None:
        async with self._turn:
            await self._stop()

    async def _checked(self, work: Callable[..., Any], *given: Any) -> Any:
        async with self._turn:
            if self.failed:
                return None
            seconds = self.limits[self._answered]
            try:
                async with asyncio.timeout(seconds):
                    answer = await work(*given)
                self._answered = True
                return answer
            except TimeoutError:
                self.failed = f"did not answer within {seconds:g} s"
            except Exception as error:  # noqa: BLE001  # whatever a server makes of the library, the run goes on
                known = isinstance(error, connection.ServerFailed | ToolError)
                self.failed = one_line(str(error)) if known else f"failed: {described(error)}"
            await self._stop()
            self._say(f"Language server {self.wanted.name} is off: it {self.failed}. /reload to try again")
            return None

    async def _prepare(self, path: str, text: str) -> None:
        if self._texts.get(path) == text:
            return
        server = await self._running()
        server.show(path, text)
        await server.settle(path)
        self._note(path, text)

    async def _check(self, path: str, text: str, new: bool) -> list[Found]:
        server = await self._running()
        for other in [one for one in self._texts if one != path and _state(one) != self._states[one]]:
            self._forget(other)  # something else changed it
        server.show(path, text, new=new)
        await server.settle(path)
        before = dict(self._known)
        self._note(path, text)
        return [
            Found(one, self._texts[one].count("\n") + 1, problem)
            for one in (path, *(other for other in self._texts if other != path))
            for problem in connection.new_problems(before.get(one, ()), self._known[one])
        ]

    def _note(self, path: str, text: str) -> None:
        """Note what the server knows now."""
        if not self._connection:
            return
        self._texts.pop(path, None)
        self._texts[path] = text
        self._states[path] = _state(path)
        for oldest in list(self._texts)[:-MOST_OPEN]:
            self._forget(oldest)
        for one in self._texts:
            self._known[one] = self._connection.problems(one, warnings=self.wanted.options.warnings)

    def _forget(self, path: str) -> None:
        if self._connection:
            self._connection.hide(path)
        for kept in (self._texts, self._states, self._known):
            kept.pop(path, None)

    async def _running(self) -> "connection.Connection":
        """Return the connection to the first of the programs that starts. Raises ServerFailed, ToolError, OSError."""
        failed = ""
        if self._connection is None:
            path = self._host.setup.child_env.get("PATH", "")
            for argv in programs_of(self.wanted, path, str(self._host.setup.cwd)):
                self._connection = await self._started(argv)
                try:
                    await self._connection.begin()
                    break
                except connection.ServerFailed as error:
                    failed = failed or str(error)
                    await self._stop()
        if self._connection is None:
            raise connection.ServerFailed(failed or "is no longer installed")
        return self._connection

    async def _started(self, argv: tuple[str, ...]) -> "connection.Connection":
        """Start a program, in the sandbox if there is one. Raises ToolError, OSError."""
        host, cwd = self._host, self._host.setup.cwd
        confined = await asyncio.to_thread(has_sandbox, host)
        env = host.tool_context(
            reads=not confined
        ).env  # what commands see: its Python is the one that runs tests
        if confined and self.wanted.name == "gopls":
            env = {**env, "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108  # it does not start without a writable one
        settings = await asyncio.to_thread(_settings, self.wanted.name, argv[0], cwd, env)
        client = await asyncio.to_thread(
            lambda: connection.protocol(cwd, settings)
        )  # its import takes a second
        box = host.sandbox.confine(granted=False, reads=True, online=False)
        inside = box(argv, cwd=str(cwd), env=env, command=" ".join(argv))
        words = await self._exit.enter_async_context(inside)
        program = await start(words.argv, cwd, words.env, connection.MAX_MESSAGE, words.descriptors)
        return connection.Connection(client, program, cwd, settings)

    async def _stop(self) -> None:
        ended, self._connection = self._connection, None
        self._texts.clear()
        self._known.clear()
        if ended:
            await ended.close()
        await self._exit.aclose()


def _settings(name: str, program: str, root: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Return what a server asks for or is given at the start: pyright the Python of commands, and
    typescript-language-server the TypeScript beside it, for a workspace that has none."""
    if name == "pyright":
        folders = (env.get("VIRTUAL_ENV", ""), *(str(root / one) for one in (".venv", "venv")))
        found = (f"{folder}/bin/python" for folder in folders if folder)
        python = next(filter(os.path.isfile, found), "")
        return {"python": {"pythonPath": python}} if python else {}
    if name == "typescript":
        found = (f"{folder}/typescript/lib" for folder in Path(os.path.realpath(program)).parents)
        beside = next((path for path in found if os.path.isfile(f"{path}/tsserver.js")), "")
        return {"tsserver": {"fallbackPath": beside}} if beside else {}
    return {}


def has_sandbox(host: Host) -> bool:
    """Return whether commands run in a sandbox. May try it, so it is called in a thread."""
    walls = host.sandbox.walls
    return walls is not None and walls.chosen().kind is not None


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
