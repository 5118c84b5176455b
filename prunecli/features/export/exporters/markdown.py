"""Exports a session as Markdown: prompts as quotes, results and thinking in fenced blocks, with prunes marked.

A viewer cannot run any content: HTML is escaped, and every fence is closed.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from prunecli.context.spill import held_words
from prunecli.features.export.exporters.report import (
    Reported,
    Story,
    argument,
    placeholder,
    story,
    task_words,
)
from prunecli.model.events import AssistantMessage, Record
from prunecli.model.messages import Json, Opaque, Text, Thinking, ToolUse
from prunecli.model.searches import is_result, is_use
from prunecli.util.sanitize import one_line, shortened, source

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TAG = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|<(?=[a-zA-Z/!?])")
_LONGEST_HEAD = 100


def write(records: Sequence[Record]) -> str:
    return "\n".join(_lines(story(records))) + "\n"


def _lines(report: Story) -> Iterator[str]:
    yield f"# {_heading(report.title)}"
    yield ""
    for name, value in report.facts:
        yield f"- {name}: {_code(value)}"
    yield ""
    for entry in report.entries:
        yield from _entry(entry)


def _entry(report: Reported) -> Iterator[str]:
    entry = report.entry
    match entry.kind:
        case "user" | "command":
            yield f"## User · {report.when}"
            yield ""
            yield from _spoken_by_user(report)
        case "assistant":
            model = entry.event.model if isinstance(entry.event, AssistantMessage) else ""
            yield f"## Assistant · {report.when}" + (f" · {_heading(model)}" if model else "")
            yield ""
            yield from _mark(report)
            yield from _response(report)
        case "result":
            failed = " (failed)" if entry.is_error else ""
            about = _code(argument(dict(entry.call.input))) if entry.call else ""
            yield f"**Result of {_code(entry.tool_name)}{failed}** {about}".rstrip()
            if task := task_words(entry):
                yield f"({_heading(task)})"
            yield ""
            yield from _mark(report)
            yield from _fenced("\n".join(_texts(report)))
        case _:
            yield f"## Summary · {report.when}"
            yield ""
            yield from _mark(report)
            yield from _prose(entry.text)
            yield ""


def _mark(report: Reported) -> Iterator[str]:
    if report.fate:
        yield f"> ✂ pruned: {_heading(report.fate)}" + ("; the model sees:" if report.instead else "")
        yield ""
        if report.instead:
            yield from _fenced(report.instead)
    elif report.entry.spilled:
        yield f"> not sent to the model: {held_words(report.entry.text) or 'a part'}"
        yield ""


def _spoken_by_user(report: Reported) -> Iterator[str]:
    yield from _mark(report)
    if report.entry.kind == "command":
        yield from (f"> {_code(typed)}" for typed in report.entry.typed)
        yield ""
        yield from _fenced(report.entry.text)
        for word in filter(None, map(placeholder, report.content[1:])):
            yield word
            yield ""
        return
    for text in _texts(report):
        yield from (f"> {line}".rstrip() for line in _prose(text))
    yield ""


def _response(report: Reported) -> Iterator[str]:
    for block in report.content:
        match block:
            case Text(text) if text.strip():
                yield from _prose(text.strip("\n"))
                yield ""
            case Thinking(thinking) if thinking.strip():
                yield "*Thinking*"
                yield ""
                yield from _fenced(thinking)
            case ToolUse(_, name, given):
                yield f"**{_code(name)}** {_code(argument(dict(given)))}".rstrip()
                yield ""
                if not _is_told(given):
                    yield from _fenced(json.dumps(given, ensure_ascii=False, indent=1), "json")
            case Opaque() if word := placeholder(block):
                yield _heading(word) if is_use(block) or is_result(block) else word
                yield ""
            case _ if word := placeholder(block):
                yield word
                yield ""


def _is_told(given: Mapping[str, Json]) -> bool:
    """Return whether the heading shows everything in a call's input."""
    said = argument(dict(given))
    others = [value for name, value in given.items() if value != said and name != "description"]
    return not others and "\n" not in said and len(said) <= _LONGEST_HEAD


def _texts(report: Reported) -> list[str]:
    texts = [block.text if isinstance(block, Text) else placeholder(block) for block in report.content]
    return [text for text in texts if text]


def _heading(text: str) -> str:
    """Format text as one line without markup."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", one_line(text.replace("\t", " ").strip()))


def _code(text: str) -> str:
    """Return a code span of one line; "" for empty text."""
    line = shortened(one_line(text.replace("\t", " ").strip().split("\n")[0]), _LONGEST_HEAD)
    if not line:
        return ""
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", line)), default=0))
    pad = " " if "`" in line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _fenced(text: str, language: str = "") -> Iterator[str]:
    """Yield a fenced block that nothing in the text can close."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    yield f"{ticks}{language}"
    yield from source(text).rstrip("\n").split("\n")
    yield ticks
    yield ""


def _prose(text: str) -> Iterator[str]:
    """Yield Markdown from other sources, with HTML escaped and the last fence closed."""
    fence = ""
    for line in source(text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            yield line
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            yield line
        else:
            yield _TAG.sub(lambda found: found[0] if found[1] else "\\<", line)
    if fence:
        yield fence
