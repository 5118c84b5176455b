"""Getting a plugin of Claude Code: from a folder or a git repository, into a folder of our own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prunecli.config.claude_plugins import (
    MANIFEST,
    ClaudePlugin,
    digest_of,
    files_of,
    forget,
    manifest,
    name_of,
    read_object,
    register,
)
from prunecli.util.errors import ConfigError, UsageError
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places
from prunecli.util.private_file import make_private
from prunecli.util.sanitize import one_line

MARKETPLACE = ".claude-plugin/marketplace.json"
CLONE_SECONDS = 120
_URL = re.compile(r"(?:https://|ssh://|git@[\w.-]+:)[^\s\0-\x1f]+")
_SAFE = (
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
)


@frozen
class Candidate:
    """A plugin in a temporary or the user's own folder, before it is approved."""

    name: str
    root: Path
    source: str
    digest: str
    commit: str
    version: str
    entry: str = ""

    def lines(self) -> list[str]:
        """Return a line for everything that it brings; programs that it would start in full."""
        plugin = ClaudePlugin(self.name, self.root, self.source, self.digest)
        found = []
        for kind in ("commands", "agents", "skills"):
            marker = "SKILL.md" if kind == "skills" else "*.md"
            files = [path for folder in plugin.folders(kind) for path in sorted(folder.rglob(marker))]
            names = [path.parent.name if kind == "skills" else path.stem for path in files]
            found += [f"{kind}: {', '.join(names)}"] if names else []
        for path in plugin.hook_files():
            if path.is_file():
                found += [f"hook: {line}" for line in _commands(read_object(path).get("hooks"))]
        found += [f"MCP server: {line}" for line in _servers(plugin)]
        return [one_line(line) for line in found]


@contextmanager
def fetched(source: str, wanted: str = "") -> Iterator[Candidate]:
    """Yield the plugin of a folder or an address, `wanted` by name from a marketplace. Raises UsageError and
    ConfigError."""
    if _URL.fullmatch(source):
        with TemporaryDirectory(prefix="prunecli-plugin-") as folder:
            checkout = Path(folder, "plugin")
            _git(
                "clone",
                "--quiet",
                "--depth=1",
                "--no-recurse-submodules",
                "--template=",
                "--",
                source,
                str(checkout),
            )
            yield _candidate(checkout, source, wanted)
        return
    path = Path(source).expanduser()
    if not path.is_dir():
        raise UsageError(
            f"{source}: no such folder", "give a folder, an https:// or an ssh:// address of a repository"
        )
    yield _candidate(path.resolve(), str(path.resolve()), wanted)


def _candidate(top: Path, source: str, wanted: str) -> Candidate:
    root = _in_marketplace(top, source, wanted) if wanted or not (top / MANIFEST).is_file() else top
    digest, name = digest_of(root), name_of(root)
    commit = _git("-C", str(top), "rev-parse", "HEAD").strip() if (top / ".git").exists() else ""
    version = str(manifest(root).get("version") or "")[:40]
    made = Candidate(name, root, source, digest, commit, version, wanted)
    if not made.lines():
        raise UsageError(
            f"{source}: not a plugin: it contains nothing to install",
            f"a plugin has {MANIFEST}, commands, agents or skills",
        )
    return made


def _in_marketplace(top: Path, source: str, wanted: str) -> Path:
    """Return the folder of a plugin that a marketplace lists; the folder itself if it is none."""
    if not (top / MARKETPLACE).is_file():
        if wanted:
            raise UsageError(
                f"{source}: no marketplace, so it has no plugin {wanted!r}", f"it has no {MARKETPLACE}"
            )
        return top
    listed = read_object(top / MARKETPLACE).get("plugins")
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    names = {str(one.get("name")): one.get("source") for one in entries}
    if wanted not in names:
        known = one_line(", ".join(sorted(names)))
        raise UsageError(
            f"{source}: a marketplace; name one of its plugins",
            f"prunecli plugins add {source} NAME: {known}",
        )
    place = names[wanted]
    if not isinstance(place, str):
        raise UsageError(
            f"{wanted}: its source is another repository", f"add that one: {one_line(str(place))[:200]}"
        )
    folder = Path(os.path.realpath(top / place))
    if not folder.is_relative_to(os.path.realpath(top)) or not folder.is_dir():
        raise ConfigError(
            f"{top / MARKETPLACE}: {wanted}: source: not a folder in the marketplace: {place!r:.200}"
        )
    return folder


def install(places: Places, found: Candidate) -> ClaudePlugin:
    """Copy a plugin into our own folder and record it. Raises ConfigError if it changed meanwhile, OSError."""
    folder = places.claude_plugins / f"{found.name}-{found.digest[:16]}"
    make_private(places.claude_plugins)
    shutil.rmtree(folder, ignore_errors=True)
    for path in files_of(found.root):
        to = folder / path.relative_to(found.root)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to, follow_symlinks=False)
    if digest_of(folder) != found.digest:
        shutil.rmtree(folder, ignore_errors=True)
        raise ConfigError(f"{found.root}: changed while it was read; nothing was installed")
    made = ClaudePlugin(
        found.name, folder, found.source, found.digest, found.commit, found.version, found.entry
    )
    register(places, made)
    return made


def remove(places: Places, plugin: ClaudePlugin) -> None:
    """Forget a plugin and delete its copy. Raises OSError."""
    forget(places, plugin.name)
    shutil.rmtree(plugin.root, ignore_errors=True)


def _commands(hooks: object) -> Iterator[str]:
    """Yield the commands and addresses in a table of hooks, however it is formed."""
    if isinstance(hooks, dict):
        for key, value in hooks.items():
            if key in ("command", "url") and isinstance(value, str):
                yield value
            else:
                yield from _commands(value)
    elif isinstance(hooks, list):
        for value in hooks:
            yield from _commands(value)


def _servers(plugin: ClaudePlugin) -> Iterator[str]:
    for name, entry in plugin.server_table().items():
        table = entry if isinstance(entry, dict) else {}
        given = table.get("args")
        words = [table.get("command") or table.get("url") or "", *(given if isinstance(given, list) else ())]
        yield f"{name}: {' '.join(map(str, words))}"


def _git(*words: str) -> str:
    """Run git without hooks, submodules and the protocols that run programs. Raises UsageError."""
    options = [word for setting in _SAFE for word in ("-c", setting)]
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            ["git", *options, *words],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=CLONE_SECONDS,
            env=env,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed", "install git, or give a folder") from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"git {words[0]}: no answer in {CLONE_SECONDS} s", "clone it yourself and give the folder"
        ) from None
    if done.returncode:
        said = one_line((done.stderr.strip().splitlines() or ["failed"])[-1])
        raise UsageError(f"git: {said}", "clone it yourself and give the folder")
    return done.stdout
