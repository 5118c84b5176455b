"""What commands see of the home folder: toolchains and caches, and nothing of what else lies there."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.safety.sandbox.layout import Ground
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from tests.sandbox.confining import Box, boxed, chosen_here, needs_bubblewrap

FILES = dict(
    part.split("]", 1) for part in Path(__file__).with_name("home_files.txt").read_text().split("[") if part
)
SECRET, OTHER, SHOWN = (FILES[name].split() for name in ("secret", "other", "shown"))
CERTIFICATE = ".local/lib/python3.11/site-packages/certifi/cacert.pem"
READ = (
    'while read -r path; do (read -r line < ~/"$path") 2>/dev/null && echo "$path"; done < ~/ws/names; true'
)
"""Prints the names of the files that can be read and are not empty."""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def planted(box: Box) -> None:
    for name in (*SECRET, *OTHER, *SHOWN):
        put(box.home / name, f"{name}\n")
    (box.home / "miniconda" / "conda-meta").mkdir()
    for folder in ("miniconda/bin", "tools/bin"):
        (box.home / folder).mkdir()
    put(box.context.workspace / "names", "".join(f"{name}\n" for name in (*SECRET, *OTHER, *SHOWN)))


def on_path(box: Box) -> dict[str, str]:
    folders = (".nvm/versions/node/v20/bin", ".local/bin", "miniconda/bin", "tools/bin")
    return {"PATH": ":".join([*(str(box.home / name) for name in folders), os.environ["PATH"]])}


@pytest.fixture(params=["bubblewrap", "landlock"])
def box(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Box]:
    chosen = needs_bubblewrap() if request.param == "bubblewrap" else Chosen("landlock")
    if request.param == "landlock":
        from prunecli.safety.sandbox import landlock

        if landlock.version() < landlock.NEEDED_VERSION:
            pytest.skip("needs Linux 6.12")
    with boxed(tmp_path, chosen) as found:
        found.walls.ground = replace(found.walls.ground, environ=on_path(found))
        yield found


def test_the_planted_files_are_secret_by_their_names_or_ordinary() -> None:
    assert len(SECRET) > 120
    assert [name for name in SECRET if not looks_secret(f"/home/u/{name}")] == []
    assert [name for name in (*OTHER, *SHOWN) if looks_secret(f"/home/u/{name}")] == [
        CERTIFICATE,
        "miniconda/ssl/cacert.pem",
    ]


@pytest.mark.parametrize("how", ["edits", "auto", "reading"])
async def test_of_the_home_folder_only_toolchains_and_caches_can_be_opened(box: Box, how: str) -> None:
    planted(box)
    confine = box.walls.confine(granted=how == "auto", reads=how == "reading")
    output = await box.with_(confine=confine).output("bash", command=READ)
    text = str(getattr(output.content[0], "text", ""))
    assert sorted(text.split()) == sorted(SHOWN)


async def test_where_the_home_folder_is_the_workspace_what_looks_secret_is_hidden(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        planted(box)
        home = str(box.home)
        ground = replace(box.walls.ground, workspace=home, secrets=SecretScan(home, looks_secret))
        walls = Sandbox(ground, chosen_here)
        confine = walls.confine(granted=False)
        text = await box.with_(confine=confine).output("bash", command=READ)
        walls.close()
    found = str(getattr(text.content[0], "text", "")).split()
    assert "projects/shop/app.py" in found
    assert not {name for name in found if looks_secret(f"/home/u/{name}")} - {CERTIFICATE}


async def test_the_home_folder_is_read_only_and_empty_but_for_what_is_shown(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        planted(box)
        text, code = await box.run("ls -A ~; echo x > ~/new")
        assert code
        assert "blocked by the sandbox: writing outside the workspace" in text
        assert "Documents" not in text
        assert not (box.home / "new").exists()


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/projects/shop/app.py",
        "cat ../projects/shop/app.py",
        "python3 -c 'import os; open(os.path.expanduser(\"~/projects/shop/app.py\"))'",
        "cd ~/projects/shop && ls",
        "test -f ~/projects/shop/app.py",
        "ls ~/projects/shop/app.py | head -3",
        "cat ~/projects/shop/*.py",
    ],
)
async def test_a_command_that_reaches_for_a_hidden_folder_is_told_its_name_and_the_key(
    tmp_path: Path, command: str
) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        put(box.home / "projects" / "shop" / "app.py", "x")
        output = await box.output("bash", command=command)
        text = str(getattr(output.content[0], "text", ""))
        assert "~/projects/shop is hidden" in text, command
        assert '[sandbox] readable = ["~/projects/shop"]' in text, command


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cat ~/nothing/here.txt", ""),
        ("echo x >> ~/.profile", "writing outside the workspace"),
        ("echo getaddrinfo EAI_AGAIN; cat ~/projects/app.py", "the network is off"),
    ],
)
async def test_opening_a_folder_is_advised_only_where_it_helps(
    tmp_path: Path, command: str, said: str
) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        for name in (".profile", "projects/app.py"):
            put(box.home / name, "x")
        output = await box.output("bash", command=command)
    text = str(getattr(output.content[0], "text", ""))
    assert "readable" not in text
    assert f"blocked by the sandbox: {said}" in text if said else "blocked" not in text


async def test_a_user_who_opens_the_whole_home_folder_sees_it_without_secrets(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        planted(box)
        box.walls.ground = replace(box.walls.ground, readable=(str(box.home),))
        text, _ = await box.run(READ)
    assert "Documents/taxes.txt" in text
    assert not {name for name in text.split() if looks_secret(f"/home/u/{name}")} - {CERTIFICATE}


async def test_for_a_secret_of_the_home_folder_no_key_is_named(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        put(box.home / ".npmrc", "x")
        text, _ = await box.run("cat ~/.npmrc")
    assert "~/.npmrc may contain secrets and is hidden" in text
    assert "readable" not in text


async def test_what_the_user_opens_can_be_read_without_its_secrets(box: Box) -> None:
    planted(box)
    opened = (str(box.home / "projects"), str(box.home / ".m2" / "settings.xml"))
    box.walls.ground = replace(box.walls.ground, readable=opened)
    text, _ = await box.run(READ)
    more = set(text.split()) - set(SHOWN)
    assert more == {"projects/shop/app.py", ".m2/settings.xml"}


async def test_dotfiles_and_toolchains_may_be_links(box: Box) -> None:
    planted(box)
    (box.home / "dotfiles").mkdir()
    for name in (".cargo", ".gitconfig"):
        os.rename(box.home / name, box.home / "dotfiles" / name)
        (box.home / name).symlink_to(Path("dotfiles", name))
    text, _ = await box.run(READ)
    assert set(text.split()) == set(SHOWN)


def test_a_git_file_or_a_repository_around_does_not_open_the_home_folder(tmp_path: Path) -> None:
    from prunecli.safety.sandbox.layout import layout_for

    home, root = tmp_path, tmp_path / "ws"
    root.mkdir()
    (home / ".git").mkdir()
    put(home / "notes.md", "x")
    ground = Ground(str(root), str(home), (), (), SecretScan(str(root), looks_secret), {})
    assert layout_for(ground, git=False).hides(str(home / "notes.md"))
    put(root / ".git", f"gitdir: {home}\n")
    assert layout_for(ground, git=False).hides(str(home / "notes.md"))
