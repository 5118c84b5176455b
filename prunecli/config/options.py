"""What can be configured: one frozen class for each section of config.toml.

A field is `Annotated[type, "what it does"]`, with a pair (lowest, highest) where there are bounds; its default is
the built-in value. sample-config.toml, `config show` and every error message are made from these classes.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from prunecli.bindings import problem as key_problem

Ratio: TypeAlias = Annotated[float, (0, 1)]
Count: TypeAlias = Annotated[int, (1, None)]
Size: TypeAlias = Annotated[int, (0, None)]
Price: TypeAlias = Annotated[float, (0, None)]

THINKING_FLOOR = 1024
"""The endpoint refuses a smaller thinking budget."""


class Section:
    """Equality and `repr` of the classes below, written once.

    A dataclass compiles its own for each class, which takes half of the time that importing this module takes, and
    every start waits for it.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    """Every subclass is a dataclass."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(type(self))  # a table inside can't be hashed; equal values do have equal hashes

    def __repr__(self) -> str:
        names = (item.name for item in fields(self))
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(names, self._values(), strict=True))})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model(Section):
    """Which model answers, and where it is."""

    name: Annotated[str, "A model's name, or an alias: opus, sonnet, haiku, demo."] = "sonnet"
    provider: Annotated[
        str, "The provider: anthropic (any server that speaks its protocol), or demo (no network)."
    ] = "anthropic"
    base_url: Annotated[
        str, "The endpoint's address; empty: the provider's own. Never from a project's file."
    ] = ""
    max_tokens: Annotated[
        Count | None, "Most tokens of one response, else what the model table says for the model."
    ] = None
    thinking: Annotated[
        Size,
        "Most tokens of thinking for one response, 1024 or more; 0: none. Newer models decide by effort.",
    ] = 0
    effort: Annotated[
        Literal["default", "low", "medium", "high", "xhigh", "max"],
        "How hard the model tries; /effort lists what the model in use takes.",
    ] = "default"
    cache_ttl: Annotated[Literal["5m", "1h"], "How long the endpoint keeps a cached prefix."] = "5m"

    def __post_init__(self) -> None:
        if 0 < self.thinking < THINKING_FLOOR:
            raise ValueError(f"thinking: expected 0 or at least {THINKING_FLOOR}, got {self.thinking}")
        if self.max_tokens is not None and self.thinking >= self.max_tokens:
            raise ValueError(
                f"thinking: expected fewer than the {self.max_tokens} of max_tokens, got {self.thinking}"
            )
        if self.base_url and not _is_address(self.base_url):
            raise ValueError(f"base_url: expected an http or https address, got {self.base_url!r}")
        if not self.name.strip() or not self.name.isprintable():
            raise ValueError(f"name: expected the name of a model, got {self.name!r}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prices(Section):
    """What a model costs, in US dollars for a million tokens. What is unset comes from the model table."""

    input: Annotated[Price | None, "Input that was not cached."] = None
    output: Annotated[Price | None, "Output, thinking included."] = None
    cache_read: Annotated[Price | None, "Input that came from the cache."] = None
    cache_write_5m: Annotated[Price | None, "Input that was cached for five minutes."] = None
    cache_write_1h: Annotated[Price | None, "Input that was cached for an hour."] = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelFacts(Section):
    """What the model table does not know, or knows wrongly, about one model."""

    context_window: Annotated[Count | None, "Tokens that fit into the model's context."] = None
    prices: Annotated[Prices, "US dollars for a million tokens. Never from a project's file."] = Prices()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tools(Section):
    """Which tools the model gets, and their bounds."""

    enabled: Annotated[
        tuple[str, ...],
        "The tools, by name; phi-core's names (read_file, write_file, edit_file, search, list_files) work too.",
    ] = ("bash", "read", "write", "edit", "grep", "find", "ls", "prun", "recall")
    max_output_bytes: Annotated[Count, "Most bytes of one result that reach the model."] = 100_000
    bash_timeout: Annotated[float, (0.1, 86_400), "Seconds that a command may run."] = 120.0
    snapshots: Annotated[
        bool,
        "Whether files are saved before they are changed, for /rewind. Without git: those of edit and write.",
    ] = True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pruning(Section):
    """What is pruned from the working context, and when. Each strategy has its own [pruning.NAME]."""

    enabled: Annotated[
        bool, "Whether strategies may prune by themselves; /prune and prun work either way."
    ] = True
    strategy: Annotated[str | tuple[str, ...], "A strategy's name, or a list to run in order."] = "auto"
    gate: Annotated[
        Literal["always", "cache_aware"],
        "When a proposal is applied: at once, or when breaking the prompt cache is worth it.",
    ] = "cache_aware"
    engage_ratio: Annotated[
        Ratio, "Share of the context window above which cache_aware applies whatever it costs."
    ] = 0.75
    context_tokens: Annotated[Count, "Context window of a model about which nothing else is known."] = 200_000
    estimator: Annotated[
        Literal["tiktoken", "chars4"],
        "How tokens are estimated: a vocabulary, or characters divided by four.",
    ] = "tiktoken"
    order: Annotated[
        Literal["newest", "oldest"], "At which end the model's own prun calls begin to remove exchanges."
    ] = "newest"
    memo: Annotated[
        Literal["once", "each"], "Whether a memo stands once for a prun call or for each dropped exchange."
    ] = "once"

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of the strategies, in the order in which they run."""
        return (self.strategy,) if isinstance(self.strategy, str) else self.strategy

    def __post_init__(self) -> None:
        if not self.strategies:
            raise ValueError("strategy: expected at least one name (no_pruning prunes nothing), got []")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compaction(Section):
    """When a summary by the model replaces the middle of a long session, and what it keeps."""

    enabled: Annotated[bool, "Whether it happens by itself; /compact works either way."] = True
    max_context_tokens: Annotated[Count, "Tokens; the model's window counts where it is smaller."] = 200_000
    compact_at_pct: Annotated[Ratio, "Share of them at which a summary is made."] = 0.85
    keep_first_turns: Annotated[Size, "User turns at the beginning that stay as they are."] = 2
    keep_recent_turns: Annotated[Size, "User turns at the end that stay as they are."] = 4
    keep_user_chars: Annotated[Size, "Characters of the user's own words that a summary keeps verbatim."] = (
        20_000
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Permissions(Section):
    """What may happen without asking. Rules of all files add up; deny wins over ask, ask over allow."""

    mode: Annotated[
        Literal["ask", "edits", "plan", "auto"],
        "ask: reads and harmless commands pass. edits: edits in the workspace pass too. plan: only reads pass."
        " auto: all passes but what a deny rule names. A project's file can only make it stricter.",
    ] = "ask"
    allow: Annotated[tuple[str, ...], "Rules for calls that pass. Never from a project's file."] = ()
    ask: Annotated[tuple[str, ...], "Rules for calls that are asked about."] = ()
    deny: Annotated[tuple[str, ...], "Rules for calls that never run."] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sandbox(Section):
    """The walls around the commands that the model runs. A project's file can only make them thicker."""

    mode: Annotated[
        Literal["auto", "off", "require"],
        "auto: a sandbox where one works. off: none. require: no start without one.",
    ] = "auto"
    network: Annotated[bool, "Whether commands reach the network."] = False
    writable: Annotated[
        tuple[str, ...],
        "Folders besides the workspace that commands may write to. Never from a project's file.",
    ] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ui(Section):
    """How the terminal looks and what its keys do."""

    theme: Annotated[str, "A theme's name; /theme lists them."] = "prune-dark"
    mouse: Annotated[bool, "Whether the mouse scrolls, clicks and selects."] = True
    show_thinking: Annotated[bool, "Whether thinking is unfolded."] = False
    keys: Annotated[
        Mapping[str, str],
        'Other keys for an action: submit = "ctrl+s", several with commas, "none" for none. Never from a project\'s'
        " file.",
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keys and (wrong := key_problem(self.keys)):
            raise ValueError(f"keys.{wrong[0]}: {wrong[1]}")


SECTIONS: Mapping[str, Any] = {
    "model": Model,
    "models": Mapping[str, ModelFacts],
    "tools": Tools,
    "pruning": Pruning,
    "compaction": Compaction,
    "permissions": Permissions,
    "sandbox": Sandbox,
    "ui": Ui,
}
"""The sections by name, in the order in which they are shown."""


def _is_address(text: str) -> bool:
    """Whether this is an http(s) address with a host and without a user: a key never stands in an address."""
    scheme, _, rest = text.partition("://")
    host = rest.split("/", 1)[0]
    plain = text.isprintable() and text.isascii() and " " not in text
    return scheme in ("http", "https") and bool(host) and "@" not in host and plain
