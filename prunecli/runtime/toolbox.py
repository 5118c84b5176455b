"""Which tools the model gets (the enabled names, with `prun` standing for both of its calls), with what they may use,
and how their calls are shown."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prunecli.agent.command_env import reading_environment
from prunecli.errors import ConfigError, ToolError
from prunecli.model.messages import Json
from prunecli.model.touches import named
from prunecli.runtime import session_state as standing
from prunecli.runtime.choices import Choices
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.registry import load
from prunecli.tools.tool import FilesSeen, Tool, ToolContext, ToolLimits, parse, touches_of


def load_tools(enabled: Iterable[str]) -> dict[str, Tool]:
    """Load tools by name, in the order given. Raises ConfigError for an unknown name."""
    tools: dict[str, Tool] = {}
    for name in enabled:
        for one in ("prun", "prun_with_memo") if name == "prun" else (name,):
            try:
                tool = load(one)
            except ToolError as error:
                raise ConfigError(f"tools.enabled: {error}") from error
            tools[tool.name] = tool
    return tools


def summaries(tools: Mapping[str, Tool], cwd: Path) -> Callable[[str, Mapping[str, Json]], str]:
    """What a call's line says, by the tool's name and the input; "" for a tool that is not there. A path below the
    working directory is shown relative to it."""

    def summary(name: str, given: Mapping[str, Json]) -> str:
        tool = tools.get(name)
        if tool is None:
            return ""
        paths = _paths(tool, given)
        return tool.summary(
            {key: seen_from(value, cwd) if value in paths else value for key, value in given.items()}
        )

    return summary


def _paths(tool: Tool, given: Mapping[str, Json]) -> tuple[str, ...]:
    """The paths that a call touches, including calls imported from other agents."""
    try:
        touches = touches_of(tool, parse(tool.Input, given))
    except ToolError:
        touches = named(tool.name, given)
    return (*touches.reads, *touches.changes, *touches.searches) if touches else ()


def tool_context(
    setup: Setup,
    session: Session,
    seen: FilesSeen,
    choices: Callable[[], Choices],
    *,
    approved: bool,
    reads: bool,
) -> ToolContext:
    """What tools may use now: `approved` by the user for this very call, or because it only `reads`.

    One output takes a quarter of a small window at most (a byte for each of its tokens), or a single result could
    never be sent.
    """
    tools, window = choices().config.tools, choices().window
    env = setup.approved_env if approved else setup.child_env
    return ToolContext(
        setup.cwd,
        setup.cwd,
        reading_environment(env, setup.cwd) if reads else env,
        seen,
        ToolLimits(min(tools.max_output_bytes, window), tools.bash_timeout),
        plan_prun=lambda tokens, memo: choices().policy.plan(session.context, tokens, memo),
        recall=lambda seq: standing.original(session.context, seq),
        approved=approved,
    )
