"""/agents: the subagents, and the tasks of this session."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.commands.command import Copy, Effect, ShowScreen, Table
from prunecli.features.subagents.definitions import Definition
from prunecli.features.subagents.part import Tasks
from prunecli.features.subagents.task_records import number_of
from prunecli.front.presentation.entry_text import entry_lines, joined
from prunecli.front.presentation.presenter import present_all, presenter_of
from prunecli.model.requests import TASK
from prunecli.runtime import Runtime
from prunecli.runtime.preamble import recorded
from prunecli.tools.registry import not_enabled
from prunecli.util.errors import ToolError, UsageError

_HEADINGS = ("agent", "model", "tools", "from", "for")


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """List subagents and tasks; /agents open 3 shows a task's transcript."""
    word, _, rest = arguments.partition(" ")
    number = _number(runtime, rest.strip()) if word == "open" else None
    if number is not None:
        if not number:
            raise UsageError("this call started no task", "/agents lists the tasks")
        try:
            return [_shown(runtime, number)]
        except ToolError as error:
            raise UsageError(str(error), "/agents lists the tasks") from error
    if arguments:
        raise UsageError(f"/agents {arguments}: expected nothing or open NUMBER", "/agents lists the tasks")
    known, problems = runtime.parts.of(Tasks).subagents.definitions()
    rows = tuple(_row(runtime, one) for one in known.values())
    notes = [f"{one.name}: {note}" for one in known.values() for note in (*one.notes, *_absent(runtime, one))]
    tasks = runtime.parts.of(Tasks).subagents.lines()
    opening = ["/agents open NUMBER shows a task's transcript."] if tasks else []
    note = "\n".join([*_off(runtime), *notes, *problems, *tasks, *opening])
    return [Table("Subagents", _HEADINGS, rows, (), note)]


def _number(runtime: Runtime, words: str) -> int | None:
    """Return the number of a task named by its number or by `call ID`, 0 for a call that started none."""
    if words.startswith("call "):
        return number_of(runtime.session.records, words.removeprefix("call "))[0]
    return int(words[:9]) if words.isdecimal() else None


def _shown(runtime: Runtime, number: int) -> ShowScreen:
    """Return the effect that shows a task. Raises ToolError."""
    session = runtime.parts.of(Tasks).subagents.session_of(number)

    def lines() -> list[Effect]:
        entries = present_all(presenter_of(runtime, session.context), session.records)
        text = "\n".join(joined(entry_lines(entry, afterwards=True) for entry in entries))
        return [Copy(text, f"the transcript of task {number}")]

    return ShowScreen("prunecli.features.subagents.screen:TaskScreen", (runtime, number, session), lines)


def _row(runtime: Runtime, one: Definition) -> tuple[str, ...]:
    places, cwd = runtime.setup.places, runtime.setup.cwd
    origin = places.shown(Path(one.origin), cwd) if one.origin.startswith("/") else one.origin
    tools = "all" if one.tools is None else " ".join(one.tools) or "none"
    less = f" but {' '.join(one.without)}" if one.without else ""
    return (
        one.name,
        runtime.parts.of(Tasks).subagents.model_of(one),
        f"{tools}{less}",
        origin,
        one.description,
    )


def _absent(runtime: Runtime, one: Definition) -> list[str]:
    absent = not_enabled(one.tools or (), runtime.tools, runtime.config.installed)
    return [f"not enabled in [tools]: {', '.join(absent)}"] if absent else []


def _off(runtime: Runtime) -> list[str]:
    context = runtime.session.context
    if TASK not in runtime.tools:
        return ["The tool task is not enabled in [tools], so the model cannot use them."]
    began = recorded(context) is not None
    if began and TASK not in (context.tool_names or ()):
        return ["This session began without the tool task. /new to use it."]
    return []
