"""`prunecli wrap PROGRAM`: run another agent with a proxy in front of its endpoint."""

import asyncio
import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from prunecli.cli.shared import complaining, single
from prunecli.features.proxy.conversation import HowToPrune
from prunecli.features.proxy.hosting import Hosting, figures, hosted, summary_of
from prunecli.features.proxy.server import checked_upstream
from prunecli.plugins.features import features
from prunecli.util.errors import UsageError
from prunecli.util.sanitize import visible

ENDPOINT = "https://api.anthropic.com"
BASE_URL = "ANTHROPIC_BASE_URL"
_PATHS = {"opencode": "/v1"}
"""What a program's base URL ends with, for those that leave it to the user."""
_SERVER = {"type": "stdio", "command": sys.executable, "args": ["-P", "-m", "prunecli", "mcp", "serve"]}
_FLAGS: dict[str, tuple[str, ...]] = {
    "claude": (
        f"--mcp-config={json.dumps({'mcpServers': {'prunecli': _SERVER}})}",
        "--allowedTools=mcp__prunecli__recall,mcp__prunecli__prun",
    )
}
"""What gives a program the tools of `prunecli mcp serve`, and lets it call them without a question."""
_WHOLE = "Long results were sent whole. To shorten them, give the program the MCP server `prunecli mcp serve`"


def wrap(
    program: Annotated[list[str], typer.Argument(help="The program and its arguments: claude --continue.")],
    strategy: Annotated[str, typer.Option(help="A pruning strategy; by default the configured one.")] = "",
    upstream: Annotated[
        str, typer.Option(help="The endpoint; by default ANTHROPIC_BASE_URL, else Anthropic's.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Record requests, prune nothing.")] = False,
    bound: Annotated[
        bool, typer.Option("--bound", help="Prune models with bound thinking too (see docs/proxy.md).")
    ] = False,
) -> None:
    """Run a program with pruning, and print what it saved at the end.

    Its requests to the Messages API go through a proxy on this machine. Nothing else changes.
    """
    with complaining():
        environ = dict(os.environ)
        found = shutil.which(program[0])
        if found is None:
            raise UsageError(
                f"no program {visible(program[0])}", "name one on your PATH: prunecli wrap claude"
            )
        address = checked_upstream(upstream or environ.get(BASE_URL) or ENDPOINT)
        name = Path(program[0]).name
        address = address.removesuffix(_PATHS.get(name, "")) if upstream == "" else address
        how = HowToPrune(name, prunes=not dry_run, bound=bound)
        said: list[str] = []
        asked = Hosting(address, environ, how, strategy=strategy, say=said.append)
        flags = () if dry_run or "mcp" not in features().of("subcommand") else _FLAGS.get(name, ())
        code = asyncio.run(_wrapped(asked, [found, *flags, *program[1:]], said))
    raise typer.Exit(code)


async def _wrapped(asked: Hosting, program: list[str], said: list[str]) -> int:
    async with hosted(asked) as running:
        environ = {**asked.environ, BASE_URL: running.address + _PATHS.get(asked.how.program, "")}
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the program's
        numbers = asyncio.Queue[signal.Signals]()
        for number in (signal.SIGTERM, signal.SIGHUP):  # else the program is left without its endpoint
            asyncio.get_running_loop().add_signal_handler(number, numbers.put_nowait, number)
        try:
            child = await asyncio.create_subprocess_exec(*program, env=environ, preexec_fn=_takes_interrupts)
            passing = asyncio.ensure_future(_pass_on(numbers, child))
            code = await child.wait()
            passing.cancel()
        finally:
            signal.signal(signal.SIGINT, before)
        conversations = running.conversations.all
        if (
            asked.how.prunes
            and conversations
            and not any(one.runtime.choices.recall for one in conversations)
        ):
            said.append(_WHOLE)
        rows = [summary_of(one) for one in conversations]
    dearest = max(rows, key=lambda row: float(row["cost"]), default=None)
    for line in dict.fromkeys(said):
        typer.echo(f"prunecli: {line}", err=True)
    if dearest is not None:
        saved = figures(rows) or "Nothing was pruned"
        saved = "; ".join(filter(None, (saved, dearest["shortened"])))
        typer.echo(f"{saved}: prunecli attach {dearest['id']}", err=True)
    return code if code >= 0 else 128 - code


async def _pass_on(numbers: asyncio.Queue[signal.Signals], child: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        while True:
            child.send_signal(await numbers.get())


def _takes_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


app = single(wrap)
app.info.context_settings = {"ignore_unknown_options": True}
