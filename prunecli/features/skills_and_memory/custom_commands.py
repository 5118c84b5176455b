"""The custom commands of a runtime: finds them and turns a call into a prompt.

A command's shell commands are judged like the model's, one after the other, before the prompt is sent. Its
`allowed-tools`, and those of a skill that the user calls, are allow rules until the run of its prompt ends. They do
not override deny rules, ask rules, plan mode or missing trust.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from prunecli.agent.asking import Asked
from prunecli.config.claude_plugins import usable
from prunecli.context.impact import impact
from prunecli.features.skills_and_memory.command_files import CustomCommand, Shell, command_of
from prunecli.features.skills_and_memory.skill_files import Skill
from prunecli.model.events import SettingChanged
from prunecli.model.messages import Text, ToolUse
from prunecli.model.signals import Notice
from prunecli.providers.models import ALIASES
from prunecli.runtime.definition_folders import Folder, Shelf, folders
from prunecli.runtime.host import Host
from prunecli.safety.permissions.rules import parse_rule
from prunecli.safety.project_settings import down_to
from prunecli.tools.registry import not_enabled
from prunecli.tools.tool import bounded, bounded_output, touches_of
from prunecli.util.errors import ConfigError, PrunecliError, ToolError, UsageError
from prunecli.util.sanitize import one_line

MAX_OUTPUT = 30_000
"""Maximum bytes that one shell command adds to a prompt."""


class CustomCommands:
    """The commands of the user, the project and prunecli. prunecli's own commands always take precedence."""

    def __init__(self, host: Host, skill: Callable[[str], Skill | None]) -> None:
        self._host = host
        self._skill = skill
        self._shelf = Shelf(command_of)
        self._lent = set[tuple[Path | str, ...]]()
        self.mentioning = ""
        """The part of the last prompt that may mention files, without the output of commands and the text of a
        skill."""

    @staticmethod
    def taken(one: CustomCommand | Skill) -> str:
        """Return the warning that a command file or skill has the name of one of prunecli's own commands."""
        return f"{one_line(str(one.path))}: /{one.name} is prunecli's own command; rename this one to call it"

    def look(self) -> tuple[dict[str, CustomCommand], tuple[str, ...]]:
        """Return the commands by name, and a line for each unused file."""
        setup = self._host.setup
        project = down_to(setup.cwd) if self._host.gatekeeper.trusted else ()
        own = Folder(setup.places.shipped_data / "commands", "prunecli")
        where = setup.places.config, setup.places.home, usable(setup.places, setup.config.plugins.disabled)
        found = self._shelf.look((own, *folders("commands", project, *where)))
        by_name: dict[str, CustomCommand] = {}
        hidden = []
        for command in found.definitions:
            first = by_name.setdefault(command.name, command)
            if first is not command and first.owner == "prunecli":
                hidden.append(self.taken(command))
            elif first.path.resolve() != command.path.resolve():
                hidden.append(f"{one_line(str(command.path))}: {one_line(str(first.path))} has the same name")
        return by_name, (*found.problems, *hidden)

    def find(self, word: str) -> CustomCommand | None:
        return self.look()[0].get(word)

    @asynccontextmanager
    async def called(self, words: str) -> AsyncIterator[str]:
        """Yield the prompt for a line such as `/git:commit all`, or any other text unchanged. The command's grants
        apply until the context exits. Raises PrunecliError, ToolError."""
        word, _, arguments = words.strip().partition(" ")
        self.mentioning = words
        command = self.find(word[1:]) if word.startswith("/") else None
        if command is None:
            skill = self._skill(word[1:]) if word.startswith("/") else None
            if skill is None:
                yield words
                return
            with self._granted(skill):
                text, _ = await self._text(skill, arguments.strip())
                yield text or skill.prompt(arguments.strip())
            return
        with self._granted(command), self._model(command):
            text, self.mentioning = await self._text(command, arguments.strip())
            yield text

    def _say(self, text: str) -> None:
        self._host.session.tell(Notice(text, "warning"))

    @contextmanager
    def _granted(self, command: CustomCommand | Skill) -> Iterator[None]:
        keeper, rules, tools = self._host.gatekeeper, [], []
        for rule in command.rules:
            try:
                tools.append(parse_rule(rule).tool)
            except ConfigError as error:
                self._say(f"/{command.name}: allowed-tools: {one_line(error.message)}; it grants nothing.")
            else:
                rules.append(rule)
        known = self._host.tools, self._host.config.installed
        self._say_lent(command, [rule for rule in rules if not not_enabled([parse_rule(rule).tool], *known)])
        if absent := not_enabled(tools, *known):
            self._say(f"/{command.name}: allowed-tools: not enabled in [tools]: {', '.join(absent)}.")
        keeper.lent = tuple(rules)
        try:
            yield
        finally:
            keeper.lent = ()

    def _say_lent(self, command: CustomCommand | Skill, rules: Sequence[str]) -> None:
        """Tell the user once which rules a command of the project brings."""
        if rules and command.owner == "project" and (command.path, *rules) not in self._lent:
            self._lent.add((command.path, *rules))
            shown = one_line(", ".join(rules))
            self._say(
                f"/{command.name} of this project lets these run without asking until it is done: {shown}"
            )

    @contextmanager
    def _model(self, command: CustomCommand) -> Iterator[None]:
        """Use the command's model, unless that would lose thinking, which matters more than the file's preference."""
        runtime, before, wanted = self._host, self._host.model_name, command.model
        if wanted in ("", "inherit") or ALIASES.get(wanted.lower(), wanted) == before:
            yield
            return
        stays = f"/{command.name} asks for the model {one_line(wanted)}; {before} answers, because"
        change = SettingChanged("model.name", wanted)
        if lost := impact(runtime.session.context, [change], runtime.policy.market).thinking:
            self._say(f"{stays} another one {lost}. /model {one_line(wanted)} to change")
            yield
            return
        try:
            runtime.set_model(wanted)
        except PrunecliError as error:
            self._say(f"{stays} {one_line(error.message)}")
            yield
            return
        self._host.session.tell(Notice(f"{runtime.model_name} answers /{command.name}, then {before} again."))
        try:
            yield
        finally:
            runtime.set_model(before)

    async def _text(self, command: CustomCommand | Skill, arguments: str) -> tuple[str, str]:
        """Return the prompt, and the part of it that is not the output of commands."""
        parts, written = list[str](), list[str]()
        for piece in command.pieces(arguments):
            if isinstance(piece, Shell):
                parts.append(await self._output(command, piece))
            else:
                parts.append(piece)
                written.append(piece)
        return "".join(parts).strip(), "\n".join(written)

    async def _output(self, command: CustomCommand | Skill, shell: Shell) -> str:
        """Return the output of a shell command in a prompt. Raises UsageError if it may not run."""
        runtime = self._host
        tool = runtime.tools.get("bash")
        if tool is None:
            raise UsageError(
                f"/{command.name} runs a command, but bash is not enabled", "see [tools] enabled"
            )
        call = ToolUse(f"/{command.name}", tool.name, {"command": shell.command})
        given = tool.Input(command=shell.command)
        touches = touches_of(tool, given)
        verdict = runtime.gatekeeper.judge(tool.name, touches)
        approved = False
        if verdict.kind == "ask":
            answer = await runtime.gatekeeper.ask(Asked(call, touches, verdict.reason, verdict.rules))
            approved = answer.kind != "deny"
        if verdict.kind == "deny" or (verdict.kind == "ask" and not approved):
            why = verdict.reason if verdict.kind == "deny" or not answer.word else answer.word
            hint = "the prompt was not sent; `allowed-tools` in the file or an allow rule permits it"
            raise UsageError(f"/{command.name}: denied: {one_line(shell.command)} ({why})", hint)
        if verdict.may_change_files:
            await runtime.parts.before_change(call)
        context = runtime.tool_context(
            approved=approved, granted=approved or verdict.granted, reads=not verdict.may_change_files
        )
        try:
            output = bounded_output(await tool.run(given, context), MAX_OUTPUT)
        except ToolError as error:
            return bounded(str(error), MAX_OUTPUT)
        return "\n".join(block.text for block in output.content if isinstance(block, Text))
