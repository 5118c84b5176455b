"""Finds what a read-only git command shows: the paths it names, and tracked files that it prints without naming
them."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from prunecli.model.shell import Doubt
from prunecli.safety.permissions.command_options import Given, check_counts, read_options
from prunecli.safety.permissions.git_config import git_folder, printed_credentials, repository_doubt
from prunecli.safety.permissions.git_index import Tracked, tracked
from prunecli.safety.permissions.git_redirects import leads_elsewhere
from prunecli.safety.permissions.globs import TooMany, chooses_secrets, is_glob, path_regex
from prunecli.safety.permissions.harmless_commands import Words
from prunecli.safety.permissions.harmless_git import (
    GIT_FORMS,
    READS_WORKTREE,
    git_doubt,
    prints_addresses,
    split_git,
)
from prunecli.safety.permissions.places import Place, Unresolvable, is_secret, lies_in, real_path, resolve
from prunecli.safety.permissions.scope import CommandScope, Harm, Reading
from prunecli.safety.permissions.sweeps import Sweep, sweep_of_git_grep
from prunecli.util.regular import read_regular

_REVISION_PATH = re.compile(r":(?:[0-3]:)?[\w.][^:]*")
"""`:README.md` and `:0:README.md`, the versions in the index."""
_HEAD = re.compile(rb"ref: refs/|[0-9a-f]{40}")
_ID = re.compile(r"[0-9a-f]{4,40}")
"""A possible id of a file's content, even after other text, as in `v1-2-g3f2a`."""
_PATCH = frozenset(
    {
        *("-p", "-u", "--patch", "-U", "--unified", "-W", "--function-context", "-c", "-m", "--text"),
        *("--word-diff", "--word-diff-regex", "--check"),
    }
)
_MORE_REVISIONS = frozenset({"--all", "--branches", "--tags", "--remotes", "-g", "--walk-reflogs"})
_NO_PATCH = frozenset(
    {
        *("-s", "--no-patch", "--stat", "--shortstat", "--numstat", "--summary", "--name-only"),
        *("--name-status", "--raw", "--dirstat", "--compact-summary", "--quiet"),
    }
)


def read_git(words: Words, around: CommandScope, *, by_rule: bool) -> Reading:
    """Return the reads of a git command. Raises Doubt if it does more than read.

    `by_rule`: a user's rule allows the command, so programs that the repository configures do not matter.
    """
    folder, subcommand, rest = split_git(words)
    cwd = around.cwd
    if folder:
        place = around.readable(folder)
        if len(place.ends) > 1:
            raise Doubt(f"the folder {folder!r} is ambiguous")
        cwd = Path(place.real)
    form = GIT_FORMS[subcommand]
    given = read_options(form, rest)
    check_counts(f"git {subcommand}", form, given)
    if doubt := git_doubt(subcommand, given):
        raise Doubt(doubt)
    if prints_addresses(subcommand, given):
        _check_addresses(Path(real_path(cwd)), around)
    command = _Command(subcommand, given, rest, around, cwd)
    if command.top and not is_repository(command.top):
        raise Doubt(f"git may skip the damaged repository in {command.top}")
    if doubt := _redirect_doubt(Path(real_path(cwd))):
        raise Doubt(doubt)
    if subcommand == "diff" and len(given.operands) > 1 and not command.top:
        raise Doubt("outside a repository, `git diff` compares any files and folders")
    places = command.places()
    if not by_rule and (
        doubt := repository_doubt(Path(real_path(cwd)), reads_worktree=subcommand in READS_WORKTREE)
    ):
        raise Doubt(doubt)
    sweep = command.sweep()
    if sweep:
        around.check(sweep)
    return Reading((resolve(".", cwd, around.home), *places), sweep)


def git_leads_elsewhere(words: Words, around: CommandScope) -> str:
    """Return why a reading git command may show files from outside its repository, or ""."""
    try:
        folder, _, _ = split_git(words)
        return _redirect_doubt(Path(resolve(folder or ".", around.cwd, around.home).real))
    except (Doubt, Unresolvable):
        return ""  # it is judged by its words


def _redirect_doubt(cwd: Path) -> str:
    top = work_tree(cwd)
    if top is None:
        return ""
    try:
        found = leads_elsewhere(top / ".git")
    except (OSError, ValueError) as error:
        found = f"{top / '.git'}: {getattr(error, 'strerror', None) or error}"
    return f"it may show files from outside the repository: {found}" if found else ""


def _check_addresses(cwd: Path, around: CommandScope) -> None:
    try:
        found = printed_credentials(cwd, around.home)
    except (OSError, ValueError):
        raise Doubt("git's configuration can't be checked for credentials") from None
    if found:
        raise Harm(f"may print credentials from {around.shown(str(found))}")


class _Command:
    """A git command whose options are known to be harmless."""

    def __init__(self, subcommand: str, given: Given, rest: Words, around: CommandScope, cwd: Path) -> None:
        self.subcommand, self.given, self.around, self.cwd = subcommand, given, around, cwd
        form = GIT_FORMS[subcommand]
        drop = form.operands == "text first" and not given.options & form.no_text
        operands = given.operands[1:] if drop else given.operands
        after = len(rest) - rest.index("--") - 1 if "--" in rest else None
        if after is None:
            self.specs = tuple(word for word in operands if self._may_be_path(word))
        else:
            self.specs = operands[len(operands) - after :]
        self.revisions = tuple(
            word
            for word in (operands if after is None else operands[: len(operands) - after])
            if after is not None or word not in self.specs
        )
        self.top = work_tree(Path(real_path(cwd)))

    def _may_be_path(self, word: str) -> bool:
        return ":" not in word and (is_glob(word) or os.path.lexists(self.cwd / word))

    def places(self) -> list[Place]:
        """Return the paths that the command names, relative to the folder and to the repository. Raises Doubt."""
        if self.subcommand == "config":
            return []
        self._refuse_magic()
        found = []
        for operand in (*self.revisions, *self.specs):
            for path in _paths_in(operand):
                found.append(self.around.readable(path, self.cwd))
                if self.subcommand == "diff" and self.top and not self._is_in_tree(path):
                    raise Doubt(
                        f"{path!r} is outside the repository, so `git diff` compares any files and folders"
                    )
                if path != operand and self.top:
                    found.append(resolve(path, self.top, self.around.home))
                    if is_secret(found[-1]):
                        raise Doubt(f"{path!r} may contain secrets")
        return found

    def _is_in_tree(self, path: str) -> bool:
        """Return whether git treats the path as inside the work tree. One that leaves it and comes back is not."""
        cwd, depth = Path(real_path(self.cwd)), 0
        for part in (*cwd.relative_to(self.top or cwd).parts, *path.split("/")):
            depth += 0 if part in ("", ".") else -1 if part == ".." else 1
            if depth < 0:
                return False
        place = resolve(path, cwd, self.around.home)
        return all(lies_in(spelling, str(self.top)) for spelling in place.spellings)

    def _refuse_magic(self) -> None:
        named = self.subcommand in ("show", "cat-file")
        for word in self.revisions:
            plain = named and _REVISION_PATH.fullmatch(word)
            if "^{/" in word or ":/" in word or (word.startswith(":") and not plain):
                raise Doubt(f"{word!r} uses pathspec magic or a search for a commit")
        for word in self.specs:
            if word.startswith(":"):
                raise Doubt(f"{word!r} uses pathspec magic")
            if self._shows_contents() and is_glob(word) and chooses_secrets(word):
                raise Doubt(f"{word!r} selects files that may contain secrets")

    def sweep(self) -> Sweep | None:
        """Return the files whose contents the command prints without naming them, or None."""
        top = self.top
        if top is None:
            return None
        # `git cat-file` reads a word as an id even if a file has this name
        ids = tuple(found for word in (*self.revisions, *self.specs) for found in _ID.findall(word.lower()))
        blobs = partial(tracked_paths, top, lambda entry: entry.blob.startswith(ids))
        if not self._shows_contents():
            # `git show` prints a blob regardless of its options
            return Sweep(blobs) if ids and self.subcommand == "show" else None
        if self.subcommand == "status":
            return Sweep(
                partial(tracked_paths, top, lambda _: True)
            )  # `-v` shows more than the paths it names
        parts = [word for word in self.revisions if ":" in word]
        # `HEAD:src` may be a folder, with all files below it; specs are relative to it
        trees = bool(parts) and self.subcommand in ("diff", "grep")
        alone = parts == list(self.revisions) and not self.given.options & _MORE_REVISIONS
        if parts and alone and not self.specs and not trees:
            return None
        names = [os.path.relpath(os.path.join(real_path(self.cwd), spec), top) for spec in self.specs]
        chosen = [path_regex(name) for name in names]
        everything = trees or not chosen or any(name == "." or name.startswith("..") for name in names)
        by_id = frozenset(blobs() if ids else ())  # shown whatever the specs choose

        def shows(path: str) -> bool:
            name = os.path.relpath(path, top)
            return everything or path in by_id or any(regex.fullmatch(name) for regex in chosen)

        if self.subcommand == "grep":
            root = str(top)
            untracked = "--untracked" in self.given.options
            found = sweep_of_git_grep(root, untracked, partial(tracked_paths, top, lambda _: True))
            return Sweep(lambda: found.paths, lambda path: found.shows(path) and shows(path))
        only_changed = self.subcommand == "diff" and not (
            self.revisions or self.given.options & {"--cached", "--staged", "--merge-base"}
        )
        wanted = partial(_is_changed, top) if only_changed else lambda _: True
        return Sweep(partial(tracked_paths, top, wanted), shows)

    def _shows_contents(self) -> bool:
        options = self.given.options
        match self.subcommand:
            case "grep":
                return True
            case "log":
                return bool(options & _PATCH)
            case "status":
                return bool(options & {"-v", "--verbose"})
            case "show" | "diff":
                return bool(options & _PATCH) or not options & _NO_PATCH
            case "cat-file":
                return "-p" in options or not options & {"-t", "-s", "-e"}
            case _:
                return False


def is_repository(top: Path) -> bool:
    """Return whether git accepts the `.git` of a work tree as a repository: it has a HEAD, objects and refs."""
    try:
        git = common = git_folder(top / ".git")
        if os.path.lexists(git / "commondir"):
            common = git / os.fsdecode(read_regular(git / "commondir")).rstrip("\r\n")
        whole = all(os.path.isdir(common / name) for name in ("objects", "refs"))
        return whole and _HEAD.match(read_regular(git / "HEAD")) is not None
    except (OSError, ValueError):
        return False


def tracked_paths(top: Path, wanted: Callable[[Tracked], bool]) -> Iterator[str]:
    """Return the absolute paths of tracked files. Raises TooMany."""
    try:
        index = git_folder(top / ".git") / "index"
    except (OSError, ValueError):
        raise TooMany from None
    return (os.path.join(top, entry.path) for entry in tracked(index) if wanted(entry))


def _is_changed(top: Path, entry: Tracked) -> bool:
    """Return whether the file may differ from the index, using the same first checks as git."""
    try:
        status = os.lstat(top / entry.path)
    except OSError:
        return True
    exact = 1 if entry.changed_ns % 1_000_000_000 else 1_000_000_000  # some systems store whole seconds
    changed = status.st_mtime_ns // exact != entry.changed_ns // exact
    return changed or status.st_size % (1 << 32) != entry.size


def work_tree(folder: Path) -> Path | None:
    """Return the work tree that git would find from a real folder."""
    return next((up for up in (folder, *folder.parents) if os.path.lexists(up / ".git")), None)


def _paths_in(operand: str) -> list[str]:
    """Return the paths that an operand may name: the operand, and the part after each colon in `HEAD:src/x`."""
    parts = operand.split(":")
    return [path for at in range(len(parts)) if (path := ":".join(parts[at:])).strip("0123:")]
