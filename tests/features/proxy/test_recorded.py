"""Recorded sessions as the requests of a program, through the proxy and directly, at the times of the recording: what
each way costs, and what replay says that it costs.

`python -m tests.features.proxy.test_recorded [FOLDER]` prints a line for each session, without and with shortening.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from prunecli.features.replay.replay import Setting
from prunecli.model.codec import content_to_json
from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.model.messages import Json
from prunecli.model.record_codec import encode_record
from prunecli.session.importers.source import read_source
from tests.endpoint import Endpoint, Rules
from tests.features.proxy.driving import TOOLS, Program, proxied
from tests.replay.playable import MODEL, playable
from tests.replay.through import Clock, replayed, replies
from tests.sessions import COMPLETE, SESSIONS

PRICES = "input = 3.0\noutput = 15.0\ncache_read = 0.3\ncache_write_5m = 3.75\ncache_write_1h = 6.0\n"
CONFIG = f"""
[pruning]
estimator = "chars4"
[models."{MODEL}"]
context_window = {{window}}
[models."{MODEL}".prices]
{PRICES}"""
RECALL = {"name": "mcp__prunecli__recall", "description": "Recall.", "input_schema": {"type": "object"}}
SOME = [
    *[path for path in SESSIONS if path.stat().st_size < 8_000][:3],
    *[path for path in SESSIONS if "5039cad55d" in path.name and COMPLETE],  # cold batches, then a warm prune
]
MOST, WORST, EXACT = {False: 0.82, True: 0.75}, 1.03, 0.01


class Costs(NamedTuple):
    """US dollars for the prompts of a session."""

    direct: float
    through: float
    replayed: float
    rejected: int

    @property
    def share(self) -> float:
        return self.through / self.direct

    @property
    def is_exact(self) -> bool:
        return abs(self.through - self.replayed) <= EXACT * self.replayed


async def costs(records: Sequence[Record], home: Path, *, shortens: bool) -> Costs:
    size = sum(len(encode_record(record)) for record in records) // 4
    window = 200_000 if size < 180_000 else 1_000_000
    rules = Rules(any_model=True, cache_minimum=1024, chars_per_token=4, window=window)
    configured(home, window)
    clock = Clock(records[0].timestamp)
    async with Endpoint(replies(records), rules=rules, clock=lambda: clock.now / 1000) as endpoint:
        await played(records, endpoint.base_url, clock, shortens=shortens)
        direct, refused = cost(endpoint), len(endpoint.rejected)
    clock = Clock(records[0].timestamp)
    async with Endpoint(replies(records), rules=rules, clock=lambda: clock.now / 1000) as endpoint:
        async with proxied(endpoint, home, said := [], clock=clock) as running:
            await played(records, running.address, clock, shortens=shortens)
            [one] = running.conversations.all
            setting = Setting("auto", "cache_aware", spill=shortens)
            asked = replayed(records, one.runtime, setting).cost
        assert said == []
        return Costs(direct, cost(endpoint), asked, refused + len(endpoint.rejected))


def configured(home: Path, window: int) -> None:
    config = home / ".config/prunecli/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG.format(window=window))


async def played(records: Sequence[Record], address: str, clock: Clock, *, shortens: bool) -> None:
    """Send the session's requests, each at the time of what it adds."""
    tools = [*TOOLS, RECALL] if shortens else TOOLS
    program = Program(address, MODEL, tools=tools)
    program.marks = 2  # so does Claude Code; with one, long groups of results are not found in the cache
    async with httpx2.AsyncClient(timeout=600) as client:
        for said, at in turns(records):
            program.messages.append({"role": "user", "content": said})
            clock.now = at
            answer = await program.answer(client)
            assert answer["content"]


def turns(records: Sequence[Record]) -> Iterator[tuple[list[Json], int]]:
    """The content of the program's messages: results, then what the user says."""
    said: list[Any] = []
    at = 0
    for record in records:
        match record.event:
            case UserMessage(content=content):
                said += content_to_json(content)
                at = record.timestamp
            case ToolResult(tool_use_id, _, content, is_error):
                error = {"is_error": True} if is_error else {}
                shown = content_to_json(content)
                said.append({"type": "tool_result", "tool_use_id": tool_use_id, "content": shown, **error})
                at = record.timestamp
            case AssistantMessage():
                yield said, at
                said = []


def cost(endpoint: Endpoint) -> float:
    usages = [request.usage for request in endpoint.requests if request.usage]
    return (
        sum(
            (
                3.0 * one.input_tokens
                + 0.3 * one.cache_read_input_tokens
                + 3.75 * one.cache_creation_input_tokens
            )
            for one in usages
        )
        / 1_000_000
    )


@pytest.mark.parametrize("shortens", [False, True], ids=["whole", "shortened"])
@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name[:40])
async def test_a_recorded_session_costs_what_replay_says(path: Path, tmp_path: Path, shortens: bool) -> None:
    records = playable(read_source(path).records)
    assert records is not None
    made = await costs(records, tmp_path, shortens=shortens)
    assert made.rejected == 0
    assert made.is_exact, made
    assert made.share <= WORST


def main(folder: str = "") -> None:
    totals = {False: [0.0, 0.0], True: [0.0, 0.0]}
    for path in sorted(Path(folder).glob("*.gz")) if folder else SESSIONS:
        records = playable(read_source(path).records)
        for shortens, total in totals.items() if records else ():
            with tempfile.TemporaryDirectory() as home:
                made = asyncio.run(costs(records, Path(home), shortens=shortens))
            total[0] += made.direct
            total[1] += made.through
            off = made.through / made.replayed - 1
            name = f"{path.name[:44]:44} {'shortened' if shortens else 'whole':9}"
            figures = f"{made.direct:8.3f} {made.through:8.3f} {made.share:5.2f}  replay {made.replayed:8.3f}"
            print(f"{name} {figures} ({off:+.1%})  rejected {made.rejected}", flush=True)
    print({shortens: round(through / direct, 3) for shortens, (direct, through) in totals.items() if direct})


if __name__ == "__main__":
    main(*sys.argv[1:])
