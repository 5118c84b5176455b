"""Layers made to deceive: nothing outside changes, and nothing is applied that was not shown."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import Applied, Stale, apply
from prunecli.safety.proposals.layer import RUNNING
from prunecli.safety.sandbox.sandbox import Chosen
from prunecli.util.errors import ToolError
from tests.files import put
from tests.proposals.laying import Trial, tree, trial

BY_COMMAND = [
    "mknod a c 0 0",
    "rm a; mknod a c 0 0",
    "mknod new c 0 0",
    'python3 -c \'import os; os.setxattr("d", "user.overlay.opaque", b"y")\'',
    'python3 -c \'import os; os.setxattr("a", "user.overlay.redirect", b"/etc/passwd")\'',
    'python3 -c \'import os; os.setxattr("a", "user.overlay.metacopy", b"")\'',
    'python3 -c \'import os; os.mkdir("n"); os.setxattr("n", "user.overlay.whiteouts", b"y")\'',
]


@pytest.mark.parametrize("command", BY_COMMAND)
async def test_a_command_can_make_no_marks_of_the_overlay(one: Trial, command: str) -> None:
    put(one.workspace / "a", "a\n")
    put(one.workspace / "d" / "x", "x\n")
    await one.run(f"{command}; true")
    proposal = one.freeze()
    if not proposal.refused:
        apply(proposal)
        assert (one.workspace / "d" / "x").read_text() == "x\n"
        assert not (one.workspace / "a").exists() or (one.workspace / "a").read_text() == "a\n"
        assert not any(os.listxattr(path) for path in one.workspace.rglob("*"))


def _attribute(name: str, value: bytes) -> Callable[[Path], None]:
    return lambda upper: os.setxattr(upper / "d", f"user.overlay.{name}", value)


BY_HAND: dict[str, Callable[[Path], None]] = {
    "has the attribute user.overlay.redirect": _attribute("redirect", b"/home"),
    "has the attribute user.overlay.metacopy": _attribute("metacopy", b""),
    "has the attribute user.overlay.whiteout": _attribute("whiteout", b"y"),
    "has the attribute user.overlay.overlay.opaque": _attribute("overlay.opaque", b"y"),
}


@pytest.mark.parametrize("why", BY_HAND)
async def test_what_no_command_can_make_is_refused_by_name(one: Trial, why: str) -> None:
    put(one.workspace / "d" / "x", "x\n")
    await one.run("touch d/y")
    BY_HAND[why](Path(one.layer.upper(one.layer.roots[0])))
    proposal = one.freeze()
    assert proposal.refused == (("d", why),)
    with pytest.raises(ToolError, match=f"Nothing was applied: d {why}"):
        apply(proposal)
    assert tree(one.workspace).keys() == {"d", "d/x"}


async def test_only_what_was_frozen_is_applied(one: Trial) -> None:
    await one.run("mkdir n; echo shown > n/a; echo shown > b")
    upper, proposal = Path(one.layer.upper(one.layer.roots[0])), one.freeze()
    put(upper / "n" / "later", "hidden\n")
    put(upper / "later", "hidden\n")
    assert isinstance(apply(proposal), Applied)
    assert tree(one.workspace).keys() == {"n", "n/a", "b"}


AFTERWARDS: dict[str, Callable[[Path, Path], object]] = {
    "another content": lambda upper, _: (upper / "n" / "a").write_text("hidden\n"),
    "more": lambda upper, _: (upper / "n" / "a").write_text("shown\nhidden\n"),
    "a link": lambda upper, secret: [(upper / "n" / "a").unlink(), (upper / "n" / "a").symlink_to(secret)],
    "a folder of others": lambda upper, secret: [
        (upper / "n").rename(upper / "o"),
        (upper / "n").symlink_to(secret.parent),
    ],
    "a pipe": lambda upper, _: [(upper / "n" / "a").unlink(), os.mkfifo(upper / "n" / "a")],
}


@pytest.mark.parametrize("way", AFTERWARDS)
async def test_a_layer_that_changes_after_it_was_shown_is_not_applied(one: Trial, way: str) -> None:
    secret = one.workspace.parent / "a"
    secret.write_text("hush\n")
    await one.run("mkdir n; echo shown > n/a; echo z > z")
    proposal = one.freeze()
    AFTERWARDS[way](Path(one.layer.upper(one.layer.roots[0])), secret)
    with pytest.raises(ToolError, match="Nothing was applied"):
        apply(proposal)
    assert tree(one.workspace) == {}


async def test_what_goes_on_is_ended_before_anything_is_shown(one: Trial) -> None:
    await one.run(
        "echo a > a; (setsid sh -c 'while :; do echo x >> a; done' &); until [ -s b ]; do cp a b; done"
    )
    proposal = one.freeze()
    assert isinstance(apply(proposal), Applied)
    shown = proposal.changes[0].after
    assert shown is not None
    assert (one.workspace / "a").stat().st_size == shown.size


async def test_a_layer_on_which_something_still_runs_is_not_frozen(one: Trial) -> None:
    await one.run("echo a > a")
    with open(os.path.join(one.layer.folder, RUNNING), "rb") as file:  # noqa: ASYNC230
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(ToolError, match="can't be ended"):
            one.layer.wait(patience=0)


@pytest.mark.parametrize("command", ["echo b > src/a", "rm -r src/d", "echo n > src/d/n", "chmod 700 src/d"])
async def test_a_folder_that_is_swapped_for_a_link_at_any_moment_leads_nowhere(
    tmp_path: Path, chosen: Chosen, command: str
) -> None:
    for count in range(1, 30):
        with trial(tmp_path / str(count), chosen) as one:
            source, outside = one.workspace / "src", one.workspace.parent / "outside"
            for folder in (source, outside):
                put(folder / "a", "a\n")
                put(folder / "d" / "x", "x\n")
            await one.run(command)
            before, calls = tree(outside), 0

            def tick(source: Path = source, outside: Path = outside, count: int = count) -> None:
                nonlocal calls
                calls += 1
                if calls == count:
                    source.rename(source.with_name("moved"))
                    source.symlink_to(outside)

            try:
                found = apply(one.freeze(), tick)
            except ToolError as error:
                found = Stale((str(error),))
            assert tree(outside) == before, count
            if calls < count:
                assert isinstance(found, Applied)
                return
    raise AssertionError("has no end")


async def test_a_workspace_below_a_link_is_written_in_its_real_place(one: Trial) -> None:
    (one.workspace / "inner").mkdir()
    (one.workspace / "link").symlink_to("inner")
    (one.workspace / "out").symlink_to("../outside")
    put(one.workspace.parent / "outside" / "a", "a\n")
    await one.run("echo x > link/x; echo y > out/y; echo y > out/a; true")
    proposal = one.freeze()
    assert [change.path for change in proposal.changes] == ["inner/x"]
    assert isinstance(apply(proposal), Applied)
    assert (one.workspace / "inner" / "x").read_text() == "x\n"
    assert tree(one.workspace.parent / "outside").keys() == {"a"}


async def test_caches_are_dropped_and_what_controls_programs_is_marked(one: Trial) -> None:
    await one.run(
        "mkdir -p p/__pycache__ .vscode; touch p/__pycache__/a.pyc p/a.py .vscode/tasks.json AGENTS.md .env"
    )
    proposal = one.freeze()
    assert proposal.caches == ("p/__pycache__",)
    marked = {change.path for change in proposal.changes if change.controls}
    assert marked == {".vscode", ".vscode/tasks.json", "AGENTS.md"}
    assert {change.path for change in proposal.changes if change.secret} == {".env"}
    assert isinstance(apply(proposal), Applied)
    assert not (one.workspace / "p" / "__pycache__").exists()


async def test_a_command_that_writes_too_much_is_ended_and_changes_nothing(one: Trial) -> None:
    one.limits = {"most": 10_000_000, "pause": 0.01}
    await one.run("touch begun; while :; do head -c 1000000 /dev/urandom >> big; done")
    assert one.blocked == "ended, because it writes more than 9 MB before the user was asked"
    one.drop()
    assert tree(one.workspace) == {}


async def test_a_folder_that_can_not_be_renamed_on_a_layer_is_told(one: Trial) -> None:
    put(one.workspace / "d" / "x", "x\n")
    await one.run('python3 -c \'import os; os.rename("d", "e")\'')
    assert one.blocked == "blocked: a folder can't be renamed before the user was asked"
