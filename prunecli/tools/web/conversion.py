"""Converts HTML to Markdown in a separate process, so that a hostile page can at most end that process.

The converter is html-to-markdown, an optional extra. The process runs `to_markdown.py`.
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from prunecli.errors import ToolError
from prunecli.tools.processes.command import run

SECONDS = 15.0
MAX_OUTPUT = 8_000_000
INSTALL = "HTML pages need an extra: the user can install it with `pip install 'prunecli[web]'`."
_START = "import sys; sys.path += sys.argv[1:3]; from prunecli.tools.web.to_markdown import main; main(*sys.argv[3:])"
_PACKAGE_ROOT = str(Path(__file__).parents[3])


async def markdown(html: str, url: str) -> str:
    """Return the visible main content of a page as Markdown, with absolute links. Raises ToolError."""
    found = find_spec("html_to_markdown")
    if found is None or not found.submodule_search_locations:
        raise ToolError(INSTALL)
    library = str(Path(found.submodule_search_locations[0]).parent)
    parts, size = list[bytes](), 0

    def take(data: bytes) -> bool:
        nonlocal size
        parts.append(data)
        size += len(data)
        return size <= MAX_OUTPUT

    with tempfile.TemporaryFile() as source:
        source.write(html.encode("utf-8", "replace"))
        source.flush()
        argv = [
            *(sys.executable, "-I", "-S", "-c", _START),
            *(_PACKAGE_ROOT, library, str(source.fileno()), url),
        ]
        ended = await run(
            argv,
            cwd=Path("/"),
            env={},
            take=take,
            time_limit=SECONDS,
            grace=0,
            descriptors=(source.fileno(),),
        )
    if ended.exit_code != 0 and size <= MAX_OUTPUT:
        raise ToolError(f"{url} could not be converted to Markdown.")
    return b"".join(parts)[:MAX_OUTPUT].decode("utf-8", "replace")
