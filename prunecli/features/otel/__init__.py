"""Telemetry for teams: spans and metrics by OpenTelemetry, to a collector that the user names."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("otel", "prunecli.features.otel.part:Otel")
    app.part("otel", "prunecli.features.otel.part:Telemetry")
    app.check("prunecli.features.otel.part:findings")
