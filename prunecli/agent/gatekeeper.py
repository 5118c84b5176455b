"""The permission state of a session: the rules, the mode, and how to ask the user.

`permissions.judge` decides without state; this module keeps what changes during a session.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.agent.asking import Answer, Asked
from prunecli.model.touches import Touches
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Mode, Rules, Verdict
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.safety.permissions import judge
else:
    judge = lazy("prunecli.safety.permissions.judge")


async def nobody(_: Asked) -> Answer:
    """Return a denial, because a headless run cannot ask."""
    return Answer("deny", "a headless run cannot ask; allow it with --allowed-tools or --permission-mode")


@dataclass(slots=True)
class SessionGatekeeper:
    """The gatekeeper of a session: judges calls by rules and mode, and asks through `asker`. "Always" applies to this
    session.

    `granted` are the rules added by such answers; reloading the configuration keeps them. `secrets` are more files to
    treat as secret: the key file and the trust store. `inside` returns the sandbox that commands run in.
    `search_path` is the PATH of commands, None for this process's. `claims` returns an MCP server's description of a
    tool `server:tool`, or "". The description is shown with a question and has no effect on the verdict. `lent` are
    additional allow rules while a custom command runs. `readable` are the real folders of skills, which may be read
    anywhere. `kept` returns the rules stored for the directory, which apply while it is trusted; `keep` stores
    another one. `added` returns the added folders, which count as workspace. `own` are prunecli's own folders, which
    may always be read. `wall` says in words what is around commands.
    """

    rules: Rules
    mode: Mode
    trusted: bool
    workspace: Path
    home: Path | None = None
    secrets: tuple[Path, ...] = ()
    asker: Callable[[Asked], Awaitable[Answer]] = field(default=nobody)
    granted: tuple[str, ...] = ()
    inside: Callable[[], SandboxedCommands] = SandboxedCommands
    search_path: str | None = None
    claims: Callable[[str], str] = lambda _: ""
    lent: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    kept: Callable[[], tuple[str, ...]] = tuple
    keep: Callable[[str], None] = field(default=lambda _: None)
    added: Callable[[], tuple[Path, ...]] = tuple
    own: tuple[str, ...] = ()
    wall: Callable[[], str] = field(default=str)

    @property
    def in_force(self) -> Rules:
        """The rules, including those stored for this directory and those lent to a custom command."""
        more = *(self.kept() if self.trusted else ()), *self.lent
        return replace(self.rules, allow=(*self.rules.allow, *more)) if more else self.rules

    def use_rules(self, rules: Rules) -> None:
        """Replace the configured rules; rules granted in this session stay."""
        self.rules = replace(rules, allow=(*rules.allow, *self.granted))

    def judge(self, tool_name: str, touches: Touches | None, not_read: tuple[str, ...] = ()) -> Verdict:
        return judge.judge(
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
            inside=self.inside() if touches and touches.runs and self.trusted else SandboxedCommands(),
            search_path=self.search_path,
            readable=(*self.own, *self.readable),
            added=self.added(),
        )

    async def ask(self, asked: Asked) -> Answer:
        """Ask the user; the answers "always" and "project" add the offered rules."""
        said = next(filter(None, map(self.claims, asked.touches.calls if asked.touches else ())), "")
        if said:
            asked = replace(asked, reason=f"{asked.reason}; it says that it {said}, which is not verified")
        if asked.touches and asked.touches.runs:
            asked = replace(asked, wall=self.wall())
        answer = await self.asker(asked)
        if answer.kind in ("always", "project"):
            self.granted = (*self.granted, *asked.rules)
            self.rules = replace(self.rules, allow=(*self.rules.allow, *asked.rules))
            for rule in asked.rules if answer.kind == "project" else ():
                self.keep(rule)
        return answer

    def forget(self, rule: str) -> bool:
        """Revoke a rule that was granted in this session; return whether it had been granted."""
        if rule not in self.granted:
            return False
        self.granted = tuple(one for one in self.granted if one != rule)
        allow = list(self.rules.allow)
        allow.reverse()  # a configured rule with the same text stays
        allow.remove(rule)
        self.rules = replace(self.rules, allow=tuple(reversed(allow)))
        return True
