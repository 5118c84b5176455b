"""Claude Code's session files: rows linked by parentUuid; one response spans the rows that share `message.id`.

The main line is the one that Claude Code would continue: from the last message outside subagents back to the root.
The row of a compaction links to earlier messages as its logical parent.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from prunecli.model.codec import cached_1h_of
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Block, Json, Text, ToolUse, Usage, plain_text
from prunecli.session.importers.anthropic_blocks import answered, said
from prunecli.session.importers.json_rows import Row, Rows
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import MALFORMED, Transcript, count, milliseconds, part, why, words
from prunecli.session.importers.tree import Line, Node, Places, Tree, branching, taken

_MARKED = re.compile(
    r"\s*(?:<(?:system-reminder|task-notification|teammate-message|command-(?:name|message|args)"
    r"|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|user-prompt-submit-hook)\b"
    r"|\[Request interrupted by user)"
)
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>", re.DOTALL)
_NAME = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OUTPUT = re.compile(r"\s*<(?:local-command|bash)-(?:stdout|stderr)>")
_OUTPUT_TAG = re.compile(r"</?(?:local-command|bash)-(?:stdout|stderr)>")
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)
_TAG = re.compile(r"\s*<([a-z-]+)")
_LONGEST_TITLE = 120
_SPOKEN = ("user", "assistant")
_NAMES = ("summary", "custom-title", "ai-title")


def is_claude_code(row: Row) -> bool:
    value = row.value
    linked = "uuid" in value and "parentUuid" in value
    return "type" in value and (linked or ("sessionId" in value and "payload" not in value))


def read(found: Rows) -> Imported:
    rows = [row for row in found.rows if isinstance(row.value.get("uuid"), str)]
    agents = [row for row in rows if row.value.get("isSidechain") is True]
    if len(agents) < len([row for row in rows if row.value.get("type") in _SPOKEN]):
        rows = [row for row in rows if row.value.get("isSidechain") is not True]
    else:
        agents = []
    tree = Tree([_node(row) for row in rows])
    line_of = {row.value["uuid"]: row.line for row in rows}
    leaves = {leaf: line_of[leaf] for leaf in tree.leaves()}
    by_response = _by_response(rows)
    origin = _origin(found.rows)

    def line_to(leaf: str) -> Line:
        return _whole_line(tree.line(leaf), by_response)

    main, places = _transcript(origin, line_to(max(leaves, key=leaves.__getitem__, default="")))
    main.damaged[:0] = found.damaged
    main.skip("subagent (sidechain) rows", len(agents))
    for row in found.rows:
        _count_others(row, main)
    return branching(main, places, leaves, line_to, partial(_transcript, origin))


def subagent_files(path: Path) -> Sequence[Path]:
    """Return the files of a session's subagents, in a folder beside the session's file with the same name."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return sorted(path.parent.joinpath(name, "subagents").glob("*.jsonl*"))


def _origin(rows: Iterable[Row]) -> Origin:
    session = cwd = model = name = ""
    started = 0
    for row in rows:
        value = row.value
        session = session or words(value.get("sessionId"))
        cwd = cwd or words(value.get("cwd"))
        started = started or milliseconds(value.get("timestamp")) or 0
        model = _model(value) or model
        if value.get("type") in _NAMES:
            name = words(value.get("customTitle") or value.get("aiTitle") or value.get("summary")) or name
    return Origin("claude-code", session, name, cwd, model, started)


def _model(value: Json) -> str:
    model = words(part(value.get("message")).get("model"))
    return "" if model == "<synthetic>" else model


def _node(row: Row) -> Node:
    value = row.value
    parent = value.get("parentUuid") or value.get("logicalParentUuid")
    spoken = value.get("type") in _SPOKEN or _typed_meanwhile(value)
    return Node(row, value["uuid"], parent if isinstance(parent, str) else None, spoken)


def _by_response(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Group the rows of each response with the results of its calls.

    Results of parallel calls link to the rows of their own calls, so no single chain of parents contains all of them.
    """
    found: dict[str, list[Row]] = {}
    response_of: dict[str, str] = {}
    for row in rows:
        value, message = row.value, part(row.value.get("message"))
        response = ""
        if value.get("type") == "assistant":
            response = words(message.get("id"))
        elif value.get("type") == "user" and _is_result(message):
            source = value.get("sourceToolAssistantUUID") or value.get("parentUuid")
            response = response_of.get(source, "") if isinstance(source, str) else ""
        if response:
            response_of[value["uuid"]] = response
            found.setdefault(response, []).append(row)
    return found


def _is_result(message: Json) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part(one).get("type") == "tool_result" for one in content)


def _whole_line(line: Sequence[Row], by_response: dict[str, list[Row]]) -> list[Row]:
    """Return a line with all rows of its responses, in file order."""
    whole = {row.line: row for row in line}
    for row in line:
        if row.value.get("type") == "assistant":
            for other in by_response.get(words(part(row.value.get("message")).get("id")), ()):
                whole.setdefault(other.line, other)
    return [whole[number] for number in sorted(whole)]


# Rows to events ----------------------------------------------------------------------------------------------


def _transcript(origin: Origin, line: Line) -> tuple[Transcript, Places]:
    """Return the events of a line, and the last seq after each of its rows."""
    transcript = Transcript(origin)
    responses: dict[str, list[Row]] = {}
    for row in line:
        if row.value.get("type") == "assistant":
            responses.setdefault(_response(row), []).append(row)
    reader = Reader(transcript, responses)
    places = taken(transcript, line, reader.take)
    reader.commands.flush()
    return transcript, places


def _response(row: Row) -> str:
    return words(part(row.value.get("message")).get("id")) or f"row {row.line}"


class Reader:
    """A converter from the rows of one line to events."""

    def __init__(self, transcript: Transcript, responses: dict[str, list[Row]]) -> None:
        self._to = transcript
        self.commands = Commands(transcript)
        self._responses = responses
        self._seq_of: dict[str, int] = {}
        self._boundary: Json = {}

    def take(self, row: Row) -> None:
        """Add a row's content. Raises one of MALFORMED if the row is malformed."""
        value, when = row.value, milliseconds(row.value.get("timestamp"))
        self._seq_of[value["uuid"]] = len(self._to)
        match value.get("type"):
            case "assistant":
                self._assistant(row, when)
            case "user" if value.get("isCompactSummary"):
                self._summary(value, when)
            case "user":
                self._user(value, when)
            case "attachment" if _typed_meanwhile(value):
                queued = value["attachment"]
                self._spoken(queued, said(queued["prompt"], self._to), when)
            case "system" if value.get("subtype") == "compact_boundary":
                self._boundary = part(value.get("compactMetadata"))
            case "system" if value.get("subtype") == "microcompact_boundary":
                ids = part(value.get("microcompactMetadata")).get("compactedToolIds")
                self._to.cleared(ids if isinstance(ids, list) else (), when, by="claude-code")

    def _user(self, value: Json, when: int | None) -> None:
        content = value["message"]["content"]
        if isinstance(content, list):
            for block in content:
                if part(block).get("type") == "tool_result":
                    given = block.get("content")
                    blocks = said(given, self._to) if given else ()
                    failed = block.get("is_error") is True
                    self._to.result(block.get("tool_use_id"), blocks, when, is_error=failed)
        self._spoken(value, said(content, self._to), when)

    def _spoken(self, row: Json, content: Iterable[Block], when: int | None) -> None:
        """Add content in the user's role: first the program's text, then the user's."""
        typed: list[Block] = []
        for block in content:
            if isinstance(block, Text) and not _is_typed(row, block.text):
                self.commands.take(row, block.text, when)
            else:
                typed.append(block)
        if typed:
            self.commands.flush()
        self._to.user(typed, when)

    def _summary(self, value: Json, when: int | None) -> None:
        self.commands.flush()
        summary = plain_text(said(value["message"]["content"], self._to))
        segment = part(part(self._boundary).get("preservedSegment"))
        head = segment.get("headUuid")
        kept = self._seq_of.get(head) if isinstance(head, str) else None
        self._to.compacted(
            summary, when, tail_start=kept, tokens=count(part(self._boundary).get("preTokens"))
        )
        self._boundary = {}

    def _assistant(self, row: Row, when: int | None) -> None:
        rows = self._responses[_response(row)]
        if rows[0] is not row:
            return
        self.commands.flush()
        if row.value.get("isApiErrorMessage") or row.value["message"].get("model") == "<synthetic>":
            self._to.skip("error messages from the program")
            return
        content: list[Block] = []
        for one in rows:
            try:
                content += answered(one.value["message"]["content"], self._to)
            except MALFORMED as error:
                self._to.damaged.append(f"line {one.line}: {why(error)}")
        last = part(rows[-1].value.get("message"))
        calls = any(isinstance(block, ToolUse) for block in content)
        stop = words(last.get("stop_reason")) or ("tool_use" if calls else "end_turn")
        request = words(row.value.get("requestId"))
        usage = _usage(part(last.get("usage")))
        self._to.assistant(AssistantMessage(tuple(content), _model(row.value), stop, usage, request), when)


def _typed_meanwhile(value: Json) -> bool:
    """Return whether an attachment is text that the user typed while the agent was working."""
    return part(value.get("attachment")).get("type") == "queued_command"


def _usage(value: Json) -> Usage:
    read, written = value.get("cache_read_input_tokens"), value.get("cache_creation_input_tokens")
    return Usage(
        count(value.get("input_tokens")),
        count(value.get("output_tokens")),
        None if read is None else count(read),
        None if written is None else count(written),
        cache_1h_input_tokens=cached_1h_of(value),
    )


def _count_others(row: Row, transcript: Transcript) -> None:
    """Count rows without a message by kind."""
    kind = words(row.value.get("type"))[:40]
    if kind == "attachment":
        if _typed_meanwhile(row.value):
            return
        what = words(part(row.value.get("attachment")).get("type"))[:40]
        transcript.skip(f"attachment ({what})" if what else "attachment")
    elif kind == "system":
        what = words(row.value.get("subtype"))[:40]
        if what not in ("compact_boundary", "microcompact_boundary"):
            transcript.skip(f"system ({what})" if what else "system")
    elif kind not in (*_SPOKEN, *_NAMES):
        transcript.skip(kind or "rows without a type")


# Typed and generated text ------------------------------------------------------------------------------------
# A command typed in the prompt (`!ls`, `/context`) is one row and its output the next; together they become one
# command. Other generated text becomes a notice. Newer versions record the author of a row; older ones only mark up
# the text.


def _is_typed(row: Json, text: str) -> bool:
    """Return whether a person typed this text of a user row or a queued command."""
    source, kind = row.get("promptSource"), part(row.get("origin")).get("kind")
    if row.get("isMeta") is True or source == "system" or kind not in (None, "human"):
        return False
    return source is not None or not _MARKED.match(text)


class Commands:
    """A writer of generated text to a transcript. A command waits for its output, which the next row may contain."""

    def __init__(self, to: Transcript) -> None:
        self._to = to
        self._typed = ""
        self._when: int | None = None

    def take(self, row: Json, text: str, when: int | None) -> None:
        shell, name = _SHELL.match(text), _NAME.search(text) if _MARKED.match(text) else None
        if shell or name:
            self.flush()
            arguments = _ARGUMENTS.search(text)
            typed = (
                f"!{shell[1]}" if shell else f"{name[1]} {arguments[1] if arguments else ''}" if name else ""
            )
            self._typed, self._when = typed.strip(), when
        elif self._typed and (_OUTPUT.match(text) or row.get("isMeta") is True):
            output = _OUTPUT_TAG.sub("", text) if _OUTPUT.match(text) else text
            self._to.command(self._typed, output, self._when)
            self._typed = ""
        else:
            self.flush()
            self._to.notice(_title(row, text), text, when)

    def flush(self) -> None:
        if self._typed:
            self._to.command(self._typed, (), self._when)
            self._typed = ""


def _title(row: Json, text: str) -> str:
    """Return the title of a notice: its summary, first tag or sender."""
    summary, tag = _SUMMARY.search(text), _TAG.match(text)
    kind = words(part(row.get("origin")).get("kind"))
    title = summary[1] if summary else (tag[1] if tag else kind) or "notice"
    return " ".join(title.split())[:_LONGEST_TITLE]
