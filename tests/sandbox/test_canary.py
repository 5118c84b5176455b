"""Choosing a sandbox: by what it does, never by what it is called."""

import os
from pathlib import Path

import pytest

from prunecli.safety.sandbox.canary import choose
from tests.files import put
from tests.sandbox.confining import needs_bubblewrap


def program(path: Path, text: str) -> Path:
    """A shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def env_with(folder: Path) -> dict[str, str]:
    """An environment that finds programs there first."""
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_what_works_is_chosen() -> None:
    needs_bubblewrap()
    assert choose("/nonexistent", dict(os.environ)).word == "sandbox bwrap"


def test_without_any_the_reasons_are_said(tmp_path: Path) -> None:
    chosen = choose("/nonexistent", {"PATH": str(tmp_path)}, only="bubblewrap", platform_name="linux")
    assert (chosen.kind, chosen.word) == (None, "no sandbox")
    assert chosen.why == "bwrap: it is not installed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create"),
        ("exit 0", "exit code 0"),
        ("exit 42", "exit code"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "lets commands write outside"),
    ],
)
def test_one_that_does_not_hold_is_not_chosen(tmp_path: Path, text: str, why: str) -> None:
    """The last one runs the command without any walls."""
    program(tmp_path / "bwrap", text)
    chosen = choose("/nonexistent", env_with(tmp_path), only="bubblewrap", platform_name="linux")
    assert chosen.kind is None
    assert why in chosen.why


def test_a_program_of_the_workspace_is_never_run(tmp_path: Path) -> None:
    program(tmp_path / "ws" / "bin" / "bwrap", f"touch {tmp_path}/ran")
    env = {"PATH": f"{tmp_path}/ws/bin:.:bin"}
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "bwrap").symlink_to(tmp_path / "ws" / "bin" / "bwrap")
    for path in (env["PATH"], f"{tmp_path}/elsewhere"):
        found = choose(str(tmp_path / "ws"), {"PATH": path}, only="bubblewrap", platform_name="linux")
        assert found.why == "bwrap: it is not installed"
    assert not (tmp_path / "ran").exists()


def test_another_system_has_none() -> None:
    assert "no built-in sandbox for win32" in choose("/nonexistent", {}, platform_name="win32").why


def test_an_overlay_is_tried_over_the_workspace_and_leaves_nothing(tmp_path: Path) -> None:
    needs_bubblewrap()
    work, layers = tmp_path / "work", tmp_path / "layers"
    put(work / "a", "a\n")
    found = choose(str(work), dict(os.environ), layers=layers)
    if not found.overlays:
        pytest.skip("overlays can't be had here")
    assert os.listdir(work) == ["a"]
    assert os.listdir(layers) == []
    assert not choose(str(work), dict(os.environ)).overlays


def test_there_is_no_overlay_over_a_folder_that_holds_the_layers(tmp_path: Path) -> None:
    needs_bubblewrap()
    assert not choose(str(tmp_path), dict(os.environ), layers=tmp_path / "layers").overlays


def test_there_is_no_overlay_over_a_folder_in_which_something_is_mounted(tmp_path: Path) -> None:
    """An overlay would hide it. /dev has such folders everywhere."""
    needs_bubblewrap()
    assert not choose("/dev", dict(os.environ), layers=tmp_path / "layers").overlays
