"""Commands in a real sandbox: what they can do and what they can't."""

import asyncio
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.files import put
from tests.sandbox.confining import Box, boxed, needs_bubblewrap
from tests.waiting import until

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
    assert "[blocked by the sandbox: writing outside the workspace; to run it outside" in text


@pytest.mark.parametrize("granted", [False, True])
async def test_in_a_workspace_of_another_user_commands_run_and_the_file_system_refuses(
    box: Box, granted: bool
) -> None:
    """As root, a folder of another user; else one that is closed. The sandbox takes away root's rights."""
    work, tool = box.context.workspace, box.granted() if granted else box
    repository(work)
    work.chmod(0o755 if os.geteuid() == 0 else 0o555)
    if os.geteuid() == 0:
        os.chown(work, 65534, 65534)
    try:
        output = await tool.output("bash", command="python3 -c 'print(1)'; touch new")
        text = str(getattr(output.content[0], "text", ""))
    finally:
        work.chmod(0o755)
    assert text.startswith("1\ntouch: cannot touch 'new': ")
    assert "bwrap" not in text
    assert "the workspace can't be written here" in text
    assert not (work / "new").exists()


async def test_tmp_is_private_and_lasts_for_the_run(box: Box) -> None:
    await box.run("echo kept > /tmp/prunecli-test-file")
    assert "prunecli-test-file" not in os.listdir("/tmp")
    assert (await box.run("cat /tmp/prunecli-test-file"))[0] == "kept\n"


@pytest.mark.parametrize("path", [".ssh/id_rsa", ".aws/credentials", ".claude/history", "own/session.jsonl"])
async def test_secrets_of_the_home_folder_are_hidden(box: Box, path: str) -> None:
    put(box.home / path, "hush\n")
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
    module = workspace / ".git/modules/sub"
    module.mkdir(parents=True)
    (module / "config").write_text("[core]\n")
    await box.granted().text(
        "bash",
        command="git --version; cd .git; echo ../evil > commondir; echo x > config.worktree; "
        "echo x >> modules/sub/config; mkdir -p modules/sub/hooks/x; true",
    )
    assert sorted(path.name for path in module.iterdir()) == ["config"]
    assert (module / "config").read_text() == "[core]\n"
    for name in ("commondir", "config.worktree"):
        assert not (workspace / ".git" / name).exists()


@pytest.mark.parametrize("pins", [False, True])
async def test_a_granted_git_command_may_commit_in_a_subfolder_if_bubblewrap_mounts_open_folders(
    tmp_path: Path, pins: bool
) -> None:
    chosen = needs_bubblewrap()
    if pins and not chosen.pins:
        pytest.skip("needs bubblewrap with --bind-fd")
    with boxed(tmp_path, replace(chosen, pins=pins)) as box:
        workspace = box.context.workspace
        (workspace / "sub").mkdir()
        for folder in (workspace, workspace / "sub"):
            repository(folder)
        commit = "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m two"
        await box.granted().output("bash", command=f"{commit}; cd sub; {commit}; true")
        counts = [(await box.run(f"cd {at}; git log --oneline | wc -l"))[0] for at in (".", "sub")]
        assert counts == ["2\n", "2\n" if pins else "1\n"]


async def test_a_command_that_only_reads_can_change_nothing(box: Box) -> None:
    repository(box.context.workspace)
    (box.context.workspace / ".env").write_text("hush\n")
    reading = box.with_(confine=box.walls.confine(granted=True, reads=True))
    names = sorted(path.name for path in box.context.workspace.iterdir())
    text = await reading.text(
        "bash", command="git status -s; cat .env a.txt; echo x > new; echo x > /tmp/new && ls"
    )
    assert "hush" not in text
    assert "new: Read-only file system" in text
    assert all(name in text for name in ("a.txt\n", "?? .env"))
    assert sorted(path.name for path in box.context.workspace.iterdir()) == names


async def test_only_a_granted_command_gets_the_credentials_of_the_environment(box: Box) -> None:
    hidden = {"GITHUB_TOKEN": "a", "MY_DB_PASSWORD": "b", "S3_SECRET": "c", "DB": "x://user:pw@host/db"}
    shown = {"TOKENIZERS_PARALLELISM": "0", "KEYBOARD": "us", "OLDPWD": "/", "URL": "https://host:80/@x"}
    box.context = replace(box.context, env={**box.context.env, **hidden, **shown})
    text, _ = await box.run("env")
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert names.isdisjoint(hidden)
    assert names >= shown.keys()
    text, _ = await box.run("set -u; echo $GITHUB_TOKEN")
    assert "only an approved command gets the variable GITHUB_TOKEN" in text
    assert "GITHUB_TOKEN=a" in await box.granted().text("bash", command="env")


async def test_the_network_is_off_but_loopback_works(box: Box) -> None:
    program = (
        "import socket,threading; s=socket.create_server(('127.0.0.1',0)); "
        "c=socket.create_connection(s.getsockname()); print('loop')\n"
        "try: socket.socket(socket.AF_INET,socket.SOCK_DGRAM).connect(('192.0.2.1',9))\n"
        "except OSError as error: print(error.strerror)"
    )
    text, _ = await box.run(f'python3 -c "{program}"')
    assert text == "loop\nNetwork is unreachable\n"


OBEYED = [
    *("AGENTS.md", "sub/CLAUDE.md", ".vscode/tasks.json", ".github/workflows/ci.yml", "package.json"),
    "sub/.git/config",
]


@pytest.mark.parametrize("path", OBEYED)
async def test_what_other_programs_obey_is_read_only_unless_the_user_allowed_the_command(
    box: Box, path: str
) -> None:
    file = box.context.workspace / path
    put(file, "{}\n")
    text, code = await box.run(f"echo x >> {path}")
    assert code
    assert "is read-only, because it controls other programs; to run it outside" in text or "git" in path
    assert (await box.run(f"echo x > new && mv new {path}"))[1]
    assert (await box.run(f"rm -rf {path.partition('/')[0]}"))[1]
    assert file.read_text() == "{}\n"
    if ".git/" not in path:
        await box.granted().text("bash", command=f"echo x >> {path}")
        assert file.read_text() == "{}\nx\n"


@pytest.mark.parametrize("path", OBEYED)
async def test_what_other_programs_would_obey_is_renamed_after_the_command(box: Box, path: str) -> None:
    workspace = box.context.workspace
    text, code = await box.run(f"mkdir -p {os.path.dirname(path) or '.'} && echo x > {path}")
    assert code == 0
    assert not (workspace / path).exists()
    assert [found.read_text() for found in workspace.rglob("*") if found.is_file()] == ["x\n"]
    assert "[the sandbox renamed " in text
    assert "which asks the user]" in text
    if ".git/" not in path:
        (workspace / "sub").mkdir(exist_ok=True)
        await box.granted().text(
            "bash", command=f"mkdir -p {os.path.dirname(path) or '.'} && echo x > {path}"
        )
        assert (workspace / path).exists()


async def test_a_cancelled_command_leaves_nothing_that_controls_programs(box: Box) -> None:
    agents = box.context.workspace / "AGENTS.md"
    task = asyncio.ensure_future(box.run("echo x > AGENTS.md; echo y > done; sleep 600"))
    await until((box.context.workspace / "done").exists)
    task.cancel()
    await asyncio.wait({task})
    assert not agents.exists()
    assert (box.context.workspace / "AGENTS.md.set-aside").read_text() == "x\n"


async def test_a_folder_whose_time_is_set_back_is_searched_again(box: Box) -> None:
    folder = box.context.workspace / "sub"
    folder.mkdir()
    os.utime(folder, (1, 1))
    await box.run("true")
    await box.run("touch -r sub /tmp/before; echo x > sub/AGENTS.md; touch -r /tmp/before sub")
    assert os.listdir(folder) == ["AGENTS.md.set-aside"]


async def test_an_empty_folder_that_a_killed_command_left_is_removed_by_the_next(box: Box) -> None:
    for name in (".mcp.json", ".git"):
        (box.context.workspace / name).mkdir()
    assert (await box.run("mkdir .git/hooks .mcp.json/x"))[1]
    assert list(box.context.workspace.iterdir()) == []


async def test_a_placeholder_that_somebody_removes_opens_no_way(box: Box) -> None:
    """As the end of another session's command in the same workspace does."""
    workspace = box.context.workspace
    waiting = "touch begun; until mkdir .git 2>/dev/null; do sleep 0.01; done; echo x > .git/config"
    task = asyncio.ensure_future(box.run(waiting))
    await until((workspace / "begun").exists)
    (workspace / ".git").rmdir()
    text, _ = await task
    assert "[the sandbox renamed .git to *.set-aside" in text
    assert not (workspace / ".git").exists()
    assert (workspace / ".git.set-aside" / "config").read_text() == "x\n"


async def test_a_link_that_programs_obey_comes_back(box: Box) -> None:
    workspace = box.context.workspace
    (workspace / "README.md").write_text("a\n")
    (workspace / "AGENTS.md").symlink_to("README.md")
    assert (await box.run("echo x >> AGENTS.md"))[1]
    text, _ = await box.run("rm AGENTS.md && echo x > AGENTS.md")
    assert "[the sandbox renamed AGENTS.md to *.set-aside" in text
    assert os.readlink(workspace / "AGENTS.md") == "README.md"
    assert (workspace / "README.md").read_text() == "a\n"


async def test_everyday_names_are_not_renamed_and_a_moved_folder_keeps_its_files(box: Box) -> None:
    workspace = box.context.workspace
    (workspace / "old").mkdir()
    (workspace / "old" / "AGENTS.md").write_text("a\n")
    made = "mkdir -p dist .venv/bin node_modules/x && touch dist/package.json .venv/bin/a node_modules/x/AGENTS.md"
    text, code = await box.run(f"{made} && mv old new && grep -rl a .")
    assert (text, code) == ("./new/AGENTS.md\n", 0)
    assert (workspace / "new" / "AGENTS.md").exists()
    assert (workspace / "dist" / "package.json").exists()


async def test_a_second_name_is_found_for_what_is_renamed(box: Box) -> None:
    for _ in range(2):
        await box.run("echo x > AGENTS.md")
    names = sorted(path.name for path in box.context.workspace.iterdir())
    assert names == ["AGENTS.md.set-aside", "AGENTS.md.set-aside-2"]


@pytest.mark.parametrize("place", ["", "a file", "a broken note"])
async def test_a_command_runs_without_notes_of_commands_and_beside_broken_ones(
    tmp_path: Path, place: str
) -> None:
    notes = tmp_path / "notes"
    if place == "a file":
        notes.touch()
    elif place:
        put(notes / "0123456789ab", '{"roots": [')
    with boxed(tmp_path, needs_bubblewrap(), notes=str(notes) if place else "") as box:
        assert await box.run("echo hi") == ("hi\n", 0)
    assert notes.is_file() or not notes.exists() or os.listdir(notes) == []
