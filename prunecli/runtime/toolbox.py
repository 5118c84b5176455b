"""The model's tools by enabled name (`prun` and `mcp` are two tools each), the context they run in, and the summaries
of their calls."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.agent.command_env import ReadingEnvironment
from prunecli.config.effective import Config
from prunecli.errors import ConfigError, ToolError
from prunecli.model.messages import Json
from prunecli.model.requests import JOBS, PREAMBLE, takes
from prunecli.model.touches import named
from prunecli.runtime import session_state as standing
from prunecli.runtime.choices import Choices
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.tools.bash import Bash, ConfinedBash, ConfinedMovableBash, MovableBash
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.inputs import parse
from prunecli.tools.processes.confinement import Confine
from prunecli.tools.processes.moving import JobControl
from prunecli.tools.registry import PAIRS, load
from prunecli.tools.tool import FilesSeen, Pages, Servers, Tool, ToolContext, ToolLimits, touches_of

if TYPE_CHECKING:
    from prunecli.runtime.subagents import Subagents
    from prunecli.tools.ask import AskUser
    from prunecli.tools.web.access import Web


def web_of(config: Config, environ: Mapping[str, str]) -> "Web":
    """Return the settings of web_fetch: the user's private hosts, and the provider's proxy and certificates."""
    from prunecli.tools.web.access import Web  # deferred, since startup does not need it

    def route(url: str) -> tuple[str, str]:
        from prunecli.providers.network import route  # deferred: only a fetch needs it

        found = route(url, environ)
        return found.proxy, found.ca_file

    return Web(config.tools.web.private, route)


def load_tools(enabled: Iterable[str], sandboxed: bool = False) -> dict[str, Tool]:
    """Load tools by name, in the order given. `sandboxed`: bash can ask to run outside. With the tool `jobs`, its
    commands can move to the background. Raises ConfigError for an unknown name."""
    tools: dict[str, Tool] = {}
    names = tuple(enabled)
    for name in names:
        for one in PAIRS.get(name, (name,)):
            try:
                tool = load(one)
            except ToolError as error:
                raise ConfigError(f"tools.enabled: {error}") from error
            tools[tool.name] = _bash(sandboxed, JOBS in names) if isinstance(tool, Bash) else tool
    return tools


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


def _pages(session: Session, choices: Choices) -> Pages | None:
    """Return the pages of recall; None in a session whose tool schema for recall has no lines."""
    if choices.expectations is None or not takes(session.context.settings.get(PREAMBLE), "recall", "lines"):
        return None
    return Pages(session.context.counts.counter.count, choices.expectations.page)


def tool_context(
    setup: Setup,
    session: Session,
    seen: FilesSeen,
    choices: Callable[[], Choices],
    tasks: "Subagents",
    *,
    approved: bool,
    reads: bool,
    confine: Confine,
    servers: Servers | None = None,
    jobs: JobControl | None = None,
    ask: "AskUser | None" = None,
) -> ToolContext:
    """Return the context of the next tool call. `approved`: the user approved this call; `reads`: it only reads.

    In a small window, one output takes a quarter of it at most (a byte for each token); otherwise a single result
    might never fit into a request.
    """
    now = choices()
    tools, window = now.config.tools, now.window
    env = setup.approved_env if approved else setup.child_env
    return ToolContext(
        setup.cwd,
        setup.cwd,
        ReadingEnvironment(env, setup.cwd, *setup.added.paths) if reads else env,
        seen,
        ToolLimits(min(tools.max_output_bytes, window), tools.bash_timeout),
        plan_prun=lambda tokens, memo: choices().policy_at(None).plan(session.context, tokens, memo),
        recall=lambda seq: standing.original(session.context, seq),
        pages=_pages(session, now),
        confine=confine,
        approved=approved,
        servers=servers,
        run_task=tasks.run,
        recall_of=tasks.original,
        jobs=jobs,
        added=setup.added.paths,
        media=now.media,
        ask=ask,
        web=web_of(now.config, setup.environ),
    )
