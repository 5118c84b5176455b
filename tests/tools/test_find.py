"""The find tool: names, in order, in bounded number."""

import asyncio
from pathlib import Path

import pytest

from tests.tools.calling import Caller


@pytest.fixture
def tree(workspace: Path) -> Path:
    for name in (
        "a.py",
        "src/b.py",
        "src/deep/c.py",
        "src.d/d.py",
        "build/e.py",
        ".hidden/f.py",
        "src/py/g.txt",
    ):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
    (workspace / ".gitignore").write_text("build\n")
    (workspace / ".git").mkdir()
    (workspace / ".git" / "x.py").touch()
    (workspace / "link.py").symlink_to("a.py")
    (workspace / "loop").symlink_to(".")
    return workspace


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ".hidden/f.py a.py link.py src/b.py src/deep/c.py src.d/d.py"),
        ("src/*.py", "src/b.py"),
        ("src/**/*.py", "src/b.py src/deep/c.py"),
        ("**/*.{py,txt}", ".hidden/f.py a.py link.py src/b.py src/deep/c.py src/py/g.txt src.d/d.py"),
        ("src*", "src/ src.d/"),
        ("py", "src/py/"),
        ("src/", "src/"),
        ("loop", "loop"),
    ],
)
async def test_files_and_folders_are_found_in_the_order_of_their_paths(
    tools: Caller, tree: Path, pattern: str, found: str
) -> None:
    assert (await tools.text("find", pattern=pattern)).split() == found.split()


async def test_paths_start_where_the_working_directory_is(tools: Caller, tree: Path) -> None:
    assert await tools.text("find", pattern="c.py", path="src") == "src/deep/c.py"
    inside = tools.with_(cwd=tree / "src")
    assert await inside.text("find", pattern="c.py") == "deep/c.py"
    assert await inside.text("find", pattern="d.py", path="..") == f"{tree}/src.d/d.py"
    assert await tools.text("find", pattern=f"{tree}/src/*.py") == "src/b.py"


async def test_nothing_is_said_with_what_was_ignored(tools: Caller, tree: Path) -> None:
    assert await tools.text("find", pattern="*.rs", path="src") == "Nothing found."
    (tree / "src/.gitignore").write_text("*.txt\n")
    for pattern in ("build/e.py", "**/build/e.py", "e.py"):
        said = await tools.text("find", pattern=pattern)
        assert said == "Nothing found.\n[2 ignored: build/, src/py/g.txt; name one as path to search it]"


async def test_at_most_a_thousand_paths(tools: Caller, workspace: Path) -> None:
    for number in range(1_001):
        (workspace / f"{number:04}").touch()
    lines = (await tools.text("find", pattern="*")).splitlines()
    assert lines[-2:] == ["0999", "[the first 1000; narrow pattern or path]"]
    (workspace / "1000").unlink()
    assert len((await tools.text("find", pattern="*")).splitlines()) == 1_000


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"pattern": ""}, "empty"),
        ({"pattern": "/"}, "empty"),
        ({"pattern": "{a,b}" * 9}, "more than 256 globs"),
        ({"pattern": "x", "path": "a.py"}, "is a file"),
        ({"pattern": "x", "path": "missing"}, "does not exist"),
        ({"pattern": "x", "path": "a\0b"}, "NUL"),
    ],
)
async def test_bad_input_is_refused(tools: Caller, tree: Path, given: dict[str, str], hint: str) -> None:
    assert hint in await tools.error("find", **given)


async def test_a_canceled_search_ends_at_once(tools: Caller) -> None:
    call = asyncio.create_task(tools.output("find", pattern="no such name", path="/"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
