"""Which files a search sees, against git and ripgrep themselves."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prunecli.tools.searching.search import _RIPGREP_FLAGS
from prunecli.tools.searching.walk import FILE, walk

FILES = [
    "a.py",
    "b.txt",
    "ab.py",
    "[x].py",
    "sp ace",
    ".hidden",
    "build/a.py",
    "build/deep/b.txt",
    "src/a.py",
    "src/build/a.py",
    "src/.hidden/b.txt",
    "src/ab/a.py",
    "src/ab/b.txt",
]
segments = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "*",
        "**",
        "?",
        "a*",
        "*.py",
        "build",
        "src",
        "[ab]",
        "[!a]*",
        "[a-c]*",
        ".hidden",
        "b.txt",
        "\\a",
    ]
)
patterns = st.builds(
    lambda bang, lead, parts, trail: bang + lead + "/".join(parts) + trail,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(segments, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ "]),
)
ignore_files = st.lists(st.one_of(patterns, st.sampled_from(["# comment", "", "\\#x", "!", "/"])), max_size=5)


def planted(root: Path, top: list[str], nested: list[str], exclude: list[str]) -> None:
    """A repository with these ignore files."""
    if not root.exists():
        for name in FILES:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("text\n")
        subprocess.run(["git", "init", "-q", root], check=True)
        (root / ".git/info").mkdir(exist_ok=True)
    (root / ".gitignore").write_text("\n".join(top))
    (root / "src/.gitignore").write_text("\r\n".join(nested))
    (root / ".git/info/exclude").write_text("\n".join(exclude) + "\n")


def seen(root: Path) -> set[str]:
    return {path for path, kind in walk(str(root)) if kind == FILE}


def seen_by_git(root: Path) -> set[str]:
    done = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}


def seen_by_ripgrep(root: Path) -> list[str]:
    done = subprocess.run(
        ["rg", *_RIPGREP_FLAGS, "--files", "--", "./"], cwd=root, capture_output=True, check=False
    )
    return [os.fsdecode(path).removeprefix("./") for path in done.stdout.split(b"\0") if path]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=150,
    deadline=None,
)
@given(ignore_files, ignore_files, ignore_files)
@example(["build/", "!build/a.py"], ["*", "!*/", "!a.py"], ["b.txt"])
@example(["src/**"], [], [])
@example(["**/ab/**", "!src/ab/a.py"], [], [])
def test_the_files_that_git_would_add_are_seen(
    tmp_path: Path, top: list[str], nested: list[str], exclude: list[str]
) -> None:
    root = tmp_path / "repo"
    planted(root, top, nested, exclude)
    assert seen(root) == seen_by_git(root)


@pytest.mark.skipif(shutil.which("rg") is None, reason="needs ripgrep")
@pytest.mark.parametrize("inside", ["", "src", "build"])
@pytest.mark.parametrize("with_git", [True, False])
def test_ripgrep_sees_the_same_files_in_the_same_order(tmp_path: Path, inside: str, with_git: bool) -> None:
    root = tmp_path / "repo"
    planted(root, ["*.txt", "/ab.py", "build/deep", "!b.txt"], ["b.txt", "!.hidden/b.txt"], ["sp*"])
    (root / "x.d").mkdir()
    (root / "x.d" / "f").touch()
    (root / "x").mkdir()
    (root / "x" / "f").touch()
    (root / "link").symlink_to("a.py")
    (root / "folder_link").symlink_to("src")
    os.mkfifo(root / "pipe")
    subprocess.run(["git", "init", "-q", root / "x"], check=True)
    if not with_git:
        shutil.rmtree(root / ".git")
    start = root / inside
    assert [path for path, kind in walk(str(start)) if kind == FILE] == seen_by_ripgrep(start)


def test_an_ignore_file_that_is_a_pipe_or_a_device_does_not_stop_the_search(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").symlink_to("/dev/zero")
    (tmp_path / "sub" / "f").touch()
    (tmp_path / ".git").write_text("gitdir: /dev")
    assert seen(tmp_path) == {"sub/f"}


def test_a_worktree_uses_the_exclude_file_of_its_repository(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    repo, tree = tmp_path / "repo", tmp_path / "tree"
    run = ["git", "-C", repo, "-c", "user.email=a@b", "-c", "user.name=n"]
    subprocess.run(["git", "init", "-q", repo], check=True)
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "m"], check=True)
    subprocess.run([*run, "worktree", "add", "-q", tree], check=True, capture_output=True)
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("left_out\n")
    (tree / "left_out").touch()
    (tree / "kept").touch()
    assert seen(tree) == {"kept"}


def test_links_are_not_followed_and_loops_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "a" / "f").touch()
    assert [path for path, _ in walk(str(tmp_path))] == ["a", "a/f", "a/loop", "a/self"]
