"""`-p --input-format stream-json`: runs each message as it arrives and prints its result, until the input ends.

    {"type":"user","message":{"role":"user","content":"…"}}
    {"type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}

A message that arrives during a run waits for its end. A control request takes effect at once and is answered with a
`control_response` (with `--output-format stream-json`): `interrupt` stops the run, `set_permission_mode` takes a
`mode`, `set_model` a `model`.
"""

import asyncio
import json
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prunecli.agent.decide import Done
from prunecli.front.headless.run import (
    EXIT_CODES,
    EXIT_TERMINATED,
    NOTHING,
    OutputFormat,
    Printer,
    Turn,
    Write,
    answered,
    at_signals,
    ended,
    run_headless,
    stream_of,
)
from prunecli.model.codec import block_to_json, content_from_json, strict_loads
from prunecli.model.messages import Block, Document, Image, Json, Text
from prunecli.runtime import Runtime
from prunecli.safety.permissions.verdict import MODES
from prunecli.util.errors import OutputFailed, PrunecliError, UsageError
from prunecli.util.input_lines import InputLines, LineTooLong
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime.answer_schema import AnswerSchema


async def run_stream(
    runtime: Runtime,
    first: str,
    source: int,
    *,
    form: OutputFormat,
    out: Write,
    err: Write,
    go_on: bool,
    schema: "AnswerSchema | None",
    partial: bool,
) -> int:
    """Run `first`, if any, and then each message that arrives at the descriptor `source`.

    Returns the exit code of the last run. Without a message, continue the session if `go_on` is set. With `schema`,
    each answer must be JSON that is valid under it; for `partial`, see `run_headless`.

    Raises PrunecliError for a malformed line, after running the messages before it, UsageError if there was nothing
    to do, and OutputFailed.
    """
    streamed = _Streamed(runtime, first, InputLines(source), form, out, err, schema, partial=partial)
    code = await streamed.run()
    if code is not None:
        return code
    if not go_on:
        raise UsageError("no prompt", "add one after -p, or pipe it in")
    return await run_headless(runtime, (), form=form, out=out, err=err, partial=partial)


class _Streamed:
    def __init__(
        self,
        runtime: Runtime,
        first: str,
        lines: InputLines,
        form: OutputFormat,
        out: Write,
        err: Write,
        schema: "AnswerSchema | None",
        *,
        partial: bool,
    ) -> None:
        self._runtime = runtime
        self._lines = lines
        self._out = out
        self._err = err
        self._form = form
        self._schema = schema
        self._waiting: asyncio.Queue[Turn | PrunecliError | None] = asyncio.Queue()
        if first:
            self._waiting.put_nowait(Turn(first))
        stream = stream_of(runtime.session, lambda: runtime.model_name) if partial else None
        self._printer = Printer(runtime, form, self._write, err, stream=stream)
        self._task: asyncio.Task[Done] | None = None
        self._stopped = False
        self._lost: OutputFailed | None = None
        self._caught: list[int] = []

    async def run(self) -> int | None:
        """Run as described in `run_stream`; return None if there was no message."""
        code = None
        reading = asyncio.create_task(self._read())
        reading.add_done_callback(lambda _: self._waiting.put_nowait(None))
        leave = self._runtime.session.subscribe(self._printer.read)
        self._runtime.on_task.append(self._printer.follow)
        try:
            with at_signals(self._end) as self._caught:
                while not self._over and (item := await self._waiting.get()) is not None:
                    if isinstance(item, PrunecliError):
                        raise item
                    if code is None:
                        await self._runtime.parts.ready()
                        self._printer.init()
                    code = await self._turn(item)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            leave()
        if not reading.cancelled():
            reading.result()  # a defect of the reader ends the run too
        for line in await self._runtime.parts.finish():
            self._printer.notice(line)
        if self._lost:
            raise self._lost
        if self._caught:
            return EXIT_TERMINATED if self._caught[-1] != signal.SIGINT else EXIT_CODES["interrupted"]
        return code

    @property
    def _over(self) -> bool:
        return bool(self._caught) or self._lost is not None

    async def _turn(self, prompt: Turn) -> int:
        printer, loop = self._printer, asyncio.get_running_loop()
        printer.turns, printer.text, printer.structured = 0, "", NOTHING
        printer.usage.clear()
        printer.before = self._runtime.bill.cost
        printer.denials.clear()
        begun, self._stopped = loop.time(), False
        task = self._task = asyncio.create_task(answered(self._runtime, printer, prompt, self._schema))
        await asyncio.wait({task})
        self._task = None
        subtype, note, code = ended(task, self._err)
        printer.result(subtype, round((loop.time() - begun) * 1000), note)
        printer.notices.clear()
        return code

    def _stop(self) -> None:
        if self._task is not None and not self._stopped:
            self._stopped = True
            self._task.cancel()

    def _end(self) -> None:
        self._stop()
        self._waiting.put_nowait(None)

    def _write(self, line: str) -> None:
        """Print a line. If that fails, the run ends and nothing more is printed."""
        try:
            if self._lost is None:
                self._out(line)
        except OutputFailed as error:
            self._lost = error
            self._stop()
            self._waiting.put_nowait(None)

    # Input ---------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        number = 0
        try:
            while True:
                number += 1
                line = await self._lines.next()
                if line is None:
                    break
                text = line.decode("utf-8-sig", "replace")
                if not text.strip():
                    continue
                if (asked := _control(text)) is not None:
                    self._answer(asked)
                else:
                    self._waiting.put_nowait(user_turn(text, number))
        except LineTooLong:
            self._waiting.put_nowait(PrunecliError(f"standard input: line {number}: too long"))
        except PrunecliError as error:
            self._waiting.put_nowait(error)

    def _answer(self, asked: Mapping[str, Json]) -> None:
        response: dict[str, Any] = {"request_id": asked.get("request_id")}
        request = asked.get("request")
        try:
            self._obey(request if isinstance(request, dict) else {})
            response["subtype"] = "success"
        except PrunecliError as error:
            response |= {"subtype": "error", "error": error.message}
        if self._form == "stream-json":
            self._write(json.dumps({"type": "control_response", "response": response}))

    def _obey(self, request: Mapping[str, Json]) -> None:
        """Carry out a control request. Raises UsageError for an unknown or impossible one."""
        match request:
            case {"subtype": "interrupt"}:
                self._stop()
            case {"subtype": "set_permission_mode", "mode": mode}:
                known = next((one for one in MODES if one == mode), None)
                if known is None:
                    raise UsageError(
                        f"unknown mode {one_line(str(mode))!r}: expected one of {', '.join(MODES)}"
                    )
                self._runtime.gatekeeper.mode = known
            case {"subtype": "set_model", "model": str(model)} if model.strip():
                self._runtime.set_model(model)
            case _:
                raise UsageError(f"unknown control request {one_line(str(request.get('subtype')))!r}")


def _control(text: str) -> Mapping[str, Json] | None:
    try:
        value = strict_loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "control_request" else None


def user_turn(line: str, number: int) -> Turn:
    """Return the prompt in a line of stream-json. Raises PrunecliError, which names the line number."""
    try:
        words, given = _prompt(line)
    except ValueError as error:
        raise PrunecliError(
            f"standard input: line {number}: {error}",
            'write one message per line: {"type":"user","message":{"role":"user","content":"…"}}',
        ) from error
    if not (words.strip() or given):
        raise PrunecliError(f"standard input: line {number}: the message is empty", "add some text")
    return Turn(words, given)


def _prompt(line: str) -> tuple[str, tuple[Block, ...]]:
    """Return the words, images and documents of a user's message. Raises ValueError for any other line."""
    try:
        value = strict_loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: see character {error.pos + 1}") from error
    except ValueError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    match value:
        case {"type": kind} if kind != "user":
            raise ValueError(f"a line of type {_shown(kind)}; expected 'user' or 'control_request'")
        case {"message": {"role": role}} if role != "user":
            raise ValueError(f"a message of the role {_shown(role)}; expected 'user'")
        case {"message": {"content": str(words)}}:
            return words, ()
        case {"message": {"content": content}}:
            return _parts(content)
        case _:
            raise ValueError("not a message with content")


def _shown(value: Json) -> str:
    return repr(value[:40]) if isinstance(value, str) else json.dumps(value)[:40]


def _parts(content: Json) -> tuple[str, tuple[Block, ...]]:
    """Return the text, images and documents in the content. Raises ValueError for other blocks."""
    blocks = content_from_json(content)
    given = tuple(block for block in blocks if isinstance(block, Image | Document))
    other = [block for block in blocks if not isinstance(block, Text | Image | Document)]
    if other:
        kind = str(block_to_json(other[0]).get("type"))[:40]
        raise ValueError(
            f"a block of type {kind!r} with this content can't be sent; use text, image or document"
        )
    return "\n".join(block.text for block in blocks if isinstance(block, Text)), given
