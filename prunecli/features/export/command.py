"""/export: write the session to a file in another format."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.commands.command import Effect, InThread, Say, unquoted
from prunecli.features.export.exporters.formats import ENDINGS, exported, format_named, is_format
from prunecli.front.html import write_new
from prunecli.runtime import Runtime
from prunecli.tools.files.workspace import seen_from
from prunecli.util.figures import counted


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Write this session to a file: /export [markdown|html|pi|messages] [file]."""
    first, _, rest = arguments.partition(" ")
    place = unquoted(arguments)
    name = next((one for one, ending in ENDINGS.items() if place.endswith(ending)), "")
    if not name or is_format(first):
        name, place = format_named(first or "markdown"), unquoted(rest.strip())
    if not runtime.session.context.entries:
        return [Say("Nothing to export: the session is empty.", "warning")]
    path = Path(place or f"prunecli-{runtime.session.id}{ENDINGS[name]}").expanduser()
    path = path if path.is_absolute() else runtime.setup.cwd / path
    records, cwd = tuple(runtime.session.records), runtime.setup.cwd

    def write() -> Sequence[Effect]:
        done = exported(records, name)
        write_new(path, done.text)
        hidden = f"; {counted(done.redacted, 'secret')} replaced" if done.redacted else ""
        return [Say(f"Wrote {seen_from(str(path), cwd)}{hidden}.")]

    return [InThread(f"Exporting {counted(len(records), 'record')}", write)]
