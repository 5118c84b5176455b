"""Codex's rollout files: response_item records hold the conversation, event_msg records usage and rollbacks.

Codex writes each response as separate items; all items up to the next result or user message form one response. A
file without messages among its items is read from the `item_completed` events, which otherwise repeat them.
"""

import re
from collections.abc import Iterable, Mapping

from prunecli.model.codec import canonical, strict_loads, string, well_formed_json
from prunecli.model.events import AssistantMessage, Rewound
from prunecli.model.messages import Block, Json, Text, Thinking, ToolUse, Usage
from prunecli.session.importers.anthropic_blocks import blocks
from prunecli.session.importers.json_rows import Row, Rows
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import (
    MALFORMED,
    Transcript,
    count,
    milliseconds,
    part,
    picture,
    summarized,
    why,
    words,
)

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_OF_THE_PROGRAM = re.compile(
    r"\s*(?:<environment_context>|<user_instructions>|<INSTRUCTIONS>|# AGENTS\.md instructions for )"
)
_TOLD_TWICE = ("user_message", "agent_message", "agent_reasoning", "token_count")
_ENDED = ("item_completed", "exec_command_end", "patch_apply_end", "mcp_tool_call_end")
"""Events that say how a call ended."""
_BETWEEN_TURNS = ("task_started", "turn_aborted")
"""Events after which another response begins, even if the last one has no usage: a subagent's copy of a call."""
_EXIT = re.compile(
    r"(?:Chunk ID: \w+\nWall time: [\d.]+ seconds\nProcess exited with code|Exit code:) (-?\d+)\n"
)
"""The lines that Codex puts above the output of a command."""
_UNSUPPORTED = re.compile(r"unsupported (?:custom tool )?call: \S+")
_SHELL = re.compile(
    r"\s*<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*<result>\n?(.*?)\n?</result>", re.DOTALL
)
_NOTICE = re.compile(
    r"\s*<(turn_aborted|subagent_notification|skill|hook_prompt|user_action|goal_context|recommended_plugins)\b"
)
_AROUND_IMAGE = re.compile(r"<image(?: name=[^>]*)?>|</image>")
"""The tags that Codex puts around an attached image."""
_DATA_URL = re.compile(r"data:([a-z]+/[a-z.+-]+);base64,(.*)", re.DOTALL)


def is_codex(row: Row) -> bool:
    return row.value.get("type") in _TYPES and isinstance(row.value.get("payload"), dict)


def read(found: Rows) -> Imported:
    reader = Reader(Transcript(_origin(found.rows)), from_events=not any(map(_is_message, found.rows)))
    reader.to.damaged += found.damaged
    for row in found.rows:
        try:
            reader.take(row)
        except MALFORMED as error:
            reader.to.damaged.append(f"{row.place}: {why(error)}")
    reader.flush()
    to = reader.to
    return Imported(to.origin, to.records(), to.left_out, tuple(to.damaged))


def _is_message(row: Row) -> bool:
    item = part(row.value.get("payload"))
    return row.value.get("type") == "response_item" and item.get("type") == "message"


def _origin(rows: Iterable[Row]) -> Origin:
    session = cwd = model = ""
    started = 0
    for row in rows:
        payload = part(row.value.get("payload"))
        if row.value.get("type") == "session_meta" and not session:
            session, cwd = words(payload.get("id")), words(payload.get("cwd"))
            started = milliseconds(payload.get("timestamp") or row.value.get("timestamp")) or 0
        elif row.value.get("type") == "session_meta" and payload.get("id") == session:  # before a revert
            began = milliseconds(payload.get("timestamp")) or started
            started = min(started, began)
        elif row.value.get("type") == "turn_context":
            model = words(payload.get("model")) or model
    return Origin("codex", session, "", cwd, model, started)


class Reader:
    """A converter from records to events. `_content` collects the current response."""

    def __init__(self, to: Transcript, *, from_events: bool = False) -> None:
        self.to = to
        self._from_events = from_events
        self._open: list[str] = []
        """Scripts that run now: a command's failure is reported under an id of its own."""
        self._spoken = ""
        self._content: list[Block] = []
        self._when: int | None = None
        self._model = ""
        self._response: int | None = None
        self._turns: list[int] = []
        self._failed = set[Json]()
        self._total: Mapping[str, Json] = {}

    def take(self, row: Row) -> None:
        """Add a record. Raises one of MALFORMED if the record is malformed."""
        when, payload = milliseconds(row.value.get("timestamp")), part(row.value.get("payload"))
        match row.value.get("type"):
            case "response_item":
                self._item(payload, when)
            case "event_msg":
                self._event(payload, when)
            case "token_usage_record":
                self._used(part(payload.get("usage")))
            case "turn_context":
                self._model = words(payload.get("model")) or self._model
            case "compacted":
                self._compacted(payload, when)
            case "session_meta":
                pass
            case kind:
                self.to.skip(words(kind)[:40] or "records without a type")

    def flush(self) -> None:
        if self._content:
            calls = any(isinstance(block, ToolUse) for block in self._content)
            stop = "tool_use" if calls else "end_turn"
            message = AssistantMessage(tuple(self._content), self._model, stop)
            self._response = self.to.assistant(message, self._when)
            self._content = []

    def _item(self, item: Json, when: int | None) -> None:
        match item.get("type"):
            case "message":
                self._message(item, when)
            case "reasoning":
                self._grow([Thinking(text, "")] if (text := _reasoning(item)) else [], when)
                if item.get("encrypted_content"):
                    self.to.skip("encrypted reasoning")
            case "function_call":
                given = item.get("arguments")
                self._grow([self.to.call(item.get("call_id"), item["name"], _arguments(given))], when)
            case "custom_tool_call":
                name, given = item["name"], item.get("input")
                self._open += [words(item.get("call_id"))] * (name == "exec")
                # In code mode, `exec` runs JavaScript. Elsewhere, a tool of this name runs shell commands.
                self._grow([self.to.call(item.get("call_id"), name, given, rename=name != "exec")], when)
            case "local_shell_call":
                call = item.get("call_id") or item.get("id")
                command = {"command": part(item.get("action")).get("command")}
                self._grow([self.to.call(call, "local_shell_call", command)], when)
            case "function_call_output" | "custom_tool_call_output":
                self.flush()
                output = item.get("output")
                self._open = [call for call in self._open if call != item.get("call_id")]
                failed = item.get("call_id") in self._failed or _failed(output)
                self.to.result(item.get("call_id"), self._output(output), when, is_error=failed)
            case "tool_search_call" if item.get("call_id"):
                self._grow([self.to.call(item["call_id"], "tool_search", item.get("arguments"))], when)
            case "tool_search_output" if item.get("call_id"):
                self.flush()
                tools = canonical(well_formed_json(item.get("tools"))).decode()
                self.to.result(item["call_id"], (Text(tools),), when)
            case "agent_message" | "inter_agent_message":  # of another agent, such as a subagent's answer
                self.flush()
                author = (words(item.get("author")) or words(item.get("from")))[:80] or "an agent"
                if content := self._said(item.get("content") or ""):
                    self.to.notice(f"message from {author}", content, when)
            case kind:
                self.to.skip(f"{words(kind)[:40] or 'unnamed'} items")

    def _grow(self, content: list[Block], when: int | None) -> None:
        if content and not self._content:
            self._when = when
        self._content += content

    def _message(self, item: Json, when: int | None) -> None:
        content = self._said(item["content"])
        typed = _typed(item)
        if len(typed) != len(content):
            typed = [None] * len(content)
        if item.get("role") == "assistant":
            self._grow(list(content), when)
            return
        if item.get("role") != "user":
            self.to.skip("messages from the program to the model")
            return
        self.flush()
        own: list[Block] = []
        has_image = any(not isinstance(one, Text) for one in content)
        for one, by_hand in zip(content, typed, strict=True):
            if isinstance(one, Text) and has_image and _AROUND_IMAGE.fullmatch(one.text.strip()):
                continue
            if not isinstance(one, Text) or by_hand:
                own.append(one)
            elif _OF_THE_PROGRAM.match(one.text):
                self.to.skip("environment notes and instructions")
            elif shell := _SHELL.match(one.text):
                self.to.command(f"!{shell[1]}", shell[2], when)
            elif by_hand is False or _NOTICE.match(one.text):
                self.to.notice(_title(one.text), one.text, when)
            else:
                own.append(one)
        if own:
            self._turns.append(self.to.user(own, when))

    def _said(self, content: Json) -> tuple[Block, ...]:
        if isinstance(content, str):
            return (Text(string(content)),)
        found: list[Block] = []
        for block in blocks(content):
            if block.get("type") in ("input_text", "output_text", "text"):
                found.append(Text(string(block["text"])))
            elif block.get("type") == "input_image":
                url = _DATA_URL.match(words(block.get("image_url")))
                found.append(picture(url and url[1], url and url[2], self.to))
            else:
                self.to.skip(f"{words(block.get('type'))[:40] or 'unnamed'} blocks")
        return tuple(found)

    def _output(self, output: Json) -> tuple[Block, ...]:
        given = output.get("content", "") if isinstance(output, dict) else output
        return self._said(given) if isinstance(given, str | list) else ()

    def _used(self, usage: Json) -> None:
        self.flush()
        if usage and self._response is not None:
            self.to.replace_usage(self._response, _usage(usage))
            self._response = None

    def _event(self, payload: Json, when: int | None) -> None:
        match payload.get("type"):
            case "token_count":
                info = part(payload.get("info"))
                last, total = part(info.get("last_token_usage")), part(info.get("total_token_usage"))
                self.flush()
                # After an interrupted response, Codex repeats what it reported before.
                is_new = not total or total != self._total
                self._total = total
                if is_new:
                    self._used(last)
            case "thread_rolled_back":
                self._rolled_back(count(payload.get("num_turns")))
            case "task_complete" if self._from_events and payload.get("last_agent_message"):
                said = words(payload["last_agent_message"])
                if said != self._spoken:
                    self._grow([Text(said)], when)
            case kind if kind in _ENDED:
                ended = part(payload.get("item")) or payload
                call = ended.get("call_id") or ended.get("id")
                if isinstance(call, str) and _ended_badly(ended):
                    self._failed.update((call, *self._open[-1:]))
                if self._from_events:
                    self._told(ended, when)
            case kind if kind not in _TOLD_TWICE:
                if kind in _BETWEEN_TURNS:
                    self.flush()
                self.to.skip(f"event_msg ({words(kind)[:40]})")

    def _told(self, item: Json, when: int | None) -> None:
        """Add the message of an event."""
        content = [Text(words(part(block).get("text"))) for block in blocks(item.get("content") or [])]
        if item.get("type") == "UserMessage":
            self.flush()
            self._turns.append(self.to.user(content, when))
        elif item.get("type") == "AgentMessage":
            self._spoken = "".join(one.text for one in content)
            self._grow([*content], when)

    def _rolled_back(self, turns: int) -> None:
        self.flush()
        if turns and self._turns:
            first = self._turns[-turns:][0]
            del self._turns[-turns:]
            self.to.add(Rewound(first - 1))

    def _compacted(self, payload: Json, when: int | None) -> None:
        self.flush()
        said = [words(payload.get("message"))]
        history = payload.get("replacement_history")
        for item in history if isinstance(history, list) else ():
            if part(item).get("type") == "message" and item.get("role") in ("user", "assistant"):
                texts = [one.text for one in self._said(item.get("content") or "") if isinstance(one, Text)]
                said += [text for text in texts if not _OF_THE_PROGRAM.match(text)]
            elif part(item).get("type") == "compaction":
                self.to.skip("encrypted summaries")
        summary = "\n\n".join(dict.fromkeys(text for text in said if text.strip()))
        if summary:
            self.to.compacted(summarized(summary), when)
        else:
            self.to.skip("compactions without a readable summary")


def _typed(item: Json) -> list[bool | None]:
    """Return whether a person typed each piece of a user message; None if the file does not say."""
    told = part(item.get("internal_chat_message_metadata_passthrough"))
    if isinstance(kinds := told.get("content_item_kinds"), list):  # such as user.text, plugins.recommended
        return [kind.partition(".")[0] == "user" if isinstance(kind, str) else None for kind in kinds]
    given = told.get("content_item_metadata")
    names = (
        [part(part(one).get("provenance")).get("type") for one in given] if isinstance(given, list) else []
    )
    return [None if name is None else name == "user" for name in names]


def _title(text: str) -> str:
    """Return the title of a notice: its first tag."""
    tag = re.match(r"\s*<([\w-]{1,80})", text)
    return tag[1] if tag else "notice"


def _reasoning(item: Json) -> str:
    texts = []
    for key in ("summary", "content"):
        given = item.get(key)
        texts += [words(part(one).get("text")) for one in given] if isinstance(given, list) else []
    return "\n\n".join(filter(None, texts))


def _arguments(given: Json) -> Json:
    try:
        return strict_loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _ended_badly(ended: Mapping[str, Json]) -> bool:
    """Return whether an event reports a failed command, file change or server call."""
    return (
        ended.get("status") in ("failed", "declined")
        or ended.get("success") is False
        or ended.get("exit_code") not in (0, None)
        or "Err" in part(ended.get("result"))
    )


def _failed(output: Json) -> bool:
    if isinstance(output, dict):
        return output.get("success") is False
    if isinstance(output, list):  # of code mode
        return words(part(output[0] if output else None).get("text")).startswith("Script failed\n")
    if isinstance(output, str) and _UNSUPPORTED.fullmatch(output):
        return True
    if isinstance(output, str) and output.startswith('{"output"'):
        told = part(_arguments(output))
        return part(told.get("metadata")).get("exit_code") not in (0, None)
    ended = _EXIT.match(output) if isinstance(output, str) else None
    return ended is not None and int(ended[1]) != 0


def _usage(value: Json) -> Usage:
    cached = min(count(value.get("cached_input_tokens")), count(value.get("input_tokens")))
    return Usage(count(value.get("input_tokens")) - cached, count(value.get("output_tokens")), cached, None)
