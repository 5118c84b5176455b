"""The sandbox of a run: chosen once by trying, then used for each command."""

import asyncio
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Literal

from prunecli.safety.sandbox import bubblewrap, landlock, placeholders, seatbelt, seccomp, unchecked
from prunecli.safety.sandbox.bubblewrap import Stage
from prunecli.safety.sandbox.control_files import Made, in_words
from prunecli.safety.sandbox.covering import covered
from prunecli.safety.sandbox.denials import explain, reached_for, wrote
from prunecli.safety.sandbox.layout import (
    Ground,
    Layout,
    inner_environment,
    layout_for,
    lies_below,
    without_revisions,
)
from prunecli.safety.sandbox.proxy import Proxy, start_words
from prunecli.safety.sandbox.real_folders import opened
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.environment import credential_names
from prunecli.tools.processes.sandboxing import NOTHING, Blocked, Overlay, SandboxedCommand, Sandboxing, bare
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.private_file import make_temporary

Kind = Literal["bubblewrap", "landlock", "seatbelt"]
Network = bool | tuple[str, ...]
_LITTLE = 20
"""A pause is at least so many times as long as the look before it."""
_MISSING = re.compile(r"no such file or directory|cannot find|not found|does not exist|ENOENT", re.IGNORECASE)
_GIT = re.compile(r"(?<![\w.-])git(?![\w.-])")


@frozen
class Chosen:
    """The sandbox that works, or None and the reason. `program` is the path of its executable.

    `pins`: bubblewrap mounts open folders (`--bind-fd`), which older ones can't. `overlays`: the workspace can be
    covered by one (`Sandbox.trial`).
    """

    kind: Kind | None
    program: str = ""
    why: str = ""
    pins: bool = False
    overlays: bool = False

    @property
    def word(self) -> str:
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


@frozen
class Overlays:
    """What a command changes in `folders` goes elsewhere. `lock` is a descriptor that the sandbox keeps open."""

    folders: tuple[Overlay, ...]
    lock: int


class Sandbox:
    """One sandbox for all commands of a run. `choose` finds out which one works; it is called once, in any thread.

    `required`: without a sandbox, no command runs. `notes` is a folder for notes about unfinished commands, "" for
    none. `pause` is how many seconds a command runs until what it made is looked at, and again. `recover`
    finishes what an earlier program was applying, and returns lines about that.
    """

    def __init__(
        self,
        ground: Ground,
        choose: Callable[[], Chosen],
        *,
        network: Network = False,
        limits: Limits = Limits(),  # noqa: B008  # immutable
        required: bool = False,
        notes: str = "",
        pause: float = 1.0,
        recover: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.left = ""
        """A line on what earlier programs left unchecked; "" if there is nothing, or before a sandbox is chosen."""
        self.ground = ground
        self.network = network
        self.limits = limits
        self._required = required
        self._notes = notes
        self._pause = pause
        self._recover = recover
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
                self.left = "; ".join(filter(None, (*self._recover(), self._earlier())))
                self._chosen = self._choose()
            return self._chosen

    def finds_all(self) -> bool:
        """Return whether every secret of the workspace is found and hidden."""
        return self.ground.found().complete

    def confine(
        self, *, granted: bool, reads: bool = False, more: Blocked = NOTHING, online: bool = True
    ) -> Sandboxing:
        """Return the function that puts a command into the sandbox.

        `granted`: a rule or the user allowed the command, so it may commit, write files that control other programs,
        and get the credentials of the environment. `reads`: it is known to only read, so it can't change the
        workspace. `more` is what the user allowed it after the sandbox stopped it. Without `online`, it has no
        network, whatever is configured.
        """

        @asynccontextmanager
        async def confined(
            argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
        ) -> AsyncIterator[SandboxedCommand]:
            chosen = self._chosen
            if chosen is None:
                chosen = await asyncio.to_thread(self.chosen)
            if chosen.kind is None and self._required:
                raise ToolError(f"Not run: sandbox.mode is 'require', but {chosen.why}.")
            if chosen.kind is None:
                async with bare(argv, cwd=cwd, env=env, command=command) as box:
                    yield box
                return
            home, network = self.ground.home, online and (more.network or self.network)
            opened = (home + path[1:] if path.startswith("~") else path for path in more.reads)
            ground = replace(self.ground, readable=(*self.ground.readable, *opened))
            git = granted and bool(_GIT.search(command))
            earlier, layout = await asyncio.to_thread(
                self._arranged, ground, git=git, granted=granted, reads=reads
            )
            unset = frozenset[str]() if granted else credential_names(env)
            inner = {name: value for name, value in env.items() if name not in unset}
            fresh = self._fresh(layout) if git and chosen.kind == "bubblewrap" else {}
            parts = _limited(self.limits, argv), cwd, inner, unset, command, fresh, network
            if reads:
                async with self._inside(chosen, layout, None, *parts) as box:
                    yield replace(box, afterwards=lambda: earlier)
                return
            made = Made(self.ground, layout, granted=granted, fresh=fresh)
            with unchecked.noted(self._notes, self.ground.roots, made.repositories) as note:
                watching = asyncio.ensure_future(self._watch(made))
                try:
                    async with self._inside(chosen, layout, note, *parts) as box:
                        yield replace(
                            box, afterwards=lambda: "; ".join(filter(None, (earlier, made.set_aside())))
                        )
                finally:
                    watching.cancel()
                    made.set_aside()  # for a canceled command
                    await asyncio.gather(watching, return_exceptions=True)

        return confined

    async def _watch(self, made: Made) -> None:
        """Look at what a command makes while it runs: with little work in a large workspace too."""
        pause = self._pause
        while True:
            await asyncio.sleep(pause)
            begun = time.monotonic()
            with suppress(OSError, ValueError, RecursionError):  # the check at the end tells
                await asyncio.to_thread(made.check)
            pause = max(self._pause, _LITTLE * (time.monotonic() - begun))

    def trial(self, overlays: Overlays, *, network: Network = False) -> Sandboxing:
        """Return the function that puts a command into the sandbox with overlays over all that it could write, and
        without credentials. Only where `Chosen.overlays` is true."""

        @asynccontextmanager
        async def confined(
            argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
        ) -> AsyncIterator[SandboxedCommand]:
            chosen = await asyncio.to_thread(self.chosen)
            earlier, layout = await asyncio.to_thread(
                self._arranged, self.ground, git=True, granted=True, overlays=True
            )
            unset = frozenset(credential_names(env))
            inner = {name: value for name, value in env.items() if name not in unset}
            parts = _limited(self.limits, argv), cwd, inner, unset, command, dict[str, str](), network
            async with self._inside(chosen, layout, None, *parts, overlays.lock) as box:
                yield replace(box, overlays=overlays.folders, afterwards=lambda: earlier)

        return confined

    def _earlier(self) -> str:
        """Check what earlier programs left unchecked, and return a line about that."""
        renamed = unchecked.check(self._notes, self.ground.roots, self.ground.doubt)
        return in_words(renamed, self.ground.workspace)

    def _arranged(self, ground: Ground, **wanted: bool) -> tuple[str, Layout]:
        try:
            return self._earlier(), layout_for(ground, **wanted)
        except OSError as error:
            raise ToolError(f"The sandbox can't be set up: {error.filename}: {error.strerror}.") from error

    @asynccontextmanager
    async def _inside(
        self,
        chosen: Chosen,
        layout: Layout,
        note: int | None,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        unset: frozenset[str],
        command: str,
        fresh: Mapping[str, str],
        network: Network,
        lock: int | None = None,
    ) -> AsyncIterator[SandboxedCommand]:
        """Prepare a command; `note` and `lock` are descriptors that the sandbox keeps open."""
        reached = partial(self._reached, layout, cwd)
        proxy = Proxy(() if isinstance(network, bool) else network)

        def said(output: str) -> Blocked:
            if not layout.writable and (tried := wrote(output, landlock=chosen.kind == "landlock")).line:
                return tried
            return explain(
                output,
                hidden=layout.hidden,
                obeyed=layout.obeyed,
                network=network is True,
                refused=proxy.refused,
                unset=unset,
                landlock=chosen.kind == "landlock",
                closed=_is_closed(self.ground.workspace),
                command=command,
                reached=reached,
            )

        def missed(output: str) -> Blocked:
            return reached_for(
                "\n".join(line for line in output.splitlines() if _MISSING.search(line)), reached
            )

        async with AsyncExitStack() as stack:
            descriptors = list[int]()
            if proxy.patterns and chosen.kind == "bubblewrap":
                descriptors.append(await stack.enter_async_context(proxy.serving()))
                argv = start_words(descriptors[0], argv, keep_locale="LC_CTYPE" in env)
            environ, info = self.environment(chosen, env, network=network is not False), None
            if chosen.kind == "bubblewrap":
                environ = without_revisions(environ, layout)
                shown, closed = (*layout.writable, *layout.readable), (*layout.hidden, *layout.emptied)
                info = stack.enter_context(covered([path for path in closed if lies_below(path, shown)]))
            words, more = stack.enter_context(
                self.prepared(
                    *(chosen, layout, argv),
                    cwd=cwd,
                    fresh=fresh,
                    info=info,
                    held=[one for one in (note, lock) if one is not None],
                    online=network is True,
                )
            )
            yield SandboxedCommand(words, environ, (*descriptors, *more), chosen.program, said, hints=missed)

    def _reached(self, layout: Layout, cwd: str, word: str) -> str:
        """Return the folder to open for a word of a command or its output, "" unless it is a hidden path."""
        home = self.ground.home
        path = os.path.normpath(os.path.join(cwd, home + word[1:] if word.startswith("~/") else word))
        named = path
        while layout.hides(path) and not os.path.lexists(path):
            path = os.path.dirname(path)
        if not layout.hides(path) or (path == home and named != home):  # or nothing of that name is hidden
            return ""
        alone = os.path.isdir(path) or looks_secret(path) or os.path.dirname(path) == home
        folder = path if alone else os.path.dirname(path)
        return "~" + folder.removeprefix(home)

    def environment(self, chosen: Chosen, env: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
        inner = inner_environment(env, network=network)
        if chosen.kind == "bubblewrap":
            return inner
        if chosen.kind == "seatbelt":
            return {**inner, "TMPDIR": self.stage().tmp}
        return landlock.inner_environment(inner, self.stage().tmp)

    @contextmanager
    def prepared(
        self,
        chosen: Chosen,
        layout: Layout,
        argv: Sequence[str],
        *,
        cwd: str,
        fresh: Mapping[str, str] = {},
        info: int | None = None,
        held: Sequence[int] = (),
        online: bool = False,
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the words that run a command in the sandbox, and the descriptors that it inherits. The sandbox keeps
        what is `held`; `online`: it has the machine's network.

        Raises ToolError if prunecli's own folder can't be made.
        """
        stage = self.stage()
        if chosen.kind == "seatbelt":
            yield seatbelt.words(layout, stage.tmp, argv, network=online), ()
            return
        if chosen.kind == "landlock":
            descriptor = _memory_file(landlock.orders_for(layout, stage.tmp, network=online))
            try:
                yield landlock.words(descriptor, argv), (descriptor,)
            finally:
                os.close(descriptor)
            return
        with ExitStack() as stack:
            layout, sources = _pinned(layout, self.ground.roots, stack, pins=chosen.pins)
            try:
                kept = stack.enter_context(placeholders.held(layout.missing, *held))
            except OSError as error:
                raise ToolError(
                    f"The sandbox can't be set up: {error.filename}: {error.strerror}."
                ) from error
            descriptor = _memory_file(seccomp.filter_program())
            stack.callback(os.close, descriptor)
            words = bubblewrap.words(
                *(chosen.program, layout, stage, argv),
                cwd=cwd,
                network=online,
                seccomp=str(descriptor),
                sources=sources,
                held=kept,
                fresh=fresh,
                info=info,
            )
            yield words, (descriptor, *sources.values(), *(one for one in (kept, info) if one is not None))

    def _fresh(self, layout: Layout) -> dict[str, str]:
        """Return a private folder for each missing `.git`: what is made there is checked before it is outside."""
        self.stage()
        places = (os.path.join(root, ".git") for root in self.ground.roots)
        made = {path: tempfile.mkdtemp(dir=self._folder) for path in places if path in layout.missing}
        for folder in made.values():
            os.chmod(folder, 0o755)  # noqa: S103  # like .git; the folder around it is private
        return made

    def stage(self) -> Stage:
        """Return the files for the mounts, created on first use."""
        if self._stage is None:
            try:
                self._stage = self._make_stage()
            except OSError as error:
                raise ToolError(f"The sandbox can't create its folder: {error.strerror}.") from error
        return self._stage

    def _make_stage(self) -> Stage:
        self._folder = make_temporary("prunecli-sandbox-")
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

    def close(self) -> None:
        """Remove the private /tmp."""
        if self._stage:
            os.chmod(self._stage.folder, 0o700)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._stage = "", None


def _limited(limits: Limits, argv: Sequence[str]) -> Sequence[str]:
    """Return the command under its limits, set by the shell that runs it."""
    orders = list[str]()
    if limits.processes:
        orders.append(f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes} 2>/dev/null")
    if limits.memory_mb:
        orders.append(f"ulimit -d {limits.memory_mb * 1024}")
    if limits.file_mb:
        orders.append(f"ulimit -f {limits.file_mb * 2048} 2>/dev/null")  # in blocks of 512 bytes
    if not orders:
        return argv
    return ["/bin/sh", "-c", "; ".join([*orders, 'exec "$@"']), "sh", *argv]


def _pinned(
    layout: Layout, roots: tuple[str, ...], stack: ExitStack, *, pins: bool
) -> tuple[Layout, dict[str, int]]:
    """Return the layout, and the descriptors of the folders to reopen, since another command might move them or
    put a link there. What can't be opened stays read-only.

    Without such mounts, only folders that no command can move are reopened.
    """
    sources, refused = dict[str, int](), list[str]()
    for path in layout.reopened:
        above = os.path.dirname(path)
        try:
            if pins:
                sources[path] = stack.enter_context(opened(path))
            elif above not in roots and lies_below(path, (*roots, *(set(layout.reopened) - {path}))):
                raise NotADirectoryError
        except OSError:
            refused.append(path)
    return replace(
        layout,
        kept=(*layout.kept, *(path for path in refused if os.path.lexists(path))),
        reopened=tuple(path for path in layout.reopened if not lies_below(path, refused)),
        missing=tuple(path for path in layout.missing if not lies_below(path, refused)),
    ), sources


def _is_closed(folder: str) -> bool:
    """Return whether commands in a sandbox, where root has no more rights than others, can't write a folder."""
    try:
        status = os.stat(folder)
    except OSError:
        return True
    mine = 0o200 if status.st_uid == os.geteuid() else 0o020 if status.st_gid == os.getegid() else 0o002
    return not status.st_mode & mine or not os.access(folder, os.W_OK)


def _memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("filter")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
