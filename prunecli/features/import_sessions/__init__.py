"""Sessions of other agents, listed and continued here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


AGENTS = (
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("pi", "pi"),
    ("gemini", "Gemini CLI"),
    ("opencode", "OpenCode"),
)


def install(app: "App") -> None:
    for name, title in AGENTS:
        app.sessions(name, title, f"prunecli.features.import_sessions.agents:{name}")
    app.subcommand(
        "sessions import",
        "prunecli.features.import_sessions.subcommand:app",
        "Import sessions from Claude Code, pi, Codex, OpenCode, Gemini CLI, agent-session/1 or messages files.",
    )
