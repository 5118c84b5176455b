"""Searching: every hit is found, in order, wherever it hides."""

from itertools import count

from prunecli.front.presentation.entries import (
    Assistant,
    Entry,
    Notice,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.tui.transcript.finder import Query, hits, scan
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.transcript.showing import blocks, document, screen, showing
from tests.waiting import until


def places(text: str, *entries: Entry, width: int = 30) -> list[str]:
    """What the hits say, from top to bottom."""
    made = document(*entries, width=width)
    query = Query.of(text)
    found = [hit for block in blocks(made) for hit in hits(made, block, query)]
    return ["x" * (hit.end - hit.start) for hit in found]


def walk(text: str, step: int, count: int, *entries: Entry) -> list[int]:
    """The entries of so many hits in turn, from one end."""
    made = document(*entries)
    start = -1 if step > 0 else made.next_key << 64
    keys = []
    for _ in range(count):
        found = next((hit for hit in scan(made, Query.of(text), start, step) if hit), None)
        if found is None:
            break
        start = found.start
        keys.append(start >> 64)
    return keys


MIXED = [
    Prompt("find the needle"),
    Notice("nothing"),
    ToolCall("bash", "grep needle", ToolState.OK, body=Output("a needle in the output")),
    Thinking("about a needle"),
    Assistant("the **nee**dle and the needle"),
]


def test_hits_are_found_downwards_and_upwards_and_around():
    assert walk("needle", 1, 7, *MIXED) == [0, 2, 2, 3, 4, 4, 0]
    assert walk("needle", -1, 7, *MIXED) == [4, 4, 3, 2, 2, 0, 4]


def test_what_is_not_there_is_not_found():
    assert walk("haystack", 1, 1, *MIXED) == []
    assert walk("", 1, 1, *MIXED) == []
    assert walk("needle", 1, 1) == []


def test_text_is_found_as_it_is_shown_not_as_it_is_written():
    assert len(places("the needle and", Assistant("the **needle** and"))) == 1
    assert places("**", Assistant("the **needle** and")) == []


def test_a_hit_across_a_wrap_is_one():
    text = "these words are wrapped somewhere in the middle of the sentence"
    for width in (9, 13, 20, 40):
        assert len(places("somewhere in the middle", Prompt(text), width=width)) == 1


def test_capitals_count_only_when_asked_for():
    assert len(places("word", Prompt("Word word WORD"))) == 3
    assert len(places("Word", Prompt("Word word WORD"))) == 1


def test_a_search_looks_through_a_long_session_in_slices():
    made = document(*[Notice("straw " * 200) for _ in range(2000)], Notice("needle"))
    steps = list(scan(made, Query.of("needle"), 0, 1))
    assert steps.count(None) > 5
    assert steps[-1] is not None
    assert sum(block.rows is not None for block in made.layout.heights) == 1


async def test_searching_goes_to_the_hit_opens_its_fold_and_marks_it():
    straw = [Notice(f"straw {n}") for n in range(100)]
    async with showing(*MIXED, *straw) as (transcript, pilot, app):
        transcript.search("in the output")
        await until(lambda: ("searched", "in the output", True) in app.told)
        y = next(y for y, text in enumerate(screen(transcript)) if "a needle in the output" in text)
        inks = transcript.document.layout.sheet.inks
        marked = [
            s.text
            for s in transcript.render_line(y)
            if s.style and s.style.bgcolor == inks.hit_current.bgcolor
        ]
        assert "".join(marked) == "in the output"
        transcript.search("")
        await pilot.pause()
        assert not [
            s for s in transcript.render_line(y) if s.style and s.style.bgcolor == inks.hit_current.bgcolor
        ]


async def test_next_and_previous():
    async with showing(*[Notice(f"line {n}") for n in range(100)], size=(40, 10)) as (transcript, pilot, app):
        transcript.search("line 4")
        await until(lambda: len(app.told) == 1)
        assert "· line 49" in screen(transcript)
        transcript.focus()
        await pilot.press("N")
        await until(lambda: len(app.told) == 2)
        assert transcript._hit
        assert transcript._hit.start >> 64 == 48
        transcript.search_next()
        transcript.search_next()
        await until(lambda: len(app.told) == 4)
        assert transcript._hit.start >> 64 == 4
        assert "· line 4" in screen(transcript)


async def test_a_search_that_fails_says_so_and_stays():
    async with showing(*[Notice(f"line {n}") for n in range(100)]) as (transcript, pilot, app):
        before = screen(transcript)
        transcript.search("needle")
        await until(lambda: app.told == [("searched", "needle", False)])
        assert screen(transcript) == before
        assert isinstance(transcript, Transcript)
        assert transcript.searching == "needle"
        await pilot.pause()


async def test_a_new_search_replaces_one_that_still_runs():
    ticks = count(step=1_000)  # so each slice is one step of the search
    slow = Transcript(clock=lambda: next(ticks))
    straw = [Notice("straw " * 300) for _ in range(1_000)]
    async with showing(*straw, Notice("needle"), transcript=slow) as (transcript, _, app):
        transcript.home()
        transcript.search("needle in")
        transcript.search("needle")
        await until(lambda: bool(app.told))
        assert app.told[0] == ("searched", "needle", True)
