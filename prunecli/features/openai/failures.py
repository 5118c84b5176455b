"""The errors of both protocols as `ProviderError`s: their codes first, then what holds for all endpoints."""

import json
import re
from collections.abc import Mapping

from prunecli.features.openai.tables import (
    CACHE_KEY,
    CACHE_OPTIONS,
    ENCRYPTED,
    NEW_LIMIT,
    OLD_LIMIT,
    PHASE,
    RETENTION,
    STREAM_USAGE,
    SUMMARY,
)
from prunecli.model.messages import OTHER_WIRE, Json
from prunecli.model.requests import SEARCH
from prunecli.providers.failures import Failures
from prunecli.providers.optional_fields import EFFORT
from prunecli.util.errors import (
    BadRequest,
    ContextOverflow,
    FieldRefused,
    ProviderError,
    RateLimited,
    SignatureRejected,
    Unauthorized,
)

_ACCOUNT = frozenset(
    (
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_api_key"),
        *("account_deactivated", "unsupported_country_region_territory", "1113"),
    )
)
_TOO_LONG = frozenset(("context_length_exceeded", "string_above_max_length", "request_too_large"))
_FILTERED = frozenset(
    (
        *("content_filter", "content_policy_violation", "invalid_prompt", "bio_policy", "cyber_policy"),
        *("misalignment_policy_violation", "image_content_policy_violation", "data_inspection_failed"),
    )
)
_ENCRYPTED = (
    r"(?i)invalid_encrypted_content|encrypted content|required (?:following|reasoning) item|thought_signature"
)
_REASONING = r"(?i)\breasoning_(?:content|details)\b"
_REFUSED = (
    r"(?i)unsupported|unknown|unrecogni[sz]ed|not (?:permitted|allowed|supported)|unexpected|extra(?: |_)"
    r"|additional propert|does(?: not|n't) support|must be verified|not available|no longer supported"
)
_FIELDS = (
    (STREAM_USAGE, r"stream_options|include_usage"),
    (NEW_LIMIT, r"max_completion_tokens"),
    (OLD_LIMIT, r"\bmax_tokens\b"),
    (CACHE_KEY, r"prompt_cache_key"),
    (CACHE_OPTIONS, r"prompt_cache_(?:options|breakpoint)"),
    (RETENTION, r"prompt_cache_retention"),
    (SUMMARY, r"reasoning\.summary|reasoning summar"),
    (ENCRYPTED, r"\binclude\b|reasoning\.encrypted_content|encrypted content is not supported"),
    (PHASE, r"\bphase\b"),
    (SEARCH, r"web_search"),
    (EFFORT, r"reasoning[_.]effort|'reasoning'|\"reasoning\"|reasoning is not"),
)
_A_VALUE = r"(?i)supported values are|invalid value"


class OpenAiFailures(Failures):
    """A translator of the failures of one endpoint."""

    __slots__ = ()

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderError:
        """See `Failures.refused`. Gemini wraps its error in a list."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list) and value:
            value, body = value[0], json.dumps(value[0]).encode()
        error = value.get("error") if isinstance(value, dict) else None
        plain = super().refused(status, headers, body, now)
        if isinstance(plain, BadRequest | RateLimited) and isinstance(error, dict) and status >= 400:
            return self._by_code(error, plain)
        return plain

    def event(self, data: Json) -> ProviderError:
        """See `Failures.event`."""
        error = data.get("error") if isinstance(data, dict) else None
        plain = super().event(data)
        if isinstance(error, dict) and str(error.get("code")) == "rate_limit_exceeded":
            return RateLimited(plain.message)
        return self._by_code(error, plain) if isinstance(error, dict) else plain

    def _by_code(self, error: Mapping[str, Json], plain: ProviderError) -> ProviderError:
        code, message = str(error.get("code") or error.get("type") or ""), plain.message
        param = str(error.get("param") or "")
        words = f"{code} {param} {message}"
        if code in _ACCOUNT or str(error.get("type")) in _ACCOUNT:
            return Unauthorized(message, "check the account's credit, or /login to replace the API key")
        if code in _TOO_LONG:
            return ContextOverflow(message)
        if code in _FILTERED:
            return BadRequest(f"{message} (the endpoint's content filter)", "change the prompt, or /rewind")
        if isinstance(plain, RateLimited) or not isinstance(plain, BadRequest):
            return plain
        if (re.search(_ENCRYPTED, words) and "not supported" not in words) or re.search(_REASONING, message):
            return SignatureRejected(message)
        if re.search(_REFUSED, words) and not re.search(_A_VALUE, message):
            words = f"{param} {message}"
            found = tuple(name for name, pattern in _FIELDS if re.search(pattern, words))
            found = tuple(sorted(found, key=lambda name: name.removeprefix(OTHER_WIRE) != param))
            if found:
                return FieldRefused(message, plain.hint, found)
        return plain

    def _ends_in_v1(self) -> bool:
        return False
