"""Selecting and copying: what comes out is what was written, not how it was wrapped."""

from textual import events
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Entry,
    Notice,
    Output,
    Prompt,
    ToolCall,
    ToolState,
)
from prunecli.tui.transcript.copying import selected_text
from prunecli.tui.transcript.pointer import EVERYTHING
from prunecli.tui.transcript.selection import Span
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.transcript.showing import (
    MARKDOWN,
    Showing,
    blocks,
    document,
    item,
    position,
    rows,
    screen,
    showing,
)
from tests.waiting import until

SENTENCE = (
    "These are quite a lot of words that have to be wrapped on a screen that is as narrow as this one is."
)


def copied(*entries: Entry, width: int = 30) -> str:
    return selected_text(document(*entries, width=width), EVERYTHING._replace(start=0))


async def drag(
    pilot: Pilot[None], start: tuple[int, int], *stops: tuple[int, int], let_go: bool = True
) -> None:
    """Presses the button at a place, moves over others, lets go at the last."""
    await pilot.mouse_down(Transcript, offset=start)
    for stop in stops:
        await pilot.hover(Transcript, offset=stop)
    if let_go:
        await pilot.mouse_up(Transcript, offset=stops[-1])
    await pilot.pause()


def test_wrapped_lines_are_unwrapped():
    for width in (10, 30, 77):
        assert copied(Prompt(f"{SENTENCE}\n\nx"), width=width) == f"{SENTENCE}\n\nx"
        assert copied(Assistant(f"{SENTENCE}\n\nx"), width=width) == f"{SENTENCE}\n\nx"


def test_code_is_copied_as_it_was():
    code = "def f():\n    return '" + "x" * 70 + "'\n\n\nf()"
    assert copied(Assistant(f"```python\n{code}\n```")) == code
    assert (
        copied(ToolCall("read", "x", ToolState.OK, body=Output(code), folded=False)).split("\n", 1)[1] == code
    )


def test_a_long_line_that_was_cut_is_one_line_again():
    line = "word " * 4000
    made = document(Prompt(line.strip()))
    assert selected_text(made, EVERYTHING._replace(start=0)).endswith("\n19,199 more characters")
    made.fold(item(made, 0), False)
    assert selected_text(made, EVERYTHING._replace(start=0)) == line.strip()
    assert copied(Assistant(line.strip())) == line.strip()
    assert copied(Assistant(f"```\n{'z' * 20_000}\n```")) == "z" * 20_000
    output = ToolCall("read", "x", ToolState.OK, body=Output("y" * 20_000), folded=False)
    assert copied(output).split("\n", 1)[1] == "y" * 20_000


def test_lists_quotes_and_signs_are_copied_with_their_marks():
    text = "- one\n- two\n  1. deep\n\n> said\n> - item"
    assert copied(Assistant(text)) == text
    diff = ToolCall("edit", "x", ToolState.OK, body=Diff("@@ -1,2 +1,2 @@\n a\n-b\n+c"))
    assert copied(diff).split("\n")[1:] == [" a", "-b", "+c"]


def test_a_single_word_is_copied_without_the_bullet_of_its_line() -> None:
    made = document(Assistant("- word\n- two words\n"))
    word, words = [row for row in rows(made) if row.text.strip()]
    block = blocks(made)[0]
    start = block.point + word.place
    assert selected_text(made, Span(start, start + 4)) == "word"
    assert selected_text(made, Span(start, block.point + words.place + 3)) == "- word\n- two"
    start = block.point + words.place
    assert selected_text(made, Span(start, start + 9)) == "- two words"


async def test_dragging_selects_and_control_c_copies():
    """OSC 52 goes through the application."""
    async with showing(Prompt("one two three"), Notice("four")) as (transcript, pilot, app):
        x, y = position(transcript, "two")
        await drag(pilot, (x, y), (x + 2, y), (x + 6, y))
        assert app.screen.get_selected_text() == "two thr"
        await pilot.press("ctrl+c")
        assert app.copied == ["two thr"]


async def test_dragging_backwards_and_over_rows():
    async with showing(Prompt("one two three"), Notice("four")) as (transcript, pilot, app):
        x, y = position(transcript, "four")
        await drag(pilot, (x + 1, y), (4, 0), (6, 0))
        assert app.screen.get_selected_text() == "two three\n\nfo"


async def test_the_selection_is_drawn():
    async with showing(Notice("some words")) as (transcript, pilot, _):
        x, y = position(transcript, "words")
        await drag(pilot, (x, y), (x + 4, y))
        ground = transcript.document.layout.sheet.inks.selection.bgcolor
        marked = [s.text for s in transcript.render_line(y) if s.style and s.style.bgcolor == ground]
        assert "".join(marked) == "words"
        transcript.select(None)
        assert not [s for s in transcript.render_line(y) if s.style and s.style.bgcolor == ground]


async def test_double_and_triple_click():
    async with showing(Prompt(f"see src/a_b.py:12, then {SENTENCE}"), size=(40, 20)) as (
        transcript,
        pilot,
        app,
    ):
        where = position(transcript, "a_b")
        await pilot.click(Transcript, offset=where, times=2)
        await pilot.pause()
        assert app.screen.get_selected_text() == "src/a_b.py:12"
        await pilot.click(Transcript, offset=(position(transcript, "wrapped")), times=3)
        await pilot.pause()
        assert app.screen.get_selected_text() == f"see src/a_b.py:12, then {SENTENCE}"


async def test_a_click_elsewhere_and_escape_clear_the_selection():
    async with showing(Prompt("one two three"), Notice("four")) as (transcript, pilot, app):
        await drag(pilot, (2, 0), (6, 0))
        assert transcript.selected
        await pilot.click(Transcript, offset=(3, 2))
        await pilot.pause()
        assert transcript.selected is None
        await drag(pilot, (2, 0), (6, 0))
        await pilot.press("escape")
        await pilot.pause()
        assert transcript.selected is None
        assert app.copied == []


async def test_selecting_a_line_does_not_unfold_it():
    call = ToolCall("bash", "make all", ToolState.OK, body=Output("x"))
    async with showing(call) as (transcript, pilot, _):
        await drag(pilot, position(transcript, "make"), position(transcript, "all"))
        assert item(transcript.document, 0).folded
        assert transcript.selected


async def test_dragging_to_the_edge_scrolls_and_goes_on_selecting():
    async with showing(*[Notice(f"line {n}") for n in range(200)], size=(40, 10)) as (transcript, pilot, app):
        x, y = position(transcript, "line 195")
        await drag(pilot, (x, y), (x, 2), (x, 0), let_go=False)
        await until(lambda: "· line 180" in screen(transcript))
        text = app.screen.get_selected_text() or ""
        assert "line 195"[:1] == text[-1]
        assert "line 182\nline 183" in text
        await pilot.mouse_up(Transcript, offset=(x, 0))
        await pilot.pause()
        offset = transcript.window.offset
        await pilot.pause(0.1)
        assert transcript.window.offset == offset


async def test_the_selection_survives_scrolling_streaming_folding_and_another_width():
    call = ToolCall("bash", "make", ToolState.OK, body=Output("out\nput"))
    entries = [*[Notice(f"line {n}") for n in range(50)], call, Prompt(SENTENCE), Assistant(streaming=True)]
    async with showing(*entries, size=(60, 20)) as (transcript, pilot, app):
        x, y = position(transcript, "lot of")
        end = position(transcript, "narrow")
        await drag(pilot, (x, y), (end[0] + 5, end[1]))
        expected = app.screen.get_selected_text()
        assert expected == SENTENCE[SENTENCE.index("lot") : SENTENCE.index("narrow") + 6]
        transcript.page_up()
        transcript.feed(item(transcript.document, 52).key, MARKDOWN)
        transcript.toggle(item(transcript.document, 50).key)
        await pilot.resize_terminal(33, 20)
        await until(lambda: not transcript.document.waiting)
        await pilot.pause()
        assert app.screen.get_selected_text() == expected


async def test_copying_on_select_is_a_choice():
    transcript = Transcript()
    transcript.copy_on_select = True
    async with showing(Prompt("one two three"), transcript=transcript) as (_, pilot, app):
        assert isinstance(app, Showing)
        await drag(pilot, (2, 0), (4, 0))
        assert app.copied == ["one"]


async def test_other_buttons_and_empty_transcripts_select_nothing():
    async with showing() as (transcript, pilot, _):
        await pilot.click(Transcript, offset=(3, 3), times=2)
        await drag(pilot, (2, 2), (9, 9))
        assert transcript.selected is None
        assert transcript.get_selection(SELECT_ALL) == ("", "\n")
        await pilot._post_mouse_events([events.MouseDown], Transcript, offset=(1, 1), button=3)


async def test_all_of_a_session_can_be_copied():
    async with showing(*[Notice(f"line {n}") for n in range(100)]) as (transcript, pilot, app):
        transcript.text_select_all()
        await pilot.pause()
        assert app.screen.get_selected_text() == "\n".join(f"line {n}" for n in range(100))
