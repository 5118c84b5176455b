"""Extensions that people add as files: skills, commands, and instructions below the working directory.

Nothing is imported or read before the first prompt or the menu of commands. They never change a session's system
prompt or tools; notices tell the model of later changes.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from prunecli.model.events import UserMessage
from prunecli.model.notes import newest_notice, notice
from prunecli.model.requests import PREAMBLE
from prunecli.model.signals import Notice
from prunecli.model.todos import in_lines, is_open
from prunecli.safety.project_settings import down_to

if TYPE_CHECKING:
    from prunecli.features.skills_and_memory.custom_commands import CustomCommands
    from prunecli.features.skills_and_memory.memories import Memories
    from prunecli.features.skills_and_memory.nested_instructions import NestedInstructions
    from prunecli.features.skills_and_memory.skill_files import Skill
    from prunecli.features.skills_and_memory.skills import Skills
    from prunecli.features.subagents.subagents import Subagents
    from prunecli.runtime.host import Host
    from prunecli.session.session import Session

TODOS = "to-do list"
_MOST_LINES = 5
_SLOW = 0.01
"""Maximum seconds for checking all folders while the user types."""
_MOST_REUSED = 2.0
"""Maximum seconds for which a result is reused, so that a new file is soon offered even if the disk was stuck."""


class Extensions:
    """The extensions of a host. `news` returns their notices. `subagents` returns its subagents."""

    def __init__(self, host: "Host", subagents: "Callable[[], Subagents]") -> None:
        self._host = host
        self._subagents = subagents
        self._told = set[str]()
        self._absent: tuple[Session | None, frozenset[str]] = None, frozenset()
        self._offers: list[tuple[str, str]] = []
        self._offers_until = 0.0
        self.mentioning = ""
        """The part of the last prompt that may mention files."""
        host.mailbox.news.append(self._due)

    @cached_property
    def skills(self) -> "Skills":
        from prunecli.features.skills_and_memory.skills import Skills

        return Skills(self._host.setup, lambda: self._host.session, self._host.gatekeeper)

    @cached_property
    def commands(self) -> "CustomCommands":
        from prunecli.features.skills_and_memory.custom_commands import CustomCommands

        return CustomCommands(self._host, self._skill)

    @cached_property
    def _nested(self) -> "NestedInstructions":
        from prunecli.features.skills_and_memory.nested_instructions import NestedInstructions

        return NestedInstructions(self._host.setup, lambda: self._host.session, self._host.gatekeeper)

    @cached_property
    def memories(self) -> "Memories":
        from prunecli.features.skills_and_memory.memories import Memories

        return Memories(self._host)

    def _todos(self) -> Sequence[UserMessage]:
        """Return the unfinished to-do list if a compaction or an edit removed the call that contains it."""
        from prunecli.context.todo_list import is_sent, todos

        context = self._host.session.context
        found = todos(context)
        if not is_open(found) or is_sent(context):
            return ()
        text = "\n".join(in_lines(found, plain=True))
        known = newest_notice((item.event for item in reversed(context.items)), TODOS)
        return () if text == known else (notice(TODOS, text, kept=True),)

    def _due(self) -> Sequence[UserMessage]:
        skills = () if self.absent("skills") else self.skills.due()
        exchanges = self._host.session.context.exchanges
        used = "_nested" in vars(self) or any(one.results for one in exchanges)
        nested = self._nested.due() if used else ()
        todos = self._todos() if self._host.session.context.todo else ()
        agents = () if self.absent("agents") else self._subagents().due()
        return (*agents, *skills, *nested, *todos)

    def listings(self) -> tuple[str, ...]:
        """Return the texts about skills and subagents for a session's system prompt."""
        skills = () if self.absent("skills") else (self.skills.listing(),)
        return (*skills, *(() if self.absent("agents") else self._subagents().listed()))

    def absent(self, kind: str) -> bool:
        """Return whether the session is new and has no extensions of a kind ("skills", "agents").

        In that case, their imports are skipped, which would take a tenth of the time to the first request.
        """
        session, kinds = self._absent
        return session is self._host.session and kind in kinds

    def _look_for_folders(self) -> None:
        setup, places, session = self._host.setup, self._host.setup.places, self._host.session
        if PREAMBLE in session.context.settings:
            self._absent = None, frozenset()
            return
        project = down_to(setup.cwd) if self._host.gatekeeper.trusted else ()
        bases = [places.config, places.home / ".claude"]
        bases += [folder / hidden for folder in project for hidden in (".prunecli", ".claude")]
        kinds = ("skills", "agents")
        absent = (kind for kind in kinds if not any(os.path.lexists(base / kind) for base in bases))
        self._absent = session, frozenset(absent)

    @asynccontextmanager
    async def prompt(self, words: str) -> AsyncIterator[str]:
        """Yield the prompt for a typed line: the prompt of the custom command or skill that it calls, else the line
        itself.

        Checks the folders again. Those of commands are checked only if a command may be called, because reading them
        takes a fifth of the time to the first request. A command's grants apply until the context ends.
        """
        self._look_for_folders()
        self.mentioning = words
        if self._host.mailbox.notices:
            self.memories.deliver()
        is_call = words.startswith("/")
        if is_call or not (self.absent("skills") and self.absent("agents")):
            self._tell(await asyncio.to_thread(self.look if is_call else self._look))
        if not is_call:
            yield words
            return
        async with self.commands.called(words) as text:
            self.mentioning = self.commands.mentioning
            yield text

    def look(self) -> tuple[str, ...]:
        """Check all folders again. Returns a line for each unused file."""
        self.skills.look()
        return (*self.skills.problems, *self.commands.look()[1], *self._agents())

    def _look(self) -> tuple[str, ...]:
        """Do the same for the folders of what the model uses, if there are any."""
        if self.absent("skills"):
            return self._agents()
        self.skills.look()
        return (*self.skills.problems, *self._agents())

    def _agents(self) -> tuple[str, ...]:
        return () if self._host.who or self.absent("agents") else self._subagents().definitions()[1]

    def _tell(self, problems: Sequence[str]) -> None:
        new = [line for line in problems if line not in self._told]
        self._told.update(new)
        more = [f"{len(new) - _MOST_LINES} more files are not used: /skills lists them."] * (
            len(new) > _MOST_LINES
        )
        for line in (*new[:_MOST_LINES], *more):
            self._host.session.tell(Notice(line, "warning"))

    def named(self, words: Container[str]) -> tuple[str, ...]:
        """Return a line for each command file and skill that cannot be called because its name is one of these."""
        from prunecli.features.skills_and_memory.custom_commands import taken

        commands = (one for one in self.commands.look()[0].values() if one.owner != "prunecli")
        self.skills.look()
        skills = (one for one in self.skills.by_name.values() if one.for_user)
        lines = [taken(one) for one in commands if one.name in words]
        return (*lines, *(taken(one) for one in skills if one.name in words))

    def has(self, word: str) -> bool:
        """Return whether a word is the name of a custom command or of a skill that the user may call."""
        return self.commands.find(word) is not None or self._skill(word) is not None

    def offered(self) -> list[tuple[str, str]]:
        """Return the names of all custom commands and skills, each with a help line that ends with its origin.

        Each letter typed in the menu calls this, so a result that takes long is reused for a moment.
        """
        begun = monotonic()
        if begun < self._offers_until:
            return self._offers
        found = {
            name: f"{' · '.join(filter(None, [command.hint, command.help]))} ({command.owner})"
            for name, command in self.commands.look()[0].items()
        }
        self.skills.look()
        for name, skill in self.skills.by_name.items():
            if skill.for_user:
                found.setdefault(name, f"{skill.description} ({skill.owner} skill)")
        self._offers, took = sorted(found.items()), monotonic() - begun
        self._offers_until = begun + min(20 * took, _MOST_REUSED) if took > _SLOW else 0.0
        return self._offers

    def _skill(self, word: str) -> "Skill | None":
        if not self.skills.looked:
            self.skills.look()
        skill = self.skills.by_name.get(word)
        return skill if skill and skill.for_user else None
