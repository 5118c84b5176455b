"""OpenTelemetry's SDK at work. Only this module imports it, and it is imported when something is to be sent."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

from prunecli import __version__
from prunecli.features.otel.variables import exporters

_SIZES = tuple(4**n for n in range(14))
_TIMES = tuple(0.01 * 2**n for n in range(14))
SAVED = "prunecli.prune.saved"
"""The metric that may fall."""
METRICS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "gen_ai.client.token.usage": ("{token}", _SIZES),
    "gen_ai.client.operation.duration": ("s", _TIMES),
    "gen_ai.execute_tool.duration": ("s", _TIMES),
    "prunecli.session.count": ("count", ()),
    "prunecli.token.usage": ("tokens", ()),
    "prunecli.cost.usage": ("USD", ()),
    "prunecli.lines_of_code.count": ("count", ()),
    "prunecli.code_edit_tool.decision": ("count", ()),
    "prunecli.active_time.total": ("s", ()),
    "prunecli.prune.count": ("count", ()),
    "prunecli.prune.tokens": ("tokens", ()),
    SAVED: ("USD", ()),
}
"""The unit of each metric, and the buckets of a histogram, as the GenAI conventions advise."""


class Sdk:
    """The SDK at work with these providers. `key` names an open span, and `within` the one around it; times are in
    unix ms."""

    def __init__(self, traces: TracerProvider, meters: MeterProvider) -> None:
        self._providers = traces, meters
        self._tracer, meter = (
            traces.get_tracer("prunecli", __version__),
            meters.get_meter("prunecli", __version__),
        )
        self._open: dict[str, api.Span] = {}
        self._add: dict[str, Callable[[float, Mapping[str, Any]], None]] = {}
        for name, (unit, buckets) in METRICS.items():
            if buckets:
                made = meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=buckets)
                self._add[name] = made.record
            else:
                make = meter.create_up_down_counter if name == SAVED else meter.create_counter
                self._add[name] = make(name, unit).add

    def measure(self, name: str, amount: float, told: Mapping[str, Any]) -> None:
        self._add[name](amount, told)

    def begin(self, key: str, within: str, name: str, at: int, told: Mapping[str, Any]) -> None:
        context = api.set_span_in_context(self._open.get(within, api.INVALID_SPAN))
        kind = api.SpanKind.CLIENT if name.startswith("chat ") else api.SpanKind.INTERNAL
        self._open[key] = self._tracer.start_span(name, context, kind, told, start_time=at * 1_000_000)

    def end(self, key: str, at: int, told: Mapping[str, Any]) -> None:
        if (span := self._open.pop(key, None)) is not None:
            span.set_attributes(told)
            if "error.type" in told:
                span.set_status(api.StatusCode.ERROR)
            span.end(at * 1_000_000)

    def shutdown(self) -> None:
        """Send what is left. Takes as long as the exporters wait for the collector."""
        for provider in self._providers:
            provider.shutdown()


def from_variables(environ: Mapping[str, str]) -> Sdk:
    """Make the SDK, which reads all variables but OTEL_*_EXPORTER itself. Raises what it raises for wrong values."""
    resource = Resource.create({"service.version": __version__})
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "prunecli"}))
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    readers = []
    for name in exporters("TRACES", environ):
        spans = OTLPSpanExporter() if name == "otlp" else ConsoleSpanExporter(out=sys.stderr)
        traces.add_span_processor(BatchSpanProcessor(spans))
    for name in exporters("METRICS", environ):
        to = OTLPMetricExporter() if name == "otlp" else ConsoleMetricExporter(sys.stderr)
        readers.append(PeriodicExportingMetricReader(to))
    return Sdk(traces, MeterProvider(readers, resource, shutdown_on_exit=False))
