"""What the first Markdown and the first code would otherwise wait for."""


def warm() -> None:
    """Imports and prepares what the first Markdown and the first code need: 130 to 220 ms, for a thread to spend."""
    from prunecli.commonmark import parser
    from prunecli.tui.transcript.highlight import highlight
    from prunecli.tui.transcript.palette import Palette, inks

    parser().parse("# a\n\n- b `c` **d** [e](f)\n\n| g |\n|---|\n| h |\n")
    for language in ("python", "bash", "json", "diff"):
        highlight("x = 1\n", language, inks(Palette()))
