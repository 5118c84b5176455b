"""Gemini CLI's session files: messages hold text, thoughts, and calls with their results.

Older versions write one JSON object. Newer ones write one line per change: a message again whenever it grew, `$set`
for other data, and `$rewindTo` with the first message that was undone. A resumed session is rewritten with calls and
results as parts of the contents, as in the API, and without what else was known of the messages.
"""

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from prunecli.model.codec import canonical, string, well_formed_json
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Block, Json, Text, Thinking, ToolUse, Usage
from prunecli.session.importers.json_rows import Row, Rows
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import (
    MALFORMED,
    Transcript,
    count,
    milliseconds,
    part,
    picture,
    why,
    words,
)
from prunecli.util.regular import open_regular

_SHELL = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n+"
    r"This produced the following result:\n```\n(.*)\n?```\s*",
    re.DOTALL,
)


_SHELL_TOOL = "run_shell_command"
_EXIT = re.compile(
    r"\n(?:Error: [^\n]*\n)?Exit Code: (-?\d+)\n(?:Signal: [^\n]*\n)?(?:Background PIDs: [^\n]*\n)?"
    r"Process Group PGID: \d+(?:\n</untrusted_context>)?\Z"
)
"""The end of a command's output, as Gemini CLI writes it."""
_LOST_ON_RESUME = ("timestamp", "tokens", "thoughts", "model")
_FILES = "--- Content from referenced files ---"
_LONGEST_FOLDER = 4_096
_FILES_END = "--- End of content ---"


def is_gemini_cli(value: Json) -> bool:
    return isinstance(value.get("messages"), list) and "sessionId" in value and "startTime" in value


def is_gemini_row(row: Row) -> bool:
    """Return whether a row is the header of the newer line format."""
    return "sessionId" in row.value and "startTime" in row.value and "projectHash" in row.value


def read_rows(found: Rows) -> Imported:
    """Read the conversation from the newer line format."""
    known: dict[str, Json] = {}
    messages: dict[str, Json] = {}
    first: dict[str, dict[str, Json]] = {}
    for row in found.rows:
        value = row.value
        back = value.get("$rewindTo")
        if isinstance(back, str):
            ids = list(messages)
            for gone in ids[ids.index(back) :] if back in messages else ids:
                del messages[gone]
        elif isinstance(value.get("id"), str):
            grown = {**first.get(value["id"], {}), **value}  # a later line may lack the thoughts
            messages[value["id"]] = first[value["id"]] = grown
        else:
            change = part(value["$set"]) if "$set" in value else value
            began = {"startTime": known["startTime"]} if "startTime" in known else {}  # not of a later resume
            known = {**known, **change, **began}
            if isinstance(change.get("messages"), list):
                given = enumerate(change["messages"])
                named = [(words(part(one).get("id")) or f"message {n}", one) for n, one in given]
                messages = {one: _as_before(said, part(first.get(one))) for one, said in named}
    return read({**known, "messages": list(messages.values())}, found.damaged)


def _as_before(message: Json, before: Mapping[str, Json]) -> Json:
    """Return a message of a rewritten session with what was known of it."""
    if not isinstance(message, dict):
        return message
    return {**message, **{key: before[key] for key in _LOST_ON_RESUME if key in before}}


def read(value: Mapping[str, Json], damaged: Sequence[str] = ()) -> Imported:
    """Read the conversation from the older one-object format."""
    messages = value["messages"]
    model = next((found for one in messages if (found := words(part(one).get("model")))), "")
    started = milliseconds(value.get("startTime")) or 0
    folders = value.get("directories")
    cwd = words(folders[0]) if isinstance(folders, list) and folders else ""
    name = words(value.get("summary"))
    to = Transcript(Origin("gemini-cli", words(value.get("sessionId")), name, cwd, model, started))
    to.damaged += damaged
    for index, message in enumerate(messages):
        try:
            _take(message, to)
        except MALFORMED as error:
            to.damaged.append(f"messages.{index}: {why(error)}")
    return Imported(to.origin, to.records(), to.left_out, tuple(to.damaged))


def _take(message: Json, to: Transcript) -> None:
    when = milliseconds(message.get("timestamp"))
    kind = message.get("type")
    if kind == "user":
        _asked(message["content"], to, when)
    elif kind == "gemini":
        _response(message, to, when)
    else:
        to.skip(f"{words(kind)[:40] or 'unnamed'} messages")


def _asked(content: Json, to: Transcript, when: int | None) -> None:
    """Add content in the user's role: results of calls, a shell command with its output, or typed text.

    Parts that follow a result, such as an image, belong to it. The contents of files that were named with @ become a
    notice, which can be pruned.
    """
    results: list[list[Json]] = []
    typed: list[Block] = []
    attached: list[Block] | None = None
    for one in content if isinstance(content, list) else [{"text": string(content)}]:
        if "functionResponse" in one:
            results.append([one])
        elif results and "inlineData" in one:
            results[-1].append(one)
        elif words(one.get("text")).strip() == _FILES:
            attached = []
        else:
            for block in _said([one], to):
                if isinstance(block, Text) and block.text.startswith("<session_context>"):
                    to.skip("environment notes")
                elif isinstance(block, Text) and (shell := _SHELL.fullmatch(block.text)):
                    to.command(f"!{shell[1]}", shell[2], when)
                elif attached is None:
                    typed += [block] if not isinstance(block, Text) or block.text.strip() else []
                elif not (isinstance(block, Text) and block.text.strip() == _FILES_END):
                    attached.append(block)
    for result in results:
        _answered(result, to, when)
    to.user(typed, when)
    if attached:
        to.notice("Files named in the prompt", attached, when)


def _answered(given: Sequence[Json], to: Transcript, when: int | None) -> None:
    """Add the result of a call, unless the call contains it, as in files of sessions that were not resumed."""
    response = part(given[0]["functionResponse"])
    if not to.has_result(response.get("id")):
        to.result(response.get("id"), _output(given, to), when, is_error=_failed(given))


def _said(content: Json, to: Transcript) -> list[Block]:
    if isinstance(content, str):
        return [Text(string(content))] if content.strip() else []
    blocks: list[Block] = []
    for one in content:
        if isinstance(one.get("text"), str):
            text = string(one["text"])
            blocks.append(Thinking(text, "") if one.get("thought") is True else Text(text))
        elif "inlineData" in one:
            blocks.append(_picture(one["inlineData"], to))
        elif "functionCall" not in one and "functionResponse" not in one:
            to.skip(f"{next(iter(one), 'empty')} parts")
    return blocks


def _picture(given: Json, to: Transcript) -> Block:
    data = part(given)
    return picture(data.get("mimeType"), data.get("data"), to)


def _response(message: Json, to: Transcript, when: int | None) -> None:
    found: list[Block] = [
        Thinking("\n".join(filter(None, (words(one.get("subject")), words(one.get("description"))))), "")
        for one in map(part, message.get("thoughts") or ())
    ]
    found += _said(message.get("content") or "", to)
    calls = [part(one) for one in message.get("toolCalls") or ()]
    uses: list[ToolUse] = []
    known = {call.get("id") for call in calls if isinstance(call.get("id"), str)}
    for call in calls + _calls_among(message.get("content"), known):
        uses.append(to.call(call.get("id"), call["name"], call.get("args") or {}))
    stop = "tool_use" if uses else "end_turn"
    usage = _usage(part(message.get("tokens")))
    to.assistant(
        AssistantMessage((*found, *uses), words(message.get("model")) or to.origin.model, stop, usage), when
    )
    for call in calls:
        failed = call.get("status") in ("error", "cancelled") or _failed(call.get("result"))
        if "result" not in call and call.get("status") == "success":
            continue  # its result is a separate message
        result = _output(call.get("result"), to)
        to.result(call.get("id"), result, milliseconds(call.get("timestamp")), is_error=failed)


def _calls_among(content: Json, known: Container[Json]) -> list[Mapping[str, Json]]:
    """Return the calls in a response's parts that are not yet known."""
    given = [part(part(one).get("functionCall")) for one in content] if isinstance(content, list) else []
    return [call for call in given if call and call.get("id") not in known]


def _failed(result: Json) -> bool:
    for one in result if isinstance(result, list) else ():
        response = part(part(one).get("functionResponse"))
        answer = part(response.get("response"))
        ended = _EXIT.search(words(answer.get("output"))) if response.get("name") == _SHELL_TOOL else None
        if "error" in answer or (ended and int(ended[1]) != 0):
            return True
    return False


def _output(result: Json, to: Transcript) -> list[Block]:
    """Return a tool's output: the text of each function response, and the images in or beside it."""
    texts, images = list[str](), list[Block]()
    for one in result if isinstance(result, list) else ():
        response = part(part(one).get("functionResponse"))
        answer = part(response.get("response"))
        told = answer.get("output", answer.get("error"))
        if isinstance(told, str):
            texts.append(string(told))
        elif answer:
            texts.append(canonical(well_formed_json(answer)).decode())
        inner = response.get("parts")
        for piece in (one, *(inner if isinstance(inner, list) else ())):
            if "inlineData" in part(piece):
                images.append(_picture(piece["inlineData"], to))
    return [Text("\n".join(texts)), *images]


def _usage(value: Json) -> Usage:
    cached = min(count(value.get("cached")), count(value.get("input")))
    output = count(value.get("output")) + count(value.get("thoughts"))
    return Usage(count(value.get("input")) - cached, output, cached, None)


def folder_of(path: Path) -> str:
    """Return the directory in which a session was started, which its file does not name, or the digest of that name.

    Returns "" for a file that is not in a folder of Gemini CLI.
    """
    project = path.absolute().parent.parent
    if path.absolute().parent.name != "chats":
        return ""
    try:
        with open_regular(project / ".project_root") as file:
            return file.read(_LONGEST_FOLDER).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return project.name
