"""Runs the user's formatters on a file that was edited."""

import asyncio
import threading
from collections.abc import Sequence

from prunecli.features.lsp.options import Formatter
from prunecli.runtime.host import Host
from prunecli.tools.files.atomic_write import MAX_BYTES, digest_of, locked, replace_content
from prunecli.tools.files.diff import change
from prunecli.tools.files.encoding import encoding_of
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.files.workspace import opened_place
from prunecli.tools.processes.guarded import filtered
from prunecli.util.errors import ToolError
from prunecli.util.sanitize import one_line, shortened

SECONDS = 10.0
MOST_LINES, MOST_DIFF = 100, 4_000
"""Changed lines, and characters of their diff, that the model is told; after more, it must read the file again."""


async def formatted(host: Host, path: str, formatters: Sequence[tuple[str, Formatter]]) -> tuple[bytes, str]:
    """Run the formatters on a file. Return its content now, and what the model is told, "" if nothing changed.

    The model has seen the content if it is told all changes. Raises ToolError, with the file unchanged, if a
    formatter fails.
    """
    context = host.tool_context(reads=True)
    folders = context.workspace, context.added

    def read(stop: threading.Event) -> bytes:
        with opened_place(path, context.cwd, *folders) as place, locked(place, stop) as current:
            return current.data

    before = data = await in_thread(read)
    for name, one in formatters:
        data = await _through(host, name, one, path, data)
    if data == before:
        return data, ""
    encoding = encoding_of(data)
    made = change(encoding.decode(before), encoding.decode(data))
    told_all = made.added + made.removed <= MOST_LINES and len(made.diff) <= MOST_DIFF

    def write(stop: threading.Event) -> None:
        with opened_place(path, context.cwd, *folders) as place, locked(place, stop) as current:
            if current.data != before:
                raise ToolError("the file changed meanwhile")
            identity = replace_content(place, current, data, stop)
            if told_all:
                host.files_seen.note(identity, digest_of(data), place.path)

    await in_thread(write)
    said = f"{', '.join(name for name, _ in formatters)} formatted the file"
    return data, f"{said}:\n{made.diff}" if told_all else f"{said}; read it again before you edit it."


async def _through(host: Host, name: str, formatter: Formatter, path: str, data: bytes) -> bytes:
    """Return what a formatter makes of a file's content. Raises ToolError."""
    context = host.tool_context(reads=True)
    confine = host.sandbox.confine(granted=False, reads=True, online=False)
    argv = [word.replace("$FILE", path) for word in formatter.command]
    try:
        async with (
            asyncio.timeout(SECONDS),
            confine(argv, cwd=str(context.cwd), env=context.env, command=argv[0]) as inside,
        ):
            made = await filtered(
                inside.argv,
                data,
                cwd=context.cwd,
                env=inside.env,
                most=MAX_BYTES,
                descriptors=inside.descriptors,
            )
    except TimeoutError as error:
        raise ToolError(f"{name} took longer than {SECONDS:g} s") from error
    except OSError as error:
        raise ToolError(f"{name} could not be started: {error.strerror}") from error
    if made.exit_code != 0 or (data and not made.output):
        ended = "it wrote too much" if made.exit_code is None else f"exit code {made.exit_code}"
        why = made.errors.decode("utf-8", "replace").strip() or ended
        raise ToolError(f"{name} failed: {shortened(one_line(' '.join(why.split())), 300)}")
    return made.output
