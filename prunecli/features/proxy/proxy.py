"""`prunecli proxy`: prune for any program that speaks the Messages API."""

import asyncio
import os
import signal
from contextlib import suppress
from typing import Annotated

import typer

from prunecli.cli.shared import complaining, single
from prunecli.features.proxy.attach import asked_all
from prunecli.features.proxy.conversations import HowToPrune
from prunecli.features.proxy.hosting import Hosting, figures, hosted, status_line, summary_of
from prunecli.features.proxy.server import checked_upstream
from prunecli.features.proxy.wrap import BASE_URL, ENDPOINT


def proxy(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes a free one.")] = 8788,
    upstream: Annotated[
        str, typer.Option(help="The endpoint; by default ANTHROPIC_BASE_URL, else Anthropic's.")
    ] = "",
    strategy: Annotated[str, typer.Option(help="A pruning strategy; by default the configured one.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Record requests, prune nothing.")] = False,
    bound: Annotated[
        bool, typer.Option("--bound", help="Prune models with bound thinking too (see docs/proxy.md).")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="One line about running proxies, and exit.")
    ] = False,
) -> None:
    """Prune for other programs, between them and their endpoint.

    Prints the address to set as ANTHROPIC_BASE_URL. Ctrl+C ends it.
    """
    with complaining():
        environ = dict(os.environ)
        if status:
            rows = [row for _, row in asked_all(environ)]
            typer.echo("\n".join(map(status_line, rows)) if rows else "no conversation")
            return
        address = checked_upstream(upstream or environ.get(BASE_URL) or ENDPOINT)
        how = HowToPrune("proxy", prunes=not dry_run, bound=bound)
        asyncio.run(
            _run(Hosting(address, environ, how, port, strategy, lambda line: typer.echo(line, err=True)))
        )


async def _run(asked: Hosting) -> None:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, done.set)
    async with hosted(asked) as running:
        typer.echo(f"export {BASE_URL}={running.address}")
        typer.echo(
            f"In front of {asked.upstream}. `prunecli attach` shows conversations. Ctrl+C to stop.", err=True
        )
        await done.wait()
        rows = [summary_of(one) for one in running.conversations.all]
    if line := figures(rows):
        typer.echo(line, err=True)


app = single(proxy)
