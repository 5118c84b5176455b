"""What this endpoint accepts: its models and limits, each with the figure of the real service as its default.

Tests shrink a limit to reach it (`Rules(window=10_000)`); nothing else in the package holds a number of its own.
"""

from dataclasses import dataclass, replace

VERSION_2023 = "2023-06-01"
VERSION_2026 = "2026-10-21"
"""Since this version the sampling fields (temperature, top_p, top_k) and a user's citations are refused."""

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
"""The beta header with which `thinking.block_binding` is taken."""

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `window` and `max_output` in tokens; `prefill`: an assistant message may be last; `thinking`: the
    types of thinking it takes; `forced_tools`: tool_choice may force a call; `preserved`: its thinking is bound to
    everything that stood before it ("preserved thinking")."""

    id: str
    window: int = 1_000_000
    max_output: int = 128_000
    prefill: bool = False
    thinking: tuple[str, ...] = ("adaptive", "disabled")
    forced_tools: bool = True
    preserved: bool = False


_MANUAL = ("enabled", "disabled")
_ALWAYS = ("adaptive",)

MODELS = (
    Model("claude-haiku-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-sonnet-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-opus-4-5", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-haiku-4-5-20251001", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-sonnet-4-5-20250929", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-opus-4-5-20251101", 200_000, 64_000, prefill=True, thinking=_MANUAL),
    Model("claude-sonnet-4-6", thinking=("adaptive", *_MANUAL)),
    Model("claude-opus-4-6", thinking=("adaptive", *_MANUAL)),
    Model("claude-opus-4-7"),
    Model("claude-opus-4-8"),
    Model("claude-sonnet-5"),
    Model("claude-opus-5"),
    Model("claude-fable-5", thinking=_ALWAYS),
    Model("claude-fable-5-1", thinking=_ALWAYS, preserved=True),
    Model("claude-fable-5-2", thinking=_ALWAYS, preserved=True),
    Model("claude-opus-5-5", thinking=_ALWAYS, forced_tools=False, preserved=True),
    Model("claude-sonnet-5-5", thinking=("adaptive", "between_tools"), forced_tools=False, preserved=True),
    Model("claude-haiku-5-5", thinking=("adaptive", "between_tools", "disabled"), preserved=True),
)

_ANY = Model("", 200_000, 64_000, thinking=("adaptive", "between_tools", *_MANUAL))


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits and switches of the judge.

    `models`: an unlisted model is answered with 404, unless `any_model` (a window of 200,000, output of 64,000).
    `window`, `max_output` and `prefill` override every model's own. `keys`: the API keys that are accepted, None
    for any. `signatures` off lets thinking pass unsigned, as local servers do. `prefix_check` off treats models
    with preserved thinking as an account from before September 2026. `max_images` is 600 at the service where
    the window is above 200,000. `cache_minimum` and `lookback` belong to the prompt cache: tokens below which
    a prefix is not stored (the service: 512 to 4,096), and how many blocks each breakpoint looks back, itself
    included.
    """

    models: tuple[Model, ...] = MODELS
    any_model: bool = False
    window: int | None = None
    max_output: int | None = None
    prefill: bool | None = None
    keys: tuple[str, ...] | None = None
    signatures: bool = True
    signing_key: bytes = b"tests.endpoint"
    prefix_check: bool = True
    body_limit: int = 32 * MIB
    max_breakpoints: int = 4
    max_images: int = 100
    max_image_bytes: int = 5 * MIB
    max_image_pixels: int = 8_000
    many_images: int = 20
    many_images_pixels: int = 2_000
    min_thinking_budget: int = 1_024
    chars_per_token: int = 4
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
