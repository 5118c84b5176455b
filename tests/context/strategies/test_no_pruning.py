"""no_pruning proposes nothing."""

from prunecli.context.strategy import Proposal
from tests.context.talk import Talk, tokens


def test_nothing_is_proposed_even_when_forced() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(90_000))
    talk.say()
    asked = talk.ask("no_pruning", talk.view(100, forced=True))
    assert asked == Proposal((), "no_pruning prunes nothing")
