"""Checks the scripts of sed, awk and jq: a harmless one prints, and neither runs programs nor opens other files."""

import re
from itertools import pairwise

_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\[\]\n]|\\[^\n])*/I?)"
_RANGE = rf"\s*+{_ADDRESS}?(?:\s*+,\s*+(?:{_ADDRESS}|[+~]\d+))?\s*+!?\s*+"
_SED_COMMAND = rf"(?a){_RANGE}(?:[pPdDqQ=nNgGhHx]\s*+(?:;|(?=\}})|$)|\{{)|\s*+\}}\s*+;?\s*+"
_SED_SUBSTITUTE = (
    rf"(?a){_RANGE}s(?P<end>[/|#,@:%!_])(?P<old>(?:\\[^\n]|(?!(?P=end))[^\\\n])*)(?P=end)"
    r"(?:\\[^\n]|(?!(?P=end))[^\\\n])*(?P=end)[gpiI\d]*\s*+(?:;|(?=\})|$)"
)
"""A substitution without the flags that run a program or write a file (`e`, `w`)."""
_SED_EDIT = rf"(?a){_RANGE}(?:[aic][ \\].*$|(?::|[btT])\s*+\w*\s*+(?:;|(?=\}})|$))"
"""Commands that insert text, and labels with the jumps to them: harmless if the file may change."""
_OPEN_BRACKET = r"\[\^?\]|\[[^\]]*$"
"""A bracket that the delimiter of a substitution may be in. GNU and BSD disagree about it."""


def sed_doubt(script: str, *, edits: bool = False) -> str:
    """Return why a sed script is not harmless, or "" (GHSA-7mv8-j34q-vp7q). `edits`: it may change its file."""
    forms = [re.compile(one) for one in (_SED_SUBSTITUTE, _SED_COMMAND, *[_SED_EDIT] * edits)]
    at = 0
    while at < len(script):
        found = next(filter(None, (form.match(script, at) for form in forms)), None)
        if not found or (
            "old" in found.groupdict()
            and re.search(_OPEN_BRACKET, re.sub(r"\\.|\[([:.=])[^\]]*\1\]", "x", found["old"]))
        ):
            return f"its script does more than {'edit' if edits else 'print'} lines"
        at = found.end()
    return "" if script.strip() else "its script is empty"


_AWK_PIECE = r"""(?ax)
    (?P<space>[ ]+)|(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<open>[({\[])|(?P<close>[)}\]])|(?P<regex>/(?:[^/\\\n\[\]]|\\[^\n]|\[\^?[^\]\[\\/\n^][^\]\[\\/\n]*\])+/)
    |(?P<step>\+\+|--)|(?P<operator>&&|\|\||[=!<>]=|[-+*%]=|!~|[~!<>=?:,$+*%;-])"""
_AWK_CALLED = frozenset(
    {
        *("length", "substr", "index", "tolower", "toupper", "sprintf", "int", "match", "gsub", "sub"),
        *("split", "gensub", "print", "printf", "if", "for", "in"),
    }
)
_AWK_NAMES = _AWK_CALLED | {
    *("else", "next", "exit", "NR", "NF", "FNR", "FILENAME", "FS", "OFS", "RS", "ORS", "BEGIN", "END"),
    *("RSTART", "RLENGTH"),
}
_AWK_OTHER = frozenset({"getline", "system", "function", "func", "return", "delete", "do", "while", "switch"})
_PAIRS = {")": "(", "}": "{", "]": "["}


def awk_doubt(program: str) -> str:
    """Return why an awk program is not harmless, or "".

    Its names are known ones and variables in lower case, and it has no `|`. A `>` in an action writes a file, unless
    it is in parentheses, where it compares.
    """
    more = "its program does more than print"
    token, tokens = re.compile(_AWK_PIECE), list[tuple[str, str]]()
    at = 0
    while at < len(program):
        match = token.match(program, at)
        if not match:
            return more
        kind, at = match.lastgroup or "", match.end()
        if kind == "regex" and tokens and tokens[-1][0] not in ("open", "operator") and tokens[-1][1] != "}":
            return more  # it may be a division
        if kind != "space":
            tokens.append((kind, match[0]))
    nesting = ""
    for (kind, text), following in pairwise([*tokens, ("", "")]):
        if "(" in nesting and text in ("print", "printf"):
            return more  # in the head of a `for`, where `>` writes a file too
        if kind == "open":
            nesting += text
        elif kind == "close":
            if not nesting.endswith(_PAIRS[text]):
                return more
            nesting = nesting[:-1]
        elif (kind == "name" and not _is_awk_name(text, called=following[1] == "(")) or (
            text == ">" and "{" in nesting and nesting[-1] != "("
        ):
            return more
    return more if nesting or not tokens else ""


def _is_awk_name(name: str, *, called: bool) -> bool:
    if called:
        return name in _AWK_CALLED
    return name in _AWK_NAMES or (
        re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None and name not in _AWK_OTHER
    )


_JQ_MORE = (
    r"(?<![.\w])(?:import|include|env|input\w*|modulemeta|repeat|recurse|range|def|until|while|halt\w*)\b"
    r"|\$(?![a-z]\w*)"
)
_JQ = r"[\w.,:|()\[\]{}\"' ?<>=!+*/\\@$-]+"


def jq_doubt(filter_: str) -> str:
    """Return why a jq filter is not harmless, or ""; it may use modules, other inputs, variables or endless loops."""
    return (
        ""
        if re.fullmatch(_JQ, filter_) and not re.search(_JQ_MORE, filter_)
        else "its filter does more than select"
    )
