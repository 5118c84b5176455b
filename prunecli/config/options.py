"""The options of the core: one frozen class for each section of config.toml. Features and plugins bring others.

A field is `Annotated[type, "What it does.", ALLOWED]`, with a pair (lowest, highest) if it has bounds, and its
default value. `ALLOWED` lets a project's file set it; `Refused` gives the reason why not, as `refused` of a class
does for everything in it.
sample-config.toml, `config show` and all error messages are derived from these classes.
"""

from collections.abc import Mapping
from dataclasses import field
from ipaddress import ip_address
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlsplit

from prunecli.model.requests import CacheTtl
from prunecli.tools.registry import default
from prunecli.util.bindings import problem as key_problem
from prunecli.util.by_project import ALLOWED, Refused
from prunecli.util.frozen import frozen
from prunecli.util.hosts import problem as host_problem
from prunecli.util.sanitize import without_password

Ratio: TypeAlias = Annotated[float, (0, 1)]
Count: TypeAlias = Annotated[int, (1, None)]
Size: TypeAlias = Annotated[int, (0, None)]
Price: TypeAlias = Annotated[float, (0, None)]

THINKING_FLOOR = 1024
"""The endpoint rejects a smaller thinking budget."""


@frozen
class Model:
    """The model and its endpoint."""

    refused: ClassVar[str] = "it decides where prompts and key go, or what a run costs"

    name: Annotated[str, "Model name or alias: opus, sonnet, haiku, demo."] = "sonnet"
    provider: Annotated[str, "Provider: anthropic (any Messages API endpoint) or demo."] = "anthropic"
    base_url: Annotated[str, "URL of the endpoint; empty: the provider's default."] = ""
    endpoint: Annotated[
        str,
        "A known endpoint, for its address, key and header: openrouter, bedrock, ollama, ... (docs/models.md).",
    ] = ""
    allow_http: Annotated[
        bool,
        "Allow http:// to another machine: prompts and key travel unencrypted.",
    ] = False
    transport: Annotated[
        Literal["http", "sdk"],
        "How requests are sent: http (directly), or sdk (slower; the anthropic SDK, for proxies, certificates and "
        "sign-ins that only it knows).",
    ] = "http"
    max_tokens: Annotated[
        Count | None, "Maximum tokens of one response; if unset, the model table decides."
    ] = None
    thinking: Annotated[
        Size,
        "Thinking budget of one response in tokens: 0 (none) or at least 1024. Newer models use effort.",
    ] = 0
    effort: Annotated[
        Literal["default", "low", "medium", "high", "xhigh", "max"],
        "How hard the model tries; /effort lists the levels of the current model.",
    ] = "default"
    cache_ttl: Annotated[CacheTtl, "How long the endpoint keeps a cached prompt."] = "5m"

    def __post_init__(self) -> None:
        if 0 < self.thinking < THINKING_FLOOR:
            raise ValueError(f"thinking: expected 0 or at least {THINKING_FLOOR}, got {self.thinking}")
        if self.max_tokens is not None and self.thinking >= self.max_tokens:
            raise ValueError(
                f"thinking: expected fewer than max_tokens ({self.max_tokens}), got {self.thinking}"
            )
        if problem := address_problem(self.base_url, allow_http=self.allow_http):
            raise ValueError(problem)
        if not self.name.strip() or not self.name.isprintable():
            raise ValueError(f"name: expected a model name, got {self.name!r}")


@frozen
class Prices:
    """A model's prices in US dollars per million tokens. The model table fills in unset ones."""

    refused: ClassVar[str] = "it hides what a run costs"

    input: Annotated[Price | None, "Uncached input."] = None
    output: Annotated[Price | None, "Output, including thinking."] = None
    cache_read: Annotated[Price | None, "Input read from the cache."] = None
    cache_write_5m: Annotated[Price | None, "Input cached for five minutes."] = None
    cache_write_1h: Annotated[Price | None, "Input cached for one hour."] = None


@frozen
class ModelFacts:
    """Corrections and additions to the model table, and where to reach the model if not at `[model]`."""

    refused: ClassVar[str] = "it decides where prompts and key go, or what a run costs"
    example: ClassVar[Mapping[str, str]] = {"": "my-model"}

    context_window: Annotated[Count | None, "Context window in tokens."] = None
    prices: Annotated[Prices, "US dollars per million tokens."] = Prices()
    provider: Annotated[str, "The model's provider; if unset, that of its endpoint or of [model]."] = ""
    endpoint: Annotated[str, "The model's endpoint, one of the known ones (docs/models.md)."] = ""
    base_url: Annotated[str, "URL of the model's endpoint."] = ""
    wire: Annotated[str, "The protocol, for a provider that has several."] = ""


@frozen
class Tools:
    """The model's tools and their limits."""

    enabled: Annotated[
        tuple[str, ...],
        "Enabled tools; phi-core's names (read_file, write_file, edit_file, search, list_files) work too.",
        ALLOWED,
    ] = field(default_factory=default)
    max_output_bytes: Annotated[
        Count, "Maximum bytes of one tool result.", Refused("it decides what a run costs")
    ] = 100_000
    bash_timeout: Annotated[float, (0.1, 86_400), "Timeout of a command in seconds.", ALLOWED] = 120.0


@frozen
class Spill:
    """How much of a long result is sent, decided once before its first send. The log keeps everything, and recall
    returns it."""

    enabled: Annotated[bool, "Shorten long results before they are sent.", ALLOWED] = True
    level: Annotated[
        Literal["normal", "strong"], "Caps: normal, or strong, which also cuts what edits need.", ALLOWED
    ] = "normal"
    bash: Annotated[
        Size | None, "Tokens of a command's output to send; 0: all. If unset, the level decides.", ALLOWED
    ] = None
    print: Annotated[
        Size | None, "The same for a command that only prints files, such as cat or sed -n.", ALLOWED
    ] = None
    read: Annotated[
        Size | None, "The same for a whole file; parts that the model asks for stay whole.", ALLOWED
    ] = None
    search: Annotated[Size | None, "The same for grep, find and ls.", ALLOWED] = None
    other: Annotated[Size | None, "The same for all other tools.", ALLOWED] = None


@frozen
class Inputs:
    """Whether auto also shortens the inputs of old calls, such as an edit's old text."""

    enabled: Annotated[
        bool, "Shorten the inputs of old calls while the cache is cold. recall returns them.", ALLOWED
    ] = True


@frozen
class Pruning:
    """What to prune from the context, and when. Each strategy has its own [pruning.NAME]."""

    enabled: Annotated[bool, "Prune automatically. /prune and prun work either way.", ALLOWED] = True
    strategy: Annotated[
        str | tuple[str, ...],
        "Strategy name, or a list of names to run in order. auto prunes what costs more to keep than to fetch again.",
        ALLOWED,
    ] = "auto"
    gate: Annotated[
        Literal["always", "cache_aware"],
        "When to prune: always at once, or when it is worth rewriting the prompt cache.",
        ALLOWED,
    ] = "cache_aware"
    engage_ratio: Annotated[
        Ratio,
        "Share of the compaction limit above which the gate also counts the cost of a compaction, and auto may prune"
        " at a prompt. It does not force a prune.",
        ALLOWED,
    ] = 0.75
    context_tokens: Annotated[Count, "Context window in tokens for unknown models.", ALLOWED] = 200_000
    estimator: Annotated[
        Literal["tiktoken", "chars4"],
        "Token estimator: a vocabulary, or characters divided by four (more for Chinese, Japanese and Korean).",
        ALLOWED,
    ] = "tiktoken"
    order: Annotated[
        Literal["newest", "oldest"], "Which exchanges the model's prun calls remove first.", ALLOWED
    ] = "newest"
    memo: Annotated[
        Literal["once", "each"], "Insert the memo of a prun call once, or for each dropped exchange.", ALLOWED
    ] = "once"
    nudge: Annotated[
        bool, "Suggest prun to the model when much old output of its own is sent to a cold cache.", ALLOWED
    ] = False
    spill: Annotated[Spill, "Caps on results, in tokens."] = Spill()
    inputs: Annotated[Inputs, "Inputs of old calls."] = Inputs()

    @property
    def strategies(self) -> tuple[str, ...]:
        return (self.strategy,) if isinstance(self.strategy, str) else self.strategy

    def __post_init__(self) -> None:
        if not self.strategies:
            raise ValueError("strategy: expected at least one name (no_pruning prunes nothing), got []")


@frozen
class Compaction:
    """When to summarize the middle of a long session, and what to keep."""

    enabled: Annotated[bool, "Compact automatically. /compact works either way.", ALLOWED] = True
    max_context_tokens: Annotated[
        Count, "Context limit in tokens; the model's window if that is smaller.", ALLOWED
    ] = 200_000
    compact_at_pct: Annotated[Ratio, "Share of the limit at which to compact.", ALLOWED] = 0.85
    keep_first_turns: Annotated[Size, "User turns to keep at the start.", ALLOWED] = 2
    keep_recent_turns: Annotated[Size, "User turns to keep at the end.", ALLOWED] = 4
    keep_user_chars: Annotated[
        Size, "Characters of user messages that the summary quotes verbatim.", ALLOWED
    ] = 20_000
    on_return: Annotated[
        Literal["offer", "auto", "off"],
        "A summary on return to a long session whose cache expired, if it costs less: offer, auto or off.",
        ALLOWED,
    ] = "offer"
    ahead: Annotated[
        bool,
        "Prepare that summary shortly before the cache expires, when it is cheap. On the screen only.",
        Refused("it spends money while you are away"),
    ] = False


@frozen
class Permissions:
    """What may run without asking. Rules from all files add up; deny beats ask, ask beats allow."""

    mode: Annotated[
        Literal["ask", "edits", "plan", "auto"],
        "ask: runs reads and harmless commands. edits: also runs edits in the workspace. plan: runs reads only."
        " auto: runs everything except what deny rules block. A project file can only make it stricter.",
        ALLOWED,
    ] = "ask"
    allow: Annotated[
        tuple[str, ...], "Rules for calls that run without asking.", Refused("it allows calls")
    ] = ()
    ask: Annotated[tuple[str, ...], "Rules for calls that need your approval.", ALLOWED] = ()
    deny: Annotated[tuple[str, ...], "Rules for calls that never run.", ALLOWED] = ()


@frozen
class Sandbox:
    """The sandbox for the model's commands. A project file can only make it stricter."""

    mode: Annotated[
        Literal["auto", "off", "require"],
        "auto: use a sandbox if one works. off: use none. require: refuse to start without one.",
        ALLOWED,
    ] = "auto"
    network: Annotated[
        bool | tuple[str, ...],
        'Let commands use the network: false, true, or a list of hosts such as ["pypi.org", "*.pythonhosted.org"].',
        ALLOWED,
    ] = False
    proposals: Annotated[
        bool,
        "In ask mode, run commands before asking, on a layer over the workspace, and ask about what they changed.",
        Refused("it lets commands run before you are asked"),
    ] = True
    writable: Annotated[
        tuple[str, ...],
        "Folders outside the workspace that commands may write to.",
        Refused("it opens folders to commands"),
    ] = ()
    readable: Annotated[
        tuple[str, ...],
        "Folders and files of the home folder that commands may read. The sandbox hides the others, except toolchains"
        " and package caches.",
        Refused("it opens folders to commands"),
    ] = ()
    max_processes: Annotated[
        Size,
        "Maximum number of the user's processes while a command runs; 0: no limit.",
        Refused("it lifts a limit on commands"),
    ] = 4096
    max_file_mb: Annotated[
        Size,
        "Maximum size in megabytes of each file that a command writes, in /tmp as elsewhere; 0: no limit.",
        Refused("it lifts a limit on commands"),
    ] = 10_000
    max_memory_mb: Annotated[
        Size,
        "Maximum data size of each process in megabytes; 0: no limit.",
        Refused("it lifts a limit on commands"),
    ] = 0

    def __post_init__(self) -> None:
        for name, paths in (("writable", self.writable), ("readable", self.readable)):
            for path in paths:
                if not (path.startswith(("/", "~/")) or path == "~") or ".." in path.split("/"):
                    raise ValueError(f"{name}: expected a path that starts with / or ~/, got {path!r}")
        hosts = self.network if isinstance(self.network, tuple) else ()
        if wrong := next(filter(None, map(host_problem, hosts)), ""):
            raise ValueError(f"network: {wrong}")


@frozen
class Ui:
    """Appearance and keys of the terminal interface."""

    example: ClassVar[Mapping[str, Mapping[str, str]]] = {"keys": {"submit": "ctrl+s"}}

    theme: Annotated[str, "Theme name; /theme lists them.", ALLOWED] = "prune-dark"
    mouse: Annotated[bool, "Use the mouse to scroll, click and select.", ALLOWED] = True
    editing: Annotated[
        Literal["plain", "vim"],
        "Keys of the prompt: plain or vim; /vim switches.",
        Refused("it changes what your keys do"),
    ] = "plain"
    show_thinking: Annotated[bool, "Show thinking unfolded.", ALLOWED] = False
    confirm: Annotated[
        Literal["costly", "always", "never"],
        "Ask before prunes and undos: costly (a cent or more, or thinking lost), always or never.",
        Refused("it decides what is done without a question"),
    ] = "costly"
    keys: Annotated[
        Mapping[str, str],
        'Keys for an action: submit = "ctrl+s"; several separated by commas; "none" for no key.',
        Refused("it could rebind the key that allows a call"),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keys and (wrong := key_problem(self.keys)):
            raise ValueError(f"keys.{wrong[0]}: {wrong[1]}")


@frozen
class Plugins:
    """Plugins, and the features of prunecli itself."""

    disabled: Annotated[
        tuple[str, ...],
        "Plugins and features to switch off, such as mcp. Takes effect when prunecli starts again.",
        Refused("it switches off what protects you"),
    ] = ()


SECTIONS: Mapping[str, Any] = {
    "model": Model,
    "models": Mapping[str, ModelFacts],
    "tools": Tools,
    "pruning": Pruning,
    "compaction": Compaction,
    "permissions": Permissions,
    "sandbox": Sandbox,
    "plugins": Plugins,
    "ui": Ui,
}
"""The sections of the core by name, in the order of `config show`; features and plugins bring others."""


def address_problem(url: str, *, allow_http: bool) -> str:
    """Return what is wrong with the URL of an endpoint, "" if nothing is."""
    shown = without_password(url)
    if url and not _is_address(url):
        return f"base_url: expected an http or https URL, got {shown!r}"
    if url and not allow_http and _is_unencrypted(url):
        return (
            f"base_url: {shown!r} sends prompts and key unencrypted to another machine; "
            "use https, or set model.allow_http = true"
        )
    return ""


def _is_address(text: str) -> bool:
    """Return whether this is an http(s) URL with a host and without a user: no key belongs in a URL."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # an unclosed bracket or no valid port
        return False
    plain = text.isprintable() and text.isascii() and " " not in text
    known = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return known and "@" not in parts.netloc and plain


def _is_unencrypted(url: str) -> bool:
    """Return whether requests to the address leave this machine without TLS."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme != "http" or host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True
