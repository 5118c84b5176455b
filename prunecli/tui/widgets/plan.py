"""The question after a plan: carry it out, in which mode, or go on thinking."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.tui.widgets.question import Question


class PlanPanel(Question):
    """Asks about the plan that stands above. `answer` gets "ask", "edits" or "deny", and a word for the model.

    What was denied without a word leaves everything as it is.
    """

    def __init__(self, answer: Callable[[str, str], None], early: Callable[[events.Key], object]) -> None:
        super().__init__(early)
        self._tell = answer
        self.answers = {
            **dict.fromkeys(("y", "1"), lambda: answer("ask", "")),
            **dict.fromkeys(("e", "2"), lambda: answer("edits", "")),
            **dict.fromkeys(("n", "3"), self.ask_for_word),
            **dict.fromkeys(("escape", "ctrl+c"), lambda: answer("deny", "")),
        }

    def compose(self) -> ComposeResult:
        """Question and answers."""
        yield Static(Content("Shall this plan be carried out?"), id="question")
        rows = [
            Content.assemble(("y", "bold $accent"), "  yes, and ask before changes (mode ask)"),
            Content.assemble(("e", "bold $accent"), "  yes, and edit without asking (mode edits)"),
            Content.assemble(
                ("n", "bold $accent"),
                "  no, with a word to the model     ",
                ("Esc", "bold $accent"),
                "  not yet",
            ),
        ]
        yield Static(id="ready")
        yield Static(Content("\n").join(rows), id="answers")
        yield Input(placeholder="what should be different? · Enter sends", id="word")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The word is said."""
        event.stop()
        self._tell("deny", event.value.strip())
