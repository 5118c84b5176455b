"""Sessions of other agents, listed and continued here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.subcommand(
        "sessions import",
        "prunecli.features.import_sessions.subcommand:app",
        "Import sessions from Claude Code, pi, Codex, OpenCode, Gemini CLI, agent-session/1 or messages files.",
    )
