"""Where things are: the one place that knows the folders of the package and of the user.

Nothing here reads a file's content or creates anything. The environment is read once, by `Places.of`.
"""

import os
import pwd
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

PACKAGE = Path(__file__).resolve().parent
_NOWHERE = Path("/nonexistent")
"""Stands for the home of somebody without one: nothing is found there and nothing can be written."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one user: `config` for what people write, `data` for what the program writes.

    `package` is the folder of the installed package, in which `themes`, `sample_config` and `shipped_data` are
    found; in a checkout the first two stand beside it.
    """

    home: Path
    config: Path
    data: Path
    package: Path = PACKAGE

    @staticmethod
    def of(environ: Mapping[str, str], platform: str = sys.platform, package: Path = PACKAGE) -> "Places":
        """The places that an environment names.

        config: $XDG_CONFIG_HOME/prunecli, else ~/.config/prunecli. data: $PRUNECLI_HOME, else
        ~/Library/Application Support/prunecli on macOS, else $XDG_DATA_HOME/prunecli, else
        ~/.local/share/prunecli. A relative path in a variable is passed over, as the XDG base directory
        specification says: it would lead into whatever directory the program was started in (CFG-04).
        """
        home = absolute(environ.get("HOME")) or _home_of_user()
        config = absolute(environ.get("XDG_CONFIG_HOME"), home) or home / ".config"
        if platform == "darwin":
            shared = home / "Library" / "Application Support"
        else:
            shared = absolute(environ.get("XDG_DATA_HOME"), home) or home / ".local" / "share"
        data = absolute(environ.get("PRUNECLI_HOME"), home) or shared / "prunecli"
        return Places(home, config / "prunecli", data, package)

    @property
    def config_file(self) -> Path:
        """What the user writes by hand; the program never writes to it."""
        return self.config / "config.toml"

    @property
    def settings_file(self) -> Path:
        """What `--save` writes."""
        return self.config / "settings.toml"

    @property
    def key_file(self) -> Path:
        """The API key of `prunecli login`, mode 0600."""
        return self.config / "key"

    @property
    def user_themes(self) -> Path:
        """The user's own themes, NAME.toml each."""
        return self.config / "themes"

    @property
    def user_strategies(self) -> Path:
        """The user's own pruning strategies, NAME.py each."""
        return self.config / "strategies"

    @property
    def trust_store(self) -> Path:
        """Which directories are trusted."""
        return self.data / "trust.json"

    @property
    def history_file(self) -> Path:
        """The prompts that were typed."""
        return self.data / "history.jsonl"

    @property
    def endpoints_file(self) -> Path:
        """Which optional fields of a request which endpoint refuses."""
        return self.data / "endpoints.json"

    @property
    def log_file(self) -> Path:
        """What was pruned and what came of it, a line each; no words of anybody's."""
        return self.data / "logs" / "prunecli.log"

    @property
    def sessions(self) -> Path:
        """All sessions; one folder for each directory."""
        return self.data / "sessions"

    @property
    def snapshots(self) -> Path:
        """The saved files of directories; one folder for each."""
        return self.data / "snapshots"

    def sessions_of(self, cwd: Path) -> Path:
        """The folder of the sessions that were started in `cwd`; links in `cwd` are followed."""
        return self.sessions / slug(cwd.resolve())

    @property
    def themes(self) -> Path:
        """The themes that come with the program."""
        return self._shipped("themes")

    @property
    def sample_config(self) -> Path:
        """sample-config.toml as it comes with the program."""
        return self._shipped("sample-config.toml")

    @property
    def shipped_data(self) -> Path:
        """The model table and the vocabulary."""
        return self.package / "data"

    def _shipped(self, name: str) -> Path:
        """A thing of the top level: in an installed package inside it, in a checkout beside it.

        Beside the package counts only where pyproject.toml says that this is a checkout: what lies around in
        site-packages under the same name is somebody else's.
        """
        beside = self.package.parent / name
        if (self.package.parent / "pyproject.toml").is_file() and beside.exists():
            return beside
        return self.package / name

    def shown(self, path: Path) -> str:
        """The path as people write it: with ~ for the home."""
        if self.home.parent != self.home and path.is_relative_to(self.home):
            return str(Path("~") / path.relative_to(self.home))
        return str(path)


def _home_of_user() -> Path:
    """What the password database says, for an environment without HOME."""
    try:
        return absolute(pwd.getpwuid(os.getuid()).pw_dir) or _NOWHERE
    except KeyError:
        return _NOWHERE


def absolute(text: str | None, home: Path | None = None) -> Path | None:
    """The path that a variable holds, or None where it is unset, empty or relative; `~/` is `home`."""
    if text and home is not None and (text == "~" or text.startswith("~/")):
        return home / text[2:]
    return Path(text) if text and os.path.isabs(text) else None


def slug(directory: Path) -> str:
    """A folder's name for an absolute directory: the end of its path, readable, and a checksum of all of it.

    The checksum keeps /a/b-c and /a-b/c apart; the readable part is at most 80 characters, so that the name
    fits every file system.
    """
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", str(directory)).strip("-.")[-80:].strip("-.")
    return f"{readable or 'root'}-{crc32(os.fsencode(directory)):08x}"


def names_in(folder: Path, suffix: str) -> tuple[str, ...]:
    """The names of a folder's files with this suffix (".toml"), sorted, without it; none where there is no folder.

    The rule of every thing that is added by a file: letters, digits, `_` and `-`, not beginning with `_` or `-`.
    Nothing is opened or imported.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return tuple(sorted(stem for stem in stems if is_name(stem)))


def is_name(text: str) -> bool:
    """Whether this can be the name of a theme, strategy or command: it can't lead out of its folder (CFG-10)."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", text) is not None
