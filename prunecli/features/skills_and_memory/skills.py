"""The skills of a runtime, and the notices about them to the model."""

from collections.abc import Callable, Sequence

from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.config.claude_plugins import usable
from prunecli.features.skills_and_memory.skill_files import MARKER, Skill, listing, news, skill_of, told
from prunecli.model.events import UserMessage
from prunecli.model.notes import notice, notice_parts
from prunecli.model.requests import PREAMBLE, system_texts
from prunecli.runtime.definition_folders import Shelf, Shelved, folders
from prunecli.runtime.setup import Setup
from prunecli.safety.project_settings import down_to
from prunecli.session.session import Session
from prunecli.util.sanitize import one_line

TITLE = "skills"


class Skills:
    """The available skills. `looked` is False until their folders have been read, which startup does not need."""

    def __init__(self, setup: Setup, session: Callable[[], Session], gatekeeper: SessionGatekeeper) -> None:
        self._setup = setup
        self._session = session
        self._gatekeeper = gatekeeper
        self._shelf = Shelf(skill_of, MARKER)
        self._shelved: Shelved[Skill] = Shelved()
        self._answered: tuple[object, ...] = ()
        self.looked = False
        self.by_name: dict[str, Skill] = {}
        self.problems: tuple[str, ...] = ()

    def look(self) -> None:
        """Check the folders again. Files are read only if they are new or changed."""
        cwd, places = self._setup.cwd, self._setup.places
        project = down_to(cwd) if self._gatekeeper.trusted else ()
        plugins = usable(places, self._setup.config.plugins.disabled)
        shelved = self._shelf.look(folders("skills", project, places.config, places.home, plugins))
        if shelved is not self._shelved or not self.looked:
            self._use(shelved)
        self.looked = True

    def _use(self, shelved: Shelved[Skill]) -> None:
        by_name: dict[str, Skill] = {}
        hidden = []
        for skill in shelved.definitions:
            first = by_name.setdefault(skill.name, skill)
            if first is not skill and first.path.resolve() != skill.path.resolve():
                hidden.append(f"{one_line(str(skill.path))}: {one_line(str(first.path))} has the same name")
        self._shelved, self.by_name, self.problems = shelved, by_name, (*shelved.problems, *hidden)
        self._gatekeeper.readable = tuple(str(skill.folder.resolve()) for skill in by_name.values())

    def listing(self) -> str:
        if not self.looked:
            self.look()
        return listing(list(self.by_name.values()), self.count)

    def count(self, text: str) -> int:
        return self._session().context.counts.counter.count(text)

    def due(self) -> Sequence[UserMessage]:
        session = self._session()
        state = session, len(session.records), self._shelved
        if not self.looked or self._answered == state:
            return ()
        text = news(list(self.by_name.values()), self._told(session), self.count)
        if not text:
            self._answered = state
        return (notice(TITLE, text, kept=True),) if text else ()

    @staticmethod
    def _told(session: Session) -> dict[str, str]:
        system = system_texts(session.context.settings.get(PREAMBLE))
        texts = [text for text in system if text.startswith("<skills>")]
        for item in session.context.items:
            parts = notice_parts(item.event) if isinstance(item.event, UserMessage) else None
            if parts and parts[0] == TITLE:
                texts.append(parts[1])
        return told(texts)
