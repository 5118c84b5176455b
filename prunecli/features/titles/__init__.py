"""Titles of sessions by a small model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("titles", "prunecli.features.titles.part:Titles")
    app.part("titles", "prunecli.features.titles.part:Titling")
