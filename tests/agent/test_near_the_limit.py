"""Nearing the limit of the context: what costs least comes first, and no share of a window opens the gate alone."""

from dataclasses import replace

import pytest

from prunecli.agent.decide import Action, Compact, Inbox, Limits, Prune, Send, next_action
from prunecli.agent.policy import Policy
from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.compaction import Options, last_word
from prunecli.context.economics import Market
from prunecli.context.strategies.auto import LOSING
from prunecli.model.events import AssistantMessage, PrunApplied, UserMessage
from prunecli.model.messages import Text
from tests.context.expecting import numbers
from tests.context.thinking import OPUS, Talk

WARM = Market(now=1, model=OPUS, read=0.2, write=500.0, output=20.0)
"""Writing costs so much that the gate stays shut."""
OFF = Options(enabled=False)
ON = Options(max_context_tokens=1_000, compact_at_pct=0.85, keep_first_turns=1, keep_recent_turns=1)
AUTO = (chosen(Config(), "auto"),)
ALL = (chosen(Config().with_value("aggressive.keep_last_assistants", "1"), "aggressive"),)
COSTLY = Policy(ALL, window=100_000, max_tokens=100, gate="cache_aware", market=WARM, compaction=OFF)


def turns(count: int, steps: int = 1) -> Talk:
    """Turns that each read 100 tokens a few times; the last prompt is not answered yet."""
    talk = Talk()
    for number in range(count):
        for _ in range(steps):
            talk.step()
        talk.emit(AssistantMessage((Text("Done."),), OPUS))
        talk.emit(UserMessage((Text(f"and {number}"),)))
    return talk


def action(talk: Talk, policy: Policy, limits: Limits | None = None) -> Action:
    return next_action(talk.context, Inbox(), policy, limits or Limits())


def waits(talk: Talk, policy: Policy) -> str:
    waiting = policy.decided(talk.context)[1]
    assert waiting
    return waiting.words


def full(talk: Talk, policy: Policy, share: float = 0.95) -> Policy:
    """The policy with a window of which the next request takes this share."""
    return policy._replace(window=round(talk.context.counts.context_tokens / share) + policy.max_tokens)


def reason(found: Action) -> str:
    assert isinstance(found, Prune), found
    (event,) = found.events
    return event.reason


def test_a_full_window_alone_opens_no_gate() -> None:
    talk = turns(8)
    assert action(talk, full(talk, COSTLY, 0.85)) == Send()
    assert "pruning now costs" in waits(talk, COSTLY)


def test_where_nothing_else_helps_a_prune_is_forced_and_its_price_is_said() -> None:
    talk = turns(8)
    said = reason(action(talk, full(talk, COSTLY)))
    assert "the window is nearly full, costs ~$" in said
    assert " once, saves ~$" in said
    assert "drops" in said
    relief = action(talk, full(talk, COSTLY._replace(chosen=())))
    assert "tokens; costs ~$" in reason(relief)
    assert isinstance(relief, Prune)
    assert relief.events[0].strategy == "pressure"


def test_a_compaction_comes_before_a_forced_prune() -> None:
    talk = turns(8)
    policy = full(talk, COSTLY._replace(chosen=(), compaction=replace(ON, max_context_tokens=100_000)))
    assert isinstance(action(talk, policy), Compact)
    tried = Limits(compacted_at=last_word(talk.context))
    assert "costs ~$" in reason(action(talk, policy, tried)), "a summary that failed leaves the prune"


def due(talk: Talk, share: float = 0.9, **more: object) -> Policy:
    """A policy for which a compaction of this session is due."""
    limit = round(talk.context.counts.context_tokens / share)
    options = replace(ON, max_context_tokens=limit)
    policy = COSTLY._replace(compaction=options, market=WARM._replace(limit=limit))
    return policy._replace(**more)  # type: ignore[arg-type]


def test_prunes_that_leave_room_come_before_a_compaction_with_their_price() -> None:
    talk = turns(8)
    said = reason(action(talk, due(talk)))
    assert "; instead of a compaction, costs ~$" in said


def test_prunes_that_leave_no_room_for_a_while_are_not_made() -> None:
    """The request for the summary would have to write the cache again."""
    talk = turns(8)
    few = (chosen(Config().with_value("aggressive.keep_last_assistants", "15"), "aggressive"),)
    policy = due(talk, 1.0, chosen=few)
    assert policy.forced(talk.context)[0], "it would clear something"
    assert isinstance(action(talk, policy), Compact)


def test_inside_a_round_the_endpoints_summary_keeps_the_thinking() -> None:
    talk = turns(8)
    policy = due(talk, binds=True)
    assert "instead of a compaction" in reason(action(talk, policy))
    talk.step()
    inside = due(talk, binds=True)
    assert "instead of a compaction" in reason(action(talk, inside)), "our own summary would cost it too"
    found = action(talk, inside._replace(compacts=True))
    assert isinstance(found, Compact)
    assert found.plan.by_endpoint


def test_while_pruning_loses_money_a_compaction_is_made_at_once() -> None:
    talk = turns(8)
    policy = due(talk)
    assert isinstance(action(talk, policy), Prune)
    assert isinstance(action(talk, policy._replace(losing=lambda: True)), Compact)


def test_auto_says_until_when_it_waits_and_acts_once_the_cache_is_cold() -> None:
    talk = turns(4)
    policy = COSTLY._replace(chosen=AUTO, expectations=numbers(0.001), market=WARM._replace(now=20_000))
    assert action(talk, policy) == Send()
    assert waits(talk, policy).endswith(" to prune: cache warm for 4m40s")
    cold = policy._replace(market=WARM._replace(now=400_000))
    found = action(talk, cold)
    assert isinstance(found, Prune)
    thinking, cleared = (event.reason for event in found.events)
    loss = ", drops 1 thinking block (~30 tokens)"
    own = "old thinking is no longer sent: 3 thinking blocks (~90 tokens)"
    assert thinking == f"{own}; cache cold: idle for 6m39s", "the other loss is not told twice"
    assert cleared == f"unlikely to be needed again; cache cold: idle for 6m39s{loss}"


def test_auto_edits_nothing_inside_a_round_where_thinking_is_bound() -> None:
    talk = turns(4)
    talk.step()
    cold = COSTLY._replace(
        chosen=AUTO, expectations=numbers(0.001), market=WARM._replace(now=400_000), binds=True
    )
    assert action(talk, cold) == Send()
    assert waits(talk, cold) == "prunes wait until your next prompt: an edit now would drop thinking"
    assert isinstance(action(talk, cold._replace(binds=False)), Prune)


@pytest.mark.parametrize("near", [True, False])
def test_the_user_is_told_that_pruning_loses_money_where_auto_would_have_edited(near: bool) -> None:
    talk = turns(4)
    limit = round(talk.context.counts.context_tokens / (0.8 if near else 0.5))
    market = WARM._replace(limit=limit)
    policy = COSTLY._replace(chosen=AUTO, expectations=numbers(0.001), market=market, losing=lambda: True)
    assert policy.problems(talk.context) == ((LOSING,) if near else ())
    assert policy.prunes(talk.context) == []


def test_the_user_is_told_that_pruning_loses_money_where_auto_would_have_edited_for_the_gain() -> None:
    talk = turns(4)
    worth = numbers(0.001, warm_margin=(0, 0))
    policy = COSTLY._replace(chosen=AUTO, expectations=worth, market=WARM._replace(write=0.25))
    assert policy.prunes(talk.context)
    assert policy.problems(talk.context) == ()
    losing = policy._replace(losing=lambda: True)
    assert losing.prunes(talk.context) == []
    assert losing.problems(talk.context) == (LOSING,)


def test_what_was_refused_as_too_long_is_pruned_with_its_price() -> None:
    (event,) = COSTLY.make_room(turns(8).context)
    assert isinstance(event, PrunApplied)
    assert event.reason.startswith("the endpoint rejected the request as too long; costs ~$")
