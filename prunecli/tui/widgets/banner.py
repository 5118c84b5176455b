"""A warning that stays on the screen while it applies."""

from textual.content import Content
from textual.widgets import Static

from prunecli.sanitize import visible


class Banner(Static):
    """A few words across the screen, above the prompt."""

    DEFAULT_CSS = """
    Banner { height: auto; background: $error; color: $background; text-style: bold; padding: 0 1; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(Content(visible(text)))
