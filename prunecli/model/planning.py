"""Plan mode in words: what the model is told with a prompt, and how its plan is found in what it answers."""

import re

from prunecli.model.messages import Text
from prunecli.model.notes import PLAN

PLAN_NOTE = Text(
    f"{PLAN} Calls that change anything are denied now. Look until you know enough; ask if something is unclear. If "
    'this is a task, end with a section headed "## Plan": the steps, the files and how it will be checked, short '
    "enough to be approved at a glance. Do not ask whether to go on: the program does."
)
"""Stands behind the user's words in a prompt that is sent in plan mode. It is no word of theirs."""

APPROVED = "The plan is approved. Carry it out."
"""What the user says by approving."""

_HEADING = re.compile(r"^#{1,6} +(?:the +)?plan\b", re.IGNORECASE | re.MULTILINE)


def plan_in(answer: str) -> str:
    """The plan that an answer ends in, from its heading on; "" for none."""
    headings = list(_HEADING.finditer(answer))
    return answer[headings[-1].start() :].strip() if headings else ""
