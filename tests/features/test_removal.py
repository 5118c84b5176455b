"""Each folder of features can be removed: the program starts and works, and nothing it says mentions the feature."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from prunecli.plugins.features import FOLDER, feature_names

ROOT = Path(__file__).parents[2]
WORDS = {
    "acp": ("acp ", "Agent Client Protocol"),
    "attachments": ("@ file",),
    "doctor": ("doctor",),
    "export": ("export",),
    "handoff": ("/handoff",),
    "hooks": ("hook",),
    "import_sessions": ("@claude", "@codex", "import"),
    "inspector": ("/context", "prunecli context", "Show the context of the next"),
    "jobs": ("/jobs", '"jobs"', "tool jobs"),
    "lsp": ("language server",),
    "mcp": ("mcp",),
    "money": ("/cost", "/prune-stats", "stats  "),
    "openai": ("provider openai", "groq", "cerebras"),
    "otel": ("telemetry", "otel."),
    "output_styles": ("output_style", "output style"),
    "plugin_list": ("/plugins", "plugins list", "List plugins"),
    "proxy": ("wrap  ", "attach  ", "prunecli wrap"),
    "replay": ("replay",),
    "rewind": ("rewind",),
    "skills_and_memory": ("skill", "/memory", "/init"),
    "status_line": ("statusline", "status_command"),
    "subagents": ("the subagent", "/agents", '"task"', "a task"),
    "titles": ("titles.model",),
    "todo_and_ask": ("to-do", "todo", '"name": "ask"'),
    "updates": ("updates.notice", "prunecli update"),
    "web": ("web_fetch", "tools.web"),
}
"""What only this feature is called, in small letters or not."""


def copied(to: Path, without: str = "") -> Path:
    """A copy of the package in a checkout of its own, without one feature."""
    to.mkdir(parents=True)
    for name in ("pyproject.toml", "themes", "docs", "sample-config.toml", "CHANGELOG.md"):
        (to / name).symlink_to(ROOT / name)
    package = FOLDER.parent
    ignore = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(package, to / "prunecli", ignore=ignore)
    (to / "prunecli" / "data").symlink_to(package / "data")
    if without:
        shutil.rmtree(to / "prunecli" / "features" / without)
    return to


def texts(folder: Path, without: str = "") -> dict[str, str]:
    """Everything that a copy of the program says of itself, by place."""
    copy = copied(folder / "copy", without)
    env = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.features.places", str(folder / "places")],
        cwd=copy,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def mentions(said: dict[str, str], words: tuple[str, ...]) -> list[tuple[str, str]]:
    """The places and lines that say one of these words."""
    return [
        (place, line.strip())
        for place, text in said.items()
        for line in text.replace("\\n", "\n").splitlines()
        if any(word.lower() in line.lower() for word in words)
    ]


@cache
def whole(folder: Path) -> dict[str, str]:
    return texts(folder)


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return whole(tmp_path_factory.mktemp("everything"))


def test_each_feature_is_known_here() -> None:
    assert set(WORDS) == set(feature_names())


@pytest.mark.parametrize("name", sorted(WORDS))
def test_a_removed_feature_leaves_no_trace(name: str, tmp_path: Path, everything: dict[str, str]) -> None:
    words = WORDS[name]
    silent = [word for word in words if not mentions(everything, (word,))]
    assert silent == [], "words that the whole program does not say prove nothing"
    assert mentions(texts(tmp_path, name), words) == []


PARTS_OF_TESTS = {
    "openai": ("openai_endpoint",),
    "acp": ("acp", "cli/test_output.py"),
    "doctor": ("plugins/test_commands.py",),
    "import_sessions": ("cli/test_importable.py", "tui/screens/test_handoff_picker.py"),
    "jobs": ("e2e/test_jobs.py",),
    "mcp": ("mcp", "e2e/test_mcp.py", "tools/test_mcp_tools.py", "tui/test_mcp.py"),
    "money": ("cli/test_stats.py", "commands/test_context_and_cost.py", "laws/test_usage.py"),
    "replay": ("cli/test_replay.py", "commands/test_trying.py", "replay"),
    "web": (
        *("agent/permissions/test_fetches.py", "e2e/test_web_fetch.py"),
        *("tools/test_web_fetch.py", "tools/web/test_page.py"),
    ),
}
"""Tests of a feature outside of tests/features/NAME, which leave with it."""


def about(name: str) -> list[str]:
    """The test modules that import a feature by its name: they test it, wherever they are."""
    tests = ROOT / "tests"
    imports = re.compile(rf"^(from|import) prunecli\.features\.{name}\b", re.MULTILINE)
    return [str(path.relative_to(tests)) for path in tests.rglob("*.py") if imports.search(path.read_text())]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(WORDS))
def test_the_rest_of_the_tests_pass_without_a_feature(name: str, tmp_path: Path) -> None:
    """Some minutes for each feature: run it by name."""
    copy = copied(tmp_path / "copy", name)
    left_out = (f"features/{name}", "features/test_removal.py", *PARTS_OF_TESTS.get(name, ()), *about(name))
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=ignore)
    words = [f"--ignore={copy / 'tests' / part}" for part in left_out]
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            *words,
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6_000:]
