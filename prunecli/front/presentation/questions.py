"""The contents of permission questions, which show everything that a call would do, and of the model's questions."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from prunecli.agent.asking import Asked
from prunecli.front.presentation.diffing import between, lines_of, plain
from prunecli.front.presentation.entries import Diff
from prunecli.front.presentation.outcomes import advice
from prunecli.front.presentation.proposals import ShownChange, changed_in_words, shown_changes
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.runtime.outside import is_missing, read_text
from prunecli.safety.permissions.rules import covers, in_words
from prunecli.tools.asking import Inquiry, Reply
from prunecli.tools.files.replacement import replaced
from prunecli.tools.files.workspace import seen_from, seen_in
from prunecli.tools.web.address import parsed
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened, visible

_IN_DIFF = frozenset({"path", "content", "old_string", "new_string", "replace_all"})
_BLANK = re.compile(r"\n(?:[ \t]*\n){3,}")
_SPACES = re.compile(r"[ \t]{60,}")
MOST_BESIDE = 60
NAME_CHARS = 60
YES, NO = "Yes", "No, and tell the model why"
TITLE_CHARS = 150

ReadText = Callable[[str], str | None]
"""A function that returns the current text of a file; None if the file is missing or not text."""


@frozen
class Sheet:
    """The contents of a permission question.

    `text` is what will run, escaped line by line; a change is shown as a `diff` instead. `beside` has the settings of
    a command, such as its timeout, or the reason why an edit will fail. `rule` are the rules that the answer "always"
    adds, and `covers` describes what they would allow. `wall` says what is around commands. `changes` are what
    commands did that already ran; `yes` and `no` are the answers.
    """

    title: str
    text: str
    diff: Diff | None
    reason: str
    rule: str
    beside: str = ""
    covers: str = ""
    changes: tuple[ShownChange, ...] = ()
    wall: str = ""
    yes: str = YES
    no: str = NO


def sheet_of(
    asked: Asked, read: ReadText, cwd: Path, is_missing: Callable[[str], bool] = lambda _: False
) -> Sheet:
    """Build the sheet of a call. Paths below the working directory are shown relative to it."""
    if asked.proposal or asked.again:
        return _sheet_afterwards(asked, cwd)
    given = _seen(asked.call.input, cwd)
    diff, beside = _diff(asked, read, str(given.get("path")))
    if asked.touches and asked.touches.runs:
        commands = asked.touches.runs
        text = "\n".join(visible(_folded(command)) for command in commands)
        said = (
            ("outside", "reason") if asked.touches.outside else ()
        )  # in the title, and in the reason for asking
        others = {key: value for key, value in given.items() if key not in said}
        beside = _fields({key: value for key, value in others.items() if value not in commands})
        if len(beside) > MOST_BESIDE or "\n" in beside or len(commands) > 1:
            text, beside = f"{text}\n{beside}".rstrip("\n"), ""  # the text there can be read in full
    elif asked.touches and asked.touches.calls:
        arguments = given.get("arguments")
        text = "\n".join(
            filter(None, [*map(one_line, asked.touches.calls), _fields(arguments) if arguments else ""])
        )
    elif asked.touches and asked.touches.fetches:
        text = _url(given)
    else:
        text = _path_line(given) if diff else _fields(given)
    return Sheet(
        f"{one_line(asked.who)}: {_title(asked, is_missing)}" if asked.who else _title(asked, is_missing),
        text,
        diff,
        one_line(advice(seen_in(asked.reason, cwd))),
        one_line(in_words(asked.rules)),
        beside,
        one_line(covers(asked.rules)),
        wall=_wall(asked),
    )


def sheet_at(asked: Asked, cwd: Path) -> Sheet:
    """Build the sheet of a call with the files of this directory. Reads the disk: call it in a thread."""
    return sheet_of(asked, partial(read_text, cwd=cwd), cwd, partial(is_missing, cwd=cwd))


def _sheet_afterwards(asked: Asked, cwd: Path) -> Sheet:
    """Build the sheet of commands that already ran where nothing counts."""
    commands = asked.touches.runs if asked.touches else ()
    first, _, more = (commands or ("",))[0].strip().partition("\n")
    name = f"`{shortened(one_line(first), NAME_CHARS)}{' …' if more else ''}`"
    name = f"{len(commands)} commands" if len(commands) > 1 else name
    changes: tuple[ShownChange, ...] = ()
    yes, no, reason = "Yes, run it again", NO, one_line(advice(asked.reason))
    if asked.proposal:
        title = f"{name} changed {changed_in_words(asked.proposal)}. Keep it?"
        changes, yes, no, reason = (
            shown_changes(asked.proposal),
            "Yes, keep it",
            "No, drop it and tell the model why",
            "",
        )
    else:
        title = f"Run {name} again{_with(asked, cwd)}?"
    return Sheet(
        f"{one_line(asked.who)}: {title}" if asked.who else title,
        "\n".join(visible(_folded(command)) for command in commands),
        None,
        reason,
        one_line(in_words(asked.rules)),
        covers=one_line(covers(asked.rules)),
        changes=changes,
        wall=_wall(asked),
        yes=yes,
        no=no,
    )


def _wall(asked: Asked) -> str:
    if not asked.wall or (asked.touches and asked.touches.outside) or asked.blocked.outside:
        return ""  # the title says it
    kind, _, network = asked.wall.partition(", ")
    if asked.proposal:
        return f"Ran in {kind} without network, on a layer over the workspace"
    if asked.again:
        network = "network on" if asked.blocked.network else network
        return f"Runs in {kind}, {network}, and may change the workspace"
    return f"Runs in {asked.wall}" if not asked.wall.startswith("no ") else f"Runs with {asked.wall}"


def _with(asked: Asked, cwd: Path) -> str:
    """Return what a command gets in its second run."""
    blocked = asked.blocked
    if blocked.outside:
        return " outside the sandbox"
    if blocked.reads:
        return f" and let it read {', '.join(one_line(seen_from(path, cwd)) for path in blocked.reads)}"
    return " with network" if blocked.network else ""


def _folded(text: str) -> str:
    """Return a command without long runs of blank lines and spaces, which would push the rest out of sight."""
    text = _BLANK.sub(lambda found: f"\n… {found[0].count(chr(10)) - 1} blank lines\n", text)
    return _SPACES.sub(lambda found: f" … {len(found[0])} spaces … ", text)


def _title(asked: Asked, is_missing: Callable[[str], bool]) -> str:
    touches = asked.touches or Touches()
    if touches.runs:
        return "Run this command outside the sandbox?" if touches.outside else "Run this command?"
    if touches.calls:
        return "Call this MCP tool?"
    if touches.fetches:
        return "Fetch this page?"
    if touches.changes:
        if len(touches.changes) > 1:
            return "Change these files?"
        is_new = "content" in asked.call.input and is_missing(touches.changes[0])
        return "Create this file?" if is_new else "Change this file?"
    return "Read this?" if not touches.is_nothing else f"Allow {one_line(asked.call.name)}?"


def _seen(given: Mapping[str, Json], cwd: Path) -> Mapping[str, Json]:
    """Return the input with its path as shown. A path with `..` is shown as given."""
    path = given.get("path")
    if not isinstance(path, str) or ".." in path.split("/"):
        return given
    return {**given, "path": seen_from(path, cwd)}


def _url(given: Mapping[str, Json]) -> str:
    """Return the URL as it is requested: with look-alike letters of a host as punycode."""
    try:
        return parsed(str(given.get("url"))).url
    except ToolError:
        return _fields(given)


def _path_line(given: object) -> str:
    path = one_line(str(given["path"])) if isinstance(given, dict) and "path" in given else ""
    everywhere = isinstance(given, dict) and given.get("replace_all")
    return path + ("  (all occurrences)" if everywhere else "")


def _fields(given: object) -> str:
    """Format an input as `key: value`, with multi-line text below its key."""
    if not isinstance(given, dict):
        return visible(str(given))
    lines: list[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = visible(text)
        lines.append(f"{one_line(str(key))}:{chr(10) if chr(10) in shown else ' '}{shown}")
    return "\n".join(lines)


def _diff(asked: Asked, read: ReadText, shown: str) -> tuple[Diff | None, str]:
    """Return the diff of an edit or write against the current file, and a warning for an edit that will fail.

    Return None for any other call, or if the input has something that a diff would not show. `shown` is the displayed
    path.
    """
    given = asked.call.input
    path = given.get("path")
    changes = asked.touches.changes if asked.touches else ()
    if not isinstance(path, str) or changes != (path,) or given.keys() - _IN_DIFF:
        return None, ""
    content, old, new = given.get("content"), given.get("old_string"), given.get("new_string")
    if isinstance(content, str):
        return between(lines_of(read(path) or ""), lines_of(content), shown), ""
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None, ""
    before, flaw = read(path), ""
    if before is not None:
        try:
            after = edited(before, old, new, everywhere=bool(given.get("replace_all")))
            return between(lines_of(before), lines_of(after), shown), ""
        except ToolError as error:
            flaw = f"This edit will fail: {re.split(r'[.;] | [(]', str(error))[0]}"
    return between(plain(old).split("\n"), plain(new).split("\n"), shown), flaw


def edited(before: str, old: str, new: str, *, everywhere: bool) -> str:
    """Return a file's text after an edit. Raises ToolError if the edit will fail."""
    return replaced(before.encode(), well_formed(old), well_formed(new), everywhere=everywhere).data.decode()


# The model's questions ---------------------------------------------------------------------------------------


def inquiry_title(inquiry: Inquiry) -> tuple[str, str]:
    """Return the title of a question, and the text below it if the question is too long for a title."""
    first, _, rest = inquiry.question.partition("\n")
    if len(first) > TITLE_CHARS:
        first, rest = "A question", inquiry.question
    title = f"{inquiry.who}: {first}" if inquiry.who else first
    return one_line(title), "\n".join(map(visible, rest.strip("\n").split("\n")))


def inquiry_lines(inquiry: Inquiry) -> list[str]:
    title, more = inquiry_title(inquiry)
    lines = [title, *(f"  {line}" for line in more.split("\n") if line)]
    for number, option in enumerate(inquiry.options, 1):
        detail = f" - {one_line(option.description)}" if option.description else ""
        lines.append(f"  {number}. {one_line(option.label)}{detail}")
    return lines


def inquiry_reply(inquiry: Inquiry, typed: str) -> Reply:
    """Return the reply for a typed line: numbers or a label select options, other text is the user's answer, blank
    declines."""
    typed = typed.strip()
    for at, option in enumerate(inquiry.options):
        if typed.lower() == option.label.strip().lower():
            return Reply((at,))
    words = typed.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 3]
    known = len(numbers) == len(words) and all(1 <= number <= len(inquiry.options) for number in numbers)
    if words and known and (inquiry.multiple or len(words) == 1):
        return Reply(tuple(sorted({number - 1 for number in numbers})))
    return Reply((), typed)
