"""grep: find lines by regular expression, skipping ignored files."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.processes.command import Ended
from prunecli.tools.searching.line_search import BAD_PATTERN
from prunecli.tools.searching.matches import MAX_MATCHES, Matches
from prunecli.tools.searching.scope import Scope, folders_of, path_in, scope_of
from prunecli.tools.searching.search import (
    MAX_SECONDS,
    glob_of,
    ignored_in,
    ripgrep,
    ripgrep_of,
    without_ripgrep,
)
from prunecli.tools.searching.secrets import Secrets, secrets_in
from prunecli.tools.tool import ToolContext, ToolOutput, bounded, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MAX_CONTEXT = 20
_NOTES_BYTES = 300
_NEGATED_SET = re.compile(r"\[\^[^\]]*\]")
_ENDS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""An escape, a set, or the end of a line."""
_HAS_NEWLINE = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")


@frozen
class GrepInput:
    pattern: Annotated[str, "regex"]
    path: Annotated[str, "file or folder"] = "."
    glob: Annotated[str | None, "e.g. *.py"] = None
    ignore_case: bool = False
    context: Annotated[int, "lines around each match"] = 0


class Grep:
    """The `grep` tool. It uses ripgrep if installed, else `line_search` with the same results."""

    name: ClassVar[str] = "grep"
    description: ClassVar[str] = (
        "Search file contents; returns path:line:text, at most 200 matches. Skips ignored and binary files."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = GrepInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return " in ".join(in_one_line(given[key]) for key in ("pattern", "path") if given.get(key))

    def touches(self, given: GrepInput) -> Touches:
        if not given.glob:
            return Touches(reads=(given.path,), searches=(given.path,))
        return Touches((path_in(given.path, given.glob),), searches=folders_of(given.path, given.glob))

    async def run(self, given: GrepInput, context: ToolContext) -> ToolOutput:
        scope = scope_of(given.path, context.cwd)
        if not given.pattern:
            raise ToolError("pattern is empty.")
        if _HAS_NEWLINE.search(_NEGATED_SET.sub("", given.pattern)):
            raise ToolError("pattern is matched line by line, so it can't contain a newline.")
        if not 0 <= given.context <= MAX_CONTEXT:
            raise ToolError(f"context must be from 0 to {MAX_CONTEXT}.")
        given = replace(given, pattern=_at_returns(given.pattern))
        if given.glob:
            given = replace(given, glob=given.glob.removeprefix(scope.root.rstrip("/") + "/"))
        wanted = glob_of(given.glob) if given.glob else None
        named = scope.only or (context.approved and given.glob)  # the user was asked about these
        secrets = Secrets() if named else await secrets_in(scope)
        limit = context.limits.max_output_bytes

        @cache
        def is_wanted(path: str) -> bool:
            return (wanted is None or wanted.matches(path)) and not secrets.hold(path)

        def fresh() -> Matches:
            return Matches(scope.prefix, limit, is_wanted)

        ended, matches = None, fresh()
        program = ripgrep_of(context.env, context.workspace)
        if program is not None:
            ended = await ripgrep(program, _for_ripgrep(given, scope), scope.root, context.env, matches.take)
            if matches.complaint and not matches.cut and not ended.timed_out:
                ended, matches = None, fresh()  # ripgrep rejects the pattern; Python may accept it
        if ended is None:
            ended = await without_ripgrep(
                _for_line_search(given, scope), scope.root, context.env, matches.take
            )
            if ended.exit_code == BAD_PATTERN:
                raise ToolError(f"The pattern is not a valid regular expression: {matches.complaint}.")
        notes = [secrets.note(scope)]
        if not matches.count and not ended.timed_out and not scope.only:
            notes.append(await ignored_in(scope.root))
        return _result(matches, ended, limit, [*filter(None, notes)], separated=given.context > 0)


def _at_returns(pattern: str) -> str:
    """Return a pattern whose lines may also end with a carriage return, as in files from Windows."""
    return _ENDS.sub(lambda found: r"(?:\r?$)" if found[0] == "$" else found[0], pattern)


def _for_ripgrep(given: GrepInput, scope: Scope) -> list[str]:
    arguments = [f"--context={given.context}", f"--regexp={well_formed(given.pattern)}"]
    if given.ignore_case:
        arguments.append("--ignore-case")
    if given.glob and given.glob.isascii() and "/" not in given.glob and not given.glob.startswith("!"):
        arguments += [f"--type-add=wanted:{well_formed(given.glob)}", "--type=wanted"]
    return [*arguments, "--", f"./{scope.only}"]


def _for_line_search(given: GrepInput, scope: Scope) -> list[str]:
    ignore_case = "1" if given.ignore_case else "0"
    glob, pattern = well_formed(given.glob or ""), well_formed(given.pattern)
    return [scope.root, scope.only, glob, ignore_case, str(given.context), pattern]


def _result(matches: Matches, ended: Ended, limit: int, notes: list[str], *, separated: bool) -> ToolOutput:
    text = bounded(matches.text(separated=separated), max(limit - _NOTES_BYTES, limit // 2))
    if matches.cut and matches.count == MAX_MATCHES:
        notes.append(f"[the first {MAX_MATCHES} matches; narrow pattern, path or glob]")
    elif matches.cut:
        notes.append(f"[the first {matches.count} matches fill the output; narrow pattern, path or glob]")
    if ended.timed_out:
        notes.append(f"[stopped after {MAX_SECONDS:g} s; narrow pattern, path or glob]")
    if not matches.count:
        text = "No matches before the search was stopped." if ended.timed_out else "No matches."
    details: dict[str, Json] = {
        "matches": matches.count,
        "files": len(matches.files),
        "truncated": matches.cut or ended.timed_out,
    }
    return text_output("\n".join([text, *notes]), details)
