"""Commands in a real sandbox: what they can do and what they can't."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.confining import Box

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]


def repository(path: Path) -> None:
    """A repository with one commit."""
    subprocess.run([*GIT, "init", "-q"], cwd=path, check=True)
    (path / "a.txt").write_text("a\n")
    subprocess.run([*GIT, "add", "."], cwd=path, check=True)
    subprocess.run([*GIT, "commit", "-qm", "one"], cwd=path, check=True)


async def test_the_workspace_is_writable_and_nothing_else(box: Box) -> None:
    outside = box.home / "outside.txt"
    text, code = await box.run(f"echo in > in.txt; echo tmp > /tmp/x && cat /tmp/x; echo out > {outside}")
    assert (box.context.workspace / "in.txt").read_text() == "in\n"
    assert text.startswith("tmp\n")
    assert code
    assert not outside.exists()
    assert "[blocked by the sandbox: writing outside of the workspace; to run it outside" in text


async def test_tmp_is_private_and_lasts_for_the_run(box: Box) -> None:
    await box.run("echo kept > /tmp/prunecli-test-file")
    assert "prunecli-test-file" not in os.listdir("/tmp")
    assert (await box.run("cat /tmp/prunecli-test-file"))[0] == "kept\n"


@pytest.mark.parametrize("path", [".ssh/id_rsa", ".aws/credentials", ".claude/history", "own/session.jsonl"])
async def test_secrets_of_the_home_folder_are_hidden(box: Box, path: str) -> None:
    (box.home / path).parent.mkdir(exist_ok=True)
    (box.home / path).write_text("hush\n")
    text, code = await box.run(f"cat ~/{path}; ls ~/{path.partition('/')[0]}")
    assert code
    assert "hush" not in text


async def test_secrets_of_the_workspace_are_hidden_unless_a_rule_allows_them(box: Box) -> None:
    (box.context.workspace / "deep").mkdir()
    (box.context.workspace / "deep" / ".env").write_text("hush\n")
    os.link(box.context.workspace / "deep" / ".env", box.context.workspace / "innocent.txt")
    text, code = await box.run("cat deep/.env innocent.txt; grep -r hush .")
    assert code
    assert "hush" not in text
    assert "[blocked by the sandbox: .env may contain secrets and is hidden" in text


async def test_protected_folders_can_be_neither_changed_nor_made(box: Box) -> None:
    workspace = box.context.workspace
    repository(workspace)
    text, code = await box.run(
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git git2; mkdir .prunecli"
    )
    assert code
    assert not (workspace / ".git/hooks/pre-commit").exists()
    assert (workspace / ".git").is_dir()
    assert not (workspace / ".prunecli").exists()
    assert "[blocked by the sandbox: " in text


async def test_a_granted_git_command_may_commit_but_not_write_hooks(box: Box) -> None:
    workspace = box.context.workspace
    repository(workspace)
    granted = box.granted()
    commit = "git -c user.name=a -c user.email=a@b.c commit -qam two"
    (workspace / "a.txt").write_text("b\n")
    assert (await box.run(commit))[1]
    await granted.text("bash", command=commit)
    assert (await box.run("git log --oneline | wc -l"))[0] == "2\n"
    await granted.text(
        "bash", command="git --version; echo x > .git/hooks/pre-commit; echo x >> .git/config; true"
    )
    assert not (workspace / ".git/hooks/pre-commit").exists()
    assert not (workspace / ".git/config").read_text().endswith("x\n")


async def test_a_granted_git_command_leaves_no_way_around_the_hooks(box: Box) -> None:
    workspace = box.context.workspace
    repository(workspace)
    await box.granted().text("bash", command="git --version; echo ../evil > .git/commondir")
    assert not (workspace / ".git/commondir").exists()


async def test_the_network_is_off_but_loopback_works(box: Box) -> None:
    program = (
        "import socket,threading; s=socket.create_server(('127.0.0.1',0)); "
        "c=socket.create_connection(s.getsockname()); print('loop')\n"
        "try: socket.socket(socket.AF_INET,socket.SOCK_DGRAM).connect(('192.0.2.1',9))\n"
        "except OSError as error: print(error.strerror)"
    )
    text, _ = await box.run(f'python3 -c "{program}"')
    assert text == "loop\nNetwork is unreachable\n"
