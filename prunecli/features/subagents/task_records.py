"""Reads a session's tasks from its log: their numbers, their sessions and their costs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    Record,
    SettingChanged,
    ToolResult,
    ToolStarted,
)
from prunecli.model.fields import MOST
from prunecli.model.messages import Json, tool_uses
from prunecli.model.requests import TASK
from prunecli.runtime.offered_models import PRICES
from prunecli.session.session import Session
from prunecli.session.store import is_id
from prunecli.util.errors import StorageFailed


def number_of(records: Sequence[Record], call_id: str) -> tuple[int, int]:
    """Return the number of a task in its session, from 1, and the seq of the message with its call (the newest with
    this id).

    The number is 0 for a call that started no task. The number in a result wins: earlier versions also counted the
    calls that started none.
    """
    number, seq, numbers = 0, 0, dict[str, int]()
    for record in records:
        match record.event:
            case AssistantMessage(content):
                calls = [call.id for call in tool_uses(content) if call.name == TASK]
                numbers.update(dict.fromkeys(calls, 0))
                seq = record.seq if call_id in calls else seq
            case ToolStarted(id_, name, given) if name == TASK and str(given.get("prompt") or "").strip():
                numbers[id_] = numbers.get(id_) or number + 1
                number = max(number, numbers[id_])
            case ToolResult(id_) if known := task_of(record.event).get("number"):
                numbers[id_] = known
                number = max(number, known)
            case _:
                pass
    return numbers.get(call_id, 0), seq


def child_of(records: Sequence[Record], number: int) -> str:
    for record in reversed(records):
        task = task_of(record.event)
        if task.get("number") == number:
            name = str(task.get("child") or "")
            return name if is_id(name) else ""
    return ""


def task_of(event: Event) -> Mapping[str, Json]:
    """Return the facts about a task in its result, with a number; {} for other results and events."""
    found = event.details.get("task") if isinstance(event, ToolResult) and event.tool_name == TASK else None
    if not isinstance(found, Mapping) or type(number := found.get("number")) is not int:
        return {}
    return found if 0 < number <= MOST else {}


def bill(parent: Session, session: Session, event: object) -> None:
    """Bill a record of a task in the parent's log, if it was billed; prices of its model are recorded there too."""
    if isinstance(event, Record) and isinstance(event.event, SettingChanged) and event.event.key == PRICES:
        prices = {**(parent.context.settings.get(PRICES) or {}), **event.event.value}
        with suppress(StorageFailed):
            if prices != parent.context.settings.get(PRICES):
                parent.keep(SettingChanged(PRICES, prices))
    if not isinstance(event, Record) or not isinstance(
        event.event, AssistantMessage | AttemptBilled | CompactionApplied
    ):
        return
    model, usage = event.event.model, event.event.usage
    if usage.prompt_tokens:
        with suppress(StorageFailed):  # owed, and reported by the next write
            parent.keep(AttemptBilled(model, usage, "task", {"id": session.id, "seq": event.seq}))


def bill_rest(parent: Session, session: Session) -> None:
    """Bill the records of a task that are missing from the parent's log because of a crash."""
    places = (one.event.child for one in parent.records if isinstance(one.event, AttemptBilled))
    seqs = (place.get("seq") for place in places if place and place.get("id") == session.id)
    known = max((seq for seq in seqs if isinstance(seq, int)), default=-1)
    for record in session.records:
        if record.seq > known:
            bill(parent, session, record)
