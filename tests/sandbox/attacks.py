"""Attacks on the sandbox by commands that leave something behind for a program outside.

A program of its own, so that it can be run as another user: `python -m tests.sandbox.attacks FOLDER NAME RUNS`. It
prints each breach on a line.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from prunecli.safety.permissions.git import config_doubt
from prunecli.safety.permissions.places import is_kept_inside
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.layout import Ground
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.util.errors import ToolError
from tests.tools.calling import Caller
from tests.waiting import until

EVIL = "printf '[core]\\n\\tfsmonitor = touch %s/ran; false\\n' $HOME >"
"""Writes a configuration that makes `git status` run a program."""
BARE = "mkdir -p {0}/objects {0}/refs; echo ref: refs/heads/x > {0}/HEAD; " + EVIL + " {0}/config"
WAIT = "for i in $(seq 400); do [ -e {0} ] && break; sleep 0.01; done; "


class Place:
    """A workspace in a home folder, with sessions that run commands in it."""

    def __init__(self, folder: Path, chosen: Chosen) -> None:
        self.home = folder / "home"
        self.work = self.home / "ws"
        self.work.mkdir(parents=True, exist_ok=True)
        (self.home / "safe").mkdir(exist_ok=True)
        (self.home / "safe" / "AGENTS.md").write_text("safe\n")
        self.notes = folder / "notes"
        self.chosen = chosen
        self.walls = list[Sandbox]()

    def session(self, *, granted: bool) -> "Session":
        """A session; its commands were allowed if `granted`, as in auto mode."""
        root, home = str(self.work.resolve()), str(self.home.resolve())
        scan = SecretScan(root, looks_secret, is_obeyed=lambda path: is_kept_inside(path[len(root) + 1 :]))
        ground = Ground(root, home, (), (), scan, {"PATH": os.environ["PATH"]}, doubt=config_doubt)
        ground = replace(ground, unix_sockets=lambda _: ())
        walls = Sandbox(ground, lambda: self.chosen, notes=str(self.notes), pause=0.01)
        self.walls.append(walls)
        return Session(self, walls, granted=granted)

    def close(self) -> None:
        """Remove what the sandboxes made for themselves."""
        for walls in self.walls:
            walls.close()


class Session:
    """Runs commands as a session does."""

    def __init__(self, place: Place, walls: Sandbox, *, granted: bool) -> None:
        self.walls = walls
        caller = Caller(place.work)
        env = {**caller.context.env, "HOME": str(place.home)}
        self.caller = caller.with_(env=env, confine=walls.confine(granted=granted))

    async def run(self, command: str) -> str:
        """The output of a command."""
        output = await self.caller.output("bash", command=command)
        return str(getattr(output.content[0], "text", ""))

    async def job(self, command: str) -> "asyncio.Task[str]":
        """A command that goes on beside others; it has begun."""
        begun = os.path.join(self.walls.ground.workspace, f"begun-{os.urandom(4).hex()}")
        task = asyncio.ensure_future(self.run(f"touch {begun}; {command}"))
        await until(lambda: os.path.exists(begun) or task.done())
        os.unlink(begun)
        return task


@contextmanager
def watched(seen: Callable[[], object], found: list[str], what: str) -> Iterator[None]:
    """Look all the time, as a program outside may, and note if something was seen."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            try:
                if seen():
                    found.append(what)
                    return
            except OSError:
                continue

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def git(folder: Path, *words: str) -> None:
    """Run git outside, as the user does."""
    subprocess.run(["git", *words], cwd=folder, check=False, capture_output=True)


def repository(folder: Path) -> None:
    """A repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(folder, "init", "-q")
    git(folder, *who, "commit", "-q", "--allow-empty", "-m", "x")


# 1. Ways to have a folder outside mounted --------------------------------------------------------------------

POINTERS = {
    "file": "mkdir n; echo gitdir: $HOME > n/.git",
    "link": "mkdir n; ln -s $HOME n/.git",
    "relative link": "mkdir n; ln -s ../.. n/.git",
    "commondir": "mkdir -p n g; echo ref: x > g/HEAD; echo $HOME > g/commondir; echo gitdir: ../g > n/.git",
    "folder with commondir": "mkdir -p n/.git; echo ref: x > n/.git/HEAD; echo $HOME > n/.git/commondir",
    "work tree": "mkdir -p n g/worktrees/x; echo $PWD/n/.git > g/worktrees/x/gitdir; echo $HOME > "
    "g/worktrees/x/commondir; echo gitdir: ../g/worktrees/x > n/.git",
    "module": "mkdir -p .git/modules; ln -s $HOME .git/modules/x # git",
    "own file": "echo gitdir: $HOME > .git # git",
    "parent": "mkdir -p m; ln -s $HOME m/.git; ln -s m n",
}
SWAP = """python3 -c "
import os, time
os.makedirs('{0}', exist_ok=True)
os.symlink('../safe', 'fake')
while not os.path.exists('stop'):
    for old, new in (('{0}', 'real'), ('fake', '{0}'), ('{0}', 'fake'), ('real', '{0}')):
        os.rename(old, new)
        time.sleep({1})
" """
"""Flips a folder between itself and a link to a folder outside."""
OUTSIDE = "echo x >> $HOME/.profile; echo x >> $HOME/safe/AGENTS.md; touch $HOME/objects $HOME/refs # git"


def outside(place: Place, command: str) -> None:
    """Run a command without a sandbox."""
    env = {**os.environ, "HOME": str(place.home)}
    subprocess.run(["bash", "-c", command], cwd=place.work, env=env, check=False, capture_output=True)


async def pointers(place: Place, found: list[str]) -> None:
    """A `.git` that names a folder outside, made by a command or brought by the repository itself."""
    for name, command in POINTERS.items():
        for brought in (False, True):
            shutil.rmtree(place.work)
            place.work.mkdir()
            if "module" in name:
                repository(place.work)
            session = place.session(granted=True)
            await (session.run(command) if not brought else asyncio.to_thread(outside, place, command))
            for _ in range(2):
                await session.run(OUTSIDE)
            if sorted(os.listdir(place.home)) != ["safe", "ws"] or "x" in read(place.home / "safe/AGENTS.md"):
                found.append(f"{name}, brought: {brought}")
                for path in place.home.iterdir():
                    if path.is_file():
                        path.unlink()
                (place.home / "safe" / "AGENTS.md").write_text("safe\n")


async def swapped_mounts(place: Place, found: list[str]) -> None:
    """A job swaps a nested repository's folder for a link while another command's mounts are made."""
    repository(place.work / "n")
    target = place.home / "safe" / ".git"
    repository(place.home / "safe")
    (target / "HEAD").write_text("safe\n")
    session = place.session(granted=True)
    job = await session.job(SWAP.format("n", 0.002))
    for _ in range(8):
        await refused(session.run("for at in n real fake; do echo evil > $at/.git/HEAD; done # git"), found)
    (place.work / "stop").touch()
    await job
    if read(target / "HEAD") != "safe\n":
        found.append("wrote outside")


async def refused(command: Awaitable[str], found: list[str]) -> None:
    """Run a command that may fail, but not end the session."""
    try:
        await command
    except ToolError:
        pass
    except Exception as error:  # noqa: BLE001  # whatever it is
        found.append(f"the session ended: {error!r}")


# 2. Protected places while others run ------------------------------------------------------------------------

PLANTS = {
    ".git": f"mkdir .git && mkdir -p .git/objects .git/refs && echo ref: x > .git/HEAD && {EVIL} .git/config",
    ".claude": "mkdir .claude && echo x > .claude/settings.json",
    ".prunecli": "mkdir .prunecli && echo x > .prunecli/config.toml",
    ".mcp.json": "rmdir .mcp.json; echo x > .mcp.json",
}


def planted(work: Path) -> bool:
    """Whether a protected place holds something."""
    return any(
        (work / name).is_file() or any((work / name).iterdir()) for name in PLANTS if (work / name).exists()
    )


async def beside(place: Place, found: list[str]) -> None:
    """A job waits for its mount points to go while commands of its own and another session end."""
    for granted in (False, True):
        first, second = place.session(granted=granted), place.session(granted=True)
        tries = "; ".join(f"({plant}) 2>/dev/null" for plant in PLANTS.values())
        with watched(lambda: planted(place.work), found, f"granted: {granted}"):
            job = await first.job(f"while [ ! -e stop ]; do {tries}; done")
            for session in (first, second):
                await session.run("true")
                await session.run(f"rmdir .git .claude .prunecli .mcp.json; {PLANTS['.git']} # git")
            (place.work / "stop").touch()
            await job
        (place.work / "stop").unlink()
        if left := os.listdir(place.work):
            found.append(f"left behind: {left}")


async def abandoned(place: Place, found: list[str]) -> None:
    """A detached job, whose program was killed, and a new session."""
    left_by_another(
        place, "kill", f"{WAIT.format('go')}({'; '.join(PLANTS.values())}) 2>/dev/null; touch done"
    )
    await until((place.work / "begun").exists)
    other = place.session(granted=True)
    with watched(lambda: planted(place.work), found, "planted"):
        await other.run("true")
        (place.work / "go").touch()
        await until((place.work / "done").exists)
    for _ in range(20):
        await other.run("true")
        if not (place.work / ".git").exists():
            break
    if left := sorted({*os.listdir(place.work)} - {"begun", "go", "done"}):
        found.append(f"left behind: {left}")


def left_by_another(place: Place, how: str, command: str) -> None:
    """Have another program start a command, and end or be killed before it."""
    words = [sys.executable, "-m", "tests.sandbox.attacks", str(place.home.parent), how, command]
    subprocess.run(words, check=True)


async def leave(place: Place, how: str, command: str) -> None:
    """Start a command and end; with `how` "kill", at once."""
    command = f"touch begun; {command}"
    words, env = ["/bin/bash", "-c", command], {"PATH": os.environ["PATH"], "HOME": str(place.home)}
    confine = place.session(granted=False).walls.confine(granted=False)
    async with confine(words, cwd=str(place.work), env=env, command=command) as box:
        subprocess.Popen(list(box.argv), env=dict(box.env), pass_fds=box.descriptors)  # noqa: ASYNC220
        await until((place.work / "begun").exists)
        if how == "kill":
            os._exit(0)


async def redirects(place: Place, found: list[str]) -> None:
    """A git command that was allowed writes what leads git elsewhere, also for a moment."""
    repository(place.work)
    tree, module = place.home / "tree", place.work / ".git/modules/libs/sub"
    git(place.work, "worktree", "add", "-q", str(tree))
    repository(module.parent / "made")
    os.rename(module.parent / "made/.git", module)
    shutil.rmtree(module.parent / "made")
    repository(place.work / "sub")
    shutil.rmtree(place.work / "sub/.git")
    (place.work / "sub/.git").write_text(f"gitdir: {module}\n")
    shutil.rmtree(place.work / ".git/hooks")
    spots = {place.work / ".git", place.work / ".git/worktrees/tree", module}
    write = (
        "rm -rf $at/commondir $at/hooks; mkdir -p $at/hooks; echo $OLDPWD/evil > $at/commondir; "
        "cp ../evil/config $at/config.worktree; cp ../evil/config $at/config; echo x > $at/hooks/post-checkout"
    )
    moves = "mv worktrees w; mv modules m; mv worktrees/tree w; mv modules/libs m; mv modules/libs/sub m; "
    command = (
        f"mkdir -p evil/objects evil/refs; cp .git/HEAD evil; {EVIL} evil/config; cd .git; {moves}"
        f"for at in . worktrees/tree modules/libs/sub; do mkdir -p $at; {write}; done 2>/dev/null; sleep 0.05 # git"
    )
    session = place.session(granted=True)

    def seen() -> bool:
        names = ("commondir", "config.worktree", "config")
        texts = [read(spot / name) for spot in spots for name in names]
        return any("evil" in text or "fsmonitor" in text for text in texts) or any(
            (spot / "hooks/post-checkout").exists() for spot in spots
        )

    with watched(seen, found, "planted"):
        await session.run(command)
    for folder in (tree, place.work, place.work / "sub"):
        git(folder, "status")
    if (place.home / "ran").exists():
        found.append("git ran it")
    if (place.work / ".git/commondir").exists():
        found.append("left behind")


# 3. Repositories by another name -----------------------------------------------------------------------------


async def bare(place: Place, found: list[str]) -> None:
    """A folder that git takes for a repository, made whole or in steps."""
    for granted in (False, True):
        for name in ("sub", ".", "a/b/c", "node_modules", "node_modules/.git", "sub/.git"):
            shutil.rmtree(place.work)
            place.work.mkdir()
            session = place.session(granted=granted)
            await session.run(f"mkdir -p {name}; echo ref: refs/heads/x > {name}/HEAD")
            await session.run(BARE.format(name))
            at = place.work / name
            for folder in {at, place.work / "sub", place.work}:
                if folder.exists():
                    git(folder, "--work-tree=.", "status")
                    git(folder, "status")
            if (place.home / "ran").exists():
                (place.home / "ran").unlink()
                found.append(f"{name}, granted: {granted}")
    shutil.rmtree(place.work)
    place.work.mkdir()
    closed = "mkdir -p closed; " + BARE.format("closed/.git") + "; chmod 111 closed"
    await place.session(granted=False).run(closed)
    git(place.work / "closed", "status")
    if (place.home / "ran").exists():
        found.append("in a folder that can't be listed")
    (place.work / "closed").chmod(0o755)


def is_gone(path: Path) -> bool:
    return not path.exists()


async def while_running(place: Place, found: list[str]) -> None:
    """A command makes repositories and goes on; the user makes one beside it, and looks into all of them."""
    for granted in (False, True):
        for name in ("sub", "sub/.git"):
            shutil.rmtree(place.work)
            repository(place.work / "old")
            (place.work / "old/.git/hooks/pre-commit").write_text("exit 0\n")
            job = await place.session(granted=granted).job(
                f"{BARE.format(name)}; touch made; while [ ! -e stop ]; do sleep 0.01; done; mv old old2"
            )
            await asyncio.to_thread(repository, place.work / "mine")
            await until((place.work / "made").exists)
            await until(partial(is_gone, place.work / name / "HEAD"))
            if job.done():
                found.append(f"{name}, granted: {granted}: only at the end")
            git(place.work / "sub", "status")
            git(place.work / "sub", "--work-tree=.", "status")
            if left := [
                path for path in ("mine/.git/HEAD", "old/.git/HEAD") if not (place.work / path).exists()
            ]:
                found.append(f"{name}, granted: {granted}: renamed {left}")
            (place.work / "stop").touch()
            if name not in (said := await job):
                found.append(f"{name}, granted: {granted}: not told: {said}")
    if (place.home / "ran").exists():
        found.append("git ran it")


async def unwatched(place: Place, found: list[str]) -> None:
    """A job makes repositories when its program has ended or was killed, and at its own end."""
    for how in ("kill", "leave"):
        shutil.rmtree(place.work)
        repository(place.work / "old")
        (place.work / "old/.git/hooks/pre-commit").write_text("exit 0\n")
        first = f"{WAIT.format('on')}{BARE.format('sub/.git')}; touch made; "
        last = f"{WAIT.format('go')}{BARE.format('last/.git')}; touch done"
        left_by_another(place, how, first + last)
        (place.work / "on").touch()
        await until((place.work / "made").exists)
        session = place.session(granted=True)
        session.walls.chosen()
        said = [session.walls.left]
        git(place.work / "sub", "status")
        (place.work / "go").touch()
        await until((place.work / "done").exists)
        while list(place.notes.iterdir()):
            said.append(await session.run("true"))
        git(place.work / "last", "status")
        if (place.home / "ran").exists():
            found.append(f"{how}: git ran it")
        told = "\n".join(said)
        if not ("sub/.git" in told and "last/.git" in told) or "old" in told:
            found.append(f"{how}: told: {told}")
        if not (place.work / "old/.git/HEAD").exists():
            found.append(f"{how}: renamed what was there before")


async def fresh(place: Place, found: list[str]) -> None:
    """A command makes the workspace's own repository, with a program in it."""
    ends = {
        "config": "git config core.fsmonitor x",
        "hook": "echo x > .git/hooks/post-checkout",
        "link": "ln -s $HOME .git/x",
        "commondir": "echo $PWD > .git/commondir",
        "module": "git init -q m && mkdir .git/modules && mv m/.git .git/modules/m && "
        "git -C .git/modules/m config core.fsmonitor x",
    }
    for name, end in ends.items():
        session = place.session(granted=True)
        with watched((place.work / ".git" / "HEAD").exists, found, name):
            text = await session.run(f"git init -q && {end} && echo done")
        if not text.startswith("done") or "not kept" not in text:
            found.append(f"{name}: {text}")


async def plain(place: Place, found: list[str]) -> None:
    """Ordinary repositories that an allowed command makes stay; this is no attack."""
    session = place.session(granted=True)
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
    await session.run(f"git init -q; {commit}")
    await session.run(f"git init -q --bare r.git; git init -q p; cd p; {commit}; cd ..; git clone -q p c")
    found += [
        name
        for name in (".git/HEAD", "r.git/HEAD", "p/.git/HEAD", "c/.git/HEAD")
        if not (place.work / name).exists()
    ]


# 4. Renaming by path -----------------------------------------------------------------------------------------


async def closed(place: Place, found: list[str]) -> None:
    """A workspace that the sandbox's user can't write, and opens again if it is this user's."""
    modes = (0o755, 65534) if os.geteuid() == 0 else (0o555, os.geteuid())
    tries = "chmod 755 . 2>/dev/null; mkdir -p .git/objects .git/refs; echo x > .git/HEAD; touch .git/config"
    for (mode, owner), granted in ((modes, False), (modes, True), ((0o555, os.geteuid()), True)):
        os.chmod(place.work, mode)
        os.chown(place.work, owner, -1)
        session = place.session(granted=granted)
        with watched(lambda: planted(place.work), found, f"planted: {oct(mode)}"):
            texts = [await session.run(text) for text in ("echo out", "touch new", tries, "rm -r .git")]
        if texts[0] != "out\n" or "touch: cannot touch 'new': " not in texts[1]:
            found.append(f"{oct(mode)}: {texts}")
        if left := os.listdir(place.work):
            found.append(f"left behind: {left}")
    os.chmod(place.work, 0o755)


NAMES = (
    "AGENTS.md",
    "CLAUDE.md",
    ".envrc",
    ".editorconfig",
    ".cursorrules",
    ".npmrc",
    "hgrc",
    ".vimrc",
    ".exrc",
)


async def swapped_names(place: Place, found: list[str]) -> None:
    """A job swaps folders for links while what commands left is renamed."""
    for name in NAMES:
        (place.home / "safe" / name).write_text("safe\n")
    session = place.session(granted=False)
    job = await session.job(SWAP.format("at", 0.0001))
    for _ in range(15):
        write = "echo x > at/$name || echo x > real/$name || echo x > at/$name"
        await refused(session.run(f"for name in {' '.join(NAMES)} .env; do {write}; done"), found)
    (place.work / "stop").touch()
    await job
    if (left := sorted(os.listdir(place.home / "safe"))) != sorted(NAMES):
        found.append(f"outside: {left}")


async def saved_anew(place: Place, found: list[str]) -> None:
    """An editor saves a secret under the same name while a command runs."""
    (place.work / ".env").write_text("old\n")
    session = place.session(granted=True)
    job = await session.job(
        f"{WAIT.format('go')}for i in $(seq 500); do [ -s .env ] || break; sleep 0.02; done; cat .env"
    )
    (place.work / "new").write_text("KEY=hush\n")
    (place.work / "new").rename(place.work / ".env")
    (place.work / "go").touch()
    if "hush" in await job:
        found.append("read")


ODD = {
    "a long name": "touch $(printf 'x%.0s' $(seq 250)).pth",
    "a read-only folder": "mkdir ro; echo x > ro/AGENTS.md; chmod 555 ro",
    "a chain of links": "python3 -c \"import os; [os.symlink(f'l{n}', f'l{n + 1}') for n in range(1500)]\"; "
    "ln -s l1500 .env",
    "NUL": "mkdir n; printf 'gitdir: \\0x' > n/.git # git",
    "bytes": "mkdir $'\\xff\\n'; echo x > $'\\xff\\n/AGENTS.md'",
    "a FIFO": "mkdir n; mkfifo n/.git n/AGENTS.md",
    "a loop": "mkdir n; ln -s .git n/.git",
}


async def odd(place: Place, found: list[str]) -> None:
    """Files that are hard to read or to rename."""
    for granted in (False, True):
        for name, command in ODD.items():
            shutil.rmtree(place.work, ignore_errors=True)
            place.work.mkdir(exist_ok=True)
            session = place.session(granted=granted)
            await refused(session.run(command), found)
            await refused(session.run("true # git"), found)
            left = (*place.work.glob("*/AGENTS.md"), *place.work.glob("*.pth"))
            if left and not granted:
                found.append(f"{name}: not renamed")
            if (place.work / "ro").exists():
                (place.work / "ro").chmod(0o755)


def read(path: Path) -> str:
    """The text of a file, "" without one."""
    try:
        return path.read_text()
    except OSError:
        return ""


ATTACKS: dict[str, Callable[[Place, list[str]], Awaitable[None]]] = {
    attack.__name__: attack
    for attack in (
        pointers,
        swapped_mounts,
        beside,
        abandoned,
        redirects,
        bare,
        while_running,
        unwatched,
        fresh,
        plain,
        swapped_names,
        saved_anew,
        odd,
        closed,
    )
}


def main() -> None:
    """Run one attack a number of times."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    chosen = choose("/nonexistent", dict(os.environ), only="bubblewrap")
    if chosen.kind is None:
        print(f"skip: {chosen.why}")
        return
    if name in ("kill", "leave"):
        asyncio.run(leave(Place(folder, chosen), name, sys.argv[3]))
        return
    for run in range(int(sys.argv[3])):
        found = list[str]()
        place = Place(folder / str(run), chosen)
        asyncio.run(ATTACKS[name](place, found))
        place.close()
        shutil.rmtree(folder / str(run), ignore_errors=True)
        for breach in dict.fromkeys(found):
            print(f"run {run}: {breach}")


if __name__ == "__main__":
    main()
