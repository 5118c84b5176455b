"""A directory with snapshots, in a repository of the user's own: what tests of snapshots share."""

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

from prunecli.features.rewind.restoring import Restored, restore
from prunecli.features.rewind.snapshots import Snapshots

WHO = ("-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false")


def snapshots(folder: Path, workspace: Path, **more: Any) -> Snapshots:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    return Snapshots(folder / "data" / "snapshots", workspace, environ, folder / "home", **more)


def git(folder: Path, *words: str) -> bytes:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", *WHO, *words], cwd=folder, env=environ, capture_output=True, check=True)
    return done.stdout


def repository(folder: Path) -> Path:
    """A repository with a commit, something staged, something changed, something untracked and a stash."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "b.txt").write_text("stashed\n")
    git(folder, "stash")
    (folder / "a.txt").write_text("staged\n")
    git(folder, "add", "a.txt")
    (folder / "a.txt").write_text("changed\n")
    (folder / "new.txt").write_text("new\n")
    return folder


def of_git(folder: Path) -> dict[str, bytes]:
    """Everything in a `.git`, and what git says of the repository."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in (folder / ".git").rglob("*")
        if path.is_file()
    }
    for words in (("status", "--porcelain"), ("stash", "list"), ("reflog",), ("diff", "--cached")):
        found[" ".join(words)] = git(folder, *words)
    return found


def back(store: Snapshots, now: str, wanted: str) -> Restored:
    """Restores everything that differs."""
    (changes,) = store.changes([(now, wanted)])
    return restore(store, changes, threading.Event())


def files(folder: Path) -> dict[str, object]:
    """Every file below a folder by its path: content and mode, or where it links to; `.git` aside."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if ".git" in path.relative_to(folder).parts:
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return found
