"""A project with hooks as people write them for Claude Code: its settings file and scripts run unchanged."""

import json
from pathlib import Path

VALIDATOR = """#!/usr/bin/env python3
import json
import re
import sys

RULES = [
    (r"^grep\\b(?!.*\\|)", "Use 'rg' (ripgrep) instead of 'grep'"),
    (r"^find\\s+\\S+\\s+-name\\b", "Use 'rg --files -g pattern' instead of 'find -name'"),
]

try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Error: invalid JSON: {error}", file=sys.stderr)
    sys.exit(1)
if data.get("tool_name", "") != "Bash":
    sys.exit(0)
command = data.get("tool_input", {}).get("command", "")
issues = [message for pattern, message in RULES if re.search(pattern, command)]
for message in issues:
    print(f"- {message}", file=sys.stderr)
sys.exit(2 if issues else 0)
"""

FORMATTER = """#!/bin/bash
FILE=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["tool_input"]["file_path"])')
case "$FILE" in
  *.py) echo "# formatted" >> "$FILE" ;;
esac
"""

KEEP_GOING = """#!/usr/bin/env python3
import json
import sys

if json.load(sys.stdin)["stop_hook_active"]:
    sys.exit(0)
print(json.dumps({"decision": "block", "reason": "Run the tests before you stop"}))
"""

PROTECT = (
    'python3 -c "import json, sys; data = json.load(sys.stdin); '
    "path = data.get('tool_input', {}).get('file_path', ''); "
    "sys.exit(2 if any(p in path for p in ['.env', 'package-lock.json', '.git/']) else 0)\""
)

SETTINGS = {
    "permissions": {"allow": ["Bash(npm test)"]},
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {
                        "type": "command",
                        "command": 'python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/bash_command_validator.py',
                    }
                ],
            },
            {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": PROTECT}]},
        ],
        "PostToolUse": [
            {
                "matcher": "Edit|MultiEdit|Write",
                "hooks": [
                    {
                        "type": "command",
                        "command": '"$CLAUDE_PROJECT_DIR"/.claude/hooks/format.sh',
                        "timeout": 30,
                    }
                ],
            }
        ],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo 'Current sprint: parser'"}]}],
        "Stop": [
            {"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/keep_going.py"}]}
        ],
    },
}


def write(project: Path) -> None:
    """Write the settings and the scripts into a project."""
    folder = project / ".claude" / "hooks"
    folder.mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(json.dumps(SETTINGS, indent=2))
    for name, text in (
        ("bash_command_validator.py", VALIDATOR),
        ("format.sh", FORMATTER),
        ("keep_going.py", KEEP_GOING),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
