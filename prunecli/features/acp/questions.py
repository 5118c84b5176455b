"""Asks the user about a call, a plan or a command's choices, through permission requests."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Literal, TypeAlias

from acp import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, ToolCallUpdate, ToolKind
from pydantic import ValidationError

from prunecli.agent.asking import Answer, AnswerKind, Asked
from prunecli.commands.command import Choose
from prunecli.commands.plan import ANSWERS
from prunecli.features.acp.calls import Content, text_content
from prunecli.features.acp.feed import Feed
from prunecli.features.acp.texts import escaped, fenced, shown
from prunecli.features.acp.updates import Updates
from prunecli.front.presentation.questions import YES, Sheet, edited, sheet_at
from prunecli.runtime import Runtime, outside
from prunecli.tools.asking import Inquiry, Reply
from prunecli.util.errors import ToolError
from prunecli.util.sanitize import one_line

Chosen: TypeAlias = str | None
"""The id of the chosen option; None if the editor withdrew the question."""

WHOLE_DIFF = 100_000
"""Maximum characters of a file that is shown whole around a change."""
NO_ANSWER = "the editor did not answer the question"
_PLAN_KINDS: dict[str, PermissionOptionKind] = {
    "edits": "allow_always",
    "ask": "allow_once",
    "no": "reject_once",
}
_KINDS: dict[AnswerKind, PermissionOptionKind] = {
    "once": "allow_once",
    "always": "allow_always",
    "project": "allow_always",
    "deny": "reject_once",
}


class Questions:
    def __init__(self, runtime: Runtime, client: Client, feed: Feed, updates: Updates) -> None:
        self._runtime = runtime
        self._client = client
        self._feed = feed
        self._updates = updates
        self._number = count(1)

    async def permit(self, asked: Asked) -> Answer:
        """Ask whether a call may run. If the editor withdraws the question, the run stops."""
        sheet = await asyncio.to_thread(sheet_at, asked, self._runtime.setup.cwd)
        content = await asyncio.to_thread(self._content, asked, sheet)
        view = self._updates.calls.view(asked.call.name, asked.call.input, asked.touches)
        call = ToolCallUpdate(
            tool_call_id=f"task-{asked.call.id}" if asked.who else self._updates.id_of(asked.call.id),
            title=f"{one_line(asked.who)}: {view.title}" if asked.who else view.title,
            kind=view.kind,
            status="pending",
            content=content,
            locations=list(view.locations),
            raw_input=dict(asked.call.input),
        )
        try:
            answer = await self._ask(call, _options(sheet))
        except (RequestError, ValidationError, ConnectionError) as error:
            return Answer("deny", f"{NO_ANSWER}: {one_line(str(error))}")
        if asked.who:
            self._close(call, done=answer not in (None, "deny"))
        if answer is None:
            self._runtime.interrupt()
        return Answer(next((kind for kind in _KINDS if kind == answer), "deny"))

    async def plan(self, plan: str) -> Literal["ask", "edits", "no"]:
        options = [
            PermissionOption(option_id=mode, name=name, kind=_PLAN_KINDS[mode]) for mode, name in ANSWERS
        ]
        answer = await self._question(
            "Carry out this plan?", [text_content(shown(plan))], options, "switch_mode"
        )
        return next((mode for mode, _ in ANSWERS if mode == answer), "no")

    async def inquire(self, inquiry: Inquiry) -> Reply:
        """Ask the model's question. The user can choose one option; typed text becomes a steering prompt."""
        labels = [
            f"{option.label}: {option.description}" if option.description else option.label
            for option in inquiry.options
        ]
        asks = f"{inquiry.who}: " if inquiry.who else ""
        row = await self.pick(f"{asks}{inquiry.question}", escaped(inquiry.question), labels, "Don't answer")
        return Reply(() if row is None else (row,))

    async def pick(self, title: str, about: str, labels: Sequence[str], refusal: str) -> int | None:
        """Ask for one of several answers and return its number; None if there was no answer. `about` is Markdown."""
        options = [
            PermissionOption(option_id=str(at), name=one_line(label), kind="allow_once")
            for at, label in enumerate(labels)
        ]
        options.append(PermissionOption(option_id="none", name=refusal, kind="reject_once"))
        content = [text_content(about)] if about else []
        answer = await self._question(one_line(title), [*content], options, "other")
        return next((at for at in range(len(labels)) if str(at) == answer), None)

    async def choose(self, choose: Choose) -> str:
        """Ask for a choice and return its value, "" for none. For a grave choice, the last option is the safe one and
        applies if there is no answer."""
        last = len(choose.choices) - 1
        options = [
            PermissionOption(
                option_id=str(at),
                name=one_line(f"{one.label}: {one.detail}" if one.detail else one.label),
                kind=("reject_once" if at == last else "allow_always") if choose.grave else "allow_once",
            )
            for at, one in enumerate(choose.choices)
        ]
        if not choose.grave:
            options.append(PermissionOption(option_id="cancel", name="Cancel", kind="reject_once"))
        about = [text_content("  \n".join(map(escaped, choose.about.split("\n"))))] if choose.about else []
        answer = await self._question(one_line(choose.title), [*about], options, "other")
        picked = [one.value for at, one in enumerate(choose.choices) if str(at) == answer]
        return picked[0] if picked else choose.choices[last].value if choose.grave else ""

    async def _question(
        self, title: str, content: Content, options: Sequence[PermissionOption], kind: ToolKind
    ) -> Chosen:
        call = ToolCallUpdate(
            tool_call_id=f"question-{next(self._number)}",
            title=title,
            kind=kind,
            status="pending",
            content=content,
        )
        answer: Chosen = None
        try:
            answer = await self._ask(call, options)
        except (RequestError, ValidationError, ConnectionError):
            pass  # nobody answered
        picked = next((option for option in options if option.option_id == answer), None)
        self._close(call, done=picked is not None and not picked.kind.startswith("reject"))
        return answer

    async def _ask(self, call: ToolCallUpdate, options: Sequence[PermissionOption]) -> Chosen:
        """Ask once all earlier updates are sent. Raises RequestError, ValidationError, ConnectionError."""
        await self._feed.sent()
        session = self._runtime.session.id
        answer = await self._client.request_permission(
            session_id=session, tool_call=call, options=list(options)
        )
        return answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None

    def _close(self, call: ToolCallUpdate, *, done: bool) -> None:
        self._feed.tell(self._updates.closed(call.tool_call_id, done=done))

    def _content(self, asked: Asked, sheet: Sheet) -> Content:
        """Return the change, or the command with its settings, and the reason for asking. Reads a file."""
        about = [escaped(f"Asked because: {sheet.reason}")] if sheet.reason else []
        about += [escaped(sheet.wall)] if sheet.wall else []
        if sheet.diff is not None and (change := self._change(asked)) is not None:
            about = [escaped(sheet.beside), *about] if sheet.beside else about
            return [*change, text_content("  \n".join(about))] if about else change
        parts = [fenced(sheet.text)] if sheet.text else []
        parts += [escaped(sheet.beside)] if sheet.beside else []
        for one in sheet.changes:
            parts.append(escaped("  ".join(filter(None, (one.verb, one.path, one.outcome)))))
            parts += [fenced(one.diff.text)] if one.diff else []
        return [text_content("\n\n".join([escaped(sheet.title), *parts, *about]))]

    def _change(self, asked: Asked) -> Content | None:
        """Return the change with its whole file, or the change alone if the file is large."""
        given, calls = asked.call.input, self._updates.calls
        path, content = str(given.get("path")), given.get("content")
        before = outside.read_text(path, self._runtime.setup.cwd)
        small = before is None or len(before) <= WHOLE_DIFF
        if isinstance(content, str):
            return [calls.diff(path, before, content)] if small else None
        old, new = given.get("old_string"), given.get("new_string")
        if not isinstance(old, str) or not isinstance(new, str):
            return None
        try:
            if before is None or not small:
                return [calls.diff(path, old, new)]
            after = edited(before, old, new, everywhere=bool(given.get("replace_all")))
        except ToolError:
            return [calls.diff(path, old, new)]
        return [calls.diff(path, before, after)]


def _options(sheet: Sheet) -> list[PermissionOption]:
    yes, no = ("Allow once", "Reject") if sheet.yes == YES else (sheet.yes, "No")
    names: list[tuple[AnswerKind, str]] = [("once", yes), ("deny", no)]
    if sheet.rule:
        what = f"{sheet.rule} ({sheet.covers})" if sheet.covers else sheet.rule
        names.insert(1, ("always", f"Allow for this session: {what}"))
        # last: clients number them, and 3 is No
        names.append(("project", f"Always allow in this folder: {what}"))
    return [PermissionOption(option_id=kind, name=name, kind=_KINDS[kind]) for kind, name in names]
