"""Web pages as text, and searches by the endpoint."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.tool("prunecli.features.web.fetch_tool:WebFetch", "web_fetch")
    app.tool("prunecli.features.web.search_tool:WebSearch", "web_search", enabled=False)
    app.options("tools.web", "prunecli.features.web.options:Web")
    app.part("web", "prunecli.features.web.part:WebPart")
