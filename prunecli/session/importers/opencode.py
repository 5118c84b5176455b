"""OpenCode's export: one JSON object with `info` and `messages`, each with its parts.

Preserves cleared results, summaries and undone messages.
"""

from collections.abc import Mapping

from prunecli.model.codec import string
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Block, Json, Text, Thinking, ToolUse, Usage, plain_text
from prunecli.session.importers.origin import Imported, Origin
from prunecli.session.importers.transcript import (
    CLEARED,
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

SHELL = "shell"
"""The role of a command that the user ran, which older versions record as a tool call."""
_STOPS = {"tool-calls": "tool_use", "length": "max_tokens", "stop": "end_turn"}


def is_opencode(value: Json) -> bool:
    messages = value.get("messages")
    return isinstance(messages, list) and any(
        isinstance(part(message).get("parts"), list) for message in messages
    )


def name_of(title: str) -> str:
    """Return the name of a session with this title, "" for OpenCode's default title."""
    return "" if title.startswith("New session - ") else title


def read(value: Mapping[str, Json]) -> Imported:
    info = part(value.get("info"))
    started = milliseconds(part(info.get("time")).get("created")) or 0
    model = words(part(info.get("model")).get("id"))
    name = name_of(words(info.get("title")))
    reader = _Reader(
        Transcript(
            Origin("opencode", words(info.get("id")), name, words(info.get("directory")), model, started)
        )
    )
    undone = part(info.get("revert")).get("messageID")
    messages = value["messages"]
    for index, message in enumerate(messages):
        if undone is not None and part(part(message).get("info")).get("id") == undone:
            reader.to.skip("undone messages", len(messages) - index)
            break
        try:
            reader.take(message)
        except MALFORMED as error:
            reader.to.damaged.append(f"messages.{index}: {why(error)}")
    reader.to.cleared(reader.cleared, text=CLEARED, by="opencode")
    to = reader.to
    return Imported(to.origin, to.records(), to.left_out, tuple(to.damaged))


class _Reader:
    """A converter from messages to events. `cleared` lists calls whose results were hidden from the model."""

    def __init__(self, to: Transcript) -> None:
        self.to = to
        self.cleared: list[str] = []
        self._seq_of: dict[str, int] = {}
        self._kept: Json = None

    def take(self, message: Json) -> None:
        """Add a message. Raises one of MALFORMED if it is malformed."""
        info, parts = message["info"], [part(one) for one in message["parts"]]
        self._seq_of[words(info.get("id"))] = len(self.to)
        when = milliseconds(part(info.get("time")).get("created"))
        if info.get("role") == "user":
            self._user(parts, when)
        elif info.get("role") == "assistant":
            self._assistant(info, parts, when)
        elif info.get("role") == SHELL:
            self.to.command(f"!{parts[0]['command']}", parts[0]["output"], when)
        else:
            self.to.skip(f"messages of role {words(info.get('role'))[:40] or '?'}")

    def _user(self, parts: list[Mapping[str, Json]], when: int | None) -> None:
        blocks: list[Block] = []
        written: list[Block] = []  # generated: the content of a mentioned file, a reminder, a shell command
        for one in parts:
            match one.get("type"):
                case "text" if one.get("ignored"):
                    self.to.skip("texts hidden from the model")
                case "text":
                    (written if one.get("synthetic") is True else blocks).append(Text(string(one["text"])))
                case "file" if words(one.get("mime")).startswith("image/"):
                    blocks.append(self._image(one))
                case "file":
                    self.to.skip("file references (their text is kept)")
                case "compaction":
                    self._kept = one.get("tail_start_id")
                case kind:
                    self._other(kind)
        self.to.user(blocks, when)
        if written:
            self.to.notice("OpenCode", written, when)

    def _image(self, one: Mapping[str, Json]) -> Block:
        head, _, data = words(one.get("url")).partition(";base64,")
        return picture(head.removeprefix("data:"), data, self.to)

    def _assistant(self, info: Json, parts: list[Mapping[str, Json]], when: int | None) -> None:
        steps: list[list[Mapping[str, Json]]] = [[]]
        for one in parts:
            if one.get("type") == "step-start" and steps[-1]:
                steps.append([])
            steps[-1].append(one)
        if info.get("summary") is True:
            text = plain_text(
                tuple(Text(words(one.get("text"))) for one in parts if one.get("type") == "text")
            )
            start = self._seq_of.get(self._kept) if isinstance(self._kept, str) else None
            self._kept = None
            if text.strip():
                self.to.compacted(summarized(text), when, tail_start=start)
            else:
                self.to.skip("compactions without a summary")
            return
        for step in steps:
            self._step(info, step, when)

    def _step(self, info: Json, step: list[Mapping[str, Json]], when: int | None) -> None:
        blocks: list[Block] = []
        tools: list[tuple[ToolUse, str, Mapping[str, Json]]] = []
        usage, stop = part(info.get("tokens")), words(info.get("finish"))
        for one in step:
            match one.get("type"):
                case "text":
                    blocks.append(Text(string(one["text"])))
                case "reasoning":
                    signature = part(part(one.get("metadata")).get("anthropic")).get("signature")
                    blocks.append(Thinking(string(one["text"]), words(signature)))
                case "tool":
                    call = words(one.get("callID")) or words(one.get("id"))
                    state = part(one.get("state"))
                    use = self.to.call(call, one["tool"], state.get("input") or {})
                    blocks.append(use)
                    tools.append((use, call, state))
                case "step-finish":
                    usage, stop = part(one.get("tokens")) or usage, words(one.get("reason")) or stop
                case "step-start":
                    pass
                case kind:
                    self._other(kind)
        reason = _STOPS.get(stop, "tool_use" if tools else "end_turn")
        message = AssistantMessage(tuple(blocks), words(info.get("modelID")), reason, _usage(usage))
        self.to.assistant(message, when)
        for _, call, state in tools:
            self._result(call, state)

    def _result(self, call: str, state: Mapping[str, Json]) -> None:
        times = part(state.get("time"))
        when = milliseconds(times.get("end"))
        if state.get("status") == "error":
            self.to.result(call, (Text(words(state.get("error"))),), when, is_error=True)
        elif state.get("status") == "completed":
            files = state.get("attachments")
            images = [self._image(part(file)) for file in files] if isinstance(files, list) else []
            failed = part(state.get("metadata")).get("exit") not in (0, None)
            self.to.result(call, (Text(words(state.get("output"))), *images), when, is_error=failed)
            if times.get("compacted"):
                self.cleared.append(call)

    def _other(self, kind: Json) -> None:
        self.to.skip(f"{words(kind)[:40] or 'unnamed'} parts")


def _usage(value: Json) -> Usage:
    cache = part(value.get("cache"))
    reasoning = count(value.get("reasoning"))
    return Usage(
        count(value.get("input")),
        count(value.get("output")) + reasoning,
        count(cache["read"]) if "read" in cache else None,
        count(cache["write"]) if "write" in cache else None,
    )
