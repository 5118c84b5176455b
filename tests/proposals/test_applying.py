"""What commands change on a layer: nothing before an answer, all of it after."""

import os
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import Applied, Stale, apply
from tests.proposals.laying import tree, trial


async def test_commands_on_a_layer_change_nothing_and_see_what_they_wrote(tmp_path: Path) -> None:
    with trial(tmp_path) as one:
        (one.workspace / "a.txt").write_text("a\n")
        before = tree(one.workspace)
        assert await one.run("echo b >> a.txt; mkdir d; echo c > d/c; rm -f none") == ("(no output)", 0)
        assert await one.run("cat a.txt d/c") == ("a\nb\nc\n", 0)
        assert tree(one.workspace) == before
        proposal = one.freeze()
        assert [(change.path, bool(change.before)) for change in proposal.changes] == [
            ("a.txt", True),
            ("d", False),
            ("d/c", False),
        ]
        assert isinstance(apply(proposal), Applied)
        assert (one.workspace / "a.txt").read_text() == "a\nb\n"
        assert (one.workspace / "d" / "c").read_text() == "c\n"


CHANGES = [
    "echo b >> a",
    "rm a; mkdir a; touch a/b",
    "rm -r d; echo x > d",
    "rm -r d; mkdir d; echo y > d/new",
    "mv d e; mkdir d; mv e/x d/",
    "ln -s nowhere l; ln -sfn d a",
    "chmod 755 a; chmod 700 d",
    "mkdir -p n/m/o; touch n/m/f; chmod 555 n/m; chmod 500 n",
    "chmod 555 d",
    "chmod 700 ro; touch ro/new; rm ro/f; chmod 555 ro",
    "chmod 700 ro; rm -r ro",
    "mkfifo p; echo s > a.new; mv a.new a",
    "truncate -s 10M sparse; echo end >> sparse; chmod 000 a",
    "mkdir $'new\\nline'; touch $'new\\nline/\\xff\\xfe'; rm d/x",
    "mkdir empty; rm -rf d/sub",
    "touch a; cat a > /dev/null",
    "mv a t; mv d a; mv t d",
]


def filled(workspace: Path) -> None:
    """The workspace that CHANGES start from."""
    (workspace / "a").write_text("a\n")
    (workspace / "d" / "sub").mkdir(parents=True)
    (workspace / "d" / "x").write_text("x\n")
    (workspace / "d" / "sub" / "y").write_text("y\n")
    (workspace / "ro").mkdir()
    (workspace / "ro" / "f").write_text("f\n")
    (workspace / "ro").chmod(0o555)


@pytest.mark.parametrize("command", CHANGES)
async def test_applying_equals_doing(tmp_path: Path, command: str) -> None:
    with trial(tmp_path / "tried") as one:
        filled(one.workspace)
        before = tree(one.workspace)
        tried = await one.run(command)
        assert tree(one.workspace) == before
        proposal = one.freeze()
        assert (proposal.refused, proposal.stale) == ((), ())
        assert isinstance(apply(proposal), Applied)
        assert os.listdir(one.layer.folder)
        with trial(tmp_path / "done") as other:
            filled(other.workspace)
            assert await other.box.run(command) == tried
            assert tree(one.workspace) == tree(other.workspace)


async def test_what_was_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    with trial(tmp_path) as one:
        (one.workspace / "a").write_text("a\n")
        await one.run("echo b >> a; echo n > new")
        proposal = one.freeze()
        (one.workspace / "a").write_text("mine\n")
        assert apply(proposal) == Stale((str(one.workspace.resolve() / "a"),))
        assert tree(one.workspace).keys() == {"a"}
