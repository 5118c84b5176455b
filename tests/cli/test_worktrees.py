"""`--worktree`: where a session works, what becomes of its changes, and that two sessions share nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from prunecli.cli.flags import read
from prunecli.cli.worktrees import Worktree, enter, leave
from prunecli.model.messages import ToolUse
from prunecli.session.store import Store
from prunecli.tui.prompting.draft import folder_of
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import Launch
from tests.scripted import calls, says
from tests.starting import start


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text("[user]\nname = a\nemail = a@b\n")
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


@pytest.fixture
def main(tmp_path: Path, environ: dict[str, str]) -> Path:
    folder = tmp_path / "app"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".env\nbuilt\n")
    (folder / ".worktreeinclude").write_text(".env\nsub/a.txt\n")
    (folder / ".env").write_text("TOKEN=1")
    (folder / "built").write_text("large")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        git(folder, environ, *words)
    return folder


def git(folder: Path, environ: dict[str, str], *words: str) -> str:
    return subprocess.run(
        ["git", "-C", folder, *words], env=environ, check=True, capture_output=True, text=True
    ).stdout


def left(worktree: Worktree, *answers: str) -> list[str]:
    """What the end says, with these answers to what it asks."""
    said, given = list[str](), list(answers)
    leave(worktree, said.append, lambda _: given.pop(0))
    assert given == []
    return said


def test_the_flag_takes_a_name_or_makes_one_up() -> None:
    def of(*words: str) -> tuple[str | None, str]:
        line = read(words)
        return line.launch.worktree, line.launch.prompt

    assert of("--worktree", "fix", "do it") == ("fix", "do it")
    assert of("-w", "do it now") == ("", "do it now")
    assert of("-w") == ("", "")
    with pytest.raises(UsageError, match=r"--worktree: expected letters"):
        of("--worktree=../x")


def test_a_session_works_in_the_same_folder_of_a_new_worktree_with_the_files_it_wants(
    main: Path, environ: dict[str, str]
) -> None:
    asked, worktree = enter(Launch(worktree="fix", add_dirs=("../x", "~/y")), main / "sub", environ)
    assert asked.cwd == main.with_name("app.worktrees") / "fix/sub"
    assert asked.add_dirs == (f"{main}/sub/../x", "~/y")
    assert git(worktree.path, environ, "branch", "--show-current") == "worktree-fix\n"
    assert (worktree.path / ".env").read_text() == "TOKEN=1"
    assert not (worktree.path / "built").exists()
    assert git(main, environ, "status", "--porcelain") == ""


def test_without_a_change_a_new_worktree_goes_and_an_old_one_stays(
    main: Path, environ: dict[str, str]
) -> None:
    _, fresh = enter(Launch(worktree=""), main, environ)
    assert left(fresh) == ["Worktree 1 removed: nothing changed in it."]
    assert not fresh.path.parent.exists()
    assert git(main, environ, "branch", "--list", "worktree-*") == ""
    _, fresh = enter(Launch(worktree="kept"), main, environ)
    os.close(fresh.lock)
    _, again = enter(Launch(worktree="kept"), main, environ)
    assert (left(again), again.path.is_dir()) == ([], True)


def test_changes_are_kept_merged_by_the_commands_shown_or_removed_after_two_answers(
    main: Path, environ: dict[str, str]
) -> None:
    _, worktree = enter(Launch(worktree="fix"), main, environ)
    (worktree.path / "sub/a.txt").write_text("two\n")
    git(worktree.path, environ, "commit", "-qam", "two")
    (worktree.path / "new.txt").write_text("new\n")
    head = f"Worktree fix: 1 file changed, 1 commit, on branch worktree-fix in {worktree.path}"
    kept = "Kept. To go on: prunecli --worktree fix -c"
    assert left(worktree, "") == [head, kept]
    assert left(worktree, "r", "n") == [head, kept]
    first, *commands, last = left(worktree, "m")
    assert (first, last) == (head, kept)
    os.close(worktree.lock)
    script = "set -e\n" + "\n".join(commands).replace("commit", "commit -qm more")
    subprocess.run(["/bin/sh", "-c", script], env=environ, check=True, capture_output=True)
    assert ((main / "sub/a.txt").read_text(), (main / "new.txt").read_text()) == ("two\n", "new\n")
    assert not worktree.path.exists()

    _, worktree = enter(Launch(worktree="bad"), main, environ)
    (worktree.path / "new.txt").write_text("newer\n")
    assert left(worktree, "r", "y")[1:] == ["Removed."]
    assert not worktree.path.exists()


def test_sessions_side_by_side_share_no_worktree_and_none_is_removed_under_another(
    main: Path, environ: dict[str, str]
) -> None:
    _, first = enter(Launch(worktree=""), main, environ)
    _, second = enter(Launch(worktree=""), main, environ)
    assert (first.name, second.name) == ("1", "2")
    _, same = enter(Launch(worktree="1"), main, environ)
    (same.path / "new.txt").write_text("new\n")
    assert left(same, "r", "y")[1:] == ["Kept: another session works there."]


async def test_sessions_side_by_side_share_no_draft_snapshot_or_list(
    main: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    _, worktree = enter(Launch(worktree="fix"), main, environ)
    write = {"path": "sub/a.txt", "content": "mine\n"}
    script = [calls(ToolUse("one", "read", {"path": "sub/a.txt"})), calls(ToolUse("two", "write", write))]
    sets = ['permissions.allow=["write(**)"]']
    runtimes = [
        start(tmp_path, [*script, says("Done.")], sets=sets, work=str(folder.relative_to(tmp_path)))
        for folder in (main, worktree.path)
    ]
    places = runtimes[0].setup.places
    for runtime in runtimes:
        await runtime.submit("go")
        await runtime.close()
    drafts = {folder_of(places.data / "history", one.setup.cwd) for one in runtimes}
    assert (len(drafts), len(list(places.snapshots.iterdir()))) == (2, 2)
    store = Store(runtimes[0].store.root)
    assert len(store.list(worktree.path)) == 1
    assert {one.cwd for one in store.list(main)} == {str(main), str(worktree.path)}
    assert store.last(main).parent != store.last(worktree.path).parent


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("rm -rf .git", "not a git repository"),
        ("rm -rf .git && git init -q", "HEAD"),
        ("mkdir -p ../app.worktrees/fix", "is no worktree of"),
    ],
)
def test_where_there_can_be_none_the_start_says_why(
    main: Path, environ: dict[str, str], before: str, why: str
) -> None:
    subprocess.run(["/bin/sh", "-c", before], cwd=main, env=environ, check=True)
    with pytest.raises(UsageError, match=f"--worktree: .*{why}"):
        enter(Launch(worktree="fix"), main, environ)
