"""`agent-session/1` files: sessions of other agents in Anthropic's blocks, one message per line.

The first line gives format, source_agent, model and cwd. Each message has a `role` (user, assistant or tool),
`content`, `ts` (ISO 8601) and `usage`. Compactions are skipped by default, since the file still holds everything that
the summary replaced.
"""

from dataclasses import replace

from prunecli.model.codec import usage_from_json
from prunecli.model.events import AssistantMessage, UserMessage
from prunecli.model.messages import Json, plain_text
from prunecli.session.importers.anthropic_blocks import answered, blocks, said
from prunecli.session.importers.json_rows import Row, Rows
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import MALFORMED, Transcript, count, milliseconds, part, why, words

FORMAT = "agent-session/1"
_COMPACTION = ("compact_boundary", "compact_summary")


def is_agent_session(row: Row) -> bool:
    return row.value.get("format") == FORMAT


def read(found: Rows, *, compactions: bool = False) -> Imported:
    """Read the conversation. `compactions` inserts summaries where the source had them."""
    reader = _Reader(Transcript(_origin(found.rows)), compactions)
    reader.to.damaged += found.damaged
    for row in found.rows[1:]:
        try:
            reader.take(row.value)
        except MALFORMED as error:
            reader.to.damaged.append(f"line {row.line}: {why(error)}")
    reader.flush()
    to = reader.to
    return Imported(to.origin, to.records(), to.left_out, tuple(to.damaged))


def _origin(rows: tuple[Row, ...]) -> Origin:
    head = rows[0].value
    started = next((when for row in rows[1:] if (when := milliseconds(row.value.get("ts")))), 0)
    name = words(head.get("session") or head.get("session_id"))
    by = words(head.get("source_agent"))
    return Origin("agent-session", name, "", words(head.get("cwd")), words(head.get("model")), started, by)


class _Reader:
    """A converter from messages to events. A compaction's summary may span several messages."""

    def __init__(self, to: Transcript, compactions: bool) -> None:
        self.to = to
        self._compactions = compactions
        self._summary: list[str] = []
        self._compacted_at: int | None = None

    def take(self, message: Json) -> None:
        """Add a message. Raises one of MALFORMED if it is malformed."""
        role, when = message["role"], milliseconds(message.get("ts"))
        content = message["content"]
        if role == "user" and self._compactions and message.get("kind") in _COMPACTION:
            if message["kind"] == "compact_summary":
                self._summary.append(plain_text(said(content, self.to)))
                self._compacted_at = when
            return
        self.flush()
        if role == "assistant":
            counts = _counts(message.get("usage"))
            usage = replace(usage_from_json(counts), cache_1h_input_tokens=counts.get("cache_creation_1h"))
            shown, model = answered(content, self.to), words(message.get("model"))
            self.to.add(AssistantMessage(shown, model, "end_turn", usage), when)
        elif role == "user":
            self.to.add(UserMessage(said(content, self.to), "import"), when)
        elif role == "tool":
            for block in blocks(content):
                given = block.get("content")
                shown = said(given, self.to) if given is not None else ()
                failed = bool(block.get("is_error"))
                self.to.result(block["tool_use_id"], shown, when, is_error=failed)
        else:
            raise ValueError(f"role {role!r} is not user, assistant or tool")

    def flush(self) -> None:
        if self._summary:
            self.to.compacted("\n\n".join(self._summary), self._compacted_at)
            self._summary = []


def _counts(usage: Json) -> dict[str, int]:
    return {key: count(value) for key, value in part(usage).items() if value is not None}
