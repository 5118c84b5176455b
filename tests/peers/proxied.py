"""Thirty turns of an installed program in front of the strict endpoint, with and without the proxy.

`python -m tests.peers.proxied [claude pi opencode]` prints a line for each run: directly, behind the proxy, behind
one with --bound; on a model that binds its thinking and on one that does not. `PRUNECLI_PEERS` as in `programs`.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from prunecli.features.proxy.body import plain
from prunecli.model.events import PrunApplied
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.endpoint import Rules, serve
from tests.peers.driven import BOUND, PYTHON, UNBOUND, Run, answer
from tests.peers.programs import PEERS, Peer
from tests.peers.tap import TAG, tapped

DRIVEN = ("claude", "pi", "opencode")
RUNS = ((UNBOUND, "direct"), (UNBOUND, "proxied"), (BOUND, "direct"), (BOUND, "proxied"), (BOUND, "bound"))


@dataclass
class Outcome:
    """What came of thirty turns: `unreported` answers were logged with another usage than the endpoint reported.
    Requests begin as an earlier one, but not with all of its messages, in `breaks` of the program itself. `ours` were
    sent so though the program's own went on, without a record of it, or with other fields than the program's."""

    requests: int
    rejected: list[str]
    logged: list[tuple[str, tuple[int, ...]]]
    unreported: int
    breaks: int
    ours: int
    prunes: int
    sent: int
    proved: list[str]


def played(peer: Peer, model: str, mode: str, home: Path) -> Outcome:
    """Run thirty turns: "direct", "proxied" or "bound"."""
    home.mkdir(parents=True)
    with serve(answer, rules=Rules(system_messages=True)) as endpoint:
        run = Run(peer, home, model, endpoint.base_url, endpoint)
        with _proxy(run, mode) as behind, tapped(home / "target") as (run.url, raw):
            (home / "target").write_text(behind)
            run.url += urlsplit(behind).path
            run.prepare()
            run.all_turns()
    paths = sorted(home.glob(".local/share/prunecli/sessions/*/*.jsonl"))
    records = [record for path in paths for record in read_log(path).records]
    prunes = [record.timestamp for record in records if isinstance(record.event, PrunApplied)]
    logged = list(run.logged())
    asked = [request for request in endpoint.requests if request.json.get("tools")]
    reported = {
        (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
        for request in endpoint.requests
        if (usage := request.usage)
    }
    return Outcome(
        len(asked),
        [str(request.refusal) for request in endpoint.rejected if "messages" in request.path],
        logged,
        sum(usage not in reported for _, usage in logged),
        *_breaks([(raw[int(one.headers[TAG])], one.json) for one in asked], prunes),
        len(prunes),
        sum(len(request.body) for request in endpoint.requests),
        [verify_session(path, read_log(path)).lines[-1] for path in paths],
    )


@contextmanager
def _proxy(run: Run, mode: str) -> Iterator[str]:
    """Yield the address for the program. Claude Code is wrapped instead, and gets the address of the endpoint."""
    prunecli = [sys.executable, "-m", "prunecli"]
    flags = ["--strategy", "prune_old_observations", *(["--bound"] if mode == "bound" else [])]
    if mode == "direct" or run.peer.program == "claude":
        run.wraps = [] if mode == "direct" else [*prunecli, "wrap", "--upstream", run.url, *flags]
        yield run.url
        return
    words = [*prunecli, "proxy", "--port", "0", "--upstream", run.url, *flags]
    environ = {"HOME": str(run.home), **PYTHON}
    with subprocess.Popen(words, env=environ, cwd=run.home, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip().partition("=")[2]
        process.terminate()


def _breaks(pairs: Sequence[tuple[tuple[int, bytes], Any]], prunes: Sequence[int]) -> tuple[int, int]:
    """Return the breaks of the program, and ours. Each pair is when a request came, its bytes, and what was sent."""
    before: list[tuple[list[bytes], list[bytes]]] = []
    breaks = ours = 0
    for ((came, raw), sent), until in zip(pairs, [*(one[0][0] for one in pairs[1:]), inf], strict=True):
        theirs = json.loads(raw.partition(b"\r\n\r\n")[2])
        now, out = (plain(one["messages"]) for one in (theirs, sent))
        begun = [one for one in before if one[0][0] == now[0]]
        kept = [one for one in begun if one[0] == now[: len(one[0])]]
        breaks += begun[-1:] != kept[-1:]
        if kept and not any(came <= at <= until for at in prunes):
            last = max(kept, key=lambda one: len(one[0]))[1]
            ours += out[: len(last)] != last
        ours += theirs | {"messages": 0} != sent | {"messages": 0}
        before.append((now, out))
    return breaks, ours


def main() -> None:
    """Print a line for each run."""
    for peer in (peer for peer in PEERS if peer.program in (sys.argv[1:] or DRIVEN) and peer.binary()):
        with TemporaryDirectory() as folder:
            direct: dict[str, Outcome] = {}
            for model, mode in RUNS:
                found = played(peer, model, mode, Path(folder) / f"{model}-{mode[:5]}")
                said = Counter(one for one, _ in found.logged)
                same = said == Counter(one for one, _ in direct.setdefault(model, found).logged)
                print(
                    f"{peer.program} {model} {mode}: {found.requests} requests, {len(found.rejected)} rejected, "
                    f"{len(found.logged)} answers {'as' if same else 'NOT as'} without a proxy, {found.unreported} "
                    f"with another usage than reported, {found.breaks} breaks of its own, {found.ours} of ours "
                    f"without a record, {found.prunes} prunes, {found.sent:,} bytes; {found.proved}"
                )


if __name__ == "__main__":
    main()
