"""The pruning engine on plain messages in the form of Anthropic's API."""

import json
from collections.abc import Mapping, Sequence

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.context.view import View
from prunecli.model.events import Event, Record
from prunecli.model.messages import Json
from prunecli.paths import PACKAGE
from prunecli.providers.models import load_expectations
from prunecli.providers.tokenizer import SHIPPED
from prunecli.session.importers.anthropic_messages import START_MS, records_of


class Pruner:
    """One conversation, pruned by one strategy.

    Edits are permanent, so earlier messages keep their bytes and the prompt cache is valid up to the first new edit.

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
        self._context = Context(counter or SHIPPED, billed=False)
        self._said = self._seq = 0

    def request(self, messages: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
        """Return the messages to send for the whole conversation so far. Every user message is kept.

        The given messages are not changed. Raises a ValueError that names a malformed message, or if there are fewer
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
    """Prune Anthropic messages once with a strategy. Arguments and errors are those of `Pruner`."""
    return Pruner(strategy, window=window, counter=counter, **options).request(messages)
