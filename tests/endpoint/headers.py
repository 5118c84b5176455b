"""Are the headers of a request right? The key, the version of the API, the betas."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.endpoint.rules import VERSION_2023, VERSION_2026, Rules
from tests.endpoint.shape import RefusedError

UNKNOWN_BETA = (
    "Unexpected value(s) {names} for the `anthropic-beta` header. Please consult our documentation at "
    "docs.anthropic.com or try again without the header."
)


@dataclass(frozen=True, slots=True)
class Client:
    """What the headers of a request say: the API's version, the betas, the account that asks."""

    version: str
    betas: frozenset[str] = frozenset()
    account: str = ""


def check_headers(headers: Mapping[str, str], rules: Rules) -> Client:
    """Check the headers of a request (names in lower case); raises RefusedError."""
    key = api_key(headers)
    if not key and "x-api-key" not in headers and "authorization" not in headers:
        raise RefusedError("", "x-api-key header is required", 401, "authentication_error")
    if not key or (rules.keys is not None and key not in rules.keys):
        name = "x-api-key" if "x-api-key" in headers else "bearer token"
        raise RefusedError("", f"invalid {name}", 401, "authentication_error")
    version = headers.get("anthropic-version")
    if version is None:
        raise RefusedError("anthropic-version", "header is required")
    if version not in (VERSION_2023, VERSION_2026):
        raise RefusedError("anthropic-version", f'"{version}" is not a valid version')
    betas = frozenset(name.strip() for name in headers.get("anthropic-beta", "").split(",")) - {""}
    if betas and "anthropic-beta" in rules.refused:
        raise RefusedError("", UNKNOWN_BETA.format(names=", ".join(f"`{name}`" for name in sorted(betas))))
    return Client(version, betas, rules.accounts.get(key, "an account"))


def api_key(headers: Mapping[str, str]) -> str:
    """The key a request was sent with: x-api-key when it is there, else the bearer token."""
    bearer = headers.get("authorization", "")
    return headers.get("x-api-key", "") or (bearer[7:].strip() if bearer[:7].lower() == "bearer " else "")
