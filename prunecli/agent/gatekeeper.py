"""The permission state of a session: the rules, the mode, and how to ask the user.

`permissions.judge` decides without state; this module keeps what changes during a session.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from prunecli.agent.execute import Answer, Asked
from prunecli.agent.permissions.inside import Inside
from prunecli.agent.permissions.verdict import Mode, Rules, Verdict
from prunecli.model.touches import Touches


async def nobody(_: Asked) -> Answer:
    """Deny, because a headless run cannot ask."""
    return Answer("deny", "a headless run cannot ask; allow it with --allowed-tools or --permission-mode")


@dataclass(slots=True)
class SessionGatekeeper:
    """Judge calls by rules and mode, and ask through `asker`. "Always" holds for this session.

    `granted` are the rules added by such answers; reloading the configuration keeps them. `secrets` are more files to
    treat as secret: the key file and the trust store. `inside` tells which sandbox commands run in. `search_path` is
    the PATH of commands, None for this process's. `claims` returns what an MCP server says of a tool `server:tool`,
    or ""; it is shown with a question, and decides nothing. `lent` are more allow rules while a custom command runs;
    `readable` are the real folders of skills, which may be read wherever they are. `kept` returns the rules kept for
    the directory, which hold while it is trusted; `keep` keeps one more. `added` returns the added
    folders, which count as workspace; `own` are prunecli's own folders, which may always be read.
    """

    rules: Rules
    mode: Mode
    trusted: bool
    workspace: Path
    home: Path | None = None
    secrets: tuple[Path, ...] = ()
    asker: Callable[[Asked], Awaitable[Answer]] = field(default=nobody)
    granted: tuple[str, ...] = ()
    inside: Callable[[], Inside] = Inside
    search_path: str | None = None
    claims: Callable[[str], str] = lambda _: ""
    lent: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    kept: Callable[[], tuple[str, ...]] = tuple
    keep: Callable[[str], None] = field(default=lambda _: None)
    added: Callable[[], tuple[Path, ...]] = tuple
    own: tuple[str, ...] = ()

    @property
    def in_force(self) -> Rules:
        """The rules with those that are kept for this directory, and those lent to a custom command."""
        more = *(self.kept() if self.trusted else ()), *self.lent
        return replace(self.rules, allow=(*self.rules.allow, *more)) if more else self.rules

    def use_rules(self, rules: Rules) -> None:
        """Replace the configured rules; rules granted in this session stay."""
        self.rules = replace(rules, allow=(*rules.allow, *self.granted))

    def judge(self, tool_name: str, touches: Touches | None, not_read: tuple[str, ...] = ()) -> Verdict:
        """Return the verdict: allow, ask or deny."""
        from prunecli.agent.permissions.judge import judge  # deferred, as no start needs it

        return judge(
            tool_name,
            touches,
            mode=self.mode,
            rules=self.in_force,
            trusted=self.trusted,
            workspace=self.workspace,
            cwd=self.workspace,
            home=self.home,
            secrets=self.secrets,
            not_read=not_read,
            inside=self.inside() if touches and touches.runs and self.trusted else Inside(),
            search_path=self.search_path,
            readable=(*self.own, *self.readable),
            added=self.added(),
        )

    async def ask(self, asked: Asked) -> Answer:
        """Ask the user; the answers "always" and "project" add the offered rule."""
        said = next(filter(None, map(self.claims, asked.touches.calls if asked.touches else ())), "")
        if said:
            asked = replace(asked, reason=f"{asked.reason}; it says that it {said}, which nobody checks")
        answer = await self.asker(asked)
        if answer.kind in ("always", "project") and asked.rule:
            self.granted = (*self.granted, asked.rule)
            self.rules = replace(self.rules, allow=(*self.rules.allow, asked.rule))
            if answer.kind == "project":
                self.keep(asked.rule)
        return answer

    def forget(self, rule: str) -> bool:
        """Take back a rule that was granted in this session; returns whether it was."""
        if rule not in self.granted:
            return False
        self.granted = tuple(one for one in self.granted if one != rule)
        allow = list(self.rules.allow)
        allow.reverse()  # a configured rule of the same text stays
        allow.remove(rule)
        self.rules = replace(self.rules, allow=tuple(reversed(allow)))
        return True
