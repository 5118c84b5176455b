"""How the first frame looks."""

import json
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from prunecli.tui import look
from prunecli.tui.app import PrunecliApp
from prunecli.tui.themes import DEFAULT, FEW_COLORS, load_theme, theme_names
from prunecli.util.paths import Places
from tests.scripted import says
from tests.starting import start
from tests.tui.showing_app import shown

PLACES = Places.of({"HOME": "/nonexistent"})


@pytest.mark.parametrize("name", theme_names(PLACES))
def test_every_theme_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    kept = look.Look(load_theme(PLACES, name).to_textual(), mouse=False)
    look.save(tmp_path / "data" / "look.json", kept)
    assert look.load(tmp_path / "data" / "look.json") == kept


def test_there_is_no_look_at_first(tmp_path: Path) -> None:
    assert look.load(tmp_path / "look.json") is None


def test_a_damaged_look_is_no_look(tmp_path: Path) -> None:
    path = tmp_path / "look.json"
    look.save(path, look.Look(load_theme(PLACES, "prune-dark").to_textual(), mouse=True))
    good = json.loads(path.read_text())
    bad: list[object] = [None, [], {}, {**good, "theme": {}}, {**good, "variables": []}]
    bad += [{**good, "theme": {**good["theme"], "primary": "url(x)"}}]
    bad += [{**good, "variables": {**good["variables"], "muted": "red; color: blue"}}]
    bad += [{**good, "variables": {**good["variables"], "muted": 5}}]
    for value in bad:
        path.write_text(json.dumps(value))
        assert look.load(path) is None
    for text in (b"", b"{", b"\xff", b"[" * 9_000):
        path.write_bytes(text)
        assert look.load(path) is None


def test_a_place_that_cannot_be_written_costs_only_the_next_first_frame(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in the way")
    look.save(tmp_path / "data" / "look.json", look.Look(load_theme(PLACES, "dusk").to_textual(), mouse=True))
    assert look.load(tmp_path / "data" / "look.json") is None


@pytest.mark.parametrize(
    ("environ", "few"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "linux"}, True),
        ({"TERM": "screen"}, True),
        ({"TERM": "xterm-16color"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, False),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, False),
        ({"TERM": "alacritty", "COLORTERM": "24bit"}, False),
        ({}, False),
    ],
)
def test_the_environment_tells_whether_there_are_few_colors(environ: dict[str, str], few: bool) -> None:
    assert look.has_few_colors(environ) is few


async def test_a_terminal_of_sixteen_colors_wears_the_theme_for_it_and_keeps_the_configured_one(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path) as s:
        kept = s.runtime.setup.places.data / "look.json"
        before = kept.read_text()
    async with shown(tmp_path, environ={"TERM": "xterm"}) as s:
        assert s.app.theme == FEW_COLORS
        assert s.runtime.config.ui.theme == DEFAULT
        s.conversation.command("/reload")
        await s.pilot.pause()
        assert s.app.theme == FEW_COLORS
        assert kept.read_text() == before
        s.conversation.command("/theme dusk")
        await s.until(lambda: s.app.theme == "dusk")


async def test_the_first_frame_of_a_terminal_of_sixteen_colors_has_no_others(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    look.save(
        runtime.setup.places.data / "look.json",
        look.Look(load_theme(PLACES, DEFAULT).to_textual(), mouse=False),
    )
    app = PrunecliApp(lambda: runtime, runtime.setup.places, runtime.setup.cwd, {"TERM": "linux"})
    assert (app.theme, app.mouse) == (FEW_COLORS, False)
    await runtime.close()


SCREENS = (
    "",
    "/theme",
    "/model",
    "/tree",
    "/rewind",
    "/permissions",
    "/help",
    "/context",
    "/prune-config",
    "/cost",
)


async def test_with_sixteen_colors_no_text_has_the_terminals_own_color_on_a_ground_of_the_theme(
    tmp_path: Path,
) -> None:
    """The terminal's own color may be that of the ground: black on black in a plain xterm."""
    async with shown(tmp_path, [says("some `code`")], environ={"TERM": "xterm"}) as s:
        await s.type("hello", "enter")
        await s.idle()
        for line in SCREENS:
            if line:
                s.conversation.command(line)
                await s.until(lambda: len(s.app.screen_stack) > 1)
                await s.pilot.pause()
            segments = [segment for strip in s.app.screen._compositor.render_strips() for segment in strip]
            styles = [(segment.text, segment.style) for segment in segments if segment.text.strip()]
            wrong = [
                text
                for text, style in styles
                if style is None
                or style.color is None
                or style.color.is_default
                or style.color == style.bgcolor
            ]
            assert wrong == [], line
            if line:
                await s.pilot.press("escape")
                await s.until(lambda: len(s.app.screen_stack) == 1)


def test_without_colors_the_terminals_own_ones_become_its_default_and_what_is_marked_is_reversed() -> None:
    ground = Color.parse("ansi_black")
    plain, marked, gray = (
        Segment("a", Style(color=color, bgcolor=back))
        for color, back in (("white", "black"), ("white", "blue"), ("#ff0000", "#000000"))
    )
    first, second, third = look.Colorless().apply([plain, marked, gray], ground)
    assert first.style == Style(color="default", bgcolor="default")
    assert second.style == Style(color="default", bgcolor="default", reverse=True)
    assert third.style is not None
    assert third.style.color is not None
    assert len(set(third.style.color.get_truecolor())) == 1, "other themes become gray"
