"""A Jupyter notebook: its cells as text for the model, and edits of cells that keep every other byte.

Reads the formats 3 and 4. An edit replaces the cell's source in the file's JSON text, so that indentation, key order
and anything unknown stay.
"""

import binascii
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prunecli.tools.files.encoding import UTF_8, encoding_of
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

HINT = (
    "[edit quotes a cell's text; its [cell …] line before the text names the cell; a new line [cell: markdown] or "
    "[cell: code] begins another one; an empty new_string for a whole cell with its line deletes it]"
)
MAX_OUTPUT = 2_000
"""Characters of one output that are shown."""

_HEAD = re.compile(r"^\[cell(?: (\d+))?(?:: (\w+)[^\]\n]*)?\](?:\n|\Z)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_OLD_TYPES = {"text": "text/plain", "png": "image/png", "jpeg": "image/jpeg", "html": "text/html"}
_READABLE = ("text/plain", "text/markdown", "text/latex", "text/html", "application/json")


class _Place(NamedTuple):
    start: int
    end: int


@frozen
class Cell:
    """A cell with the place of its whole object and of its source in the file's text."""

    number: int
    kind: str
    source: str
    raw: Mapping[str, Any]
    place: _Place
    written: _Place

    @property
    def head(self) -> str:
        count = self.raw.get("execution_count", self.raw.get("prompt_number"))
        return f"[cell {self.number}: {self.kind}{f', run {count}' if type(count) is int else ''}]"


def is_notebook_name(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def cells_of(data: bytes) -> list[Cell]:
    """Return the cells of a notebook, none for anything else."""
    text = _text(data)
    try:
        root = _object(text, _after_space(text, 0))
        lists = [root["cells"]] if "cells" in root else []
        for sheet in [] if lists else _members(text, root["worksheets"].start):
            lists.append(_object(text, sheet[1].start)["cells"])
        places = [place for one in lists for _, place in _members(text, one.start)]
        return [_cell(text, number, place) for number, place in enumerate(places, 1)]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def _text(data: bytes) -> str:
    return encoding_of(data).decode(data) if encoding_of(data).codec == UTF_8.codec else ""


def _cell(text: str, number: int, place: _Place) -> Cell:
    raw, fields = json.loads(text[place.start : place.end]), _object(text, place.start)
    written = fields["source" if "source" in fields else "input"]
    source = _joined(json.loads(text[written.start : written.end]))
    return Cell(number, str(raw["cell_type"]), source, raw, place, written)


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


# JSON by place -----------------------------------------------------------------------------------------------


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> Iterator[tuple[str, _Place]]:
    """Yield the keys and places of the values in the object or list that begins here. Raises ValueError."""
    if text[at] not in "{[":
        raise ValueError("neither an object nor a list")
    keyed, decoder = text[at] == "{", json.JSONDecoder()
    at = _after_space(text, at + 1)
    while text[at] not in "}]":
        key = ""
        if keyed:
            key, at = decoder.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        _, end = decoder.raw_decode(text, at)
        yield key, _Place(at, end)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _object(text: str, at: int) -> dict[str, _Place]:
    return dict(_members(text, at))


# For the model -----------------------------------------------------------------------------------------------


def shown(cells: Sequence[Cell]) -> tuple[str, list[bytes]]:
    """Return the cells with their outputs, shortened, as text; and the images that `[image 1: …]` and so on name."""
    parts, images = list[str](), list[bytes]()
    for cell in cells:
        parts += [cell.head, cell.source]
        outputs = cell.raw.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            if isinstance(output, dict):
                parts += [f"[output of cell {cell.number}]", _output(output, images)]
    return "\n".join(part.removesuffix("\n") for part in parts if part) + "\n", images


def sources(data: bytes) -> str:
    """Return the text of the cells without outputs, for a diff."""
    return "\n".join(f"{cell.head}\n{cell.source}" for cell in cells_of(data))


def _output(output: Mapping[str, Any], images: list[bytes]) -> str:
    """Return an output as text; an image is added to the images."""
    if output.get("output_type") in ("error", "pyerr"):
        trace = "\n".join(map(str, output.get("traceback") or ()))
        return _shortened(trace or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    if not isinstance(data, dict):
        data = {_OLD_TYPES.get(key, key): value for key, value in output.items() if key in _OLD_TYPES}
    for kind in ("image/png", "image/jpeg", "image/gif"):
        if kind in data:
            try:
                images.append(binascii.a2b_base64(_joined(data[kind])))
            except ValueError:
                return f"[{kind}, damaged]"
            return f"[image {len(images)}: {kind}, {len(images[-1]):,} bytes]"
    kind = next((one for one in _READABLE if one in data), "")
    value = data.get(kind)
    text = json.dumps(value) if kind == "application/json" else _joined(value)
    return _shortened(text) if kind else "".join(f"[{one}]" for one in data)


def _shortened(text: str) -> str:
    text = _STYLE.sub("", text)
    left_out, half = len(text) - MAX_OUTPUT, MAX_OUTPUT // 2
    return text if left_out <= 0 else f"{text[:half]}\n[… {left_out:,} characters left out …]\n{text[-half:]}"


# Edits -------------------------------------------------------------------------------------------------------


def edited(data: bytes, old: str, new: str, *, everywhere: bool) -> tuple[bytes, int] | None:
    """Return the notebook with `old` replaced in its cells, and the number of places; None if no cell has it.

    Raises ToolError if several places have it.
    """
    cells, text = cells_of(data), _text(data)
    head = _HEAD.match(old)
    named = [cell for cell in cells if head and head[1] == str(cell.number)]
    if head and named:
        new = new.removeprefix(head[0]) if new else new
        old = old[head.end() :]
        if not new and old.removesuffix("\n") == named[0].source.removesuffix("\n"):
            return _encoded(data, _without(text, cells, named[0])), 1
    found = [(cell, cell.source.count(old) if old else int(not cell.source)) for cell in named or cells]
    found = [(cell, count) for cell, count in found if count]
    total = sum(count for _, count in found)
    if total > 1 and not everywhere:
        where = ", ".join(str(cell.number) for cell, _ in found[:10])
        raise ToolError(
            f"old_string matches {total} places (cells {where}). Begin it with the [cell …] line of the one you "
            "mean, give more of its text, or set replace_all."
        )
    for cell, _ in reversed(found):
        source, *more = _split(cell.source.replace(old, new) if old else new)
        added = "".join(_new_cell(text, cells, cell, kind, lines) for kind, lines in more)
        text = text[: cell.place.end] + added + text[cell.place.end :]
        start, end = cell.written
        text = text[:start] + _written(text, start, end, source[1]) + text[end:]
    return (_encoded(data, text), total) if total else None


def _encoded(data: bytes, text: str) -> bytes:
    return encoding_of(data).mark + text.encode()


def _split(source: str) -> list[tuple[str, str]]:
    """Split a new source at the lines that begin other cells, into kinds and texts."""
    pieces = [("", 0, 0)]
    pieces += [
        (head[2], head.start(), head.end())
        for head in _HEAD.finditer(source)
        if head[2] in ("code", "markdown", "raw") and not head[1]
    ]
    ends = [start for _, start, _ in pieces[1:]] + [len(source)]
    texts = [source[begin:end] for (_, _, begin), end in zip(pieces, ends, strict=True)]
    cut = [text.removesuffix("\n") for text in texts[:-1]] + texts[-1:]
    return [(kind, text) for (kind, _, _), text in zip(pieces, cut, strict=True)]


def _indent(text: str, at: int) -> str:
    """Return the line break and indentation before the line of a place, "" in a file of one line."""
    line = text.rfind("\n", 0, at)
    if line < 0:
        return ""
    start = line - (text[line - 1 : line] == "\r")
    return text[start : _after_space(text, line)]


def _unit(text: str) -> str:
    found = re.match(r"\s*\{\r?\n([ \t]+)", text)
    return found[1] if found else ""


def _written(text: str, start: int, end: int, source: str) -> str:
    """Return a source as JSON in the form of the one it replaces: a string, or a list of lines."""
    ascii_only = text.isascii()
    if text[start] == '"':
        return json.dumps(source, ensure_ascii=ascii_only)
    kept = {text[one.start : one.end] for _, one in _members(text, start)}
    known = {json.loads(one): one for one in kept if one.startswith('"')}
    lines = re.findall(r"[^\n]*\n|[^\n]+", source)
    written = [known.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    outer = _indent(text, start)
    inner = outer + _unit(text)
    first = text[start + 1 : _after_space(text, start + 1)]
    if kept:
        inner, outer = first, text[len(text[: end - 1].rstrip()) : end - 1]
    between = "," + (inner or (" " if '": ' in text else ""))
    return f"[{inner}{between.join(written)}{outer}]" if written else "[]"


def _new_cell(text: str, cells: Sequence[Cell], cell: Cell, kind: str, source: str) -> str:
    """Return the JSON of a cell behind another one, with the comma before it."""
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}}
    if any("id" in one.raw for one in cells):
        made["id"] = secrets.token_hex(4)
    if kind == "code":
        made |= {"execution_count": None, "outputs": []}
    if "input" in cell.raw:
        raise ToolError("Cells can be added only to notebooks of format 4.")
    made["source"] = re.findall(r"[^\n]*\n|[^\n]+", source)
    unit, outer = _unit(text), _indent(text, cell.place.start)
    dumped = json.dumps(made, indent=unit or None, ensure_ascii=text.isascii(), sort_keys=True)
    return f",{outer or ' '}" + dumped.replace("\n", outer or "\n")


def _without(text: str, cells: Sequence[Cell], cell: Cell) -> str:
    """Return the text without a cell and one of the commas around it."""
    at = cells.index(cell)
    start, end = cell.place
    following = _after_space(text, end)
    if text[following] == ",":
        end = _after_space(text, following + 1)
    elif at and text[:start].rstrip().endswith(","):
        start = cells[at - 1].place.end
    return text[:start] + text[end:]
