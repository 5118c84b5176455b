"""Anthropic's Messages API, at Anthropic or at any server that speaks it (`[model] base_url`)."""

from prunecli.providers.provider import Provider
from prunecli.providers.registry import Connection, Finding, Keys, Listed, check_address

KEYS = Keys("ANTHROPIC_API_KEY", "key", "ANTHROPIC_AUTH_TOKEN")

_ADDRESS = "https://api.anthropic.com"


def needs_key(base_url: str) -> bool:
    """Only Anthropic's own address is sure to: a server of the user's own may do without."""
    return not base_url


def make(connection: Connection) -> Provider:
    """The provider. Raises ConfigError for a credential or address that can't be right, and UsageError for a variable
    that names a proxy in a way that is not understood."""
    from prunecli.providers.messages_api import AnthropicProvider, Endpoint
    from prunecli.providers.network import route

    key, address = connection.credentials, connection.base_url or _ADDRESS
    way = route(address, connection.environ)
    return AnthropicProvider(
        Endpoint(key.api_key, key.auth_token, address),
        proxy=way.proxy,
        variable=way.variable,
        ca_file=way.ca_file,
        environ=connection.environ,
    )


def check(connection: Connection, listed: Listed) -> Finding:
    """Check the endpoint by listing its models, unless a needed key is missing."""
    address = connection.base_url or _ADDRESS
    if not connection.credentials and needs_key(connection.base_url):
        return Finding("endpoint", "warning", f"{address}: not checked, because there is no API key")
    return check_address(address, KEYS, listed)
