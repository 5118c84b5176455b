"""Texts about tasks: the current activity of a running task, its answer, and its entries for recall."""

from collections.abc import Mapping, Sequence

from prunecli.context.bill import Bill
from prunecli.context.labels import tokens_pruned_by
from prunecli.model.events import AssistantMessage, PrunApplied, Record, RunEnded, ToolResult, ToolStarted
from prunecli.model.messages import Block, Json, Text, plain_text
from prunecli.model.signals import SessionEvent, StreamStarted, TextDelta, ToolProgress
from prunecli.runtime.toolbox import original as original_of
from prunecli.session.session import Session
from prunecli.tools.tool import Tool
from prunecli.util.figures import counted, in_tokens, money, short
from prunecli.util.sanitize import one_line

LINES = 6
"""Maximum lines below the line of a running task."""
MOST_LISTED = 400
_LINE_CHARS = 160
_FIGURES = ("requests", "tokens", "cost_usd", "prunes", "pruned_tokens")


def say(parent: Session, call_id: str, now: str, lines: Sequence[str] = (), ended: str = "") -> None:
    """Tell the parent's readers the current activity of a task, or how it ended."""
    parent.tell(ToolProgress(call_id, "\n".join(lines), now, ended))


class View:
    """A follower of a task that tells the readers of its parent about its activity."""

    def __init__(self, parent: Session, call_id: str, tools: Mapping[str, Tool]) -> None:
        self._parent, self._call_id, self._tools = parent, call_id, tools
        self._calls = 0
        self._tokens = 0
        self._lines: list[str] = []
        self._doing = ""

    def take(self, event: SessionEvent) -> None:
        match event:
            case StreamStarted():
                self._say("thinking")
            case TextDelta() if self._doing == "thinking":
                self._say("writing")
            case Record(event=ToolStarted(_, name, given)):
                self._calls += 1
                tool = self._tools.get(name)
                doing = one_line(f"{name} {tool.summary(given) if tool else ''}".strip())
                self._lines.append(f"→ {doing}")
                self._say(doing)
            case Record(event=AssistantMessage(content, usage=usage)):
                self._tokens = usage.prompt_tokens + usage.output_tokens
                self._lines += [line for line in plain_text(content).split("\n") if line.strip()][:LINES]
                self._say("working")
            case Record(event=ToolResult(is_error=True) as result):
                first = plain_text(result.content).partition("\n")[0]
                self._lines.append(f"  ✗ {one_line(first)}")
            case Record(event=RunEnded(reason)):
                self._say(reason, ended=reason)  # shown until the results of the calls before it are recorded
            case _:
                pass

    def _say(self, doing: str, ended: str = "") -> None:
        self._doing = doing
        self._lines = [line[:_LINE_CHARS] for line in self._lines[-LINES:]]
        calls = counted(self._calls, "call")
        parts = doing[:_LINE_CHARS], calls, short(self._tokens) if self._tokens else ""
        say(self._parent, self._call_id, " · ".join(filter(None, parts)), self._lines, ended)


def facts(session: Session, bill: Bill, duration_ms: int) -> dict[str, Json]:
    """Return the figures of a task. Those of the bill include earlier runs of the program."""
    events = [record.event for record in session.records]
    prunes = [
        tokens_pruned_by(session.context, record.seq) or 0
        for record in session.records
        if isinstance(record.event, PrunApplied) and record.event.source != "user"
    ]
    return {
        "model": next((e.model for e in reversed(events) if isinstance(e, AssistantMessage)), ""),
        "requests": bill.requests,
        "calls": sum(isinstance(event, ToolStarted) for event in events),
        "tokens": bill.prompt_tokens + bill.output_tokens,
        "cost_usd": round(bill.cost, 6),
        "prunes": len(prunes),
        "pruned_tokens": sum(prunes),
        "duration_ms": max(0, duration_ms),
    }


def is_complete(task: Mapping[str, Json]) -> bool:
    return all(isinstance(task.get(key), int | float) for key in _FIGURES)


def in_words(task: Mapping[str, Json], state: str) -> str:
    prunes = ""
    if count := task.get("prunes"):
        prunes = f", {counted(count, 'prune')} of ~{in_tokens(task['pruned_tokens'])}"
    agent, model = task.get("agent") or "no agent", task.get("model") or "no answer yet"
    return (
        f"Task {task['number']} ({agent}, {model}): {state}, "
        f"{counted(task['requests'], 'request')}, {in_tokens(task['tokens'])}, {money(task['cost_usd'])}{prunes}."
    )


def answer(records: Sequence[Record], ended: str, problem: str, number: int) -> str:
    """Return the answer of a task for the model: its last message, any problem at its end, and its handle for
    recall."""
    said = (
        plain_text(record.event.content)
        for record in reversed(records)
        if isinstance(record.event, AssistantMessage)
    )
    words = next((text.strip() for text in said if text.strip()), "")
    handle = f"[task {number} · recall entry 0 of task {number} lists its entries]"
    match ended:
        case "finished":
            return f"{words or '(no answer)'}\n{handle}"
        case "interrupted":
            head = "[interrupted by the user]" if words else "[interrupted by the user before any output]"
        case "error":
            head = f"[the task failed: {one_line(problem)}]"
        case _:
            head = f"[the task is not complete: {one_line(problem) or 'it reached a limit'}]"
    found = f"\nIts last message:\n{words}" if words else ""
    return f"{head}{found}\n{handle}"


def original(session: Session, number: int, seq: int) -> tuple[Block, ...]:
    """Return the original content of an entry; seq 0 lists the entries. Raises ToolError."""
    if seq:
        return original_of(session.context, seq)
    lines = [f"[task {number}: {session.id}]"]
    for record in session.records:
        match record.event:
            case AssistantMessage(content):
                lines.append(f"{record.seq} answer: {_first(content)}")
            case ToolResult(tool_name=name, content=content):
                lines.append(f"{record.seq} {name}: {_first(content)}")
            case _:
                pass
    left = len(lines) - MOST_LISTED
    return (Text("\n".join([*lines[:MOST_LISTED], *([f"[{left} more]"] if left > 0 else [])])),)


def _first(content: tuple[Block, ...]) -> str:
    return one_line(plain_text(content).strip().partition("\n")[0])[:_LINE_CHARS]
