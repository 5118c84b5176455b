"""The provider `openai`: endpoints of OpenAI's Responses API and Chat Completions. Imports no SDK."""

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from prunecli.features.openai.endpoints import KNOWN, VENDORS, OpenAiEndpoint, WireName
from prunecli.features.openai.tables import PLAIN
from prunecli.providers.provider import Provider
from prunecli.providers.registry import Connection, Finding, Listed, check_address
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.features.openai import provider
    from prunecli.providers import network
else:
    network = lazy("prunecli.providers.network")
    provider = lazy("prunecli.features.openai.provider")

WIRES: tuple[WireName, ...] = ("responses", "chat")
INSTALL = (
    "pip install 'prunecli[openai]' (or pipx inject prunecli openai, uv tool install 'prunecli[openai]')"
)
_OPENAI = KNOWN["openai"]
KEYS = replace(_OPENAI.keys, required=False)
"""Those of OpenAI, for a server of the user's own too, which may need none: `needs_key` tells."""
ENDPOINTS = KNOWN


@frozen
class Options:
    """The provider of OpenAI's protocols."""

    wire: Annotated[
        WireName | None,
        "Protocol: responses or chat; if unset, that of the endpoint, or chat for an unknown one.",
    ] = None


def endpoint_of(model: str) -> str:
    """Return the endpoint of a model by its name, "" if it is none of these vendors'."""
    return next((name for start, name in VENDORS.items() if model.lower().startswith(start)), "")


def needs_key(base_url: str) -> bool:
    """Return whether the address needs a key. The user's own server may not."""
    found = _known(base_url)
    return found is not None and found.needs_key


def make(connection: Connection) -> Provider:
    """Make the provider. Raises ConfigError without the SDK or for a wrong protocol, and UsageError for an invalid
    proxy variable."""
    if find_spec("openai") is None:
        raise ConfigError("the openai package is not installed", INSTALL)
    address = (connection.base_url or _OPENAI.base_url).rstrip("/")
    known, key = _known(address), connection.credentials.auth_token or connection.credentials.api_key or ""
    header = known.key_header if known else ""
    headers = {header: key} if header and key else {"Authorization": f"Bearer {key}"} if key else {}
    default = connection.options.wire or (known.wire if known else "chat")
    wire: WireName | None = next((one for one in WIRES if one == (connection.wire or default)), None)
    if wire is None:
        raise ConfigError(f"wire: expected one of {', '.join(WIRES)}, got {connection.wire!r}")
    target = provider.Target(
        address,
        wire,
        known.dialect if known else PLAIN,
        headers,
        (key,) if key else (),
        known is not None and known.answers[-1] == "yes" and wire == "responses",
    )
    return provider.OpenAiProvider(target, network.route(address, connection.environ))


def check(connection: Connection, listed: Listed) -> Finding:
    """Check the endpoint by listing its models, unless a needed key is missing."""
    address, keys = connection.base_url or _OPENAI.base_url, connection.keys or KEYS
    if not connection.credentials and needs_key(connection.base_url):
        return Finding("endpoint", "warning", f"{address}: not checked, because there is no API key")
    return check_address(address, keys, listed)


def _known(base_url: str) -> OpenAiEndpoint | None:
    """Return the known endpoint with this address: by its host, or by the port of a server on this machine."""
    parts = urlsplit(base_url or _OPENAI.base_url)
    for one in KNOWN.values():
        host = urlsplit(one.base_url.partition("{")[0] or one.base_url)
        same = parts.hostname == host.hostname and parts.port == host.port
        if same or ("{" in one.base_url and (parts.hostname or "").endswith(".openai.azure.com")):
            return one
    return None
