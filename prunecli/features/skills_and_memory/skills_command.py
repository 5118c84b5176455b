"""/skills: the available skills, their tokens, and the unused files of skills, commands and subagents."""

from collections.abc import Sequence

from prunecli.agent.front_matter import read
from prunecli.commands.command import WORKING, Effect, InThread, Say, Submit, Table, hidden, refuse
from prunecli.features.skills_and_memory.extensions import Extensions
from prunecli.features.skills_and_memory.skill_files import Skill
from prunecli.runtime import Runtime
from prunecli.runtime.host import Host
from prunecli.util.errors import ConfigError
from prunecli.util.figures import short

_NONE = "No skills. A skill is a folder with a SKILL.md in .prunecli/skills, .claude/skills, {} or ~/.claude/skills."


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """List the skills with their tokens, origin and problems."""
    refuse("skills", arguments.split())
    return [InThread("Reading the skills", lambda: _listed(runtime))]


def call(host: Host, line: str) -> Sequence[Effect]:
    """Submit the typed line that calls a skill or custom command: its prompt is made when it is submitted."""
    return [WORKING] if host.running else [Submit(line)]


def _listed(runtime: Runtime) -> Sequence[Effect]:
    skills, places = runtime.parts.of(Extensions).skills, runtime.setup.places
    problems = (*runtime.parts.unusable(), *hidden(runtime))
    said = [Say("\n".join(problems), "warning")] if problems else []
    if not skills.by_name:
        return [*said, Say(_NONE.format(places.shown(places.config / "skills")))]
    rows = tuple(
        (
            f"/{skill.name}" if skill.for_user else skill.name,
            short(skills.count(skill.description)) if skill.for_model else "–",
            _tokens(runtime, skill),
            places.shown(skill.folder, runtime.setup.cwd),
            skill.doubt or skill.description,
        )
        for skill in skills.by_name.values()
    )
    total = (
        short(skills.count(skills.listing()))
        if any(one.for_model for one in skills.by_name.values())
        else "0"
    )
    note = (
        "tokens: of a description; text: of a skill itself, read when used. "
        f"The whole list takes {total} in the system prompt."
    )
    return [*said, Table("Skills", ("skill", "tokens", "text", "folder", "description"), rows, (1, 2), note)]


def _tokens(runtime: Runtime, skill: Skill) -> str:
    try:
        return short(runtime.parts.of(Extensions).skills.count(read(skill.path).body))
    except ConfigError:
        return "?"
