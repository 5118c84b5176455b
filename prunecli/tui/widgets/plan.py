"""The question after a plan: carry it out, in which mode, or go on thinking."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.tui.widgets.question import Question

_ASK, _EDITS, _DENY = ("y", "1"), ("e", "2"), ("n", "3")


class PlanPanel(Question):
    """Asks about the plan that stands above. `answer` gets "ask", "edits" or "deny", and a word for the model.

    What was denied without a word leaves everything as it is.
    """

    def __init__(self, answer: Callable[[str, str], None], early: Callable[[events.Key], object]) -> None:
        super().__init__(early)
        self._answer = answer

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
        yield Static(Content("\n").join(rows), id="answers")
        yield Input(placeholder="what should be different? · Enter sends", id="word")

    def answered_by(self, key: str) -> None:
        """One of the three, or Esc."""
        if key in _ASK:
            self._answer("ask", "")
        elif key in _EDITS:
            self._answer("edits", "")
        elif key in _DENY:
            self.ask_for_word()
        elif key in ("escape", "ctrl+c"):
            self.given_up()

    def given_up(self) -> None:
        """Not yet."""
        self._answer("deny", "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The word is said."""
        event.stop()
        self._answer("deny", event.value.strip())
