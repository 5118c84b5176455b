"""Session files of pi and oh-my-pi: entries linked by parentId; the main line ends at the last entry.

Version 1 files have no ids and form one line. Only thinking from Anthropic's endpoint keeps its signature.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from prunecli.model.codec import mapping, string
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Block, Json, RedactedThinking, Text, Thinking, Usage, plain_text
from prunecli.session.importers.anthropic_blocks import blocks
from prunecli.session.importers.json_rows import Row, Rows
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import (
    Transcript,
    count,
    milliseconds,
    part,
    picture,
    summarized,
    words,
)
from prunecli.session.importers.tree import Line, Node, Places, Tree, branching, taken

_SPOKEN = ("message", "compaction", "branch_summary", "custom_message")
_HEADS = ("session", "title")
_STOPS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use", "aborted": "interrupted"}
_BRANCH = "A summary of a branch that was left."


def is_pi(row: Row) -> bool:
    value = row.value
    if value.get("type") == "title":
        return "updatedAt" in value
    return value.get("type") == "session" and "cwd" in value and "crc" not in value


def read(found: Rows) -> Imported:
    origin = _origin(found.rows)
    rows = [row for row in found.rows if row.value.get("type") not in _HEADS]
    nodes = _nodes(rows)
    tree = Tree(nodes)
    main, places = _transcript(origin, tree.line(nodes[-1].id if nodes else ""))
    main.damaged[:0] = found.damaged
    line_of = {node.id: node.row.line for node in reversed(nodes)}
    leaves = {leaf: line_of[leaf] for leaf in tree.leaves()}
    return branching(main, places, leaves, tree.line, partial(_transcript, origin))


def _origin(rows: Iterable[Row]) -> Origin:
    session = cwd = model = name = ""
    started = 0
    for row in rows:
        value = row.value
        match value.get("type"):
            case "session" if not session:
                session, cwd = words(value.get("id")), words(value.get("cwd"))
                started = milliseconds(value.get("timestamp")) or 0
            case "title":
                name = words(value.get("title")) or name
            case "session_info":
                name = words(value.get("name")) or name
            case "model_change":
                model = words(value.get("modelId") or value.get("model")) or model
            case "message" if not model:
                model = words(part(value.get("message")).get("model"))
    return Origin("pi", session, name, cwd, model, started)


def _nodes(rows: Sequence[Row]) -> list[Node]:
    nodes: list[Node] = []
    for row in rows:
        given, parent = row.value.get("id"), row.value.get("parentId")
        before = nodes[-1].id if nodes else None
        linked = isinstance(given, str)
        node = Node(
            row,
            str(given) if linked else f"line {row.line}",
            (parent if isinstance(parent, str) else None) if linked else before,
            row.value.get("type") in _SPOKEN,
        )
        nodes.append(node)
    return nodes


def _transcript(origin: Origin, line: Line) -> tuple[Transcript, Places]:
    """Return the events of a line, and the last seq after each of its rows."""
    transcript = Transcript(origin)
    return transcript, taken(transcript, line, Reader(transcript).take)


class Reader:
    def __init__(self, transcript: Transcript) -> None:
        self._to = transcript
        self._seq_of: dict[str, int] = {}
        self._call_of: dict[str, str] = {}
        self._responses: dict[str, int] = {}

    def take(self, row: Row) -> None:
        """Add an entry. Raises one of MALFORMED if the entry is malformed."""
        value, when = row.value, milliseconds(row.value.get("timestamp"))
        entry = words(value.get("id"))
        self._seq_of[entry] = len(self._to)
        match value.get("type"):
            case "message":
                self._message(entry, value["message"], when)
            case "compaction":
                kept = value.get("firstKeptEntryId")
                start = self._seq_of.get(kept) if isinstance(kept, str) else None
                self._compaction(value, when, start)
            case "branch_summary":
                self._to.notice(_BRANCH, string(value["summary"]), when)
            case "custom_message":
                self._notice(value, when)
            case "context_edit":
                self._edit(value, when)
            case "model_change" | "session_info":
                pass
            case kind:
                self._to.skip(words(kind)[:40] or "entries without a type")

    def _compaction(self, value: Json, when: int | None, start: int | None) -> None:
        details, summary = part(value.get("details")), string(value["summary"])
        if details.get("writtenBy") != "prunecli":
            details, summary = {}, summarized(summary)
        signed, said = part(details.get("block")), words(details.get("words"))
        self._to.compacted(
            words(details.get("own")) or summary,
            when,
            tail_start=start,
            tokens=count(value.get("tokensBefore")),
            block=mapping(signed) if signed else None,
            said=said if signed else "",
        )

    def _message(self, entry: str, message: Json, given: int | None) -> None:
        when = milliseconds(message.get("timestamp")) or given
        match message.get("role"):
            case "user":
                self._to.user(self._said(message["content"]), when)
            case "assistant":
                self._responses[entry] = self._assistant(message, given or when)
            case "toolResult":
                call = words(message["toolCallId"])
                self._call_of[entry] = call
                failed = message.get("isError") is True
                self._to.result(call, self._said(message["content"]), when, is_error=failed)
            case "bashExecution" if message.get("excludeFromContext"):
                self._to.skip("commands kept out of the context")
            case "bashExecution":
                self._to.command("!" + string(message["command"]), words(message.get("output")), when)
            case "custom" | "hookMessage":
                self._notice(message, when)
            case "branchSummary":
                self._to.notice(_BRANCH, string(message["summary"]), when)
            case "compactionSummary":
                self._to.compacted(summarized(string(message["summary"])), when)
            case "developer" | "system":
                self._to.skip("messages from the program to the model")
            case role:
                self._to.skip(f"messages of role {words(role)[:40] or '?'}")

    def _notice(self, message: Json, when: int | None) -> None:
        title, content = words(message.get("customType")) or "extension", self._said(message["content"])
        if title.startswith(("[", "/")):  # written by prunecli's own export
            self._to.command(title, content, when)
        else:
            self._to.notice(title, content, when)

    def _said(self, content: Json) -> tuple[Block, ...]:
        if isinstance(content, str):
            return (Text(string(content)),)
        found: list[Block] = []
        for block in blocks(content):
            if block.get("type") == "text":
                found.append(Text(string(block["text"])))
            elif block.get("type") == "image":
                found.append(picture(block.get("mimeType"), block.get("data"), self._to))
            else:
                self._to.skip(f"{words(block.get('type'))[:40] or 'nameless'} blocks")
        return tuple(found)

    def _assistant(self, message: Json, when: int | None) -> int:
        signed = message.get("api") == "anthropic-messages"
        content = message["content"]
        shown = [Text(string(content))] if isinstance(content, str) else self._answered(content, signed)
        given = message.get("stopReason")
        if given == "error" and not shown:
            self._to.skip("failed responses")
            return len(self._to)
        stop = _STOPS.get(words(given), "end_turn")
        model, request = words(message.get("model")), words(message.get("responseId"))
        usage = _usage(part(message.get("usage")))
        return self._to.assistant(AssistantMessage(tuple(shown), model, stop, usage, request), when)

    def _answered(self, content: Json, signed: bool) -> list[Block]:
        found: list[Block] = []
        for block in blocks(content):
            match block.get("type"):
                case "text":
                    found.append(Text(string(block["text"])))
                case "thinking":
                    signature = words(block.get("thinkingSignature")) if signed else ""
                    if block.get("redacted") is True:
                        found += [RedactedThinking(signature)] if signature else []
                    else:
                        found.append(Thinking(string(block["thinking"]), signature))
                case "toolCall":
                    call = block.get("id")
                    found.append(self._to.call(call, block["name"], block.get("arguments")))
                case kind:
                    self._to.skip(f"{words(kind)[:40] or 'unnamed'} blocks")
        return found

    def _edit(self, value: Json, when: int | None) -> None:
        """Add an edit that hid or replaced an entry. Only edits of responses and tool results are imported."""
        target = words(value.get("targetId"))
        replacement = value.get("replacement")
        if target in self._responses:
            memo = plain_text(self._said(replacement["content"])) if replacement else ""
            self._to.dropped(self._responses[target], when, memo, by="pi")
        elif target in self._call_of:
            shown = plain_text(self._said(replacement["content"])) if replacement else "[removed]"
            self._to.cleared([self._call_of[target]], when, shown, by="pi")
        else:
            self._to.skip("context_edit of a message")


def _usage(value: Json) -> Usage:
    return Usage(
        count(value.get("input")),
        count(value.get("output")),
        count(value["cacheRead"]) if "cacheRead" in value else None,
        count(value["cacheWrite"]) if "cacheWrite" in value else None,
    )
