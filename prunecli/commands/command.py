"""Slash commands: the registry, and the effects that commands return.

Each command's file defines `run(runtime, arguments)`; the first docstring line is the command's help. The file may
define another `HELP`, `ALIASES`, and `NOT_IN` (see `Command.not_in`). Commands never touch the screen: they return
effects, and front ends carry them out.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from prunecli.config.keys import nearest
from prunecli.config.save import save
from prunecli.context.labels import act_words
from prunecli.plugins.app import Brought, Installed, resolved
from prunecli.plugins.features import features
from prunecli.plugins.foreign import ForeignFailed, begun, called
from prunecli.runtime import Runtime
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.frozen import frozen
from prunecli.util.paths import names_in
from prunecli.util.sanitize import one_line, shortened

if TYPE_CHECKING:
    from prunecli.context.impact import Impact

NEAR = 0.7
"""Minimum similarity, 0 to 1, for suggesting a command in place of an unknown word."""

COMMAND_SECONDS = 60.0
"""Seconds that a plugin's command may take; Esc stops the wait."""

GLANCE = "prunecli.runtime.plugin_part:glance"
"""What a plugin sees of a session; most sessions run no command of one."""

A_CENT = 0.01
"""USD from which an act is confirmed."""

MOST_SHOWN = 60
"""Characters to show of unknown arguments."""


@frozen
class Say:
    """Plain-text lines for the user."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


WORKING = Say("The agent is working. Esc to stop it.", "warning")
"""The answer to a command that needs an idle agent."""


@frozen
class Table:
    """Rows under headings. Cells are plain text with formatted numbers; `right` lists right-aligned columns.

    `note` appears below the rows; the plain interface shows `lines_note` instead if it is set. `below`, if given, has
    for each row the rows that a screen unfolds below it. `back` is the choice that Esc returns to. `from_end`: a
    screen shows the last rows first. `live`: a screen shows the newest rows.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    note: str = ""
    lines_note: str = ""
    below: "tuple[tuple[tuple[str, ...], ...], ...]" = ()
    back: "Choose | None" = None
    from_end: bool = False
    live: "Live | None" = None


@frozen
class Live:
    """How a table changes while it is shown.

    `watch` calls its argument in the caller's event loop after each change, and returns a function that ends this.
    `table` returns the table as it is now.
    """

    table: Callable[[], Table]
    watch: Callable[[Callable[[], object]], Callable[[], None]]


@frozen
class ShowScreen:
    """Open a screen. `screen` is a reference ("module:Class") to what makes it from `given`. Front ends without
    screens carry out `instead`."""

    screen: str
    given: tuple[object, ...]
    instead: "Callable[[], Sequence[Effect]]"


@frozen
class Choice:
    """One option of a choice. Selecting it passes `value` to the command as its arguments."""

    value: str
    label: str
    detail: str = ""
    current: bool = False


@frozen
class Choose:
    """Let the user choose; runs `/command value` with the chosen value.

    `grave`: the choice grants permission, so keys typed before it appeared are ignored. Esc selects the last option.
    `about` describes in lines what the permission is for, and is always shown in full.
    """

    title: str
    command: str
    choices: tuple[Choice, ...]
    grave: bool = False
    about: str = ""


@frozen
class Confirm:
    """Say in a line what an act does and costs, and carry out `then` once the user agrees. `verb` names the act."""

    line: str
    verb: str
    then: "Callable[[], Sequence[Effect]]"


@frozen
class PickSession:
    """Let the user browse all sessions and open one. With `agent`, such as @claude, show those of another agent.

    `choose` returns a short list for front ends without a screen; it reads the session folder and raises nothing.
    """

    choose: Callable[[], Choose]
    agent: str = ""


@frozen
class Submit:
    """Send this prompt to the agent, as if typed."""

    text: str


@frozen
class SetTheme:
    """Switch to this theme, then carry out the effects of `then`; an invalid theme changes nothing."""

    name: str
    then: "Callable[[], Sequence[Effect]]" = tuple


@frozen
class EditFile:
    """Open a file in $EDITOR, then run `/then`."""

    path: Path
    then: str = ""


@frozen
class SwitchSession:
    """The runtime has switched to another session; show it from the beginning."""


@frozen
class CompactNow:
    """Summarize the older part of the session, with this focus."""

    focus: str = ""


@frozen
class Copy:
    """Copy text to the clipboard; `what` describes it in a few words."""

    text: str
    what: str


@frozen
class Reconfigured:
    """The configuration was reloaded; update theme, keys and mouse."""


@frozen
class SetMouse:
    """Turn mouse support on or off."""

    on: bool


@frozen
class AskSecret:
    """Ask for a secret without showing or storing it, then pass it to `then`."""

    title: str
    then: "Callable[[str], Sequence[Effect]]"


@frozen
class FillPrompt:
    """Put text into the prompt for editing."""

    text: str


@frozen
class Work:
    """Work on the session: runs like a prompt, so that nothing else runs meanwhile and Esc stops it, and returns more
    effects. `words` describe it. It may raise PrunecliError."""

    words: str
    work: "Callable[[], Coroutine[Any, Any, Sequence[Effect]]]"


@frozen
class InThread:
    """Slow work: run `work` in a thread so the keyboard stays responsive, then carry out its effects.

    `words` describe the work. `work` may raise PrunecliError; `stop` is called if the user stops it, to end it soon.
    """

    words: str
    work: "Callable[[], Sequence[Effect]]"
    stop: Callable[[], None] = lambda: None


@frozen
class RunLine:
    """Run another command line, such as the next step after slow work."""

    line: str


@frozen
class Quit:
    """Exit the program."""


Effect: TypeAlias = (
    Say
    | Table
    | ShowScreen
    | Choose
    | Confirm
    | PickSession
    | Submit
    | SetTheme
    | EditFile
    | SwitchSession
    | CompactNow
    | Copy
    | Reconfigured
    | SetMouse
    | AskSecret
    | FillPrompt
    | Work
    | InThread
    | RunLine
    | Quit
)
RunCommand: TypeAlias = Callable[[Runtime, str], Sequence[Effect]]


@frozen
class Command:
    """A slash command; `name` has no slash, `help` is one line.

    `not_in` has each kind of front end in which it does not work ("headless", "editor"), with what to do instead.
    """

    name: str
    help: str
    aliases: tuple[str, ...]
    run: RunCommand
    not_in: Mapping[str, str]


def command_names(installed: Installed | None = None) -> tuple[str, ...]:
    """Return the names of all commands, found without importing any. What is `installed` is by default the
    features."""
    stems = names_in(Path(__file__).parent, ".py")
    own = (stem.replace("_", "-") for stem in stems if stem != "command")
    brought = (installed or features()).of("command")
    return tuple(sorted((*own, *(name for name in brought if " " not in name))))


def words_brought(name: str, installed: Installed | None = None) -> list[tuple[str, str]]:
    """Return the words that features add to a command, such as `try` to /prune-config, each with its help."""
    brought = (installed or features()).of("command").items()
    return [
        (one.removeprefix(f"{name} "), of.facts["help"]) for one, of in brought if one.startswith(f"{name} ")
    ]


def _module(name: str, installed: Installed | None) -> Any:
    brought = (installed or features()).of("command").get(name)
    return brought.load() if brought else import_module(f"prunecli.commands.{name.replace('-', '_')}")


def load(name: str, installed: Installed | None = None) -> Command:
    """Import a command by name. Raises ImportError if there is none."""
    brought = installed.of("command").get(name) if installed else None
    if installed and brought and brought.owner in installed.foreign:
        return _of_plugin(brought)
    module = _module(name, installed)
    text = getattr(module, "HELP", module.run.__doc__ or "").strip().split("\n")[0]
    more = "".join(f"; {word}: {what}" for word, what in words_brought(name, installed))
    text = f"{text.removesuffix('.')}{more}." if more else text
    return Command(name, text, getattr(module, "ALIASES", ()), module.run, getattr(module, "NOT_IN", {}))


def _of_plugin(one: Brought) -> Command:
    """Return the command of a plugin: a function of a `Glance` and the arguments. It runs in a thread of its own and
    returns effects or a text."""
    failed, function, text = "", None, one.facts["help"]
    try:
        function = called(one.load)
        function = getattr(function, "run", function)
        text = text or (function.__doc__ or "").strip().split("\n")[0]
    except ForeignFailed as error:
        failed = str(error)

    def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
        if function is None:
            return [Say(f"Plugin {one.owner}, /{one.name}: {failed}.", "error")]
        seen = resolved(GLANCE)(runtime, one.owner)
        answer = begun(lambda: function(seen, arguments))

        def work() -> Sequence[Effect]:
            try:
                return _effects_of(answer.result(COMMAND_SECONDS))
            except TimeoutError:
                why = f"took longer than {COMMAND_SECONDS:g} s"
            except (ForeignFailed, TypeError) as error:
                why = str(error)
            return [Say(f"Plugin {one.owner}, /{one.name}: {why}.", "error")]

        def stop() -> None:
            if not answer.done():
                answer.set_exception(ForeignFailed("stopped"))

        return [InThread(f"Running /{one.name}", work, stop)]

    return Command(one.name, text or f"From plugin {one.owner}.", (), run, {})


def _effects_of(answer: object) -> Sequence[Effect]:
    """Return what a plugin's command answered as effects. Raises TypeError for anything else."""
    if isinstance(answer, str):
        return [Say(answer)] if answer.strip() else []
    found = [] if answer is None else [answer] if isinstance(answer, Effect) else answer
    if isinstance(found, list | tuple) and all(isinstance(one, Effect) for one in found):
        return found
    raise TypeError(f"answered {type(answer).__name__}, neither a text nor effects")


def all_commands(installed: Installed | None = None) -> tuple[Command, ...]:
    return tuple(load(name, installed) for name in command_names(installed))


def offered(runtime: Runtime) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the name, help and aliases of every command: those of prunecli, then those of the user and the
    project."""
    commands, taken = all_commands(runtime.config.installed), _own_words(runtime)
    own = [(command.name, command.help, command.aliases) for command in commands]
    return [*own, *((name, text, ()) for name, text in _of_parts(runtime) if name not in taken)]


def _of_parts(runtime: Runtime) -> tuple[tuple[str, str], ...]:
    return runtime.parts.gather(lambda part: part.offered())


def hidden(runtime: Runtime) -> tuple[str, ...]:
    """Return a line for each command file and skill that one of prunecli's commands hides."""
    words = _own_words(runtime)
    return runtime.parts.gather(lambda part: part.hidden(words))


def _own_words(runtime: Runtime) -> frozenset[str]:
    return frozenset(
        name
        for command in all_commands(runtime.config.installed)
        for name in (command.name, *command.aliases)
    )


def arguments(runtime: Runtime, typed: str) -> Sequence[tuple[str, str]]:
    """Return the completions of the last word of a command line (without its slash), each with its detail. A command
    with completions defines `words(runtime, before)`; `before` is the arguments before the last word.
    """
    name, _, given = typed.partition(" ")
    installed = runtime.config.installed
    if name not in command_names(installed):
        return ()
    name, before = _longest(name, given.rpartition(" ")[0], installed)
    more = [] if before else words_brought(name, installed)
    brought = installed.of("command").get(name)
    foreign = brought and brought.owner in installed.foreign
    words = None if foreign else getattr(_module(name, installed), "words", None)
    found: Sequence[tuple[str, str]] = words(runtime, before) if words else ()
    return [*more, *found]


def _longest(name: str, arguments: str, installed: Installed) -> tuple[str, str]:
    """Return a command and its arguments. If the first of them is a word that a feature brought, it is part of the
    name: "prune-config try"."""
    word, _, rest = arguments.partition(" ")
    return (f"{name} {word}", rest) if f"{name} {word}" in installed.of("command") else (name, arguments)


def find(word: str, installed: Installed | None = None) -> Command | None:
    """Return the command with this name or alias, if any."""
    if word in command_names(installed):
        return load(word, installed)
    return next((command for command in all_commands(installed) if word in command.aliases), None)


_THEIRS: Mapping[str, str] = {
    **dict.fromkeys(("share", "unshare"), "/export html writes one file to send."),
    **dict.fromkeys(("diff", "changes"), "Type !git diff."),
    **dict.fromkeys(("approvals", "policies", "yolo"), "Type /permissions."),
    **dict.fromkeys(("compress", "summarize"), "Type /compact."),
    **dict.fromkeys(("continue", "chat"), "Type /resume."),
    **dict.fromkeys(("tasks", "bashes", "ps", "shells", "stop"), "Type /jobs."),
    **dict.fromkeys(("connect", "auth"), "Type /login."),
    **dict.fromkeys(("about", "session"), "Type /status."),
    **dict.fromkeys(("docs", "hotkeys", "keybindings", "commands"), "Type /help."),
    **dict.fromkeys(("name", "title"), "Type /rename."),
    **dict.fromkeys(("settings", "experimental", "profile", "tools"), "Type /config."),
    **dict.fromkeys(("checkpoint", "timeline"), "Type /rewind."),
    **dict.fromkeys(("thinking", "variants", "fast"), "Type /effort."),
    **dict.fromkeys(("btw", "clone", "side"), "Type /fork, which goes on in a copy."),
    **dict.fromkeys(("directory", "dir"), "Type /add-dir."),
    **dict.fromkeys(("extensions", "apps"), "Type /plugins."),
    **dict.fromkeys(("upgrade", "release-notes", "changelog"), "Run prunecli update."),
    **dict.fromkeys(("bug", "debug", "feedback"), "Type /doctor."),
    "chrome": "Type /mcp: a server can drive a browser.",
    "color": "Type /theme.",
    "debug-config": "Run prunecli config show.",
    "editor": "Press Ctrl+G.",
    "ide": "Run prunecli acp from the editor.",
    "import": "Run prunecli sessions import FILE.",
    "insights": "Type /usage.",
    "logout": "Run prunecli login, which replaces the key.",
    "mention": "Type @ and the file's name.",
    "personality": "Type /output-style.",
    "pr-comments": "Type !gh pr view --comments.",
    "q": "Type /quit.",
    "reload-plugins": "Type /reload.",
    "reset": "Type /new.",
    "sandbox": "Start prunecli with --sandbox MODE.",
    "security-review": "Type /review and what to look for.",
    "terminal-setup": "Run prunecli doctor, which checks the terminal.",
}
"""What to type here for the slash commands of other agents."""


def run_line(runtime: Runtime, line: str) -> Sequence[Effect]:
    """Run a typed line such as `/prune-config pi.prune_protect 20000`. Errors come back as `Say`."""
    word, _, arguments = line.strip().removeprefix("/").partition(" ")
    installed = runtime.config.installed
    command = find(word, installed)
    if command is None and (effects := runtime.parts.command(word, arguments.strip())) is not None:
        return effects
    if command is None:
        known = [*sorted(_own_words(runtime)), *(name for name, _ in _of_parts(runtime))]
        near = nearest(word, known, NEAR)
        way = _THEIRS.get(word) or (f"Did you mean /{near}?" if near else "See /help.")
        return [Say(f"No command named /{word}. {way}", "error")]
    try:
        name, given = _longest(command.name, arguments.strip(), installed)
        return load(name, installed).run(runtime, given.strip())
    except PrunecliError as error:
        return [Say(f"{error.message}\n{error.hint}".strip(), "error")]


def unquoted(text: str) -> str:
    """Return a name or path without the quotes around it, which commands do not need."""
    return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text


def weighed(
    runtime: Runtime, effect: "Impact", verb: str, act: Callable[[], Sequence[Effect]], more: str = ""
) -> Sequence[Effect]:
    """Say what an act on the context does and costs, and carry it out: at once if it costs next to nothing, else once
    the user has agreed. An act that costs nothing is carried out without a word before it. `more` is what else it
    does."""
    line = " · ".join(filter(None, (act_words(effect, runtime.policy.limit), more)))
    if asks_first(runtime, effect):
        return [Confirm(line, verb, act)]
    return [*([Say(line)] if is_costly(effect) or (effect.change and effect.change.cost) else []), *act()]


def asks_first(runtime: Runtime, effect: "Impact") -> bool:
    """Return whether the user wants to be asked before an act with this effect."""
    wanted = runtime.config.ui.confirm
    return wanted == "always" or (wanted == "costly" and is_costly(effect))


def is_costly(effect: "Impact") -> bool:
    """Return whether an act costs a cent or more, or thinking."""
    cost = effect.change.cost if effect.change else None
    return effect.lost.blocks > 0 or (cost or 0.0) >= A_CENT


def refuse(command: str, surplus: Sequence[str], takes: str = "no arguments") -> None:
    """Raise UsageError if there are arguments that a command does not take. `takes` describes those that it takes."""
    if surplus:
        given = shortened(one_line(" ".join(surplus)), MOST_SHOWN)
        raise UsageError(f"/{command} {given}: unknown argument", f"/{command} takes {takes}")


def on_or_off(command: str, arguments: str, *, now: bool) -> tuple[bool, bool]:
    """Return whether "on", "off" or nothing, which changes what is so `now`, turns something on, and whether to save
    that. Raises UsageError."""
    words = [word for word in arguments.split() if word != "--save"]
    refuse(
        command, words[1:] if words[:1] in (["on"], ["off"]) else words, "on or off, with --save to keep it"
    )
    return (words == ["on"] if words else not now), "--save" in arguments.split()


def kept(runtime: Runtime, key: str, value: str) -> str:
    """Save the value of an option, and return that in a sentence. Raises ConfigError."""
    note = save(runtime.setup.places, runtime.config, key, value)
    return f"Saved{note and f'; {note}'}."


def switched(unheard: Sequence[str]) -> list[Effect]:
    """Return the effects of switching sessions. Messages still queued in the old session return to the prompt, except
    those that restore its entries."""
    said = [words for words in unheard if not words.startswith("/restore ")]
    return [SwitchSession(), *([FillPrompt("\n\n".join(said))] if said else [])]
