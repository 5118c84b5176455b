"""What a slash command is, which there are, and the effects that it answers with.

A command's file defines `run(runtime, arguments)`, whose docstring is its help, and may define `ALIASES`. It
touches no screen: what should be seen or done there comes back as values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.errors import PrunecliError
from prunecli.paths import names_in
from prunecli.runtime import Runtime

NEAR = 0.6
"""From which similarity on, 0 to 1, a command is suggested for an unknown word."""


@dataclass(frozen=True, slots=True)
class Say:
    """Lines for the user, plain text."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; cells are plain text, numbers already formatted. `right` names right-aligned columns.

    `note` stands below them; a front end that reads lines has `lines_note` in its place where there is one.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    note: str = ""
    lines_note: str = ""


@dataclass(frozen=True, slots=True)
class ShowContext:
    """Let the user look at the context and edit it. A front end without a screen for that shows the table."""

    table: "Callable[[], Table]"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose from: `value` is what the command gets as its arguments when it is chosen."""

    value: str
    label: str
    detail: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True)
class Choose:
    """Let the user choose; the chosen value is run as `/command value`.

    `grave`: it allows something, so keys that were typed before it stood there must not choose. Esc means the last.
    """

    title: str
    command: str
    choices: tuple[Choice, ...]
    grave: bool = False


@dataclass(frozen=True, slots=True)
class PickSession:
    """Let the user look through all sessions and open one. `choose` gives a short list for where there is no screen;
    it reads the folder, and raises nothing."""

    choose: Callable[[], Choose]


@dataclass(frozen=True, slots=True)
class Submit:
    """Say this to the agent, as if typed."""

    text: str


@dataclass(frozen=True, slots=True)
class SetTheme:
    """Use this theme from now on."""

    name: str


@dataclass(frozen=True, slots=True)
class EditFile:
    """Open a file in $EDITOR; when it is closed, run `/then`."""

    path: Path
    then: str = ""


@dataclass(frozen=True, slots=True)
class SwitchSession:
    """Another session is in the runtime now: show it from its beginning."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Let the agent go on from where the session is, without a new prompt."""


@dataclass(frozen=True, slots=True)
class CompactNow:
    """Have the model summarise the older part of the session, with this focus."""

    focus: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """Put a text on the clipboard; `what` says in a few words which."""

    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration was read again: theme, keys and mouse follow it."""


@dataclass(frozen=True, slots=True)
class SetMouse:
    """Listen to the mouse from now on, or no longer."""

    on: bool


@dataclass(frozen=True, slots=True)
class AskSecret:
    """Ask for a line that nobody may read along; `then` gets it. Nothing is kept of it elsewhere."""

    title: str
    then: "Callable[[str], Sequence[Effect]]"


@dataclass(frozen=True, slots=True)
class FillPrompt:
    """Put a text into the prompt, to be changed and sent."""

    text: str


@dataclass(frozen=True, slots=True)
class RewindNow:
    """Go to the state right after record `seq`: the conversation, the files or both; then fill the prompt."""

    seq: int
    conversation: bool
    files: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class InThread:
    """Work that takes long: done in a thread while the keyboard goes on; then what it gives is done.

    `words` say what is being done. `work` may raise PrunecliError.
    """

    words: str
    work: "Callable[[], Sequence[Effect]]"


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the program."""


Effect: TypeAlias = (
    Say
    | Table
    | ShowContext
    | Choose
    | PickSession
    | Submit
    | SetTheme
    | EditFile
    | SwitchSession
    | GoOn
    | CompactNow
    | Copy
    | Reconfigured
    | SetMouse
    | AskSecret
    | FillPrompt
    | RewindNow
    | InThread
    | Quit
)
RunCommand: TypeAlias = Callable[[Runtime, str], Sequence[Effect]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its name without the slash; `help` is one line. A `stand_in` only says what to use instead of
    something that other agents have."""

    name: str
    help: str
    aliases: tuple[str, ...]
    run: RunCommand
    stand_in: bool = False


def command_names() -> tuple[str, ...]:
    """The names of all commands, without importing any."""
    stems = names_in(Path(__file__).parent, ".py")
    return tuple(stem.replace("_", "-") for stem in stems if stem != "command")


def load(name: str) -> Command:
    """The command of that name. Raises ImportError for a name that is not listed."""
    module = import_module(f"prunecli.commands.{name.replace('-', '_')}")
    text = (module.run.__doc__ or "").strip().split("\n")[0]
    return Command(
        name, text, tuple(getattr(module, "ALIASES", ())), module.run, getattr(module, "STAND_IN", False)
    )


def all_commands() -> tuple[Command, ...]:
    """Every command, for the menu and /help: those that do something first."""
    return tuple(sorted(map(load, command_names()), key=lambda command: command.stand_in))


def find(word: str) -> Command | None:
    """The command of a name or an alias."""
    names = command_names()
    if word in names:
        return load(word)
    return next((command for command in map(load, names) if word in command.aliases), None)


def run_line(runtime: Runtime, line: str) -> Sequence[Effect]:
    """Runs a typed line such as `/prune-config pi.prune_protect 20000`; errors come back as `Say`."""
    word, _, arguments = line.strip().removeprefix("/").partition(" ")
    command = find(word)
    if command is None:
        known = [name for one in all_commands() for name in (one.name, *one.aliases)]
        near = get_close_matches(word, known, 1, NEAR)
        return [
            Say(f"There is no /{word}." + (f" Did you mean /{near[0]}?" if near else " See /help."), "error")
        ]
    try:
        return command.run(runtime, arguments.strip())
    except PrunecliError as error:
        return [Say(f"{error.message}\n{error.hint}".strip(), "error")]


def switched(unheard: Sequence[str]) -> list[Effect]:
    """Another session is there. What the one before was told and has not heard comes back into the prompt; entries
    that it was to show again are that session's."""
    said = [words for words in unheard if not words.startswith("/restore ")]
    return [SwitchSession(), *([FillPrompt("\n\n".join(said))] if said else [])]
