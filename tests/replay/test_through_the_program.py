"""Replay says exactly what the program does: the same requests, prunes, spills and cost."""

from pathlib import Path

import pytest

from prunecli.replay.stage import Setting
from prunecli.session.importers.source import read_source
from tests.replay.through import lived, playable, replayed
from tests.sessions import SESSIONS

SMALL = [path for path in SESSIONS if path.stat().st_size < 8_000][:3]


async def check(path: Path, folder: Path, setting: Setting, *sets: str) -> None:
    records = playable(read_source(path).records)
    assert records is not None, "the program can't live through this session"
    spill = f"pruning.spill.enabled={str(setting.spill).lower()}"
    program, runtime = await lived(
        records, folder, (f"pruning.strategy={setting.strategy}", f"pruning.gate={setting.gate}", *sets)
    )
    assert replayed(records, runtime, setting) == program


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name[:40])
async def test_a_small_session_through_the_program_is_as_replayed(path: Path, tmp_path: Path) -> None:
    await check(path, tmp_path, Setting("auto", "cache_aware", spill=False))
