"""Preloads what the first Markdown and the first code need."""


def warm() -> None:
    """Import and prepare Markdown and code highlighting: 130 to 220 ms, so call it in a thread."""
    from prunecli.commonmark import parser
    from prunecli.tui.transcript.highlight import highlight
    from prunecli.tui.transcript.palette import Palette, inks

    parser().parse("# a\n\n- b `c` **d** [e](f)\n\n| g |\n|---|\n| h |\n")
    for language in ("python", "bash", "json", "diff"):
        highlight("x = 1\n", language, inks(Palette()))
