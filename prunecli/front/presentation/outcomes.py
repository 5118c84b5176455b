"""The line of a finished tool call, or of a search that the endpoint ran: state, short outcome and body."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from prunecli.context.again import is_heading
from prunecli.context.render import INTERRUPTED, NO_OUTPUT
from prunecli.context.spill import held_part, held_words
from prunecli.front.presentation.command_outcome import outcome
from prunecli.front.presentation.entries import (
    Diff,
    Entry,
    Level,
    Notice,
    Origin,
    Output,
    Prompt,
    ToolCall,
    ToolState,
)
from prunecli.model.events import Record, RunEnded, ToolResult, UserMessage
from prunecli.model.messages import INVALID_INPUT, Block, Document, Image, Json, Opaque, Text, plain_text
from prunecli.model.notes import ATTACHED
from prunecli.model.searches import error_of, found_by, is_result, is_use, listing, query_of
from prunecli.model.todos import TOOL as TODO
from prunecli.util.figures import counted, in_tokens, money
from prunecli.util.sanitize import shortened, uncolored, uncolored_around

Summarize: TypeAlias = Callable[[str, Mapping[str, Json]], str]
"""(tool name, raw input) -> the call's main argument in one line; "" for an unknown tool."""

OUTCOME_CHARS = 200
"""Maximum characters of an outcome at any width; the screen cuts it further to the available width."""
NOT_RUN = "not run"
_TASK_STATES = {
    "": ToolState.RUNNING,
    "error": ToolState.ERROR,
    "interrupted": ToolState.INTERRUPTED,
}

_LANGUAGES = {
    "yml": "yaml",
    "h": "c",
    "hpp": "cpp",
    "mjs": "js",
    "pyi": "py",
    "txt": "",
    "log": "",
    "lock": "",
}
_ENDED = re.compile(r"\[(exit code \d+|timed out|killed by [^\]]+|ended from outside).*\]")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?(?=[ ,;:.]|$)")
_NAMES = frozenset(("prunecli", "git", "sudo"))


def argument_of(name: str, given: Mapping[str, Json], summarize: Summarize) -> str:
    """Return the argument that identifies a call: its command, else the tool's summary, else the input."""
    command = given.get("command")
    if isinstance(command, str):
        return command
    if INVALID_INPUT in given:
        return str(given[INVALID_INPUT])
    return summarize(name, given) or (json.dumps(dict(given), ensure_ascii=False) if given else "")


def state_of(result: ToolResult) -> ToolState:
    if result.details.get("denied"):
        return ToolState.DENIED
    if result.details.get("interrupted"):
        return ToolState.INTERRUPTED
    return ToolState.ERROR if result.is_error else ToolState.OK


def advice(hint: str) -> str:
    """Return a hint, refusal or reason as a separate line. Names of programs and keys keep their case."""
    first = _WORD.match(hint)
    return hint[:1].upper() + hint[1:] if first and first[0] not in _NAMES else hint


def failure(error: str) -> Notice:
    """Return the notice of a run that failed, from the text in its record."""
    message, _, hint = error.partition("\n")
    return Notice(f"{message}\n{advice(hint)}".strip(), Level.ERROR)


def has_failure(records: Sequence[Record]) -> bool:
    """Return whether one of these records has the error of a failed run, which a transcript shows."""
    return any(isinstance(record.event, RunEnded) and record.event.error for record in records)


def text_of(content: tuple[Block, ...]) -> str:
    """Return the content as text, with a label in place of each image."""
    return "\n".join([_block_text(block) for block in content])


def _block_text(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Image(media_type, _, width, height):
            return f"[{media_type}{f' {width}x{height}' if width else ''}]"
        case Document(media_type, _, pages):
            return f"[{media_type}{', ' * bool(pages)}{counted(pages, 'page') if pages else ''}]"
        case _:
            return ""


def outcome_of(result: ToolResult, command: str = "") -> str:
    """Return the result in a few words, such as "exit 1 · 1 failed, 41 passed", "220 lines" or "+4 −2", and what was
    held back. `command`: of a shell call."""
    if isinstance(dropped := result.details.get("dropped"), int):
        return "changes dropped" if dropped else "not run again"
    held = held_words(result.spilled.shown) if result.spilled else ""
    if held:
        count, _, rest = held.partition(" of ")
        unit = "line" if held.endswith("lines") else "character"
        if unit == "line" and isinstance(result.details.get("last_line"), int):
            whole = rest.partition(" ")[0]  # of the file, of which the tool itself may have read a part
            return f"{_number(whole) - _number(count):,} of {whole} lines sent"
        held = f"{counted(_number(count), unit)} not sent"
    return " · ".join(filter(None, (_outcome(result, command), held)))


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _printed(result: ToolResult) -> str:
    """Return the text of a result, without the colors of a command."""
    text = text_of(result.content)
    return uncolored(text) if "exit_code" in result.details else text


def _printed_in_part(result: ToolResult, shown: str) -> tuple[str, tuple[int, int]]:
    """Return the text of a result of which only a part was sent, and the range of the rest. As in the request, its
    texts come before its images."""
    texts = tuple(block for block in result.content if isinstance(block, Text))
    others = tuple(block for block in result.content if not isinstance(block, Text))
    text = text_of(texts)
    held = held_part(text, shown)
    if "exit_code" in result.details:
        text, held = uncolored_around(text, held)
    return "\n".join(filter(None, (text, text_of(others)))), held


def _outcome(result: ToolResult, command: str) -> str:
    details, text = result.details, _printed(result)
    state = state_of(result)
    if state in (ToolState.DENIED, ToolState.INTERRUPTED):
        return NOT_RUN if details.get("started") is False else ""
    if (
        isinstance(task := details.get("task"), dict)
        and all(isinstance(task.get(key), int | float) for key in ("calls", "tokens", "cost_usd"))
        and not result.is_error
    ):
        return f"{counted(task['calls'], 'call')} · {in_tokens(task['tokens'])} · {money(task['cost_usd'])}"
    if "added" in details and "removed" in details:
        return f"+{details['added']} −{details['removed']}"
    if isinstance(job := details.get("job"), dict):
        return f"job {job.get('number')}"
    for key in ("answer", "job_state"):
        if isinstance(details.get(key), str):
            return _brief(details[key])
    if "exit_code" in details:
        return _command_outcome(details, command, text)
    if isinstance(promised := details.get("prun"), dict) and isinstance(promised.get("exchanges"), list):
        return counted(
            len(promised["exchanges"]), "exchange"
        )  # the line of the prune itself shows the tokens
    if result.is_error or "prun" in details:
        return _brief(text.split("\n", 1)[0])
    for key, one in (("matches", "match"), ("paths", "path"), ("names", "name"), ("pages", "page")):
        if isinstance(details.get(key), int):
            return counted(details[key], one)
    if isinstance(details.get("width"), int):
        return f"{details['width']}x{details.get('height')}"
    if isinstance(details.get("last_line"), int) and isinstance(details.get("first_line"), int):
        return counted(max(0, details["last_line"] - details["first_line"] + 1), "line")
    return _otherwise(result, command, text)


def _otherwise(result: ToolResult, command: str, text: str) -> str:
    if command and result.tool_name == "bash":  # of an imported session, without the exit code
        return _brief(outcome(command, text, is_failed=result.is_error))
    return "" if result.tool_name == TODO else _size(text)  # the line of a to-do list shows its size


def attached_entry(message: UserMessage, tokens: int | None, summarize: Summarize) -> ToolCall:
    read = message.attached
    if read is None:
        label = plain_text(message.content[:1]).removeprefix(ATTACHED).removesuffix("]")
        return ToolCall("attached", label, ToolState.OK, tokens=tokens)
    result = ToolResult("", read.tool_name, message.content[1:], details=read.details, spilled=read.spilled)
    argument = argument_of(read.tool_name, read.input, summarize)
    return ToolCall(
        "attached", argument, ToolState.OK, outcome_of(result), tokens=tokens, body=body_of(result)
    )


def _command_outcome(details: Mapping[str, Json], command: str, text: str) -> str:
    """Return what came of a command, and its exit status if it failed."""
    said = _brief(outcome(command, text, is_failed=bool(details["exit_code"])))
    if details.get("timed_out"):
        ended = "timed out"
    elif details["exit_code"] is None:
        ended = "ended from outside"
    else:
        ended = f"exit {details['exit_code']}" if details["exit_code"] else ""
    return " · ".join(part for part in (ended, "" if said == NO_OUTPUT and ended else said) if part)


def of_command(text: str) -> tuple[ToolState, str]:
    """Return the state and line count of a user command, from its text alone.

    The last line of a failed command's text describes the end in brackets.
    """
    lines = [] if is_no_output(text) else text.rstrip("\n").split("\n")
    if lines[-1:] == [INTERRUPTED]:
        return ToolState.INTERRUPTED, ""
    ended = _ENDED.fullmatch(lines[-1]) if lines else None
    said = counted(len(lines) - bool(ended), "line") if len(lines) > bool(ended) else "no output"
    return (ToolState.ERROR, f"{ended[1].replace(' code', '')} · {said}") if ended else (ToolState.OK, said)


def is_no_output(text: str) -> bool:
    return text.strip() in ("", NO_OUTPUT)


def restored(output: ToolCall, event: UserMessage) -> ToolCall:
    """Return the entry of what a `/restore` shows again. Lines that name the entries do not count."""
    headings = [block for block in event.content[1:] if isinstance(block, Text) and is_heading(block.text)]
    lines = text_of(event.content[1:]).rstrip("\n").count("\n") + 1
    size = counted(lines - len(headings), "line")
    return replace(output, name="restored", state=ToolState.OK, outcome=size, folded=True)


def _size(text: str) -> str:
    text = text.removesuffix("\n")
    count = text.count("\n") + 1 if text else 0
    return _brief(text) if count <= 1 and len(text) <= OUTCOME_CHARS else counted(count, "line")


def _brief(line: str) -> str:
    return shortened(" ".join(line.split()), OUTCOME_CHARS)


def body_of(result: ToolResult) -> Output | Diff | None:
    """Return the content shown below the line: the diff of a change, or else the text."""
    details = result.details
    if details.get("denied") and "dropped" not in details:
        reason = details.get("reason")  # the user's reason or a rule's; without one, the line is enough
        if not isinstance(reason, str) or not reason:
            return None
        is_ours = text_of(result.content).startswith("Not allowed: ")
        return Output(advice(reason) if is_ours else reason)
    path = details.get("path")
    diff = details.get("diff")
    if isinstance(diff, str) and diff:
        remarks = details.get("remarks")  # what language servers say of it
        lines = remarks.split("\n") if isinstance(remarks, str) and remarks else []
        return Diff("\n\\ ".join([diff, *lines]), path if isinstance(path, str) else "")
    text, held = _printed(result), (0, 0)
    if result.spilled:
        text, held = _printed_in_part(result, result.spilled.shown)
    if is_no_output(text):
        return None
    language = _language(path) if isinstance(path, str) and not result.is_error else ""
    return Output(text, language, held if held[1] > held[0] else None)


def _language(path: str) -> str:
    """Return the file extension, which Pygments nearly always accepts as a language."""
    _, dot, extension = path.rsplit("/", 1)[-1].rpartition(".")
    extension = extension.lower() if dot else ""
    return _LANGUAGES.get(extension, extension)


def doing(call: ToolCall, text: str, now: str, ended: str) -> ToolCall:
    """Return the entry of a task without a result: its line shows the current activity, and its fold the last lines.
    `ended` is the reason of its end, "" while it runs."""
    state = _TASK_STATES.get(ended, ToolState.OK)
    return replace(call, state=state, outcome=now, body=Output(text) if text else None, folded=True)


def typed_entry(words: str) -> Prompt | Notice:
    """Return the entry of a command: `!ls`, another program's command such as `/context`, or a notice title in
    brackets."""
    if words.startswith("[") and words.endswith("]"):
        return Notice(words[1:-1])
    origin = Origin.SHELL if words.startswith("!") else Origin.PROMPT
    return Prompt(words.removeprefix("!").strip(), origin)


def notice_entry(title: str, text: str, tokens: int | None) -> ToolCall:
    body = Output(text) if text.strip() else None
    return ToolCall("notice", title, ToolState.OK, tokens=tokens, body=body, folded=True)


def sent_entry(text: str, tokens: int | None) -> ToolCall:
    """Return the entry below a typed custom command: the prompt that it sent."""
    return ToolCall("sent", "", ToolState.OK, _size(text), tokens=tokens, body=Output(text), folded=True)


def search_call(block: Block) -> tuple[str, ToolCall] | None:
    """Return the id and the entry of a call that the endpoint runs; None for any other block."""
    if not isinstance(block, Opaque) or not is_use(block):
        return None
    name = str(block.json.get("name") or "search")
    return str(block.json.get("id") or ""), ToolCall(name, query_of(block.json), ToolState.WAITING)


def search_result(block: Block) -> tuple[str, Mapping[str, Json]] | None:
    """Return the id of the call that a block answers, and the block; None for any other block."""
    if not isinstance(block, Opaque) or not is_result(block):
        return None
    return str(block.json.get("tool_use_id") or ""), block.json


def answered_search(call: Entry | None, value: Mapping[str, Json]) -> ToolCall:
    name, argument = (call.name, call.argument) if isinstance(call, ToolCall) else ("search", "")
    error = error_of(value)
    outcome = error or counted(len(found_by(value)), "result")
    state = ToolState.ERROR if error else ToolState.OK
    return ToolCall(name, argument, state, outcome, body=Output(listing(value)))
