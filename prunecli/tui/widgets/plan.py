"""The question after a plan: carry it out, in which mode, or go on thinking."""

from prunecli.agent.permissions import Mode
from prunecli.tui.widgets.question import KEYS_TEXT, Answered, Question, Row

ROWS = (
    Row("1y", ("Yes, and ask before each change",)),
    Row("2e", ("Yes, and edit without asking",)),
    Row("3n", ("No, and say what to change",)),
)
MODES: tuple[Mode | None, ...] = ("ask", "edits", None)
"""The mode that each row goes on in; None: it does not go on."""


def plan_question(answered: Answered) -> Question:
    """Asks about the plan that stands above."""
    return Question("Carry out this plan?", ROWS, answered, for_text=2, leave=2, hints=KEYS_TEXT)
