"""The provider for Anthropic's Messages API, at Anthropic or at any compatible server (`[model] base_url`)."""

from typing import TYPE_CHECKING

from prunecli.providers.endpoints import KNOWN
from prunecli.providers.provider import Provider
from prunecli.providers.registry import Connection, Finding, Keys, Listed, check_address
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.providers import messages_api, network, wire
else:
    messages_api = lazy("prunecli.providers.messages_api")
    network = lazy("prunecli.providers.network")
    wire = lazy("prunecli.providers.wire")


ENDPOINTS = KNOWN
KEYS = Keys("ANTHROPIC_API_KEY", "key", "ANTHROPIC_AUTH_TOKEN")

_ADDRESS = "https://api.anthropic.com"


def needs_key(base_url: str) -> bool:
    """Return whether the address needs a key. Anthropic's does; the user's own server may not."""
    return not base_url


def make(connection: Connection) -> Provider:
    """Make the provider. Raises ConfigError for an invalid credential or address, and UsageError for an invalid proxy
    variable."""
    key, address = connection.credentials, connection.base_url or _ADDRESS
    return messages_api.AnthropicProvider(
        wire.Endpoint(key.api_key, key.auth_token, address),
        route=network.DIRECT if connection.transport == "sdk" else network.route(address, connection.environ),
        transport=connection.transport,
    )


def check(connection: Connection, listed: Listed) -> Finding:
    """Check the endpoint by listing its models, unless a needed key is missing."""
    address, keys = connection.base_url or _ADDRESS, connection.keys or KEYS
    if not connection.credentials and (needs_key(connection.base_url) or keys.required):
        return Finding("endpoint", "warning", f"{address}: not checked, because there is no API key")
    return check_address(address, keys, listed)
