"""Text for the model that prunecli writes in the user's role; fixed sentences as system messages, if it takes those.

Notes, such as plan mode's, follow the user's words in a prompt. They are part of the message, so they are sent,
hashed and rewound with it. Readers that show the typed text omit them.

Notices are separate messages of origin `command`, with titles like those in imported sessions. They report changes
around the session without changing its system prompt or tools.
"""

import re
from collections.abc import Iterable, Sequence

from prunecli.model.events import Event, Origin, UserMessage
from prunecli.model.messages import Block, Text, plain_text

SYSTEM = "request.system_messages"
"""The setting that tells whether fixed sentences are sent as system messages; otherwise they are the user's texts."""
PLAN = "[plan mode]"
CHANGED = "[changed since this session began]"
RESOURCE = "[resource]"
UNREAD = "(could not be read: "
"""The beginning of a resource's text that a prompt names by `@server:uri`."""
NOTICE = "[notice] "
"""The beginning of a notice's first text."""
ATTACHED = "[attached: "
"""The beginning of an attachment's first text; the name and "]" follow."""
TYPED = "prompt.typed"
"""The setting recorded before a prompt that a custom command or skill made: the line that was typed for it."""
GO_ON = "stop hook"
"""The beginning of the title of a notice that keeps the agent working."""

PLAN_NOTE = Text(
    f"{PLAN} Calls that change anything are denied now. Look until you know enough; ask if something is unclear. If "
    'this is a task, end with a section headed "## Plan": the steps, the files and how it will be checked, short '
    "enough to be approved at a glance. Do not ask whether to proceed; the program does."
)
"""Follows the user's text in a prompt sent in plan mode. The program wrote it, not the user."""

APPROVED = "The plan is approved. Carry it out."
"""The prompt sent when the user approves."""

DELETED = "(no longer there)"
"""The text of an instruction file that was deleted."""

_FILE = re.compile(rf'^<instructions file="([^"\n]*)">$(\n{re.escape(DELETED)}$)?', re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(?:the +)?plan\b", re.IGNORECASE | re.MULTILINE)


def resources_in_words(content: tuple[Block, ...]) -> list[str]:
    """Return a line for each resource of a server that a prompt named: attached, or why it could not be read."""
    texts = (block.text for block in content if isinstance(block, Text) and block.text.startswith(RESOURCE))
    parts = (text.removeprefix(f"{RESOURCE} ").partition("\n") for text in texts)
    return [
        f"{name} {text[1:-1]}" if text.startswith(UNREAD) else f"Attached {name}" for name, _, text in parts
    ]


def is_note(text: str) -> bool:
    """Return whether the text in a user message is a note."""
    return text.startswith((PLAN, CHANGED, RESOURCE))


def without_notes(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the user's content, without notes."""
    return tuple(block for block in content if not (isinstance(block, Text) and is_note(block.text)))


def typed(message: UserMessage) -> str:
    """Return the text the user typed; for a `!cmd`, the command, for an attachment, the line that names it."""
    beside = message.origin in ("command", "attachment")
    return plain_text(message.content[:1] if beside else without_notes(message.content))


def prompt(content: tuple[Block, ...], origin: Origin, *, planning: bool) -> UserMessage:
    """Return a prompt, with the note of plan mode while `planning`."""
    note, fixed = ((PLAN_NOTE,), (len(content),)) if planning else ((), ())
    return UserMessage((*content, *note), origin, fixed=fixed)


def notice(title: str, text: str, *, kept: bool = False, fixed: bool = False) -> UserMessage:
    """Return a notice. Pruning may remove all but its title, or nothing if it is `kept`. `fixed`: it is a sentence of
    prunecli, with at most its own numbers, and kept."""
    head = f"{NOTICE}{title}"
    if not (kept or fixed):
        return UserMessage((Text(head), Text(text)), "command")
    return UserMessage((Text(f"{head}\n{text}"),), "command", fixed=(0,) if fixed else ())


def notice_parts(message: UserMessage) -> tuple[str, str] | None:
    """Return the title and text of a notice; None for any other message."""
    first = message.content[0] if message.content else None
    if message.origin != "command" or not isinstance(first, Text) or not first.text.startswith(NOTICE):
        return None
    head, _, rest = first.text.removeprefix(NOTICE).partition("\n")
    return head, "\n".join(filter(None, [rest, plain_text(message.content[1:])]))


def opens_turn(message: UserMessage) -> bool:
    """Return whether this message begins a turn of the user: it is neither a notice nor an attachment."""
    return message.origin != "attachment" and notice_parts(message) is None


def keeps_going(message: UserMessage) -> bool:
    """Return whether this is a notice that keeps the agent working after its turn ended."""
    parts = notice_parts(message)
    return parts is not None and parts[0].startswith(GO_ON)


def newest_notice(events: Iterable[Event], title: str) -> str | None:
    """Return the text of the newest notice with this title among events, newest first; None if there is none."""
    found = filter(None, (notice_parts(event) for event in events if isinstance(event, UserMessage)))
    return next((text for head, text in found if head == title), None)


def changes_told(contents: Sequence[tuple[Block, ...]]) -> str:
    """Return the newest note of changes among a context's messages, "" if there is none."""
    texts = (block.text for content in reversed(contents) for block in content if isinstance(block, Text))
    return next((text for text in texts if text.startswith(CHANGED)), "")


def change_in_words(content: tuple[Block, ...]) -> str:
    """Return the notice for a note of changed instructions in a prompt; "" if there is none."""
    found = _FILE.findall(changes_told([content]))
    changed = dict.fromkeys(path.rpartition("/")[2] for path, gone in found if not gone)
    deleted = dict.fromkeys(path.rpartition("/")[2] for path, gone in found if gone)
    parts = [f"{', '.join(changed)}: new or changed since this session began"] if changed else []
    parts += (
        [f"{', '.join(deleted)} no longer {'applies' if len(deleted) == 1 else 'apply'}"] if deleted else []
    )
    told = "The model gets the new text with this prompt." if changed else "This prompt tells the model."
    return f"{'; '.join(parts)}. {told}" if parts else ""


def plan_in(answer: str) -> str:
    """Return the plan at the end of an answer, from its heading on, or ""."""
    headings = list(_HEADING.finditer(answer))
    return answer[headings[-1].start() :].strip() if headings else ""
