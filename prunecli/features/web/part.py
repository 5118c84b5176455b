"""The settings of web_fetch in a runtime."""

from typing import TYPE_CHECKING

from prunecli.runtime.parts import Part
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tools.web.access import Web

if TYPE_CHECKING:
    from prunecli.runtime import web_access
else:
    web_access = lazy("prunecli.runtime.web_access")


class WebPart(Part):
    """What web_fetch may reach, and how."""

    @property
    def for_tools(self) -> "Web":
        return web_access.web_of(self.host.choices.config, self.host.setup.environ)
