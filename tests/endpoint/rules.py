"""What this endpoint accepts: its models and limits, each with the figure of the real service as its default.

Tests shrink a limit to reach it (`Rules(window=10_000)`); nothing else in the package holds a number of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

VERSION_2023 = "2023-06-01"
VERSION_2026 = "2026-10-21"
"""Since this version the sampling fields (temperature, top_p, top_k) and a user's citations are refused."""

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
"""The beta header with which `thinking.block_binding` is taken."""

CONTEXT_MANAGEMENT = "context-management-2025-06-27"
"""The beta header with which `context_management` is taken."""

COMPACTION = "compact-2026-09-04"
"""The beta header with which `compaction` and its blocks are taken."""

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `window` and `max_output` in tokens; `prefill`: an assistant message may be last; `thinking`: the
    types of thinking it takes; `forced_tools`: tool_choice may force a call; `efforts`: the values of
    `output_config.effort` it takes; `preserved`: its thinking is bound to everything that stood before it
    ("preserved thinking"), `every_account`: also on accounts from before September 2026, `of_account`: and to the
    account."""

    id: str
    window: int = 1_000_000
    max_output: int = 128_000
    prefill: bool = False
    thinking: tuple[str, ...] = ("adaptive", "disabled")
    forced_tools: bool = True
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    preserved: bool = False
    every_account: bool = False
    of_account: bool = False

    @property
    def summarizes(self) -> bool:
        """Whether it makes summaries on demand, and takes them."""
        return "-4-5" not in self.id

    @property
    def takes_system(self) -> bool:
        """Whether it takes system messages between the others: since Opus 4.8, but not Sonnet 5."""
        old = any(f"-4-{minor}" in self.id for minor in (5, 6, 7))
        return self.id.startswith("claude-") and not old and self.id != "claude-sonnet-5"


_MANUAL = ("enabled", "disabled")
_ALWAYS = ("adaptive",)
_UP_TO_HIGH = ("low", "medium", "high")

MODELS = (
    Model("claude-haiku-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=()),
    Model("claude-sonnet-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=()),
    Model("claude-opus-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=_UP_TO_HIGH),
    Model("claude-haiku-4-5-20251001", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=()),
    Model("claude-sonnet-4-5-20250929", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=()),
    Model("claude-opus-4-5-20251101", 200_000, 64_000, prefill=True, thinking=_MANUAL, efforts=_UP_TO_HIGH),
    Model("claude-sonnet-4-6", thinking=("adaptive", *_MANUAL), efforts=(*_UP_TO_HIGH, "max")),
    Model("claude-opus-4-6", thinking=("adaptive", *_MANUAL), efforts=(*_UP_TO_HIGH, "max")),
    Model("claude-opus-4-7"),
    Model("claude-opus-4-8"),
    Model("claude-sonnet-5"),
    Model("claude-opus-5"),
    Model("claude-fable-5", thinking=_ALWAYS),
    Model("claude-mythos-5", thinking=_ALWAYS),
    Model("claude-fable-5-1", thinking=_ALWAYS, preserved=True),
    Model("claude-mythos-5-1", thinking=_ALWAYS, preserved=True, every_account=True),
    Model("claude-fable-5-2", thinking=_ALWAYS, preserved=True, every_account=True),
    Model("claude-mythos-5-2", thinking=_ALWAYS, preserved=True, every_account=True),
    Model("claude-opus-5-5", thinking=_ALWAYS, forced_tools=False, preserved=True),
    Model(
        "claude-sonnet-5-5",
        thinking=("adaptive", "between_tools"),
        forced_tools=False,
        preserved=True,
        of_account=True,
    ),
    Model("claude-haiku-5-5", preserved=True, of_account=True),
)

_ANY = Model("", 200_000, 64_000, thinking=("adaptive", "between_tools", *_MANUAL))


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits and switches of the judge.

    `models`: an unlisted model is answered with 404, unless `any_model` (a window of 200,000, output of
    64,000). `window`, `max_output` and `prefill` override every model's own. `keys`: the API keys that are
    accepted, None for any. `accounts`: the account of a key; keys that are not named belong to one and the
    same. `signatures` off lets thinking pass unsigned, as local servers do. `old_account`: one from before
    September 2026, where thinking out of its conversation is by default billed and reported instead of refused.
    `system_messages`: such messages are accepted of any model and anywhere, and read as those of a user.
    `refused`: optional fields that this endpoint refuses, as gateways do (`refusal` is how):
    "thinking.block_binding", "thinking.display", "cache_control.ttl", "context_management", "output_config",
    "compaction", "system messages", "anthropic-beta" (every value of that header). `summaries`: what a request for
    a summary meets: 529, or an answer without one. `max_images` is 600 at the service where the window is above
    200,000.
    `caches_an_hour` off keeps every prefix for five minutes, whatever is asked for, as some gateways do.
    `cache_minimum` and `lookback` belong to the prompt cache: tokens below which a prefix is not stored (the
    service: 512 to 4,096), and how many blocks each breakpoint looks back, itself included.
    """

    models: tuple[Model, ...] = MODELS
    any_model: bool = False
    window: int | None = None
    max_output: int | None = None
    prefill: bool | None = None
    keys: tuple[str, ...] | None = None
    signatures: bool = True
    signing_key: bytes = b"tests.endpoint"
    accounts: Mapping[str, str] = field(default_factory=dict)
    old_account: bool = False
    system_messages: bool = False
    refused: tuple[str, ...] = ()
    refusal: str = "Extra inputs are not permitted"
    summaries: Literal["made", "unavailable", "empty"] = "made"
    body_limit: int = 32 * MIB
    max_breakpoints: int = 4
    max_images: int = 100
    max_image_bytes: int = 5 * MIB
    max_image_pixels: int = 8_000
    many_images: int = 20
    max_pages: int = 100
    many_images_pixels: int = 2_000
    min_thinking_budget: int = 1_024
    chars_per_token: int = 4
    caches_an_hour: bool = True
    cache_minimum: int = 0
    lookback: int = 20

    def model(self, name: str) -> Model | None:
        """The model of this name with the overrides applied; None when the service would not know it."""
        found = next((model for model in self.models if model.id == name), None)
        if found is None:
            if not self.any_model:
                return None
            found = replace(_ANY, id=name)
        return replace(
            found,
            window=found.window if self.window is None else self.window,
            max_output=found.max_output if self.max_output is None else self.max_output,
            prefill=found.prefill if self.prefill is None else self.prefill,
        )
