"""A home, a working directory and a folder of toy strategies for the tests of the configuration."""

from dataclasses import dataclass
from pathlib import Path

from prunecli.config.effective import Config
from prunecli.config.sources import load
from prunecli.config.strategies import Strategies, StrategyFolder
from prunecli.config.typed import MistypedError
from prunecli.plugins.foreign import import_file
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places

PI = '''\
"""pi, as a toy."""

from dataclasses import dataclass
from typing import Annotated

from prunecli.util.by_project import ALLOWED


@dataclass(frozen=True)
class Options:
    prune_minimum: Annotated[int, "Tokens that are worth it.", (0, None), ALLOWED] = 20_000
    prune_protect: Annotated[int, "Tokens that stay.", ALLOWED] = 40_000
    protected_tools: Annotated[tuple[str, ...], "Tools that stay.", ALLOWED] = ()
'''

ADAPTIVE = '''\
"""adaptive, as a toy; its annotations are strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class SoftTrim:
    max_chars: Annotated[int, "Longer ones are cut."] = 4000
    head_chars: int = 1500


@dataclass(frozen=True)
class Options:
    soft_trim_ratio: Annotated[float, "When.", (0, 1)] = 0.3
    hard_clear_ratio: Annotated[float, "When.", (0, 1)] = 0.5
    soft_trim: SoftTrim = SoftTrim()
    budget: Annotated[int | None, "Half the window by default."] = None

    def __post_init__(self) -> None:
        if self.hard_clear_ratio < self.soft_trim_ratio:
            raise ValueError("hard_clear_ratio: expected at least soft_trim_ratio")
'''

PROPOSE = """

def propose(view, options):
    raise NotImplementedError
"""

MODULES = {
    "pi": PI,
    "adaptive": ADAPTIVE,
    "no_pruning": '"""Prunes nothing."""\n',
    "importance": (
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Options:\n"
        '    n: int = 10\n    function: str = ""\n'
    ),
}


def complaint(call, *arguments) -> str:
    """What a call says is wrong; "" where nothing is. Any other exception gets through."""
    try:
        call(*arguments)
    except (ConfigError, MistypedError) as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Desk:
    """Somebody's files: write them, then `load`."""

    root: Path
    places: Places
    cwd: Path
    strategies: Strategies

    def user(self, text: str | bytes) -> Path:
        """The user's config.toml."""
        return self._write(self.places.config_file, text)

    def settings(self, text: str) -> Path:
        """The machine's settings.toml."""
        return self._write(self.places.settings_file, text)

    def project(self, text: str, folder: Path | None = None) -> Path:
        """The project's file in a folder, by default in the working directory."""
        return self._write((folder or self.cwd) / ".prunecli" / "config.toml", text)

    def load(self, *sets: str, environ: dict[str, str] | None = None, **more) -> Config:
        """The configuration of the working directory."""
        return load(
            self.places, self.cwd, environ or {}, sets=sets, **{"strategies": self.strategies, **more}
        )

    def _write(self, path: Path, text: str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


def desk(root: Path) -> Desk:
    """A fresh one below `root`: the home `home`, the repository `repo`, the working directory `repo/src`."""
    folder, users = root / "strategies", root / "home/.config/prunecli/strategies"
    cwd = root / "repo" / "src"
    for path in (folder, users, cwd, root / "repo" / ".git"):
        path.mkdir(parents=True)
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text + PROPOSE)
    strategies = Strategies(
        (
            StrategyFolder(folder, lambda name: import_file(folder / f"{name}.py"), shipped=True),
            StrategyFolder(users, lambda name: import_file(users / f"{name}.py")),
        )
    )
    return Desk(root, Places.of({"HOME": str(root / "home")}, "linux"), cwd, strategies)
