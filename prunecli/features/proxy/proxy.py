"""`prunecli proxy`: prune for any program that speaks the Messages API."""

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from prunecli.cli.shared import complaining, group
from prunecli.features.proxy.attach import asked_all
from prunecli.features.proxy.conversation import HowToPrune
from prunecli.features.proxy.hosting import Hosting, figures, hosted, status_line, summary_of
from prunecli.features.proxy.server import checked_upstream
from prunecli.features.proxy.wrap import BASE_URL, ENDPOINT
from prunecli.model.claude import is_bound
from prunecli.model.events import AssistantMessage, PrunApplied, Record, Spilled, ToolResult
from prunecli.model.messages import thinking_blocks
from prunecli.session.log import read_log
from prunecli.session.store import Store
from prunecli.util.figures import counted
from prunecli.util.paths import Places

PORT = 8788
app = group("Prune for other programs, between them and their endpoint.")


@app.callback(invoke_without_command=True, no_args_is_help=False)
def proxy(
    ctx: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            help="The port on 127.0.0.1; 0 takes a free one. By default 8788, if no other proxy has it.",
            show_default=False,
        ),
    ] = None,
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
    if ctx.invoked_subcommand:
        return
    with complaining():
        environ = dict(os.environ)
        if status:
            rows = [row for _, row in asked_all(environ)]
            typer.echo(status_line(rows))
            return
        address = checked_upstream(upstream or environ.get(BASE_URL) or ENDPOINT)
        how = HowToPrune("proxy", prunes=not dry_run, bound=bound)
        free = (PORT if _is_free(PORT) else 0) if port is None else port
        asyncio.run(
            _run(Hosting(address, environ, how, free, strategy, lambda line: typer.echo(line, err=True)))
        )


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


async def _run(asked: Hosting) -> None:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
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


@app.command("release")
def release(session: Annotated[str, typer.Argument(help="The conversation's id, or its beginning.")]) -> None:
    """Say how to continue a conversation without the proxy."""
    with complaining():
        store = Store(Places.of(dict(os.environ)).sessions)
        for line in ways_on(read_log(store.find(session)).records):
            typer.echo(line)


def ways_on(records: Sequence[Record]) -> list[str]:
    """Return what it takes to go on without the proxy with the conversation that these records hold."""
    pruned, answers = False, 0
    for record in records:
        match record.event:
            case PrunApplied() | ToolResult(spilled=Spilled()):
                pruned = True
            case AssistantMessage(content, model) if pruned and is_bound(model) and thinking_blocks(content):
                answers += 1
    if not answers:
        return ["Start the program without the proxy: it sends its own history, which the endpoint accepts."]
    return [
        f"{counted(answers, 'answer')} with thinking made after a prune, which is bound to the pruned conversation.",
        "Without the proxy, the program sends it in the unpruned one, and the endpoint rejects it. Ways to continue:",
        "* Claude Code leaves out rejected thinking and tries again, at each request until /compact: just start it.",
        "* For other programs: summarize the whole conversation first (/compact), or begin a new one.",
        "* Keep the proxy, with --bound: it leaves out thinking that would be rejected.",
    ]
