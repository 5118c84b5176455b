"""The provider for Anthropic's Messages API, at Anthropic or at any compatible server (`[model] base_url`)."""

from functools import partial
from typing import TYPE_CHECKING

from prunecli.providers.endpoints import KNOWN
from prunecli.providers.provider import Provider
from prunecli.providers.registry import Connection, Finding, Keys, Listed, check_address
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.providers import cloud_wire, messages_api, network, wire
else:
    cloud_wire = lazy("prunecli.providers.cloud_wire")
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
    """Make the provider. Raises ConfigError for an invalid credential or address or a missing library, and UsageError
    for an invalid proxy variable."""
    key, address = connection.credentials, connection.base_url or _ADDRESS
    endpoint, signed = wire.Endpoint(key.api_key, key.auth_token, address), None
    if connection.cloud and (connection.cloud == "google" or not key):
        cloud_wire.check_library(connection.cloud)
        signed = partial(cloud_wire.CloudWire, connection.cloud, endpoint, connection.environ)
    return messages_api.AnthropicProvider(
        endpoint,
        route=network.DIRECT if connection.transport == "sdk" else network.route(address, connection.environ),
        transport=connection.transport,
        signed=signed,
    )


def check(connection: Connection, listed: Listed) -> Finding:
    """Check the endpoint by listing its models, unless a needed key is missing."""
    address, keys = connection.base_url or _ADDRESS, connection.keys or KEYS
    if not connection.credentials and (needs_key(connection.base_url) or keys.required):
        return Finding("endpoint", "warning", f"{address}: not checked, because there is no API key")
    return check_address(address, keys, listed)
