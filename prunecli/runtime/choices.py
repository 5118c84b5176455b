"""The options in effect for a session: the configuration, overridden by the session's own settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from prunecli.agent.assemble import ModelSettings
from prunecli.agent.policy import Policy
from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.cache import learned_ms
from prunecli.context.compaction import Options
from prunecli.context.economics import Market
from prunecli.context.economics import Prices as CachePrices
from prunecli.context.expectations import KINDS, Caps, Expectations
from prunecli.context.strategy import Chosen
from prunecli.model.claude import claude_version, is_bound, reads_summaries, takes_system_messages
from prunecli.model.messages import Json, Media, Usage
from prunecli.model.requests import COMPACTION, DIAGNOSTICS, SEARCH, SYSTEM_MESSAGES, CacheTtl
from prunecli.providers.endpoints import KNOWN
from prunecli.providers.models import ModelInfo, cache_prices, cost
from prunecli.providers.optional_fields import (
    CACHE_CONTROL,
    CACHE_TTL,
    CONTEXT_MANAGEMENT,
    CONTEXT_MANAGEMENT_BETA,
    EFFORT,
)
from prunecli.providers.registry import DEFAULT
from prunecli.providers.thinking import (
    betas_for,
    efforts_for,
    leaves_out,
    thinking_config,
    without,
)
from prunecli.runtime.offered_models import PRICES, listed_prices, with_prices

DEFAULT_MAX_TOKENS = 32_000
"""The limit of an answer in tokens, unless the configuration or the model table sets a lower limit."""


@dataclass(frozen=True)
class Choices:
    """The options in effect at one moment, the costly ones computed once.

    `settings` are recorded in the session's log and take precedence. `caches`: the endpoint reports its cache use.
    `asked` is the model named on the command line, and `kept` the model of a resumed session; "" for none.
    `refused_by` returns the optional fields that the endpoint rejects for a model. Without `expectations`, results
    are not held back. `losing()`: pruning has cost more than it saved. `kept_for` is the cache lifetime that the
    endpoint reports, which may ignore the one requested, and `pauses` are those of `Cache.learned`. `model` has the
    window, prices and limits of the session's model, and `refused` the fields that are rejected for it. Equal choices
    have equal options.
    """

    config: Config
    settings: Mapping[str, Json]
    info_of: Callable[[str], ModelInfo]
    recall: bool = False
    caches: bool = True
    asked: str = ""
    kept: str = ""
    refused_by: Callable[[str], frozenset[str]] = lambda _: frozenset()
    expectations: Expectations | None = None
    losing: Callable[[], bool] = bool
    kept_for: CacheTtl | None = None
    pauses: tuple[int, int] = (0, 0)
    model: ModelInfo = field(init=False)
    refused: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        recorded = str(self.settings.get("model.name") or "")
        model = self.info_of(self.asked or recorded or self.kept or self.config.model.name)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "refused", self.refused_by(model.name))

    @property
    def media(self) -> Media:
        """The media that the model accepts. Models of other providers get the text of a PDF.

        Claude 4.7 and later accept larger images. The limit is 2,000 pixels in requests with many images.
        """
        info = self.model
        vision, claude = info.vision is not False, info.provider == "anthropic" or "claude" in info.name
        large = claude and (claude_version(info.name) or (0, 0)) >= (4, 7)
        size = (2000, 3_000_000) if large else (1568, 1_150_000)
        return Media(vision, vision and claude, *size, info.name)

    @property
    def window(self) -> int:
        return self.model.context_window or self.config.pruning.context_tokens

    @property
    def pruning(self) -> bool:
        """Whether strategies may prune automatically: `/prune-toggle`, else the configuration."""
        toggled = self.settings.get("pruning.enabled")
        return self.config.pruning.enabled if toggled is None else bool(toggled)

    @property
    def numbers(self) -> Expectations | None:
        """The numbers behind prunes, without those of inputs if `[pruning.inputs]` is off."""
        if self.expectations is None or self.config.pruning.inputs.enabled:
            return self.expectations
        return replace(self.expectations, inputs={})

    @property
    def caps(self) -> Caps:
        """The limits for sending new results; none while pruning or `[pruning.spill]` is off."""
        spill = self.config.pruning.spill
        if self.expectations is None or not (self.pruning and spill.enabled):
            return Caps()
        chosen = {kind: cap for kind in KINDS if (cap := getattr(spill, kind)) is not None}
        caps = self.expectations.caps[spill.level]
        return replace(caps, **chosen) if chosen else caps

    @cached_property
    def model_settings(self) -> ModelSettings:
        info, model = self.model, self.config.model
        most = model.max_tokens or min(info.max_output or DEFAULT_MAX_TOKENS, DEFAULT_MAX_TOKENS)
        most = min(most, max(1, self.window // 2))
        budget = model.thinking if info.thinking and model.thinking < most else 0
        thinking = without(thinking_config(info.name, budget), self.refused)
        ttl = None if CACHE_CONTROL in self.refused else self._wanted_ttl
        effort = "" if EFFORT in self.refused else self._effort(efforts_for(info, thinking))
        edits = self._context_edits
        betas = (*betas_for(thinking), *([CONTEXT_MANAGEMENT_BETA] if edits else []))
        return ModelSettings(
            info.name,
            most,
            thinking,
            ttl,
            betas,
            effort,
            {"edits": edits} if edits else None,
            self.refused,
            breakpoints=self.breakpoints,
            diagnoses=self._diagnoses,
        )

    @property
    def _diagnoses(self) -> bool:
        """Whether the endpoint tells why a prompt was not read from its cache: Anthropic's own does for Claude."""
        return self._at_home and "claude" in self.model.name and DIAGNOSTICS not in self.refused

    @property
    def _at_home(self) -> bool:
        """Whether requests go to Anthropic's own endpoint."""
        service, home = self.config.service(self.model.name), KNOWN["anthropic"]
        return (
            service.provider == DEFAULT
            and service.base_url in ("", home.base_url)
            and (service.endpoint is None or service.endpoint.name == home.name)
        )

    @property
    def breakpoints(self) -> bool:
        """Whether requests say where a cached prefix ends. Endpoints of other protocols cache all prefixes, unless
        they bill for it."""
        messages = self.config.service(self.model.name).provider == DEFAULT
        return messages or self.model.cache not in ("automatic", "none")

    @property
    def _context_edits(self) -> list[Json]:
        """The edits that strategies leave to the endpoint; [] while pruning is off or if the endpoint rejects
        them."""
        if not self.pruning or CONTEXT_MANAGEMENT in self.refused:
            return []
        return [edit for one in self._chosen() if (edit := one.context_edit)]

    @property
    def efforts(self) -> tuple[str, ...]:
        return efforts_for(self.model, self.model_settings.thinking)

    @property
    def effort(self) -> str:
        """The effort that requests ask for, "" for the model's default."""
        return self.model_settings.effort

    @property
    def wanted_effort(self) -> str:
        """The chosen effort, even if the model does not accept it; "" for the model's default."""
        wanted = str(self.settings.get("model.effort") or self.config.model.effort)
        return "" if wanted == "default" else wanted

    def _effort(self, taken: tuple[str, ...]) -> str:
        return self.wanted_effort if self.wanted_effort in taken else ""

    @property
    def cache_ttl(self) -> CacheTtl:
        """The lifetime of a cached prefix, in the endpoint's terms: the reported one, or the one requested."""
        return self.kept_for or self._wanted_ttl

    @property
    def _wanted_ttl(self) -> CacheTtl:
        return "5m" if CACHE_TTL in self.refused else self.config.model.cache_ttl

    def policy_at(self, now: int | None) -> Policy:
        """Return the pruning policy of the session at a time in unix ms. Without a time, no strategy waits for a cold
        cache."""
        return self._policy.at(now)

    @cached_property
    def _policy(self) -> Policy:
        pruning, settings = self.config.pruning, self.model_settings
        return Policy(
            self._chosen(),
            self.window,
            settings.max_tokens,
            self.pruning,
            self.recall,
            pruning.order,
            pruning.memo,
            pruning.gate,
            self._market,
            self._compaction,
            leaves_out(settings.name, settings.thinking),
            binds=is_bound(settings.name),
            compacts=is_bound(settings.name) and COMPACTION not in self.refused,
            reads_summaries=reads_summaries(settings.name) and COMPACTION not in self.refused,
            searches=SEARCH not in self.refused,
            tells=self._at_home
            and takes_system_messages(settings.name)
            and SYSTEM_MESSAGES not in self.refused,
            expectations=self.numbers,
            losing=self.losing,
            nudges=pruning.nudge,
        )

    @property
    def ttl_ms(self) -> int:
        """How long a cached prefix is kept, in ms. An automatic cache shows its lifetime in the session."""
        assumed = self.model.lifetime_ms(self.cache_ttl)
        return learned_ms(assumed, *self.pauses) if self.model.cache == "automatic" else assumed

    @property
    def _compaction(self) -> Options:
        return Options(
            **{option.name: getattr(self.config.compaction, option.name) for option in fields(Options)}
        )

    @property
    def _market(self) -> Market:
        """The prices for the gate; no prices if the endpoint reports no cache use."""
        info, ttl = self.model, self.cache_ttl
        priced = self.caches or info.cache == "none"
        read, write = cache_prices(info.prices, ttl) if priced else (None, None)
        longer = ((above, *cache_prices(prices, ttl), prices.output) for above, prices in info.bands)
        return Market(
            None,
            self.ttl_ms,
            info.name,
            read,
            write,
            self.config.pruning.engage_ratio,
            info.prices.output if priced else None,
            self._compaction.limit(self.window) if self._compaction.enabled else 0,
            tuple(
                CachePrices(above, more, most, output)
                for above, more, most, output in longer
                if more is not None and most is not None
            ),
        )

    def answering(self, reported: str, asked: str) -> str:
        """Return the model to bill: the reported one, or the requested one if the reported name is unknown.
        llama.cpp, for example, reports the path of its file."""
        known = reported and (info := self.info_of(reported)) and (info.context_window or info.prices.input)
        return reported if known else asked

    def price(self, model: str, usage: Usage) -> float:
        """Return the cost of this usage in USD, 0 without a known price."""
        return self.known_price(model, usage) or 0.0

    def known_price(self, model: str, usage: Usage) -> float | None:
        """Return the cost of this usage in USD, or None without a known price. Prices that the session recorded apply
        on other endpoints too. A lifetime that the endpoint reported is in the usage; else the one asked for
        applies."""
        info = self.info_of(model) if model else self.model
        return cost(usage, with_prices(info, listed_prices(self.settings.get(PRICES))), self._wanted_ttl)

    def _chosen(self) -> tuple[Chosen, ...]:
        return tuple(chosen(self.config, name) for name in self.config.pruning.strategies)
