"""The features: one folder for each thing that a user can name, each installed through the door of plugins."""

ORDER = (
    *("replay", "inspector", "subagents", "skills_and_memory", "todo_and_ask", "jobs", "web", "mcp", "hooks"),
    *("attachments", "rewind", "money", "import_sessions", "export", "doctor", "acp", "plugin_list"),
)
"""The order of installation, which is the order of their tools in a request and of their subcommands in `--help`."""
