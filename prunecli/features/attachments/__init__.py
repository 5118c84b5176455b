"""Files, images and PDFs that a prompt mentions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.part("attachments", "prunecli.features.attachments.part:Attachments")
