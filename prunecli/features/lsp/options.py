"""`[lsp.NAME]` and `[format.NAME]` of the configuration, and the language servers that need no configuration."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import Annotated, Any, ClassVar, TypeAlias

from prunecli.config.effective import Config
from prunecli.providers.registry import Finding
from prunecli.util.frozen import frozen
from prunecli.util.programs import find_beside


@frozen
class LanguageServer:
    """A language server, which is asked for new errors after an edit of its files. It is started in the sandbox with
    a read-only workspace and no network; where there is no sandbox, only if its command stands here. Used where they
    are installed: pyright or basedpyright, typescript-language-server or TypeScript 7, gopls, rust-analyzer, clangd.
    """

    refused: ClassVar[str] = "it names a program to run"
    example: ClassVar[Mapping[str, Any]] = {"": "zls", "command": ("zls",), "files": ("*.zig",)}

    command: Annotated[
        tuple[str, ...], "The program and its arguments, with LSP on its standard streams."
    ] = ()
    files: Annotated[tuple[str, ...], "File names or patterns, such as *.zig."] = ()
    enabled: Annotated[bool, "Ask this server."] = True
    wait: Annotated[
        float, "Seconds that an edit waits for errors; later ones follow as a notice.", (0, 60)
    ] = 5.0
    warnings: Annotated[bool, "Report warnings too."] = False


@frozen
class Formatter:
    """A formatter that runs after an edit, in the sandbox. It reads the file from standard input and writes the
    result to standard output; $FILE is the file's path."""

    refused: ClassVar[str] = "it names a program to run"
    example: ClassVar[Mapping[str, Any]] = {
        "": "gofmt",
        "command": ("gofmt",),
        "files": ("*.go",),
    }

    command: Annotated[tuple[str, ...], "The program and its arguments."] = ()
    files: Annotated[tuple[str, ...], "File names or patterns, such as *.zig."] = ()
    enabled: Annotated[bool, "Run this formatter."] = True

    def __post_init__(self) -> None:
        if not self.command or not self.files:
            raise ValueError("command: expected command and files")


Servers: TypeAlias = Mapping[str, LanguageServer]
Formatters: TypeAlias = Mapping[str, Formatter]

KNOWN: Mapping[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    "pyright": (
        (("basedpyright-langserver", "--stdio"), ("pyright-langserver", "--stdio")),
        ("*.py", "*.pyi"),
    ),
    "typescript": (
        (
            ("typescript-language-server", "--stdio"),
            ("tsc", "--lsp", "--stdio"),
        ),  # since 7, TypeScript is one
        ("*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"),
    ),
    "gopls": ((("gopls",),), ("*.go",)),
    "rust-analyzer": ((("rust-analyzer",),), ("*.rs",)),
    "clangd": (
        (("clangd", "--log=error"),),
        ("*.c", "*.h", "*.cc", "*.hh", "*.cpp", "*.hpp", "*.cxx", "*.hxx"),
    ),
}
"""The servers that are used if they are installed: commands, of which the first that starts is used, and files."""

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
    ".rs": "rust",
    ".h": "cpp",
    **dict.fromkeys((".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx"), "cpp"),
}
"""Names of languages in the protocol that are not the ending of the file."""


@frozen
class Wanted:
    """A server to use: its name, the commands to look for, and its options. `configured`: the user named its
    program."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    options: LanguageServer
    configured: bool


def server_for(path: str, servers: Servers) -> Wanted | None:
    """Return the server for a file, the user's before the known ones."""
    every = {**servers, **{name: LanguageServer() for name in KNOWN if name not in servers}}
    for name, one in every.items():
        wanted = _wanted(name, one)
        if one.enabled and _names(path, wanted.options.files):
            return wanted
    return None


def _wanted(name: str, options: LanguageServer) -> Wanted:
    commands, files = KNOWN.get(name, ((), ()))
    commands = (options.command,) if options.command else commands
    return Wanted(name, commands, replace(options, files=options.files or files), bool(options.command))


def programs_of(wanted: Wanted, path: str, cwd: str) -> list[tuple[str, ...]]:
    """Return the commands of a server that are installed, outside of the workspace if they are found by name."""
    found = [
        (program if os.path.isabs(program) else find_beside(path, program, cwd), arguments)
        for program, *arguments in wanted.commands
    ]
    return [(program, *arguments) for program, arguments in found if program]


def findings(config: Config) -> list[Finding]:
    """Return what `prunecli doctor` says of the servers."""
    servers, path, cwd = config.section("lsp"), os.environ.get("PATH", ""), os.getcwd()
    found, missing = list[str](), list[str]()
    for name, one in {**dict.fromkeys(KNOWN, LanguageServer()), **servers}.items():
        wanted = _wanted(name, one)
        if one.enabled and programs_of(wanted, path, cwd):
            found.append(name)
        elif one.enabled and name in servers:
            missing.append(f"{name} ({one.command[0] if one.command else 'no command'})")
    said = ", ".join(found) or "none on your PATH; errors after an edit are not reported"
    if missing:
        hint = "install them, or correct [lsp] in config.toml"
        return [Finding("language servers", "problem", f"not installed: {', '.join(missing)}", hint)]
    return [Finding("language servers", "ok", said)]


def formatters_for(path: str, formatters: Formatters) -> Iterator[tuple[str, Formatter]]:
    """Yield the formatters of a file, in their order."""
    return ((name, one) for name, one in formatters.items() if one.enabled and _names(path, one.files))


def language_of(path: str) -> str:
    """Return the name of the file's language in the protocol."""
    ending = os.path.splitext(path)[1].lower()
    return _LANGUAGES.get(ending, ending.removeprefix("."))


def wrong(key: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with a value of a server or formatter."""
    if key[2] in ("command", "files") and isinstance(value, Sequence) and not any(value):
        yield key, "expected at least one word"


def _names(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(os.path.basename(path), pattern) for pattern in patterns)
