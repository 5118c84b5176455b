"""The texts of plan mode: the note to the model, and how to find the plan in its answer."""

import re

from prunecli.model.messages import Text
from prunecli.model.notes import PLAN

PLAN_NOTE = Text(
    f"{PLAN} Calls that change anything are denied now. Look until you know enough; ask if something is unclear. If "
    'this is a task, end with a section headed "## Plan": the steps, the files and how it will be checked, short '
    "enough to be approved at a glance. Do not ask whether to go on: the program does."
)
"""Follows the user's text in a prompt sent in plan mode. The program wrote it, not the user."""

APPROVED = "The plan is approved. Carry it out."
"""The prompt sent when the user approves."""

_HEADING = re.compile(r"^#{1,6} +(?:the +)?plan\b", re.IGNORECASE | re.MULTILINE)


def plan_in(answer: str) -> str:
    """The plan at the end of an answer, from its heading on, or ""."""
    headings = list(_HEADING.finditer(answer))
    return answer[headings[-1].start() :].strip() if headings else ""
