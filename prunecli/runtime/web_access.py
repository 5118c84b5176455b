"""How pages and addresses are reached: the user's private hosts, and the provider's proxy and certificates."""

from collections.abc import Mapping

from prunecli.config.effective import Config
from prunecli.providers.network import route
from prunecli.tools.web.access import Web

SECTION = "tools.web"
"""The options with the user's private hosts, if a feature brings them."""


def web_of(config: Config, environ: Mapping[str, str]) -> Web:
    """Return the settings of web_fetch and of hooks that ask an address."""

    def routed(url: str) -> tuple[str, str]:
        found = route(url, environ)
        return found.proxy, found.ca_file

    private = config.section(SECTION).private if SECTION in config.schema.brought else ()
    return Web(private, routed)
