"""`[hooks]` of the configuration: the user's hooks."""

from dataclasses import fields
from typing import Annotated, Any, ClassVar, TypeAlias

from prunecli.util.frozen import frozen

Groups: TypeAlias = tuple[Any, ...]
"""Tables of a matcher and its hooks; `settings.wrong` checks them."""


@frozen
class Hooks:
    """Commands to run, or addresses to ask, at events, in Claude Code's form.

    One array of tables per event: [[hooks.PreToolUse]], below it matcher = "Bash" and
    hooks = [{type = "command", command = "check.py", timeout = 5}], or {type = "http", url = "https://..."}.
    """

    refused: ClassVar[str] = (
        "they run commands; .prunecli/hooks.json may hold them, and they run once you approve them"
    )

    SessionStart: Annotated[Groups, "Matcher: startup, resume, clear or compact."] = ()
    SessionEnd: Annotated[Groups, "Matcher: other."] = ()
    UserPromptSubmit: Annotated[Groups, "No matcher."] = ()
    PreToolUse: Annotated[Groups, "Matcher: tool names such as Edit|Write."] = ()
    PostToolUse: Annotated[Groups, "Matcher: tool names, as for PreToolUse."] = ()
    PostToolUseFailure: Annotated[Groups, "Matcher: tool names, as for PreToolUse."] = ()
    Stop: Annotated[Groups, "No matcher."] = ()
    SubagentStop: Annotated[Groups, "Matcher: the name of the subagent."] = ()
    PreCompact: Annotated[Groups, "Matcher: manual or auto."] = ()
    Notification: Annotated[Groups, "Matcher: permission_prompt, idle_prompt or elicitation_dialog."] = ()
    PrePrune: Annotated[
        Groups, "No matcher. Sees prunes before they are made; may veto them or pin entries."
    ] = ()

    def table(self) -> dict[str, Any]:
        return {item.name: list(groups) for item in fields(self) if (groups := getattr(self, item.name))}

    @property
    def any(self) -> bool:
        return bool(self.table())
