"""What commands change on a layer: nothing before an answer, all of it after."""

import os
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import Applied, Stale, apply
from prunecli.safety.sandbox.sandbox import Chosen
from prunecli.util.errors import ToolError
from tests.proposals.equality import differs
from tests.proposals.laying import Trial, tree, trial


async def test_commands_on_a_layer_change_nothing_and_see_what_they_wrote(one: Trial) -> None:
    (one.workspace / "a.txt").write_text("a\n")
    before = tree(one.workspace)
    assert await one.run("echo b >> a.txt; mkdir d; echo c > d/c; rm -f none") == ("", 0)
    assert await one.run("cat a.txt d/c") == ("a\nb\nc\n", 0)
    assert tree(one.workspace) == before
    proposal = one.freeze()
    changed = [(change.path, bool(change.before)) for change in proposal.changes]
    assert changed == [("a.txt", True), ("d", False), ("d/c", False)]
    assert proposal.content(proposal.changes[0], 100, new=False) == b"a\n"
    assert proposal.content(proposal.changes[0], 100, new=True) == b"a\nb\n"
    assert isinstance(apply(proposal), Applied)
    assert (one.workspace / "a.txt").read_text() == "a\nb\n"
    assert (one.workspace / "d" / "c").read_text() == "c\n"


async def test_a_dropped_layer_leaves_nothing(one: Trial) -> None:
    before = tree(one.workspace)
    await one.run("mkdir -p n/m; touch n/m/f; chmod 0 n/m/f n/m n")
    layers = Path(one.layer.folder).parent
    one.drop()
    assert tree(one.workspace) == before
    assert list(layers.iterdir()) == []


CHANGES = [
    "echo b >> a",
    "rm a; mkdir a; touch a/b",
    "rm -r d; echo x > d",
    "rm -r d; mkdir d; echo y > d/new",
    "mv d e; mkdir d; mv e/x d/",
    "ln -s nowhere l; ln -sfn d a",
    "ln a b; echo more >> b",
    "ln a b; chmod 600 b; ln d/x d/z",
    "echo more >> one",
    "sed -i s/l/m/ one",
    "mv one three; ln two four; rm two",
    "ln one five; echo more >> five; ln -s five six; ln six seven",
    "mkdir n; echo n > n/1; ln n/1 n/2; mkdir o; ln n/1 o/3; ln n/1 four",
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
    (workspace / "one").write_text("linked\n")
    os.link(workspace / "one", workspace / "two")
    os.utime(workspace / "one", (1_600_000_000, 1_600_000_000))
    (workspace / "ro").mkdir()
    (workspace / "ro" / "f").write_text("f\n")
    (workspace / "ro").chmod(0o555)


@pytest.mark.parametrize("command", CHANGES)
async def test_applying_equals_doing(tmp_path: Path, chosen: Chosen, command: str) -> None:
    with trial(tmp_path / "tried", chosen) as one, trial(tmp_path / "done", chosen) as other:
        for each in (one, other):
            filled(each.workspace)
        before = tree(one.workspace)
        tried = await one.run(command)
        assert tree(one.workspace) == before
        proposal = one.freeze()
        assert (proposal.refused, proposal.stale) == ((), ())
        assert isinstance(apply(proposal), Applied)
        assert other.direct(command) == tried
        assert tree(one.workspace) == tree(other.workspace)


async def test_what_was_changed_since_is_not_overwritten(one: Trial) -> None:
    (one.workspace / "a").write_text("a\n")
    await one.run("echo b >> a; echo n > new")
    proposal = one.freeze()
    (one.workspace / "a").write_text("mine\n")
    assert apply(proposal) == Stale((str(one.workspace / "a"),))
    assert tree(one.workspace).keys() == {"a"}
    assert one.freeze().stale == (str(one.workspace / "a"),)


@pytest.mark.parametrize("command", ["chmod 755 one; chmod 700 two", "echo x >> one; echo y >> two"])
async def test_two_names_of_one_file_that_were_changed_apart_are_refused(one: Trial, command: str) -> None:
    filled(one.workspace)
    await one.run(command)
    before, proposal = tree(one.workspace), one.freeze()
    assert proposal.refused == (("two", "is the same file as one"),)
    with pytest.raises(ToolError, match="Nothing was applied: two is the same file as one"):
        apply(proposal)
    assert tree(one.workspace) == before


async def test_applying_equals_doing_for_drawn_commands(tmp_path: Path, chosen: Chosen) -> None:
    """A dose; test_equality.py has 500 of them."""
    with trial(tmp_path / "tried", chosen) as one, trial(tmp_path / "done", chosen) as other:
        assert await differs(one, other, seed=0) == ""
