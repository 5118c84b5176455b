"""Reloads the configuration of a running session: when the user asks, and when a directory becomes trusted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.config.effective import Config
from prunecli.runtime.preamble import tool_changes

if TYPE_CHECKING:
    from prunecli.runtime.host import Host


def trust(host: "Host") -> Sequence[str]:
    """Trust the directory, load its configuration and return notices. Raises ConfigError for an invalid
    configuration; the directory then stays untrusted."""
    config = _loaded(host, trusted=True)
    host.setup.trust_store.trust(host.setup.cwd)
    host.gatekeeper.trusted = True
    host.use_config(config)
    return config.notices


def reload(host: "Host") -> Sequence[str]:
    """Reload the configuration; values set for the session stay. Returns notices. Raises ConfigError."""
    config = _loaded(host, trusted=host.gatekeeper.trusted)
    host.use_config(config)
    host.connections.renew()
    return [*config.notices, *tool_changes(host.session.context, host.tools)]


def _loaded(host: "Host", *, trusted: bool) -> Config:
    return host.setup.load_config(trusted).keeping(host.config.chosen)
