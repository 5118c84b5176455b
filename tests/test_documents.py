"""README, docs/ and the READMEs of packages: links lead somewhere, and what they name exists."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from prunecli.cli.app import app
from prunecli.cli.flags import FLAGS, commands
from prunecli.commands.command import all_commands
from prunecli.config.schema import Schema
from prunecli.config.strategies import shipped_strategies

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "prunecli/**/README.md", "tests/**/README.md")
    for path in ROOT.glob(pattern)
)
FOR_USERS = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")))

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
every_user_page = pytest.mark.parametrize(
    "page", FOR_USERS, ids=lambda path: path.relative_to(ROOT).as_posix()
)

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
_SPAN = re.compile(r"`` (.+?) ``|`([^`\n]+(?:\n[^`\n]+)?)`")

FOLDERS = {"/dev", "/dev/shm", "/proc", "/run", "/tmp", "/var/tmp"}
"""Words that look like slash commands in the documents, and are folders."""
OTHER_PROGRAMS = (
    "git",
    "pip",
    "npm",
    "du",
    "ls",
    "grep",
    "rg",
    "~/litellm",
    "LITELLM_MASTER_KEY",
    "python",
    "uv",
)
"""Programs whose own flags the documents name."""


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the language and text of each block of code."""
    text = text_of(page)
    for match in _FENCED.finditer(text):
        yield match[1], match[2]
    for match in _INDENTED.finditer(_FENCED.sub("", text)):
        yield "", re.sub("^ {4}", "", match[0], flags=re.MULTILINE)


def spans(page: Path) -> list[str]:
    """Return the words in `code` of the prose and the tables."""
    prose = _INDENTED.sub("", _FENCED.sub("", text_of(page)))
    return [" ".join((match[1] or match[2]).replace(r"\|", "|").split()) for match in _SPAN.finditer(prose)]


def code_lines(page: Path) -> list[str]:
    """Return each line of a block and each span."""
    return [*(line.split(" #")[0] for _, block in blocks(page) for line in block.splitlines()), *spans(page)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for link in _LINK.findall(text_of(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@every_user_page
def test_every_slash_command_in_the_documents_exists(page: Path) -> None:
    known = {word for command in all_commands() for word in (command.name, *command.aliases)}
    for line in code_lines(page):
        named = re.match(r"/([a-z][a-z-]*)(?![\w/.:-])", line)
        if named and not any(line.startswith(folder) for folder in FOLDERS):
            assert named[1] in known, line


def test_every_strategy_is_in_the_documents() -> None:
    named = spans(ROOT / "docs" / "strategies.md")
    assert set(shipped_strategies(ROOT / "prunecli").names()) <= set(named)


def test_every_slash_command_is_in_the_documents() -> None:
    named = " ".join(spans(ROOT / "docs" / "commands.md"))
    missing = {command.name for command in all_commands() if not re.search(rf"/{command.name}\b", named)}
    assert missing == set()


@cache
def flags_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the flags of `prunecli WORDS`; those of the main command for none."""
    if not words:
        return frozenset(name for flag in FLAGS for name in flag.names) | {
            "--install-completion",
            "--help",
            "-h",
        }
    command = get_command(app)
    context = command.make_context("prunecli", list(words), resilient_parsing=True)
    for word in words:
        command = command.get_command(context, word)  # type: ignore[attr-defined]
        assert command is not None, words
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return frozenset(options) | {"--help", "-h"}


@cache
def subcommands(name: str) -> tuple[str, ...]:
    """Return the subcommands of a subcommand."""
    command = get_command(app)
    context = command.make_context("prunecli", [name], resilient_parsing=True)
    names = getattr(command.get_command(context, name), "list_commands", None)  # type: ignore[attr-defined]
    return tuple(names(context)) if names else ()


@every_user_page
def test_every_subcommand_and_flag_in_the_documents_exists(page: Path) -> None:
    everywhere = flags_of(()).union(*(flags_of((name,)) for name in commands()))
    everywhere |= {flag for name in commands() for sub in subcommands(name) for flag in flags_of((name, sub))}
    everywhere |= {flag for command in all_commands() for flag in re.findall("--[a-z-]+", command.help)}
    for line in code_lines(page):
        words = re.sub(r'"[^"]*"|\'[^\']*\'', "TEXT", line).split()
        flags = [re.sub("[=,;:|].*", "", word) for word in words if re.match("--[a-z]", word)]
        if not words or words[0].startswith(OTHER_PROGRAMS):
            continue
        if "prunecli" not in words:
            assert not words[0].startswith("--") or set(flags) <= everywhere, line
            continue
        rest = words[words.index("prunecli") + 1 :]
        chain = tuple(word for word in rest if re.fullmatch("[a-z]+", word))[:2]
        if not chain or chain[0] not in commands():
            assert chain[:1] in ((), ("help",)) or rest[0].startswith("-"), line
            assert set(flags) <= flags_of(()), line
            continue
        known = flags_of(()) | flags_of(chain[:1])
        if subs := subcommands(chain[0]):
            assert len(chain) < 2 or chain[1] in subs, line
            known |= flags_of(chain) if len(chain) == 2 else frozenset(everywhere)
        assert set(flags) <= known, line


def _leaves(table: dict[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in table.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))


@every_user_page
def test_every_key_of_the_configuration_in_the_documents_exists(page: Path) -> None:
    schema = Schema(shipped_strategies(ROOT / "prunecli"))
    for key in keys_in(page):
        assert schema.find(schema.resolve(key)) is not None, ".".join(key)


def keys_in(page: Path) -> Iterator[tuple[str, ...]]:
    """Yield the keys of the blocks of TOML, and of spans such as `[ui.keys]` and `[pruning] strategy`."""
    for language, block in blocks(page):
        if language in ("", "toml") and re.search(r"^\[+[a-z]", block, re.MULTILINE):
            yield from _leaves(tomllib.loads(block))
    for span in spans(page):
        if match := re.match(r'\[(?!tool\.)([a-z]+(?:\.[a-z_]+|\."\w+")*)\](?: ([a-z_.]+))?', span):
            key = [*match[1].replace('"', "").split("."), *(match[2] or "").split(".")]
            yield tuple(part for part in key if part)


PACKAGES = [
    path for path in PAGES if path.is_relative_to(ROOT / "prunecli") and "| module |" in text_of(path)
]
every_package = pytest.mark.parametrize(
    "page", PACKAGES, ids=lambda path: path.parent.relative_to(ROOT).as_posix()
)


@cache
def sources() -> tuple[str, ...]:
    return tuple(
        path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts
    )


def test_every_package_has_a_readme_with_a_table_of_its_modules() -> None:
    folders = {path.parent for path in (ROOT / "prunecli").rglob("*.py") if path.name != "__init__.py"}
    documented = {page.parent for page in PACKAGES}
    bare = {folder for folder in folders if documented.isdisjoint({folder, *folder.parents})}
    assert bare == {ROOT / "prunecli"}


@every_package
def test_every_module_is_in_the_table_of_its_package_with_what_would_be_lost_without_it(page: Path) -> None:
    inner = {other.parent for other in PACKAGES} - {page.parent}
    modules = {
        path.relative_to(page.parent).as_posix()
        for path in page.parent.rglob("*.py")
        if (path.name != "__init__.py" and inner.isdisjoint(path.parents)) or path.parent == page.parent
    } - {"__init__.py"}
    listed = set[str]()
    for row in re.findall(r"^\|(?! \*\*| ?-|---| module )(.*)\|$", text_of(page), re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]
        named = {name for name in re.findall(r"`([^`]+)`", cells[0]) if re.fullmatch(r"[\w/]+\.py", name)}
        assert not named or all(cells), row
        listed |= named
    gone = {name for name in listed if not (page.parent / name).is_file()}
    assert modules <= listed, f"not in the table: {modules - listed}"
    assert not gone, f"not in the folder: {gone}"


@every_page
def test_every_python_file_that_the_documents_name_exists(page: Path) -> None:
    for span in spans(page):
        if re.fullmatch(r"(?!src/|app\.py|check)[a-z]\w*(/\w+)*\.py", span) and "NAME" not in span:
            assert any(f"/{path}".endswith(f"/{span}") for path in sources()), span


@cache
def members() -> dict[str, set[str]]:
    """Return the names that the body of each class of the program has, by the class's name."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "prunecli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                parts = list(ast.walk(node))
                names = found.setdefault(node.name, set())
                for field in ("attr", "id", "name"):
                    names |= {
                        getattr(part, field) for part in parts if isinstance(getattr(part, field, None), str)
                    }
    return found


@every_package
def test_every_method_that_the_readmes_name_exists(page: Path) -> None:
    for span in spans(page):
        if match := re.fullmatch(r"([A-Z][a-z]\w*)\.([a-z_]\w*)(?:\(.*\))?", span):
            assert match[2] in members().get(match[1], set()) or match[1] in ELSEWHERE, span


ELSEWHERE = {"App", "Widget", "TextArea", "XTermParser"}
"""Classes of Textual that the README of the screen names."""


@pytest.mark.parametrize(
    ("name", "lines"), [("README.md", 150), ("AGENTS.md", 40), ("CONTRIBUTING.md", 100), ("CHANGELOG.md", 80)]
)
def test_the_documents_at_the_top_stay_short(name: str, lines: int) -> None:
    assert len(text_of(ROOT / name).splitlines()) <= lines


def test_the_readme_has_the_two_commands_that_the_gate_runs() -> None:
    text = text_of(ROOT / "README.md")
    assert re.search(r"^    python3 -m venv .*pytest.*$", text, re.MULTILINE)
    assert re.search(r"^    python3 -m venv .*/prunecli$", text, re.MULTILINE)


def _hook() -> ModuleType:
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_on_pypi_every_link_and_picture_of_the_readme_leads_to_the_repository() -> None:
    url = "https://example.com/somebody/prunecli"
    text = _hook().absolute(text_of(ROOT / "README.md"), url)
    assert f"]({url}/raw/HEAD/docs/pictures/session.svg)" in text
    assert f"]({url}/blob/HEAD/docs/pruning.md#the-default-policy)" in text
    assert [link for link in _LINK.findall(text) if not link.startswith("https://")] == []


def test_without_a_repository_the_readme_on_pypi_has_no_broken_link_or_picture() -> None:
    text = _hook().absolute(text_of(ROOT / "README.md"), "")
    assert _LINK.findall(text) == []
    assert "Permissions and the sandbox" in " ".join(text.split())


@pytest.mark.parametrize(
    ("origin", "url"),
    [
        ("https://github.com/somebody/prunecli.git", "https://github.com/somebody/prunecli"),
        ("git@github.com:somebody/prunecli.git", "https://github.com/somebody/prunecli"),
        ("ssh://git@codeberg.org/somebody/prunecli", "https://codeberg.org/somebody/prunecli"),
        ("/home/somebody/prunecli", ""),
    ],
)
def test_the_address_of_the_repository_is_that_of_its_origin(tmp_path: Path, origin: str, url: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", origin], check=True)
    assert _hook().repository(tmp_path) == url
