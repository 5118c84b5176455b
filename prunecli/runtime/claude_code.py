"""Claude Code's names of the tools, which hooks and definitions of subagents and commands may use."""

from collections.abc import Mapping

TOOLS: Mapping[str, str] = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "grep": "Grep",
    "find": "Glob",
    "ls": "LS",
    "task": "Task",
    "todo": "TodoWrite",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
}
"""prunecli's tools in Claude Code's spelling. All others keep their names."""

OURS: Mapping[str, str] = {
    **{theirs: ours for ours, theirs in TOOLS.items()},
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Agent": "task",
}
"""The reverse, plus tools of Claude Code that prunecli replaces with its own."""
