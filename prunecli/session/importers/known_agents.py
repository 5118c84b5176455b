"""The agents whose sessions can be read, and where they keep them. Imports little, because it delays startup."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from prunecli.util.errors import UsageError
from prunecli.util.paths import Places, absolute

ENDS = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst")
"""The suffixes of session files."""
PACKED = ".zst"
"""The suffix of files that Codex packed. It keeps the original's name, and removes the original afterwards."""


class Agent(NamedTuple):
    """Where an agent keeps its sessions: `folder` below the home folder, or `inner` below the folder that an
    environment variable names. `archive` is another folder beside that one."""

    title: str
    variable: str
    folder: str
    inner: str
    is_session: Callable[[Path], bool]
    archive: str = ""


def _is_of_subagent(path: Path) -> bool:
    """Return whether a file of Claude Code belongs to a subagent; earlier versions keep it beside the session's."""
    return path.parent.name == "subagents" or path.name.startswith("agent-")


KNOWN: Mapping[str, Agent] = {
    "claude": Agent(
        "Claude Code",
        "CLAUDE_CONFIG_DIR",
        ".claude/projects",
        "projects",
        lambda path: path.suffix == ".jsonl" and not _is_of_subagent(path),
    ),
    "codex": Agent(
        "Codex",
        "CODEX_HOME",
        ".codex/sessions",
        "sessions",
        lambda path: path.name.endswith((".jsonl", f".jsonl{PACKED}")),
        "archived_sessions",
    ),
    "pi": Agent(
        "pi", "PI_CODING_AGENT_DIR", ".pi/agent/sessions", "sessions", lambda path: path.suffix == ".jsonl"
    ),
    "gemini": Agent(
        "Gemini CLI",
        "GEMINI_CLI_HOME",
        ".gemini/tmp",
        ".gemini/tmp",
        lambda path: path.parent.name == "chats" and path.name.endswith(ENDS),
    ),
    "opencode": Agent("OpenCode", "XDG_DATA_HOME", ".local/share/opencode", "opencode", lambda _: False),
}
AGENTS = tuple(f"@{name}" for name in KNOWN)
"""The agents that can be named, such as @claude."""


def is_agent(wanted: str) -> bool:
    """Return whether this names an agent, with or without a session: `@claude`, `@codex:last`."""
    return wanted.partition(":")[0] in AGENTS


def agent_of(agent: str) -> tuple[str, Agent]:
    """Return the plain name of an agent such as `@claude`, and its row. Raises UsageError for an unknown agent."""
    name = agent.removeprefix("@")
    if name not in KNOWN:
        raise UsageError(f"no agent named {agent!r}", f"use {', '.join(AGENTS)}")
    return name, KNOWN[name]


def title_of(agent: str) -> str:
    """Return the display name of an agent such as `@claude`. Raises UsageError for an unknown agent."""
    return agent_of(agent)[1].title


def roots_of(agent: Agent, environ: Mapping[str, str]) -> tuple[Path, ...]:
    root = root_of(agent, environ)
    return (root, root.parent / agent.archive) if agent.archive else (root,)


def root_of(agent: Agent, environ: Mapping[str, str]) -> Path:
    """Return the folder that contains an agent's sessions, other than archived ones."""
    moved = absolute(environ.get(agent.variable))
    return moved / agent.inner if moved else Places.of(environ).home / agent.folder
