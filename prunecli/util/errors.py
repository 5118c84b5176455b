"""The error classes, grouped by cause.

Every user-facing error is a `PrunecliError`: a message that names the file, key or record, and a hint on what to do.
The command line prints both and never a traceback.
"""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class PrunecliError(Exception):
    """An error for the user: `message` describes the failure, and `hint` the next step (may be empty)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(PrunecliError):
    """A wrong configuration file, environment variable or flag. The message names the file and key."""


class UsageError(PrunecliError):
    """A wrong command line, or one that cannot work here: no key, no terminal."""


class NeedsInterface(UsageError):
    """A slash command that a headless run cannot carry out."""


class PromptBlocked(PrunecliError):
    """A hook blocked a prompt, so it was not sent."""


class OutputFailed(PrunecliError):
    """Cannot write to standard output. `closed`: the reader has exited (`| head -1`), so print nothing."""

    def __init__(self, why: str, *, closed: bool) -> None:
        super().__init__(f"cannot write output: {why}")
        self.closed = closed


class SessionError(PrunecliError):
    """Cannot use a session file."""


class SessionNotFound(SessionError):
    """No session has this id, prefix or name."""


class SessionCorrupt(SessionError):
    """The file holds no usable session. `line` is the first bad line, from 1, or 0 for the whole file."""

    def __init__(self, path: object, line: int, why: str, hint: str = "") -> None:
        super().__init__(f"{path}: line {line}: {why}" if line else f"{path}: {why}", hint)
        self.path = path
        self.line = line


class UnknownFormat(SessionCorrupt):
    """The file is in no known session format, so it is probably something else."""


class SessionReadOnly(SessionError):
    """The session is open for viewing; nothing can be added to it."""


class SessionTooNew(SessionReadOnly):
    """The session needs a newer prunecli: it can be viewed but not continued."""


class SessionLocked(SessionError):
    """Another process is writing to the session. `pid` is that process, or None if unknown."""

    def __init__(self, path: "Path", pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{path.stem} is in use by {who}", "use --fork to continue a copy, or close the other process"
        )
        self.path = path
        self.pid = pid


class StorageFailed(SessionError):
    """Cannot store a record (disk full, failed sync). Nothing else may run until it is stored."""


class SnapshotFailed(PrunecliError):
    """Cannot save, compare or restore files; they are unchanged."""


class ProviderError(PrunecliError):
    """The model or the connection to it failed. `permanent`: a retry would fail the same way."""

    permanent = False


class Unauthorized(ProviderError):
    """401, 402 or 403: a problem with the credential or the account; retrying won't help."""


class RateLimited(ProviderError):
    """429. `retry_after` is in seconds, or None if the server did not give it."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Overloaded(ProviderError):
    """529, 5xx or an error event in the stream; temporary. `retry_after` as in `RateLimited`."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class NoSummaryNow(Overloaded):
    """The endpoint temporarily cannot make a summary or read one that it made."""


class ConnectionLost(ProviderError):
    """No connection, or a stream that broke off."""

    def __init__(self, message: str, hint: str = "", *, permanent: bool = False) -> None:
        super().__init__(message, hint)
        self.permanent = permanent


class ContextOverflow(ProviderError):
    """The request exceeds the model's context window or the endpoint's byte limit."""


class SignatureRejected(ProviderError):
    """The endpoint rejects the signature of an earlier thinking block."""


class BadRequest(ProviderError):
    """Any other 4xx: the endpoint rejects the request."""


class FieldRefused(BadRequest):
    """The endpoint rejects an optional field. `fields` are the candidates, most likely first."""

    def __init__(self, message: str, hint: str = "", fields: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.fields = fields


class SummaryRejected(BadRequest):
    """The endpoint rejects a summary that it made."""


class InvalidRequest(BadRequest):
    """`validate` found an error before the request was sent.

    The message names the place as the endpoint would, so that the same remedies apply.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"the request is not valid: {message}", hint)


class ToolError(Exception):
    """An error of a tool. Its text becomes an error result for the model."""


def report_unawaited(_: object, context: Mapping[str, Any]) -> None:
    """Report an exception of a task that nothing awaits, for an event loop.

    asyncio's own way formats a traceback in the task's finalizer, and Python 3.11 imports for that: if the finalizer
    runs during an import, the program hangs.
    """
    error = context.get("exception")
    if error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        sys.stderr.write(f"prunecli: internal error: {context['message']}\n")
