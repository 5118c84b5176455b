"""How pages and addresses are reached: the user's private hosts, and the provider's proxy and certificates."""

from collections.abc import Mapping

from prunecli.config.effective import Config
from prunecli.providers.network import route
from prunecli.tools.web.access import Web


def web_of(config: Config, environ: Mapping[str, str]) -> Web:
    """Return the settings of web_fetch and of hooks that ask an address."""

    def routed(url: str) -> tuple[str, str]:
        found = route(url, environ)
        return found.proxy, found.ca_file

    return Web(config.tools.web.private, routed)
