"""The error tree, split by whose fault it is.

Every error a user can meet is a `PrunecliError`: a message that names the file, key or record, and a hint
that names the way out. The command line prints both and never a traceback.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class PrunecliError(Exception):
    """Something a user can be told about: `message` says what, `hint` says what to do next (may be empty)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(PrunecliError):
    """A configuration file, environment variable or flag is wrong; the message names file and key."""


class UsageError(PrunecliError):
    """The command line is wrong or asks for what can't be: no key, no terminal."""


class OutputFailed(PrunecliError):
    """Standard output can't be written. `closed`: its reader has gone (`| head -1`), which needs no words."""

    def __init__(self, why: str, *, closed: bool) -> None:
        super().__init__(f"cannot write output: {why}")
        self.closed = closed


class SessionError(PrunecliError):
    """A session file can't be used."""


class SessionNotFound(SessionError):
    """No session has that id, prefix or name."""


class SessionCorrupt(SessionError):
    """The file holds no usable session; `line` is the first bad one, counted from 1, or 0 for the
    whole file."""

    def __init__(self, path: "Path", line: int, why: str) -> None:
        where = f"{path}: line {line}" if line else str(path)
        super().__init__(f"{where}: {why}", "prunecli sessions verify shows what can be read" if line else "")
        self.path = path
        self.line = line


class SessionReadOnly(SessionError):
    """The session was opened to be looked at: nothing can be added to it."""


class SessionTooNew(SessionReadOnly):
    """The session needs a feature this version does not know; it can be read, not continued."""


class SessionLocked(SessionError):
    """Another process writes to the session; `pid` is that process, or None where it can't be told."""

    def __init__(self, path: "Path", pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{path.stem} is in use by {who}", "continue a copy with --fork, or close the other one"
        )
        self.path = path
        self.pid = pid


class StorageFailed(SessionError):
    """A record could not be made durable (disk full, failed sync): nothing further may run until it can."""


class SnapshotFailed(PrunecliError):
    """The files could not be saved, compared or brought back; they are as they were."""


class ProviderError(PrunecliError):
    """The model or the way to it failed."""


class Unauthorized(ProviderError):
    """401, 402, 403: the credential or the account; trying again won't help."""


class RateLimited(ProviderError):
    """429; `retry_after` is in seconds, or None where the server did not say."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Overloaded(ProviderError):
    """529, 5xx or an error event in mid-stream: passes by itself; `retry_after` as in `RateLimited`."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class NoSummaryNow(Overloaded):
    """The endpoint can't make a summary, or read one that it made, for the moment."""


class ConnectionLost(ProviderError):
    """No connection, or a stream that ended before its end; `permanent` where trying again gives the same."""

    def __init__(self, message: str, hint: str = "", *, permanent: bool = False) -> None:
        super().__init__(message, hint)
        self.permanent = permanent


class ContextOverflow(ProviderError):
    """The endpoint says that the request is longer than the model's window (or its byte limit)."""


class SignatureRejected(ProviderError):
    """The endpoint refuses the signature of an earlier thinking block."""


class BadRequest(ProviderError):
    """Any other 4xx: the endpoint refuses the request as it stands."""


class FieldRefused(BadRequest):
    """The endpoint does not take an optional field; `fields` are those it may mean, the most exact first."""

    def __init__(self, message: str, hint: str = "", fields: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.fields = fields


class SummaryRejected(BadRequest):
    """The endpoint does not take back a summary that it made."""


class InvalidRequest(BadRequest):
    """`validate` found before a send what the endpoint would refuse. Names its place as the endpoint would, so
    that the same remedies apply."""

    def __init__(self, message: str) -> None:
        super().__init__(f"the request is not valid: {message}", "/rewind goes back to before that message")


class ToolError(Exception):
    """Raised by a tool; its text becomes an error result for the model."""
