"""A collector on 127.0.0.1 that reads OTLP over HTTP, as protobuf, with OpenTelemetry's own definitions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector(ThreadingHTTPServer):
    """What has arrived: `raw` are the bodies, `headers` those of the last request. It knows no path that `lacks`."""

    def __init__(self, lacks: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lacks = lacks
        self.raw: list[tuple[str, bytes]] = []
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def resources(self) -> list[dict[str, Any]]:
        return [_told(one.resource.attributes) for one in self._traces()]

    @property
    def spans(self) -> dict[str, Any]:
        """The spans by their ids."""
        found = (span for one in self._traces() for scope in one.scope_spans for span in scope.spans)
        return {span.span_id: span for span in found}

    @property
    def chats(self) -> list[dict[str, Any]]:
        return [_told(one.attributes) for one in self.spans.values() if one.name.startswith("chat ")]

    @property
    def points(self) -> list[tuple[str, float, dict[str, Any]]]:
        """Name, amount (the sum of a histogram) and attributes of each metric that has arrived."""
        bodies = (body for path, body in self.raw if path == "/v1/metrics")
        requests = map(ExportMetricsServiceRequest.FromString, bodies)
        return [
            (metric.name, _amount(point), _told(point.attributes))
            for one in requests
            for resource in one.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in (metric.histogram if metric.HasField("histogram") else metric.sum).data_points
        ]

    def parents(self) -> set[tuple[str, str]]:
        """The names of all spans, each with that of the span around it, "" for none."""
        spans = self.spans
        return {
            (one.name, spans[one.parent_span_id].name if one.parent_span_id else "") for one in spans.values()
        }

    def _traces(self) -> Iterator[Any]:
        for path, body in self.raw:
            if path == "/v1/traces":
                yield from ExportTraceServiceRequest.FromString(body).resource_spans


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.raw.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.headers = dict(self.headers)
        self.send_response(404 if self.path == self.server.lacks else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _told(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(one) for one in found.values] if kind == "array_value" else found


def _amount(point: Any) -> float:
    kind = "sum" if "explicit_bounds" in point.DESCRIPTOR.fields_by_name else point.WhichOneof("value")
    return float(getattr(point, kind))


@contextmanager
def collecting(lacks: str = "") -> Iterator[Collector]:
    with Collector(lacks) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()
