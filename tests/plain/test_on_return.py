"""Back at a long, cold session in plain text: a line offers a summary, s makes it, and a prompt just sends."""

import asyncio
from pathlib import Path

import pytest

from prunecli.model.events import CompactionApplied
from tests.plain.test_talk import talked
from tests.tui.test_on_return import HOUR_MS, long_session

OFFER = "(The cache expired: 127K to send again, ~$0.79. s summarizes first. ~$"


@pytest.mark.parametrize(("said", "summaries"), [("s", 1), ("go on", 0)])
def test_s_summarizes_first(tmp_path: Path, said: str, summaries: int) -> None:
    runtime, clock = long_session(tmp_path)
    clock.now += HOUR_MS
    with asyncio.Runner() as runner:
        out = talked(runner, runtime, said)
    assert any(line.startswith(OFFER) for line in out)
    made = [one for one in runtime.session.records if isinstance(one.event, CompactionApplied)]
    assert len(made) == summaries
