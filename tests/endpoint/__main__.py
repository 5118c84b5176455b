"""The endpoint by hand: `python -m tests.endpoint --port 0 --script FILE.json`; prints its base URL first.

Ends with SIGTERM or SIGINT; SIGUSR1 lets a stalled response go on. A line is printed for each request, and the exit
status is 1 when one was refused.
"""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from tests.endpoint.record import Recorded
from tests.endpoint.rules import Rules
from tests.endpoint.script_json import LoadedScript, ScriptError, load_script
from tests.endpoint.server import Endpoint


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.endpoint", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="replies as JSON; without it every reply is 'Done.'")
    parser.add_argument("--judge", choices=("incremental", "full", "off"), default="incremental")
    parser.add_argument("--window", type=int, help="tokens, for every model")
    parser.add_argument("--any-model", action="store_true", help="accept unknown model names")
    parser.add_argument("--cache-minimum", type=int, default=0, help="tokens below which nothing is cached")
    parser.add_argument("--no-cache-fields", action="store_true", help="usage as local servers report it")
    parser.add_argument("--record", type=Path, help="append every request to this file as JSON lines")
    parser.add_argument("--quiet", action="store_true", help="print the base URL only")
    return parser.parse_args()


def _line(request: Recorded) -> str:
    verdict = "accepted" if request.refusal is None else f"{request.refusal.status} {request.refusal.message}"
    usage = request.usage
    tokens = f", {usage.prompt_tokens} tokens, {usage.cache_read_input_tokens} cached" if usage else ""
    return f"{request.method} {request.path} #{request.index} {len(request.body)} bytes{tokens}: {verdict}"


def _record(request: Recorded) -> str:
    refusal = request.refusal
    return json.dumps(
        {
            "index": request.index,
            "method": request.method,
            "path": request.path,
            "bytes": len(request.body),
            "body": request.body.decode(errors="replace"),
            "refusal": None if refusal is None else [refusal.status, refusal.type, refusal.message],
            "usage": None if request.usage is None else request.usage.json(),
            "reusable": None if request.usage is None else request.usage.reusable,
        }
    )


async def _serve(arguments: argparse.Namespace, script: LoadedScript) -> int:
    rules = Rules(
        window=arguments.window, any_model=arguments.any_model, cache_minimum=arguments.cache_minimum
    )
    endpoint = Endpoint(
        script.replies,
        default=script.default,
        loop=script.loop,
        rules=rules,
        judge=arguments.judge,
        cache_fields=not arguments.no_cache_fields,
        port=arguments.port,
    )
    endpoint.on_record(lambda request: _tell(arguments, request))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, endpoint.release)
    async with endpoint:
        print(endpoint.base_url, flush=True)
        await stop.wait()
    return 1 if endpoint.rejected else 0


def _tell(arguments: argparse.Namespace, request: Recorded) -> None:
    if not arguments.quiet:
        print(_line(request), flush=True)
    if arguments.record is not None:
        with arguments.record.open("a") as log:
            log.write(_record(request) + "\n")


def main() -> int:
    """Run until a signal comes; gives the exit status."""
    arguments = _arguments()
    try:
        script = load_script(arguments.script) if arguments.script else LoadedScript(())
        return asyncio.run(_serve(arguments, script))
    except (ScriptError, OSError) as error:
        print(f"tests.endpoint: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
