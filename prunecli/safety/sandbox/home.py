"""Chooses the parts of the home folder that commands see: toolchains, package caches and git's configuration."""

import os
from collections.abc import Iterator, Mapping

from prunecli.tools.files.secret_paths import AT_HOME

_SHOWN = (
    *(
        ".gitconfig",
        ".config/git",
        ".cache",
        "Library/Caches",
        ".config/mise",
        ".config/go",
        ".tool-versions",
    ),
    *(".local/bin", ".local/lib", ".local/pipx", ".local/state/nix", ".nix-profile"),
    *(
        f".local/share/{name}"
        for name in ("uv", "pipx", "mise", "pnpm", "fnm", "rtx", "virtualenvs", "zinit")
    ),
    *(".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".fnm", ".volta", ".bun", ".deno"),
    *(".rustup", ".cargo/bin", ".cargo/env", ".cargo/config.toml", ".cargo/registry", ".cargo/git"),
    *("go/bin", "go/pkg", "sdk", ".sdkman/candidates", ".dotnet", ".nuget/packages", ".ghcup", ".opam"),
    *(".npm", ".yarn", ".pnpm-store", ".node-gyp", ".gem/ruby", ".bundle/cache", ".composer/cache"),
    *(".m2/repository", ".m2/wrapper", ".gradle/caches", ".gradle/wrapper", ".ivy2/cache", ".sbt/boot"),
    *(".coursier", ".pub-cache", ".cabal/bin", ".cabal/packages", ".cabal/store", ".stack/programs"),
    *(".mix", ".hex/packages", ".juliaup", ".julia/packages", ".conan2/p", ".conda/pkgs", ".ccache"),
    *(".terraform.d/plugin-cache", ".swiftpm/cache", ".zvm", ".elan"),
)
"""Folders and files that are shown, below the home folder. Credentials in them stay hidden."""
_VARIABLES = (
    *("GOPATH", "GOROOT", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME", "ANDROID_HOME", "PNPM_HOME", "npm_config_cache"),
)
"""Variables that name folders of toolchains and caches."""
_INSTALLED = ("bin", "sbin", "lib", "lib64", "libexec", "share", "include")
"""What lies beside a folder of programs and belongs to them."""
_ONLY_AT_HOME = (
    *(".claude", ".claude.json", ".codex", ".gemini", ".pi", ".qwen", ".cursor", ".copilot", ".continue"),
    *(".config/opencode", ".local/share/opencode", ".config/crush", ".local/share/crush", ".config/amp"),
    *(".local/share/amp", ".config/goose", ".local/share/goose", ".aider", ".factory", ".codeium"),
    *(".windsurf", ".docker", ".colima", ".lima", ".rd", ".var/app"),
    *(".npmrc", ".yarnrc.yml", ".netrc", ".pypirc", ".git-credentials", ".my.cnf", ".gem/credentials"),
    *(".cargo/credentials", ".cargo/credentials.toml"),
)
"""Other agents' folders, which are ordinary in a project, and files that programs read at startup."""


def shown_at_home(home: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the existing paths of the home folder that commands may read, as they are spelled, with their real
    paths."""
    wanted = [f"{home}/{name}" for name in _SHOWN]
    wanted += filter(None, (environ.get(name, "") for name in _VARIABLES))
    for folder in environ.get("PATH", "").split(os.pathsep):
        if folder.startswith(home + "/"):
            wanted += _installation(folder, home)
    inside = (path for path in wanted if path.startswith(home + "/"))
    return {path: os.path.realpath(path) for path in inside if os.path.exists(path)}


def _installation(folder: str, home: str) -> Iterator[str]:
    """Yield a folder of programs and what they need beside it: all of a hidden folder or environment, else `lib` and
    the like."""
    yield folder
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) not in ("bin", "sbin", "shims") or prefix in (
        home,
        os.path.join(home, ".local"),
    ):
        return
    below = os.path.relpath(prefix, home)
    whole = below.startswith(".") and "/" in below
    if whole or any(os.path.exists(os.path.join(prefix, name)) for name in ("pyvenv.cfg", "conda-meta")):
        yield prefix
    else:
        yield from (os.path.join(prefix, name) for name in _INSTALLED)


def secret_at_home(home: str) -> Iterator[str]:
    """Yield the existing paths below the home folder that are hidden even where the home folder is shown."""
    for name in (*AT_HOME, *_ONLY_AT_HOME):
        if os.path.lexists(path := f"{home}/{name}"):
            yield path
