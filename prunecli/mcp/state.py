"""What is known of one server: values that any thread may read, made anew at each change."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prunecli.model.messages import Json

State: TypeAlias = Literal["starting", "connected", "failed", "disabled", "needs approval", "needs login"]
"""`starting` until the server has answered and its tools are listed."""

MAX_NAME = 128
"""Characters of the name of a tool or a prompt, as the protocol's own rule has it."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """One tool of a server. `claims` is what the server says of its effects, in words; nobody checks it."""

    name: str
    description: str
    schema: Mapping[str, Json]
    claims: str = ""


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """Something a server lets one read, by its URI."""

    uri: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt of a server: its arguments in order, with those that must be given first marked by True."""

    name: str
    description: str = ""
    arguments: tuple[tuple[str, bool], ...] = ()

    def given(self, text: str) -> dict[str, str]:
        """The arguments of a typed text, in order; quotes keep words together, and the last takes the rest.

        Raises ValueError that says how to call it.
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


@dataclass(frozen=True, slots=True)
class Offer:
    """All that a connected server offers. `left_out` says in a line what of it cannot be used, or is ""."""

    tools: tuple[RemoteTool, ...] = ()
    resources: tuple[RemoteResource, ...] = ()
    prompts: tuple[RemotePrompt, ...] = ()
    instructions: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """One server as it is now. `why` is one line about its state, such as the last error; `origin` names the file
    that defines it; `log` are the last lines of its standard error and of what went wrong."""

    name: str
    transport: str
    origin: str = ""
    state: State = "starting"
    why: str = ""
    offer: Offer = field(default_factory=Offer)
    log: tuple[str, ...] = ()


def usable(name: str) -> bool:
    """Whether a name can be shown, called and written into a rule as it is."""
    return bool(name) and len(name) <= MAX_NAME and name.isprintable() and " " not in name
