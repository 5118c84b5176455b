"""Searches all sessions: scans the files' bytes and decodes only lines that may match.

Runs in steps, so that results appear early and the search can be stopped.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prunecli.model.events import AssistantMessage, Record, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Text, plain_text
from prunecli.regular import open_regular
from prunecli.session.digest import whole_record

STEP_BYTES = 1 << 18
AROUND = 60
MOST_IN_ONE = 20
"""Maximum hits per session."""


@dataclass(frozen=True, slots=True)
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


def search(paths: Sequence[Path], query: str) -> Iterator[Hit | int]:
    """Yield the hits in these files, in order, interleaved with the number of bytes searched so far.

    All words of the query must appear in one message, output or command, in any case. Unreadable files are skipped.
    """
    words = [word.lower() for word in query.split()]
    needles = [needle for needle in map(_needle, words) if needle]
    done = 0
    for path in paths if words else ():
        try:
            with open_regular(path) as file:
                found = 0
                while found < MOST_IN_ONE and (lines := file.readlines(STEP_BYTES)):
                    done += sum(map(len, lines))
                    for hit in _hits(path, lines, words, needles):
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


def _hits(path: Path, lines: list[bytes], words: Sequence[str], needles: Sequence[bytes]) -> Iterator[Hit]:
    if not all(needle in b"".join(lines).lower() for needle in needles):
        return
    for line in lines:
        low = line.lower()
        if all(needle in low for needle in needles):
            record = whole_record(line)
            if record and (hit := _hit(path, record, words)):
                yield hit


def _hit(path: Path, record: Record, words: Sequence[str]) -> Hit | None:
    who, text = _said(record)
    text = " ".join(text.split())
    low = text.lower()
    if len(low) != len(text):  # lower() changed the length, which would shift positions
        low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    if not all(word in low for word in words):
        return None
    at = low.find(words[0])
    start = max(0, at - AROUND)
    end = at + len(words[0])
    before = "…" if start else ""
    excerpt = before + text[start : end + AROUND] + ("…" if end + AROUND < len(text) else "")
    place = len(before) + at - start
    return Hit(path, record.seq, record.timestamp, who, excerpt, place, place + len(words[0]))


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
