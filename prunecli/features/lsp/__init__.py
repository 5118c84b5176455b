"""After an edit: formatters that the user configured, and new errors from language servers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("lsp", "prunecli.features.lsp.options:Servers", check="prunecli.features.lsp.options:wrong")
    app.options(
        "format", "prunecli.features.lsp.options:Formatters", check="prunecli.features.lsp.options:wrong"
    )
    app.check("prunecli.features.lsp.options:findings")
    app.part("lsp", "prunecli.features.lsp.part:AfterEdits")
