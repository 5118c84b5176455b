"""The model's tools by enabled name (`prun` and `mcp` are two tools each), the context they run in, and the summaries
of their calls."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.context.inputs import long_texts
from prunecli.context.prun import listed
from prunecli.context.state import Context
from prunecli.model.messages import Block, Json, Text
from prunecli.model.requests import JOBS, PREAMBLE, takes
from prunecli.model.touches import named
from prunecli.plugins.app import Installed, resolved
from prunecli.plugins.features import features
from prunecli.runtime.choices import Choices
from prunecli.safety.command_env import ReadingEnvironment
from prunecli.tools.bash import Bash, ConfinedBash, ConfinedMovableBash, MovableBash
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.inputs import parse
from prunecli.tools.registry import canonical, load, off_switches, switches
from prunecli.tools.registry import names as all_names
from prunecli.tools.tool import Pages, Tool, ToolContext, ToolLimits, touches_of
from prunecli.util.errors import ConfigError, ToolError

if TYPE_CHECKING:
    from prunecli.runtime.host import Host


def load_tools(
    enabled: Iterable[str], sandboxed: bool = False, installed: Installed | None = None
) -> dict[str, Tool]:
    """Load tools by name, in the order given, without those of a feature or plugin that is switched off. `sandboxed`:
    bash can ask to run outside. With the tool `jobs`, its commands can move to the background. Raises ConfigError for
    an unknown name, unless it may belong to a plugin that is off."""
    tools: dict[str, Tool] = {}
    installed = installed or features()
    known, off = switches(installed), off_switches(installed)
    names = tuple(name for name in enabled if canonical(name) not in off)
    if installed.absent:  # unknown tools may belong to a plugin that is off
        every = {*known, *all_names(installed)}
        names = tuple(name for name in names if canonical(name) in every)
    for name in names:
        for one in known.get(canonical(name), (name,)):
            try:
                tool = load(one, installed)
            except ToolError as error:
                raise ConfigError(f"tools.enabled: {error}") from error
            tools[tool.name] = _bash(sandboxed, JOBS in names) if isinstance(tool, Bash) else tool
    return tools


def fit_tools(host: "Host") -> Mapping[str, Tool]:
    """Give a session the tools that it has because of the model that it began with, and take those of the last one.

    Return all its tools."""
    began, model = host.session.context.tool_names, host.choices.model.name
    for name, one in host.config.installed.of("tool").items():
        if (suits := resolved(one.facts["suits"])) is None or name in host.config.tools.enabled:
            continue
        host.tools.pop(name, None)
        if "edit" in host.tools and (name in began if began is not None else suits(model)):
            host.tools[name] = load(name, host.config.installed)
    return host.tools


def _bash(sandboxed: bool, movable: bool) -> Bash:
    if sandboxed:
        return ConfinedMovableBash() if movable else ConfinedBash()
    return MovableBash() if movable else Bash()


def summaries(tools: Mapping[str, Tool], cwd: Path) -> Callable[[str, Mapping[str, Json]], str]:
    """Return a function that summarizes a call by tool name and input; "" for an unknown tool. Paths below the
    working directory are shown relative to it."""
    base = str(cwd).rstrip("/")

    def summary(name: str, given: Mapping[str, Json]) -> str:
        tool = tools.get(name)
        if tool is None:
            return ""
        inside = [value for value in given.values() if isinstance(value, str) and value.startswith(base)]
        paths = _paths(tool, given) if inside else ()
        if not paths:
            return tool.summary(given)
        return tool.summary(
            {key: seen_from(value, cwd) if value in paths else value for key, value in given.items()}
        )

    return summary


def _paths(tool: Tool, given: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the paths that a call touches, including calls imported from other agents."""
    try:
        touches = touches_of(tool, parse(tool.Input, given))
    except ToolError:
        touches = named(tool.name, given)
    return (*touches.reads, *touches.changes, *touches.searches) if touches else ()


def _pages(host: "Host", choices: Choices) -> Pages | None:
    """Return the pages of recall; None in a session whose tool schema for recall has no lines."""
    context = host.session.context
    if choices.expectations is None or not takes(context.settings.get(PREAMBLE), "recall", "lines"):
        return None
    return Pages(context.counts.counter.count, choices.expectations.page)


def tool_context(host: "Host", *, approved: bool, granted: bool, reads: bool) -> ToolContext:
    """Return the context of the next tool call; the last three are those of `Executor.context`.

    In a small window, one output takes a quarter of it at most (a byte for each token); otherwise a single result
    might never fit into a request.
    """
    setup, context, now = host.setup, host.session.context, host.choices
    tools = now.config.tools
    env = setup.approved_env if approved else setup.child_env
    return ToolContext(
        setup.cwd,
        setup.cwd,
        ReadingEnvironment(env, setup.cwd, *setup.added.paths) if reads else env,
        host.files_seen,
        ToolLimits(min(tools.max_output_bytes, now.window), tools.bash_timeout),
        plan_prun=lambda wanted, memo: host.choices.policy_at(None).plan(context, wanted, memo),
        prunable=lambda: listed(host.choices.policy_at(None).view(context)),
        recall=lambda seq: original(context, seq),
        raw=lambda seq: _raw(host, seq),
        inputs=lambda seq: inputs(context, seq),
        pages=_pages(host, now),
        confine=host.sandbox.confine(granted=granted, reads=reads),
        approved=approved,
        parts=host.parts.for_tools(),
        added=setup.added.paths,
        media=now.media,
        ask=host.inquiries.ask,
    )


def _raw(host: "Host", seq: int) -> str:
    entry = host.session.context.entries.get(seq)
    return host.session.kept_text(entry.details.get("raw")) if entry else ""


def inputs(context: Context, seq: int) -> tuple[Block, ...]:
    """Return the long texts in the inputs of an answer's calls, or of a result's call, each below its name.

    Both are one block, since a block of blanks is not sent."""
    entry = context.entries.get(seq)
    calls = (
        (entry.call,) if entry and entry.call else entry.exchange.calls if entry and entry.exchange else ()
    )
    return tuple(
        Text(f"[{text.what} of {call.name}]\n{text.text}") for call in calls for text in long_texts(call)
    )


def original(context: Context, seq: int) -> tuple[Block, ...]:
    """Return the original content of an entry. Raises ToolError for user messages and unknown entries."""
    entry = context.entries.get(seq)
    if entry is None or entry.kind not in ("result", "command", "assistant"):
        raise ToolError(f"There is no tool result or answer numbered {seq}")
    return entry.content if entry.is_attached else tuple(getattr(entry.event, "content", ()))
