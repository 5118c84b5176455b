"""Finds the files that a recursive search may show without naming them, by the rules of the search program.

The result may include too many files, never too few: a file that the program would skip for an unknown reason counts
as shown. Reaching a limit raises TooMany, and the user is asked.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from prunecli.safety.permissions.command_options import Given
from prunecli.safety.permissions.globs import TooMany, braces, component_regex
from prunecli.safety.permissions.places import lies_in
from prunecli.tools.searching.gitignore import Level, is_ignored, levels_at
from prunecli.tools.searching.secrets import MAX_ENTRIES, PACKAGES
from prunecli.util.regular import read_regular

_TYPES = {
    "py": (".py", ".pyi"),
    "python": (".py", ".pyi"),
    "js": (".js", ".jsx", ".mjs", ".cjs", ".vue"),
    "ts": (".ts", ".tsx", ".mts", ".cts"),
    "rust": (".rs",),
    "go": (".go",),
    "java": (".java", ".jsp", ".jspx", ".properties"),
    "c": (".c", ".h", ".H", ".cats", ".in"),
    "cpp": (".C", ".cpp", ".cc", ".cxx", ".hpp", ".hxx", ".h", ".H", ".hh", ".inl", ".in"),
    "ruby": (".rb", ".rbw", ".gemspec", ".irbrc", ".ru", ".rake", "file"),
    "php": (".php", ".php3", ".php4", ".php5", ".php7", ".php8", ".pht", ".phtml"),
    "kotlin": (".kt", ".kts"),
    "md": (".md", ".markdown", ".mdown", ".mdwn", ".mdx", ".mkd", ".mkdn"),
    "markdown": (".md", ".markdown", ".mdown", ".mdwn", ".mdx", ".mkd", ".mkdn"),
    "css": (".css", ".scss"),
    "html": (".html", ".htm", ".ejs"),
    "swift": (".swift",),
    "cs": (".cs",),
    "sql": (".sql", ".psql"),
}
"""The ripgrep file types known here, with the suffixes of their files."""
_NO_IGNORE = frozenset({"-u", "--unrestricted", "--no-ignore", "--no-ignore-vcs"})
_HIDDEN = frozenset({"-u", "--unrestricted", "--hidden", "-."})
_SLASH = re.compile(r"/(?![^\[\]]*\])")
"""A slash that is not in brackets."""
_PLAIN_GLOB = re.compile(r"[\w.-]+|\*\.\w+|\.\*")


class Sweep:
    """Files whose contents may be shown. `shows` returns whether the command reaches a path in `paths`."""

    def __init__(
        self, files: Callable[[], Iterable[str]], shows: Callable[[str], bool] = lambda _path: True
    ) -> None:
        self._files = files
        self.shows = shows

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All paths that are searched. Raises TooMany."""
        return tuple(self._files())

    def find(self, wanted: Callable[[str], bool]) -> str:
        """Return the first shown file for which `wanted` is true, or "". Raises TooMany."""
        return next((path for path in self.paths if wanted(path) and self.shows(path)), "")


def files_below(folder: str) -> Iterator[str]:
    """Yield the absolute paths of the files below a folder, or of the one file. Raises TooMany."""
    left = MAX_ENTRIES
    if os.path.lexists(folder) and not os.path.isdir(folder):
        yield folder
    for inside, folders, names in os.walk(folder):
        if ".git" in folders:
            names.append(".git/config")  # it may hold credentials
        folders[:] = [name for name in folders if name not in PACKAGES]
        left -= len(folders) + len(names)
        if left < 0:
            raise TooMany
        for name in names:
            yield os.path.join(inside, name)


def links_below(roots: Iterable[str]) -> Iterator[str]:
    """Yield the links below the folders. Raises TooMany."""
    left = MAX_ENTRIES
    for root in roots:
        for inside, folders, names in os.walk(root):
            left -= len(folders) + len(names)
            if left < 0:
                raise TooMany
            yield from filter(os.path.islink, (os.path.join(inside, name) for name in (*folders, *names)))


def sweep_of_grep(roots: tuple[str, ...], given: Given) -> Sweep:
    """Return the files that `grep -r` searches: all files, filtered by --include and --exclude."""
    ordered = [(option, value) for option, value in given.values if option in ("--include", "--exclude")]
    included = [component_regex(value) for option, value in ordered if option == "--include"]
    excluded = [
        component_regex(value)
        for option, value in ordered
        if option == "--exclude" and _PLAIN_GLOB.fullmatch(value)
    ]

    def shows(path: str) -> bool:
        name = os.path.basename(path)
        if included and ordered[0][0] == "--include":
            return any(regex.fullmatch(name) for regex in included)
        return bool(included) or not any(regex.fullmatch(name) for regex in excluded)

    return Sweep(lambda: _below(roots), shows)


def sweep_of_rg(roots: tuple[str, ...], given: Given) -> Sweep:
    """Return the files that ripgrep searches: no hidden or ignored files, unless an option, glob or type includes
    them."""
    globs = [value.rstrip() for option, value in given.values if option in ("-g", "--glob", "--iglob")]
    chosen = [
        re.compile(_last_component(word.rstrip("/")), re.IGNORECASE | re.DOTALL)
        for value in globs
        if value and value[0] not in "!#"  # as in .gitignore, other globs include nothing
        for word in braces(value)
    ]
    types = [value for option, value in given.values if option in ("-t", "--type")]
    ends = tuple(end for name in types for end in _TYPES.get(name, ("",)))

    def shows(path: str) -> bool:
        return any(shows_below(root, path) for root in roots if lies_in(path, root))

    def shows_below(root: str, path: str) -> bool:
        parts = [part for part in path[len(root) :].split("/") if part]
        if not parts:
            return True  # the file itself is named
        if chosen:
            return any(regex.fullmatch(part) for regex in chosen for part in parts)
        if ends:
            return path.endswith(ends)
        if _brought_back(path, parts):
            return True
        hidden = any(part.startswith(".") for part in parts) and not given.options & _HIDDEN
        return not hidden and (bool(given.options & _NO_IGNORE) or not _is_ignored(path, root))

    return Sweep(lambda: _below(roots), shows)


def _last_component(glob: str) -> str:
    """Return a pattern for the names that a glob of ripgrep may match; `.*` if braces are left after expansion."""
    if "{" in glob or "}" in glob:
        return ".*"
    return component_regex(_SLASH.split(glob)[-1]).pattern


def sweep_of_git_grep(root: str, untracked: bool, tracked: Callable[[], Iterable[str]]) -> Sweep:
    """Return the files that `git grep` searches: tracked files and, with --untracked, those that are not ignored."""
    if not untracked:
        return Sweep(tracked)
    known = frozenset(tracked())
    return Sweep(lambda: _below((root,)), lambda path: path in known or not _is_ignored(path, root))


def _below(roots: tuple[str, ...]) -> Iterator[str]:
    for root in roots:
        yield from files_below(root)


def _folders(path: str) -> Iterator[str]:
    """Yield the folders above a path, the nearest first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _is_ignored(path: str, root: str) -> bool:
    """Return whether git ignores the path, or a folder between it and the root of the search.

    ripgrep reads .gitignore only inside a repository. It searches a root that is ignored itself, and its versions
    differ about ignore files above a root, so these are left out.
    """
    folders = list(_folders(path))
    top = next(
        (at for at, folder in enumerate(folders) if os.path.lexists(os.path.join(folder, ".git"))), None
    )
    if top is None:
        return False
    steps = [step for step in (path, *folders[:top]) if step != root and lies_in(step, root)]
    return any(
        is_ignored(levels_at(above)[: above.count("/") - root.count("/") + 1], step, name, step != path)
        for step in steps
        for above, name in [os.path.split(step)]
    )


def _brought_back(path: str, parts: list[str]) -> bool:
    """Return whether an ignore file includes the path with `!`, even if it is hidden."""
    for folder in _folders(path):
        level = Level(folder)
        for rules in (level.gitignore, level.exclude):
            if rules and rules.verdict(level.relative(path), os.path.basename(path), False) is False:
                return True
        for name in (".ignore", ".rgignore"):
            if _has_negation(os.path.join(folder, name), parts):
                return True
    return False


def _has_negation(file: str, parts: list[str]) -> bool:
    try:
        text = read_regular(file).decode("utf-8", "replace")
    except OSError:
        return False
    lines = [line[1:].strip().rstrip("/") for line in text.split("\n") if line.startswith("!")]
    wanted = [line.rpartition("/")[2] for line in lines]
    return any(component_regex(part).fullmatch(name) for part in wanted for name in parts)
