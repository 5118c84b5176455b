"""The examples of docs/plugins.md work as they stand: as a file, and as a package that pip installs from a folder."""

import ensurepip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.config.references import chosen
from prunecli.model.events import ToolResult
from prunecli.model.messages import ToolUse, plain_text
from prunecli.plugins.app import MOMENTS, App
from prunecli.plugins.discovery import of_user
from prunecli.runtime import Runtime
from tests.context.talk import Talk, seqs, tokens
from tests.plugins.test_installing import places_of
from tests.plugins.written import began, configure, write
from tests.scripted import calls, says

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text("utf-8")
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NAMES = ("todos", "budget", "old_first")
EXAMPLES = dict(zip(NAMES, CODE, strict=True))
(PROJECT,) = re.findall(r"^```ini\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)

BUILD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.hatch.build.targets.wheel]
include = ["NAME.py"]
"""
"""Builds without the network; setuptools, the default, would be fetched."""


async def uses_the_tool(runtime: Runtime) -> None:
    (runtime.setup.cwd / "a.py").write_text("x = 1  # TODO: two\n")
    await runtime.submit("What is left?")
    found = [record.event for record in runtime.session.records]
    texts = [plain_text(one.content) for one in found if isinstance(one, ToolResult)]
    assert texts[0] == "1: x = 1  # TODO: two"
    assert "gone" in texts[1]


async def shows_the_segment(runtime: Runtime) -> None:
    assert runtime.status().more == ("$2.00 left",)


async def runs_the_strategy(runtime: Runtime) -> None:
    strategy = chosen(runtime.config, "old_first")
    assert strategy.options.keep_tokens == 100
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(90), path="a")
    talk.step("read", tokens(90), path="b")
    talk.seen()
    proposal = strategy.strategy.propose(talk.view(), strategy.options)
    assert seqs(proposal) == [old]
    talk.apply(proposal, "old_first")
    assert strategy.strategy.propose(talk.view(), strategy.options).edits == ()


SHOWN = dict(zip(NAMES, (uses_the_tool, shows_the_segment, runs_the_strategy), strict=True))
SCRIPT = [calls(ToolUse("t1", "find_todos", {"path": "a.py"}), ToolUse("t2", "find_todos", {"path": "gone"}))]


@pytest.mark.parametrize("name", NAMES)
async def test_an_example_works_as_a_file(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, EXAMPLES[name])
    configure(tmp_path, "[budget]\nusd = 2\n" if name == "budget" else "")
    sets = ["pruning.strategy=old_first", "pruning.old_first.keep_tokens=100"] if name == "old_first" else []
    runtime, said = began(tmp_path, [*SCRIPT, says("One.")], sets=sets)
    assert runtime.config.notices == ()
    await SHOWN[name](runtime)
    assert said == []


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_at_most_30_lines(name: str) -> None:
    assert len(EXAMPLES[name].splitlines()) <= 30


def test_the_page_has_each_verb_and_each_moment() -> None:
    ours = {"close", "part", "widget", "sessions"}
    verbs = {name for name in vars(App) if not name.startswith("_")} - ours
    assert set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)) == verbs
    table = PAGE.partition("## The moments")[2]
    assert tuple(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == MOMENTS
    assert len(PAGE.splitlines()) <= 150


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_example_works_as_a_package(tmp_path: Path, name: str) -> None:
    folder, site, home = tmp_path / "folder", tmp_path / "site", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (folder / f"{name}.py").write_text(EXAMPLES[name])
    (folder / "pyproject.toml").write_text(BUILD.replace("NAME", name) + PROJECT.replace("budget", name))
    (pip,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(pip), *sys.path]),
    }
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--target", str(site))
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(folder)], env=env, check=True)
    assert [one.source for one in of_user(places_of(tmp_path), [str(site)])] == [f"prunecli_{name} 1.0"]
    env["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT)])
    run = [sys.executable, "-P", "-m", "prunecli", "plugins", "list"]
    done = subprocess.run(run, env=env, cwd=folder, check=True, capture_output=True, text=True)
    row = done.stdout.splitlines()[1].split()
    assert row[:3] == [name, "package", "on"]
