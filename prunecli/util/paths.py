"""The folders of the package and of the user, which are defined only here.

Does not read or create files. The environment is read once, by `Places.of`.
"""

import os
import pwd
import re
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from prunecli.util.frozen import frozen
from prunecli.util.private_file import NO_HOME

PACKAGE = Path(__file__).resolve().parents[1]


@frozen
class Places:
    """The folders of one user: `config` for files that people write, `data` for those that prunecli writes.

    `package` is the folder of the installed package, which holds `themes` and `shipped_data`. In a
    checkout, the first two are beside it.
    """

    home: Path
    config: Path
    data: Path
    package: Path = PACKAGE

    @staticmethod
    def of(environ: Mapping[str, str], platform: str = sys.platform, package: Path = PACKAGE) -> "Places":
        """Return the places for an environment.

        config: $XDG_CONFIG_HOME/prunecli, else ~/.config/prunecli. data: $PRUNECLI_HOME, else
        ~/Library/Application Support/prunecli on macOS, else $XDG_DATA_HOME/prunecli, else
        ~/.local/share/prunecli. Relative paths in variables are ignored, as in the XDG base directory
        specification: they would depend on the directory that prunecli was started in.
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
        """The configuration that the user writes; prunecli never changes it."""
        return self.config / "config.toml"

    @property
    def settings_file(self) -> Path:
        """The settings that `--save` writes."""
        return self.config / "settings.toml"

    @property
    def key_file(self) -> Path:
        """The API key saved by `prunecli login`, mode 0600."""
        return self.config / "key"

    @property
    def mcp_logins(self) -> Path:
        """The logins at MCP servers, one file of mode 0600 each."""
        return self.config / "mcp-logins"

    @property
    def user_themes(self) -> Path:
        """The user's own themes, as NAME.toml."""
        return self.config / "themes"

    @property
    def user_strategies(self) -> Path:
        """The user's own pruning strategies, as NAME.py."""
        return self.config / "strategies"

    @property
    def user_plugins(self) -> Path:
        """The user's own plugins, as NAME.py."""
        return self.config / "plugins"

    @property
    def claude_plugins(self) -> Path:
        """The installed plugins of Claude Code, one folder for each, and their register."""
        return self.data / "claude-plugins"

    @property
    def user_tools(self) -> Path:
        """The user's own tools for the model, as NAME.py."""
        return self.config / "tools"

    @property
    def expectations_file(self) -> Path:
        """The user's own numbers behind `auto` and spill, as `prunecli replay --fit` writes them."""
        return self.config / "expectations.json"

    @property
    def trust_store(self) -> Path:
        return self.data / "trust.json"

    @property
    def approvals_file(self) -> Path:
        """The file of approved MCP servers, hooks and plugins of projects."""
        return self.data / "approvals.json"

    @property
    def rules_file(self) -> Path:
        """The permission rules kept for projects."""
        return self.data / "rules.json"

    @property
    def secrets(self) -> tuple[Path, ...]:
        """The files that tools must neither read nor write, regardless of the workspace."""
        return (self.key_file, self.mcp_logins, self.trust_store, self.approvals_file, self.rules_file)

    @property
    def clipped(self) -> Path:
        """The folder for images from the clipboard, until a session has them."""
        return self.data / "clipboard"

    @property
    def history_file(self) -> Path:
        """The history of typed prompts."""
        return self.data / "history.jsonl"

    @property
    def endpoints_file(self) -> Path:
        """The optional request fields that each endpoint rejects."""
        return self.data / "endpoints.json"

    @property
    def plugins_file(self) -> Path:
        """The entry points of plugins in each folder of packages, to be read again when the folder changes."""
        return self.data / "plugins.json"

    @property
    def log_file(self) -> Path:
        """One line for each prune with its effect; contains no message text."""
        return self.data / "logs" / "prunecli.log"

    @property
    def sessions(self) -> Path:
        """All sessions, one folder for each directory."""
        return self.data / "sessions"

    @property
    def jobs(self) -> Path:
        """The output of commands in the background, one folder for each."""
        return self.data / "jobs"

    @property
    def unchecked(self) -> Path:
        """Notes about sandboxed commands whose work was not checked yet, one file for each."""
        return self.data / "unchecked"

    @property
    def layers(self) -> Path:
        """What commands changed that nobody has answered yet, one folder for each round."""
        return self.data / "layers"

    @property
    def snapshots(self) -> Path:
        """The saved files, one folder for each directory."""
        return self.data / "snapshots"

    def sessions_of(self, cwd: Path) -> Path:
        """Return the folder of the sessions started in `cwd`. Follows symbolic links in `cwd`."""
        return self.sessions / slug(cwd.resolve())

    @property
    def themes(self) -> Path:
        """The themes shipped with prunecli."""
        return self._shipped("themes")

    @property
    def shipped_data(self) -> Path:
        """The model table and the tokenizer's vocabulary."""
        return self.package / "data"

    def _shipped(self, name: str) -> Path:
        """Return a top-level file or folder: inside an installed package, or beside it in a checkout.

        Only a pyproject.toml marks a checkout: files of the same name in site-packages belong to other packages.
        """
        beside = self.package.parent / name
        if os.path.isfile(self.package.parent / "pyproject.toml") and os.path.exists(beside):
            return beside
        return self.package / name

    def shown(self, path: Path, below: Path | None = None) -> str:
        """Return the path, relative if it lies below that folder, or with ~ for the home directory."""
        if below is not None and path.is_relative_to(below):
            return str(path.relative_to(below))
        if self.home.parent != self.home and path.is_relative_to(self.home):
            return str(Path("~") / path.relative_to(self.home))
        return str(path)


def _home_of_user() -> Path:
    """Return the home directory from the password database, for an environment without HOME."""
    try:
        return absolute(pwd.getpwuid(os.getuid()).pw_dir) or NO_HOME
    except KeyError:
        return NO_HOME


def absolute(text: str | None, home: Path | None = None) -> Path | None:
    """Return the path in a variable, or None if it is unset, empty or relative. `~/` means `home`."""
    if text and home is not None and (text == "~" or text.startswith("~/")):
        return home / text[2:]
    return Path(text) if text and os.path.isabs(text) else None


def worktrees_of(checkout: Path) -> Path:
    """Return the folder beside a checkout for the worktrees that `--worktree` makes."""
    return checkout.with_name(f"{checkout.name}.worktrees")


def worktree_name(directory: str) -> str:
    """Return the name of the worktree made by `--worktree` that a directory is or lies in; "" for none."""
    parts = Path(directory).parts
    return next((name for folder, name in pairwise(parts) if folder.endswith(".worktrees")), "")


def slug(directory: Path) -> str:
    """Return a folder name for an absolute directory: the readable end of its path and a checksum of the whole path.

    The checksum keeps /a/b-c and /a-b/c apart. The readable part has at most 80 characters, which every file system
    allows.
    """
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", str(directory)).strip("-.")[-80:].strip("-.")
    return f"{readable or 'root'}-{crc32(os.fsencode(directory)):08x}"


def names_in(folder: Path, suffix: str) -> tuple[str, ...]:
    """Return the sorted names of a folder's files with this suffix (".toml"), without it; none if there is no folder.

    Names consist of letters, digits, `_` and `-`, and start with a letter or digit. Opens and imports nothing. Raises
    OSError only for a folder of the package, which is there.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        if folder.is_relative_to(PACKAGE):
            raise
        return ()
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return tuple(sorted(stem for stem in stems if is_name(stem)))


def is_name(text: str) -> bool:
    """Return whether the text can name a theme, strategy or command. Such a name cannot lead out of its folder."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", text) is not None


@cache
def has_feature(name: str) -> bool:
    """Return whether the package has this folder of `features`, for what is drawn before any plugin is installed."""
    return (PACKAGE / "features" / name / "__init__.py").is_file()
