"""Headless runs: one run per prompt, printed as text, json or stream-json, then an exit code.

Reads the session's event stream as the screen does. Never asks the user anything.
"""

import asyncio
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from prunecli.agent.decide import Done, at_rest
from prunecli.model.codec import (
    block_to_json,
    content_to_json,
    usage_to_json,
)
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    PrunApplied,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Json, ToolUse, Usage, plain_text, tool_uses
from prunecli.model.signals import RetryScheduled, SessionEvent, SummaryStarted
from prunecli.runtime import Runtime
from prunecli.runtime.notices import notice_of, opening_notices, sandbox_notices
from prunecli.runtime.resuming import take_back_cut
from prunecli.session.session import Session
from prunecli.tools.tool import in_one_line
from prunecli.util.errors import NeedsInterface, OutputFailed, PrunecliError, SessionError
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    import uuid

    from prunecli.front.headless import commands
    from prunecli.front.presentation import partial_messages
    from prunecli.front.presentation.partial_messages import PartialMessages
    from prunecli.runtime.answer_schema import AnswerSchema
    from prunecli.runtime.host import Task
else:
    commands = lazy("prunecli.front.headless.commands")
    partial_messages = lazy("prunecli.front.presentation.partial_messages")
    uuid = lazy("uuid")

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
Write: TypeAlias = Callable[[str], None]

EXIT_CODES = {"success": 0, "error": 1, "limit": 3, "interrupted": 130}
EXIT_USAGE = 2
EXIT_SESSION = 4
EXIT_TERMINATED = 143
NOTHING_TO_DO = "nothing to do: the last answer is complete; give a prompt to continue"
EMPTY = "the model's answer is empty"
LATE = "Standard input that came after the start was left out"
NOTHING: Final = object()
"""A marker for the absence of JSON, because null is JSON."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SUBTYPES = {"finished": "success", "limit": "limit", "interrupted": "interrupted", "error": "error"}


@dataclass(slots=True)
class Printer:
    """A reader that prints a session's event stream. `out` takes lines of the result, `err` lines for the user.

    `stream` converts the arriving parts of a message to events of the API. `structured` is the answer as JSON.
    """

    runtime: Runtime
    form: OutputFormat
    out: Write
    err: Write
    turns: int = 0
    text: str = ""
    usage: list[Usage] = field(default_factory=list)
    calls: dict[str, ToolUse] = field(default_factory=dict)
    denials: list[ToolUse] = field(default_factory=list)
    stream: "PartialMessages | None" = None
    structured: Json = NOTHING
    before: float = 0.0
    """What the session cost before this run, in USD: the result reports the cost and usage of the run."""
    notices: list[str] = field(default_factory=list)
    early: list[str] | None = field(default_factory=list)
    """Notices before the first object, printed after it; then None."""
    told_of_sandbox: bool = False
    parent: str | None = None
    """The call of the session that started the task whose events these are; None for the session's own."""

    def init(self) -> None:
        session = self.runtime.session
        self.told_of_sandbox = self.form == "stream-json"  # others hear of it before the first command
        self._object(
            type="system",
            subtype="init",
            session_id=session.id,
            cwd=str(self.runtime.setup.cwd),
            model=self.runtime.model_name,
            tools=list(self.runtime.tools),
            permission_mode=self.runtime.gatekeeper.mode,
            sandbox=self.runtime.sandbox.state() if self.told_of_sandbox else "",
            **{name: value for part in self.runtime.parts.values() for name, value in part.facts().items()},
        )
        early, self.early = self.early or [], None
        for notice in [*opening_notices(self.runtime, sandbox=self.told_of_sandbox), *early]:
            self.notice(notice)

    def follow(self, child: "Task") -> None:
        """Print a task's messages, calls and denials in stream-json."""
        inner = Printer(
            self.runtime,
            self.form,
            self.out,
            self.err,
            denials=self.denials,
            early=None,
            told_of_sandbox=True,
            stream=stream_of(child.session, lambda: child.host.model_name) if self.stream else None,
            parent=child.call_id,
        )
        child.session.subscribe(inner.read_task)

    def read_task(self, event: SessionEvent) -> None:
        """Handle an event of a task: its messages, but not its bill, which the session also has."""
        self._arrives(event)
        if isinstance(event, Record) and isinstance(event.event, AssistantMessage | ToolResult | UserMessage):
            self._event(event.event)

    def read(self, event: SessionEvent) -> None:
        self._arrives(event)
        match event:
            case Record():
                self._event(event.event)
            case RetryScheduled(attempt, seconds, reason):
                self.err(f"{visible(reason)}; retrying in {seconds:.1f} s")
                self._object(
                    type="system", subtype="api_retry", attempt=attempt, delay_s=seconds, error=reason
                )
            case SummaryStarted():
                self.err("summarizing the older part of the session …")
            case _:
                pass
        if notice := notice_of(event, self.runtime):
            self.notice(notice)

    def _arrives(self, event: SessionEvent) -> None:
        """Print the arriving part of a message."""
        if self.stream is None:
            return

        for one in self.stream.read(event):
            self._object(
                type="stream_event",
                event=one,
                session_id=self.runtime.session.id,
                parent_tool_use_id=self.parent,
                uuid=str(uuid.uuid4()),
            )

    def notice(self, text: str) -> None:
        if self.early is not None:
            self.early.append(text)
            return
        self.err(visible(f"prunecli: {text}"))
        self.notices.append(text)
        self._object(type="system", subtype="notice", text=text)

    def _tell_of_sandbox(self) -> None:
        """Tell of a missing sandbox once, before the first call: it is tried while the model answers."""
        if self.calls and not self.told_of_sandbox:
            self.told_of_sandbox = True
            for line in sandbox_notices(self.runtime):
                self.notice(line)

    def _event(self, event: object) -> None:
        match event:
            case AssistantMessage():
                self.turns += 1
                self.text = plain_text(event.content)
                self.usage.append(event.usage)
                self.calls |= {call.id: call for call in tool_uses(event.content)}
                self._tell_of_sandbox()
                more = {"id": self.stream.complete} if self.stream and self.stream.complete else {}
                self._message("assistant", content_to_json(event.content), model=event.model, **more)
            case AttemptBilled(usage=usage):
                self.usage.append(usage)
            case ToolResult():
                if event.details.get("denied"):
                    self._denied(event)
                result = {
                    "type": "tool_result",
                    "tool_use_id": event.tool_use_id,
                    "is_error": event.is_error,
                    "content": [block_to_json(block) for block in event.content],
                }
                self._message("user", [result])
            case UserMessage(content):
                self._message("user", content_to_json(content))
            case PrunApplied():
                self._object(
                    type="system",
                    subtype="prun_applied",
                    source=event.source,
                    strategy=event.strategy,
                    tokens_removed=event.tokens_removed,
                    messages_removed=event.messages_removed,
                    **({} if event.shown_tokens is None else {"shown_tokens": event.shown_tokens}),
                    memo=event.memo,
                    reason=event.reason,
                    **({"thinking_blocks": event.thinking_blocks} if event.thinking_blocks else {}),
                )
            case CompactionApplied():
                self.usage.append(event.usage)
                self._object(
                    type="system",
                    subtype="compaction",
                    tokens_before=event.tokens_before,
                    tokens_after=event.tokens_after,
                )
            case _:
                pass

    def _denied(self, event: ToolResult) -> None:
        call = self.calls.get(event.tool_use_id, ToolUse(event.tool_use_id, event.tool_name, {}))
        self.denials.append(call)
        if self.form == "text":
            tool = self.runtime.tools.get(call.name)
            about = f" {in_one_line(tool.summary(call.input))}" if tool else ""
            why = event.details.get("reason") or plain_text(event.content)
            self.err(visible(f"prunecli: denied: {call.name}{about} ({why})"))

    def _message(self, role: str, content: list[dict[str, Json]], **more: Any) -> None:
        message = {"role": role, "content": content, **more}
        session = self.runtime.session.id
        self._object(type=role, message=message, session_id=session, parent_tool_use_id=self.parent)

    def _object(self, **fields: Any) -> None:
        if self.form == "stream-json":
            self.out(json.dumps(fields))

    def result(self, subtype: str, duration_ms: int, note: str = "") -> None:
        """Print the last object of json and stream-json; for text, the answer itself."""
        if self.form == "text":
            text = self.text if self.structured is NOTHING else json.dumps(self.structured)
            if text:
                self.out(visible(text))
            return
        status = self.runtime.status()
        self.out(
            json.dumps(
                {
                    "type": "result",
                    "subtype": subtype,
                    "is_error": subtype != "success",
                    "result": self.text,
                    "session_id": self.runtime.session.id,
                    "num_turns": self.turns,
                    "duration_ms": duration_ms,
                    "usage": usage_to_json(reduce(Usage.plus, self.usage, Usage(0, 0, 0, 0))),
                    "total_cost_usd": round(status.bill.cost - self.before, 6),
                    "ledger": status.ledger.to_json(),
                    "permission_denials": [
                        {"tool_name": call.name, "tool_use_id": call.id, "tool_input": dict(call.input)}
                        for call in self.denials
                    ],
                    **({} if self.structured is NOTHING else {"structured_output": self.structured}),
                    **({"note": note} if note else {}),
                    **({"notices": self.notices} if self.notices and self.form == "json" else {}),
                }
            )
        )


class Turn(NamedTuple):
    """A prompt with images or documents. `is_typed`: it may be a slash command; what was piped in never is."""

    words: str
    given: tuple[Block, ...] = ()
    is_typed: bool = True


async def run_headless(
    runtime: Runtime,
    prompts: Sequence[str],
    *,
    form: OutputFormat,
    out: Write,
    err: Write,
    schema: "AnswerSchema | None" = None,
    partial: bool = False,
    is_typed: bool = True,
    late: Callable[[], bool] = lambda: False,
) -> int:
    """Run the prompts one after the other (none: continue the session) and return the exit code.

    With `schema`, the answer to the last prompt must be JSON that is valid under it; an invalid answer is requested
    once more. `partial`: stream-json has an object for each piece of a message. `is_typed`: prompts may be
    slash commands. `late()` tells at the end whether standard input came that was left out.

    A failed write ends the run with OutputFailed; the session records the interruption.
    """
    lost: list[OutputFailed] = []

    def write(line: str) -> None:
        try:
            if not lost:
                out(line)
        except OutputFailed as error:
            lost.append(error)
            task.cancel()

    stream = stream_of(runtime.session, lambda: runtime.model_name) if partial else None
    printer = Printer(runtime, form, write, err, stream=stream, before=runtime.bill.cost)
    unsubscribe = runtime.session.subscribe(printer.read)
    runtime.on_task.append(printer.follow)
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(
        _runs(runtime, [Turn(prompt, (), is_typed) for prompt in prompts], printer, schema)
    )
    begun = loop.time()
    try:
        with at_signals(task.cancel) as caught:
            await asyncio.gather(task, return_exceptions=True)
    finally:
        unsubscribe()
    subtype, note, code = ended(task, err)
    for line in await runtime.parts.finish():
        printer.notice(line)
    if late():
        printer.notice(LATE)
    printer.result(subtype, round((loop.time() - begun) * 1000), note)
    if lost:
        raise lost[0]
    return EXIT_TERMINATED if any(number != signal.SIGINT for number in caught) else code


def ended(task: "asyncio.Future[Done]", err: Write) -> tuple[str, str, int]:
    """Return the outcome of a run: the subtype of its result, a note, and the exit code. Reports an error to the
    user."""
    try:
        done = task.result()
    except asyncio.CancelledError:
        return "interrupted", "", EXIT_CODES["interrupted"]
    except PrunecliError as error:
        err(f"prunecli: {visible(error.message)}" + (f"\n{visible(error.hint)}" if error.hint else ""))
        codes = (
            (SessionError, EXIT_SESSION),
            (NeedsInterface, EXIT_USAGE),
            (PrunecliError, EXIT_CODES["error"]),
        )
        return "error", error.message, next(code for kind, code in codes if isinstance(error, kind))
    if done.note:
        err(f"prunecli: {done.note}")
    subtype = _SUBTYPES[done.reason]
    return subtype, done.note, EXIT_CODES[subtype]


def stream_of(session: Session, model: Callable[[], str]) -> "PartialMessages":
    """Return the pieces of the messages of a session, for `--include-partial-messages`."""

    prefix = f"msg_{session.id}_{len(session.records)}"  # unique in a resumed session too
    return partial_messages.PartialMessages(prefix, model)


@contextmanager
def at_signals(act: Callable[[], object]) -> Iterator[list[int]]:
    """Call `act` on a signal that ends the program, and yield the list of received signals."""
    loop, caught = asyncio.get_running_loop(), list[int]()

    def take(number: int) -> None:
        caught.append(number)
        act()

    for number in _SIGNALS:
        loop.add_signal_handler(number, take, number)
    try:
        yield caught
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _runs(
    runtime: Runtime, prompts: Sequence[Turn], printer: Printer, schema: "AnswerSchema | None"
) -> Done:
    try:
        await runtime.parts.ready()
    finally:
        printer.init()
    await asyncio.sleep(0)  # ends here if the write failed, which cancels this task
    if not prompts:
        take_back_cut(runtime)
        rest = at_rest(runtime.session.context)
        if rest and rest.reason == "finished":
            return _judged(replace(rest, note=rest.note or NOTHING_TO_DO), rest.note or NOTHING_TO_DO)
        return _judged(await runtime.go_on(), printer.text)
    done = Done("finished")
    for prompt in prompts:
        done = await answered(runtime, printer, prompt, schema if prompt is prompts[-1] else None)
        if done.reason != "finished":
            break
    return done


async def answered(
    runtime: Runtime, printer: "Printer", turn: Turn, schema: "AnswerSchema | None" = None
) -> Done:
    """Run a prompt or a slash command. With `schema`, an answer must be JSON that is valid under it. Raises what
    `submit` and `run_command` raise, and PrunecliError if the second answer is not valid either."""
    words = turn.words
    if turn.is_typed and words.startswith("/") and not turn.given:
        ran = await commands.run_command(runtime, words)
        if ran and not ran.prompt:
            printer.text = "\n".join(ran.lines)
            return Done("finished")
        if ran:
            for line in ran.lines:
                printer.notice(line)
            words = ran.prompt
    if schema:
        runtime.mailbox.notices.append(schema.notice)
    done = _judged(await runtime.submit(words, given=turn.given), printer.text)
    if schema is None or done.reason != "finished":
        return done
    return await _structured(runtime, printer, schema, done)


def _judged(done: Done, answer: str) -> Done:
    """Return the end of a run for a script: an incomplete answer counts as a limit, and an empty one is named."""
    if done.cut:
        return replace(done, reason="limit")
    if done.reason == "finished" and not answer.strip():
        return replace(done, note="; ".join(filter(None, [done.note, EMPTY])))
    return done


async def _structured(runtime: Runtime, printer: Printer, schema: "AnswerSchema", done: Done) -> Done:
    """Check the answer, and ask once more for a valid one. Raises PrunecliError if that is not valid either."""
    found, problems = await schema.value(printer.text)
    if problems:
        printer.notice(f"The answer does not match the JSON schema; asking once more: {problems[0]}")
        done = _judged(await runtime.submit(schema.again(problems)), printer.text)
        if done.reason != "finished":
            return done
        found, problems = await schema.value(printer.text)
    if problems:
        raise PrunecliError(
            f"the answer does not match the JSON schema: {'; '.join(problems)}",
            "change the prompt or the schema",
        )
    printer.structured = found
    return done
