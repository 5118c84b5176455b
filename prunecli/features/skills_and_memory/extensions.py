"""Extensions that people add as files: skills, commands, and instructions below the working directory.

Nothing is imported or read before the first prompt or the menu of commands. They never change a session's system
prompt or tools; notices tell the model of later changes.
"""

import asyncio
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

from prunecli.model.events import UserMessage
from prunecli.plugins.app import resolved
from prunecli.runtime.definition_folders import none_defined
from prunecli.runtime.parts import Part, Prompt

if TYPE_CHECKING:
    from prunecli.features.skills_and_memory.custom_commands import CustomCommands
    from prunecli.features.skills_and_memory.memories import Memories
    from prunecli.features.skills_and_memory.nested_instructions import NestedInstructions
    from prunecli.features.skills_and_memory.skill_files import Skill
    from prunecli.features.skills_and_memory.skills import Skills
    from prunecli.runtime.host import Host
    from prunecli.session.session import Session

SKILLS = "prunecli.features.skills_and_memory.skills:Skills"
CUSTOM_COMMANDS = "prunecli.features.skills_and_memory.custom_commands:CustomCommands"
NESTED_INSTRUCTIONS = "prunecli.features.skills_and_memory.nested_instructions:NestedInstructions"
MEMORIES = "prunecli.features.skills_and_memory.memories:Memories"
CALL = "prunecli.features.skills_and_memory.skills_command:call"
_SLOW = 0.01
"""Maximum seconds for checking all folders while the user types."""
_MOST_REUSED = 2.0
"""Maximum seconds for which a result is reused, so that a new file is soon offered even if the disk was stuck."""


class Extensions(Part):
    """The skills, command files and instructions of a host."""

    def __init__(self, host: "Host", parent: "Extensions | None") -> None:
        super().__init__(host, parent)
        self._host = host
        self._absent: Session | None = None
        self._offers: list[tuple[str, str]] = []
        self._offers_until = 0.0
        host.mailbox.news.append(self._due)

    @cached_property
    def skills(self) -> "Skills":
        made: type[Skills] = resolved(SKILLS)
        return made(self._host.setup, lambda: self._host.session, self._host.gatekeeper)

    @cached_property
    def commands(self) -> "CustomCommands":
        made: type[CustomCommands] = resolved(CUSTOM_COMMANDS)
        return made(self._host, self._skill)

    @cached_property
    def _nested(self) -> "NestedInstructions":
        made: type[NestedInstructions] = resolved(NESTED_INSTRUCTIONS)
        return made(self._host.setup, lambda: self._host.session, self._host.gatekeeper)

    @cached_property
    def memories(self) -> "Memories":
        made: type[Memories] = resolved(MEMORIES)
        return made(self._host)

    def _due(self) -> Sequence[UserMessage]:
        skills = () if self.absent else self.skills.due()
        exchanges = self._host.session.context.exchanges
        used = "_nested" in vars(self) or any(exchange.results for exchange in exchanges)
        nested = self._nested.due() if used else ()
        return (*skills, *nested)

    def system_texts(self) -> Sequence[str]:
        """Return the text about skills for a session's system prompt."""
        return () if self.absent else (self.skills.listing(),)

    @property
    def absent(self) -> bool:
        """Whether the session is new and has no skills: then their code is not imported yet."""
        return self._absent is self._host.session

    def _look_for_folders(self) -> None:
        self._absent = self._host.session if none_defined(self._host, "skills") else None

    def prompt(self, words: str) -> AbstractAsyncContextManager[Prompt] | None:
        return None if self._host.who else self._expanded(words)

    @asynccontextmanager
    async def _expanded(self, words: str) -> AsyncIterator[Prompt]:
        """Yield the prompt for a typed line: the prompt of the custom command or skill that it calls, else the line
        itself.

        Checks the folders again. Those of commands are checked only if a command may be called, because reading them
        takes a fifth of the time to the first request. A command's grants apply until the context ends.
        """
        self._look_for_folders()
        if self._host.mailbox.notices:
            self.memories.deliver()
        is_call = words.startswith("/")
        if is_call or not self.absent:
            self._host.parts.complain(
                await asyncio.to_thread(self.unusable if is_call else self._look_at_skills)
            )
        if not is_call:
            yield Prompt(words, words)
            return
        async with self.commands.called(words) as text:
            yield Prompt(text, self.commands.mentioning or text)

    def unusable(self) -> Sequence[str]:
        """Check all folders again. Returns a line for each unused file."""
        return (*self._look_at_skills(), *self.commands.look()[1])

    def _look_at_skills(self) -> Sequence[str]:
        self.skills.look()
        return self.skills.problems

    def hidden(self, words: Container[str]) -> tuple[str, ...]:
        """Return a line for each command file and skill that cannot be called because its name is one of these."""
        commands = (one for one in self.commands.look()[0].values() if one.owner != "prunecli")
        self.skills.look()
        skills = (one for one in self.skills.by_name.values() if one.for_user)
        lines = [self.commands.taken(one) for one in commands if one.name in words]
        return (*lines, *(self.commands.taken(skill) for skill in skills if skill.name in words))

    def command(self, word: str, arguments: str) -> Sequence[Any] | None:
        """Submit a typed custom command or skill as it stands: its prompt is made when it is submitted."""
        if not self.has(word):
            return None
        effects: Sequence[Any] = resolved(CALL)(self._host, f"/{word} {arguments}".strip())
        return effects

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
