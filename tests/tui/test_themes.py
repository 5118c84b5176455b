"""Themes: what a file has to hold, where it may come from, and that its text can be read."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from textual.app import App, ComposeResult
from textual.widgets import Label

from prunecli.config.options import Ui
from prunecli.tui.themes import ANSI_COLORS, COLORS, DEFAULT, Theme, load_theme, parse_theme, theme_names
from prunecli.tui.transcript.palette import Palette, inks
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.tui.contrast import contrast

SHIPPED = Places.of({"HOME": "/nonexistent"})
NAMES = theme_names(SHIPPED)

CODE = ("comment", "keyword", "string", "number", "function", "type", "builtin", "operator")
CHANGES = tuple(f"diff_{kind}_{part}" for kind in ("added", "removed") for part in ("background", "strong"))
SCREENS = ("background", "surface", "panel")
GROUNDS = {
    "foreground": (*SCREENS, "code_background", "cursor", "selection", "hit"),
    "muted": (*SCREENS, "code_background", "cursor"),
    "accent": (*SCREENS, "code_background", "cursor"),
    "primary": SCREENS,
    "secondary": SCREENS,
    "heading": ("background", "code_background"),
    "link": ("background", "panel"),
    "code": ("background", "panel"),
    "success": (*SCREENS, "code_background", "cursor", "diff_added_background"),
    "warning": (*SCREENS, "cursor"),
    "error": (*SCREENS, "code_background", "cursor", "diff_removed_background"),
    "diff_added": ("diff_added_background", "diff_added_strong"),
    "diff_removed": ("diff_removed_background", "diff_removed_strong"),
    "hit_current_text": ("hit_current",),
    "background": ("accent", "primary"),
    **dict.fromkeys(CODE, ("code_background", *CHANGES)),
}
"""On which grounds the transcript and the screens write in each color."""

NO_TEXT = {"faint", *SCREENS, "code_background", "cursor", "selection", "hit", "hit_current", *CHANGES}


def test_there_are_eight_with_light_high_contrast_and_sixteen_colors_among_them():
    themes = [load_theme(SHIPPED, name) for name in NAMES]
    assert len(themes) >= 8
    assert sum(not theme.dark for theme in themes) >= 2
    assert sum(theme.ansi for theme in themes) >= 1
    assert all(theme.description for theme in themes)
    assert {Ui().theme, DEFAULT} == {"prune-dark"} <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if not load_theme(SHIPPED, name).ansi])
def test_text_has_a_contrast_of_four_and_a_half(name):
    """Of the themes that choose their colors: those of the others are the terminal's."""
    theme = load_theme(SHIPPED, name)
    goal = 7.0 if "contrast" in name else 4.5
    low = {
        (text, ground): round(contrast(theme.colors[text], theme.colors[ground]), 2)
        for text, grounds in GROUNDS.items()
        for ground in grounds
        if contrast(theme.colors[text], theme.colors[ground]) < goal
    }
    assert low == {}


@pytest.mark.parametrize("name", [name for name in NAMES if not load_theme(SHIPPED, name).ansi])
def test_a_changed_line_does_not_look_like_code_in_256_colors_unless_both_look_plain(name):
    """tmux passes on no more colors by default. The signs before changed lines are there in any case."""
    shown = {
        key: Color.parse(color).downgrade(ColorSystem.EIGHT_BIT).number
        for key, color in load_theme(SHIPPED, name).colors.items()
    }
    code, added, removed = (
        shown[key] for key in ("code_background", "diff_added_background", "diff_removed_background")
    )
    is_plain = code == shown["background"]
    assert is_plain or code not in (added, removed)
    assert added != removed or (is_plain and added == code)


def test_the_contrast_of_every_color_that_carries_text_is_checked():
    assert set(GROUNDS) | NO_TEXT >= set(COLORS)


def test_contrast_is_that_of_the_standard():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_a_theme_is_one_for_the_transcript_and_for_textual(name):
    theme = load_theme(SHIPPED, name)
    assert isinstance(theme.palette, Palette)
    assert inks(theme.palette).text.color is not None
    textual = theme.to_textual()
    assert (textual.name, textual.dark, textual.ansi) == (name, theme.dark, theme.ansi)
    assert textual.to_color_system().generate()["primary"]


class Screens(App[None]):
    CSS = """
    #a { color: $muted; background: $code-background; border: solid $faint; }
    #b { color: $text-muted; background: $panel; }
    #c { color: $diff-added; background: $diff-added-strong; }
    """

    def __init__(self) -> None:
        super().__init__()
        for name in NAMES:
            self.register_theme(load_theme(SHIPPED, name).to_textual())
        self.theme = DEFAULT  # before the style sheet is read, or it would not know the names

    def compose(self) -> ComposeResult:
        yield from (Label("text", id=name) for name in "abc")


async def test_every_theme_can_be_put_on_while_the_program_runs():
    app = Screens()
    async with app.run_test() as pilot:
        for name in NAMES:
            app.theme = name
            await pilot.pause()
            theme = load_theme(SHIPPED, name)
            color = app.query_one("#a").styles.color
            if not theme.ansi:
                assert color.hex.lower() == theme.colors["muted"]
                assert app.query_one("#c").styles.background.hex.lower() == theme.colors["diff_added_strong"]


@pytest.fixture
def places(tmp_path) -> Places:
    (tmp_path / ".config/prunecli/themes").mkdir(parents=True)
    return Places.of({"HOME": str(tmp_path)}, "linux")


def own(places: Places, text: str, name: str = "mine") -> None:
    (places.user_themes / f"{name}.toml").write_text(text)


def test_a_users_theme_needs_only_the_colors_that_differ(places):
    own(places, 'base = "prune-light"\n[colors]\naccent = "#112233"\n')
    theme = load_theme(places, "mine")
    base = load_theme(places, "prune-light")
    assert theme.colors == {**base.colors, "accent": "#112233"}
    assert not theme.dark
    assert theme_names(places) == (*NAMES, "mine")


def test_a_users_theme_counts_more_than_a_shipped_one_of_its_name(places):
    own(places, 'base = "prune-dark"\n[colors]\nmuted = "#aabbcc"\n', "prune-dark")
    assert load_theme(places, "prune-dark").palette.muted == "#aabbcc"
    assert theme_names(places) == NAMES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[colors]\naccent = 'blue'", "colors.accent: expected a color like \"#82aaff\", got 'blue'"),
        ("[colors]\naccent = '#fff'", "colors.accent: expected a color like \"#82aaff\", got '#fff'"),
        ("[colors]\naccent = 3", 'colors.accent: expected a color like "#82aaff", got 3'),
        ("[colors]\nacent = '#112233'", "colors.acent: unknown key (did you mean accent?)"),
        ("[colours]\naccent = '#112233'", "colours: unknown key (did you mean colors?)"),
        ("colors = 3", "colors: expected a table, got 3"),
        ("dark = 'yes'", "dark: expected true or false, got 'yes'"),
        ('description = "\\u001b[31m"', "description: expected one line of text, got '\\x1b[31m'"),
        ("ansi = true\n[colors]\naccent = '#112233'", "colors.accent: expected one of default, black, red"),
        (
            "base = 'prune-drak'",
            "base: expected a built-in theme, got 'prune-drak' (did you mean prune-dark?)",
        ),
        ("base = 'mine'", "base: expected a built-in theme, got 'mine'"),
        ("base = 3", "base: expected a built-in theme, got 3"),
        ("base = ['a']", "base: expected a built-in theme, got a list"),
        ("[colors]\naccent = '#112233'", "colors: missing primary, secondary, surface, background"),
        ("[colors", "end of document: "),
    ],
)
def test_a_wrong_theme_is_answered_with_file_and_key(places, text, message):
    own(places, text if not text.startswith(("dark", "desc")) else f'base = "prune-dark"\n{text}')
    with pytest.raises(ConfigError) as failed:
        load_theme(places, "mine")
    assert failed.value.message.startswith(f"themes/mine.toml: {message}")


@pytest.mark.parametrize(
    "name", ["", "..", "../config", "/etc/passwd", "themes/mine", "mine.toml", "mi\0ne", "prune-drak"]
)
def test_a_name_that_is_no_theme_is_refused_with_the_nearest(places, name):
    (places.config / "config.toml").write_text("")
    own(places, "")
    with pytest.raises(ConfigError, match=r"no theme named '.*' \(did you mean [a-z0-9-]+\?\)$") as failed:
        load_theme(places, name)
    assert "prune-dark" in failed.value.hint


def test_a_link_can_not_lead_out_of_the_folder(places, tmp_path):
    (tmp_path / "secret.toml").write_text("password = 'hunter2'")
    (places.user_themes / "mine.toml").symlink_to(tmp_path / "secret.toml")
    with pytest.raises(ConfigError, match=r"themes/mine\.toml: links to a file outside its folder"):
        load_theme(places, "mine")


def test_a_folder_that_is_a_link_is_fine(places, tmp_path):
    own(places, 'base = "prune-dark"\n')
    places.user_themes.rename(tmp_path / "dotfiles")
    places.user_themes.symlink_to(tmp_path / "dotfiles")
    assert load_theme(places, "mine").name == "mine"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(st.sampled_from(COLORS), st.text(max_size=8) | st.sampled_from(ANSI_COLORS)),
    st.booleans(),
)
def test_what_loads_has_only_colors_in_it(given_colors, ansi):
    base = load_theme(SHIPPED, "prune-16" if ansi else DEFAULT)
    lines = "".join(f"{name} = {toml(color)}\n" for name, color in given_colors.items())
    theme = None
    try:
        theme = parse_theme(
            "x", f"ansi = {str(ansi).lower()}\n[colors]\n{lines}", "x.toml", SHIPPED.themes, base
        )
    except ConfigError:
        return
    assert isinstance(theme, Theme)
    allowed = re.compile("|".join(ANSI_COLORS) if ansi else "#[0-9a-fA-F]{6}")
    assert all(allowed.fullmatch(color) for color in theme.colors.values())


def toml(text: str) -> str:
    return (
        '"'
        + "".join(f"\\U{ord(char):08x}" if not 0xD800 <= ord(char) < 0xE000 else "?" for char in text)
        + '"'
    )
