"""The transcript on a screen: following, scrolling, folding, clicking, colors."""

import random
from collections.abc import Sequence
from typing import Self

from textual import events
from textual.filter import LineFilter, Monochrome, NoColor
from textual.geometry import Region

from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Notice,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.transcript.showing import MARKDOWN, item, painted, position, rows, screen, showing
from tests.waiting import until

MANY = [Prompt(f"prompt {n}") if n % 10 == 0 else Notice(f"line {n}") for n in range(1000)]
OUTPUT = Output("\n".join(f"output {n}" for n in range(5)))
CALL = ToolCall("bash", "make", ToolState.OK, body=OUTPUT)
LIGHT = Palette(background="#ffffff", foreground="#111111", panel="#eeeeee", code_background="#f4f4f4")


def everything(transcript: Transcript) -> list[str]:
    return [row.text.rstrip() for row in rows(transcript.document)]


async def test_the_bottom_is_shown_first_and_followed():
    async with showing(*MANY) as (transcript, pilot, _):
        assert screen(transcript)[-1] == "· line 999"
        transcript.append(Notice("new"))
        await pilot.pause()
        assert screen(transcript)[-1] == "· new"


async def test_what_streams_in_below_does_not_move_the_screen():
    async with showing(*MANY) as (transcript, pilot, app):
        transcript.page_up()
        await pilot.pause()
        before = screen(transcript)
        key = transcript.append(Assistant(streaming=True))
        for _ in range(20):
            transcript.feed(key, MARKDOWN * 5)
        await until(lambda: not transcript.document.waiting)
        transcript.finish(key)
        await pilot.pause()
        assert screen(transcript) == before
        assert ("unseen", 1) in app.told


async def test_a_pill_counts_what_is_new_and_leads_to_it():
    async with showing(*MANY) as (transcript, pilot, app):
        transcript.home()
        for n in range(3):
            transcript.append(Notice(f"new {n}"))
            await pilot.pause()
        assert [message for message in app.told if message[0] == "unseen"] == [
            ("unseen", 1),
            ("unseen", 2),
            ("unseen", 3),
        ]
        assert painted(transcript)[-1].endswith(" ↓ 3 new")
        await pilot.click(Transcript, offset=(transcript.size.width - 5, 19))
        await pilot.pause()
        assert screen(transcript)[-1] == "· new 2"
        assert app.told[-1] == ("unseen", 0)
        assert "↓" not in painted(transcript)[-1]


async def test_paging_down_undoes_paging_up():
    async with showing(*MANY, Assistant(MARKDOWN * 20)) as (transcript, pilot, _):
        screens = []
        for _ in range(50):
            screens.append(screen(transcript))
            transcript.page_up()
        for expected in reversed(screens):
            transcript.page_down()
            assert screen(transcript) == expected
        assert transcript.window.follow
        await pilot.pause()


async def test_walking_through_shows_every_row_once():
    entries = [Assistant(MARKDOWN * 3), CALL, Prompt("x " * 200), Assistant("```\n" + "y\n" * 200 + "```")]
    async with showing(*entries * 3) as (transcript, pilot, _):
        transcript.home()
        seen = screen(transcript) + [""] * (20 - len(screen(transcript)))
        while not transcript.window.follow:
            before = transcript.window.offset
            transcript.scroll_rows(7)
            moved = transcript.window.offset - before
            lines = [line.row.text.rstrip() for line in transcript.window.lines]
            seen += lines[len(lines) - moved :]
        assert seen == everything(transcript)
        await pilot.pause()


async def test_home_end_and_the_scroll_bar():
    async with showing(*MANY) as (transcript, pilot, _):
        transcript.home()
        assert screen(transcript)[0] == "❯ prompt 0"
        transcript.scroll_to(y=transcript.window.total // 2)
        await pilot.pause()
        assert 400 < int(screen(transcript)[5].split()[-1]) < 600
        transcript.scroll_to(y=10**9)
        assert screen(transcript)[-1] == "· line 999"
        transcript.home()
        transcript.end()
        assert transcript.window.follow
        assert transcript.scroll_y == transcript.max_scroll_y


async def test_the_wheel_and_the_keys_move():
    async with showing(*MANY) as (transcript, pilot, app):
        bottom = screen(transcript)
        await pilot._post_mouse_events([events.MouseScrollUp], Transcript)
        assert screen(transcript) != bottom
        transcript.focus()
        await pilot.press("end")
        assert screen(transcript) == bottom
        await pilot.press("pageup", "pagedown")
        assert screen(transcript) == bottom
        await pilot.press("home")
        assert screen(transcript)[0] == "❯ prompt 0"
        await pilot.press("j", "j", "k")
        assert transcript.window.offset == 1
        assert app.focused is transcript


async def test_from_prompt_to_prompt():
    async with showing(*MANY) as (transcript, pilot, _):
        assert transcript.previous_prompt()
        assert screen(transcript)[0] == "❯ prompt 980"
        assert transcript.previous_prompt()
        assert screen(transcript)[0] == "❯ prompt 970"
        assert transcript.next_prompt()
        assert screen(transcript)[0] == "❯ prompt 980"
        transcript.scroll_rows(3)
        assert transcript.previous_prompt()
        assert screen(transcript)[0] == "❯ prompt 980"
        transcript.home()
        assert not transcript.previous_prompt()
        transcript.end()
        assert not transcript.next_prompt()
        await pilot.pause()


async def test_a_click_on_a_line_unfolds_it_and_leaves_the_rows_above():
    async with showing(*MANY, CALL, Notice("below")) as (transcript, pilot, _):
        x, y = position(transcript, "make")
        above = screen(transcript)[:y]
        await pilot.click(Transcript, offset=(x, y))
        await pilot.pause()
        assert screen(transcript)[:y] == above
        assert "output 0" in screen(transcript)[y + 1]
        await pilot.click(Transcript, offset=(x, y))
        await pilot.pause()
        assert screen(transcript)[:y] == above
        assert "output" not in "".join(screen(transcript))


async def test_unfolding_all_and_folding_all():
    async with showing(*[CALL] * 300) as (transcript, pilot, _):
        transcript.toggle_all()
        await until(lambda: transcript._fold_scan is None)
        assert everything(transcript).count("  │ output 4") == 300
        transcript.toggle_all()
        await until(lambda: transcript._fold_scan is None)
        assert len(everything(transcript)) == 300
        await pilot.pause()


async def test_a_click_on_restore_asks_for_it():
    pruned = ToolCall("read", "x.py", ToolState.OK, body=OUTPUT, pruned="pruned ~4.1K")
    async with showing(pruned, Assistant("gone", pruned="pruned ~1K")) as (transcript, pilot, app):
        for key in (0, 1):
            line = next(
                line for line in transcript.window.lines if line.row.hot and line.block.item.key == key
            )
            y = transcript.window.lines.index(line)
            assert line.row.hot
            await pilot.click(Transcript, offset=(line.row.hot[0] + 1, y))
            await pilot.pause()
            assert app.told[-1] == ("restore", key)
        assert item(transcript.document, 0).folded


async def test_the_cursor_folds_and_restores():
    pruned = ToolCall("read", "x.py", ToolState.OK, body=OUTPUT, pruned="pruned ~4.1K")
    async with showing(CALL, pruned) as (transcript, pilot, app):
        transcript.focus()
        await pilot.press("up", "r")
        assert app.told[-1] == ("restore", 1)
        await pilot.press("up", "enter")
        assert "  │ output 4" in screen(transcript)
        inks = transcript.document.layout.sheet.inks
        block, ground = [segment.style for segment in transcript.render_line(0)._segments][:2]
        assert block
        assert ground
        assert (block.bgcolor, ground.bgcolor) == (inks.pill.bgcolor, inks.cursor.bgcolor)
        await pilot.press("r")
        assert app.told[-1] == ("restore", 1)


async def test_the_cursor_goes_to_what_is_off_the_screen():
    async with showing(*MANY) as (transcript, pilot, _):
        transcript.focus()
        await pilot.press(*["up"] * 20)
        assert transcript.cursor == 980
        position(transcript, "prompt 980")
        await pilot.press(*["down"] * 12)
        position(transcript, "line 992")


async def test_replacing_changes_what_is_shown():
    async with showing(*MANY) as (transcript, pilot, _):
        key = transcript.append(ToolCall("bash", "make", ToolState.RUNNING))
        transcript.set_tail(key, ["working"])
        await pilot.pause()
        assert screen(transcript)[-1] == "  │ working"
        transcript.replace(key, ToolCall("bash", "make", ToolState.OK, "done", 12))
        await pilot.pause()
        assert screen(transcript)[-1].startswith("✓ bash   make   done")


async def test_the_clock_of_what_runs_goes_on():
    now = [0.0]
    transcript = Transcript(clock=lambda: now[0])
    async with showing(ToolCall("bash", "make"), ToolCall("bash", "make test"), transcript=transcript):
        assert not any("12s" in row for row in screen(transcript))
        now[0] = 12_300.0
        await until(lambda: "12s" in screen(transcript)[0])
        assert "12s" in screen(transcript)[1], "all clocks go together"


async def test_text_is_shown_soon_after_it_came_even_if_more_keeps_coming():
    async with showing(Assistant(streaming=True)) as (transcript, _, _app):
        key = item(transcript.document, 0).key
        transcript.feed(key, "hello")

        def is_shown() -> bool:
            transcript.feed(key, " more")
            return bool(screen(transcript))

        await until(is_shown)
        assert screen(transcript)[0].startswith("hello more")


async def test_entries_given_before_the_screen_is_there_are_shown():
    transcript = Transcript()
    key = transcript.append(Assistant(streaming=True))
    transcript.feed(key, "early ")
    transcript.append(Prompt("words"))
    async with showing(transcript=transcript):
        await until(lambda: len(screen(transcript)) == 3)
        assert screen(transcript) == ["early", "", "❯ words"]


async def test_clearing_leaves_nothing():
    async with showing(*MANY) as (transcript, pilot, _):
        transcript.home()
        transcript.clear()
        await pilot.pause()
        assert screen(transcript) == []
        transcript.append(Notice("again"))
        await pilot.pause()
        assert screen(transcript) == ["· again"]


async def test_another_width_keeps_the_place():
    async with showing(*[Prompt(f"prompt {n} " + "word " * n) for n in range(100)]) as (transcript, pilot, _):
        transcript.scroll_rows(-200)
        transcript.previous_prompt()
        transcript.scroll_rows(4)
        await pilot.pause()
        top = transcript.window.lines[0]
        for width in (30, 100, 45):
            await pilot.resize_terminal(width, 20)
            await pilot.pause()
            assert transcript.window.lines[0].block is top.block
            assert all(transcript.render_line(y).cell_length == width - 1 for y in range(20))


async def test_a_storm_of_sizes_while_text_streams():
    randomly = random.Random(7)
    async with showing(*MANY[:50], CALL) as (transcript, pilot, _):
        key = transcript.append(Assistant(streaming=True))
        for _ in range(25):
            transcript.feed(key, MARKDOWN)
            await pilot.resize_terminal(randomly.choice([1, 2, 3, 40, 300]), randomly.choice([1, 2, 24, 100]))
        transcript.finish(key)
        await pilot.resize_terminal(60, 20)
        await until(lambda: not transcript.document.waiting)
        await pilot.pause()
        assert screen(transcript)[-2].startswith("Last line")


async def test_random_keys_and_clicks_break_nothing():
    randomly = random.Random(3)
    entries = [*MANY[:30], CALL, Thinking("a\n\nb"), ToolCall("edit", "x", body=Diff("@@ -1 +1 @@\n-a\n+b"))]
    async with showing(*entries * 3, size=(50, 12)) as (transcript, pilot, _):
        transcript.focus()
        for step in range(45):
            if step % 5 == 0:
                transcript.append(randomly.choice(entries))
            if randomly.random() < 0.6:
                keys = ["up", "down", "enter", "r", "pageup", "pagedown", "home", "end", "n", "j", "k"]
                await pilot.press(randomly.choice(keys))
            else:
                offset = (randomly.randrange(49), randomly.randrange(12))
                await pilot.click(Transcript, offset=offset, times=randomly.choice([1, 1, 2, 3]))
            assert len(transcript.window.lines) <= 12
        transcript.end()
        assert transcript.window.offset == max(0, transcript.window.total - 12)


async def test_other_colors_are_worn_everywhere():
    async with showing(*MANY, Assistant(MARKDOWN)) as (transcript, pilot, _):
        transcript.page_up()
        before = screen(transcript)
        transcript.set_palette(LIGHT)
        await pilot.pause()
        assert screen(transcript) == before
        grounds = {
            segment.style.bgcolor.name
            for y in range(20)
            for segment in transcript.render_line(y)
            if segment.style and segment.style.bgcolor
        }
        assert Palette().background not in grounds
        assert grounds <= {"#ffffff", "#eeeeee", "#f4f4f4"}
        assert transcript.styles.background.hex6 == "#FFFFFF"


async def test_the_terminals_own_colors_can_be_used():
    palette = Palette(background="default", foreground="default", accent="bright_blue", faint="bright_black")
    async with showing(Assistant(MARKDOWN), transcript=Transcript(palette)) as (transcript, pilot, _):
        await pilot.pause()
        assert transcript.styles.background.ansi == -1


class Filtered(Transcript):
    """A transcript in an application with filters, as under NO_COLOR."""

    filters: Sequence[LineFilter] = ()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return self.filters


async def test_no_color_is_honored():
    """The strips go through the filters of the application."""
    for line_filter in (Monochrome(), NoColor()):
        transcript = Filtered()
        transcript.filters = [line_filter]
        async with showing(Assistant(MARKDOWN), CALL, transcript=transcript) as (_, pilot, _app):
            await pilot.pause()
            for strip in transcript.render_lines(transcript.size.region):
                for segment in strip:
                    assert segment.style
                    for color in (segment.style.color, segment.style.bgcolor):
                        assert color is None or color.is_default or len(set(color.get_truecolor())) == 1


async def test_code_far_down_a_long_fence_gets_its_right_colors_soon():
    code = 's = """\n' + "words in a string\n" * 3000 + '"""\n'
    async with showing(Assistant(f"```python\n{code}```\n\nend")) as (transcript, _, _):
        transcript.scroll_rows(-10)
        string = dict(transcript.document.layout.sheet.inks.syntax)["Literal.String"]
        await until(
            lambda: (
                transcript.window.lines[position(transcript, "words in")[1]].row.segments[-1].style == string
            )
        )
        assert not transcript.document.layout.rough


class Watched(Transcript):
    """A transcript that remembers which of its rows it had drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.regions: list[Region] = []

    def refresh(self, *regions: Region, **more: bool) -> Self:
        self.regions += regions
        return super().refresh(*regions, **more)


async def test_only_rows_that_look_different_are_drawn_again():
    """A terminal far away is sent a row for a word, not a screen."""
    watched = Watched()
    async with showing(*MANY, Assistant(streaming=True), transcript=watched) as (transcript, pilot, app):
        key = item(transcript.document, 1000).key
        transcript.feed(key, "some words\n\nand ")
        await until(lambda: screen(transcript)[-1] == "and")
        await pilot.pause()
        watched.regions.clear()
        transcript.feed(key, "more")
        await until(lambda: screen(transcript)[-1] == "and more")
        assert watched.regions == [Region(0, 19, 60, 1)]
        await pilot.pause()
        assert "and more" in [strip.text[:8] for strip in app.screen._compositor.render_strips()]


async def test_what_is_on_the_terminal_is_what_is_on_the_screen():
    """After each of many changes the drawn screen equals one that is drawn anew."""
    randomly = random.Random(5)
    async with showing(*MANY[:40], CALL, size=(50, 12)) as (transcript, pilot, app):
        key = transcript.append(Assistant(streaming=True))
        acts = [
            lambda: transcript.feed(
                key, randomly.choice(["words ", "\n\n", "- item\n", "```\ncode\n```\n", "| a |\n"])
            ),
            lambda: transcript.scroll_rows(randomly.randrange(-5, 6)),
            lambda: transcript.append(Notice("new")),
            lambda: transcript.toggle(item(transcript.document, 40).key),
            transcript.page_up,
            transcript.end,
        ]
        for _ in range(60):
            randomly.choice(acts)()
            await pilot.pause(0.04)
            shown = [strip.text for strip in app.screen._compositor.render_strips()]
            assert [row[:49].rstrip() for row in shown] == [text[:49] for text in painted(transcript)]


async def test_a_transcript_that_was_taken_away_is_drawn_and_used_without_harm() -> None:
    """What was due is still drawn between a widget's end and the next layout of its screen."""
    async with showing(Assistant("some words\n\n" * 40), ToolCall("bash", "sleep 9")) as (t, pilot, app):
        t.search("words")
        await pilot.pause()
        await t.remove()
        key = t.append(Assistant(streaming=True))
        t.feed(key, "more")
        t.finish(key)
        t.text_select_all()
        t.scroll_rows(-3)
        t.set_palette(Palette(accent="#ff0000"))
        assert not t.selected
        assert t.render_lines(Region(0, 0, 60, 20))
        t.vertical_scrollbar.refresh()
        app.screen._compositor.render_strips()
        t.clear()
        await pilot.pause()
