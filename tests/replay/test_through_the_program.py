"""Replay says exactly what the program does: the same requests, prunes, spills and cost, from the session that is
lived through and from the log that the program writes of it."""

from pathlib import Path

import pytest

from prunecli.features.replay.replay import Setting
from prunecli.model.events import RunEnded
from prunecli.session.importers.source import read_source
from tests.replay.playable import playable
from tests.replay.through import lived, replayed, sets_of
from tests.sessions import COMPLETE, SESSIONS

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
