"""The connection to one language server: the protocol's messages by pygls and lsprotocol, within limits.

What a server sends is hostile: it may be controlled by the files that it reads. A message or a flood of them that is
too long ends the connection, a message that is none of the protocol is dropped, and nothing that the server asks for
is done.
"""

import asyncio
import contextlib
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError as Canceled
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from typing import Any

from lsprotocol import types as lsp
from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.protocol import JsonRPCProtocol
from pygls.uris import to_fs_path

from prunecli.features.lsp.options import language_of
from prunecli.tools.processes.guarded import Guarded
from prunecli.util.errors import PrunecliError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened

MAX_MESSAGE = 8_000_000
MAX_BYTES = 64_000_000
"""Bytes that a server may send for one check."""
MOST = 5_000
"""Problems of one file that are kept."""
QUIET = 0.3
"""Seconds without a further message after which pushed problems count as complete: servers send them in parts."""

logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it would write to the terminal

_SEVERITIES = {lsp.DiagnosticSeverity.Error: "error", lsp.DiagnosticSeverity.Warning: "warning"}


class ServerFailed(PrunecliError):
    """The server cannot be used. The message completes "pyright "."""


@frozen
class Problem:
    """An error or warning, on a line from 1."""

    line: int
    text: str
    severity: str


class _Protocol(JsonRPCProtocol):
    """JSON-RPC with the types of the protocol. pygls's own protocol is that of a server, which a message can end."""

    def get_message_type(self, method: str) -> Any:
        return lsp.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> Any:
        return lsp.METHOD_TO_TYPES.get(method, (None, None))[1]


class _Bounded:
    """The output of a server, of which not more than `left` bytes are read."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self.left = MAX_BYTES

    async def readline(self) -> bytes:
        await asyncio.sleep(0)  # the loop runs on, whatever a server sends
        return self._counted(await self._stream.readline())

    async def readexactly(self, count: int) -> bytes:
        if count > MAX_MESSAGE:
            raise ServerFailed(f"sent a message of more than {MAX_MESSAGE // 1_000_000} MB")
        return self._counted(await self._stream.readexactly(count))

    def _counted(self, data: bytes) -> bytes:
        self.left -= len(data)
        if self.left < 0:
            raise ServerFailed(f"sent more than {MAX_BYTES // 1_000_000} MB for one edit")
        return data


def protocol(root: Path, settings: Mapping[str, Any]) -> JsonRPCClient:
    """Return the client's side of the protocol. Takes a while, so it is made in a thread."""
    client = JsonRPCClient(_Protocol)
    folder = lsp.WorkspaceFolder(root.as_uri(), root.name)

    def section(name: str | None) -> Any:
        found: Any = settings
        for part in name.split(".") if name else ():
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    client.feature(lsp.WORKSPACE_CONFIGURATION)(lambda asked: [section(one.section) for one in asked.items])
    client.feature(lsp.WORKSPACE_WORKSPACE_FOLDERS)(lambda _: [folder])
    for method in (
        *(lsp.CLIENT_REGISTER_CAPABILITY, lsp.CLIENT_UNREGISTER_CAPABILITY),
        *(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WINDOW_SHOW_MESSAGE_REQUEST),
    ):
        client.feature(method)(lambda _: None)
    return client


class Connection:
    """A server that runs, the files that are open in it (path -> version), and the problems that it told of."""

    def __init__(
        self, client: JsonRPCClient, program: Guarded, root: Path, settings: Mapping[str, Any]
    ) -> None:
        self.versions: dict[str, int] = {}
        self._pushed: dict[str, list[lsp.Diagnostic]] = {}
        self._pulled: dict[str, list[lsp.Diagnostic]] = {}
        self._fresh = set[str]()
        self._news = asyncio.Event()
        self._program, self._root, self._settings = program, root, settings
        self._pulls = False
        self._errors = b""
        self._protocol = client.protocol
        self._protocol.set_writer(program.input)
        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda told: self._published(told))
        self._output = _Bounded(program.output)
        self._reading = asyncio.ensure_future(run_async(Event(), self._output, self._protocol))
        self._logging = asyncio.ensure_future(self._read_log())

    async def begin(self) -> None:
        """Shake hands. Raises ServerFailed."""
        document = lsp.TextDocumentClientCapabilities(
            synchronization=lsp.TextDocumentSyncClientCapabilities(did_save=True),
            publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(version_support=True),
            diagnostic=lsp.DiagnosticClientCapabilities(),
        )
        around = lsp.WorkspaceClientCapabilities(configuration=True, workspace_folders=True)
        folder = lsp.WorkspaceFolder(self._root.as_uri(), self._root.name)
        made = await self._ask(
            lsp.INITIALIZE,
            lsp.InitializeParams(
                lsp.ClientCapabilities(workspace=around, text_document=document),
                process_id=None,  # a server in the sandbox does not see ours, and would end
                root_uri=self._root.as_uri(),
                root_path=str(self._root),
                workspace_folders=[folder],
                initialization_options=dict(self._settings),
            ),
        )
        self._pulls = made.capabilities.diagnostic_provider is not None
        self._protocol.notify(lsp.INITIALIZED, lsp.InitializedParams())

    def show(self, path: str, text: str, *, new: bool = False) -> None:
        """Tell the server the content of a file; `new`: the file was just created."""
        uri = Path(path).as_uri()
        self._output.left = MAX_BYTES
        self._fresh.discard(path)
        version = self.versions.get(path, 0) + 1
        if version == 1:
            item = lsp.TextDocumentItem(uri, language_of(path), version, text)
            self._protocol.notify(lsp.TEXT_DOCUMENT_DID_OPEN, lsp.DidOpenTextDocumentParams(item))
        else:
            named = lsp.VersionedTextDocumentIdentifier(version, uri)
            whole = lsp.TextDocumentContentChangeWholeDocument(text)
            self._protocol.notify(
                lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.DidChangeTextDocumentParams(named, [whole])
            )
            saved = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri))
            self._protocol.notify(lsp.TEXT_DOCUMENT_DID_SAVE, saved)
        kind = lsp.FileChangeType.Created if new else lsp.FileChangeType.Changed
        changed = lsp.DidChangeWatchedFilesParams([lsp.FileEvent(uri, kind)])
        self._protocol.notify(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, changed)
        self.versions[path] = version

    def hide(self, path: str) -> None:
        """Close a file in the server."""
        named = lsp.TextDocumentIdentifier(Path(path).as_uri())
        self._protocol.notify(lsp.TEXT_DOCUMENT_DID_CLOSE, lsp.DidCloseTextDocumentParams(named))
        del self.versions[path]
        self._pushed.pop(path, None)
        self._pulled.pop(path, None)

    async def settle(self, path: str) -> None:
        """Wait until the server has told the problems of the content shown last. Raises ServerFailed."""
        if self._pulls:
            for each in list(self.versions):
                named = lsp.TextDocumentIdentifier(Path(each).as_uri())
                found = await self._ask(lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.DocumentDiagnosticParams(named))
                if isinstance(found, lsp.RelatedFullDocumentDiagnosticReport):
                    self._pulled[each] = list(found.items)[:MOST]
            return
        while path not in self._fresh or self._news.is_set():
            self._news.clear()
            waiting = asyncio.ensure_future(self._news.wait())
            try:
                await asyncio.wait(
                    {waiting, self._reading},
                    timeout=QUIET if path in self._fresh else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                waiting.cancel()
            if self._reading.done():
                raise await self._end()

    def problems(self, path: str, *, warnings: bool) -> list[Problem]:
        """Return the errors of a file, with `warnings` too."""
        kinds = {kind for kind in _SEVERITIES.values() if warnings or kind == "error"}
        every = (*self._pulled.get(path, ()), *self._pushed.get(path, ()))
        found = [_problem(one) for one in every]
        return sorted({one for one in found if one.severity in kinds}, key=lambda one: (one.line, one.text))

    async def close(self) -> None:
        """End the server."""
        if not self._reading.done():
            with contextlib.suppress(TimeoutError, ServerFailed):
                await asyncio.wait_for(self._ask(lsp.SHUTDOWN, None), 1.0)
                self._protocol.notify(lsp.EXIT, None)
        self._program.input.close()
        self._reading.cancel()
        await asyncio.shield(self._program.end())
        self._logging.cancel()
        await asyncio.gather(self._reading, self._logging, return_exceptions=True)

    async def _ask(self, method: str, params: Any) -> Any:
        answer: Future[Any] = self._protocol.send_request(method, params)
        waiting = asyncio.wrap_future(answer)
        await asyncio.wait({waiting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            raise await self._end()
        try:
            return waiting.result()
        except (JsonRpcException, Canceled, asyncio.CancelledError) as error:
            raise ServerFailed(f"failed: {shortened(one_line(str(error)), 200)}") from error

    async def _end(self) -> ServerFailed:
        """Return why nothing can be read from the server any more."""
        error = None if self._reading.cancelled() else self._reading.exception()
        if isinstance(error, ServerFailed):
            return error
        if isinstance(error, ValueError):
            return ServerFailed("sent something other than LSP")
        await self._program.ends_within(1.0)
        await asyncio.wait({self._logging}, timeout=0.2)
        said = [line.strip() for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()]
        why = f": {shortened(one_line(said[0]), 200)}" if said else ""
        code = self._program.told.exit_code
        return ServerFailed(f"ended{f' with code {code}' if code is not None else ''}{why}")

    async def _read_log(self) -> None:
        while data := await self._program.errors.read(65_536):
            self._errors = (self._errors + data)[:2_000]

    def _published(self, told: lsp.PublishDiagnosticsParams) -> None:
        path = os.path.normpath(to_fs_path(told.uri) or "")
        if path in self.versions and told.version in (None, self.versions[path]):
            self._pushed[path] = list(told.diagnostics)[:MOST]
            self._fresh.add(path)
            self._news.set()


def _problem(told: lsp.Diagnostic) -> Problem:
    code = f" ({one_line(str(told.code))})" if told.code not in (None, "") else ""
    kind = _SEVERITIES.get(told.severity or lsp.DiagnosticSeverity.Error, "")
    text = shortened(one_line(" ".join(told.message.split())), 300) + shortened(code, 80)
    return Problem(told.range.start.line + 1, text, kind)


def new_problems(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    """Return the problems that were not there before. Lines move with an edit, so they do not count."""
    left = Counter(one.text for one in before)
    found = list[Problem]()
    for one in after:
        if left[one.text]:
            left[one.text] -= 1
        else:
            found.append(one)
    return found
