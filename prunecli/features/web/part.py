"""The settings of web_fetch in a runtime."""

from typing import TYPE_CHECKING

from prunecli.runtime.parts import Part

if TYPE_CHECKING:
    from prunecli.tools.web.access import Web


class WebPart(Part):
    """What web_fetch may reach, and how."""

    @property
    def for_tools(self) -> "Web":
        from prunecli.runtime.web_access import web_of  # deferred, since startup does not need it

        return web_of(self.host.choices.config, self.host.setup.environ)
