"""A summary of the older part while it is written: seen like any long work, and stopped like it."""

import asyncio
from pathlib import Path

import pytest

from prunecli.front.presentation.entries import Divider
from prunecli.model.events import CompactionApplied
from prunecli.model.messages import Opaque, Text
from tests.scripted import Scripted, says
from tests.tui.showing_app import Shown, shown

LONG = "long answer " * 1_100
KEPT = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1")
SMALL = (*KEPT, "model.name=claude-opus-5")
BY_ITSELF = (*SMALL, "compaction.max_context_tokens=10000", "compaction.compact_at_pct=0.5")
WORDS = ("first", "second", "third")


def slow_summary() -> tuple[Scripted, asyncio.Event]:
    """A summary that waits after its first words."""
    event = asyncio.Event()
    return Scripted((Text("The goal is to fly."),), after=1, until=event), event


async def talk(running: Shown) -> None:
    for words in WORDS:
        await running.type(words, "enter")
        await running.idle()


def compactions(running: Shown) -> list[CompactionApplied]:
    records = running.runtime.session.records
    return [record.event for record in records if isinstance(record.event, CompactionApplied)]


@pytest.mark.parametrize(("sets", "line"), [(SMALL, "/compact"), (BY_ITSELF, "fourth")])
async def test_it_shows_its_last_words_how_much_is_written_and_what_stops_it(
    tmp_path: Path, sets: tuple[str, ...], line: str
) -> None:
    summary, event = slow_summary()
    script = [says(LONG), says(LONG), says(LONG), summary, says("So be it.")]
    async with shown(tmp_path, script, sets=sets) as s:
        await talk(s)
        await s.type(line, "enter")
        await s.until_shown("Summarizing the older part", "characters", "Esc stops", "│ The goal is to f")
        event.set()
        await s.idle()
        await s.until_shown("summarized ·", "✓ summary")
        assert len(compactions(s)) == 1
        assert "│ The goal" not in s.screen_text()


@pytest.mark.parametrize(("sets", "line"), [(SMALL, "/compact"), (BY_ITSELF, "fourth")])
async def test_esc_stops_it_and_nothing_has_changed(tmp_path: Path, sets: tuple[str, ...], line: str) -> None:
    summary, _ = slow_summary()
    async with shown(tmp_path, [says(LONG), says(LONG), says(LONG), summary], sets=sets) as s:
        await talk(s)
        await s.type(line, "enter")
        await s.until_shown("│ The goal is to f")
        await s.pilot.press("escape")
        await s.idle()
        await s.until_shown("Interrupted.")
        assert compactions(s) == []
        assert "The goal" not in s.screen_text()
        assert not any(isinstance(entry, Divider) for entry in s.entries)
        said = [item.text for item in s.runtime.session.context.items if item.kind == "user"]
        assert said == [*WORDS, *([] if line.startswith("/") else [line])]


async def test_one_by_the_endpoint_looks_the_same_and_says_so(tmp_path: Path) -> None:
    block = {"type": "compaction", "content": "The goal is to fly.", "signature": "c2ln"}
    script = [says(LONG), says(LONG), says(LONG), Scripted((Opaque(block),), "compaction")]
    async with shown(tmp_path, script, sets=KEPT) as s:
        await talk(s)
        await s.type("/compact", "enter")
        await s.idle()
        await s.until_shown("summarized ·", "✓ summary", "by the endpoint")
        assert compactions(s)[0].block == block
