"""The question after a plan: carry it out, and in which mode, or keep planning."""

from prunecli.agent.permissions.judge import Mode
from prunecli.tui.widgets.question import KEYS_TEXT, Answered, Question, Row

ROWS = (
    Row("1y", ("Yes, and ask before each change",)),
    Row("2e", ("Yes, and edit without asking",)),
    Row("3n", ("No, and say what to change",)),
)
MODES: tuple[Mode | None, ...] = ("ask", "edits", None)
"""The mode to continue in, by row; None to keep planning."""


def plan_question(answered: Answered) -> Question:
    """Asks about the plan shown above."""
    return Question("Carry out this plan?", ROWS, answered, for_text=2, leave=2, hints=KEYS_TEXT)
