"""Sends spans and metrics with OpenTelemetry's SDK, by OpenTelemetry's own variables.

All of it happens in threads: one imports the SDK and makes the spans, the SDK's own send them in batches from bounded
queues. So nothing here delays a turn, and a failure becomes a line.
"""

import logging
import sys
import threading
from asyncio import Event, get_running_loop, timeout
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from prunecli import __version__
from prunecli.plugins.foreign import ForeignFailed, called
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line, shortened, without_password

if TYPE_CHECKING:
    from opentelemetry import trace as api
    from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
    from opentelemetry.sdk import metrics, resources, trace
    from opentelemetry.sdk.metrics import export as metrics_export
    from opentelemetry.sdk.trace import export as trace_export
else:
    api, resources = lazy("opentelemetry.trace"), lazy("opentelemetry.sdk.resources")
    metric_exporter = lazy("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    trace_exporter = lazy("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    metrics, metrics_export = lazy("opentelemetry.sdk.metrics"), lazy("opentelemetry.sdk.metrics.export")
    trace, trace_export = lazy("opentelemetry.sdk.trace"), lazy("opentelemetry.sdk.trace.export")

SECONDS = 2.0
"""The longest that the end of the program waits for the collector."""
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

    def __init__(self, traces: "trace.TracerProvider", meters: "metrics.MeterProvider") -> None:
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
    resource = resources.Resource.create({"service.version": __version__})
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(resources.Resource({"service.name": "prunecli"}))
    traces = trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    readers = []
    for name in _exporters("TRACES", environ):
        spans = (
            trace_exporter.OTLPSpanExporter()
            if name == "otlp"
            else trace_export.ConsoleSpanExporter(out=sys.stderr)
        )
        traces.add_span_processor(trace_export.BatchSpanProcessor(spans))
    for name in _exporters("METRICS", environ):
        to = (
            metric_exporter.OTLPMetricExporter()
            if name == "otlp"
            else metrics_export.ConsoleMetricExporter(sys.stderr)
        )
        readers.append(metrics_export.PeriodicExportingMetricReader(to))
    return Sdk(traces, metrics.MeterProvider(readers, resource, shutdown_on_exit=False))


def _exporters(signal: str, environ: Mapping[str, str]) -> list[str]:
    named = environ.get(f"OTEL_{signal}_EXPORTER", "").lower() or "otlp"
    return [one for word in named.split(",") if (one := word.strip()) not in ("", "none")]


def is_disabled(environ: Mapping[str, str]) -> bool:
    return environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def why_off(environ: Mapping[str, str]) -> str:
    """Return why nothing is sent with these variables and this installation, "" if it is."""
    for signal in "TRACES", "METRICS":
        if unknown := set(_exporters(signal, environ)) - {"otlp", "console"}:
            return f"OTEL_{signal}_EXPORTER is {min(unknown)}, not one of otlp, console, none"
        for variable in f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL":
            if environ.get(variable, "").lower() == "grpc":
                return f"{variable} is grpc; use http/protobuf, usually at port 4318"
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        return "the library is missing: pip install 'prunecli[otel]'"
    return ""


def where(environ: Mapping[str, str]) -> str:
    """Return where spans and metrics go, without what may be a secret in an address."""
    places = dict.fromkeys(
        without_password(
            environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
            or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
            or "http://localhost:4318"
        )
        if name == "otlp"
        else "standard error"
        for signal in ("TRACES", "METRICS")
        for name in _exporters(signal, environ)
    )
    return one_line(" and ".join(places) or "nowhere")


class _Listening(logging.Handler):
    """Hears what the SDK logs, which Python would print otherwise: batches that are lost, and those that are tried
    again because the collector does not answer."""

    def __init__(self, heard: Callable[[str, bool], None]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        given = record.args if isinstance(record.args, tuple) else ()
        error = next((type(one).__name__ for one in given if isinstance(one, Exception)), "")
        is_lost = record.levelno >= logging.ERROR
        if error or is_lost:
            self._heard(error or record.getMessage(), is_lost)


class Sender:
    """Does work with the SDK in a thread, one piece after the other. `problem` says why something was lost."""

    def __init__(self, make: Callable[[], Sdk]) -> None:
        self.problem, self._cause = "", ""
        self._make, self._has_work = make, False
        self._sdk: Sdk | None = None
        self._threads = ThreadPoolExecutor(1, "otel")
        self._gave_up: Callable[[], object] = bool
        self._listening = _Listening(self._hear)

    def later(self, work: Callable[..., object], *given: Any) -> None:
        """Call this with the SDK and what is given, once what came before is done."""
        self._has_work = True
        self._threads.submit(self._do, work, *given)

    def _do(self, work: Callable[..., object], *given: Any) -> None:
        try:
            if self._sdk is None:
                logging.getLogger("opentelemetry").addHandler(self._listening)
                self._sdk = called(self._make)
            called(work, self._sdk, *given)
        except ForeignFailed as error:
            self._hear(str(error), True)

    def _hear(self, why: str, is_lost: bool) -> None:
        if is_lost:
            self.problem, self._cause = self._cause or shortened(one_line(why).rstrip("."), 200), ""
        else:
            self._cause = why
        self._gave_up()

    async def finish(self, seconds: float = SECONDS) -> None:
        """Send what is left. Waits until that is done or the collector does not answer, at most this long. What comes
        later starts anew."""
        if not self._has_work:
            return
        loop, over = get_running_loop(), Event()

        def end() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(over.set)

        self._has_work, self._cause, self._gave_up = False, "", end
        threading.Thread(target=self._shutdown, args=(end,), name="otel end", daemon=True).start()
        try:
            async with timeout(seconds):
                await over.wait()
        except TimeoutError:
            self._cause = f"no answer within {seconds:g} s"
        self.problem = self._cause or self.problem

    def _shutdown(self, ended: Callable[[], object]) -> None:
        sdk, self._sdk = self._threads.submit(lambda: self._sdk).result(), None
        try:
            if sdk is not None:
                called(sdk.shutdown)
        except ForeignFailed as error:
            self._hear(str(error), True)
        ended()
