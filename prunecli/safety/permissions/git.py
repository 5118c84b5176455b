"""Git commands that only read: which they are, what they show, and whether their repository may be asked at all.

A cloned repository may name programs for git to start, and its `.git` may lead to other folders. So its configuration
is held against one short list of keys; any other key, and a `.git` that leads elsewhere, needs approval. The
environment switches off what has a fixed name (`neutral_git_environment`).

Left out are options that start programs (--ext-diff, --textconv, -O, -c, --exec-path, --upload-pack, signatures),
write (--output), read outside the repository (--no-index, -f FILE) or enter submodules.
"""

import os
import re
import stat
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from prunecli.model.shell import Doubt
from prunecli.safety.permissions.harmless_commands import Given, Words, check_counts, forms_in, read_options
from prunecli.safety.permissions.path_patterns import chooses_secrets, is_glob
from prunecli.safety.permissions.places import (
    CREDENTIALS,
    Place,
    Unresolvable,
    lies_in,
    resolve,
    set_of,
    small_text,
)
from prunecli.safety.permissions.scope import CommandScope, Harm, Reading
from prunecli.util.regular import read_regular

_MAX_INDEX = 50_000_000
_MAX_ENTRIES = 100_000

# Environment -------------------------------------------------------------------------------------------------

_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.alternateRefsCommand": "false",
    "diff.autoRefreshIndex": "false",
    "diff.submodule": "short",
    "gc.auto": "0",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_READING = {
    "credential.helper": "",
    "filter.lfs.clean": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "filter.lfs.smudge": "",
}
"""Settings that turn off programs needed only for writing or reaching a server. An empty filter passes content
unchanged."""


def neutral_git_environment(*, hooks: bool = False) -> dict[str, str]:
    """Return environment variables that keep git from starting programs that a repository names under a fixed key.

    Add them to an environment without other GIT_ variables. `hooks` keeps the repository's hooks, for commands that
    the user has approved.
    """
    return {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        **git_settings(hooks=hooks),
    }


def git_settings(*, hooks: bool = False, reading: bool = False) -> dict[str, str]:
    """Return the variables that override settings of a repository. `reading`: the command only reads."""
    overrides = {**_OVERRIDES, **(_READING if reading else {})}
    if not hooks:
        overrides["core.hooksPath"] = "/dev/null"
    variables = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for index, (key, value) in enumerate(overrides.items()):
        variables[f"GIT_CONFIG_KEY_{index}"] = key
        variables[f"GIT_CONFIG_VALUE_{index}"] = value
    return variables


# Commands ----------------------------------------------------------------------------------------------------

_DIFF = (
    "stat? shortstat numstat summary name-only name-status patch no-patch raw color? no-color word-diff? unified? "
    "minimal patience histogram diff-filter= find-renames? find-copies? no-renames ignore-all-space "
    "ignore-space-change ignore-blank-lines function-context exit-code quiet check relative? no-ext-diff no-textconv "
    "text full-index abbrev? dirstat? compact-summary ignore-submodules? pickaxe-regex pickaxe-all "
)
_LOG = _DIFF + (
    "oneline graph all branches? tags? remotes? decorate? no-decorate since= after= until= before= author= "
    "committer= grep= max-count= skip= reverse format= pretty? no-merges merges first-parent date= abbrev-commit "
    "topo-order date-order "
    "ancestry-path left-right cherry-pick full-history follow no-walk parents walk-reflogs cherry "
    "regexp-ignore-case extended-regexp fixed-strings perl-regexp all-match invert-grep "
)
_REFS = (
    "sort= format= contains? no-contains? merged? no-merged? points-at? column? no-column color? no-color "
    "ignore-case list all remotes verbose show-current count= "
)
GIT_FORMS = forms_in(f"""
status: -sbvz -uM? short branch porcelain? long verbose untracked-files? ignored? show-stash null
diff: -psuwbzRaWq# -SG= -MCBU? {_DIFF} cached staged merge-base
log show: -psuwbzmciEFPgaW# -nSG= -MCBU? {_LOG}
shortlog: -sne summary numbered email no-merges all since= until= author= group=
rev-list: -# -n= count all max-count= since= until= left-right no-merges first-parent reverse author=
reflog: -# -n= all date= max-count= oneline
branch: -arv {_REFS}
tag: -li -n? {_REFS}
for-each-ref: {_REFS}
remote: ..2 -v verbose
stash: 1..1
worktree: 1..1 -v porcelain verbose
rev-parse: -q show-toplevel abbrev-ref? short? git-dir git-common-dir absolute-git-dir is-inside-work-tree verify
    quiet is-bare-repository is-shallow-repository symbolic-full-name show-prefix show-cdup all branches? tags?
    remotes?
ls-files: -smcodzktuv stage modified cached others deleted ignored exclude-standard full-name unmerged eol
    directory error-unmatch exclude=
ls-tree: -rtdlz name-only name-status full-tree full-name long abbrev?
blame: -wslefntcbp -L= -MC? date= porcelain line-porcelain show-email show-name show-number root
cat-file: 1..2 -ptse
merge-base: -a all is-ancestor fork-point octopus independent
describe: tags always all long dirty? exact-match abbrev? match= first-parent
grep: PATTERN -niIlLcwEFGPhHaovqpW# -eABCm= line-number ignore-case files-with-matches files-without-match
    name-only count word-regexp extended-regexp fixed-strings basic-regexp perl-regexp cached heading break
    show-function function-context all-match and or not null color? no-color max-depth= max-count= context=
    after-context= before-context= only-matching
check-ignore: 1.. -vnq verbose non-matching quiet no-index
version: ..0
""")
_ENTERS_SUBMODULES = frozenset({"status", "diff", "describe", "ls-files"})
_ONLY = {"remote": ("get-url",), "stash": ("list",), "worktree": ("list",), "reflog": ("show",)}
"""Commands whose first operand must be one of these words."""
_LISTS = frozenset({"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"})
"""Options that make `git branch` and `git tag` list, regardless of other arguments."""
_STARTS_GPG = re.compile(r"%[-+ ]?G|signature")
_BEFORE_COMMAND = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_PATCH = set_of(
    "-p -u --patch -U --unified -W --function-context -c -m --text --word-diff --check -v --verbose"
)
_NO_PATCH = set_of(
    "-s --no-patch --stat --shortstat --numstat --summary --name-only --name-status --raw --dirstat "
    "--compact-summary --quiet"
)
_MORE_REVISIONS = frozenset({"--all", "--branches", "--tags", "--remotes", "-g", "--walk-reflogs"})
_ID = re.compile(r"[0-9a-f]{4}", re.IGNORECASE)
"""What may be the id of a file's content, which git shows whatever paths are named."""
_HEAD = re.compile(r"(?:HEAD|@)(?:[~^]\d*)*")


def split_git(words: Words) -> tuple[str, str, Words]:
    """Return (folder of -C or "", subcommand, remaining words). Raises Doubt at any other leading option."""
    folder, at = "", 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--version" and len(words) == at + 1:
            return folder, "version", ()
        if words[at] == "-C" and not folder and at + 1 < len(words) and words[at + 1]:
            folder = words[at + 1]
            at += 1
        elif words[at] not in _BEFORE_COMMAND:
            raise Doubt(f"`git {words[at]}` may do more than read")
        at += 1
    if at >= len(words) or words[at] not in GIT_FORMS:
        raise Doubt(f"`git {words[at]}` may do more than read" if at < len(words) else "`git` has no command")
    return folder, words[at], words[at + 1 :]


def read_git(words: Words, around: CommandScope, *, by_rule: bool) -> Reading:
    """Return the reads of a git command. Raises Doubt if it does more than read.

    `by_rule`: a user's rule allows the command, so programs that the repository configures do not matter.
    """
    folder, command, rest = split_git(words)
    place = around.readable(folder or ".")
    if len(place.ends) > 1:
        raise Doubt(f"the folder {folder!r} is ambiguous")
    cwd = Path(place.real)
    form = GIT_FORMS[command]
    given = read_options(form, rest)
    check_counts(f"git {command}", form, given)
    _check_kind(command, given)
    top = _work_tree(cwd)
    if top:
        _check_repository(top, by_rule=by_rule)
    if command == "remote" and (given.options or given.operands):
        _check_addresses(top, around)
    if not top and command == "diff" and len(given.operands) > 1:
        raise Doubt("outside a repository, `git diff` compares any files and folders")
    operands = (
        () if command == "config" else given.operands[command == "grep" and "-e" not in given.options :]
    )
    places = [place, *_places(command, operands, cwd, top, around)]
    if not top:
        return Reading(tuple(places))
    shows = _shows_contents(command, given)
    entries = _tracked_in(top, needed=shows) if shows or command in _ENTERS_SUBMODULES else ()
    if command in _ENTERS_SUBMODULES and not by_rule and any(is_module for _, is_module in entries):
        raise Doubt("the repository has submodules, each with its own configuration")
    named = command in ("show", "cat-file") and operands and all(":" in word for word in operands)
    if not shows or (named and given.options.isdisjoint(_MORE_REVISIONS)):
        return Reading(tuple(places))
    specs = tuple(word for word in operands if not _HEAD.fullmatch(word))
    below = [os.path.normpath(cwd / word) for word in specs]
    if command == "status" or not all(
        os.path.lexists(path) and not is_glob(word) and not _ID.search(word)
        for word, path in zip(specs, below, strict=True)
    ):
        below = []
    shown = tuple(
        path
        for name, _ in entries
        if (path := os.path.join(top, name)) and (not below or any(lies_in(path, one) for one in below))
    )
    around.check(shown)
    return Reading(tuple(places), shown)


def _check_kind(command: str, given: Given) -> None:
    """Raise Doubt if an operand or a format makes a command change data or start gpg."""
    if any(_STARTS_GPG.search(value) for _, value in given.values):
        raise Doubt("its format starts gpg")
    if command in ("branch", "tag") and given.operands and not given.options & _LISTS:
        raise Doubt(f"it creates a {command}")
    if command in _ONLY and given.operands and given.operands[0] not in _ONLY[command]:
        raise Doubt(f"`git {command} {given.operands[0]}` may do more than read")


def _places(
    command: str, operands: Words, cwd: Path, top: Path | None, around: CommandScope
) -> Iterator[Place]:
    """Yield the paths that a command names, also in `HEAD:src/x`. Raises Doubt."""
    for operand in operands:
        if operand.startswith(":") or ":/" in operand or "^{/" in operand:
            raise Doubt(f"{operand!r} uses pathspec magic or a search for a commit")
        if is_glob(operand) and chooses_secrets(operand):
            raise Doubt(f"{operand!r} selects files that may contain secrets")
        parts = operand.split(":")
        for path in filter(None, (":".join(parts[at:]) for at in range(len(parts)))):
            yield (found := around.readable(path, cwd))
            leaves = ".." in path.split("/") or not all(lies_in(one, str(top)) for one in found.spellings)
            if command == "diff" and top and leaves:
                raise Doubt(f"{path!r} is outside the repository, so `git diff` compares any files")
            if path != operand and top:
                yield resolve(path, top, around.home)


def _shows_contents(command: str, given: Given) -> bool:
    options = given.options
    if command in ("show", "cat-file") and any(map(_ID.search, given.operands)):
        return True
    if command in ("show", "diff"):
        return bool(options & _PATCH) or not options & _NO_PATCH
    if command == "cat-file":
        return not options & {"-t", "-s", "-e"}
    return command in ("grep", "blame") or (command in ("log", "status") and bool(options & _PATCH))


# Repository --------------------------------------------------------------------------------------------------

_DATA = re.compile(
    r"""(?x)
    core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol
      |safecrlf|longpaths|untrackedcache|quotepath|hookspath|commentchar|preloadindex|protectntfs)
    | extensions\.(?:objectformat|worktreeconfig) | (?:branch|color|advice|gc|gui|husky|gitflow)\..+
    | remote\..+\.(?:url|pushurl|fetch|push|tagopt|prune|gh-resolved) | submodule\.(?:.+\.)?(?:url|active)
    | (?:user\.(?:name|email|signingkey) | init\.defaultbranch | pull\.(?:rebase|ff) | fetch\.prune | rerere\.enabled
      |push\.(?:default|autosetupremote|followtags) | rebase\.(?:autosquash|autostash) | (?:commit|tag)\.gpgsign
      |diff\.(?:algorithm|renames|colormoved) | status\.showuntrackedfiles | merge\.(?:ff|conflictstyle)
      |blame\.ignorerevsfile) | lfs\.(?:.+\.)?(?:repositoryformatversion|access|locksverify|url)
    | filter\.lfs\.(?:clean|smudge|process|required)
    | credential\.(?:.+\.)?(?:helper|username) | http\.(?:.+\.)?(?:sslverify|extraheader|postbuffer)"""
)
"""The keys of a repository's configuration that git never runs, includes or follows in commands that only read.
Hooks, git-lfs and credential helpers do name programs; `git_settings` switches them off."""
_HEADER = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\]*)")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[^\\]*)?")
_NAMES_FILES = re.compile(
    r"""(?xmi)(?:^|\])[ \t]*(worktree|path|file|excludesfile|attributesfile|ignorerevsfile|refstorage)[ \t]*=
    (?![ \t]*"?(?:\.git-blame-ignore-revs|files|reftable)"?[ \t\r]*$)"""
)
"""Settings that name a file or folder to read, unless they have a usual value that stays inside."""
_UNREAD = frozenset({"hooks", "modules", "lfs"})
"""Folders of `.git` that no allowed command reads: hooks are off, and repositories with submodules ask anyway."""


def config_doubt(text: str) -> str:
    """Return the first key of a git configuration that is not known to be plain data, or ""."""
    section = None
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(" \t\r")
        if not content or content[0] in "#;":
            continue
        if header := _HEADER.fullmatch(content):
            section = header[1].lower() + (f".{header[2]}" if header[2] is not None else "")
        elif not (key := _KEY.fullmatch(content)) or section is None:
            return f"line {number} can't be checked"
        elif not _DATA.fullmatch(f"{section}.{key[1].lower()}"):
            return f"{section}.{key[1]} may start programs"
    return ""


def git_leads_elsewhere(words: Words, around: CommandScope) -> str:
    """Return why a reading git command may show files from outside its repository, or ""."""
    try:
        folder, _, _ = split_git(words)
        top = _work_tree(Path(resolve(folder or ".", around.cwd, around.home).real))
        if top:
            _check_inside(top)
    except Doubt as doubt:
        return doubt.reason if isinstance(doubt, Harm) else ""
    except Unresolvable:
        pass  # it is judged by its words
    return ""


def _check_addresses(top: Path | None, around: CommandScope) -> None:
    """Raise Doubt if an address that is printed may hold a password: the user's own configuration may rewrite it."""
    xdg = Path(os.environ.get("XDG_CONFIG_HOME") or around.home / ".config")
    files = [
        Path(name) for name in ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
    ]
    files += [around.home / ".gitconfig", around.home / ".config/git/config", xdg / "git/config"]
    files += (
        [folder / name for folder in _git_folders(top) for name in ("config", "config.worktree")]
        if top
        else []
    )
    for path in dict.fromkeys(files):
        try:
            text = small_text(path) if path.exists() else ""
        except (OSError, ValueError):
            raise Doubt("git's configuration can't be checked for passwords") from None
        if re.search(CREDENTIALS, text) or re.search(r"(?mi)(?:^|\])[ \t]*path[ \t]*=", text):
            raise Harm(f"may print passwords from {around.shown(str(path))}, or a file that it includes")


def _work_tree(start: Path) -> Path | None:
    """Return the work tree that git finds from a real folder. Raises Doubt if git may find another repository."""
    for folder in (start, *start.parents):
        if folder.name.lower() == ".git":
            raise Doubt("it runs inside a .git folder")
        bare = os.path.lexists(folder / "objects") and os.path.lexists(folder / "refs")
        if os.path.lexists(folder / "HEAD") and (bare or os.path.lexists(folder / "commondir")):
            raise Doubt(f"git may take {folder} for a bare repository")
        if os.path.lexists(folder / ".git"):
            return folder
    return None


def _check_repository(top: Path, *, by_rule: bool) -> None:
    """Raise Doubt if a command that only reads may start a program of the repository, or show other folders."""
    _check_inside(top)
    try:
        own, common = _git_folders(top)
        whole = all(os.path.isdir(common / name) for name in ("objects", "refs"))
        if not whole or not re.match(rb"ref: refs/|[0-9a-f]{40}", read_regular(own / "HEAD")):
            raise ValueError
    except (OSError, ValueError):
        raise Doubt(f"git may skip the damaged repository in {top}") from None
    if by_rule:
        return
    for path in (common / "config", own / "config.worktree", common / "config.worktree"):
        try:
            found = config_doubt(small_text(path)) if os.path.lexists(path) else ""
        except (OSError, ValueError) as error:
            found = getattr(error, "strerror", None) or str(error)
        if found:
            raise Doubt(f"{path}: {found}")
    if os.path.lexists(common / "hooks/post-index-change"):
        raise Doubt(f"{common}/hooks has a post-index-change hook")


def _git_folders(top: Path) -> tuple[Path, Path]:
    """Return the folder that `.git` stands for, and the one that its repository shares among work trees."""
    git = top / ".git"
    if git.is_dir():
        return git, git
    own = Path(_named(git, "gitdir: "))
    return own, own.parent.parent


def _check_inside(top: Path) -> None:
    """Raise Harm if something in the repository leads out of it: an archive can bring a `.git` with links, or with
    files that name other folders. Linked worktrees are fine: their repository points back to them."""
    try:
        found = leads_elsewhere(top / ".git")
    except (OSError, ValueError) as error:
        found = f"{top / '.git'}: {getattr(error, 'strerror', None) or error}"
    if found:
        raise Harm(f"may show files from outside the repository: {found}")


def leads_elsewhere(git: Path) -> str:
    if os.path.islink(git):
        return f"{git} is a link"
    common = os.path.realpath(git)
    if not os.path.isdir(git):
        own = _named(git, "gitdir: ")
        common = os.path.dirname(os.path.dirname(own))
        worktree = os.path.basename(os.path.dirname(own)) == "worktrees"
        if not worktree or _named(Path(own, "gitdir")) != os.path.realpath(git):
            return f"{git} names a repository elsewhere"
    if os.path.islink(git.parent / ".git-blame-ignore-revs"):
        return f"{git.parent / '.git-blame-ignore-revs'} is a link"
    for count, entry in enumerate(_entries(common)):
        if entry.is_symlink():
            return f"{entry.path} is a link"
        if entry.name == "commondir" and _named(Path(entry.path)) != common:
            return f"{entry.path} names a folder elsewhere"
        if entry.name in ("alternates", "http-alternates") and entry.stat().st_size:
            return f"{entry.path} names a folder elsewhere"
        named = entry.name in ("config", "config.worktree") and _NAMES_FILES.search(
            small_text(Path(entry.path))
        )
        if named:
            return f"{named[1]} in {entry.path} names a file or folder"
        if count >= _MAX_ENTRIES:
            return f"{common} has too many files to check for links"
    return ""


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a git folder that allowed commands may read."""
    pending = [folder]
    while pending:
        above = pending.pop()
        with os.scandir(above) as entries:
            for entry in entries:
                if above == folder and entry.name in _UNREAD and not entry.is_symlink():
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _named(path: Path, prefix: str = "") -> str:
    """Return the real path that a file of git names in its only line, seen from its folder."""
    return os.path.realpath(path.parent / small_text(path).rstrip("\r\n").removeprefix(prefix))


# Index -------------------------------------------------------------------------------------------------------

_ENTRY = struct.Struct(">10I20sH")


def _tracked_in(top: Path, *, needed: bool) -> tuple[tuple[str, bool], ...]:
    """Return the names of the tracked files, and whether each is a submodule. Raises Doubt for an index that does not
    list them all plainly: split, sparse, of version 4 or with ids of SHA-256."""
    try:
        index = _git_folders(top)[0] / "index"
        if not needed and not os.path.lexists(index):
            return ()
        status = os.stat(index)
        if status.st_size > _MAX_INDEX:
            raise ValueError
        return _read_index(str(index), status.st_ino, status.st_size, status.st_mtime_ns)
    except (OSError, struct.error, ValueError):
        raise Doubt("the list of tracked files can't be checked for secrets") from None


@lru_cache(maxsize=4)
def _read_index(path: str, _inode: int, _size: int, _time: int) -> tuple[tuple[str, bool], ...]:
    data = read_regular(path)
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError
    at, found = 12, list[tuple[str, bool]]()
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        begin = at + _ENTRY.size + 2 * bool(fields[11] & 0x4000)
        end = data.index(b"\0", begin)
        if fields[11] & 0xFFF != min(end - begin, 0xFFF) or stat.S_ISDIR(fields[6]):
            raise ValueError
        found.append((os.fsdecode(data[begin:end]), fields[6] >> 12 == 0o16))
        at += ((end - at) // 8 + 1) * 8
    while at < len(data) - 20:  # an id ends the file
        if data[at : at + 4] == b"link":
            raise ValueError  # another file has most entries
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return tuple(found)
