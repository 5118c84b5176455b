"""The sandbox of a run: chosen once by trying, then used for each command."""

import asyncio
import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal

from prunecli.errors import ToolError
from prunecli.frozen import frozen
from prunecli.sandbox import bubblewrap, landlock, obeyed, seatbelt, seccomp
from prunecli.sandbox.bubblewrap import Stage
from prunecli.sandbox.denials import explain, reached_for
from prunecli.sandbox.layout import (
    GIT_REDIRECTS,
    Ground,
    Layout,
    inner_environment,
    is_free,
    layout_for,
    without_revisions,
)
from prunecli.sandbox.proxy import Proxy, start_words
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.confinement import Confine, Confined, bare
from prunecli.tools.processes.environment import credential_names

Kind = Literal["bubblewrap", "landlock", "seatbelt"]
Network = bool | tuple[str, ...]
_MISSING = re.compile(r"no such file or directory|cannot find|not found|does not exist|ENOENT", re.IGNORECASE)
_GIT = re.compile(r"(?<![\w.-])git(?![\w.-])")


@frozen
class Chosen:
    """The sandbox that works, or None and the reason. `program` is the path of its executable."""

    kind: Kind | None
    program: str = ""
    why: str = ""

    @property
    def word(self) -> str:
        """The words for the status bar."""
        return {
            "bubblewrap": "sandbox bwrap",
            "landlock": "sandbox landlock",
            "seatbelt": "sandbox seatbelt",
        }.get(self.kind or "", "no sandbox")


@frozen
class Limits:
    """Limits of one command, 0 for none: processes of the user, megabytes of each process and of each file."""

    processes: int = 0
    memory_mb: int = 0
    file_mb: int = 0


class Walls:
    """One sandbox for all commands of a run. `choose` finds out which one works; it is called once, in any thread.

    `required`: without a sandbox, no command runs.
    """

    def __init__(
        self,
        ground: Ground,
        choose: Callable[[], Chosen],
        *,
        network: Network = False,
        limits: Limits = Limits(),  # noqa: B008  # immutable
        required: bool = False,
    ) -> None:
        self.ground = ground
        self.network = network
        self.limits = limits
        self._required = required
        self._choose = choose
        self._chosen: Chosen | None = None
        self._lock = threading.Lock()
        self._folder = ""
        self._stage: Stage | None = None

    @property
    def known(self) -> Chosen | None:
        """The chosen sandbox; None before it has been chosen."""
        return self._chosen

    def chosen(self) -> Chosen:
        """Return the sandbox in effect. The first call tries each one, which takes some milliseconds."""
        with self._lock:
            if self._chosen is None:
                self._chosen = self._choose()
            return self._chosen

    def finds_all(self) -> bool:
        """Return whether every secret of the workspace is found and hidden."""
        return self.ground.found().complete

    def begin(self) -> None:
        """Choose the sandbox in the background."""
        if self._chosen is None:
            threading.Thread(target=self.chosen, name="sandbox", daemon=True).start()

    def confine(self, *, granted: bool, reads: bool = False) -> Confine:
        """Return the function that puts a command into the sandbox.

        `granted`: a rule or the user allowed the command, so it may commit, write files that control other programs,
        and get the credentials of the environment. `reads`: it is known to only read, so it can't change the
        workspace.
        """

        @asynccontextmanager
        async def confined(
            argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
        ) -> AsyncIterator[Confined]:
            chosen = await asyncio.to_thread(self.chosen)
            if chosen.kind is None and self._required:
                raise ToolError(f"Not run: sandbox.mode is 'require', but {chosen.why}.")
            if chosen.kind is None:
                async with bare(argv, cwd=cwd, env=env, command=command) as box:
                    yield box
                return
            git = granted and bool(_GIT.search(command))
            layout = await asyncio.to_thread(layout_for, self.ground, git=git, granted=granted, reads=reads)
            before = obeyed.identities(layout.obeyed)
            unset = frozenset[str]() if granted else credential_names(env)
            inner = {name: value for name, value in env.items() if name not in unset}

            checked = granted or reads

            def set_aside() -> str:
                nonlocal checked
                if checked:
                    return ""
                checked = True
                ours = {path for path in layout.missing if is_free(path)}
                after = sorted(set(self.ground.found().obeyed) - ours)
                return obeyed.in_words(obeyed.set_aside(before, after), self.ground.workspace)

            try:
                parts = self._limited(argv), cwd, inner, unset, command
                async with self._inside(chosen, layout, *parts) as box:
                    yield replace(box, afterwards=set_aside)
            finally:
                set_aside()  # for a canceled command

        return confined

    @asynccontextmanager
    async def _inside(
        self,
        chosen: Chosen,
        layout: Layout,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        unset: frozenset[str],
        command: str,
    ) -> AsyncIterator[Confined]:
        reached = partial(self._reached, layout, cwd)
        proxy = Proxy(() if isinstance(self.network, bool) else self.network)

        def said(output: str) -> str:
            return explain(
                output,
                hidden=layout.hidden,
                obeyed=layout.obeyed,
                network=self.network is True,
                refused=proxy.refused,
                unset=unset,
                landlock=chosen.kind == "landlock",
                command=command,
                reached=reached,
            )

        def missed(output: str) -> str:
            return reached_for(
                "\n".join(line for line in output.splitlines() if _MISSING.search(line)), reached
            )

        async with AsyncExitStack() as stack:
            descriptors = list[int]()
            if proxy.patterns and chosen.kind == "bubblewrap":
                descriptors.append(await stack.enter_async_context(proxy.serving()))
                argv = start_words(descriptors[0], argv, keep_locale="LC_CTYPE" in env)
            prepared = self.prepared(chosen, layout, argv, cwd=cwd)
            words, more = stack.enter_context(prepared)
            environ = self.environment(chosen, env)
            if chosen.kind == "bubblewrap":
                environ = without_revisions(environ, layout)
            yield Confined(words, environ, (*descriptors, *more), chosen.program, said, hints=missed)

    def _reached(self, layout: Layout, cwd: str, word: str) -> str:
        """Return the folder to open for a word of a command or its output, "" unless it is a hidden path."""
        home = self.ground.home
        path = os.path.normpath(os.path.join(cwd, home + word[1:] if word.startswith("~/") else word))
        while layout.hides(path) and not os.path.lexists(path):
            path = os.path.dirname(path)
        if not layout.hides(path):
            return ""
        alone = os.path.isdir(path) or looks_secret(path) or os.path.dirname(path) == home
        folder = path if alone else os.path.dirname(path)
        return "~" + folder.removeprefix(home)

    def environment(self, chosen: Chosen, env: Mapping[str, str]) -> dict[str, str]:
        """Return the environment inside."""
        inner = inner_environment(env, network=self.network is not False)
        if chosen.kind == "bubblewrap":
            return inner
        if chosen.kind == "seatbelt":
            return {**inner, "TMPDIR": self.stage().tmp}
        return landlock.inner_environment(inner, self.stage().tmp)

    @contextmanager
    def prepared(
        self, chosen: Chosen, layout: Layout, argv: Sequence[str], *, cwd: str
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the words that run a command in the sandbox, and the descriptors that it inherits.

        Raises ToolError if prunecli's own folder can't be made.
        """
        stage, online = self.stage(), self.network is True
        if chosen.kind == "seatbelt":
            yield seatbelt.words(layout, stage.tmp, argv, network=online), ()
            return
        under_landlock = chosen.kind == "landlock"
        redirections = [path for path in _redirections(layout) if not os.path.lexists(path)]
        orders = (
            landlock.orders_for(layout, stage.tmp, network=online)
            if under_landlock
            else seccomp.filter_program()
        )
        descriptor = _memory_file(orders)
        try:
            if under_landlock:
                yield landlock.words(descriptor, argv), (descriptor,)
            else:
                parts = chosen.program, layout, stage, argv
                said = bubblewrap.words(*parts, cwd=cwd, network=online, seccomp=str(descriptor))
                yield said, (descriptor,)
        finally:
            os.close(descriptor)
            _remove_placeholders(() if under_landlock else layout.missing)
            _remove_redirections(redirections)

    def stage(self) -> Stage:
        """Return the files for the mounts, created on first use."""
        if self._stage is None:
            try:
                self._stage = self._make_stage()
            except OSError as error:
                raise ToolError(f"The sandbox can't create its folder: {error.strerror}.") from error
        return self._stage

    def _make_stage(self) -> Stage:
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="prunecli-sandbox-"))
        stage = Stage(
            *(os.path.join(self._folder, name) for name in ("tmp", "folder", "file", "empty", "bare"))
        )
        os.mkdir(stage.tmp)
        os.chmod(stage.tmp, 0o1777)  # noqa: S103  # like /tmp; the folder around it is private
        os.mkdir(stage.folder, 0)
        os.mkdir(stage.bare, 0o555)
        for path, mode in ((stage.file, 0), (stage.empty, 0o444)):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        return stage

    def _limited(self, argv: Sequence[str]) -> Sequence[str]:
        """Return the command under its limits, set by the shell that runs it."""
        orders = list[str]()
        if self.limits.processes:
            orders.append(
                f"ulimit -u {self.limits.processes} 2>/dev/null || ulimit -p {self.limits.processes} 2>/dev/null"
            )
        if self.limits.memory_mb:
            orders.append(f"ulimit -d {self.limits.memory_mb * 1024}")
        if self.limits.file_mb:
            orders.append(f"ulimit -f {self.limits.file_mb * 2048} 2>/dev/null")  # in blocks of 512 bytes
        if not orders:
            return argv
        return ["/bin/sh", "-c", "; ".join([*orders, 'exec "$@"']), "sh", *argv]

    def close(self) -> None:
        """Remove the private /tmp."""
        if self._stage:
            os.chmod(self._stage.folder, 0o700)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._stage = "", None


def _memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("filter")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _redirections(layout: Layout) -> list[str]:
    """Return the files that would make git take more configuration, or its hooks from elsewhere."""
    return [os.path.join(folder, name) for folder in layout.reopened for name in GIT_REDIRECTS]


def _remove_redirections(paths: Sequence[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass  # the usual case: no git command makes one there


def _remove_placeholders(paths: Sequence[str]) -> None:
    """Remove the empty folders that bubblewrap made as mount points. A folder that is not empty is not one of
    them."""
    for path in paths:
        try:
            os.rmdir(path)
        except OSError:
            pass
