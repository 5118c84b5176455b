"""What the command of the status line is given: Claude Code's documented fields, as far as they exist here."""

import re
from typing import Any

from prunecli import __version__
from prunecli.agent.system_prompt import style_in
from prunecli.model.events import AssistantMessage, ToolResult
from prunecli.model.messages import Usage
from prunecli.model.requests import system_texts
from prunecli.runtime.host import Host
from prunecli.runtime.preamble import recorded
from prunecli.session.session import Session
from prunecli.util.paths import worktree_name

_CLAUDE = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)")
LARGE = 200_000
"""Tokens above which `exceeds_200k_tokens` is true."""


class Facts:
    """The facts of a session. Each record is read once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._read = self._added = self._removed = self._api_ms = self._began = self._last = 0
        self._usage = Usage()

    def of(self, host: Host) -> dict[str, Any]:
        for record in self.session.records[self._read :]:
            self._began, self._last = self._began or record.timestamp, record.timestamp
            match record.event:
                case ToolResult(details={"added": int(added), "removed": int(removed)}):
                    self._added, self._removed = self._added + added, self._removed + removed
                case AssistantMessage(usage=usage, duration_ms=spent):
                    self._usage, self._api_ms = usage, self._api_ms + spent
        self._read = len(self.session.records)
        return {**self._place(host), **self._spent(host)}

    def _place(self, host: Host) -> dict[str, Any]:
        session, setup, preamble = host.session, host.setup, recorded(host.session.context)
        cwd, worktree = str(setup.cwd), worktree_name(str(setup.cwd))
        return {
            "hook_event_name": "Status",
            "session_id": session.id,
            "session_name": session.name,
            "transcript_path": str(session.path or ""),
            "cwd": cwd,
            "version": __version__,
            "model": {"id": host.model_name, "display_name": display_name(host.model_name)},
            "effort": {"level": host.config.model.effort},
            "thinking": {"enabled": bool(host.choices.model_settings.thinking)},
            **({"vim": {"mode": mode}} if (mode := host.parts.vim_mode()) else {}),
            "workspace": {
                "current_dir": cwd,
                "project_dir": cwd,
                "added_dirs": list(map(str, setup.added.paths)),
                **({"git_worktree": worktree} if worktree else {}),
            },
            **({"worktree": {"name": worktree, "path": cwd}} if worktree else {}),
            "output_style": {"name": style_in(system_texts(preamble) if preamble else ()) or "default"},
        }

    def _spent(self, host: Host) -> dict[str, Any]:
        bill, ledger, usage = host.bill, host.policy.ledger(host.session.context), self._usage
        used = round(100 * ledger.context_tokens / ledger.window) if ledger.window else 0
        return {
            "cost": {
                "total_cost_usd": bill.cost,
                "total_duration_ms": self._last - self._began,
                "total_api_duration_ms": self._api_ms,
                "total_lines_added": self._added,
                "total_lines_removed": self._removed,
            },
            "context_window": {
                "total_input_tokens": bill.input_tokens + bill.cache_read + bill.cache_write,
                "total_output_tokens": bill.output_tokens,
                "context_window_size": ledger.window,
                "used_percentage": used,
                "remaining_percentage": 100 - used,
                "current_usage": {
                    "input_tokens": usage.input_tokens,
                    "output_tokens": usage.output_tokens,
                    "cache_creation_input_tokens": usage.cache_creation_input_tokens or 0,
                    "cache_read_input_tokens": usage.cache_read_input_tokens or 0,
                }
                if bill.requests
                else None,
            },
            "exceeds_200k_tokens": ledger.context_tokens > LARGE,
        }


def display_name(model: str) -> str:
    """Return the name that people say: Sonnet 5.5."""
    named = _CLAUDE.match(model)
    return f"{named[1].title()} {named[2]}{f'.{named[3]}' if named[3] else ''}" if named else model
