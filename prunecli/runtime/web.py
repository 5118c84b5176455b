"""How web_fetch reaches pages: the user's private hosts, and the proxies and certificates of the environment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunecli.config import Config

if TYPE_CHECKING:
    from prunecli.tools.web.access import Web


def web_of(config: Config, environ: Mapping[str, str]) -> "Web":
    """The access that a configuration gives; the same variables apply as to the provider."""
    from prunecli.tools.web.access import Web  # deferred, as no start needs it

    def route(url: str) -> tuple[str, str]:
        from prunecli.providers.network import route  # deferred: only a fetch needs it

        found = route(url, environ)
        return found.proxy, found.ca_file

    return Web(config.tools.web.private, route)
