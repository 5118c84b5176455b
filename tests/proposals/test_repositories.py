"""What a layer may do to repositories, and how git tells it."""

import asyncio
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import Applied, apply
from prunecli.safety.proposals.changes import Proposal
from prunecli.safety.proposals.git_words import with_git_words
from tests.files import put
from tests.proposals.laying import Trial


def repository(one: Trial, path: str = ".") -> Path:
    """A repository with one commit on main."""
    folder = one.workspace / path
    put(folder / "a.txt", "a\n")
    put(folder / "b.txt", "b\n")
    one.direct(f"cd {path} && git init -q -b main . && git add . && git commit -qm one")
    return folder


async def told(one: Trial, command: str) -> Proposal:
    """The proposal of a command, with git's words."""
    text, code = await one.run(command)
    assert code == 0, text
    return await asyncio.to_thread(lambda: with_git_words(one.freeze()))


TOLD = [
    ("echo b >> a.txt; git commit -qam two", ("1 commit on main",)),
    (
        "for n in 1 2 3; do git commit -q --allow-empty -m $n; done; git tag v1",
        ("3 commits on main", "tag v1 made"),
    ),
    (
        "git checkout -q -b topic; git commit -q --allow-empty -m x",
        ("branch topic made", "on branch topic now"),
    ),
    ("echo c > c; git add c", ("index changed",)),
    ("git commit -q --amend -m other", ("1 commit on main", "1 commit less on main")),
    ("git checkout -q --detach; git branch -qD main", ("branch main deleted", "on no branch now")),
    ("git gc -q; git pack-refs --all", ()),
]


@pytest.mark.parametrize(("command", "words"), TOLD)
async def test_git_tells_what_happened_and_all_of_it_is_applied(
    one: Trial, command: str, words: tuple[str, ...]
) -> None:
    repository(one)
    proposal = await told(one, command)
    assert (proposal.git, proposal.refused) == (words, ())
    look = "export GIT_OPTIONAL_LOCKS=0; git log --all --format='%H %d'; git status --short; git fsck 2>&1"
    wanted = await one.run(look)
    assert isinstance(apply(proposal), Applied)
    assert one.direct(look) == wanted


async def test_an_index_that_was_only_written_again_is_no_change(one: Trial) -> None:
    folder = repository(one)
    (folder / "a.txt").touch()
    proposal = await told(one, "git status; git update-index --refresh")
    assert (proposal.changes, proposal.git) == ((), ())


async def test_a_new_repository_is_applied_unless_it_may_start_programs(one: Trial) -> None:
    proposal = await told(one, "git init -q new; cd new; echo a > a; git add a; git commit -qm one")
    assert (proposal.git, proposal.refused) == (("a new repository",), ())
    assert isinstance(apply(proposal), Applied)
    assert one.direct("git -C new log --format=%s") == ("one\n", 0)


EVIL = [
    ("git init -q new; echo evil > new/.git/hooks/post-checkout", "new/.git"),
    ("git init -q new; git -C new config core.fsmonitor ./evil", "new/.git"),
    ("git init -q --bare b; cd b; printf '[core]\n\tfsmonitor = evil\n' >> config", "b"),
    ("mkdir .claude; echo '{}' > .claude/settings.json", ".claude"),
    ("echo '{}' > .mcp.json", ".mcp.json"),
    ("mkdir .PRUNECLI", ".PRUNECLI"),
    ("cd repo; echo ../../other > .git/commondir", "repo/.git/commondir"),
    ("cd repo; echo /etc > .git/objects/info/alternates", "repo/.git/objects/info/alternates"),
    (
        "cd repo; mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
        "repo/.git/rebase-merge",
    ),
    ("cd repo; ln -s /etc .git/refs/etc", "repo/.git/refs/etc"),
    ("cd repo; git worktree add -q ../tree", "repo/.git/worktrees"),
    ("cd repo; echo x > .git/worktrees", "repo/.git/worktrees"),
    ("mkdir w; echo 'gitdir: /etc' > w/.git", "w/.git"),
]


@pytest.mark.parametrize(("command", "path"), EVIL)
async def test_what_starts_programs_or_leads_elsewhere_is_refused_by_name(
    one: Trial, command: str, path: str
) -> None:
    repository(one, "repo")
    before = one.direct("find . | sort")
    await one.run(f"{command}; true")
    assert any(found.startswith(path) for found, _ in one.freeze().refused), one.freeze()
    one.drop()
    assert one.direct("find . | sort") == before


@pytest.mark.parametrize(
    "line", ["echo x >> .git/config", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"]
)
async def test_settings_of_a_repository_are_read_only(one: Trial, line: str) -> None:
    repository(one)
    text, _ = await one.run(line)
    assert "Read-only file system" in text


async def test_a_linked_work_tree_commits_to_the_repository_that_knows_it(one: Trial) -> None:
    one.direct("mkdir ../main && cd ../main && git init -q -b main . && git commit -q --allow-empty -m one")
    one.direct("rmdir ../ws && cd ../main && git worktree add -q ../ws")
    proposal = await told(one, "echo a > a; git add a; git commit -qm two")
    assert proposal.refused == ()
    assert isinstance(apply(proposal), Applied)
    assert one.direct("cd ../main && git log --format=%s ws") == ("two\none\n", 0)
    assert one.direct("git status --short") == ("", 0)
