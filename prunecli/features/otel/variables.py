"""What OpenTelemetry's variables say, as far as its SDK does not read them by itself."""

from collections.abc import Mapping
from importlib.util import find_spec

from prunecli.util.sanitize import one_line, without_password


def exporters(signal: str, environ: Mapping[str, str]) -> list[str]:
    named = environ.get(f"OTEL_{signal}_EXPORTER", "").lower() or "otlp"
    return [one for word in named.split(",") if (one := word.strip()) not in ("", "none")]


def is_disabled(environ: Mapping[str, str]) -> bool:
    return environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def why_off(environ: Mapping[str, str]) -> str:
    """Return why nothing is sent with these variables and this installation, "" if it is."""
    for signal in "TRACES", "METRICS":
        if unknown := set(exporters(signal, environ)) - {"otlp", "console"}:
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
        for name in exporters(signal, environ)
    )
    return one_line(" and ".join(places) or "nowhere")
