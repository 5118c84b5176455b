"""Back at a cold, long session: a summary where it costs less than sending everything again."""

from typing import Any

import pytest

from prunecli.agent.decide import Compact, Inbox, Limits, next_action
from prunecli.agent.policy import OnReturn, Policy
from prunecli.context.compaction import Options
from prunecli.context.economics import Market
from tests.context.expecting import numbers
from tests.context.strategies.test_auto import COLD, WARM, used
from tests.context.talk import Talk, tokens


def returned(size: int = 2_000, turns: int = 8) -> Talk:
    """A session of long reads, and a new prompt after a pause."""
    talk = Talk()
    for turn in range(turns):
        talk.user()
        talk.step("read", tokens(size), path=f"{turn}.py")
        used(talk)
    talk.user("and now?")
    return talk


def policy(on_return: Any = "auto", market: Market = COLD, **more: Any) -> Policy:
    found = numbers(1.0, **{"return_tokens": 10_000, "summary_tokens": 500, **more})
    options = Options(max_context_tokens=1 << 30, on_return=on_return)
    return Policy(compaction=options, market=market, expectations=found, window=1 << 30)


def found(talk: Talk, policy: Policy) -> OnReturn | None:
    return policy.on_return(talk.context)


def test_a_long_cold_session_is_summarized_up_to_its_newest_turns_only_if_asked_for() -> None:
    talk = returned()
    offer = found(talk, policy("offer"))
    assert offer is not None
    assert offer.plan.tail_start == talk.context.user_turns[-2]
    assert offer.tokens == talk.context.counts.context_tokens > 4 * offer.left
    action = next_action(talk.context, Inbox(), policy("auto"), Limits())
    assert isinstance(action, Compact)
    assert action.plan == offer.plan
    assert not isinstance(next_action(talk.context, Inbox(), policy("offer"), Limits()), Compact)


@pytest.mark.parametrize(
    ("talk", "policy"),
    [
        (returned(), policy("off")),
        (returned(), policy(market=WARM)),
        (returned(200), policy()),
        (returned(), policy(summary_tokens=50_000)),
        (returned(turns=1), policy()),
    ],
    ids=["off", "warm", "short", "dear", "one turn"],
)
def test_otherwise_there_is_none(talk: Talk, policy: Policy) -> None:
    assert found(talk, policy) is None


def test_inside_a_tool_round_there_is_none() -> None:
    talk = returned()
    talk.step("read", tokens(2_000), path="again.py")
    assert found(talk, policy()) is None


def test_the_offer_says_what_both_ways_cost() -> None:
    offer = found(returned(), policy("offer"))
    assert offer is not None
    words = offer.words(COLD._replace(read=0.5, write=6.25, output=25.0), "Ctrl+S")
    assert words[0].startswith("The cache expired: 16")
    assert words[0].endswith(". Ctrl+S summarizes first")
    assert len(words[0]) < 78, "it fits on a narrow screen"
    assert " a request instead of $" in words[1]
    assert "$" not in " ".join(offer.words(Market(), ""))
