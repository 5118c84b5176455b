"""What was agreed about the house, measured. The numbers change only with a reason in the same commit."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "prunecli"
FILES = sorted(PACKAGE.rglob("*.py"))

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_CLASS_LINES = 320
MAX_CIRCLE = 3
"""So many modules may need each other to be read: a value and the class that answers for it."""
ASYNC_ALLOWED = (
    "providers",
    "tools",
    "agent/attempts.py",
    "agent/hooks.py",
    "safety/proposals",
    "safety/sandbox",
    "agent/loop.py",
    "agent/execute.py",
    "agent/gatekeeper.py",
    "agent/proposing.py",
    "runtime",
    "commands",
    "tui",
    "front/effects.py",
    "front/headless",
    "front/plain",
    "features",
    "util/input_lines.py",
    "cli/launch.py",
    "library",
)
"""front ends and features; input_lines hands lines to them; launch holds what asyncio.run
gets; the gatekeeper asks."""
BLIND_EXCEPTS = {
    "__main__.py": 1,
    "agent/execute.py": 1,
    "plugins/foreign.py": 1,
    "library/agent.py": 1,
    "runtime/plugin_part.py": 1,
    "features/lsp/server.py": 1,
    "features/mcp/connection.py": 3,
    "features/replay/cluster.py": 1,
    "features/proxy/server.py": 3,
    "session/importers/remote.py": 1,
    "tools/files/media.py": 2,
    "tools/tool.py": 1,
    "tui/terminal.py": 1,
}
"""A tool's defect must not kill the run, and the proxy's must not break the program behind it; neither must a
strategy or a function of the user's, a plugin, a server, a bucket, a cluster's worker, or a damaged PDF. What a
permission callback raised is raised again once the run has ended, and what the thread that reads the keys raised is
reported by the application. The program reports in one line what nothing else has handled."""


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Parsed once for all tests; nothing changes it."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file."""
    return tuple(ast.walk(tree(path)))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_too_large() -> None:
    large = {
        name(path): n for path in FILES if (n := len(path.read_text("utf-8").splitlines())) > MAX_FILE_LINES
    }
    assert large == {}


def test_no_function_is_too_long() -> None:
    long = {
        f"{name(path)}:{function.name}": length(function)
        for path in FILES
        for function in functions(path)
        if length(function) > MAX_FUNCTION_LINES
    }
    assert long == {}


def test_the_fake_endpoint_imports_nothing_from_outside_its_folder() -> None:
    """So that it could be published by itself."""
    found = {
        line
        for path in (ROOT / "tests" / "endpoint").glob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if line.lstrip().startswith(("import ", "from "))
        and ("prunecli" in line or ("tests" in line and "tests.endpoint" not in line))
    }
    assert found == set()


def test_every_timer_is_one_that_fires() -> None:
    """Textual's own may never fire on a busy machine; `once` is for that."""
    asking = {
        name(path)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr == "set_timer"
    }
    assert asking == {"tui/slices.py"}


def test_no_class_is_too_long() -> None:
    long = {
        f"{name(path)}:{node.name}": length(node)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and length(node) > MAX_CLASS_LINES
    }
    assert long == {}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            yield child
            yield from outside_of_functions(child)


def imports_of_modules(sources: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Of each module those that it imports outside of its functions, also for the type checker alone."""
    found: dict[str, set[str]] = {one: set() for one in sources}
    for importer, source in sources.items():
        for node in outside_of_functions(source):
            if isinstance(node, ast.Import):
                found[importer].update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                found[importer] |= {part if part in sources else str(node.module) for part in parts}
        found[importer] &= sources.keys() - {importer}
    return found


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The modules that reach each other: strongly connected components, without those of one module."""

    @cache
    def reached(start: str) -> frozenset[str]:
        found: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph[ahead.pop()] - found
            found |= new
            ahead += new
        return frozenset(found)

    return {
        frozenset(other for other in reached(one) if one in reached(other))
        for one in graph
        if one in reached(one)
    }


def test_no_more_than_three_modules_need_each_other() -> None:
    found = circles(imports_of_modules({module(path): tree(path) for path in FILES}))
    assert [sorted(circle) for circle in found if len(circle) > MAX_CIRCLE] == []


def test_a_circle_is_found_through_imports_for_the_type_checker_and_not_through_those_of_functions() -> None:
    sources = {
        "p.a": "from p import b",
        "p.b": "if TYPE_CHECKING:\n    from p.c import C",
        "p.c": "try:\n    import p.a\nexcept ImportError:\n    pass",
        "p.d": "def f():\n    import p.e",
        "p.e": "import p.d, p.a",
    }
    graph = imports_of_modules({name: ast.parse(text) for name, text in sources.items()})
    assert circles(graph) == {frozenset({"p.a", "p.b", "p.c"})}


def test_async_stands_only_where_it_may() -> None:
    wrong = {
        name(path)
        for path in FILES
        for function in functions(path)
        if isinstance(function, ast.AsyncFunctionDef) and not name(path).startswith(ASYNC_ALLOWED)
    }
    assert wrong == set()


def test_blind_excepts_are_counted() -> None:
    found: dict[str, int] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception")
            ):
                found[name(path)] = found.get(name(path), 0) + 1
    assert found == BLIND_EXCEPTS


def test_what_catches_everything_only_tidies_up_and_raises_it_again() -> None:
    handlers = [
        (name(path), node)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Name)
        and node.type.id == "BaseException"
    ]
    swallowed = [
        where
        for where, node in handlers
        if not isinstance(node.body[-1], ast.Raise) or node.body[-1].exc is not None
    ]
    assert swallowed == []


def test_every_module_says_what_it_is() -> None:
    assert [name(path) for path in FILES if not ast.get_docstring(tree(path))] == []


@pytest.mark.parametrize("folder", ["context/strategies", "tools", "commands", "providers/available"])
def test_each_thing_that_is_added_by_a_file_is_tested(folder: str) -> None:
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    shared = {"__init__", "tool", "inputs", "registry", "command"}
    names = {path.stem for path in (PACKAGE / folder).glob("*.py")} - shared
    spellings = {stem: (stem, stem.replace("_", "-")) for stem in names}
    assert {stem for stem, ways in spellings.items() if not any(way in tests for way in ways)} == set()


def test_each_event_is_tested() -> None:
    events = {
        node.name for node in tree(PACKAGE / "model" / "events.py").body if isinstance(node, ast.ClassDef)
    }
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert {event for event in events if event not in tests} == set()


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running this."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"anthropic", "textual", "tiktoken", "httpx2", "pydantic", "markdown_it", "pygments", "yaml"}


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_import_nothing_heavy(flag: str) -> None:
    modules = loaded(f"from prunecli.__main__ import run; run(['{flag}'], {{}})")
    assert modules & HEAVY == set()


def test_the_version_needs_no_flags_and_a_start_with_flags_no_typer() -> None:
    asked = "from prunecli.__main__ import run; run({}, {{}})"
    assert (
        loaded(asked.format("['--version']")) & {"typer", "click", "dataclasses", "pathlib", "asyncio"}
        == set()
    )
    assert loaded(asked.format("['--theme', 'x', '-c', 'fix it']")) & {"typer", "click"} == set()
    assert loaded(asked.format("['-p', '--model', 'nope', 'fix it']")) & {"typer", "click"} == set()


@pytest.mark.parametrize(
    ("module", "may"),
    [
        ("prunecli.cli.launch", set()),
        ("prunecli.front.headless.run", set()),
        ("prunecli.library", set()),
        ("prunecli.providers.messages_api", set()),
        ("prunecli.runtime", set()),
        ("prunecli.tui.app", {"textual"}),
    ],
)
def test_importing_a_module_brings_no_more_than_it_may(module: str, may: set[str]) -> None:
    assert loaded(f"import {module}") & HEAVY - may == set()


def test_a_start_imports_no_extension() -> None:
    script = "import sys, prunecli.cli.launch, prunecli.runtime.make; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [one for one in done.stdout.split() if one == "yaml" or "_files" in one] == []


def test_the_core_knows_no_clock_no_chance_and_no_environment() -> None:
    banned = {"time", "datetime", "random", "os", "asyncio", "socket", "subprocess", "threading"}
    found = {
        f"{name(path)}: {module}"
        for path in FILES
        if name(path).startswith(("model/", "context/"))
        for node in nodes(path)
        for module in imported(node)
        if module in banned
    }
    assert found == set()


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").split(".")[0]]
    return []


ONLY_IN = {
    "anthropic": "providers/",
    "mcp": "features/mcp/",
    "mcp_types": "features/mcp/",
    "acp": "features/acp/",
    "textual": ("tui/", "features/"),
    "typer": ("cli/", "features/"),
    "tiktoken": "providers/tokenizer.py",
    "yaml": "agent/front_matter.py",
}


def test_each_large_dependency_is_imported_in_one_place() -> None:
    wrong = {
        f"{name(path)}: {module}"
        for path in FILES
        for node in nodes(path)
        for module in imported(node)
        if module in ONLY_IN and not name(path).startswith(ONLY_IN[module])
    }
    assert wrong == set()


DISTRIBUTIONS = {
    "agent-client-protocol": "acp",
    "backports.zstd": "backports",
    "charset-normalizer": "charset_normalizer",
    "markdown-it-py": "markdown_it",
    "pyyaml": "yaml",
    "tomli-w": "tomli_w",
}
"""Distributions whose module has another name."""
EXTRA = {
    *("mcp_types", "anyio", "pydantic", "PIL", "pypdf"),
    *("jsonschema", "jsonschema_specifications", "referencing", "html_to_markdown", "openai"),
    "opentelemetry",
}
"""Modules of the extras: libraries, and what their interfaces are made of."""


def test_what_is_declared_is_imported_and_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]}
    used = {module for path in FILES for node in nodes(path) for module in imported(node)}
    standard = {*sys.stdlib_module_names, "compression"}  # the latter since Python 3.14
    strangers = used - standard - {"prunecli", "_typeshed"} - EXTRA
    assert strangers == {DISTRIBUTIONS.get(one, one) for one in declared}


def test_every_dependency_has_a_lowest_and_a_first_version_that_is_too_high() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = r"[\w.-]+(\[\w+\])?>=[\d.]+,<[\d.]+(; python_version < '[\d.]+')?"
    assert [line for line in project["dependencies"] if not re.fullmatch(bounds, line)] == []
