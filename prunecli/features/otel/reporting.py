"""Reports a session: its records as spans, in the words of OpenTelemetry's GenAI conventions, and as metrics.

Those beyond the conventions have the names and attributes of Claude Code's, with `prunecli` in front. Without
`content`, it reports nothing that anybody wrote: only figures, and names of models, tools, strategies and errors.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeAlias

from prunecli.context.economics import cold
from prunecli.features.otel.sending import Sender
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    PrunApplied,
    Record,
    RequestSent,
    RunEnded,
    SessionStarted,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Usage
from prunecli.model.notes import typed
from prunecli.runtime.host import Host
from prunecli.session.session import Session
from prunecli.util.sanitize import shortened

MOST_CONTENT = 60_000
"""Characters of a prompt or of a tool's input."""
_EDITORS = frozenset({"edit", "write", "apply_patch"})
_Told: TypeAlias = Mapping[str, Any]


class Reporter:
    """Tells of the records of one agent. `parent` is the reporter of the agent that started this one for a task.

    What needs the session is read when its record comes; the sender makes the spans later.
    """

    def __init__(self, host: Host, sender: Sender, parent: "Reporter | None", *, content: bool) -> None:
        self._host, self._sender, self._parent, self._content = host, sender, parent, content
        self._told: Session | None = None
        self._words: list[str] = []
        self._sent: tuple[str, int] | None = None
        self._calls: dict[str, int] = {}
        self._began = self._summary_began = 0
        self._saved = 0.0

    def begins(self) -> None:
        """A run begins."""
        self._began, self._calls = self._host.setup.clock(), {}
        agent, session = self._host.agent or "prunecli", self._host.session
        told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
        call = str((session.started.parent or {}).get("tool_use_id") or "")
        self._begin(session.id, call, f"invoke_agent {agent}", self._began, told)

    def summary_begins(self) -> None:
        self._summary_began = self._host.setup.clock()

    def take(self, record: Record) -> None:
        event, at = record.event, record.timestamp
        if self._told is not self._host.session:
            self._told, self._saved = self._host.session, self._host.balance.saved or 0.0
            if self._parent is None:
                kind = "fresh" if isinstance(event, SessionStarted) else "resume"
                self._measure("prunecli.session.count", 1, start_type=kind)
        match event:
            case UserMessage(origin="prompt" | "steering" | "follow_up") if self._content:
                self._words.append(typed(event))
            case RequestSent(model=model):
                self._sent = model, at
            case AssistantMessage(model=model):
                (asked, began), self._sent = self._sent or (model, at - event.duration_ms), None
                self._chat(asked, began, at, {**_answer(event), **self._billed(model, event.usage)})
            case CompactionApplied(model=model) if model:
                billed = self._billed(model, event.usage, "auxiliary")
                self._chat(model, self._summary_began or at, at, billed)
            case AttemptBilled(model=model, reason=reason) if reason != "task":
                self._billed(model, event.usage, "auxiliary" if reason in ("summary", "title") else "")
            case ToolStarted():
                self._call_begins(event, at)
            case ToolResult():
                self._call_ends(event, at)
            case PrunApplied():
                self._pruned(event, at)
            case RunEnded():
                self._ended(event, at)

    # Requests ------------------------------------------------------------------------------------------------

    def _billed(self, model: str, usage: Usage, source: str = "") -> _Told:
        """Measure the usage of a response. Return what its span says of it."""
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        by = {"model": _model(model), "query_source": source or ("subagent" if self._parent else "main")}
        kinds = {"input": usage.input_tokens, "output": usage.output_tokens, "cacheRead": read}
        for kind, tokens in {**kinds, "cacheCreation": written}.items():
            if tokens:
                self._measure("prunecli.token.usage", tokens, type=kind, **by)
        usd = self._host.choices.price(model, usage)
        if usd:
            self._measure("prunecli.cost.usage", usd, **by)
        for kind, tokens in ("input", usage.prompt_tokens), ("output", usage.output_tokens):
            self._measure(
                "gen_ai.client.token.usage", tokens, **self._asked(model), **{"gen_ai.token.type": kind}
            )
        told = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.cache_creation.input_tokens": written,
            "prunecli.cost.usd": usd,
        }
        return {name: value for name, value in told.items() if value is not None}

    def _asked(self, model: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._host.config.service(model).provider,
            "gen_ai.request.model": _model(model),
        }

    def _chat(self, model: str, began: int, at: int, told: _Told) -> None:
        asked = self._asked(model)
        by = {**asked, **{name: value for name, value in told.items() if name == "error.type"}}
        self._measure("gen_ai.client.operation.duration", (at - began) / 1_000, **by)
        self._begin("chat", self._host.session.id, f"chat {_model(model)}", began, asked)
        self._end("chat", at, told)

    # Calls ---------------------------------------------------------------------------------------------------

    def _call_begins(self, event: ToolStarted, at: int) -> None:
        more = {}
        if self._content:
            more["gen_ai.tool.call.arguments"] = shortened(json.dumps(dict(event.input)), MOST_CONTENT)
        self._open_call(event.tool_use_id, event.tool_name, at, more)
        self._decided(event.tool_name, "accept")

    def _open_call(self, call: str, tool: str, at: int, more: _Told) -> None:
        self._calls[call], name = at, self._tool(tool)
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call,
        }
        self._begin(call, self._host.session.id, f"execute_tool {name}", at, {**told, **more})

    def _call_ends(self, event: ToolResult, at: int) -> None:
        error: dict[str, str] = {}
        if event.is_error:
            kinds = (kind for kind in ("denied", "interrupted") if event.details.get(kind))
            error["error.type"] = next(kinds, "failed")
        if event.details.get("denied"):
            self._decided(event.tool_name, "reject")
        for kind in ("added", "removed"):
            if isinstance(lines := event.details.get(kind), int) and lines:
                self._measure("prunecli.lines_of_code.count", lines, type=kind)
        if event.tool_use_id not in self._calls:  # it was denied or could not run
            self._open_call(event.tool_use_id, event.tool_name, at, {})
        self._end(event.tool_use_id, self._calls.pop(event.tool_use_id) + event.duration_ms, error)
        by = {"gen_ai.tool.name": self._tool(event.tool_name), **error}
        self._measure("gen_ai.execute_tool.duration", event.duration_ms / 1_000, **by)

    def _decided(self, tool: str, decision: str) -> None:
        if tool in _EDITORS:
            self._measure("prunecli.code_edit_tool.decision", 1, tool_name=tool, decision=decision)

    def _tool(self, name: str) -> str:
        return name if name in self._host.tools else "_OTHER"  # a model may make names up

    # Prunes and the end of a run -----------------------------------------------------------------------------

    def _pruned(self, event: PrunApplied, at: int) -> None:
        tokens = event.tokens_removed if event.shown_tokens is None else event.shown_tokens
        cache = "cold" if cold(self._host.session.context, self._host.policy.market) else "warm"
        by = {"strategy": event.strategy or event.source, "source": event.source, "cache": cache}
        self._measure("prunecli.prune.count", 1, **by)
        self._measure("prunecli.prune.tokens", max(0, tokens), **by)
        told = {f"prunecli.prune.{name}": value for name, value in by.items()}
        self._begin("prune", self._host.session.id, "prune", at, {**told, "prunecli.prune.tokens": tokens})
        self._end("prune", at, {})

    def _ended(self, event: RunEnded, at: int) -> None:
        error = {}
        if event.reason == "error":  # recorded while the error is handled; its text may quote what was sent
            error["error.type"] = type(sys.exception()).__name__
        if self._sent:
            self._chat(*self._sent, at, error or {"error.type": event.reason})
            self._sent = None
        if saved := (self._host.balance.saved or 0.0) - self._saved:
            self._measure("prunecli.prune.saved", saved)
            self._saved += saved
        self._measure("prunecli.active_time.total", (at - self._began) / 1_000, type="cli")
        told = {"prunecli.run.end": event.reason, **error}
        if self._words:
            parts = [{"role": "user", "parts": [{"type": "text", "content": one}]} for one in self._words]
            told["gen_ai.input.messages"] = shortened(json.dumps(parts), MOST_CONTENT)
        self._words = []
        self._end(self._host.session.id, at, told)

    # To the sender -------------------------------------------------------------------------------------------

    @property
    def _root(self) -> str:
        """The session that the user sees."""
        return self._parent._root if self._parent else self._host.session.id

    def _measure(self, name: str, amount: float, **told: str) -> None:
        self._sender.later("measure", name, amount, {**told, "session.id": self._root})

    def _begin(self, key: str, within: str, name: str, at: int, told: _Told) -> None:
        of = {"session.id": self._root, "gen_ai.conversation.id": self._host.session.id}
        self._sender.later("begin", key, within, name, at, {**told, **of})

    def _end(self, key: str, at: int, told: _Told) -> None:
        self._sender.later("end", key, at, told)


def _answer(event: AssistantMessage) -> _Told:
    told = {
        "gen_ai.response.model": _model(event.model),
        "gen_ai.response.finish_reasons": (shortened(event.stop_reason, 40),),
        "gen_ai.response.id": shortened(event.request_id, 100) or None,
        "gen_ai.usage.reasoning.output_tokens": event.thinking_tokens,
    }
    return {name: value for name, value in told.items() if value is not None}


def _model(name: str) -> str:
    """Return the name of a model; that of a local server may be the path of a file."""
    is_path = name.startswith(("/", "~", ".")) or name.endswith(".gguf")
    return shortened(PurePath(name).name if is_path else name, 100)
