"""Makes the sandbox of a directory from its configuration and the permission rules in effect.

Imported when a command may run, not at startup.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from prunecli.config.effective import Config
from prunecli.safety.permissions import path_patterns
from prunecli.safety.permissions.git import config_doubt
from prunecli.safety.permissions.places import holds_credentials, is_kept_inside, resolve
from prunecli.safety.permissions.rules import Rule, parse_rule
from prunecli.safety.permissions.verdict import Rules
from prunecli.safety.proposals.recovery import recover
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.layout import Ground, real
from prunecli.safety.sandbox.sandbox import Limits, Sandbox
from prunecli.safety.sandbox.scan import MAX_DEPTH, SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.util.paths import Places, absolute


def make_sandbox(
    config: Config,
    places: Places,
    cwd: Path,
    env: Mapping[str, str],
    rules: Callable[[], Rules],
    added: Callable[[], tuple[Path, ...]] = tuple,
) -> Sandbox:
    """Return the sandbox of a directory and of the folders `added` to it. `env` is the environment of commands.

    Files named by deny rules for reading are hidden like secrets. Allow rules make secrets of the workspace visible.
    """
    root, home, sandbox = os.path.realpath(cwd), os.path.realpath(places.home), config.sandbox
    patterns = [rule.pattern or "" for rule in _paths(rules().deny, "read")]

    @cache
    def scan(folder: str, depth: int = MAX_DEPTH) -> SecretScan:
        denied = path_patterns.namer(patterns, Path(folder), Path(home))
        return SecretScan(
            folder,
            lambda path: looks_secret(path) or denied(path),
            is_obeyed=lambda path: is_kept_inside(path[len(folder) :].lstrip("/")),
            depth=depth,
        )

    writable, readable = (
        real(
            end for path in paths if (end := absolute(path, places.home)) is not None and os.path.exists(end)
        )
        for paths in (sandbox.writable, sandbox.readable)
    )
    git_settings = [os.path.join(home, name) for name in (".gitconfig", ".config/git/config")]
    ground = Ground(
        root,
        home,
        (str(places.key_file), str(places.mcp_logins), str(places.data)),
        writable,
        scan(root),
        env,
        lambda path: _may_read(path, rules(), (root, *map(str, added())), home),
        lambda: [*_denied_paths(rules(), root, home), *filter(holds_credentials, git_settings)],
        added=lambda: tuple((str(folder), scan(str(folder))) for folder in added()),
        readable=readable,
        scan=scan,
        doubt=config_doubt,
    )
    return Sandbox(
        ground,
        # Landlock lets nothing be created at the top of the workspace, which is too strict unless the user asked for
        # it.
        lambda: choose(
            root, env, only="" if sandbox.mode == "require" else "bubblewrap", layers=places.layers
        ),
        network=sandbox.network,
        limits=Limits(sandbox.max_processes, sandbox.max_memory_mb, sandbox.max_file_mb),
        required=sandbox.mode == "require",
        notes=str(places.unchecked),
        recover=lambda: recover(places.layers),
    )


def _paths(texts: tuple[str, ...], *tools: str) -> list[Rule]:
    rules = map(parse_rule, texts)
    return [rule for rule in rules if rule.tool in tools and rule.pattern is not None]


def _may_read(path: str, rules: Rules, roots: tuple[str, ...], home: str) -> bool:
    place, user = resolve(path, Path(roots[0]), Path(home)), Path(home)
    allowed, denied = (
        [(rule.pattern or "", Path(root)) for rule in _paths(texts, "read") for root in roots]
        for texts in (rules.allow, rules.deny)
    )
    return any(path_patterns.allows(text, place, root, user, True) for text, root in allowed) and not any(
        path_patterns.matches(text, place, root, user) for text, root in denied
    )


def _denied_paths(rules: Rules, root: str, home: str) -> list[str]:
    """Return the fixed paths outside the workspace that deny rules for reading name."""
    patterns = (rule.pattern or "" for rule in _paths(rules.deny, "read"))
    found = (path_patterns.fixed_path(pattern, Path(root), Path(home)) for pattern in patterns)
    return [path for path in found if path and os.path.lexists(path)]
