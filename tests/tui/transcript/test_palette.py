"""The colors and figures the transcript is drawn with."""

from dataclasses import replace

from rich.style import Style

from prunecli.tui.transcript.palette import Palette, inks, mix
from prunecli.util.figures import duration, short
from tests.tui.contrast import contrast


def test_every_text_of_the_default_palette_can_be_read():
    """4.5:1 for each ink on its own ground."""
    made = inks(Palette())
    for name, ink in vars(made).items():
        if name in ("faint", "quote") or not isinstance(ink, Style) or not (ink.color and ink.bgcolor):
            continue
        assert contrast(ink.color.name, ink.bgcolor.name) >= 4.5, name
    for name, ink in made.syntax:
        assert contrast(ink.color.name, ink.bgcolor.name) >= 4.5, name


def test_text_stays_readable_under_marks():
    palette = Palette()
    for ground in (palette.selection, palette.hit, palette.cursor, palette.diff_added_strong):
        assert contrast(palette.foreground, ground) >= 4.5
    assert contrast(palette.diff_removed, palette.diff_removed_strong) >= 4.5


def test_every_ink_names_both_colors_but_those_that_are_laid_over_others():
    made = inks(Palette())
    over = {"inline_code", "added_ground", "added_strong", "removed_ground", "removed_strong"}
    over |= {"selection", "hit", "cursor"}
    for name, ink in vars(made).items():
        if isinstance(ink, Style) and name not in over:
            assert ink.color, name
            assert ink.bgcolor, name


def test_styles_are_made_once():
    assert inks(Palette()) is inks(Palette())
    assert inks(Palette()) is not inks(replace(Palette(), accent="#ff0000"))
    assert inks(Palette()).dimmed() is inks(Palette()).dimmed()
    bold = Style(bold=True)
    assert mix(Style(color="red"), bold) is mix(Style(color="red"), bold)


def test_tokens_are_written_short():
    written = {0: "0", 850: "850", 999: "999", 1000: "1.0K", 1449: "1.4K", 45_200: "45.2K", 99_949: "99.9K"}
    written |= {99_950: "100K", 128_000: "128K", 999_499: "999K", 999_500: "1.0M", 1_250_000: "1.2M"}
    assert {count: short(count) for count in written} == written


def test_times_are_written_short():
    written = {0: "0ms", 999: "999ms", 1000: "1.0s", 2140: "2.1s", 9949: "9.9s", 9950: "10s", 59_400: "59s"}
    written |= {59_600: "1m00s", 192_000: "3m12s", 3_599_600: "1h00m", 7_500_000: "2h05m"}
    assert {milliseconds: duration(milliseconds) for milliseconds in written} == written
    assert max(map(len, written.values())) <= 6
