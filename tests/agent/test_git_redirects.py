"""A `.git` that leads elsewhere: whatever passes without a question prints nothing from outside."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.safety.command_env import unattended_environment
from prunecli.safety.permissions.git import leads_elsewhere
from prunecli.safety.permissions.verdict import Rules
from tests.agent.judged import Scene, scene

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
CANARY = "CANARY-7f3a"
LINES = (
    *("git status", "git log", "git log -p", "git log --all", "git branch -a", "git branch -vv", "git tag"),
    *("git worktree list", "git blame README.md", "git show", "git show HEAD", "git diff", "git diff HEAD"),
    *("git ls-files", "git ls-tree HEAD", "git for-each-ref", "git show-ref", "git reflog", "git stash list"),
    *("git rev-parse HEAD", "git describe --always", "git grep -n KEY", "git shortlog -s HEAD", "git remote"),
    *("git check-ignore -v README.md", "git cat-file -p HEAD", "git name-rev HEAD", "git count-objects -v"),
)


class Hostile:
    """A workspace with a repository, beside a secret file and another repository with a tracked secret."""

    def __init__(self, folder: Path) -> None:
        self.here: Scene = scene(folder)
        self.root = self.here.workspace
        self.git = self.root / ".git"
        self.secret = self.here.outside / "secret"
        self.secret.write_text(f"{CANARY} key\n")
        self.other = self.here.outside / "other"
        self.other.mkdir()
        self.plain = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.here.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        (self.other / ".env").write_text(f"KEY={CANARY}\n")
        (self.root / ".gitignore").write_text("out\nkey\nloop\n.env\ndeploy\n")
        for top, message in ((self.other, CANARY), (self.root, "one")):
            self.run("init", "-q", "-b", "main", cwd=top)
            self.run("add", ".", cwd=top)
            self.run("commit", "-q", "-m", message, cwd=top)
            self.run("branch", CANARY if top == self.other else "side", cwd=top)
        self.run("worktree", "add", "-q", "--detach", str(self.root / "deploy" / "linked"))

    def run(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.root, env=self.plain, check=True, capture_output=True)

    def head(self) -> str:
        return (self.other / ".git" / "refs" / "heads" / "main").read_text()

    def leak(self, rules: Rules) -> str:
        """The first line that passes without a question and prints the canary, or ""."""
        env = unattended_environment(self.plain)
        for line in LINES:
            if self.here.bash(line, rules=rules).kind != "allow":
                continue
            done = subprocess.run(
                line.split(),
                cwd=self.root,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=30,
            )
            if CANARY.encode() in done.stdout + done.stderr:
                return line
        return ""


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def setting(text: str) -> Callable[[Hostile], None]:
    def change(at: Hostile) -> None:
        with (at.git / "config").open("a") as file:
            file.write(text.format(secret=at.secret, other=at.other) + "\n")

    return change


def linked(*names: str) -> list[Callable[[Hostile], None]]:
    """Files of `.git` as links to the secret."""
    return [lambda at, name=name: link(at.git / name, at.secret) for name in names]  # type: ignore[misc]


def gitdir_file(at: Hostile) -> None:
    shutil.rmtree(at.git)
    at.git.write_text(f"gitdir: {at.other / '.git'}\n")


def gitdir_link(at: Hostile) -> None:
    link(at.git, at.other / ".git")


def foreign_worktree(at: Hostile) -> None:
    at.run("worktree", "add", "-q", "--detach", str(at.here.outside / "theirs"), cwd=at.other)
    shutil.rmtree(at.git)
    at.git.write_text(f"gitdir: {at.other / '.git' / 'worktrees' / 'theirs'}\n")


def alternates(at: Hostile) -> None:
    put(at.git / "objects" / "info" / "alternates", f"{at.other / '.git' / 'objects'}\n")
    put(at.git / "refs" / "heads" / "main", at.head())


def commondir(at: Hostile) -> None:
    put(at.git / "commondir", f"{at.other / '.git'}\n")


def worktree_commondir(at: Hostile) -> None:
    put(at.git / "worktrees" / "linked" / "commondir", f"{at.other / '.git'}\n")


def foreign(name: str) -> Callable[[Hostile], None]:
    return lambda at: link(at.git / name, at.other / ".git" / name)


def loose_object_folders(at: Hostile) -> None:
    for folder in (at.other / ".git" / "objects").iterdir():
        if not (at.git / "objects" / folder.name).exists():
            link(at.git / "objects" / folder.name, folder)
    put(at.git / "refs" / "heads" / "main", at.head())


def blame_link(at: Hostile) -> None:
    link(at.root / ".git-blame-ignore-revs", at.secret)
    setting("[blame]\n\tignoreRevsFile = .git-blame-ignore-revs")(at)


REDIRECTS: list[Callable[[Hostile], None]] = [
    *linked(
        "rebase-merge/onto",
        "rebase-merge/head-name",
        "rebase-merge/git-rebase-todo",
        "rebase-apply/head-name",
    ),
    *linked("BISECT_START", "objects/info/alternates", "worktrees/linked/gitdir", "worktrees/linked/HEAD"),
    *linked("packed-refs", "shallow", "info/grafts", "refs/heads/x", "logs/HEAD", "HEAD", "info/exclude"),
    *map(foreign, ("refs", "objects", "logs", "packed-refs", "HEAD", "index", "config", "refs/heads")),
    *(gitdir_file, gitdir_link, foreign_worktree, alternates, commondir, worktree_commondir),
    *(loose_object_folders, blame_link),
    setting("[blame]\n\tignoreRevsFile = {secret}"),
    setting("[blame] ignorerevsfile = .env"),
    setting("[core]\n\texcludesFile = {secret}"),
    setting("[core]\n\tworktree = {other}"),
    setting("[include]\n\tpath = {secret}"),
    setting("[mailmap]\n\tfile = {secret}"),
]


def nothing(at: Hostile) -> None:
    """A change that leaves the repository as git makes it."""


HARMLESS: list[Callable[[Hostile], None]] = [
    nothing,
    lambda at: at.run("pack-refs", "--all"),
    lambda at: at.run("gc", "-q"),
    lambda at: at.run("commit", "-q", "--allow-empty", "-m", "two"),
    lambda at: put(at.git / "BISECT_START", "main\n"),
    lambda at: put(at.git / "info" / "exclude", "*.log\n"),
    setting("[user]\n\tname = b"),
    setting("[blame]\n\tignoreRevsFile = .git-blame-ignore-revs"),
]


@pytest.mark.parametrize("change", REDIRECTS)
@pytest.mark.parametrize("rule", ["", "bash(git *)"])
def test_git_asks_where_its_folder_leads_elsewhere(
    hostile: Hostile, change: Callable[[Hostile], None], rule: str
) -> None:
    change(hostile)
    for line in ("git status", "git log", "git branch -a", "git worktree list", "git blame README.md"):
        verdict = hostile.here.bash(line, rules=Rules(allow=(rule,) if rule else ()))
        assert verdict.kind == "ask", f"{line}: {verdict.reason}"


@pytest.mark.parametrize("change", HARMLESS)
def test_an_ordinary_repository_needs_no_question(
    hostile: Hostile, change: Callable[[Hostile], None]
) -> None:
    change(hostile)
    for line in ("git status", "git log", "git branch -a", "git worktree list"):
        assert hostile.here.bash(line).kind == "allow", hostile.here.bash(line).reason


def test_a_linked_worktree_that_its_repository_knows_needs_no_question(hostile: Hostile) -> None:
    top = hostile.here.outside / "tree"
    hostile.run("worktree", "add", "-q", str(top))
    assert leads_elsewhere(top / ".git") == ""
    (hostile.git / "worktrees" / "tree" / "gitdir").write_text(f"{hostile.here.outside}/x/.git\n")
    assert "names a repository elsewhere" in leads_elsewhere(top / ".git")


def fuzz(folder: Path, count: int, seed: int) -> int:
    """Tries random `.git` folders; returns how many of them git may read without a question."""
    choose, passed = random.Random(seed), 0
    for number in range(count):
        at = Hostile(folder / str(number))
        for change in (*choose.sample(HARMLESS, 2), *choose.sample(REDIRECTS, choose.choice((0, 1, 1, 2)))):
            try:
                change(at)
            except (OSError, subprocess.CalledProcessError):
                continue  # it does not fit after the changes before it
        if choose.random() < 0.3 and at.git.is_dir() and not at.git.is_symlink():
            names = sorted(path for path in at.git.rglob("*") if not path.is_symlink())
            link(choose.choice(names), choose.choice((at.secret, at.other / ".git", at.other)))
        rules = Rules(allow=("bash(git *)",)) if choose.random() < 0.3 else Rules()
        passed += at.here.bash("git status", rules=rules).kind == "allow"
        assert at.leak(rules) == ""
        shutil.rmtree(at.root.parent)
    return passed


@pytest.mark.parametrize(("count", "seed"), [(12, 39), pytest.param(500, 6, marks=pytest.mark.long)])
def test_random_hostile_repositories_print_nothing_from_outside(
    tmp_path: Path, count: int, seed: int
) -> None:
    assert fuzz(tmp_path, count, seed) > count / 15
