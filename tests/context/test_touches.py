"""Pruning follows what a call was recorded to touch, whatever its tool and its arguments are called."""

import pytest

from prunecli.model.events import ToolStarted
from prunecli.model.touches import Touches
from tests.context.talk import Talk, seqs

TEXT = "line\n" * 40
A = "src/a.py"
PAGE = {"path": f"/w/{A}", "first_line": 1, "last_line": 40, "lines": 40}


def began() -> Talk:
    talk = Talk()
    talk.user()
    return talk


def superseded(talk: Talk) -> list[int]:
    talk.seen()
    return seqs(talk.ask("superseded"))


def view_of(talk: Talk, tool: str = "view", path: str = f"/w/{A}") -> int:
    """A new tool that shows a file, and notes which."""
    details = {**PAGE, "path": path}
    return talk.step(tool, TEXT, details=details, touches=Touches(reads=(path,)), target=path)


def test_a_new_tool_that_shows_a_file_is_superseded_like_a_read() -> None:
    talk = began()
    old, new = view_of(talk), view_of(talk)
    assert superseded(talk) == [old]
    talk.step("read", TEXT, details=PAGE, path=A, touches=Touches(reads=(A,)))
    assert superseded(talk) == [old, new]


@pytest.mark.parametrize(
    ("touches", "gone"),
    [
        (Touches(changes=(A,)), 2),
        (Touches(reads=(A,), changes=(A,)), 1),
        (Touches(changes=(A, "src/b.py")), 1),
        (Touches(reads=(A,)), 1),
        (Touches(runs=("make",)), 1),
    ],
)
def test_a_file_that_is_replaced_supersedes_what_showed_it(touches: Touches, gone: int) -> None:
    """Of two that show it the later one supersedes the first; only a whole new file supersedes both."""
    talk = began()
    shown = [view_of(talk), view_of(talk)]
    talk.step(
        "put", "done", target=A, details={"path": f"/w/{A}"} if touches.changes else {}, touches=touches
    )
    assert superseded(talk) == shown[:gone]


def test_what_only_tells_of_a_file_does_not_supersede_what_shows_it() -> None:
    talk = began()
    shown = talk.step("read", TEXT, path=A)
    outlines = [talk.step("outline", TEXT, file=A, touches=Touches(reads=(A,))) for _ in range(2)]
    talk.step("outline", TEXT, file=A, depth=2, touches=Touches(reads=(A,)))
    assert superseded(talk) == [outlines[0]]
    assert shown not in superseded(talk)


def test_a_new_search_is_superseded_by_the_same_search() -> None:
    talk = began()
    searches = Touches(reads=("src",), searches=("src",))
    old = talk.step("symbols", TEXT, where="src", name="f", touches=searches)
    talk.step("symbols", TEXT, where="src", name="g", touches=searches)
    talk.step("symbols", TEXT, where="src", name="f", touches=searches)
    assert superseded(talk) == [old]


def test_what_a_record_says_goes_before_the_name_of_the_tool() -> None:
    talk = began()
    for _ in range(2):
        talk.step("read", TEXT, path=A, touches=Touches(runs=("mail read",)))
    assert superseded(talk) == []


def test_records_that_say_nothing_are_known_by_name() -> None:
    talk = began()
    old = talk.step("read", TEXT, path=A)
    talk.step("read", TEXT, path=A)
    assert talk.entry(old).touches == Touches(reads=(A,))
    assert superseded(talk) == [old]
    assert talk.entry(talk.step("hologram", TEXT, path=A)).touches is None
    assert talk.entry(talk.command("x", "!ls -l")).touches == Touches(runs=("ls -l",))


def test_a_call_whose_id_comes_again_touches_what_its_own_record_says() -> None:
    talk = began()
    first = talk.step("view", TEXT, touches=Touches(reads=(A,)))
    talk._calls = 0
    second = talk.step("view", TEXT)
    assert talk.entry(first).touches == Touches(reads=(A,))
    assert talk.entry(second).touches is None
    talk.add(ToolStarted("nobody", "view", {}, Touches()))


@pytest.mark.parametrize(
    ("touches", "again"),
    [(Touches(reads=(A,)), True), (Touches(changes=(f"/w/{A}",)), False), (Touches(), True)],
)
def test_only_a_file_that_did_not_change_is_fetched_again(touches: Touches, again: bool) -> None:
    talk = began()
    taken = view_of(talk)
    talk.seen()
    prun = talk.edit("clear", taken, "[gone]", "pi")
    talk.step("put", "done", touches=touches)
    back = view_of(talk)
    assert talk.context.prune_history.rows[prun].rereads == ((back,) if again else ())


@pytest.mark.parametrize(("path", "kept"), [("/w/a", True), ("/w/b", False)])
def test_a_change_to_a_file_is_evidence_for_what_showed_it(path: str, kept: bool) -> None:
    talk = began()
    head = talk.exchange(view_of(talk, path="/w/a")).seq
    talk.step("put", "done", touches=Touches(changes=(path,)))
    talk.say("plain")
    assert (head not in seqs(talk.ask("importance", n=1))) == kept
