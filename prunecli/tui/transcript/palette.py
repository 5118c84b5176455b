"""The transcript's colors: a palette of names, and the styles made from it.

A theme fills in a `Palette`; everything else calls `inks(palette)`. Every style sets foreground and background,
because rows are drawn without CSS.
"""

from copy import copy
from functools import lru_cache

from rich.style import Style

from prunecli.util.frozen import frozen


@frozen
class Palette:
    """Named colors: "#rrggbb", or one of the terminal's sixteen by Rich's name ("bright_blue", "default").

    The defaults are the built-in dark theme. Text colors have a contrast of 4.5:1 on their background; `faint` is
    for rules and bars without text.
    """

    background: str = "#101418"
    panel: str = "#1b222a"
    foreground: str = "#d5dbe3"
    muted: str = "#8b96a3"
    faint: str = "#3d4753"
    accent: str = "#82aaff"
    heading: str = "#9fc0ff"
    link: str = "#7fb4f5"
    code: str = "#e3b673"
    code_background: str = "#161c22"
    success: str = "#7fc98f"
    warning: str = "#e2b75e"
    error: str = "#f0767d"
    diff_added: str = "#c1ebc9"
    diff_added_background: str = "#12261b"
    diff_added_strong: str = "#1f5132"
    diff_removed: str = "#f5c6c9"
    diff_removed_background: str = "#2b171a"
    diff_removed_strong: str = "#65282e"
    selection: str = "#2b4a70"
    hit: str = "#57481d"
    hit_current: str = "#e2b75e"
    hit_current_text: str = "#101418"
    cursor: str = "#222b35"
    comment: str = "#7f8b98"
    keyword: str = "#c7a0ff"
    string: str = "#b3d895"
    number: str = "#f2a679"
    function: str = "#82aaff"
    type: str = "#f5c97a"
    builtin: str = "#6cc7d9"
    operator: str = "#9db2c4"


def _syntax(palette: Palette, background: str) -> tuple[tuple[str, Style], ...]:
    colors = (
        ("Comment.Preproc", palette.builtin),
        ("Comment", palette.comment),
        ("Keyword.Type", palette.type),
        ("Keyword.Constant", palette.number),
        ("Keyword", palette.keyword),
        ("Literal.String.Interpol", palette.operator),
        ("Literal.String.Doc", palette.comment),
        ("Literal.String", palette.string),
        ("Literal.Number", palette.number),
        ("Name.Function", palette.function),
        ("Name.Class", palette.type),
        ("Name.Exception", palette.type),
        ("Name.Decorator", palette.builtin),
        ("Name.Builtin", palette.builtin),
        ("Name.Tag", palette.function),
        ("Name.Attribute", palette.type),
        ("Name.Namespace", palette.type),
        ("Operator.Word", palette.keyword),
        ("Operator", palette.operator),
        ("Punctuation", palette.operator),
        ("Generic.Deleted", palette.error),
        ("Generic.Inserted", palette.success),
        ("Generic.Heading", palette.heading),
        ("Generic.Subheading", palette.accent),
    )
    return tuple((name, Style(color=color, bgcolor=background)) for name, color in colors)


class Inks:
    """The immutable styles of a palette.

    `syntax` maps the first words of a Pygments token type to a style on code; longer names come first. Use `inks`,
    which makes each set once.
    """

    def __init__(self, palette: Palette) -> None:
        ground, panel, code = palette.background, palette.panel, palette.code_background

        def ink(
            color: str, on: str = ground, *, bold: bool | None = None, underline: bool | None = None
        ) -> Style:
            return Style(color=color, bgcolor=on, bold=bold, underline=underline)

        self.text = ink(palette.foreground)
        self.strong = ink(palette.foreground, bold=True)
        self.muted = ink(palette.muted)
        self.faint = ink(palette.faint)
        self.accent = ink(palette.accent)
        self.title = ink(palette.heading, bold=True, underline=True)
        self.heading = ink(palette.heading, bold=True)
        self.link = ink(palette.link, underline=True)
        self.inline_code = Style(color=palette.code)
        self.code = ink(palette.foreground, code)
        self.code_muted = ink(palette.muted, code)
        self.quote = ink(palette.faint)
        self.prompt = ink(palette.foreground, panel)
        self.prompt_bar = ink(palette.accent, panel, bold=True)
        self.prompt_muted = ink(palette.muted, panel)
        self.success = ink(palette.success)
        self.warning = ink(palette.warning)
        self.error = ink(palette.error)
        self.added = ink(palette.diff_added, palette.diff_added_background)
        self.added_sign = ink(palette.success, palette.diff_added_background)
        self.added_ground = Style(bgcolor=palette.diff_added_background)
        self.added_strong = Style(bgcolor=palette.diff_added_strong)
        self.removed = ink(palette.diff_removed, palette.diff_removed_background)
        self.removed_sign = ink(palette.error, palette.diff_removed_background)
        self.removed_ground = Style(bgcolor=palette.diff_removed_background)
        self.removed_strong = Style(bgcolor=palette.diff_removed_strong)
        self.selection = Style(bgcolor=palette.selection)
        self.hit = Style(bgcolor=palette.hit)
        self.hit_current = Style(color=palette.hit_current_text, bgcolor=palette.hit_current)
        self.cursor = Style(bgcolor=palette.cursor)
        self.pill = Style(color=palette.background, bgcolor=palette.accent, bold=True)
        self.syntax = _syntax(palette, code)
        self._dimmed: Inks | None = None

    def dimmed(self) -> "Inks":
        """Return the same styles with prose muted, for thinking and pruned entries."""
        if self._dimmed is None:
            dim = copy(self)
            dim.text, dim.prompt = self.muted, self.prompt_muted
            dim.strong = dim.title = dim.heading = mix(self.muted, BOLD)
            dim.link, dim.inline_code = mix(self.muted, UNDERLINE), ITALIC
            self._dimmed = dim
        return self._dimmed


@lru_cache(maxsize=8)
def inks(palette: Palette) -> Inks:
    return Inks(palette)


@lru_cache(maxsize=4096)
def mix(under: Style, over: Style) -> Style:
    """Combine two styles, cached: adding styles is slow, and equal styles share ANSI codes if they are one object."""
    return under + over


BOLD, ITALIC = Style(bold=True), Style(italic=True)
STRIKE, UNDERLINE = Style(strike=True), Style(underline=True)
