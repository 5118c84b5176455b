"""/status: the settings and state of this session."""

from collections.abc import Sequence
from functools import partial

from prunecli import __version__
from prunecli.commands.command import Effect, Table, refuse
from prunecli.plugins.features import available
from prunecli.runtime import Runtime
from prunecli.runtime.added_folders import in_words
from prunecli.util.figures import money


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show model, session, context, permissions, sandbox and version."""
    refuse("status", arguments.split())
    status, setup, session = runtime.status(), runtime.setup, runtime.session
    ledger, hint = status.ledger, partial(available, installed=runtime.config.installed)
    mark = "~" if status.estimated else ""
    name = f"{session.name} · " if session.name else ""
    copied = f", and {money(status.bill.copied)} before the copy" if status.bill.copied else ""
    rows = (
        ("version", __version__),
        ("directory", setup.places.shown(setup.cwd) + ("" if status.trusted else " · read-only, /trust")),
        *((("also in", f"{in_words(setup)} · /add-dir"),) if setup.added.paths else ()),
        ("model", status.model),
        ("session", f"{name}{session.id}"),
        ("file", setup.places.shown(session.path) if session.path else "not saved"),
        (
            "context",
            f"{ledger.used_words(mark)}{hint(' · /context')}",
        ),
        ("limit", ledger.limit_words),
        ("pruning", hint("on · /prune-stats") if status.pruning else "off · /prune-toggle"),
        ("permissions", f"{status.mode} · /permissions"),
        ("sandbox", runtime.sandbox.line().removeprefix("Sandbox: ") or "not tried yet"),
        *runtime.parts.gather(lambda part: part.status_rows()),
        ("cost", f"{money(status.bill.cost)}{copied}{hint(' · /cost')}"),
    )
    return [Table("Status", ("item", "value"), rows)]
