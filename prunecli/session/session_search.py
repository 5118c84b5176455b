"""Searches all sessions: scans the files' bytes and decodes only lines that may match.

Texts that are stored beside a log are loaded and searched too.

Runs in steps, so that results appear early and the search can be stopped.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from prunecli.model.events import AssistantMessage, Record, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Text, plain_text
from prunecli.session.blobs import Blobs
from prunecli.session.digest import whole_record
from prunecli.session.lines import next_lines, record_lines
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

STEP_BYTES = 1 << 18
AROUND = 60
MOST_IN_ONE = 20
"""Maximum hits per session."""
_STORED = b'"media_type":"text/plain"'
"""A reference to a text in a blob. Inside another text it would be escaped."""


@frozen
class Hit:
    """A record that contains all the words.

    `excerpt` is the text around the first word, on one line; `at` and `end` mark the word in it.
    """

    path: Path
    seq: int
    timestamp: int
    who: str
    excerpt: str
    at: int
    end: int


@frozen
class Query:
    """The words of a search. All must appear in one message, output or command; case is ignored."""

    words: tuple[str, ...]
    needles: tuple[bytes, ...]
    """The longest part of each word that appears in JSON as it is."""

    @classmethod
    def of(cls, text: str) -> "Query":
        words = tuple(word.lower() for word in text.split())
        return cls(words, tuple(needle for needle in map(_needle, words) if needle))

    def may_be_in(self, data: bytes) -> bool:
        """Return whether this JSON may hold all the words. Costs less than decoding it."""
        low = data.lower()
        return all(needle in low for needle in self.needles)

    def hit(self, path: Path, record: Record) -> Hit | None:
        """Return the hit in a record, if it contains all the words."""
        who, text = _said(record)
        text = " ".join(text.split())
        low = text.lower()
        if len(low) != len(text):  # lower() changed the length, which would shift positions
            low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
        if not all(word in low for word in self.words):
            return None
        first = self.words[0]
        at = low.find(first)
        start = max(0, at - AROUND)
        end = at + len(first)
        before = "…" if start else ""
        excerpt = before + text[start : end + AROUND] + ("…" if end + AROUND < len(text) else "")
        place = len(before) + at - start
        return Hit(path, record.seq, record.timestamp, who, excerpt, place, place + len(first))


def search(paths: Sequence[Path], query: str) -> Iterator[Hit | int]:
    """Yield the hits in these files, in order, interleaved with the number of bytes searched so far.

    Unreadable files are skipped.
    """
    wanted = Query.of(query)
    done = 0
    for path in paths if wanted.words else ():
        try:
            with open_regular(path) as file:
                found, rest = 0, record_lines(file)
                while found < MOST_IN_ONE and (lines := next_lines(rest, STEP_BYTES)):
                    done += sum(map(len, lines))
                    for hit in _hits(path, lines, wanted):
                        yield hit
                        found += 1
                    yield done
        except OSError:
            continue


def _needle(word: str) -> bytes:
    """Return the longest lower-case part of a word that JSON does not escape. It appears unchanged in the line."""
    parts = "".join(
        char if char.isascii() and char.isprintable() and char not in '"\\' else " " for char in word
    )
    return max(parts.split() or [""], key=len).encode()


def _hits(path: Path, lines: list[bytes], wanted: Query) -> Iterator[Hit]:
    joined = b"".join(lines)
    if not (_STORED in joined or wanted.may_be_in(joined)):
        return
    blobs = Blobs(path.parent / "blobs")
    for line in lines:
        stored = _STORED in line
        if stored or wanted.may_be_in(line):
            record = whole_record(line)
            if record and stored:
                record = replace(record, event=blobs.resolved(record.event)[0])
            if record and (hit := wanted.hit(path, record)):
                yield hit


def _said(record: Record) -> tuple[str, str]:
    match record.event:
        case UserMessage(content, "attachment"):
            return "attached", plain_text(content)
        case UserMessage(content):
            return "you", plain_text(content)
        case AssistantMessage(content):
            return "model", "\n".join(block.text for block in content if isinstance(block, Text))
        case ToolResult(_, name, content):
            return name or "tool", plain_text(content)
        case ToolStarted(_, name, given):
            return name, json.dumps(dict(given), ensure_ascii=False)
        case _:
            return "", ""
