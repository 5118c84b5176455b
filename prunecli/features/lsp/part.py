"""What happens after an edit: the user's formatters run, then a language server is asked what is new."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from prunecli.agent.hooks import Chain, Hooks
from prunecli.features.lsp.formatting import formatted
from prunecli.features.lsp.options import formatters_for, programs_of, server_for
from prunecli.features.lsp.server import SECONDS, Found, Server, has_sandbox
from prunecli.model.codec import well_formed
from prunecli.model.events import UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.notes import notice
from prunecli.model.signals import Notice
from prunecli.runtime.background import Background
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.tools.files.atomic_write import MAX_BYTES
from prunecli.tools.files.diff import change
from prunecli.tools.files.encoding import encoding_of
from prunecli.tools.files.workspace import real_path, seen_from
from prunecli.tools.inputs import parse
from prunecli.tools.tool import ToolOutput, touches_of
from prunecli.util.errors import ToolError

MOST_SHOWN = 10
"""Errors to tell of at a time."""
LATE = "errors after an edit"


class AfterEdits(Part):
    """The language servers of the program, which tasks share, and the edits of one runtime."""

    def __init__(self, host: Host, parent: "AfterEdits | None") -> None:
        super().__init__(host, parent)
        self._head: AfterEdits = parent._head if parent else self
        self.limits = SECONDS
        self._servers: dict[str, Server | None] = {}
        self._work = Background(self.say)
        self._before: dict[str, bytes | None] = {}
        self._late: list[tuple[Server, asyncio.Task[list[Found]]]] = []
        host.mailbox.news.append(self._due)

    # The servers ---------------------------------------------------------------------------------------------

    def configured(self) -> None:
        """End the servers, so that the next edit starts them by the new options."""
        if self._head is self:
            for server in filter(None, self._servers.values()):
                self._work.start(server.close())
            self._servers = {}

    async def close(self) -> None:
        for _, check in self._late:
            check.cancel()  # so that the end waits for no answer
        await self._work.close()
        if self._head is self:
            await asyncio.gather(*(one.close() for one in self._servers.values() if one))

    def status_rows(self) -> Sequence[tuple[str, str]]:
        found = [one for one in self._head._servers.values() if one]
        states = [f"{one.wanted.name} ({'failed' if one.failed else 'starting'})" for one in found]
        shown = [one.wanted.name if one.running else state for one, state in zip(found, states, strict=True)]
        return (("language servers", ", ".join(shown)),) if found else ()

    def say(self, line: str) -> None:
        self._head.host.session.tell(Notice(line, "warning"))

    async def server(self, path: str) -> Server | None:
        """Return the server for a file; None if none is installed, or may not run here."""
        if self._head is not self:
            return await self._head.server(path)
        wanted = server_for(path, self.host.config.section("lsp"))
        if wanted is None or wanted.name in self._servers:
            return self._servers[wanted.name] if wanted else None
        search = self.host.setup.child_env.get("PATH", "")
        there = await asyncio.to_thread(programs_of, wanted, search, str(self.host.setup.cwd))
        may_run = wanted.configured or await asyncio.to_thread(has_sandbox, self.host)
        if wanted.name not in self._servers:  # else a task that edits at the same time was faster
            if not there and (wanted.configured or not wanted.commands):
                why = f"{wanted.commands[0][0]} is not installed" if wanted.commands else "no command"
                self.say(f"lsp.{wanted.name}: {why}")
            made = Server(wanted, self.host, self.say, self.limits)
            self._servers[wanted.name] = made if there and may_run else None
        return self._servers[wanted.name]

    # Edits ---------------------------------------------------------------------------------------------------

    async def before_change(self, call: ToolUse) -> None:
        """Note the content of files that an edit is about to change, and have their server look at it."""
        self._before = {}
        for path in self.changed_by(call):
            data = await asyncio.to_thread(_read, path)
            self._before[path] = data
            server = await self.server(path)
            if server and data is not None:
                self._work.start(server.prepare(path, _text(data)))

    def changed_by(self, call: ToolUse) -> Iterator[str]:
        """Yield the real paths of files that a call changes by itself, not by a command."""
        tool = self.host.tools.get(call.name)
        try:
            touches = touches_of(tool, parse(tool.Input, call.input)) if tool else None
            for path in touches.changes if touches and not touches.runs else ():
                yield str(real_path(path, self.host.setup.cwd))
        except ToolError:
            return

    def hooks(self) -> Hooks:
        return _AfterCalls(self)

    async def edited(self, output: ToolOutput) -> ToolOutput:
        """Return the output of an edit with what formatters changed and what is new."""
        texts = list[str]()
        for path, before in self._before.items():
            made = await asyncio.to_thread(_read, path)
            if made is None or made == before:
                continue
            formatters = list(formatters_for(path, self.host.config.section("format")))
            if formatters:
                try:
                    made, text = await formatted(self.host, path, formatters)
                except ToolError as error:
                    text = f"Not formatted: {error}"
                texts.append(text)
                if "diff" in output.details and text:
                    encoding = encoding_of(made)
                    shown = change(encoding.decode(before or b""), encoding.decode(made)).details(path)
                    output = replace(output, details={**output.details, **shown})
            if server := await self.server(path):
                texts.append(await self._asked(server, path, _text(made), new=before is None))
        self._before = {}
        added = tuple(Text(text) for text in texts if text)
        if not added:
            return output
        remarks = "\n".join(
            block.text for block in added if "\n@@ " not in block.text
        )  # a diff is in the diff
        details = {**output.details, "remarks": remarks}
        return replace(output, content=(*output.content, *added), details=details)

    async def _asked(self, server: Server, path: str, text: str, *, new: bool) -> str:
        """Return what is new after an edit; if that takes too long, it is told before a later request."""
        waits = not any(server is one for one, check in self._late if not check.done())
        check = asyncio.ensure_future(server.check(path, text, new=new))
        seconds = server.wanted.options.wait if waits else 0.0
        try:
            return self._in_words(server, await asyncio.wait_for(asyncio.shield(check), seconds))
        except TimeoutError:
            self._late.append((server, check))
            return ""

    def _due(self) -> Sequence[UserMessage]:
        """Return what servers told too late, as far as it still holds."""
        done = [(server, check) for server, check in self._late if check.done()]
        self._late = [one for one in self._late if one not in done]
        texts = [
            self._in_words(server, [one for one in check.result() if server.still(one)])
            for server, check in done
            if not check.cancelled() and check.exception() is None
        ]
        text = "\n".join(filter(None, texts))
        return (notice(LATE, text),) if text else ()

    def _in_words(self, server: Server, found: Sequence[Found]) -> str:
        if not found:
            return ""
        lines = [
            f"{well_formed(seen_from(one.path, self.host.setup.cwd))}"
            f"{f':{one.problem.line}' if one.problem.line <= one.lines else ''}: "
            f"{'warning: ' if one.problem.severity == 'warning' else ''}{one.problem.text}"
            for one in found[:MOST_SHOWN]
        ]
        if len(found) > MOST_SHOWN:
            lines.append(f"… {len(found) - MOST_SHOWN} more")
        return "\n".join((f"New since this edit, by {server.wanted.name}:", *lines))


class _AfterCalls(Chain):
    """Acts after a call that edited files, and at no other moment."""

    def __init__(self, part: AfterEdits) -> None:
        super().__init__(())
        self._part = part

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        if note:
            output = replace(output, content=(*output.content, Text(note)))
        changes = any(True for _ in self._part.changed_by(call))
        return output if output.is_error or not changes else await self._part.edited(output)


def _read(path: str) -> bytes | None:
    """Return a file's content; None if there is none that can be edited."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_BYTES else None


def _text(data: bytes) -> str:
    return encoding_of(data).decode(data)
