"""How often an entry was sent, and as what."""

from prunecli.context.labels import Key
from prunecli.context.measured import CarryCost
from prunecli.context.outline import Outline
from prunecli.model.events import PrunReverted, RequestSent, Rewound
from tests.context.talk import Talk, tokens


class Billed(Talk):
    """A talk whose costs are asked for."""

    def carry_cost(self) -> CarryCost:
        return CarryCost(self.records)

    def carried(self, seq: int) -> int:
        """Estimated tokens: no endpoint has reported anything."""
        raw, exact, words = self.carry_cost().carried(self.entry(seq), self.context)
        assert exact == 0
        return raw + words


def test_an_entry_rides_with_each_request_after_it() -> None:
    talk = Billed()
    talk.user(tokens(10))
    result = talk.step("read", tokens(100))
    assert (talk.carry_cost().since(0), talk.carried(0), talk.carried(result)) == (1, 10, 0)
    talk.say()
    talk.user()
    talk.say()
    assert (talk.carried(0), talk.carried(result)) == (30, 200)


def test_a_recorded_request_and_its_response_are_one_ride() -> None:
    talk = Billed()
    talk.user(tokens(10))
    talk.add(RequestSent("m", 10, ""))
    talk.say()
    talk.add(RequestSent("m", 10, ""))
    assert talk.carry_cost().requests == 2
    assert talk.carried(0) == 20


def test_under_an_edit_it_rides_as_the_shorter_text_and_an_undone_edit_was_never_there() -> None:
    talk = Billed()
    talk.user()
    result = talk.step("read", tokens(100))
    talk.say()
    prune = talk.edit("clear", result, tokens(3))
    talk.say()
    talk.say()
    assert talk.carried(result) == 100 + 3 + 3
    talk.add(PrunReverted((prune,)))
    talk.say()
    assert talk.carried(result) == 400


def test_a_dropped_exchange_carries_nothing_and_a_restore_ends_that() -> None:
    talk = Billed()
    talk.user()
    head = talk.call(("read", {"path": "a"}))
    result = talk.answer(tokens(100))
    talk.say()
    talk.edit("drop", head)
    talk.say()
    assert talk.carried(result) == 100
    talk.revert(head)
    assert talk.carried(result) == 200


def test_a_rewind_takes_prunes_after_it_back() -> None:
    talk = Billed()
    talk.user()
    result = talk.step("read", tokens(100))
    said = talk.say()
    talk.edit("clear", result, tokens(1))
    talk.say()
    talk.add(Rewound(said))
    talk.say()
    assert talk.carried(result) == 300
    node = Outline(talk.context, talk.records).node(Key("result", result))
    assert (node.tokens, node.carried, node.age, node.state) == (100, 300, 3, "live")
