"""One policy for every reader: what may hold a secret is not printed without a question."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.safety.permissions.path_patterns import braces, chooses_secrets
from prunecli.safety.permissions.verdict import Rules
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret
from tests.agent.judged import Scene
from tests.tools.calling import Caller

NPMRC = b"//registry/:_authToken=x\n"
NPMRC_BLOB = hashlib.sha1(b"blob %d\0" % len(NPMRC) + NPMRC).hexdigest()


def git(here: Scene, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(here.home), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *words], cwd=here.workspace, env=env, check=True, capture_output=True)


def repository(here: Scene, *ignored: str) -> None:
    (here.workspace / ".gitignore").write_text(
        "".join(f"{name}\n" for name in ("out", "key", "loop", *ignored))
    )
    git(here, "init", "-q")
    git(here, "add", ".")
    git(here, "commit", "-q", "-m", "one")


@pytest.mark.parametrize(
    "line",
    [
        *(
            "git grep KEY",
            "git grep --untracked KEY",
            "git log -p",
            "git show HEAD",
            "git show",
            "git log -p -U1",
        ),
        *(
            "git log -p -- '.np*'",
            "git log -p -- '.n?mrc'",
            "git show 'HEAD^{/a:b}:.npmrc'",
            "git show HEAD:.npmrc",
        ),
        *(
            "git show ':(glob).np*'",
            "git log -p -- ':(icase).NPMRC'",
            "git log -p -- ':!x'",
            "git show ':/one'",
        ),
        *("git diff HEAD", "git diff --cached", "git show @{10:30}:.npmrc", "git cat-file -p abc123"),
        *(
            "git diff -- ':/'",
            "git log -p --all",
            "git log -p -- .",
            "git log -p -- '*'",
            "git -C src show HEAD:.npmrc",
        ),
        *(f"git show -s {NPMRC_BLOB}", f"git show --stat {NPMRC_BLOB[:7].upper()}", "git status -v"),
        *("git diff HEAD: HEAD:src", "git diff HEAD:src -- '.n*'", "git diff --stat --check HEAD"),
        *("git grep x HEAD:", "git grep x HEAD:src", "git show --all HEAD:src", "git status -v src"),
        *("git log -p -- $PWD", "git grep x $PWD/src/..", "git log -p -- ../ws", "git -C src grep x .."),
    ],
)
def test_git_shows_no_tracked_secret_unasked(here: Scene, line: str) -> None:
    (here.workspace / ".npmrc").write_bytes(NPMRC)
    repository(here, ".env", "deploy")
    assert here.bash(line).kind == "ask", line


def test_git_passes_where_no_secret_is_tracked_or_shown(here: Scene) -> None:
    repository(here, ".env", "deploy")
    for line in (
        *("git diff", "git log -p -2", "git show HEAD", "git show --stat HEAD", "git show HEAD:src/a.py"),
        *("git grep x", "git diff HEAD~1", "git log -p -- src", "git log -p -- '*.py'"),
        "git show HEAD~1:README.md",
    ):
        assert here.bash(line).kind == "allow", (line, here.bash(line).reason)
    assert here.bash("git grep --untracked x").kind == "ask"
    (here.workspace / ".npmrc").write_text("x\n")
    git(here, "add", ".npmrc")
    for line in (
        *("git diff --stat", "git log --stat", "git show --stat", "git log -p -- src", "git status"),
        *("git show HEAD:README.md", "git log -2"),
    ):
        assert here.bash(line).kind == "allow", (line, here.bash(line).reason)
    assert "would show .npmrc" in here.bash("git diff").reason
    assert here.bash("git diff -- src").kind == "allow"


def test_an_index_that_does_not_list_all_tracked_files_asks(here: Scene) -> None:
    repository(here, ".env", "deploy")
    index = here.workspace / ".git/index"
    whole = index.read_bytes()
    git(here, "update-index", "--split-index")
    for damaged in (None, b"DIRC\0\0\0\2\0\0\1\0short", whole[:12] + whole[24:]):
        if damaged:
            index.write_bytes(damaged)
        assert "the list of tracked files can't be checked" in here.bash("git grep x").reason, damaged
    index.write_bytes(whole)
    assert here.bash("git grep x").kind == "allow"
    index.unlink()
    assert here.bash("git grep x").kind == "ask"
    git(here, "reset", "--hard")
    git(here, "sparse-checkout", "set", "--cone", "--sparse-index", "deploy")
    assert here.bash("git grep x").kind == "ask"


def test_a_file_with_the_name_of_an_id_does_not_hide_the_secret_of_this_id(here: Scene) -> None:
    (here.workspace / ".npmrc").write_bytes(NPMRC)
    repository(here, ".env", "deploy")
    (here.workspace / NPMRC_BLOB[:8]).write_text("x\n")
    assert here.bash(f"git cat-file -p {NPMRC_BLOB[:8]}").kind == "ask"


def test_a_hidden_secret_is_not_searched_but_one_brought_back_is(here: Scene) -> None:
    """A `!` line of an ignore file shows even hidden files; that a file is ignored is not looked at."""
    (here.workspace / ".gitignore").write_text("deploy\n")
    assert here.bash("rg KEY").kind == "ask"
    shutil.rmtree(here.workspace / "deploy")
    assert here.bash("rg KEY").kind == "allow"
    for option in ("--no-ignore", "-t all", "--type py", "-u", "-."):
        assert here.bash(f"rg {option} KEY").kind == "ask", option
    (here.workspace / "src/.hid").mkdir()
    (here.workspace / "src/.hid/a.key").write_text("x\n")
    assert here.bash("rg KEY src").kind == "allow"
    assert here.bash("rg KEY src src/.hid").kind == "ask"
    (here.workspace / ".ignore").write_text("!.env\n")
    assert here.bash("rg KEY").kind == "ask"


@pytest.mark.parametrize(
    "name",
    [
        *(".env.properties", ".env~", "prod.env.bak", "prod.env.local", ".server.pem.swp", "server.pem~"),
        *("a.key.old", "#a.pem#", "AuthKey.p8", "a.keytab", "my-secrets.yaml", "secrets.txt", ".id_rsa.swp"),
        *("db-credentials.json", "kubeconfig", "prod.tfvars", "terraform.tfstate.backup", ".mylogin.cnf"),
        *(".netrc.bak", ".irb_history", "htpasswd", ".secrets/x", ".env.hxx"),
        *("/etc/shadow", "/proc/1/cmdline", "/home/a/.m2/settings.xml", "/home/a/.config/pip/pip.conf"),
        *("/home/a/.config/rclone/x", "/home/a/.subversion/auth/x", ".curlrc", "/etc/ssl/private/x"),
    ],
)
def test_copies_and_kinds_of_secrets_are_known_by_name(name: str) -> None:
    assert looks_secret(name)
    assert may_look_secret(name)


@pytest.mark.parametrize(
    "name", ["secrets.py", ".env.example", "key.ts", "env.ts", "credentials.go", "app.environment"]
)
def test_code_and_examples_are_no_secrets(name: str) -> None:
    assert not looks_secret(name)


PRINTS_ADDRESSES = (
    *("cat .git/config", "rg --hidden url", "grep -r url .git", "git remote -v", "git remote get-url origin"),
)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote.origin.url", "https://me:pw@example.com/x"),
        ("remote.origin.url", "https://ghp_0123456789abcdefghij@github.com/a/b"),
        ("remote.origin.url", "https://example.com/a.git?private_token=x"),
        ("remote.origin.proxy", "http://me:pw@proxy:80"),
        ("http.https://remote.example.com/.extraheader", "Authorization: Basic eDp5"),
    ],
)
def test_an_address_with_credentials_is_not_printed_unasked(here: Scene, key: str, value: str) -> None:
    (here.workspace / ".env").unlink()
    shutil.rmtree(here.workspace / "deploy")
    repository(here)
    git(here, "config", "remote.origin.url", "https://me@example.com/x")
    for line in PRINTS_ADDRESSES:
        assert here.bash(line).kind == "allow", (line, here.bash(line).reason)
    git(here, "config", key, value)
    for line in PRINTS_ADDRESSES:
        assert here.bash(line).kind == "ask", line
    assert here.read(".git/config").kind == "ask"
    assert here.judge("grep", {"pattern": "url", "path": ".git"}).kind == "ask"
    for line in ("git remote", "git log -1"):
        asks = "proxy" in key
        assert here.bash(line).kind == ("ask" if asks else "allow"), line


def test_the_users_configuration_rewrites_addresses(here: Scene) -> None:
    repository(here, ".env", "deploy")
    settings = here.home / ".gitconfig"
    settings.write_text('[url "git@github.com:"]\n\tinsteadOf = https://github.com/\n')
    assert here.bash("git remote -v").kind == "allow"
    for text in (
        '[url "https://x:token@github.com/"]\n\tinsteadOf = x\n',
        "[include]\n\tpath = ~/work.inc\n",
    ):
        settings.write_text(text)
        assert "~/.gitconfig" in here.bash("git remote -v").reason


def test_a_hard_link_to_a_secret_is_one(here: Scene) -> None:
    os.link(here.workspace / ".env", here.workspace / "notes.txt")
    os.link(here.home / ".ssh/id_rsa", here.workspace / "other.txt")
    for name in ("notes.txt", "other.txt"):
        assert here.bash(f"cat {name}").kind == "ask"
        assert here.read(name).kind == "ask"
        assert here.read(name, rules=Rules(allow=("read(**)",))).kind == "ask"
        assert here.read(name, rules=Rules(allow=(f"read(./{name})",))).kind == "allow"
    assert here.bash("rg KEY -g '*.txt'").kind == "ask"
    assert here.bash("grep -r KEY --include='*.txt' .").kind == "ask"
    os.link(here.workspace / "README.md", here.workspace / "copy.md")
    assert here.bash("cat copy.md").kind == "allow"


def test_a_bound_that_is_reached_asks(here: Scene) -> None:
    many = here.workspace / "many"
    many.mkdir()
    for number in range(20_001):
        (many / str(number)).touch()
    assert "too many files" in here.bash("grep -r x many").reason
    assert "too many files" in here.bash("rg x many").reason
    assert "too many" in here.bash("cat many/*").reason
    os.link(here.workspace / "README.md", here.workspace / "copy.md")
    assert here.bash("cat copy.md").kind == "ask"


@pytest.mark.parametrize(
    ("glob", "answer"),
    [
        *(
            (".en?", True),
            (".e[n]v", True),
            (".{env,x}", True),
            ("*.pem", True),
            ("i?_rsa", True),
            ("*env", True),
        ),
        *(
            ("*.py", False),
            ("*", False),
            ("**", False),
            ("*.json", False),
            ("src/*.{ts,tsx}", False),
            ("[!.]*", False),
        ),
    ],
)
def test_globs_about_secrets_are_told_from_others(glob: str, answer: bool) -> None:
    assert chooses_secrets(glob) is answer


def test_braces_are_expanded_as_bash_does() -> None:
    assert braces("a{b,c}d") == ["abd", "acd"]
    assert braces("{a,b{c,d}}") == ["a", "bc", "bd"]
    assert braces("a{b}c") == ["a{b}c"]
    assert len(braces("{a,b}" * 40)) < 200


async def test_the_grep_tool_leaves_secrets_out_and_says_so(here: Scene) -> None:
    os.link(here.workspace / ".env", here.workspace / "notes.txt")
    tools = Caller(here.workspace)
    for path in (os.environ["PATH"], "/nowhere"):
        caller = tools.with_(env={**tools.context.env, "PATH": path})
        for glob in (None, ".en?", "*"):
            given = {"glob": glob} if glob else {}
            text = await caller.text("grep", pattern="{", **given)
            lines = [line for line in text.split("\n") if "not searched" not in line]
            assert not any(
                name in line for line in lines for name in (".env", "id_rsa", "server.pem", "notes")
            )
            assert (
                "[not searched, may contain secrets: .env, deploy/id_rsa, deploy/server.pem, notes.txt;"
                in text
            )
        nothing = await caller.text("grep", pattern="no such text")
        assert ".env" in nothing, "the note must not depend on the pattern"
        assert await caller.text("grep", pattern="{", path=".env") == ".env:1:{}"


async def test_a_glob_that_the_user_approved_is_searched(here: Scene) -> None:
    tools = Caller(here.workspace).with_(approved=True)
    assert ".env:1:{}" in await tools.text("grep", pattern="{", glob=".env")


def test_a_search_of_chosen_files_shows_no_secret(here: Scene) -> None:
    (here.workspace / "deploy" / "server.pem").unlink()
    (here.workspace / "deploy" / "id_rsa").unlink()
    assert here.bash("grep -rn KEY . --include='*.py'").kind == "allow"
    for line in ("grep -rn KEY . --exclude='.*'", "grep -rn KEY . --include='*.py' --exclude='a*'"):
        assert here.bash(line).kind == "ask", "what is left out is not looked at"


def test_the_folder_that_proc_names_is_that_of_the_command(here: Scene) -> None:
    """`/proc/self/cwd` leads this process elsewhere than the command."""
    (here.workspace / "deploy/sub").mkdir()
    (here.workspace / "deploy/sub/id_rsa").write_text("x\n")
    program = (
        "import sys; from pathlib import Path; from tests.agent.judged import Scene; "
        "here = Scene(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])); "
        "print(here.bash('rg KEY /proc/self/cwd/sub', cwd=here.workspace / 'deploy').kind)"
    )
    root = Path(__file__).parents[3]
    paths = [str(here.workspace), str(here.outside), str(here.home)]
    words = [sys.executable, "-c", program, *paths]
    run = subprocess.run(
        words, cwd=here.workspace, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert run.stdout == "ask\n", run.stderr
