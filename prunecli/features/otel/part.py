"""The options of telemetry, and its part of a runtime, which follows the records of each session."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from prunecli.config.effective import Config
from prunecli.features.otel.reporting import Reporter
from prunecli.features.otel.sending import Sender
from prunecli.features.otel.variables import is_disabled, where, why_off
from prunecli.model.events import Record
from prunecli.model.signals import Notice, SessionEvent, SummaryStarted
from prunecli.providers.registry import Finding
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.session.session import Session
from prunecli.util.by_project import Refused
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.features.otel import sdk
else:
    sdk = lazy("prunecli.features.otel.sdk")


@frozen
class Otel:
    """Telemetry by OpenTelemetry, for teams: figures of requests, tools and prunes. OTEL_EXPORTER_OTLP_ENDPOINT and
    OpenTelemetry's other variables say where it goes."""

    enabled: Annotated[
        bool,
        "Send it, from the next start on. Needs pip install 'prunecli[otel]'.",
        Refused("it decides where figures of your work go"),
    ] = False
    content: Annotated[
        bool, "Send your prompts and the inputs of tools too.", Refused("it decides where prompts go")
    ] = False


class Telemetry(Part):
    """The telemetry of one agent; tasks send with that of the agent that started them."""

    def __init__(self, host: Host, parent: "Telemetry | None") -> None:
        super().__init__(host, parent)
        options, environ = host.config.section("otel"), os.environ
        self.sender: Sender | None = parent.sender if parent else None
        self.reporter: Reporter | None = None
        self._why, self._is_task, self._is_told = "", parent is not None, False
        if options.enabled and parent is None and not is_disabled(environ):
            self._why = why_off(environ)
            self.sender = None if self._why else Sender(lambda: sdk.from_variables(environ))
        if self.sender is not None:
            above = parent.reporter if parent else None
            self.reporter = Reporter(host, self.sender, above, content=options.content)
            host.session.subscribe(self._read)

    def switched(self, session: Session) -> None:
        session.subscribe(self._read)

    def opened(self, *, headless: bool) -> None:
        if not headless and self.sender is not None and "standard error" in where(os.environ):
            self._why, self.sender, self.reporter = "the exporter `console` works with -p only", None, None
        if self._why:
            self.host.notices.append(f"[otel] enabled, but {self._why}. Nothing is sent.")

    def starting(self) -> None:
        if self.reporter is not None:
            self.reporter.begins()

    def _read(self, event: SessionEvent) -> None:
        if self.reporter is not None and isinstance(event, Record):
            self.reporter.take(event)
        elif self.reporter is not None and isinstance(event, SummaryStarted):
            self.reporter.summary_begins()

    def rests(self) -> None:
        for line in self._new_problem():
            self.host.session.tell(Notice(line, "warning"))

    async def finish(self) -> Sequence[str]:
        if self.sender is not None and not self._is_task:
            await self.sender.finish()
        return self._new_problem()

    def _new_problem(self) -> Sequence[str]:
        if self._is_told or self._is_task or self.sender is None or not self.sender.problem:
            return ()
        self._is_told = True
        return (f"Telemetry could not be sent to {where(os.environ)}: {self.sender.problem}.",)

    def status_rows(self) -> Sequence[tuple[str, str]]:
        if self.sender is None:
            return ()
        problem = f"; failed: {self.sender.problem}" if self.sender.problem else ""
        return [("telemetry", f"to {where(os.environ)}{problem}")]


def findings(config: Config) -> list[Finding]:
    """Return what `prunecli doctor` says of telemetry."""
    options = config.section("otel")
    if not options.enabled or is_disabled(os.environ):
        return [Finding("telemetry", "ok", f"off{' by OTEL_SDK_DISABLED' if options.enabled else ''}")]
    if why := why_off(os.environ):
        return [Finding("telemetry", "problem", f"nothing is sent: {why}")]
    what = "figures, prompts and inputs of tools" if options.content else "figures only"
    return [Finding("telemetry", "ok", f"{what}, to {where(os.environ)}")]
