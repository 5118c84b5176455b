"""What of the disk a command sees."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.safety.sandbox.layout import Ground, inner_environment, layout_for, without_revisions
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.safety.sandbox.sockets import unix_sockets
from prunecli.tools.files.secret_paths import looks_secret


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A workspace in a home folder."""
    root = os.path.realpath(tmp_path / "home" / "ws")
    os.makedirs(root)
    home = os.path.dirname(root)
    return Ground(root, home, (), (), SecretScan(root, looks_secret), {}, unix_sockets=lambda _: ())


def test_secrets_are_found_as_they_come_and_go(ground: Ground) -> None:
    root = Path(ground.workspace)
    assert not [path for path in layout_for(ground, git=False).hidden if path.startswith(str(root))]
    (root / "deep").mkdir()
    (root / "deep" / "server.key").touch()
    assert str(root / "deep" / "server.key") in layout_for(ground, git=False).hidden
    (root / "deep" / "server.key").unlink()
    assert str(root / "deep" / "server.key") not in layout_for(ground, git=False).hidden


def test_installed_packages_are_not_searched(ground: Ground) -> None:
    cert = Path(ground.workspace, ".venv", "lib", "site-packages", "certifi", "cacert.pem")
    cert.parent.mkdir(parents=True)
    cert.touch()
    assert str(cert) not in layout_for(ground, git=False).hidden


def test_a_folder_that_did_not_change_is_not_read_again() -> None:
    judged = list[str]()

    def is_secret(path: str) -> bool:
        judged.append(path)
        return False

    installed = os.path.dirname(json.__file__)  # not changed recently
    scan = SecretScan(installed, is_secret)
    scan.files()
    scan.files()
    assert sorted(judged) == sorted(os.path.join(installed, name) for name in os.listdir(installed))


def test_too_many_folders_are_said_to_be_too_many(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    assert not SecretScan(str(tmp_path), looks_secret, most=3).files().complete
    assert SecretScan(str(tmp_path), looks_secret, most=4).files().complete


def test_many_new_folders_hide_no_new_file_in_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "old" / "deep").mkdir(parents=True)
    scan = SecretScan(str(tmp_path), looks_secret, is_obeyed=lambda path: path.endswith("AGENTS.md"), most=5)
    assert scan.files().complete
    for number in range(9):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / "old" / f"{number}").mkdir()
    (tmp_path / "old" / "deep" / "AGENTS.md").touch()
    found = scan.files()
    assert not found.complete
    assert found.obeyed == (str(tmp_path / "old" / "deep" / "AGENTS.md"),)


def test_a_repository_cannot_have_the_system_hidden(ground: Ground) -> None:
    Path(ground.workspace, ".env").symlink_to("/usr")
    Path(ground.workspace, "x.pem").symlink_to("/")
    hidden = layout_for(ground, git=False).hidden
    assert not {"/", "/usr"} & set(hidden)


def test_a_link_to_a_secret_elsewhere_hides_that(ground: Ground) -> None:
    Path(ground.home, "real").touch()
    Path(ground.workspace, ".env").symlink_to(Path(ground.home, "real"))
    layout = layout_for(replace(ground, readable=(os.path.join(ground.home, "real"),)), git=False)
    assert os.path.join(ground.home, "real") not in layout.hidden  # the user opened it by name
    assert layout_for(ground, git=False).hides(os.path.join(ground.home, "real"))


def test_an_allowed_secret_is_shown(ground: Ground) -> None:
    path = Path(ground.workspace, ".env")
    path.touch()
    shown = replace(ground, allows=lambda given: given == str(path))
    assert str(path) not in layout_for(shown, git=False).hidden


def test_a_workspace_inside_a_hidden_folder_stays_visible(tmp_path: Path) -> None:
    root = tmp_path / ".claude" / "skills" / "mine"
    root.mkdir(parents=True)
    (tmp_path / ".claude" / "history").touch()
    home = os.path.realpath(tmp_path)
    real = os.path.realpath(root)
    ground = Ground(real, home, (), (), SecretScan(real, looks_secret), {}, unix_sockets=lambda _: ())
    layout = layout_for(ground, git=False)
    assert layout.hides(os.path.join(home, ".claude", "history"))
    assert layout.shows(real)


def test_git_is_read_only_but_for_a_command_that_may_write_to_it(ground: Ground) -> None:
    git = os.path.join(ground.workspace, ".git")
    assert git in layout_for(ground, git=False).missing
    assert git in layout_for(ground, git=True).missing
    subprocess.run(["git", "init", "-q"], cwd=ground.workspace, check=True)
    assert layout_for(ground, git=False).kept == (git,)
    layout = layout_for(ground, git=True)
    assert layout.reopened == (git,)
    assert f"{git}/config" in layout.kept
    assert f"{git}/hooks" in (*layout.kept, *layout.missing)


def test_a_linked_worktree_opens_the_shared_repository_without_its_hooks(ground: Ground) -> None:
    main, tree = Path(ground.home, "main"), ground.workspace
    main.mkdir()
    word = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*word, "init", "-q"], cwd=main, check=True)
    subprocess.run([*word, "commit", "-q", "--allow-empty", "-m", "x"], cwd=main, check=True)
    subprocess.run([*word, "worktree", "add", "-q", "-b", "b", tree], cwd=main, check=True)
    layout = layout_for(ground, git=True)
    assert str(main / ".git") in layout.reopened
    assert str(main / ".git" / "config") in layout.kept
    assert os.path.join(tree, ".git") in layout.kept


def test_sockets_of_the_system_are_listed_by_path(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    table = tmp_path / "unix"
    head = "Num RefCount Protocol Flags Type St Inode Path\n"
    table.write_text(
        f"{head}0000: 02 00 0001 01 1 {tmp_path}/s\n0000: 02 00 00 01 2 @abstract\n0000: 02 00 00 01 3\n"
    )
    assert list(unix_sockets("", str(table))) == [os.path.realpath(tmp_path / "s")]
    assert list(unix_sockets("", str(tmp_path / "none"))) == []


SERVE = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("agent.sock")
server.listen()
if sys.argv[1] == "leaves":
    os.chdir("/")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("what", ["stays", "leaves"])
def test_a_socket_with_a_relative_path_is_found_whether_its_process_stays_there_or_not(
    tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "home" / ".agent"
    folder.mkdir(parents=True)
    words = [sys.executable, "-c", SERVE, what]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        found = list(unix_sockets(str(tmp_path / "home")))
        process.communicate()
    assert str(folder / "agent.sock") in found


def test_a_relative_path_that_leads_nowhere_or_to_a_file_is_passed_over(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "file.sock").touch()
    table = tmp_path / "unix"
    table.write_text("head\n0: 2 0 1 1 01     3 file.sock\n0: 2 0 1 1 01 4 gone/x\n0: 2 0 1 1 01 5\n0: 2 0\n")
    assert list(unix_sockets(str(home), str(table))) == []


def test_the_environment_inside_has_no_way_to_the_session() -> None:
    env = {"PATH": "/bin", "SSH_AUTH_SOCK": "/x", "DISPLAY": ":0", "TMPDIR": "/elsewhere", "GOCACHE": "/mine"}
    inner = inner_environment(env)
    assert inner == {"PATH": "/bin", "TMPDIR": "/tmp", "GOCACHE": "/mine", "UV_CACHE_DIR": "/tmp/uv"}


def test_go_takes_no_revision_from_the_folder_in_the_place_of_a_repository(ground: Ground) -> None:
    env = {"PATH": "/bin", "GOFLAGS": "-mod=mod"}
    assert without_revisions(env, layout_for(ground, git=False))["GOFLAGS"] == "-mod=mod -buildvcs=false"
    (Path(ground.workspace) / ".git" / "refs").mkdir(parents=True)
    assert without_revisions(env, layout_for(ground, git=False)) == env
