"""Questions from MCP servers to the user (elicitation), in the editor.

An editor that supports forms and pages shows them itself. Other editors get permission requests, which have options
but no text: one for a page, and one for each field if all fields are choices. Other forms are declined with a notice.
"""

import math
from uuid import uuid4

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationUrlSessionMode,
)
from pydantic import AnyUrl, ValidationError

from prunecli.features.acp.feed import Feed
from prunecli.features.acp.questions import Questions
from prunecli.features.acp.texts import escaped, noticed
from prunecli.model.messages import Json
from prunecli.runtime.forms import Elicitation, Field, Reply
from prunecli.util.sanitize import one_line

DECLINE = "Decline"
LEAVE_OUT = "Leave it out"
NO_FORM = "The MCP server {} asked for text. This editor has no field for it, so the question was declined."
NOT_VALID = "The answer for the MCP server {} was not sent: {}: {}."
_CHOICES = {"boolean": (("yes", "Yes"), ("no", "No"))}


class Eliciting:
    """The questions of one session's servers to the user of one editor. `able` tells what the editor can show."""

    def __init__(
        self, session: str, client: Client, feed: Feed, questions: Questions, able: ElicitationCapabilities
    ) -> None:
        self._session = session
        self._client = client
        self._feed = feed
        self._questions = questions
        self._able = able

    async def ask(self, asked: Elicitation) -> Reply:
        if self._able.url if asked.url else self._able.form:
            return await self._shown(asked)
        if all(field.kind in ("choice", "boolean") for field in asked.fields):
            return await self._in_options(asked)
        self._feed.tell(noticed(NO_FORM.format(one_line(asked.server))))
        return Reply("decline")

    async def _shown(self, asked: Elicitation) -> Reply:
        mode: ElicitationFormSessionMode | ElicitationUrlSessionMode
        if asked.url:
            mode = ElicitationUrlSessionMode(
                session_id=self._session, elicitation_id=uuid4().hex, url=AnyUrl(asked.url)
            )
        else:
            schema = ElicitationSchema.model_validate(_schema(asked))
            mode = ElicitationFormSessionMode(session_id=self._session, requested_schema=schema)
        await self._feed.sent()
        try:
            answer = await self._client.create_elicitation(_title(asked, asked.message), mode)
        except (RequestError, ValidationError, ConnectionError):
            return Reply("cancel")
        if not isinstance(answer, AcceptElicitationResponse):
            return Reply("decline" if answer.action == "decline" else "cancel")
        return self._checked(asked, answer.content or {})

    def _checked(self, asked: Elicitation, content: dict[str, Json]) -> Reply:
        values: dict[str, Json] = {}
        for field in asked.fields:
            given = content.get(field.name)
            try:
                if given is not None:
                    values[field.name] = field.checked(given)
                elif field.required:
                    raise ValueError("an answer is required")
            except ValueError as error:
                said = NOT_VALID.format(one_line(asked.server), field.title, error)
                self._feed.tell(noticed(said))
                return Reply("cancel")
        return Reply("accept", values)

    async def _in_options(self, asked: Elicitation) -> Reply:
        about = "  \n".join(map(escaped, filter(None, (*asked.message.split("\n"), asked.url))))
        if not asked.fields:
            yes = "Done, the page is open" if asked.url else "Yes"
            agreed = await self._questions.pick(_title(asked), about, [yes], DECLINE)
            return Reply("decline" if agreed is None else "accept")
        values: dict[str, Json] = {}
        for field in asked.fields:
            choices = field.choices or _CHOICES["boolean"]
            labels = [label for _, label in choices] + ([] if field.required else [LEAVE_OUT])
            title = _title(asked, field.title)
            shown = f"{about}  \n{escaped(field.about)}" if field.about else about
            row = await self._questions.pick(title, shown, labels, DECLINE)
            if row is None:
                return Reply("decline")
            if row < len(choices):
                values[field.name] = field.value(choices[row][0])
        return Reply("accept", values)


def _title(asked: Elicitation, what: str = "") -> str:
    return f"The MCP server {one_line(asked.server)} asks{f': {what}' if what else ''}"


def _schema(asked: Elicitation) -> dict[str, Json]:
    """Return the form in the protocol's terms, made from the parsed form of the server."""
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in asked.fields},
        "required": [field.name for field in asked.fields if field.required],
    }


def _property(field: Field) -> dict[str, Json]:
    options: list[Json] = [{"const": value, "title": label} for value, label in field.choices]
    found: dict[str, Json] = {"title": field.title}
    if field.about:
        found["description"] = field.about
    match field.kind:
        case "boolean":
            found["type"] = "boolean"
        case "choice":
            found |= {"type": "string", "oneOf": options}
        case "choices":
            found |= {"type": "array", "items": {"anyOf": options}}
        case "text":
            found |= {"type": "string", **_limits(field, "minLength", "maxLength", whole=True)}
        case "number" | "integer":
            whole = field.kind == "integer"
            found |= {"type": field.kind, **_limits(field, "minimum", "maximum", whole=whole)}
    return found


def _limits(field: Field, least: str, most: str, *, whole: bool) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if field.least is not None:
        found[least] = math.ceil(field.least) if whole else field.least
    if field.most is not None:
        found[most] = math.floor(field.most) if whole else field.most
    return found
