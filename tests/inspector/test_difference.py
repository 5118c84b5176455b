"""What two requests differ in."""

from collections import deque
from collections.abc import Generator

from prunecli.context.state import PREAMBLE
from prunecli.features.inspector.details import Difference, Requests
from prunecli.model.events import AssistantMessage, RequestSent, SettingChanged
from prunecli.model.messages import Text, Usage
from tests.context.talk import Talk, tokens


def requests_of(talk: Talk) -> Requests:
    requests = Requests(talk.records)
    deque(requests.reading(), 0)
    return requests


def finished(steps: Generator[None, None, Difference]) -> Difference:
    """What the last step gives."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Difference = stop.value
            return found


def compared(talk: Talk, number: int) -> Difference:
    requests = requests_of(talk)
    return finished(requests.compare(requests.sent[number - 1], requests.sent[number]))


def request(talk: Talk, model: str = "m") -> None:
    talk.add(RequestSent(model, 10, ""))


def begun() -> tuple[Talk, int]:
    """A session with one request answered by a call, whose result is in."""
    talk = Talk()
    talk.user()
    request(talk)
    result = talk.step("read", tokens(100))
    return talk, result


def test_what_is_only_new_at_the_end_breaks_no_cache() -> None:
    talk, result = begun()
    request(talk)
    found = compared(talk, 1)
    assert [(one.change, one.seq) for one in found.changes] == [("added", result - 1), ("added", result)]
    assert (found.broken_at, found.preamble, found.model, found.same_messages) == (None, False, False, 1)


def test_a_user_message_that_gets_longer_breaks_no_cache() -> None:
    talk = Talk()
    talk.user()
    request(talk)
    talk.user("and this")
    request(talk)
    found = compared(talk, 1)
    assert found.broken_at is None
    assert [one.change for one in found.changes] == ["added"]


def test_a_clear_replaces_and_breaks_where_it_stands() -> None:
    talk, result = begun()
    request(talk)
    talk.say()
    talk.edit("clear", result, "gone")
    request(talk)
    found = compared(talk, 2)
    assert ("replaced", result) in [(one.change, one.seq) for one in found.changes]
    assert found.broken_at == result
    assert next(one for one in found.changes if one.seq == result).after < 50


def test_a_drop_removes() -> None:
    talk, result = begun()
    request(talk)
    talk.say()
    talk.edit("drop", result - 1)
    request(talk)
    found = compared(talk, 2)
    assert {one.seq for one in found.changes if one.change == "removed"} == {result - 1, result}
    assert found.broken_at is not None


def test_another_preamble_and_another_model_are_said() -> None:
    talk, _ = begun()
    talk.add(SettingChanged(PREAMBLE, {"system": ["be brief"], "tools": []}))
    request(talk, "other")
    found = compared(talk, 1)
    assert (found.preamble, found.model) == (True, True)


def test_requests_of_an_imported_session_are_its_responses() -> None:
    talk = Talk()
    talk.user()
    talk.say()
    talk.user()
    talk.add(AssistantMessage((Text("x"),), "m", usage=Usage(7, 1)))
    sent = requests_of(talk).sent
    assert [(one.seq, one.usage.input_tokens) for one in sent] == [(1, 0), (3, 7)]
    assert [one.seq for one in compared(talk, 1).changes] == [1, 2]


def test_a_request_that_failed_is_one_without_a_report() -> None:
    talk = Talk()
    talk.user()
    request(talk)
    request(talk)
    talk.say()
    assert [one.seq for one in requests_of(talk).sent] == [1, 2]
