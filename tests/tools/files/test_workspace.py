"""No path and no link leads out of the workspace."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.tools.files.workspace import absolute, is_inside, opened_place, real_path
from prunecli.util.errors import ToolError
from tests.tools.calling import Caller


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace, whose name begins like the workspace's."""
    folder = tmp_path / "ws_evil"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


def place_of(given: str, workspace: Path, *, create: bool = False) -> str:
    with opened_place(given, workspace, workspace, create=create) as place:
        return place.path


ESCAPES = [
    "../ws_evil/secret",
    "../ws_evil/new",
    "{ws}/../ws_evil/secret",
    "{ws}_evil/secret",
    "/etc/passwd",
    "//etc/passwd",
    "sub/../../ws_evil/secret",
    "~/x",
    "link_folder/secret",
    "link_file",
    "link_chain",
    "sub/link_up/ws_evil/secret",
    "new/../../ws_evil/x",
    "link_folder/deep/new",
    "link_dangling",
    "..",
    ".",
    "sub/.",
    "sub/..",
    "",
    "sub/",
    "a\0b",
    "loop",
    "x" * 300,
    "link_file/x",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/x",
]


@pytest.fixture
def trap(workspace: Path, outside: Path) -> Path:
    """A workspace full of links that lead out."""
    (workspace / "sub").mkdir()
    (workspace / "link_folder").symlink_to(outside)
    (workspace / "link_file").symlink_to(outside / "secret")
    (workspace / "link_chain").symlink_to("link_file")
    (workspace / "sub" / "link_up").symlink_to("../..")
    (workspace / "link_dangling").symlink_to(outside / "not_there")
    (workspace / "loop").symlink_to("loop")
    return workspace


@pytest.mark.parametrize("path", ESCAPES)
async def test_nothing_outside_can_be_written(trap: Path, outside: Path, path: str) -> None:
    tools = Caller(trap)
    before = sorted(os.listdir(outside))
    given = path.format(ws=trap)
    await tools.error("write", path=given, content="evil")
    await tools.error("edit", path=given, old_string="secret", new_string="evil")
    assert (outside / "secret").read_text() == "secret"
    assert sorted(os.listdir(outside)) == before


async def test_links_inside_the_workspace_are_followed(workspace: Path) -> None:
    """The target is written, the link stays a link."""
    (workspace / "real").mkdir()
    (workspace / "real" / "file").write_text("one")
    (workspace / "folder").symlink_to("real")
    (workspace / "link").symlink_to(workspace / "folder" / "file")
    tools = Caller(workspace)
    await tools.text("edit", path="link", old_string="one", new_string="two")
    assert (workspace / "real" / "file").read_text() == "two"
    assert (workspace / "link").is_symlink()
    assert sorted(os.listdir(workspace / "real")) == ["file"]


async def test_a_link_to_nothing_inside_makes_its_target(workspace: Path) -> None:
    (workspace / "link").symlink_to("target")
    await Caller(workspace).text("write", path="link", content="new")
    assert (workspace / "target").read_text() == "new"


def test_dots_and_slashes_mean_what_the_system_says(workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    inside = f"{workspace}//a/./b/../b//f"
    assert place_of(inside, workspace) == str(workspace / "a/b/f")
    assert place_of(f"{workspace}/../{workspace.name}/f", workspace) == str(workspace / "f")
    assert place_of("$HOME", workspace) == str(workspace / "$HOME")
    assert place_of("a/f ", workspace) == str(workspace / "a/f ")


parts = st.lists(st.sampled_from(["..", ".", "", "a", "b", "up", "out", "ws_evil", "new"]), max_size=7)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(parts, st.booleans())
def test_a_path_is_judged_as_the_system_resolves_it(tmp_path: Path, names: list[str], rooted: bool) -> None:
    workspace = tmp_path / "ws"
    if not workspace.exists():
        (workspace / "a" / "b").mkdir(parents=True)
        (tmp_path / "ws_evil").mkdir()
        (workspace / "up").symlink_to("..")
        (workspace / "a" / "out").symlink_to(tmp_path / "ws_evil")
    path = "/".join([str(workspace) if rooted else "", *names, "leaf"]).lstrip("/" if not rooted else "")
    parent = os.path.join(workspace, os.path.dirname(path))
    try:
        truth = Path(os.path.realpath(parent, strict=True)).is_relative_to(workspace.resolve())
    except OSError:
        truth = False
    try:
        place_of(path, workspace)
        judged = True
    except ToolError:
        judged = False
    assert judged == truth
    if truth:
        assert is_inside(real_path(path, workspace), workspace)


def test_missing_folders_are_made_only_inside(workspace: Path, outside: Path) -> None:
    place_of("x/y/z/f", workspace, create=True)
    assert (workspace / "x/y/z").is_dir()
    with pytest.raises(ToolError):
        place_of("../ws_evil/x/y/f", workspace, create=True)
    assert sorted(os.listdir(outside)) == ["secret"]


def test_a_real_path_that_cannot_be_told_is_refused_never_given_back(workspace: Path) -> None:
    (workspace / "loop").symlink_to("loop")
    (workspace / "file").touch()
    for path in ("loop", "loop/x", "x" * 5000, "missing/../../..", "a\0", ""):
        with pytest.raises(ToolError):
            real_path(path, workspace)
    assert real_path("missing/deep", workspace) == workspace.resolve() / "missing/deep"
    assert real_path("file/x", workspace) == workspace.resolve() / "file/x"


def test_a_dangling_link_is_judged_by_where_it_leads(workspace: Path, outside: Path) -> None:
    (workspace / "d").symlink_to(outside / "later")
    assert not is_inside(real_path("d", workspace), workspace)
    assert not is_inside(real_path("d/x", workspace), workspace)


def test_only_a_tilde_at_the_start_is_the_home_folder(workspace: Path) -> None:
    assert absolute("~/x", workspace) == os.path.expanduser("~/x")
    assert absolute("a/~/x", workspace) == f"{workspace}/a/~/x"
    assert absolute("~other", workspace) == f"{workspace}/~other"


def test_no_descriptor_is_left_open(trap: Path) -> None:
    folder = "/proc/self/fd" if Path("/proc/self/fd").exists() else "/dev/fd"
    before = len(os.listdir(folder))
    for path in ESCAPES:
        with pytest.raises(ToolError):
            place_of(path.format(ws=trap), trap, create=True)
    place_of("x/y", trap, create=True)
    assert len(os.listdir(folder)) == before


@contextmanager
def flipping(workspace: Path, outside: Path) -> Iterator[None]:
    """A folder and a file that turn into links to the outside and back, as fast as they can."""
    stop = threading.Event()
    (workspace / "real_folder").mkdir()

    def flip(name: str, inside: str, target: Path) -> None:
        turn = 0
        while not stop.is_set():
            temporary = workspace / f".flip-{name}"
            temporary.symlink_to(target if turn % 2 else workspace / inside)
            os.replace(temporary, workspace / name)
            turn += 1

    (workspace / "file").symlink_to(workspace / "plain")
    (workspace / "folder").symlink_to(workspace / "real_folder")
    threads = [
        threading.Thread(target=flip, args=("folder", "real_folder", outside)),
        threading.Thread(target=flip, args=("file", "plain", outside / "secret")),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


async def _race(workspace: Path, outside: Path, rounds: int) -> int:
    tools, written = Caller(workspace), 0
    with flipping(workspace, outside):
        for number in range(rounds):
            for path in (f"folder/new{number % 7}", "file", f"folder/deep{number}/x"):
                try:
                    await tools.output("write", path=path, content=f"evil {number}")
                    written += 1
                except ToolError:
                    pass
    assert (outside / "secret").read_text() == "secret"
    assert sorted(os.listdir(outside)) == ["secret"]
    return written


async def test_a_link_that_is_flipped_while_writing_leads_nowhere(workspace: Path, outside: Path) -> None:
    """The short dose."""
    assert await _race(workspace, outside, 60) > 0


@pytest.mark.long
async def test_a_link_that_is_flipped_thousands_of_times_leads_nowhere(
    workspace: Path, outside: Path
) -> None:
    assert await _race(workspace, outside, 5_000) > 0
