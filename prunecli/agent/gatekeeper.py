"""The gatekeeper of a session: the rules in force, the mode, and the user who is asked.

The judgement itself is pure (`permissions.judge`); here stand what changes while a session lasts.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from prunecli.agent.execute import Answer, Asked
from prunecli.agent.permissions import Mode, Rules, Verdict, judge
from prunecli.model.touches import Touches


async def nobody(_: Asked) -> Answer:
    """Headless: nobody is there to be asked, so it is denied."""
    return Answer("deny", "there is nobody to ask; allow it with --allowed-tools or --permission-mode")


@dataclass(slots=True)
class SessionGatekeeper:
    """Judges by rules and mode and asks through `asker`; what is always allowed holds for this session.

    `granted` are the rules that the user added by such an answer; a configuration that is read again keeps them.
    `secrets` are files that count as secret wherever they lie: the key file, the trust store.
    """

    rules: Rules
    mode: Mode
    trusted: bool
    workspace: Path
    home: Path | None = None
    secrets: tuple[Path, ...] = ()
    asker: Callable[[Asked], Awaitable[Answer]] = field(default=nobody)
    granted: tuple[str, ...] = ()

    def use_rules(self, rules: Rules) -> None:
        """Other configured rules from now on."""
        self.rules = replace(rules, allow=(*rules.allow, *self.granted))

    def judge(self, tool_name: str, touches: Touches | None, not_read: tuple[str, ...] = ()) -> Verdict:
        """allow, ask or deny."""
        return judge(
            tool_name,
            touches,
            mode=self.mode,
            rules=self.rules,
            trusted=self.trusted,
            workspace=self.workspace,
            cwd=self.workspace,
            home=self.home,
            secrets=self.secrets,
            not_read=not_read,
        )

    async def ask(self, asked: Asked) -> Answer:
        """Asks; an answer of "always" adds the rule that was shown."""
        answer = await self.asker(asked)
        if answer.kind == "always" and asked.rule:
            self.granted = (*self.granted, asked.rule)
            self.rules = replace(self.rules, allow=(*self.rules.allow, asked.rule))
        return answer
