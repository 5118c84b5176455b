"""The known state of one server: values that any thread may read, replaced at each change."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from prunecli.features.mcp.definition import Definition
from prunecli.model.messages import Json, Media
from prunecli.runtime.forms import Elicit
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from httpx2 import Auth

State: TypeAlias = Literal["starting", "connected", "failed", "disabled", "needs approval", "needs login"]
"""`starting` until the server has answered and its tools are listed."""

_LAST_LINES = 20
MAX_NAME = 128
"""Maximum characters of the name of a tool or a prompt, by the protocol's own rule."""


@frozen
class RemoteTool:
    """One tool of a server. `claims` is the server's own statement on the tool's effects, which is not checked."""

    name: str
    description: str
    schema: Mapping[str, Json]
    claims: str = ""


@frozen
class RemoteResource:
    """A resource that a server offers for reading, by its URI."""

    uri: str
    name: str
    description: str = ""


@frozen
class RemotePrompt:
    """A prompt that a server offers, with its arguments in order. True marks an argument that is required."""

    name: str
    description: str = ""
    arguments: tuple[tuple[str, bool], ...] = ()

    def given(self, text: str) -> dict[str, str]:
        """Return the arguments of a typed text, in order; quotes keep words together, and the last takes the rest.

        Raises a ValueError that explains how to call the prompt.
        """
        usage = " ".join(f"<{name}>" if needed else f"[{name}]" for name, needed in self.arguments)
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        if len(words) > len(self.arguments):
            if not self.arguments:
                raise ValueError("it takes no arguments")
            at = len(self.arguments) - 1
            words = [*words[:at], " ".join(words[at:])]
        given = dict(zip((name for name, _ in self.arguments), words, strict=False))
        if any(needed and name not in given for name, needed in self.arguments):
            raise ValueError(f"it needs {usage}")
        return given


@frozen
class Offer:
    """All that a connected server offers. `left_out` is a line on unusable items, or ""."""

    tools: tuple[RemoteTool, ...] = ()
    resources: tuple[RemoteResource, ...] = ()
    prompts: tuple[RemotePrompt, ...] = ()
    left_out: str = ""


@frozen
class Server:
    """The current state of one server. `why` is one line about its state, such as the last error. `origin` names the
    file that defines it. `log` are the last lines of its standard error and of reported problems."""

    name: str
    transport: str
    origin: str = ""
    state: State = "starting"
    why: str = ""
    offer: Offer = field(default_factory=Offer)
    log: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """Why the server can't be used. For a program, with its last words: the last line that names an error, or the
        last one."""
        lines = (
            [line for line in self.log[-_LAST_LINES:] if line.strip()] if self.transport == "stdio" else []
        )
        named = [line for line in lines if "error" in line.lower()]
        return ": ".join(filter(None, [self.why or self.state, *(named or lines)[-1:]]))


def usable(name: str) -> bool:
    """Return whether a name can be shown, called and used in a rule unchanged."""
    return bool(name) and len(name) <= MAX_NAME and name.isprintable() and " " not in name


@frozen
class World:
    """The surroundings of connections: the folder and environment for programs, the variables for definitions, how to
    log in at a URL, whom to ask a server's questions, and the media that the model accepts."""

    cwd: Path
    env: Mapping[str, str]
    environ: Mapping[str, str]
    auth: "Callable[[Definition], Auth | None]"
    elicit: Elicit
    media: Callable[[], Media] = Media


@frozen
class Wanted:
    """A configured server. `held` is the reason why it is not started: it is disabled, or waits for approval."""

    definition: Definition
    held: State | None = None
    why: str = ""
