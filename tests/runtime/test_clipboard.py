"""The image in the clipboard: a helper program is asked for it, and its answer is checked."""

import base64
import os
from pathlib import Path

import pytest

from prunecli.runtime.clipboard import KEPT_SECONDS, Copied, clipped, copied, helpers
from prunecli.util.errors import PrunecliError
from tests.tools.files.test_image import png


@pytest.fixture(autouse=True)
def work(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()


def helper(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0", **more}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("wl-paste", "--no-newline --type image/png"),
        ("xclip", "-selection clipboard -t image/png -o"),
        ("pngpaste", "-"),
    ],
)
async def test_the_image_is_kept_as_a_file_of_its_owner(tmp_path: Path, name: str, wanted: str) -> None:
    (tmp_path / "shot").write_bytes(png(64, 48))
    bin_folder, folder = tmp_path / "bin", tmp_path / "data/clipboard"
    helper(bin_folder, name, f'echo "$@" > {tmp_path}/asked; cat {tmp_path}/shot')
    found = await clipped(environment(bin_folder), tmp_path / "work", folder)
    assert found is not None
    assert (found.path.read_bytes(), found.width, found.height) == (png(64, 48), 64, 48)
    assert found.path.parent == folder
    assert found.path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "asked").read_text().strip() == wanted


async def test_the_image_of_a_mac_comes_as_hexadecimal_digits(tmp_path: Path) -> None:
    helper(tmp_path / "bin", "osascript", f"echo '«data PNGf{png(6, 4).hex().upper()}»'")
    found = await clipped(environment(tmp_path / "bin"), tmp_path / "work", tmp_path / "data")
    assert found is not None
    assert found.path.read_bytes() == png(6, 4)


def on_windows(folder: Path) -> dict[str, str]:
    """The environment in WSL, without another helper."""
    return {
        "PATH": f"{folder}:/usr/bin:/bin",
        "WSL_DISTRO_NAME": "Ubuntu",
        "WSL_INTEROP": "/run/WSL/1_interop",
    }


async def test_in_wsl_the_image_of_windows_comes_as_base64(tmp_path: Path) -> None:
    encoded = base64.b64encode(png(6, 4)).decode()
    script = f'printf "%s\\n" "$WSL_INTEROP" "$@" > {tmp_path}/asked; printf "{encoded}\\r\\n"'
    helper(tmp_path / "bin", "powershell.exe", script)
    found = await clipped(on_windows(tmp_path / "bin"), tmp_path / "work", tmp_path / "data")
    assert found is not None
    assert (found.path.read_bytes(), found.width, found.height) == (png(6, 4), 6, 4)
    interop, *flags, command = (tmp_path / "asked").read_text().splitlines()
    assert interop == "/run/WSL/1_interop", "WSL starts no program of Windows without it"
    assert flags == ["-NoProfile", "-NonInteractive", "-STA", "-Command"]
    assert "Get-Clipboard -Format Image" in command


@pytest.mark.parametrize(
    "said", ["", "\\r\\n", "Get-Clipboard : failed", "iVBORw0KGgo", "iVBORw0KGgoAAA=", "iVBOR"]
)
async def test_in_wsl_anything_else_is_no_image(tmp_path: Path, said: str) -> None:
    helper(tmp_path / "bin", "powershell.exe", f'printf "{said}"')
    assert await clipped(on_windows(tmp_path / "bin"), tmp_path / "work", tmp_path / "data") is None


def test_outside_of_wsl_no_program_of_windows_is_started(tmp_path: Path) -> None:
    helper(tmp_path / "bin", "powershell.exe", "echo")
    assert helpers({"PATH": str(tmp_path / "bin"), "DISPLAY": ":0"}, tmp_path / "work") == []


@pytest.mark.parametrize(
    "script", ["exit 1", "echo text", ":", "head -c 100 /dev/zero", "printf '\\211PNG'; exit 1"]
)
async def test_without_an_image_there_is_none(tmp_path: Path, script: str) -> None:
    helper(tmp_path / "bin", "xclip", script)
    assert await clipped(environment(tmp_path / "bin"), tmp_path / "work", tmp_path / "data") is None
    assert not (tmp_path / "data").exists()


async def test_without_a_helper_the_way_out_is_named(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path / "bin")}
    with pytest.raises(PrunecliError, match="no program to read an image") as refused:
        await clipped(env, tmp_path / "work", tmp_path / "data")
    assert refused.value.hint == "install one of wl-paste, xclip, pngpaste"


def test_a_helper_of_the_workspace_is_never_started(tmp_path: Path) -> None:
    helper(tmp_path / "work/bin", "xclip", "echo pwned")
    assert helpers({"PATH": f"{tmp_path}/work/bin", "DISPLAY": ":0"}, tmp_path / "work") == []


def test_a_helper_is_asked_only_where_its_display_is(tmp_path: Path) -> None:
    for name in ("wl-paste", "xclip"):
        helper(tmp_path / "bin", name, ":")
    path = str(tmp_path / "bin")
    assert helpers({"PATH": path}, tmp_path / "work") == []
    assert [Path(one[0]).name for one in helpers({"PATH": path, "DISPLAY": ":1"}, tmp_path / "work")] == [
        "xclip"
    ]


async def test_credentials_are_not_given_to_the_helper(tmp_path: Path) -> None:
    helper(tmp_path / "bin", "xclip", f"env > {tmp_path}/env; exit 1")
    env = environment(tmp_path / "bin", ANTHROPIC_API_KEY="sk-ant-secret")
    await clipped(env, tmp_path / "work", tmp_path / "data")
    assert "sk-ant-secret" not in (tmp_path / "env").read_text()


async def test_images_that_were_not_used_for_long_are_removed(tmp_path: Path) -> None:
    (tmp_path / "shot").write_bytes(png(3, 3))
    helper(tmp_path / "bin", "xclip", f"cat {tmp_path}/shot")
    (tmp_path / "data").mkdir()
    for name, age in (("old.png", KEPT_SECONDS + 60), ("new.png", 60)):
        (tmp_path / "data" / name).write_bytes(b"x")
        when = os.stat(tmp_path).st_mtime - age
        os.utime(tmp_path / "data" / name, (when, when))
    found = await clipped(environment(tmp_path / "bin"), tmp_path / "work", tmp_path / "data")
    assert found is not None
    assert sorted(one.name for one in (tmp_path / "data").iterdir()) == sorted(["new.png", found.path.name])


def takes(folder: Path, name: str, code: int = 0) -> None:
    helper(folder / "bin", name, f'cat > "{folder}/{name}"; exit {code}')


def only(folder: Path, **more: str) -> dict[str, str]:
    """An environment with these helpers and `cat` alone."""
    (folder / "bin").mkdir(exist_ok=True)
    if not (folder / "bin" / "cat").exists():
        (folder / "bin" / "cat").symlink_to("/bin/cat")
    return {"PATH": str(folder / "bin"), **more}


WAYLAND, X, MUX, WSL = ({name: ":0"} for name in ("WAYLAND_DISPLAY", "DISPLAY", "TMUX", "WSL_DISTRO_NAME"))
SSH = {"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}


@pytest.mark.parametrize(
    ("name", "env", "where"),
    [
        ("wl-copy", WAYLAND, Copied.CLIPBOARD),
        ("xclip", X, Copied.CLIPBOARD),
        ("xsel", X, Copied.CLIPBOARD),
        ("pbcopy", {}, Copied.CLIPBOARD),
        ("clip.exe", WSL, Copied.CLIPBOARD),
        ("tmux", MUX, Copied.TMUX),
        ("tmux", MUX | SSH, Copied.TMUX),
        ("wl-copy", {}, Copied.UNKNOWN),
        ("xclip", {}, Copied.UNKNOWN),
        ("pbcopy", SSH, Copied.UNKNOWN),
        ("tmux", {}, Copied.UNKNOWN),
    ],
)
async def test_text_counts_as_copied_only_where_a_program_took_it(
    tmp_path: Path, name: str, env: dict[str, str], where: Copied
) -> None:
    takes(tmp_path, name)
    assert await copied("grüße\n", only(tmp_path, **env), tmp_path / "work") is where
    took = tmp_path / name
    if where is Copied.UNKNOWN:
        assert not took.exists()
    else:
        assert took.read_bytes().decode("utf-16" if name == "clip.exe" else "utf-8") == "grüße\n"


async def test_a_program_that_fails_leaves_it_to_the_next_one(tmp_path: Path) -> None:
    takes(tmp_path, "xclip", code=1)
    takes(tmp_path, "xsel")
    assert await copied("x", only(tmp_path, **X), tmp_path / "work") is Copied.CLIPBOARD
    takes(tmp_path, "xsel", code=1)
    takes(tmp_path, "tmux")
    assert await copied("x", only(tmp_path, **X, **MUX), tmp_path / "work") is Copied.TMUX
