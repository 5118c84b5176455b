"""The pruning engine on plain messages in the form of Anthropic's API."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from prunecli.agent.assemble import cache_marks
from prunecli.agent.policy import Policy
from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.economics import Gate, Market
from prunecli.context.ledger import Ledger
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.model.codec import usage_from_json
from prunecli.model.events import AssistantMessage, Event, Record, RequestSent
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import TTL_MS, CacheTtl, messages_json
from prunecli.providers.models import load_expectations
from prunecli.providers.tokenizer import SHIPPED
from prunecli.session.importers.anthropic_messages import START_MS, records_of
from prunecli.session.importers.tool_names import Touching
from prunecli.util.paths import PACKAGE


class Pruner:
    """One conversation, pruned by one strategy.

    Edits are permanent, so earlier messages keep their bytes and the prompt cache is valid up to the first new edit.
    Tools may have the names and arguments of prunecli, Claude Code, Codex, OpenCode, pi or Gemini CLI.

    `window` is in tokens, `counter` counts them (default: the shipped tokenizer), and `options` are the strategy's.
    `clock` returns the time in unix seconds: the cache is warm for `cache_ttl` after each request, and auto waits
    until it is cold or a prune pays. The gate "cache_aware" makes the others wait, too, by Claude's ratios of prices.
    Raises ConfigError for an unknown strategy or option.
    """

    def __init__(
        self,
        strategy: str,
        *,
        window: int = 200_000,
        counter: TokenCounter | None = None,
        clock: Callable[[], float] = time.time,
        gate: Gate = "always",
        cache_ttl: CacheTtl = "5m",
        **options: Json,
    ) -> None:
        config = Config()
        for name, value in options.items():
            text = value if isinstance(value, str) else json.dumps(value)
            config = config.with_value(f"{strategy}.{name}", text)
        market = Market(ttl_ms=TTL_MS[cache_ttl])
        read, write, output = market.rates_for(0)
        self._policy = Policy(
            (chosen(config, strategy),),
            window,
            gate=gate,
            market=market._replace(read=read, write=write, output=output),
            expectations=load_expectations(PACKAGE / "data"),
        )
        self._clock = clock
        self._context = Context(counter or SHIPPED, billed=False)
        self._said = self._seq = self._sent = 0
        self._sent_ms = START_MS
        self._touching = Touching()

    def request(
        self, messages: Sequence[Mapping[str, Json]], usage: Mapping[str, Json] | None = None
    ) -> list[dict[str, Json]]:
        """Return the messages to send for the whole conversation so far. Every user message is kept.

        `usage` is what the endpoint reported for the last request, in the API's form; without it, its tokens are
        estimated and taken for cached. The given messages are not changed. Raises a ValueError that names a malformed
        message, or if there are fewer messages than in the last call.
        """
        events = [record.event for record in records_of(messages)]
        if len(events) < self._said:
            raise ValueError(
                "fewer messages than in the last call: use a new Pruner for another conversation"
            )
        now = round(self._clock() * 1000)
        answered = self._sent == 0  # what was said before the first request is in no cache
        for event in events[self._said :]:
            if isinstance(event, AssistantMessage) and not answered:
                answered, event = True, replace(event, usage=self._usage(usage))
            for touch in self._touching.events(event):
                self._apply(touch, self._sent_ms if isinstance(event, AssistantMessage) else now)
        self._said = len(events)
        for prune in self._policy.at(now).prunes(self._context):
            self._apply(prune, now)
        sent, tokens = self._context.messages(), self._context.counts.context_tokens
        marks = cache_marks(self._context, len(sent))
        self._apply(RequestSent("", tokens, self._context.sha256(), marks), now)
        self._sent, self._sent_ms = tokens, now
        return messages_json(sent)

    @property
    def ledger(self) -> Ledger:
        """Tokens scanned, pruned and protected, and the tokens of the next request."""
        return self._policy.at(round(self._clock() * 1000)).ledger(self._context)

    def _usage(self, reported: Mapping[str, Json] | None) -> Usage:
        """Return the usage of the last request. Raises ValueError for one that is malformed."""
        if reported is None:
            return Usage(0, 0, 0, self._sent)
        try:
            return usage_from_json(reported)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ValueError(f"usage: {error}") from error

    def _apply(self, event: Event, at: int) -> None:
        self._context.apply(Record(self._seq, at, event))
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
