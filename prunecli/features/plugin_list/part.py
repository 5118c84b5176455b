"""Asks about the plugins of a project, which run only once their exact content is approved."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prunecli.config.claude_plugins import damage
from prunecli.config.plugins import waiting
from prunecli.plugins.discovery import Found
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.features.plugin_list import command
else:
    command = lazy("prunecli.features.plugin_list.command")

UNAPPROVED = "The plugin {} does not run until you approve it: start prunecli here and type /plugins approve."


class PluginApprovals(Part):
    """The plugins of the project that wait for an answer."""

    def __init__(self, host: Host, parent: "PluginApprovals | None") -> None:
        super().__init__(host, parent)
        self._refused = set[Found]()

    @property
    def waiting(self) -> list[Found]:
        """The plugins that wait for an answer. Reads them anew."""
        host = self.host
        if not host.gatekeeper.trusted:
            return []
        found = waiting(host.setup.places, host.setup.cwd, host.config.plugins.disabled)
        return [one for one in found if one.data and one not in self._refused]

    def refuse(self, found: Found) -> None:
        """Stop asking about a plugin until it changes or prunecli starts again."""
        self._refused.add(found)

    def opened(self, *, headless: bool) -> None:
        if problem := damage(self.host.setup.places):
            self.host.notices.append(one_line(problem))
        if not self.waiting:
            return
        if headless:
            self.host.notices += [UNAPPROVED.format(one_line(one.source)) for one in self.waiting]
        else:
            self.host.opening.append("/plugins approve")

    def reread(self) -> Sequence[Any]:
        return command.approval(self)
