"""Reads the facts that a list shows about another agent's session, without importing it.

Decodes only the lines that matter: the first ones, the prompts, and the last answer. Of a file from another
directory, only the first lines are read. A line that another process is still writing is skipped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from prunecli.model.codec import strict_loads
from prunecli.model.events import AssistantMessage, Record, UserMessage
from prunecli.model.messages import Json, plain_text
from prunecli.session.digest import PROMPT_CHARS, Digest
from prunecli.session.importers import claude_code, codex, pi
from prunecli.session.importers.codex_home import with_earlier_lines
from prunecli.session.importers.json_rows import Row, open_session
from prunecli.session.importers.origin import Origin
from prunecli.session.importers.source import read_source
from prunecli.session.importers.transcript import MALFORMED, Transcript, count, milliseconds, part, words
from prunecli.util.errors import SessionCorrupt
from prunecli.util.frozen import frozen

_HEAD_LINES = 200
"""Lines within which a file names its directory."""
_NO_ROWS = "no JSON in its first lines"


class _Reader(Protocol):
    def take(self, row: Row) -> None: ...


@frozen
class _Format:
    """One agent's format: recognizes its lines by their bytes, and reads them with its importer."""

    reader: Callable[[Transcript], _Reader]
    is_prompt: Callable[[bytes], bool]
    is_answer: Callable[[bytes], bool]
    is_named: Callable[[bytes], bool]
    usage: Callable[[Mapping[str, Json]], tuple[str, int]]
    whole: Callable[[Path, Iterable[bytes]], Iterable[bytes]] = lambda _, lines: lines


@dataclass(slots=True)
class _Facts:
    digest: Digest = field(default_factory=Digest)

    def begun(self, row: Mapping[str, Json]) -> None:
        digest, payload = self.digest, part(row.get("payload")) or row
        named = payload.get("sessionId") or (
            payload.get("id") if row.get("type") in ("session", "session_meta") else ""
        )
        digest.id = digest.id or words(named)
        digest.cwd = digest.cwd or words(payload.get("cwd"))
        digest.started = digest.started or milliseconds(payload.get("timestamp")) or 0
        if part(payload.get("source")).get("subagent"):
            digest.task = digest.id

    def named(self, row: Mapping[str, Json]) -> None:
        keys = ("customTitle", "aiTitle", "name", "title", "summary")
        name = next((found for key in keys if (found := words(row.get(key)))), "")
        self.digest.name = name or self.digest.name
        self.answered(words(part(row.get("payload")).get("model")), 0)

    def conversation(self, records: list[Record]) -> None:
        digest = self.digest
        for record in records:
            match record.event:
                case UserMessage(content, "import"):
                    text = plain_text(content).strip()[:PROMPT_CHARS]
                    digest.first = digest.first or text
                    digest.last = text or digest.last
                    digest.prompts += 1
                case AssistantMessage(model=model, usage=usage):
                    self.answered(model, usage.prompt_tokens)
                case _:
                    pass

    def answered(self, model: str, tokens: int) -> None:
        if model and model != "<synthetic>":
            self.digest.spent[model] = [0] * 5
        self.digest.context = tokens or self.digest.context


def head_of(path: Path, agent: str, is_here: Callable[[str], bool]) -> Digest | str | None:
    """Return the facts about a session, under the agent's own id. Return None if it is empty or belongs to another
    directory, or the problem if the file cannot be read."""
    facts, lines = _Facts(), _FORMATS[agent]
    transcript = Transcript(Origin("messages"))
    reader = lines.reader(transcript)
    last, decodable = b"", False
    try:
        with open_session(path) as file:
            number = 0
            for number, line in enumerate(lines.whole(path, file), 1):
                if not facts.digest.cwd or not facts.digest.id:
                    row = _row(line)
                    decodable = decodable or bool(row)
                    facts.begun(row)
                    if facts.digest.cwd and not is_here(facts.digest.cwd):
                        return None
                    if number > _HEAD_LINES and not facts.digest.cwd:
                        break
                if lines.is_answer(line):
                    last = line if line.endswith(b"\n") else last
                elif lines.is_prompt(line):
                    _take(reader, number, line, transcript)
                elif lines.is_named(line):
                    facts.named(_row(line))
            if not decodable and number:
                return _NO_ROWS
    except SessionCorrupt as error:
        return error.message
    except OSError as error:
        return error.strerror or str(error)
    facts.conversation(transcript.records())
    facts.answered(*lines.usage(_row(last)))
    facts.digest.id = facts.digest.id or path.stem
    return facts.digest if facts.digest.cwd and facts.digest.prompts else None


def head_of_whole(path: Path) -> Digest | str | None:
    """Return the same for a file that must be read as a whole, and whose folder determines its directory."""
    try:
        source = read_source(path)
    except SessionCorrupt as error:
        return error.message
    except OSError as error:
        return error.strerror or str(error)
    facts, origin = _Facts(), source.imported.origin
    facts.digest.id, facts.digest.cwd = origin.id or path.stem, origin.cwd
    facts.digest.started, facts.digest.name = origin.started, origin.name
    facts.conversation(source.records)
    return facts.digest if facts.digest.prompts else None


def _take(reader: _Reader, number: int, line: bytes, transcript: Transcript) -> None:
    row = _row(line)
    if row and row.get("isSidechain") is not True:
        try:
            reader.take(Row(number, row))
        except MALFORMED as error:
            transcript.damaged.append(f"line {number}: {error}")


def _row(line: bytes) -> Mapping[str, Json]:
    try:
        value = strict_loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_message(*kinds: str) -> Callable[[Mapping[str, Json]], tuple[str, int]]:
    """Return a function that reads the model and prompt tokens of a row; `kinds` are the usage keys to add up."""

    def usage(row: Mapping[str, Json]) -> tuple[str, int]:
        message = part(row.get("message"))
        told = part(message.get("usage"))
        return words(message.get("model")), sum(count(told.get(kind)) for kind in kinds)

    return usage


def _of_event(row: Mapping[str, Json]) -> tuple[str, int]:
    payload = part(row.get("payload"))
    told = part(part(payload.get("info")).get("last_token_usage")) or part(payload.get("usage"))
    # After a compaction, Codex estimates the tokens of the summary, and reports them as a total without input.
    return "", count(told.get("input_tokens")) or count(told.get("total_tokens"))


_FORMATS: Final[Mapping[str, _Format]] = {
    "claude": _Format(
        lambda to: claude_code.Reader(to, {}),
        lambda line: b'"queued_command"' in line or (b'"user"' in line and b'"tool_result"' not in line),
        lambda line: b'"assistant"' in line and b'"usage"' in line and b'"isSidechain":true' not in line,
        lambda line: b'-title"' in line or b'"summary"' in line,
        _of_message("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    ),
    "codex": _Format(
        codex.Reader,
        lambda line: b'"user"' in line and b'"response_item"' in line,
        lambda line: b'"token_count"' in line or b'"token_usage_record"' in line,
        lambda line: b'"turn_context"' in line,
        _of_event,
        with_earlier_lines,
    ),
    "pi": _Format(
        pi.Reader,
        lambda line: b'"role":"user"' in line or b'"role": "user"' in line,
        lambda line: b'"assistant"' in line and b'"usage"' in line,
        lambda line: b'"session_info"' in line or b'"title"' in line[:100],
        _of_message("input", "cacheRead", "cacheWrite"),
    ),
}
