"""Reading git commands in a hostile repository: whatever passes without a question starts nothing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.safety.command_env import ReadingEnvironment, unattended_environment
from prunecli.safety.permissions.git import config_doubt, neutral_git_environment
from prunecli.safety.permissions.verdict import Rules
from tests.agent.judged import Scene, corpus, scene

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
GIT_LINES = [line for line in corpus("benign_corpus.txt") if line.startswith("git ") and "|" not in line]


class Repository:
    """A repository in a scene's workspace, and a marker that a program of the repository's leaves behind."""

    def __init__(self, here: Scene) -> None:
        self.here = here
        self.root = here.workspace
        self.marker = here.outside / "marker"
        self.evil = here.outside / "evil.sh"
        self.evil.write_text(f"#!/bin/sh\ntouch {self.marker}\ncat\n")
        self.evil.chmod(0o755)
        self.plain = {
            "PATH": os.environ["PATH"],
            "HOME": str(here.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.git("init", "-q", "-b", "main")
        (self.root / ".gitignore").write_text("out\nkey\nloop\n.env\ndeploy\n")
        self.git("add", ".")
        for message in ("one", "two", "three"):
            self.git("commit", "-q", "--allow-empty", "-m", message)
        self.git("tag", "v1")

    def git(self, *words: str) -> None:
        subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=self.plain,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )

    def config(self, key: str, value: str) -> None:
        self.git("config", key, value)

    def ran_code(self, line: str, env: dict[str, str], cwd: Path | None = None) -> bool:
        """Whether the line, run by bash, started the repository's program."""
        self.marker.unlink(missing_ok=True)
        (self.root / "src" / "a.py").write_text(f"changed {os.urandom(4).hex()}\n")
        subprocess.run(
            ["bash", "-c", line],
            cwd=cwd or self.root,
            env=env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=30,
        )
        return self.marker.exists()

    @property
    def unattended(self) -> dict[str, str]:
        return unattended_environment(self.plain)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(scene(tmp_path))


def fsmonitor(repository: Repository) -> None:
    repository.config("core.fsmonitor", f"{repository.evil}; false")


def hook(repository: Repository) -> None:
    path = repository.root / ".git" / "hooks" / "post-index-change"
    path.parent.mkdir(exist_ok=True)
    shutil.copy(repository.evil, path)


def hooks_path(repository: Repository) -> None:
    shutil.copy(repository.evil, repository.here.outside / "post-index-change")
    repository.config("core.hooksPath", str(repository.here.outside))


def external_diff(repository: Repository) -> None:
    repository.config("diff.external", str(repository.evil))


def textconv(repository: Repository) -> None:
    (repository.root / ".gitattributes").write_text("*.py diff=x\n")
    repository.config("diff.x.textconv", str(repository.evil))


def driver(repository: Repository) -> None:
    (repository.root / ".git" / "info").mkdir(exist_ok=True)
    (repository.root / ".git" / "info" / "attributes").write_text("*.py diff=x\n")
    repository.config("diff.x.command", str(repository.evil))


def clean_filter(repository: Repository) -> None:
    (repository.root / ".gitattributes").write_text("*.py filter=x\n")
    repository.config("filter.x.clean", str(repository.evil))


def process_filter(repository: Repository) -> None:
    (repository.root / ".gitattributes").write_text("*.py filter=x\n")
    repository.config("filter.x.process", str(repository.evil))


def include(repository: Repository) -> None:
    (repository.root / "more").write_text(f"[core]\n\tfsmonitor = {repository.evil}; false\n")
    repository.config("include.path", "../more")


def worktree_config(repository: Repository) -> None:
    repository.config("extensions.worktreeConfig", "true")
    (repository.root / ".git" / "config.worktree").write_text(f"[diff]\n\texternal = {repository.evil}\n")


def continued_line(repository: Repository) -> None:
    with (repository.root / ".git" / "config").open("a") as file:
        file.write(f'[diff]\n\talgorithm = x \\\n[branch "b"]\n\texternal = {repository.evil}\n')


def one_line(repository: Repository) -> None:
    with (repository.root / ".git" / "config").open("a") as file:
        file.write(f"[diff] external = {repository.evil}\n")


def pager(repository: Repository) -> None:
    for key in ("core.pager", "pager.log", "pager.diff", "pager.status"):
        repository.config(key, str(repository.evil))


def signature(repository: Repository) -> None:
    repository.config("gpg.program", str(repository.evil))
    repository.config("log.showSignature", "true")
    repository.git("commit", "-q", "--allow-empty", "-m", "x")


def submodule(repository: Repository) -> None:
    inner = repository.root / "inner"
    subprocess.run(["git", "init", "-q", str(inner)], env=repository.plain, check=True)
    (inner / "f").write_text("x")
    (inner / ".gitattributes").write_text("* filter=x\n")
    for words in (
        ["add", "."],
        ["commit", "-q", "-m", "x"],
        ["config", "filter.x.clean", str(repository.evil)],
    ):
        subprocess.run(["git", "-C", str(inner), *words], env=repository.plain, check=True)
    repository.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    (inner / "f").write_text("y")


Attack = Callable[[Repository], None]
HOSTILE: dict[Attack, bool] = {
    fsmonitor: True,
    hook: False,
    hooks_path: False,
    external_diff: True,
    textconv: True,
    driver: True,
    clean_filter: True,
    process_filter: True,
    include: True,
    worktree_config: True,
    one_line: True,
    continued_line: False,
    pager: False,
    signature: False,
    submodule: True,
}
"""Each attack, and whether plain git falls for it in one of the lines tried here."""


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_what_passes_in_a_hostile_repository_starts_nothing(repository: Repository, attack: Attack) -> None:
    """Fsmonitor, hooks, drivers, filters, includes, submodules: 0 markers."""
    attack(repository)
    lines = [
        *("git status", "git diff", "git log -p -2", "git show HEAD", "git blame src/a.py"),
        "git -C src status",
    ]
    assert any(repository.ran_code(line, repository.plain) for line in lines) or not HOSTILE[attack]
    for line in dict.fromkeys([*lines, *GIT_LINES]):
        if repository.here.bash(line).kind == "allow":
            assert not repository.ran_code(line, repository.unattended), line


@pytest.mark.parametrize("attack", [fsmonitor, hook, hooks_path, pager], ids=lambda attack: attack.__name__)
def test_the_environment_alone_switches_off_what_has_a_fixed_name(
    repository: Repository, attack: Attack
) -> None:
    """Also for lines that a person approved, and for calls of our own."""
    attack(repository)
    for line in (
        *("git status", "git diff", "git add src", "git log -1"),
        "git diff --quiet; git update-index --refresh",
    ):
        assert not repository.ran_code(line, repository.unattended), line


def test_what_husky_lfs_and_a_credential_helper_configure_neither_asks_nor_runs(
    repository: Repository,
) -> None:
    """Hooks, the filters of git-lfs and credential helpers are switched off for a command that only reads."""
    evil = str(repository.evil)
    hooks = repository.root / ".husky" / "_"
    hooks.mkdir(parents=True)
    for name in ("post-index-change", "pre-commit", "post-checkout"):
        shutil.copy(repository.evil, hooks / name)
    (repository.root / ".gitattributes").write_text("*.py filter=lfs diff=lfs merge=lfs -text\n")
    for key in ("filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "credential.helper"):
        repository.config(key, evil)
    repository.config("filter.lfs.required", "true")
    repository.config("core.hooksPath", ".husky/_")
    assert repository.ran_code("git diff", repository.unattended)
    reading = ReadingEnvironment(repository.unattended, repository.root)
    for line in (
        *("git status", "git diff", "git diff --stat", "git log -p -2", "git show"),
        "git status -sb && git diff",
    ):
        verdict = repository.here.bash(line, rules=Rules(deny=("read(.env)",)))
        assert verdict.kind == "allow", (line, verdict.reason)
        assert not repository.ran_code(line, reading), line
    shown = subprocess.run(
        ["git", "status", "--short"], cwd=repository.root, env=reading, capture_output=True, check=True
    )
    assert b" M src/a.py" in shown.stdout


def test_hooks_can_be_kept_for_what_a_person_approved(repository: Repository) -> None:
    hook(repository)
    assert repository.ran_code("git add src", unattended_environment(repository.plain, hooks=True))
    assert not repository.ran_code("git add src", unattended_environment(repository.plain))


def test_an_honest_repository_answers_as_ever_under_the_neutral_environment(repository: Repository) -> None:
    (repository.root / "src" / "a.py").write_text("changed\n")
    for line in (
        *("git status --short", "git diff", "git log --oneline", "git describe --tags"),
        "git grep -n changed",
    ):
        assert repository.here.bash(line).kind == "allow", line
        plain, neutral = (
            subprocess.run(
                ["bash", "-c", line], cwd=repository.root, env=env, capture_output=True, check=True
            ).stdout
            for env in (repository.plain, repository.unattended)
        )
        assert plain == neutral != b""


@pytest.mark.parametrize(
    "attack", [external_diff, textconv, clean_filter, include], ids=lambda attack: attack.__name__
)
def test_a_hostile_setting_is_named_in_the_question(repository: Repository, attack: Attack) -> None:
    attack(repository)
    reason = repository.here.bash("git status").reason
    assert str(repository.root / ".git" / "config") in reason


def test_a_bare_repository_among_the_files_is_not_entered(repository: Repository) -> None:
    """A nested bare repository needs no .git, so a clone can bring it along."""
    bare = repository.root / "fixtures" / "x"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], env=repository.plain, check=True)
    subprocess.run(["git", "-C", str(bare), "config", "core.bare", "false"], env=repository.plain, check=True)
    for key, value in (
        ("core.worktree", str(repository.root / "fixtures")),
        ("core.fsmonitor", f"{repository.evil};false"),
    ):
        subprocess.run(["git", "-C", str(bare), "config", key, value], env=repository.plain, check=True)
    assert repository.ran_code("git status", repository.plain, bare)
    assert not repository.ran_code("git status", repository.unattended, bare)
    assert repository.here.bash("git status", cwd=bare).kind == "ask"
    second = repository.root / "fixtures" / "y"
    second.mkdir()
    (second / "HEAD").write_text("ref: refs/heads/main\n")
    (second / "commondir").write_text("../x\n")
    found = subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=second, env=repository.plain, capture_output=True
    )
    assert found.stdout == b".\n", "git finds the other repository through commondir"
    assert repository.here.bash("git log -1", cwd=second).kind == "ask"
    assert repository.here.bash("git -C fixtures/x status").kind == "ask"
    assert repository.here.bash("git status").kind == "allow"


def test_a_worktree_is_judged_by_the_configuration_it_shares(repository: Repository) -> None:
    """Where its .git file leads, not what it says."""
    tree = repository.root / "tree"
    repository.git("worktree", "add", "-q", str(tree))
    assert repository.here.bash("git status", cwd=tree).kind == "allow"
    external_diff(repository)
    assert repository.here.bash("git status", cwd=tree).kind == "ask"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "gitdir: missing\nmore",
        "x" * 2_000_000,
        "gitdir: ../.git\0",
        "gitdir: ../out/loop",
        "gitdir: a.py",
    ],
)
def test_a_git_file_that_cannot_be_followed_is_asked_about(tmp_path: Path, content: str) -> None:
    here = scene(tmp_path)
    (here.workspace / "src" / ".git").write_text(content)
    os.symlink("loop", here.outside / "loop")
    assert here.bash("git log", cwd=here.workspace / "src").kind == "ask"


def test_a_git_folder_is_no_place_to_run_git_in(repository: Repository) -> None:
    assert repository.here.bash("git log", cwd=repository.root / ".git").kind == "ask"
    assert repository.here.bash("git log", cwd=repository.root / ".git" / "refs").kind == "ask"
    assert "inside a .git folder" in repository.here.bash("git log", cwd=repository.root / ".git").reason


def test_special_files_in_place_of_a_configuration_do_not_hang_the_judgment(repository: Repository) -> None:
    config = repository.root / ".git" / "config"
    config.unlink()
    os.mkfifo(config)
    assert repository.here.bash("git log").kind == "ask"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
        '[remote "origin"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n',
        *("# a comment\n; another\n\n[user]\n\tname = A B\n\temail = a@b\r\n", "[CORE]\n\tBare\n"),
        "[core]\n\thooksPath = .husky/_\n",
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n',
        '[lfs]\n\trepositoryformatversion = 0\n[lfs "https://x/y.git/info/lfs"]\n\taccess = basic\n',
        '[credential]\n\thelper = store\n[credential "https://github.com"]\n\thelper = !gh auth git-credential\n',
        '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic x\n',
        "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n",
    ],
)
def test_a_plain_configuration_raises_no_doubt(text: str) -> None:
    assert config_doubt(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("[core]\n\tfsmonitor = true\n", "[core]\n\tsshCommand = x\n", "[core]\n\tworktree = /\n"),
        *("[filter]\n\tclean = x\n", '[filter "LFS"]\n\tclean = x\n', "[lfs]\n\tcustomtransfer = x\n"),
        *('[merge "x"]\n\tx = y\n', "[core]\n\tattributesFile = x\n", "[core]\n\tbare = a \\\n\tb\n"),
        *("[core]bare = false\n", "[core] # x\n", "bare = false\n", "[include]\n\tpath = x\n"),
        *('[includeIf "gitdir:/"]\n\tpath = x\n', '[filter "x"]\n\tclean = x\n'),
        *('[diff "x"]\n\ttextconv = x\n', "[diff.x]\n\ttextconv = x\n", '[core "x"]\n\tbare = false\n'),
        *('[remote "o"]\n\tuploadpack = x\n', '[remote "o"]\n\tpromisor = true\n'),
        *('[remote "o"]\n\tvcs = x\n', '[remote "a\\"]\n\turl = x\n'),
        *("[extensions]\n\tpartialClone = origin\n", '[url "x"]\n\tinsteadOf = y\n'),
        *("[alias]\n\tstatus = !x\n", "[gpg]\n\tprogram = x\n", "[pager]\n\tlog = x\n"),
        *("[pretty]\n\tx = %GG\n", "\ufeff[core]\n", "[core]\n\tbare = false\x00\n\tfsmonitor = x\n"),
        *(
            "[core\n]\n",
            '[merge "npm"]\n\tdriver = npx npm-merge-driver %A %O %B %P\n',
            "[safe]\n\tdirectory = *\n",
        ),
    ],
)
def test_a_configuration_with_anything_else_is_doubt(text: str) -> None:
    """What is not known to be data might run something."""
    assert config_doubt(text)


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    for one in (text, "[core]\n" + text):
        assert "\n" not in config_doubt(one), "a doubt is one line"


_LINES = st.sampled_from(
    [
        *("[core]", "[diff]", '[branch "a"]', '[remote "a"]', "[user]", "[gc]", "\tbare = false"),
        *("\talgorithm = x", "\texternal = MARK", "\tname = a \\", '\turl = "a', "\tfsmonitor = MARK"),
        *("# x \\", "; x", "", "\\", " [diff]", "\tname = 'a", "\tx = 1 # \\", "[diff]external=MARK"),
        *('[gc "\\"]', '\tname = "a\\', '"', "\texternal=MARK \\"),
    ]
)


@given(lines=st.lists(_LINES, max_size=8), end=st.sampled_from(["\n", "\r\n"]))
def test_git_reads_no_key_that_was_not_seen(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str
) -> None:
    """Against git's own parser, a text without doubt sets neither a monitor nor an external diff."""
    text = end.join(lines) + end
    if config_doubt(text):
        return
    path = tmp_path_factory.getbasetemp() / "judged.config"
    path.write_text(text, newline="")
    listed = subprocess.run(
        ["git", "config", "--file", str(path), "--list", "--name-only"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert not {"diff.external", "core.fsmonitor", "filter.x.clean"} & set(listed)


def test_the_neutral_environment_has_as_many_pairs_as_it_says() -> None:
    for hooks in (True, False):
        env = neutral_git_environment(hooks=hooks)
        count = int(env["GIT_CONFIG_COUNT"])
        keys = [env[f"GIT_CONFIG_KEY_{index}"] for index in range(count)]
        assert len(env) == 2 * count + 5
        assert ("core.hooksPath" in keys) is not hooks
        assert "core.fsmonitor" in keys


def test_variables_that_change_what_a_line_means_are_left_out() -> None:
    env = unattended_environment(
        {
            **dict.fromkeys(
                ("BASH_ENV", "ENV", "SHELLOPTS", "RIPGREP_CONFIG_PATH", "GIT_DIR", "GIT_EXTERNAL_DIFF"), "x"
            ),
            "BASH_FUNC_ls%%": "() { rm a; }",
            "GIT_CONFIG_PARAMETERS": "'core.pager=x'",
            "PATH": ":/usr/bin:.:bin:/bin:",
            "HOME": "/home/a",
            "GIT_AUTHOR_NAME": "a",
        }
    )
    kept = {name for name in env if not name.startswith(("GIT_CONFIG_KEY", "GIT_CONFIG_VALUE"))}
    assert kept == {
        *("PATH", "HOME", "GIT_AUTHOR_NAME"),
        *("GIT_CONFIG_COUNT", "GIT_NO_LAZY_FETCH", "GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_TERMINAL_PROMPT"),
    }
    assert env["PATH"] == "/usr/bin:/bin"


def nested_repository(repository: Repository, *settings: tuple[str, str]) -> None:
    """A repository below the workspace, whose own configuration starts a program."""
    inner = repository.root / "vendor" / "lib"
    subprocess.run(["git", "init", "-q", str(inner)], env=repository.plain, check=True)
    (inner / "a.py").write_text("x\n")
    (inner / ".gitattributes").write_text("*.py diff=x filter=x\n")
    hooks = inner / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for words in (["add", "."], ["commit", "-q", "-m", "x"], *(["config", *one] for one in settings)):
        subprocess.run(["git", "-C", str(inner), *words], env=repository.plain, check=True)
    shutil.copy(repository.evil, hooks / "post-index-change")
    (inner / "a.py").write_text("y\n")


@pytest.mark.parametrize(
    "key",
    [
        *("core.fsmonitor", "core.hooksPath", "diff.x.textconv", "diff.x.command", "filter.x.clean"),
        "diff.external",
    ],
)
@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
def test_a_repository_below_the_workspace_runs_nothing(
    repository: Repository, key: str, tracked: bool
) -> None:
    """In the folder above it too, also where it is tracked as a submodule without a `.gitmodules`."""
    value = str(repository.evil if key != "core.hooksPath" else repository.here.outside)
    shutil.copy(repository.evil, repository.here.outside / "post-index-change")
    nested_repository(repository, (key, value))
    if tracked:
        repository.git("-c", "advice.addEmbeddedRepo=false", "add", "vendor/lib")
    reading = ReadingEnvironment(repository.unattended, repository.root)
    entered = [
        *("status", "diff", "diff HEAD", "log -p", "show", "blame a.py", "ls-files", "grep x"),
        "describe --all",
    ]
    lines = [
        *(f"cd vendor/lib && git {words}" for words in entered),
        *(f"git -C vendor/lib {words}" for words in entered),
        *(f"git -C vendor {words}" for words in ("status", "diff", "ls-files", "grep x")),
        *("git status", "git diff", "git status vendor/lib", "git diff vendor/lib", "git ls-files -s vendor"),
        *("git log -p -- vendor/lib", "git show HEAD -- vendor", "git grep x", "git status --ignored -uall"),
        *(
            "git diff --no-index vendor/lib/a.py README.md",
            "git ls-tree -r HEAD",
            "git diff --submodule=diff",
        ),
    ]
    for line in lines:
        if repository.here.bash(line).kind == "allow":
            assert not repository.ran_code(line, reading), line
    for line in ("cd vendor/lib && git status", "git -C vendor/lib diff"):
        assert repository.here.bash(line).kind == "ask", line
