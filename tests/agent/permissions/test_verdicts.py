"""What the judgement says of single lines and paths, by the table in `verdicts.txt`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prunecli.safety.permissions.verdict import Rules
from tests.agent.judged import Scene

TABLE = Path(__file__).with_name("verdicts.txt").read_text("utf-8")
SECTIONS = dict(section.split("\n", 1) for section in TABLE.split("\n= ")[1:])


@dataclass
class Settings:
    """What a section has set so far."""

    tool: str = "bash"
    modes: str = "ask"
    rules: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, name: str, value: str) -> None:
        match name:
            case "tool" | "modes":
                setattr(self, name, value)
            case "allow" | "deny":
                self.rules[name] = tuple(value.split(" ¦ ")) if value else ()
            case _:
                raise ValueError(name)


def cases(section: str) -> Iterator[tuple[Settings, str, str]]:
    """The kind and the line of each case, with the settings of its place."""
    now = Settings()
    for row in filter(None, section.splitlines()):
        kind, *lines = row.split(" ¦ ")
        if ":" in kind:
            now.take(*map(str.strip, row.split(":", 1)))
        else:
            yield from ((now, kind.strip(), line.replace("⏎", "\n")) for line in lines)


@pytest.mark.parametrize("title", SECTIONS)
def test_the_judgement_is_the_one_in_the_table(here: Scene, title: str) -> None:
    for now, kind, line in cases(SECTIONS[title]):
        judged = here.bash if now.tool == "bash" else here.edit
        for mode in now.modes.split():
            verdict = judged(line, mode=mode, rules=Rules(**now.rules))
            assert verdict.kind == kind, (now, mode, line, verdict.reason)
