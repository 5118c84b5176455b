"""`--worktree`: a session in a linked git worktree of its own, and what becomes of that when the session ends.

The worktree NAME of /src/app is /src/app.worktrees/NAME, beside the checkout, on the branch worktree-NAME. There,
no search, snapshot or sandbox of a session in the checkout meets it. It begins at the commit that is checked out.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from prunecli.safety.command_env import unattended_environment
from prunecli.safety.trust import TrustStore
from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import UsageError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places, worktrees_of
from prunecli.util.programs import find_outside

INCLUDE = ".worktreeinclude"
"""A file of the checkout with patterns, as in .gitignore, of ignored files that each new worktree gets a copy of."""


class GitFailed(UsageError):
    """git refused. The message has its last line."""


@frozen
class Worktree:
    """A worktree in use: its checkout, and whether it was made for this session. `lock` is held meanwhile."""

    name: str
    path: Path
    main: Path
    made: bool
    lock: int
    environ: Mapping[str, str]

    @property
    def branch(self) -> str:
        return f"worktree-{self.name}"

    def git(self, *words: str, at: Path | None = None) -> str:
        return _git(at or self.path, self.environ, *words)

    def changes(self) -> str:
        """Return what is not in the checkout, in words; "" for nothing."""
        files = len(self.git("status", "--porcelain").splitlines())
        head = self.git("rev-parse", "HEAD", at=self.main)
        commits = int(self.git("rev-list", "--count", f"{head}..HEAD"))
        said = (
            f"{counted(files, 'file')} changed" if files else "",
            counted(commits, "commit") if commits else "",
        )
        return ", ".join(filter(None, said))

    def merging(self) -> list[str]:
        """Return the commands that merge it and remove it."""
        here, main = shlex.quote(str(self.path)), shlex.quote(str(self.main))
        commit = (
            [f"git -C {here} add -A && git -C {here} commit"] if self.git("status", "--porcelain") else []
        )
        remove = f"git -C {main} worktree remove {here} && git -C {main} branch -d {self.branch}"
        return [*commit, f"git -C {main} merge {self.branch}", remove]

    def remove(self) -> bool:
        """Remove the worktree and its branch; return False if another session works there."""
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.git("worktree", "remove", "--force", str(self.path), at=self.main)
        with suppress(GitFailed):  # the session may have checked out another one
            self.git("branch", "-D", self.branch, at=self.main)
        with suppress(OSError):
            self.path.parent.rmdir()
        return True


def enter(asked: Launch, cwd: Path, environ: Mapping[str, str]) -> tuple[Launch, Worktree]:
    """Make the worktree that a start asks for, or use the one of that name. Return the start there.

    Raises UsageError.
    """
    trusted = asked.trust or TrustStore(Places.of(environ).trust_store).may_act(cwd)
    env = unattended_environment(child_environment(environ), hooks=trusted)
    try:
        below, common = _git(
            cwd, env, "rev-parse", "--show-prefix", "--path-format=absolute", "--git-common-dir"
        ).splitlines()
    except GitFailed as error:
        raise UsageError(f"--worktree: {error.message}", "start in a git repository") from error
    main = Path(common).parent
    if not os.path.samefile(main / ".git", common):
        raise UsageError(f"--worktree: {common} has no checkout", "clone it")
    worktree = _made(asked.worktree or "", cwd, main, env)
    inside = worktree.path / below
    moved = replace(
        asked,
        cwd=inside if inside.is_dir() else worktree.path,
        add_dirs=tuple(one if one.startswith("~") else str(cwd / one) for one in asked.add_dirs),
        append_prompt_file=asked.append_prompt_file and cwd / asked.append_prompt_file,
        config_file=asked.config_file and cwd / asked.config_file,
    )
    return moved, worktree


def leave(worktree: Worktree, say: Callable[[str], object], ask: Callable[[str], str] | None) -> None:
    """Remove a worktree that has no changes and was made for the session, or offer what to do with its changes.

    Without `ask`, it is kept. Raises GitFailed.
    """
    if not worktree.path.is_dir():
        return  # the session, or somebody else, removed it
    changes = worktree.changes()
    if not changes:
        if worktree.made and worktree.remove():
            say(f"Worktree {worktree.name} removed: nothing changed in it.")
        return
    say(f"Worktree {worktree.name}: {changes}, on branch {worktree.branch} in {worktree.path}")
    answer = ask("Enter to keep it, m for the commands that merge it, r to remove it: ") if ask else ""
    if answer == "r" and ask and ask(f"Lose {changes}? y to remove it: ") == "y":
        said = "Removed." if worktree.remove() else "Kept: another session works there."
        say(said)
        return
    for line in worktree.merging() if answer == "m" else ():
        say(f"  {line}")
    say(f"Kept. To go on: prunecli --worktree {worktree.name} -c")


def _made(name: str, cwd: Path, main: Path, env: Mapping[str, str]) -> Worktree:
    place = worktrees_of(main)
    for chosen in (name,) if name else map(str, count(1)):
        path, branch = place / chosen, f"worktree-{chosen}"
        if os.path.lexists(path):
            if not name:
                continue
            return Worktree(name, path, main, False, _locked(path, main, env), env)
        exists = bool(_git(main, env, "branch", "--list", branch))
        if exists and not name:
            continue
        start = (branch,) if exists else ("HEAD",)
        try:
            _git(cwd, env, "worktree", "add", *(() if exists else ("-b", branch)), str(path), *start)
        except GitFailed as error:
            if not name and os.path.lexists(path):
                continue  # another session was faster
            raise UsageError(f"--worktree: {error.message}", "see git worktree list") from error
        _include(main, path, env)
        return Worktree(chosen, path, main, True, _locked(path, main, env), env)
    raise AssertionError("numbers do not end")


def _locked(path: Path, main: Path, env: Mapping[str, str]) -> int:
    """Hold a lock that tells other sessions that this worktree of the checkout is in use. Raises UsageError."""
    try:
        answer = _git(path, env, "rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir")
    except GitFailed:
        answer = "\n"
    common, own = answer.split("\n")
    if common in ("", own) or not os.path.samefile(common, main / ".git"):
        raise UsageError(f"--worktree: {path} is no worktree of {main}", "choose another name")
    lock = os.open(f"{own}/prunecli.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _include(main: Path, path: Path, env: Mapping[str, str]) -> None:
    """Copy the ignored files that the checkout wants in its worktrees."""
    if not (main / INCLUDE).is_file():
        return
    ignored = ("ls-files", "-z", "--others", "--ignored")
    wanted = _git(main, env, *ignored, f"--exclude-from={INCLUDE}").split("\0")
    known = set(_git(main, env, *ignored, "--exclude-standard").split("\0"))
    for name in filter(known.intersection(wanted).__contains__, filter(None, wanted)):
        if not (main / name).is_symlink() and not os.path.lexists(path / name):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(main / name, path / name)


def _git(cwd: Path, env: Mapping[str, str], *words: str) -> str:
    """Return git's output. Raises GitFailed."""
    program = find_outside(env.get("PATH", ""), "git", str(cwd))
    if program is None:
        raise GitFailed("git is not installed", "install git")
    done = subprocess.run([program, "-C", str(cwd), *words], env=dict(env), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise GitFailed(f"git {words[0]}: {said or f'exit code {done.returncode}'}", "see git worktree list")
    return os.fsdecode(done.stdout).rstrip("\n")
