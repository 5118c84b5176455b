"""The git commands that only read, with the options that keep them read-only.

Deliberately left out: options that start programs (--ext-diff, --textconv, -O, -c, --exec-path, --upload-pack,
signatures), write (--output), read outside the repository (--no-index, -f FILE) or enter submodules.
"""

import re

from prunecli.model.shell import Doubt
from prunecli.safety.permissions.command_options import Given
from prunecli.safety.permissions.harmless_commands import Form, Words

_DIFF = (
    "stat? shortstat numstat summary name-only name-status patch no-patch raw color? no-color word-diff? "
    "word-diff-regex= unified? minimal patience histogram diff-algorithm= diff-filter= find-renames? find-copies? "
    "no-renames ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines function-context "
    "exit-code quiet check relative? no-ext-diff no-textconv text full-index abbrev? no-prefix dirstat? "
    "compact-summary ignore-submodules? pickaxe-regex pickaxe-all "
)
_LOG = _DIFF + (
    "oneline graph all branches? tags? remotes? decorate? no-decorate since= after= until= before= author= "
    "committer= grep= max-count= skip= reverse format= pretty? no-merges merges first-parent date= abbrev-commit "
    "no-abbrev-commit topo-order date-order author-date-order ancestry-path left-right left-only right-only "
    "cherry-pick cherry-mark boundary full-history follow source no-walk parents children walk-reflogs cherry "
    "regexp-ignore-case extended-regexp fixed-strings perl-regexp all-match invert-grep no-notes simplify-merges "
)
_EVERYWHERE = frozenset({""})
_HISTORY = Form("psuwbzmciEFPgaW", "nSG", optional="MCBU", long=_LOG, number=True, sweeps=_EVERYWHERE)
_LISTED = (
    "sort= format= contains? no-contains? merged? no-merged? points-at? column? no-column color? no-color "
    "ignore-case"
)

GIT_FORMS: dict[str, Form] = {
    "status": Form(
        "sbvz",
        optional="uM",
        long="short branch porcelain? long verbose untracked-files? ignored? ignore-submodules? renames no-renames "
        "find-renames? show-stash ahead-behind no-ahead-behind column? no-column null",
    ),
    "diff": Form(
        "psuwbzRaWq",
        "SG",
        optional="MCBU",
        long=_DIFF + "cached staged merge-base",
        number=True,
        sweeps=_EVERYWHERE,
    ),
    "log": _HISTORY,
    "show": _HISTORY,
    "shortlog": Form("sne", long="summary numbered email no-merges all since= until= author= group="),
    "rev-list": Form(
        "",
        "n",
        long="count all max-count= since= until= left-right no-merges merges first-parent reverse "
        "oneline author= branches? tags? remotes?",
        number=True,
    ),
    "reflog": Form("", "n", long="all date= max-count= oneline", number=True),
    "branch": Form("arv", long=f"all remotes verbose list show-current {_LISTED}"),
    "tag": Form("li", optional="n", long=f"list {_LISTED}"),
    "remote": Form("v", long="verbose", most=2),
    "stash": Form(least=1, most=1),
    "worktree": Form("v", long="porcelain verbose", least=1, most=1),
    "rev-parse": Form(
        "q",
        long="show-toplevel abbrev-ref? short? git-dir git-common-dir absolute-git-dir is-inside-work-tree verify "
        "is-inside-git-dir is-bare-repository is-shallow-repository quiet symbolic-full-name show-prefix show-cdup "
        "all branches? tags? remotes?",
    ),
    "ls-files": Form(
        "smcodzktuv",
        long="stage modified cached others deleted ignored exclude-standard full-name unmerged eol directory "
        "error-unmatch exclude= abbrev?",
    ),
    "ls-tree": Form("rtdlz", long="name-only name-status full-tree full-name long abbrev?"),
    "blame": Form(
        "wslefntcbp",
        "L",
        optional="MC",
        long="date= porcelain line-porcelain show-email show-name show-number abbrev? first-parent root ignore-rev=",
        sweeps=_EVERYWHERE,
    ),
    "cat-file": Form("ptse", least=1, most=2, sweeps=_EVERYWHERE),
    "merge-base": Form("a", long="all is-ancestor fork-point octopus independent"),
    "describe": Form(
        long="tags always all long dirty? exact-match abbrev? match= exclude= candidates= first-parent"
    ),
    "grep": Form(
        "niIlLcwEFGPhHaovqpW",
        "eABCm",
        long="line-number ignore-case files-with-matches files-without-match name-only count word-regexp "
        "extended-regexp fixed-strings basic-regexp perl-regexp cached untracked heading break show-function "
        "function-context all-match and or not null color? no-color max-depth= max-count= context= after-context= "
        "before-context= only-matching invert-match",
        operands="text first",
        no_text=frozenset({"-e"}),
        number=True,
        sweeps=_EVERYWHERE,
    ),
    "for-each-ref": Form(long=f"count= {_LISTED}"),
    "show-ref": Form("sdq", long="heads tags branches verify head hash? abbrev? dereference quiet"),
    "name-rev": Form(long="name-only tags all always refs="),
    "check-ignore": Form("vnq", long="verbose non-matching quiet no-index", least=1),
    "count-objects": Form("vH", long="verbose human-readable"),
    "config": Form(
        long="get get-all get-regexp show-origin",
        least=1,
        most=1,
        ordered=True,
    ),
    "version": Form(long="build-options", most=0),
}
READS_WORKTREE = frozenset({"status", "diff", "describe", "ls-files"})
"""Commands that compare files with the index, and therefore enter submodules."""

_SUBCOMMANDS = {"remote": ("get-url",), "stash": ("list",), "worktree": ("list",), "reflog": ("show",)}
_LISTS = frozenset({"--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"})
"""Options that make `git branch` and `git tag` list, regardless of other arguments."""
_USER = re.compile(r"user\.(name|email)", re.IGNORECASE)
_CONFIG_KEY = re.compile(r"(user\.(name|email)|(remote|branch)\.[\w./-]+|core\.\w+|init\.\w+)", re.IGNORECASE)
_STARTS_GPG = re.compile(r"%[-+ ]?G|signature")
_BEFORE_COMMAND = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})


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


def git_doubt(subcommand: str, given: Given) -> str:
    """Return why the operands or formats of a git command are not harmless, or "". Some change data or start gpg."""
    for _, value in given.values:
        if _STARTS_GPG.search(value):
            return "its format starts gpg"
    operands = given.operands
    if subcommand == "branch" and operands and not given.options & _LISTS:
        return "it creates a branch"
    if subcommand == "tag" and operands and not given.options & {"-l", *_LISTS}:
        return "it creates a tag"
    if subcommand in _SUBCOMMANDS and operands and operands[0] not in _SUBCOMMANDS[subcommand]:
        return f"`git {subcommand} {operands[0]}` may do more than read"
    if subcommand == "config" and not all(_CONFIG_KEY.fullmatch(word) for word in operands):
        return "it reads a setting that may contain a secret"
    return ""


def prints_addresses(subcommand: str, given: Given) -> bool:
    """Return whether a git command prints settings that may be addresses with credentials."""
    if subcommand == "config":
        return "--get-regexp" in given.options or not all(map(_USER.fullmatch, given.operands))
    return subcommand == "remote" and bool(given.options or given.operands)
