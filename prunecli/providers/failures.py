"""Translates an endpoint's failures (status codes, error events, lost connections) into `ProviderError`s.

Server texts are shortened to one line and stripped of keys before they become a message. The loop looks only at the
error's class.
"""

import json
import math
import re
import socket
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

from prunecli.model.messages import Json
from prunecli.providers.network import DIRECT, Route
from prunecli.providers.optional_fields import refused_fields
from prunecli.util.errors import (
    BadRequest,
    ConnectionLost,
    ContextOverflow,
    FieldRefused,
    NoSummaryNow,
    Overloaded,
    ProviderError,
    RateLimited,
    SignatureRejected,
    SummaryRejected,
    Unauthorized,
)
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import shortened, without_password

if TYPE_CHECKING:
    from email import utils
else:
    utils = lazy("email.utils")

MAX_ERROR_BYTES = 64_000
"""Maximum bytes to read of an error's body."""

_MAX_SHOWN = 500
# The patterns are compiled when first used: only failures need them, and compiling them would delay every start.
_KEY = r"(?a)sk-ant-[\w-]+"
_SHORTEST_SECRET = 6
_TITLE = r"(?is)<title[^>]*>(.*?)</title>"
_TAG = r"(?is)<(style|script)\b.*?</\1>|<[^>]*>"

_TOO_LONG = (
    r"(?i)prompt is too long|input is too long|context[ _](?:window|length|limit|size)|available context"
    r"|prompt\b(?: \([^)]*\))? (?:exceed|is longer|too long)|max(?:imum)? (?:prompt|input|model) length|超长"
    r"|(?:input|prompt|sequence|token)[ _]length\b[^.]{0,60}\b(?:exceed|too (?:long|large)|should be|must be)"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)|`inputs` (?:tokens|must have less)"
    r"|too many (?:input |prompt )?tokens|request_too_large|model_context_window"
    r"|(?:total|prompt|input|request|message)[ _]tokens?\b[^.]{0,80}\bexceed"
    r"|exceed(?:s|ed)?\b[^.]{0,40}\btoken limit\b"
)
_SIGNATURE = (
    r"(?is)signature.*thinking|thinking.*signature|thinking.*cannot be modified|cannot be `(?:redacted_)?thinking`"
    r"|invalid `?data`? in `?redacted_thinking"
)
_NO_CREDIT = r"(?i)credit balance|billing|spend(?:ing)? limit|quota exhausted"
_UNSUPPORTED = r"(?i)\b(?:input|images?|tools?|documents?) (?:is|are) not supported"
"""Errors that llama.cpp reports as server errors (500), although trying again does not help."""
_OF_SUMMARY = frozenset(
    f"compaction_{why}"
    for why in (
        "block_misplaced",
        "block_ambiguous",
        "signature_invalid",
        "content_mismatch",
        "tool_changes_mismatch",
    )
)
"""Error codes that concern a summary sent back to the endpoint."""
_SUMMARY = r"(?i)\bcompaction`? block"
"""The words for such a summary in an error without a code."""
_SPENT = frozenset({"contract_spend_limit_reached", "enforced_spend_limit_reached"})

_Meaning: TypeAlias = Literal["account", "rate", "overload", "request", "size"]
_BY_TYPE: dict[str, _Meaning] = {
    "authentication_error": "account",
    "billing_error": "account",
    "permission_error": "account",
    "rate_limit_error": "rate",
    "overloaded_error": "overload",
    "api_error": "overload",
    "timeout_error": "overload",
    "invalid_request_error": "request",
    "not_found_error": "request",
    "conflict_error": "request",
    "request_too_large": "size",
}
_BY_STATUS: dict[int, _Meaning] = {401: "account", 402: "account", 403: "account", 429: "rate", 413: "size"}


@frozen
class Failures:
    """A translator of one endpoint's failures.

    `secrets` are the credentials in use; no message repeats them. `route` is the way to the endpoint.
    """

    base_url: str
    secrets: tuple[str, ...] = ()
    route: Route = DIRECT

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderError:
        """Translate an unsuccessful response. `now` is the unix time in seconds, for evaluating a retry-after
        date."""
        error = _json_error(body)
        said = self._said(error, headers, body)
        refused = self._refused(status, headers, error, said, now)
        if headers.get("x-should-retry", "").strip().lower() == "false":
            refused.permanent = True
            if isinstance(refused, RateLimited | Overloaded):
                refused.hint = "the endpoint says that trying again would not help"
        return refused

    def _refused(
        self, status: int, headers: Mapping[str, str], error: Mapping[str, Json], said: str, now: float
    ) -> ProviderError:
        meaning = _BY_STATUS.get(status) or ("overload" if status >= 500 or status == 408 else None)
        if meaning == "overload" and re.search(_UNSUPPORTED, said):
            meaning = "request"
        if meaning is None:
            meaning = _BY_TYPE.get(str(error.get("type")), "request")
        if status < 400:
            where = self.shown(headers.get("location", "nowhere"))
            return BadRequest(
                f"{self._endpoint()} redirects to {where} ({status})",
                "set base_url to the address of the API itself; prunecli does not follow redirects",
            )
        hint = ""
        if status == 404:
            names_model = "model" in said.lower()
            hint = "check the model's name; /model lists models" if names_model else ""
            hint = "base_url must not end in /v1" if self._ends_in_v1() else hint
        return self._error(meaning, f"{status}: {said}", error, retry_after(headers, now), hint)

    def event(self, data: Json) -> ProviderError:
        """Translate an `error` event in a stream; unknown types count as temporary."""
        error = _error_of(data)
        meaning = _BY_TYPE.get(str(error.get("type")), "overload")
        said = self.shown(str(error.get("message") or error.get("type") or "an error without a message"))
        return self._error(meaning, f"the answer broke off: {said}", error, None)

    def lost(self, error: BaseException, handled: BaseException | None = None) -> ConnectionLost:
        """Translate a failed or broken connection; the message names the reason and the address.

        `handled` is what the caller was handling when it began: Python counts it among the causes, but it is none.
        """
        causes = _chain(error, handled)
        cause, kinds = causes[-1], {type(one).__name__ for one in causes}
        proxy, variable = self.route.proxy, self.route.variable
        said = self.shown(str(cause) or str(error) or type(cause).__name__)
        nearest, hint = self._endpoint(), "is the server running? check the network and base_url"
        place = nearest + (f" through {variable or 'the proxy'}" if proxy else "")
        if proxy:
            nearest = f"{variable or 'proxy'}: {without_password(proxy)}"
            hint = f"start the proxy, or correct or unset {variable}" if variable else "start the proxy"
        if isinstance(cause, socket.gaierror):
            host = urlsplit(proxy or self.base_url).hostname
            permanent = cause.errno != socket.EAI_AGAIN
            return ConnectionLost(f"{nearest}: can't resolve the name {host}", hint, permanent=permanent)
        if isinstance(cause, ConnectionRefusedError):
            return ConnectionLost(f"{nearest}: connection refused", hint)
        if proxy and "ConnectTimeout" in kinds:
            return ConnectionLost(f"{nearest}: the proxy does not answer in time", hint)
        if proxy and "ProxyError" in kinds:
            hint = f"check {variable or 'the proxy'} and base_url"
            return ConnectionLost(f"{nearest}: the proxy refused: {said}", hint)
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or said
            return ConnectionLost(
                f"{place}: TLS connection failed: {self.shown(why)}",
                "if a proxy inspects TLS, set SSL_CERT_FILE to a PEM file with its certificate, or add it to the "
                f"system store{self.route.unread and f' ({self.route.unread} is set, but not read)'}",
                permanent=isinstance(cause, ssl.SSLCertVerificationError),
            )
        return ConnectionLost(f"{place}: the connection failed: {said}")

    def cut(self, why: str) -> ConnectionLost:
        """Translate a stream that ended, stalled or broke early."""
        return ConnectionLost(f"{self._endpoint()}: {self.shown(why)}")

    def no_stream(self, content_type: str, body: bytes) -> ProviderError:
        """Translate a successful status without an event stream, such as a proxy's page or an error with status
        200."""
        error = _json_error(body)
        if error:
            return self._error(
                _BY_TYPE.get(str(error.get("type")), "request"), self._said(error, {}, body), error, None
            )
        kind = content_type.partition(";")[0].strip() or "no content type"
        said = self._said({}, {"content-type": content_type}, body)
        return BadRequest(
            f"{self._endpoint()} answered with {self.shown(kind)} instead of an event stream: {said}",
            "check base_url; a proxy or login page may have answered instead",
        )

    def shown(self, text: str) -> str:
        """Return server text as one line of limited length, without control characters and keys."""
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "[key]")
        text = re.sub(_KEY, "[key]", text)[: 40 * _MAX_SHOWN]
        line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return shortened(line, _MAX_SHOWN)

    def _said(self, error: Mapping[str, Json], headers: Mapping[str, str], body: bytes) -> str:
        if message := error.get("message"):
            return self.shown(str(message))
        text = body[:MAX_ERROR_BYTES].decode("utf-8", "replace")
        if "html" in headers.get("content-type", "") or text.lstrip()[:1] == "<":
            title = re.search(_TITLE, text)
            text = f"an HTML page: {title[1] if title else re.sub(_TAG, ' ', text)}"
        return self.shown(text) or "no reason given"

    def _error(
        self,
        meaning: _Meaning,
        message: str,
        error: Mapping[str, Json],
        wait: float | None,
        hint: str = "",
    ) -> ProviderError:
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, Mapping) else None
        message = f"{self._endpoint()}: {message}"
        if (
            meaning == "account"
            or code in _SPENT
            or (meaning == "request" and re.search(_NO_CREDIT, message))
        ):
            return Unauthorized(message, "/login to replace the API key, or check the account's credit")
        if meaning == "rate":
            return RateLimited(message, retry_after=wait)
        if meaning == "size" or (re.search(_TOO_LONG, message) or "exceed_context" in str(error.get("type"))):
            return ContextOverflow(message)
        if code == "compaction_unavailable":
            return NoSummaryNow(message, retry_after=wait)
        if meaning == "overload":
            return Overloaded(message, retry_after=wait)
        if code in _OF_SUMMARY:
            return SummaryRejected(message, hint)
        if re.search(_SIGNATURE, message):
            return SignatureRejected(message)
        if fields := refused_fields(str(error.get("message") or "")):
            return FieldRefused(message, hint, fields)
        if re.search(_SUMMARY, message):
            return SummaryRejected(message, hint)
        return BadRequest(message, hint)

    def _endpoint(self) -> str:
        return without_password(self.base_url)

    def _ends_in_v1(self) -> bool:
        return self.base_url.rstrip("/").endswith("/v1")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait in seconds from `retry-after-ms`, or from `retry-after` in seconds or as an HTTP date.

    None if missing or invalid. A date is compared with the server's own clock.
    """

    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = utils.parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    try:
        now = utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        pass  # without a server date, use our own clock
    return max(0.0, moment - now)


def _json_error(body: bytes) -> Mapping[str, Json]:
    """Return the error object of a JSON body, or {}."""
    try:
        return _error_of(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _error_of(value: Json) -> Mapping[str, Json]:
    """Return an object with type and message, from `error` in Anthropic's form, from a string, or from the value's
    own message."""
    if not isinstance(value, Mapping):
        return {}
    error = value.get("error")
    if isinstance(error, Mapping):
        return error
    message = error if isinstance(error, str) else value.get("message") or value.get("detail")
    return {"message": message} if isinstance(message, str) else {}


def _chain(error: BaseException, handled: BaseException | None) -> list[BaseException]:
    """Return an error and its causes, innermost last. Libraries wrap the cause up to four times."""
    found = [error]
    while (cause := error.__cause__ or error.__context__) and cause is not handled and cause not in found:
        found.append(cause)
        error = cause
    return found
