"""Asks a small model for a title after the first answer, in the background, and records it with what it cost."""

from typing import Annotated

from prunecli.model.codec import canonical
from prunecli.model.events import AttemptBilled, SettingChanged, UserMessage
from prunecli.model.messages import plain_text
from prunecli.model.notes import without_notes
from prunecli.model.requests import Preamble, Request, WireMessage
from prunecli.providers.provider import Response
from prunecli.runtime.background import Background
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.session.session import Session
from prunecli.session.titles import TITLE, TITLE_CHARS
from prunecli.util.by_project import Refused
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

INSTRUCTION = (
    "Name this coding session after its first prompt. Answer with at most six words and nothing else."
)
PROMPT_CHARS = 2_000
MAX_TOKENS = 200


@frozen
class Titles:
    """Titles of sessions, in lists and the window title."""

    model: Annotated[
        str,
        "A small model that titles sessions, such as haiku; empty: use the first words of the prompt.",
        Refused("it decides where prompts go, and what a run costs"),
    ] = ""


class Titling(Part):
    def __init__(self, host: Host, parent: "Titling | None") -> None:
        super().__init__(host, parent)
        self._work = Background(host.notices.append)
        self._asked: Session | None = None

    async def idle(self) -> None:
        session, wanted = self.host.session, self.host.config.section("titles").model
        if not wanted or self.host.who or session is self._asked or session.name:
            return
        self._asked = session
        if TITLE not in session.context.settings and (prompt := _first_prompt(session)):
            self._work.start(self._title(session, wanted, prompt))

    async def _title(self, session: Session, wanted: str, prompt: str) -> None:
        name = self.host.connections.info_of(wanted).name
        asked = WireMessage.of("user", (canonical({"type": "text", "text": prompt[:PROMPT_CHARS]}),), (-1,))
        request = Request(name, MAX_TOKENS, Preamble.of((INSTRUCTION,), ()), (asked,), cache_ttl=None)
        async for event in self.host.connections.of(name).stream(request):
            if isinstance(event, Response):
                session.emit(AttemptBilled(name, event.usage, "title"))
                title = one_line(" ".join(plain_text(event.content).split())).strip("\"'.")
                if title and not session.name:
                    session.emit(SettingChanged(TITLE, title[:TITLE_CHARS]))

    async def close(self) -> None:
        await self._work.close()


def _first_prompt(session: Session) -> str:
    events = (record.event for record in session.records)
    said = (event for event in events if isinstance(event, UserMessage) and event.origin == "prompt")
    return next((plain_text(without_notes(event.content)).strip() for event in said), "")
