"""The commands that only read, with the options and operands that keep them read-only.

An option that is not listed is not harmless, and neither is an abbreviated long option. Accepted are only words that
GNU, BSD and git read the same way.
"""

import re
from functools import lru_cache
from typing import Literal

from prunecli.model.shell import Doubt, Glob
from prunecli.model.words import KNOWN
from prunecli.safety.permissions.places import set_of
from prunecli.util.frozen import frozen

Words = tuple[str, ...]
_MANY = 10_000
_VALUE = re.compile(r"(?!-)|-\d+$")


@frozen
class Form:
    """The allowed forms of a command.

    `flags` and `values` are letters without and with a value, `attached` letters whose value can only be attached
    (`-M90%`). Long options end in `=` when they need a value and in `?` when one may be attached. Operands: all are
    paths, the first is a pattern or script, or none is a path; there are at least `least` and at most `most`.
    `names_only`: it shows names, sizes and dates, never contents.
    """

    flags: str = ""
    values: str = ""
    attached: str = ""
    long: str = ""
    operands: Literal["paths", "text first", "texts"] = "paths"
    least: int = 0
    most: int = _MANY
    names_only: bool = False


@frozen
class Given:
    """The options and operands of a command. `suspects` are options and values after the first operand, which some
    programs treat as paths."""

    options: frozenset[str]
    values: tuple[tuple[str, str], ...]
    operands: Words
    suspects: Words


def forms_in(table: str) -> dict[str, Form]:
    """Read a table with a command a line: `-ab` are its flags (`#` any digit), `-n=` letters with a value, `-U?` with
    one that may be attached, `2..2` is its number of operands, which are NAMES, TEXTS or first a PATTERN."""
    forms = dict[str, Form]()
    for row in re.sub(r"\n +", " ", table.strip()).split("\n"):
        names, _, rest = row.partition(":")
        short, long, given = {"": "", "=": "", "?": ""}, list[str](), rest.split()
        counts = next((word.split("..") for word in given if ".." in word), ["", ""])
        for word in given:
            if word.startswith("-"):
                kind = word[-1] if word[-1] in "=?" else ""
                short[kind] += word[1:].removesuffix(kind).replace("#", "0123456789")
            elif word[0].islower():
                long.append(word)
        form = Form(
            short[""],
            short["="],
            short["?"],
            " ".join(long),
            "texts" if "TEXTS" in given else "text first" if "PATTERN" in given else "paths",
            int(counts[0] or 0),
            int(counts[1] or _MANY),
            "NAMES" in given,
        )
        forms |= dict.fromkeys(names.split(), form)
    return forms


# Scripts -----------------------------------------------------------------------------------------------------

_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\[\]\n]|\\[^\n])*+/I?)"
_RANGE = rf"\s*+(?:{_ADDRESS})?+(?:\s*+,\s*+(?:{_ADDRESS}|[+~]\d+))?+\s*+!?\s*+"
_BRACKET = r"\[\^?(?:[^\]\[\\/|#,@:%!_\n^]|\[:\w+:\])(?:[^\]\[\\/|#,@:%!_\n]|\[:\w+:\])*+\]"
"""A bracket without a possible delimiter, about which GNU and BSD disagree."""
_END = r"\s*+(?:;|(?=\})|$)"
_SED = (
    rf"{_RANGE}[pPdDqQ=nNgGhHx]{_END}|{_RANGE}\{{|\s*+\}}\s*+;?"
    rf"|{_RANGE}s(?P<end>[/|#,@:%!_])(?:\\[^\n]|{_BRACKET}|(?!(?P=end))[^\\\[\n])*+(?P=end)"
    rf"(?:\\[^\n]|(?!(?P=end))[^\\\n])*+(?P=end)[gpiI\d]*+{_END}"
)
_SED_EDITS = rf"|{_RANGE}[aic][ \\].*+$|{_RANGE}(?::|[btT])\s*+\w*+{_END}"


def sed_doubt(script: str, *, edits: bool = False) -> str:
    """Return why a sed script is not harmless, or "": one may run programs or write files (GHSA-7mv8-j34q-vp7q).

    `edits`: it may change its file, so it may insert text too.
    """
    command, at = re.compile(f"(?a:{_SED}{_SED_EDITS if edits else ''})"), 0
    while at < len(script):
        found = command.match(script, at)
        if not found:
            return f"its script does more than {'edit' if edits else 'print'} lines"
        at = found.end()
    return "" if script.strip() else "its script is empty"


_AWK = r"""(?ax)(?: [{}(),;:$=!+%*-] | [ \d] | >= | <= | && | "(?:[\w ,:|/.%-]|\\[nt])*" | /\^?[\w .:-]+/
    | (?:NR|NF|FNR|FILENAME|FS|OFS|BEGIN|END|printf?|length)\b )+"""
_JQ = r"(?a)\.[\w.\[\]]*(?: ?[|,] ?(?:\.[\w.\[\]]*|(?:length|keys|to_entries)(?:\[\])?))*"
_PRINTF = r"(?s)(?:[^%]|%%|%-?\d{0,3}s)*"

# Table -------------------------------------------------------------------------------------------------------

FORMS = forms_in("""
ls: NAMES -aAlh1RtSrdFispnogcuxCmkBbQNXvUfGHT all almost-all human-readable recursive reverse size inode directory
    full-time file-type classify? sort= time= time-style= color? group-directories-first
<: 1..1
cat: -nbsAetvET number number-nonblank squeeze-blank show-all show-ends show-tabs
tac rev:
nl: -p -bnwsvif= body-numbering= number-width=
column: -t -s= table separator=
head: -qvz# -nc= lines= bytes= quiet verbose
tail: -qvzr# -nc= lines= bytes= quiet verbose
wc: -lwcmL lines words bytes chars max-line-length
grep: PATTERN -ivnlLcowxrREFPGHhsqaIzbT# -mABCe= ignore-case invert-match word-regexp line-regexp count color?
    colour? files-with-matches files-without-match max-count= only-matching quiet silent no-messages with-filename
    no-filename line-number null after-context= before-context= context= text binary-files= exclude= exclude-dir=
    include= recursive extended-regexp fixed-strings basic-regexp perl-regexp regexp= line-buffered null-data
egrep fgrep: PATTERN -ivnlLcowxHhsqaI# -mABC=
rg: PATTERN -isSvwxnNlcoFHIUPqua.0 -egtTABCmMrdj= ignore-case smart-case case-sensitive invert-match word-regexp
    line-regexp count color= colors= files-with-matches files-without-match files max-count= only-matching quiet
    no-messages with-filename no-filename line-number no-line-number column heading no-heading vimgrep json stats
    trim after-context= before-context= context= text glob= iglob= type= type-not= max-depth= max-columns=
    fixed-strings pcre2 regexp= multiline multiline-dotall replace= sort= sortr= hidden no-ignore no-ignore-vcs
    unrestricted null passthru no-config
sed: PATTERN -nErs -e= quiet silent regexp-extended expression=
awk: 1.. PATTERN -F=
jq: 1.. PATTERN -rcSeM raw-output compact-output sort-keys
sort: -nrufbhVgMdisc -kt= numeric-sort reverse unique key= field-separator= check
uniq: ..1 -cduiz -fsw= count repeated unique ignore-case
cut: -sz -dfcb= delimiter= fields= characters= bytes= complement only-delimited
tr: 1..2 TEXTS -dscCt delete squeeze-repeats complement
paste: -sz -d= serial delimiters=
comm: 2..2 -123
cmp: 2..2 -slb silent quiet verbose
diff: 2..2 -uqwbBiyNaspcetE# -UCW= unified? brief ignore-all-space ignore-space-change ignore-blank-lines
    ignore-case side-by-side text color? context? new-file suppress-common-lines width= show-c-function
stat: 1.. NAMES -tfx -c= format= printf= terse file-system
file: 1.. -bihN brief mime mime-type mime-encoding
du: NAMES -shackmbx -d= summarize human-readable all total bytes max-depth= apparent-size one-file-system
df: -hTikmaP human-readable print-type inodes all portability
tree: NAMES -adfpshugDFCnJirvtUQLI dirsfirst gitignore noreport
basename: 1.. TEXTS -az -s= multiple suffix=
dirname: 1.. TEXTS -z
realpath: NAMES -ems relative-to=
readlink: 1.. NAMES -femn canonicalize
md5sum sha1sum sha256sum sha512sum cksum: 1.. -bt binary text
echo: TEXTS
printf: 1.. TEXTS
printenv: 1..1 TEXTS
test: 1..1 NAMES -fdersxLhw
base64: ..1 -di -w= decode wrap=
xxd: ..1 -bpiu
""")
"""The allowed forms of each command. `git` and `find` have their own."""
TEXTS = {"awk": _AWK, "jq": _JQ, "printf": _PRINTF, "printenv": "|".join(sorted(KNOWN))}
"""What the first operand of a command must match."""

QUERIES = r"""(?ax)
    (?:python3?|ruby|perl|php|node|deno|bun|tsc|rustc|uv|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|make|cmake|ninja|bash|gdb
      |tar|curl|wget|jq|rg|fd|docker|gh|sqlite3|psql|ruff|pip3?|java|javac|sed|awk|grep|find)[ ]--version
    |(?:node|tsc|ruby|php|perl)[ ]-v | (?:python3?|pip3?|rustc|uv|curl)[ ]-V | javac?[ ]-version
    |pip3?[ ](?:check|list|show(?:[ ](?!-)[\w.-]+)+)
    |(?:which(?:[ ]-a)?|type(?:[ ]-a)?|command[ ]-[vV])(?:[ ](?!-)[\w.+-]+)+
    |pwd | : | true | false | whoami | hostname | nproc | arch | groups | id(?:[ ]-[ugn]+)?
    |uname(?:[ ]-[asrvmnpio]+)? | date(?:[ ]-u)?(?:[ ]\+[\w%:./-]+)? | sleep[ ]\d{0,2}(?:\.\d+)?
    |seq(?:[ ]\d{1,6}){1,3} | uptime | free(?:[ ]-[hmgk])?"""
"""Whole commands that print versions, paths or facts about the machine, regardless of the workspace's files."""

CHANGING = set_of(
    "chgrp chmod chown cp dd install ln mkdir mkfifo mv patch rm rmdir rsync shred tar tee touch truncate "
    "unlink unzip zip"
)
"""Programs known to change files, for the reason of a question."""


# Reading options ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _long_options(listed: str) -> dict[str, str]:
    """Map each option name to "" (no value), "=" (a value) or "?" (a value that can only be attached)."""
    kinds = ((item, item[-1] if item[-1] in "=?" else "") for item in listed.split())
    return {"--" + item.removesuffix(kind): kind for item, kind in kinds}


def read_options(form: Form, words: Words, *, only_operands: bool = False) -> Given:
    """Read the words after a command's name. Raises Doubt at the first unknown option.

    A `Glob` is one of its matches. Which one comes first depends on the locale, so none may be a pattern, a script or
    a value.
    """
    options, values, operands, suspects = set[str](), list[tuple[str, str]](), list[str](), list[str]()
    at = 0
    while at < len(words):
        start, word = at, words[at]
        at += 1
        if only_operands or word == "-" or not word.startswith("-"):
            operands.append(word)
            continue
        if word == "--":
            only_operands = True
            continue
        names, value, takes_next = _read_option(form, word)
        options.update(names)
        if takes_next:
            value = words[at] if at < len(words) else "--"
            if not _VALUE.match(value) or isinstance(value, Glob):
                raise Doubt(f"the option {word} needs a value")
            at += 1
        if value is not None:
            values.append((names[-1], value))
        if operands:
            suspects.extend(words[start:at])
    given = Given(frozenset(options), tuple(values), tuple(operands), tuple(suspects))
    if form.operands == "text first" and pattern_first(given) and isinstance((*operands, "")[0], Glob):
        raise Doubt(f"the wildcard stands for a pattern or script, such as {operands[0]!r}")
    return given


def pattern_first(given: Given) -> bool:
    """Return whether the first operand of a "text first" command is its pattern or script."""
    return given.options.isdisjoint({"-e", "--regexp", "--expression", "--files"})


def _read_option(form: Form, word: str) -> tuple[list[str], str | None, bool]:
    """Return the names of the options in a word, the value attached to the last, and whether the next word is it."""
    unknown = Doubt(f"the option {word} may do more than read")
    if word.startswith("--"):
        name, attached, value = word.partition("=")
        kind = _long_options(form.long).get(name)
        if kind is None or (attached and not kind):
            raise unknown
        return [name], value if attached else None, kind == "=" and not attached
    names = list[str]()
    for index, letter in enumerate(word[1:], 2):
        names.append("-" + letter)
        if letter in form.values:
            return names, word[index:] or None, not word[index:]
        if letter in form.attached:
            return names, word[index:], False
        if letter not in form.flags:
            raise unknown
    return names, None, False


def check_counts(name: str, form: Form, given: Given) -> None:
    """Raise Doubt if there are too many or too few operands."""
    if len(given.operands) > form.most:
        raise Doubt(f"`{name}` with {given.operands[form.most]!r} may do more than read")
    if len(given.operands) < form.least:
        raise Doubt(f"`{name}` needs more arguments")
    if form.most == 1 and given.suspects:
        raise Doubt(f"`{name}` reads {given.suspects[0]!r} as an operand, which it may write to")
