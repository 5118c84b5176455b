"""What JSON is this body? Strict, and a message that is known from an earlier body is not parsed again.

Refused: invalid UTF-8, lone surrogates, NaN and Infinity, duplicate keys, anything after the object. The messages
are split off one by one, so that a request that repeats the previous one costs what is new in it.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tests.endpoint.shape import Json, RefusedError

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<high>u[dD][89abAB])|(?P<low>u[dD][c-fC-F])|.)",
    re.DOTALL,
)
_NOT_JSON = "The request body is not valid JSON: "

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Fresh:
    """A message that was not in the earlier body."""

    value: Json


@dataclass(frozen=True, slots=True)
class Places:
    """Where the messages of a body stand in its text: `starts[i]:ends[i]` is message i."""

    text: str = ""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known(Generic[P]):
    """An earlier body: where its messages stood, and what became of each."""

    places: Places
    pieces: list[P]


@dataclass(frozen=True, slots=True)
class Body(Generic[P]):
    """A parsed body. `messages` is None when there are none or they are no list; then `fields` holds the value.
    A message is the piece of the earlier body that it repeats, or fresh."""

    fields: Mapping[str, Json]
    messages: list[P | Fresh] | None
    places: Places


def _no_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedError("", f"{_NOT_JSON}duplicate key {json.dumps(twice)}")
    return found


def _no_constant(name: str) -> Json:
    raise RefusedError("", f"{_NOT_JSON}unexpected constant {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def parse_body(body: bytes, known: Known[P] | None) -> Body[P]:
    """Parse a body; `known` is an earlier one. Raises RefusedError with the words of the real service."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"str is not valid UTF-8: {error.reason} (byte {error.start})"
        raise RefusedError("", _NOT_JSON + reason) from None
    try:
        return _Reader(text, known).body()
    except json.JSONDecodeError as error:
        raise RefusedError("", f"{_NOT_JSON}{error}") from None
    except RecursionError:
        raise RefusedError("", f"{_NOT_JSON}recursion limit exceeded") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise RefusedError("", f"{_NOT_JSON}{error}") from None


class _Reader(Generic[P]):
    def __init__(self, text: str, known: Known[P] | None):
        self._text = text
        self._known = known
        self._places = Places(text)
        self._index: dict[str, int] | None = None
        self._at = 0

    def body(self) -> Body[P]:
        self._space()
        if not self._peek("{"):
            self._value()
            raise RefusedError("", "Input should be a valid dictionary")
        fields: dict[str, Json] = {}
        messages: list[P | Fresh] | None = None
        self._step("{")
        while not (self._peek("}") and not fields and messages is None):
            key = self._key()
            if key in fields or (key == "messages" and messages is not None):
                raise RefusedError("", f"{_NOT_JSON}duplicate key {json.dumps(key)}")
            if key == "messages" and self._peek("["):
                messages = self._messages()
            else:
                fields[key] = self._value()
            self._space()
            if not self._peek(","):
                break
            self._step(",")
        self._step("}")
        if self._at != len(self._text):
            raise json.JSONDecodeError("unexpected content after document", self._text, self._at)
        return Body(fields, messages, self._places)

    def _key(self) -> str:
        if not self._peek('"'):
            raise json.JSONDecodeError(
                "Expecting property name enclosed in double quotes", self._text, self._at
            )
        key = self._value()
        self._space()
        self._step(":")
        return str(key)

    def _messages(self) -> list[P | Fresh]:
        found: list[P | Fresh] = []
        self._step("[")
        expected = 0  # which message of the earlier body may come next
        strange = False  # whether the last one was none of them
        while not (self._peek("]") and not found):
            count = self._repeated(expected)
            if count:
                found.extend(self._repeat(expected, count))
                expected += count
                strange = False
            else:
                message, expected = self._message(expected, strange)
                found.append(message)
                strange = True
            self._space()
            if not self._peek(","):
                break
            self._step(",")
        self._step("]")
        return found

    def _repeated(self, first: int) -> int:
        """How many messages of the earlier body, from `first` on, stand here word for word."""
        if self._known is None or first >= len(self._known.pieces):
            return 0
        old = self._known.places
        start = old.starts[first]

        def differs(last: int) -> bool:
            return not self._text.startswith(old.text[start : old.ends[last]], self._at)

        return bisect_left(range(first, len(old.ends)), True, key=differs)

    def _repeat(self, first: int, count: int) -> list[P]:
        if self._known is None:
            return []
        old, last = self._known.places, first + count
        moved = self._at - old.starts[first]
        self._places.starts.extend([start + moved for start in old.starts[first:last]])
        self._places.ends.extend([end + moved for end in old.ends[first:last]])
        self._at = self._places.ends[-1]
        return self._known.pieces[first:last]

    def _message(self, expected: int, strange: bool) -> tuple[P | Fresh, int]:
        """The next message, and which message of the earlier body may follow it. After a strange one it is looked
        for everywhere: messages were dropped or added."""
        start = self._at
        value = self._value()
        self._places.starts.append(start)
        self._places.ends.append(self._at)
        if strange and self._known is not None and expected < len(self._known.pieces):
            again = self._find(self._text[start : self._at], self._known.places)
            if again is not None:
                return self._known.pieces[again], again + 1
        return Fresh(value), expected + 1

    def _find(self, raw: str, old: Places) -> int | None:
        """Where a message stood before."""
        if self._index is None:
            spans = zip(old.starts, old.ends, strict=True)
            self._index = {old.text[start:end]: place for place, (start, end) in enumerate(spans)}
        return self._index.get(raw)

    def _value(self) -> Json:
        start = self._at
        value, self._at = _DECODER.raw_decode(self._text, start)
        if _SURROGATE.search(self._text, start, self._at):
            self._refuse_lone_surrogates(start)
        return value

    def _refuse_lone_surrogates(self, start: int) -> None:
        for escape in _ESCAPE.finditer(self._text, start, self._at):
            if escape["high"]:
                raise json.JSONDecodeError("no low surrogate in string", self._text, escape.start())
            if escape["low"]:
                raise json.JSONDecodeError("invalid high surrogate in string", self._text, escape.start())

    def _peek(self, character: str) -> bool:
        return self._text.startswith(character, self._at)

    def _step(self, character: str) -> None:
        """Over this character and the space behind it."""
        if not self._peek(character):
            raise json.JSONDecodeError(f"Expecting '{character}' delimiter", self._text, self._at)
        self._at += 1
        self._space()

    def _space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
