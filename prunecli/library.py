"""prunecli as a library: the pruning engine on plain messages, and the agent in ten lines.

    from prunecli.library import Pruner
    pruner = Pruner("pi", window=200_000, prune_protect=20_000)
    shorter = pruner.request(messages)      # before each request; earlier edits stay

    from prunecli.library import ask
    print(await ask("What does this project do?", trust=True))

README.md shows both as whole programs.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prunecli.config import Config
from prunecli.config.references import chosen
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.context.view import View
from prunecli.errors import ConfigError
from prunecli.launch_options import Launch
from prunecli.model.events import Event, Record
from prunecli.model.messages import Json, plain_text
from prunecli.model.signals import SessionEvent
from prunecli.paths import PACKAGE
from prunecli.providers.models import load_expectations
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime.make import make_runtime
from prunecli.runtime.notices import notice_of, opening_notices
from prunecli.session.importers.anthropic_messages import START_MS, records_of

LOGGER = logging.getLogger("prunecli")


class Pruner:
    """One conversation, pruned by one strategy.

    Edits stay in force, so that messages sent before keep their bytes and the prompt cache holds up to the first new
    edit.

    `window` is in tokens, `counter` counts them (default: the shipped tokenizer), and `options` are the strategy's.
    Raises ConfigError for an unknown strategy or option.
    """

    def __init__(
        self, strategy: str, *, window: int = 200_000, counter: TokenCounter | None = None, **options: Json
    ) -> None:
        config = Config()
        for name, value in options.items():
            text = value if isinstance(value, str) else json.dumps(value)
            config = config.with_value(f"{strategy}.{name}", text)
        self._strategy = chosen(config, strategy)
        self._window = window
        self._expectations = load_expectations(PACKAGE / "data")
        self._context = Context(counter or SHIPPED)
        self._said = self._seq = 0

    def request(self, messages: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
        """Return the messages to send for the whole conversation so far. Every user message is kept.

        The given messages are not changed. Raises ValueError that names a malformed message, or if there are fewer
        messages than in the last call.
        """
        events = [record.event for record in records_of(messages)]
        if len(events) < self._said:
            raise ValueError(
                "fewer messages than in the last call: use a new Pruner for another conversation"
            )
        for event in events[self._said :]:
            self._apply(event)
        self._said = len(events)
        view = self._view()
        proposal = self._strategy.propose(view)
        if proposal.edits:
            self._apply(prun_applied(view, "strategy", proposal.edits, strategy=self._strategy.name))
        return [json.loads(message.canonical) for message in self._context.messages()]

    @property
    def ledger(self) -> Ledger:
        """Tokens scanned, pruned and protected, and the tokens of the next request."""
        return ledger(self._view(), [self._strategy])

    def _view(self) -> View:
        return View(self._context, self._window, expectations=self._expectations)

    def _apply(self, event: Event) -> None:
        self._context.apply(Record(self._seq, START_MS + self._seq, event))
        self._seq += 1


def prune_messages(
    messages: Sequence[Mapping[str, Json]],
    strategy: str,
    *,
    window: int = 200_000,
    counter: TokenCounter | None = None,
    **options: Json,
) -> list[dict[str, Json]]:
    """Prune Anthropic messages once with a strategy. Arguments and errors as for `Pruner`."""
    return Pruner(strategy, window=window, counter=counter, **options).request(messages)


async def ask(
    prompt: str,
    *,
    cwd: Path | None = None,
    trust: bool = False,
    mode: str = "ask",
    environ: Mapping[str, str] | None = None,
    notice: Callable[[str], object] = LOGGER.warning,
    **settings: Json,
) -> str:
    """Run the agent once with the default tools and return its final message.

    Never asks the user: calls that `mode` (ask, edits, plan, auto) does not allow are denied. `notice` gets each
    notice for the user; by default, the logger `prunecli` does. `settings` are configuration keys with `__` for the
    dot, such as `model__name="opus"`. Raises PrunecliError.
    """
    sets = tuple(
        f"{key.replace('__', '.')}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    )
    asked = Launch(headless=True, trust=trust, cwd=cwd, sets=sets, flags={"--permission-mode": mode})
    runtime = make_runtime(asked, os.environ if environ is None else environ)

    def tell(event: SessionEvent) -> None:
        if line := notice_of(event, runtime):
            notice(line)

    try:
        for line in opening_notices(runtime):
            notice(line)
        runtime.session.subscribe(tell)
        done = await runtime.submit(prompt)
        if done.note:
            notice(done.note)
        last: Any = runtime.session.context.items[-1].event
        return plain_text(last.content)
    finally:
        for line in await runtime.jobs.close():
            notice(line)
        await runtime.close()


__all__ = ["ConfigError", "Pruner", "ask", "prune_messages"]
