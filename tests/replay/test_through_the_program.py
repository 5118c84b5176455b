"""Replay says exactly what the program does: the same requests, prunes, spills and cost, from the session that is
lived through and from the log that the program writes of it."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.context.inputs import INPUT_KINDS
from prunecli.features.replay.replay import Setting
from prunecli.features.replay.replayer import Replayer, Sent
from prunecli.model.events import AssistantMessage, CompactionApplied, Record, RunEnded
from prunecli.model.messages import Thinking
from prunecli.session.importers.source import read_source
from prunecli.util.paths import Places
from tests.replay.playable import MODEL, playable
from tests.replay.through import SETS, Clock, Live, Recorded, lived, names_of, replayed, sets_of, staged
from tests.sessions import COMPLETE, SESSIONS
from tests.starting import start

AUTO = Setting("auto", "cache_aware", spill=True)
SMALL = [path for path in SESSIONS if path.stat().st_size < 8_000][:3]
LARGE = [path for path in SESSIONS if path not in SMALL]


async def is_as_replayed(path: Path, folder: Path, setting: Setting) -> bool | None:
    """None if the program can't live through the session to its end."""
    records = playable(read_source(path).records)
    if records is None:
        return None
    program, runtime = await lived(records, folder, sets_of(setting))
    if any(record.event == RunEnded("limit") for record in runtime.session.records):
        return None  # it stops a model that makes the same call over and over
    return all(replayed(one, runtime, setting) == program for one in (records, runtime.session.records))


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name[:40])
async def test_a_small_session_through_the_program_is_as_replayed(path: Path, tmp_path: Path) -> None:
    assert await is_as_replayed(path, tmp_path, AUTO)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("aggressive", "always", spill=True),
        Setting("prune_old_observations", "cache_aware", spill=False),
        Setting("semantic+aggressive", "cache_aware", spill=True),
        Setting("importance", "always", spill=True),
    ],
    ids=lambda one: f"{one.strategy}-{one.gate}",
)
async def test_edits_of_a_warm_cache_and_the_price_at_which_they_are_made_are_as_replayed(
    setting: Setting, tmp_path: Path
) -> None:
    path = next(one for one in SESSIONS if "ce2a993dea" in one.name)
    assert await is_as_replayed(path, tmp_path, setting)


@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
@pytest.mark.parametrize("setting", [AUTO, Setting("superseded", "cache_aware", spill=False)], ids=str)
async def test_a_session_with_spills_and_prunes_is_as_replayed(setting: Setting, tmp_path: Path) -> None:
    path = next(one for one in SESSIONS if "2f9cab2ccc" in one.name)
    assert await is_as_replayed(path, tmp_path, setting)


@pytest.mark.long
@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
async def test_every_session_that_the_program_can_live_through_is_as_replayed(tmp_path: Path) -> None:
    found = {path.name: await is_as_replayed(path, tmp_path / path.stem, AUTO) for path in LARGE}
    assert [name for name, same in found.items() if same is False] == []
    assert sum(same is True for same in found.values()) >= 50


WHOLE = (
    "compaction.enabled=true",
    "compaction.on_return=auto",
    f"compaction.max_context_tokens={10**12}",
    f'models."{MODEL}".context_window={10**7}',
)


def thinking(records: Sequence[Record]) -> list[Record]:
    """The records with thinking in each answer: recordings leave it out, or its signature."""
    found = []
    for record in records:
        event = record.event
        if isinstance(event, AssistantMessage):
            thought = "hmm " * (30 + 37 * record.seq % 200)
            usage = replace(event.usage, output_tokens=event.usage.output_tokens + len(thought) // 4)
            event = replace(event, content=(Thinking(thought, ""), *event.content), usage=usage)
        found.append(replace(record, event=event))
    return found


def expecting(folder: Path) -> Path:
    """A folder whose user wants summaries of small contexts, and expects that inputs are hardly needed."""
    found = Places.of({"HOME": str(folder / "home")}).expectations_file
    shipped = json.loads((Places.of({}).shipped_data / "expectations.json").read_text())
    odds = dict.fromkeys(INPUT_KINDS, [0.02] * len(shipped["quoted"]["ages"]))
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps({**shipped, "return_tokens": 8_000, "inputs": odds}))
    return folder


def returns(records: Sequence[Record], folder: Path, sets: Sequence[str]) -> list[int]:
    """The numbers of the answers before which a replay asks for a summary."""
    runtime, found = start(folder, sets=(*SETS, *sets)), list[int]()
    live = Live(records, runtime, Clock(), {})
    runtime.tools = {name: Recorded(name, live) for name in names_of(records)}
    runtime.prepare()

    def watch(player: Replayer, sent: Sent) -> None:
        found.extend([player.row.requests - 1] * (player.row.summaries - len(found)))

    stage, script = staged(records, runtime, AUTO)
    Replayer(script, stage.part(script, AUTO), watch).play()
    return found


async def with_everything(path: Path, folder: Path) -> Counter[str] | None:
    """The edits and summaries of a session with thinking and cuts, if the program does and pays to the byte what two
    replays say: of its own log, and of the recording, where summaries have other words. None as above."""
    records = playable(read_source(path).records)
    if records is None:
        return None
    records, sets = thinking(records), (*sets_of(AUTO), *WHOLE)
    summaries = returns(records, expecting(folder / "before"), sets)
    program, runtime = await lived(records, expecting(folder / "program"), sets, summaries=summaries)
    log = runtime.session.records
    if any(record.event == RunEnded("limit") for record in log):
        return None
    made = [record.event for record in log if isinstance(record.event, CompactionApplied)]
    again, before = replayed(log, runtime, AUTO), replayed(records, runtime, AUTO)
    assert len(made) == len(summaries), path.name
    assert again == program, path.name
    paid = sum(runtime.choices.price(MODEL, one.usage) or 0.0 for one in made)
    assert [usage for _, usage in before.requests] == [usage for _, usage in program.requests], path.name
    assert (before.edits, before.spilled) == (program.edits, program.spilled), path.name
    question = 150 * 3.0 / 1e6  # at most, of each summary: a replay leaves it out
    assert 0 <= round(program.cost + paid - before.cost, 9) <= len(made) * question, path.name
    return Counter(edit.kind for edits in program.edits for edit in edits) + Counter(summary=len(made))


async def test_thinking_and_inputs_leave_as_replayed(tmp_path: Path) -> None:
    path = next(one for one in SESSIONS if "5d3aa2b686" in one.name)
    found = await with_everything(path, tmp_path)
    assert found
    assert found["strip"]
    assert found["cut"]


@pytest.mark.long
@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
async def test_every_session_with_thinking_cuts_and_returns_is_as_replayed(tmp_path: Path) -> None:
    found = [await with_everything(path, tmp_path / path.stem) for path in SESSIONS]
    lived_through = [one for one in found if one is not None]
    assert len(lived_through) >= 60
    assert sum(one["strip"] > 0 and one["cut"] > 0 for one in lived_through) >= 20
    assert sum(one["summary"] > 0 for one in lived_through) >= 10
