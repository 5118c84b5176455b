"""What the transcript relies on in Textual and Rich without their promise, and what importing it costs."""

import subprocess
import sys

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from prunecli.front.presentation.entries import Notice
from prunecli.tui.transcript.canvas import Canvas
from prunecli.tui.transcript.finder import Finder
from prunecli.tui.transcript.navigator import Navigator
from prunecli.tui.transcript.pointer import Pointer
from prunecli.tui.transcript.rows import WholeStrip
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.transcript.showing import showing

OVERRIDDEN = {
    *("ALLOW_SELECT", "BINDINGS", "DEFAULT_CSS", "FOCUS_ON_CLICK", "auto_links"),
    *("_scroll_to", "action_page_down", "action_page_up", "get_selection", "render_line", "render_lines"),
    *("scroll_end", "scroll_home", "selection_updated", "text_select_all", "watch_scroll_y", "on_mount"),
}


def test_no_name_hides_one_of_textual_by_accident():
    """`self.query` once broke the selection of all text."""
    ours = {
        name
        for kind in (Canvas, Pointer, Finder, Navigator, Transcript)
        for name in vars(kind)
        if not name.startswith("__") and hasattr(ScrollView, name)
    }
    made = set(vars(Transcript())) - set(vars(ScrollView()))
    generated = {"_merged_bindings", "_css_type_name", "_css_type_names", "_inherit_css", "_inherit_bindings"}
    assert {name for name in ours - OVERRIDDEN - generated if not name.startswith("_decorated")} <= {
        "_computes",
        "_css_bases",
        "_inherit_component_classes",
        "_reactives",
        "can_focus",
        "can_focus_children",
    }
    assert not {name for name in made if hasattr(ScrollView, name)}


def test_a_strip_divided_at_its_width_is_the_same_strip():
    """So that the compositor gets, and renders once, the strips we made."""
    strip = WholeStrip([Segment("abc", Style(color="red"))], 3)
    assert [part is strip for part in strip.divide([3])] == [True]
    assert [part.text for part in strip.divide([1, 3])] == ["a", "bc"]
    assert strip.crop(0, 3) is strip
    assert strip._render_cache is None


async def test_a_row_that_was_drawn_leaves_nothing_to_the_garbage_collector():
    async with showing(*[Notice(f"{n}") for n in range(100)]) as (transcript, pilot, _):
        strip = transcript.window.lines[0].row._strip
        assert strip
        held = sys.getrefcount(strip)
        assert [part is strip for part in strip.divide([59])] == [True]
        assert sys.getrefcount(strip) == held
        await pilot.pause()


async def test_rendering_a_strip_is_remembered():
    async with showing(Notice("x")) as (transcript, pilot, app):
        await pilot.pause()
        strip = transcript.render_line(0)
        strip.render(app.console)
        assert transcript.render_line(0) is strip
        assert strip._render_cache


async def test_state_can_be_set_behind_the_watchers():
    async with showing(*[Notice(f"{n}") for n in range(100)]) as (transcript, pilot, _):
        for reactive in (Widget.virtual_size, Widget.scroll_y, Widget.scroll_target_y):
            assert reactive.name in transcript._reactives
        bar = transcript.vertical_scrollbar
        for reactive in (ScrollBar.window_virtual_size, ScrollBar.window_size, ScrollBar.position):
            assert reactive.name in bar._reactives
        assert transcript.virtual_size == Size(59, 100)
        assert transcript.max_scroll_y == transcript.scroll_y == bar.position == 80
        assert bar.window_virtual_size == 100
        await pilot.pause()


async def test_the_content_is_as_wide_as_the_region_less_the_scroll_bar():
    async with showing(Notice("x")) as (transcript, pilot, _):
        await pilot.pause()
        assert transcript.scrollable_content_region.width == transcript.region.width - 1 == 59
        strips = transcript.render_lines(Region(0, 0, 59, 20))
        assert [strip.cell_length for strip in strips] == [59] * 20
        assert [strip.cell_length for strip in transcript.render_lines(Region(5, 1, 10, 2))] == [10, 10]


async def test_all_ways_of_scrolling_end_in_one_place():
    async with showing(*[Notice(f"{n}") for n in range(100)]) as (transcript, pilot, _):
        ways = (
            (transcript.scroll_home, 0),
            (transcript.scroll_page_down, 20),
            (transcript.scroll_down, 21),
            (transcript.scroll_up, 20),
            (transcript.scroll_page_up, 0),
            (transcript.scroll_end, 80),
        )
        for scroll, expected in ways:
            scroll(animate=False)
            await pilot.pause()
            assert transcript.window.offset == transcript.scroll_y == expected


IMPORTS = """
import sys
import textual.app, textual.scroll_view, prunecli.tui
before = set(sys.modules)
import prunecli.tui.transcript.transcript_view
new = set(sys.modules) - before
print(*sorted(name for name in new if not name.startswith("prunecli")))
"""


def test_importing_the_transcript_brings_next_to_nothing_with_it():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    heavy = {
        "markdown_it",
        "pygments",
        "rich.markdown",
        "rich.syntax",
        "textual.widgets",
        "difflib",
        "linkify_it",
    }
    brought = set(done.stdout.split())
    assert not {name for name in brought for root in heavy if name == root or name.startswith(f"{root}.")}
    assert len(brought) <= 3
