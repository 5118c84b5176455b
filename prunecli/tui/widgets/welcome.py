"""What an empty session shows in place of a transcript."""

from textual.content import Content
from textual.widget import Widget

from prunecli import __version__

HINTS = (("/", "commands"), ("@", "files"), ("!", "a shell command"), ("?", "keys"))


class Welcome(Widget):
    """A few words at the bottom of the empty transcript. It lies over it and is gone with the first entry."""

    can_focus = False

    def render(self) -> Content:
        """The name and the four keys one has to know."""
        keys = [
            part for key, what in HINTS for part in ((f"{key} ", "bold $accent"), (f"{what}     ", "$muted"))
        ]
        return Content("\n").join(
            [
                Content.assemble(("prunecli", "bold $foreground"), (f"  {__version__}", "$muted")),
                Content.styled("The context you can see, prune, restore and trust.", "$muted"),
                Content(""),
                Content.assemble(*keys),
            ]
        )
