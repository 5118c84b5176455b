"""What is asked about and what is not, over whole corpora: hostile lines, and lines of real sessions."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules
from tests.agent.judged import Scene, corpus, scene

HOSTILE = [*corpus("permissions/hostile_lines.txt"), *corpus("bypass_corpus.txt")]
HARMLESS = corpus("permissions/harmless_lines.txt")
EVERYDAY = Rules(
    allow=(
        *("bash(git log *)", "bash(git diff *)", "bash(git status)", "bash(git show *)", "bash(git grep *)"),
        *("bash(rg *)", "bash(grep *)", "bash(cat *)", "bash(ls *)", "bash(find *)", "bash(sed *)"),
        *("bash(sort *)", "bash(npm run *)", "bash(python3 tests/*)", "bash(cargo test *)", "bash(head *)"),
        *("bash(awk *)", "read(src/**)", "edit(src/**)"),
    )
)


HUSKY = (
    ("core.hooksPath", ".husky/_"),
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.required", "true"),
    ("credential.helper", "!gh auth git-credential"),
)
"""The configuration that husky, git-lfs and a credential helper write."""


def project(folder: Path, *, env: bool, husky: bool) -> Scene:
    """A committed repository without secrets; with `env` there is an ignored .env."""
    here = Scene(folder / "ws", folder / "outside", folder / "home")
    for path in (here.workspace / "src", here.outside, here.home):
        path.mkdir(parents=True)
    for name, text in (("src/a.py", "a = 1\n"), ("README.md", "# A\n"), (".gitignore", ".env\n")):
        (here.workspace / name).write_text(text)
    committed(here, HUSKY if husky else ())
    if env:
        (here.workspace / ".env").write_text("KEY=secret\n")
    return here


def committed(here: Scene, settings: tuple[tuple[str, str], ...]) -> None:
    """Make a repository of the workspace, commit everything, then configure it."""
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")
    environ = {"PATH": os.environ["PATH"], "HOME": str(here.home), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("init", "-q"), ("add", "."), commit, *(("config", *setting) for setting in settings)):
        subprocess.run(["git", *words], cwd=here.workspace, env=environ, check=True)


def test_the_corpora_have_the_size_they_claim() -> None:
    assert len(set(HOSTILE)) >= 1050
    assert len(set(HARMLESS)) == 200


@pytest.mark.parametrize("husky", [False, True], ids=["plain", "husky"])
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(Rules(), id="no rules", marks=pytest.mark.long),
        pytest.param(EVERYDAY, id="everyday rules"),
    ],
)
def test_no_hostile_line_runs_without_a_question(tmp_path: Path, rules: Rules, husky: bool) -> None:
    """Rules only allow more, so those of every day are the harder case."""
    plain = scene(tmp_path)
    if husky:
        committed(plain, HUSKY)  # with the secrets: nothing is ignored
    for line in HOSTILE:
        for mode, kind in (("ask", "ask"), ("edits", "ask"), ("plan", "deny")):
            assert plain.bash(line, mode=mode, rules=rules).kind == kind, (mode, line)


@pytest.mark.parametrize(
    ("env", "husky", "floor"),
    [(False, False, 196), (True, False, 188), (False, True, 196), (True, True, 188)],
    ids=["plain", "env", "husky", "env and husky"],
)
def test_most_lines_of_real_sessions_pass(tmp_path: Path, env: bool, husky: bool, floor: int) -> None:
    """`floor`: how many of the 200 pass. Where there is a .env, read(.env) is denied too."""
    here = project(tmp_path, env=env, husky=husky)
    rules = Rules(deny=("read(.env)",) if env else ())
    lines = [line.replace("{workspace}", str(here.workspace)) for line in HARMLESS]
    asked = [line for line in lines if here.bash(line, rules=rules).kind != "allow"]
    assert len(lines) - len(asked) >= floor, asked


EVERYDAY_LINES = [(line[0], line[2:]) for line in corpus("permissions/everyday_lines.txt")]
FILES = (
    *("src/index.ts", "src/App.tsx", "src/main.rs", "src/b.py", "tests/test_a.py", "main.go", "main.c"),
    *("main.o", "a.out", "words.txt", "a.txt", "b.txt", "CHANGELOG.md", "package.json", "requirements.txt"),
    "Cargo.toml",
)


@pytest.mark.parametrize(
    ("inside", "passing"),
    [(SandboxedCommands(), "H"), (SandboxedCommands(True, True), "HS")],
    ids=["bare", "inside"],
)
def test_an_everyday_line_passes_or_asks_as_its_letter_says(
    tmp_path: Path, inside: SandboxedCommands, passing: str
) -> None:
    here = Scene(tmp_path / "ws", tmp_path / "outside", tmp_path / "home")
    for folder in ("src", "tests", "dist", "node_modules/react"):
        (here.workspace / folder).mkdir(parents=True)
    for name in ("src/a.py", "README.md", *FILES):
        (here.workspace / name).write_text("x\n")
    (here.workspace / ".gitignore").write_text(".env\nnode_modules\n")
    here.home.mkdir()
    committed(here, HUSKY)
    (here.workspace / ".env").write_text("KEY=secret\n")
    rules = Rules(deny=("read(.env)",))
    for kind, line in EVERYDAY_LINES:
        verdict = here.bash(line, rules=rules, inside=inside, search_path="/usr/bin:/bin")
        assert verdict.kind == ("allow" if kind in passing else "ask"), (line, verdict.reason)


def test_a_glob_that_could_become_an_option_is_harmless_only_without_a_match(tmp_path: Path) -> None:
    """`cat -- -*` is no hostile line by itself: where no file has such a name, cat only misses a file `-*`."""
    here = scene(tmp_path)
    assert here.bash("cat -- -*").kind == "allow"
    (here.workspace / "-n").write_text("x\n")
    assert here.bash("cat -- -*").kind == "ask"


def test_following_links_asks_where_there_are_links(tmp_path: Path) -> None:
    here = project(tmp_path, env=False, husky=False)
    assert here.bash("grep -R x src").kind == "allow"
    (here.workspace / "src" / "out").symlink_to(here.outside)
    assert here.bash("grep -R x src").kind == "ask"
    assert here.bash("grep --dereference-recursive x .").kind == "ask"
    assert here.bash("grep -r x src").kind == "allow"


@pytest.mark.parametrize(
    "line", ["sed *", "awk *", "jq *", "grep -r *", "rg *", "printf *", "head -n *", "git grep *"]
)
def test_the_first_match_of_a_wildcard_is_no_script_or_value(tmp_path: Path, line: str) -> None:
    """Its order depends on the locale, and the files may have any names."""
    here = scene(tmp_path)
    for name in ("p", "q"):
        (here.workspace / "src" / "odd" / name).parent.mkdir(exist_ok=True)
        (here.workspace / "src" / "odd" / name).write_text("x\n")
    assert here.bash("cat *", cwd=here.workspace / "src" / "odd").kind == "allow"
    assert here.bash(line, cwd=here.workspace / "src" / "odd").kind == "ask"


def test_a_secret_is_not_shown_by_the_id_of_its_content_beside_another_path(tmp_path: Path) -> None:
    here = project(tmp_path, env=False, husky=False)
    (here.workspace / "server.pem").write_text("key\n")
    committed(here, ())
    blob = hashlib.sha1(b"blob 4\0key\n").hexdigest()
    for one in (blob, blob[:8].upper(), f"x-g{blob}"):
        for line in ("git show {} -- README.md", "git diff {} README.md", "git grep k {} -- README.md"):
            assert here.bash(line.format(one)).kind == "ask", (line, one)
    assert here.bash("git diff HEAD README.md").kind == "allow"


def test_git_compares_any_folders_once_a_path_leaves_the_repository(tmp_path: Path) -> None:
    """Even if it comes back: `git diff src ../ws` shows ignored files too."""
    here = project(tmp_path, env=True, husky=False)
    assert here.bash("git diff src README.md").kind == "allow"
    for line in ("git diff src ../ws", "git -C src diff . ../../ws", "git diff ../ws/src README.md"):
        assert here.bash(line).kind == "ask", line


def test_git_asks_below_a_damaged_repository_which_it_may_skip(tmp_path: Path) -> None:
    here = project(tmp_path, env=False, husky=False)
    assert here.bash("git show", cwd=here.workspace / "src").kind == "allow"
    (here.workspace / "src" / ".git").mkdir()
    (here.workspace / "src" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert here.bash("git show", cwd=here.workspace / "src").kind == "ask"


def test_a_long_script_is_judged_at_once(tmp_path: Path) -> None:
    here = scene(tmp_path)
    for script in (" " * 8000 + "e", "1" + " " * 4000 + "," + " " * 4000 + "e"):
        assert here.bash(f"sed '{script}' README.md").kind == "ask"
