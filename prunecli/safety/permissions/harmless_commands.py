"""The table of commands that only read, with the options and operands that keep them read-only.

An option that is not listed is not harmless, and neither is an abbreviated long option. `flags` and `values` are
letters without and with a value, `optional` letters whose value can only be attached (`-M90%`). Long options end in
`=` when they need a value and in `?` when one may be attached.
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import Literal

from prunecli.model.shell import Glob
from prunecli.model.words import KNOWN
from prunecli.safety.permissions.harmless_scripts import awk_doubt, jq_doubt, sed_doubt
from prunecli.util.frozen import frozen

Words = tuple[str, ...]
MANY = 10_000
"""Any number of operands."""


@frozen
class Form:
    """The allowed forms of a command. `operands`: all are paths, the first is a pattern or script, or none is a path.

    `least` and `most` limit the operands; `number` allows `-20`; one of `needs` must be given. `reads_cwd`: without a
    path, the command reads its working folder. With an option of `sweeps`, it shows contents of files below its
    operands ("" = always); with one of `no_contents`, it shows only names. With one of `no_text`, no operand is a
    pattern or script. `names_only`: it shows names, sizes and dates, never contents. `follows`: in folders it shows
    the files with this ending, even through links. `all_text`: it has no options. `apart`: an option with a value is
    a word of its own. `ordered`: a word after the first operand is never an option. `doubt` returns the reason why
    the operands are not harmless, or "", and `scripts` why each pattern or script is not: the first operand, or the
    values of `no_text`.
    """

    flags: str = ""
    values: str = ""
    optional: str = ""
    long: str = ""
    operands: Literal["paths", "text first", "texts"] = "paths"
    least: int = 0
    most: int = MANY
    number: bool = False
    needs: frozenset[str] = frozenset()
    reads_cwd: bool = False
    sweeps: frozenset[str] = frozenset()
    no_contents: frozenset[str] = frozenset()
    no_text: frozenset[str] = frozenset()
    names_only: bool = False
    no_folders: bool = False
    follows: str = ""
    all_text: bool = False
    apart: bool = False
    ordered: bool = False
    doubt: Callable[[Words], str] = field(default=lambda _: "")
    scripts: Callable[[str], str] = field(default=lambda _: "")


def _only(pattern: str, what: str) -> Callable[[Words], str]:
    """Return a check that every operand matches the pattern."""
    return lambda operands: next(
        (f"{what} {word!r}" for word in operands if not re.fullmatch(pattern, word)), ""
    )


def _first(pattern: str, what: str) -> Callable[[Words], str]:
    """Return a check that the first operand matches the pattern."""
    return lambda operands: (
        "" if operands and re.fullmatch(pattern, operands[0]) and not isinstance(operands[0], Glob) else what
    )


def _awk(operands: Words) -> str:
    if any("=" in word for word in operands[1:]):
        return "it assigns a variable"
    return awk_doubt(operands[0])


def _no_response(text: str) -> str:
    """Reject `@FILE`: in any word or value, binutils replace it with options from that file."""
    return f"{text!r} stands for options in a file" if text.startswith("@") else ""


def _socket(text: str) -> str:
    """Reject hosts, whose names lsof would look up."""
    return (
        ""
        if re.fullmatch(r"[46]?(?:tcp|udp)?(?::[\d,-]+)?|[\d,]+", text, re.IGNORECASE)
        else f"it looks up {text!r}"
    )


_NO_RESPONSES = _only(r"[^@].*", "it reads options from")
_SUM = Form("bt", long="binary text", least=1)
_NAMES_ONLY = _only(r"[\w.+-]+", "it uses the name")

_GREP_LONG = (
    "ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match "
    "max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab "
    "null after-context= before-context= context= text binary-files= exclude= exclude-dir= include= recursive "
    "dereference-recursive extended-regexp fixed-strings basic-regexp perl-regexp regexp= line-buffered null-data"
)
_RG_LONG = (
    "ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches color= colors= "
    "files-with-matches files-without-match files max-count= only-matching quiet no-messages byte-offset "
    "with-filename no-filename line-number no-line-number column heading no-heading vimgrep json stats trim "
    "after-context= before-context= context= text glob= iglob= type= type-not= type-list max-depth= max-columns= "
    "fixed-strings pcre2 regexp= multiline multiline-dotall replace= sort= sortr= hidden no-ignore no-ignore-vcs "
    "unrestricted null passthru no-config"
)

FORMS: dict[str, Form] = {
    "ls": Form(
        "aAlh1RtSrdFispnogcuxCmkBbQNXvUfGHT",
        long="all almost-all human-readable recursive reverse size inode directory full-time file-type classify? "
        "sort= time= time-style= color? group-directories-first no-group numeric-uid-gid si escape quote-name",
        reads_cwd=True,
        names_only=True,
    ),
    "<": Form(least=1, most=1),
    "cat": Form("nbsAetvET", long="number number-nonblank squeeze-blank show-all show-ends show-tabs"),
    "tac": Form(),
    "nl": Form("p", "bnwsvif", long="body-numbering= number-width="),
    "rev": Form(),
    "fold": Form("sb", "w", long="spaces bytes width="),
    "column": Form("t", "s", long="table separator="),
    "head": Form("qvz", "nc", long="lines= bytes= quiet silent verbose", number=True),
    "tail": Form("qvzr", "nc", long="lines= bytes= quiet silent verbose", number=True),
    "wc": Form("lwcmL", long="lines words bytes chars max-line-length"),
    "grep": Form(
        "ivnlLcowxrREFPGHhsqaIzbT",
        "mABCe",
        long=_GREP_LONG,
        operands="text first",
        number=True,
        sweeps=frozenset({"-r", "--recursive", "-R", "--dereference-recursive"}),
        no_text=frozenset({"-e", "--regexp"}),
    ),
    **dict.fromkeys(("egrep", "fgrep"), Form("ivnlLcowxHhsqaI", "mABC", operands="text first")),
    "rg": Form(
        "isSvwxnNlcoFHIUPqua.0",
        "egtTABCmMrdj",
        long=_RG_LONG,
        operands="text first",
        reads_cwd=True,
        sweeps=frozenset({""}),
        no_contents=frozenset({"--files", "--type-list"}),
        no_text=frozenset({"-e", "--regexp", "--files", "--type-list"}),
    ),
    "sed": Form(
        "nErs",
        "e",
        long="quiet silent regexp-extended expression=",
        operands="text first",
        no_text=frozenset({"-e", "--expression"}),
        scripts=sed_doubt,
    ),
    "awk": Form("", "F", operands="text first", least=1, doubt=_awk),
    "jq": Form(
        "rcSeMCna",
        long="raw-output compact-output sort-keys exit-status null-input monochrome-output color-output tab indent=",
        operands="text first",
        least=1,
        scripts=jq_doubt,
    ),
    "sort": Form(
        "nrufbhVgMdisc",
        "kt",
        long="numeric-sort reverse unique ignore-case human-numeric-sort version-sort general-numeric-sort stable "
        "dictionary-order ignore-leading-blanks key= field-separator= check",
    ),
    "uniq": Form(
        "cduiz",
        "fsw",
        long="count repeated unique ignore-case skip-fields= skip-chars=",
        most=1,
        ordered=True,
    ),
    "cut": Form("sz", "dfcb", long="delimiter= fields= characters= bytes= complement only-delimited"),
    "tr": Form("dscCt", long="delete squeeze-repeats complement", operands="texts", least=1, most=2),
    "paste": Form("sz", "d", long="serial delimiters="),
    "comm": Form("123iz", long="check-order nocheck-order", least=2, most=2),
    "cmp": Form("slb", long="silent quiet verbose print-bytes", least=2, most=2, no_folders=True),
    "diff": Form(
        "uqwbBiyNaspcetE",
        "UCW",
        long="unified? brief ignore-all-space ignore-space-change ignore-blank-lines ignore-case side-by-side text "
        "color? context? report-identical-files new-file suppress-common-lines width= show-c-function",
        least=2,
        most=2,
        no_folders=True,
    ),
    "stat": Form("tfx", "c", long="format= printf= terse file-system", least=1, names_only=True),
    "file": Form("bihN", long="brief mime mime-type mime-encoding", least=1),
    "du": Form(
        "shackmbx",
        "d",
        long="summarize human-readable all total bytes max-depth= apparent-size one-file-system",
        reads_cwd=True,
        names_only=True,
    ),
    "df": Form("hTikmaP", long="human-readable print-type inodes all portability"),
    "tree": Form(
        "adfpshugDFCnJirvtUQ",
        "LIP",
        long="dirsfirst gitignore noreport prune du filelimit=",
        reads_cwd=True,
        names_only=True,
        apart=True,
    ),
    "basename": Form("az", "s", long="multiple suffix=", operands="texts", least=1),
    "dirname": Form("z", operands="texts", least=1),
    "realpath": Form(
        "ems", long="canonicalize-existing canonicalize-missing no-symlinks relative-to=", names_only=True
    ),
    "readlink": Form(
        "femn",
        long="canonicalize canonicalize-existing canonicalize-missing no-newline",
        least=1,
        names_only=True,
    ),
    "od": Form(
        "cxbdov", "tNjA", optional="w", long="format= read-bytes= skip-bytes= address-radix=", least=1
    ),
    "hexdump": Form("Cvx", "ns", least=1),
    "strings": Form(
        "a",
        "nt",
        long="bytes= radix=",
        least=1,
        doubt=_NO_RESPONSES,
        no_text=frozenset({"-n", "-t", "--bytes", "--radix"}),
        scripts=_no_response,
    ),
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum"), _SUM),
    "echo": Form(operands="texts", all_text=True),
    "printf": Form(
        operands="texts",
        least=1,
        doubt=_first(r"(?s:[^%]|%%|%-?\d{0,3}s)*", "its format does more than print"),
    ),
    "seq": Form("w", "s", operands="texts", least=1, most=3, doubt=_only(r"\d{1,6}", "it uses the number")),
    "sleep": Form(
        operands="texts", least=1, most=1, doubt=_only(r"\d{0,2}(\.\d+)?", "it waits a long time:")
    ),
    "pwd": Form("LP", most=0),
    **dict.fromkeys((":", "true"), Form(most=0)),
    "false": Form(most=0),
    "date": Form(
        "uR",
        "d",
        optional="I",
        long="utc universal rfc-email iso-8601? rfc-3339= date=",
        operands="texts",
        doubt=_only(r"\+[^\0]*", "it sets the time to"),
    ),
    "whoami": Form(most=0),
    "id": Form("ugnGr", long="user group name groups", operands="texts", doubt=_NAMES_ONLY),
    "groups": Form(most=0),
    "hostname": Form(most=0),
    "uname": Form("asrvmnpio", long="all kernel-name kernel-release machine operating-system", most=0),
    "arch": Form(most=0),
    "nproc": Form(long="all", most=0),
    "uptime": Form("ps", most=0),
    "free": Form("hmgkbtw", long="human mega giga total wide", most=0),
    "ps": Form("efA", operands="texts", most=1, doubt=_only("aux|ax|ux", "it uses the selection")),
    "which": Form("a", long="all", operands="texts", least=1, doubt=_NAMES_ONLY),
    "command": Form("vV", operands="texts", least=1, needs=frozenset({"-v", "-V"}), doubt=_NAMES_ONLY),
    "type": Form("atpP", operands="texts", least=1, doubt=_NAMES_ONLY),
    "printenv": Form(
        operands="texts", least=1, doubt=_only("|".join(sorted(KNOWN)), "it prints the variable")
    ),
    "expr": Form(operands="texts", least=1, all_text=True),
    "base64": Form("di", "w", long="decode ignore-garbage wrap=", most=1),
    "xxd": Form("bpiuE", "lcsg", most=1, apart=True, ordered=True),
    "nm": Form(
        "aACDgnrSu",
        long="demangle dynamic extern-only defined-only undefined-only size-sort",
        least=1,
        doubt=_NO_RESPONSES,
    ),
    "objdump": Form(
        "dDhtTrRsxfpC",
        "jM",
        long="disassemble section-headers syms demangle file-headers",
        least=1,
        doubt=_NO_RESPONSES,
        no_text=frozenset({"-j", "-M"}),
        scripts=_no_response,
    ),
    "readelf": Form(
        "ahlSsrdVnW", long="all file-header segments sections symbols wide", least=1, doubt=_NO_RESPONSES
    ),
    "size": Form("AB", least=1, doubt=_NO_RESPONSES),
    "gofmt": Form("lds", follows=".go"),
    "pkg-config": Form(
        long="libs cflags modversion exists list-all version static", operands="texts", doubt=_NAMES_ONLY
    ),
    "lsof": Form(
        "nP", "ip", most=0, needs=frozenset({"-n"}), no_text=frozenset({"-i", "-p"}), scripts=_socket
    ),
    "ss": Form("ltunapHs46oem", most=0),
    "netstat": Form("ltunapr", most=0, needs=frozenset({"-n"})),
    "top": Form("b", "n", most=0, needs=frozenset({"-b"})),
    "pgrep": Form("flax", operands="texts", least=1, most=1),
    **dict.fromkeys(("lscpu", "lsblk", "locale", "tty", "who"), Form(most=0)),
}
"""The allowed forms of each command. `git` and `find` have their own modules."""

QUERIES = r"""(?ax)
    (?:python3?|ruby|perl|php|node|deno|bun|tsc|rustc|uv|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|make|cmake|ninja|bash|gdb|ld
      |tar|curl|wget|jq|rg|fd|docker|gh|sqlite3|psql|ruff|pip3?|java|javac|sed|awk|grep|find)[ ]--version
    |(?:node|tsc|ruby|php|perl)[ ]-v | (?:python3?|pip3?|rustc|uv|curl)[ ]-V | javac?[ ]-version
    |pip3?[ ](?:check|list(?:[ ]--(?:user|local|format=\w+|not-required))*|show(?:[ ](?!-)[\w.-]+)+)"""
"""Whole commands that print versions, paths or installed packages, regardless of the workspace's files."""
INSIDE_QUERIES = r"""(?ax)
    (?:(?:npm|pnpm|yarn)[ ](?:ls|list|why|explain|root|prefix|bin) | npm[ ](?:pkg|config)[ ]get
      | cargo[ ](?:tree|metadata) | go[ ](?:version|list|doc|env|mod[ ](?:graph|why)) | rustup[ ]show
      | (?:pip3?|uv[ ]pip|python3?[ ]-m[ ]pip)[ ](?:list|show|freeze|check) | (?:poetry|composer)[ ]show
      | (?:gem|bundle|conda)[ ]list | uv[ ]tree | dotnet[ ]--list-sdks)
      (?:[ ](?:--?(?:depth|all|json|long|prod|global|g|a|m|p|i|e|f|u|invert|package|edges|duplicates|no-deps|workspace
        |format-version|format|test|deps|find|short)(?:=[\w.,@/-]*)?|(?!-)[\w.@/:{}-]+))*
    | (?:npm|yarn|pnpm|cargo|mvn|gradle|bundle|gem|rustup|dotnet|poetry)[ ]--version | (?:npm|mvn)[ ]-v
    | cargo[ ]-V"""
"""Whole commands that print what a project consists of. They may run programs that the project's configuration names,
so they are harmless only in a sandbox, where the workspace is read-only for them."""

SHOWS_PROCESSES = frozenset({"ps", "top", "pgrep"})
"""Programs that show the arguments of all programs, as /proc does; in a sandbox there are only its own."""
CHANGING = frozenset(
    {
        *("chgrp", "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mkfifo", "mv", "patch", "rm"),
        *("rmdir", "rsync", "shred", "tar", "tee", "touch", "truncate", "unlink", "unzip", "zip"),
    }
)
"""Programs known to change files, for the reason of a question."""
