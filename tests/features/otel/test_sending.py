"""Sending: what the variables say, and that the end waits for no collector."""

import threading
from collections.abc import Mapping, Sequence

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from prunecli.features.otel.sdk import Sdk, from_variables
from prunecli.features.otel.sending import Sender
from prunecli.features.otel.variables import where, why_off


@pytest.mark.parametrize(
    ("environ", "off", "to"),
    [
        ({}, "", "http://localhost:4318"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:pw@x.example/a?key=1"},
            "",
            "https://***@x.example/a?***",
        ),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none"}, "", "standard error"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, "", "nowhere"),
        (
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m"},
            "",
            "http://localhost:4318 and http://m",
        ),
        ({"OTEL_METRICS_EXPORTER": "prometheus"}, "OTEL_METRICS_EXPORTER is prometheus", ""),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "use http/protobuf, usually at port 4318", ""),
    ],
)
def test_the_variables_say_where_it_goes(environ: Mapping[str, str], off: str, to: str) -> None:
    assert off in why_off(environ)
    assert bool(off) == bool(why_off(environ))
    assert to in where(environ)


class Hangs(SpanExporter):
    """A collector that takes what is sent and never answers."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.released.wait()
        return SpanExportResult.SUCCESS


def an_sdk(exporter: SpanExporter) -> Sdk:
    traces = TracerProvider(shutdown_on_exit=False)
    batches = isinstance(exporter, Hangs)
    traces.add_span_processor((BatchSpanProcessor if batches else SimpleSpanProcessor)(exporter))
    return Sdk(traces, MeterProvider(shutdown_on_exit=False))


def tell(sender: Sender) -> None:
    sender.later("begin", "a", "", "chat m", 1, {})
    sender.later("end", "a", 2, {"error.type": "denied"})


async def test_the_end_waits_only_so_long() -> None:
    exporter = Hangs()
    sender = Sender(lambda: an_sdk(exporter))
    tell(sender)
    await sender.finish(0.01)
    exporter.released.set()
    assert sender.problem == "no answer within 0.01 s"


async def test_a_wrong_value_becomes_a_line_and_what_comes_after_an_end_is_sent_too() -> None:
    sender = Sender(lambda: from_variables({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}))
    sender.later("measure", "no such name", 1, {})
    await sender.finish()
    assert sender.problem.startswith("KeyError: 'no such name'")
    made = list[InMemorySpanExporter]()

    def make() -> Sdk:
        made.append(InMemorySpanExporter())
        return an_sdk(made[-1])

    sender = Sender(make)
    for _ in range(2):
        tell(sender)
        await sender.finish()
    assert [len(one.get_finished_spans()) for one in made] == [1, 1]
    assert sender.problem == ""
