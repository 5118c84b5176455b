"""Writes plugins into a test's own folder, and starts a runtime that finds them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from prunecli.model.signals import Notice, SessionEvent
from prunecli.runtime import Runtime
from tests.scripted import Scripted
from tests.starting import start

OPTIONS = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Options:
        word: str = "hi"
"""
TOOL = """
    from dataclasses import dataclass
    from typing import Annotated
    from prunecli.tools.tool import text_output

    class Shout:
        name = "shout"
        description = "Shouts."
        parallel = True

        @dataclass(frozen=True)
        class Input:
            words: Annotated[str, "What to shout."]

        def summary(self, given):
            return str(given.get("words", ""))

        async def run(self, given, context):
            return text_output(given.words.upper())
"""


def write(folder: Path, name: str, text: str, within: str = "home/.config/prunecli/plugins") -> Path:
    """Write a plugin of the user, or a file elsewhere below the test's folder."""
    path = folder / within / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def plugin(folder: Path, name: str, body: str, before: str = "") -> Path:
    """Write a plugin of the user whose `install(app)` has this body."""
    return write(folder, name, f"{dedent(before)}\ndef install(app):\n    {dedent(body)}\n")


def configure(folder: Path, text: str) -> None:
    path = folder / "home" / ".config" / "prunecli" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def began(folder: Path, script: Sequence[Scripted] = (), **more: Any) -> tuple[Runtime, list[str]]:
    """A runtime, and the lines that it tells the user as it goes."""
    runtime, said = start(folder, script, **more), list[str]()

    def handle(event: SessionEvent) -> None:
        if isinstance(event, Notice):
            said.append(event.text)

    runtime.session.subscribe(handle)
    return runtime, said


Answer = Callable[[Runtime], object]
