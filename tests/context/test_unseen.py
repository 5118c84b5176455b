"""Thinking that the model does not see: its tokens, what an endpoint reports of it, and when a person is told."""

from dataclasses import replace

import pytest

from prunecli.context.economics import Market
from prunecli.context.impact import impact, judge
from prunecli.context.pressure import in_tool_round
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    RequestSent,
    Rewound,
    SettingChanged,
    UserMessage,
)
from prunecli.model.messages import RedactedThinking, Text, Thinking, Usage
from tests.calls import calls_of
from tests.context.thinking import OPUS, Talk, dropped
from tests.session.points import folded

FREE = Market()


@pytest.mark.parametrize(("thinking", "freed"), [(30, 30), (None, 38), (0, 0), (90, 50)])
def test_the_tokens_of_dropped_thinking_leave_the_estimate(thinking: int | None, freed: int) -> None:
    """As reported; else what the answer's words and calls leave over, 50 less 12 here; never more than there is."""
    talk = Talk(3, thinking)
    before = talk.context.counts.context_tokens
    found = impact(talk.context, [talk.clear(0)], FREE)
    talk.emit(talk.clear(0))
    assert (found.lost.blocks, found.lost.tokens) == (2, 2 * freed)
    assert before - talk.context.counts.context_tokens == 98 + 2 * freed == found.freed
    assert found.after == talk.context.counts.context_tokens


def test_thinking_that_a_repair_left_out_leaves_the_estimate_too() -> None:
    talk = Talk(2)
    before = talk.context.counts.context_tokens
    first = talk.context.exchanges[0].seq
    strip = PrunApplied("strategy", (Edit("strip", first),), "repair")
    assert impact(talk.context, [strip], FREE).lost.blocks == 1, "what is left out in front harms no other"
    talk.emit(strip)
    assert before - talk.context.counts.context_tokens == 30
    talk.emit(PrunApplied("strategy", (Edit("strip", talk.context.exchanges[1].seq),), "repair"))
    assert before - talk.context.counts.context_tokens == 60


def test_an_undo_says_what_comes_back_and_what_it_costs() -> None:
    talk = Talk(3)
    prune = talk.emit(talk.clear(0))
    talk.step()
    found = impact(talk.context, [PrunReverted((prune,))], FREE)
    assert (found.lost.blocks, found.back.blocks) == (1, 2)
    assert found.thinking == "drops 1 thinking block (~30 tokens), brings back 2 thinking blocks (~60 tokens)"


def test_what_was_not_foreseen_is_taken_from_the_report_and_kept_until_an_edit_changes_it() -> None:
    talk = Talk(3)
    answers = [exchange.seq for exchange in talk.context.exchanges]
    size = talk.context.counts.context_tokens
    talk.step(dropped("messages.1.content.0", "organization_binding_mismatch"))
    assert talk.unseen() == answers[:1]
    assert talk.context.counts.context_tokens == size - 30 + 50 + 100
    talk.emit(RequestSent(OPUS, 0, ""))
    talk.answer(None)
    assert talk.unseen() == answers[:1], "no report, no news"
    talk.emit(RequestSent(OPUS, 0, ""))
    talk.answer()
    assert talk.unseen() == [], "the account is back"


def test_what_the_endpoint_lets_pass_counts_as_seen() -> None:
    talk = Talk(2)
    talk.emit(talk.clear(0))
    assert len(talk.unseen()) == 1
    talk.step(dropped("messages.3.content.0", type_="thinking_mismatch_allowed"))
    assert talk.unseen() == []
    talk.emit(talk.clear(1))
    assert len(talk.unseen()) == 1, "the answer after the second; the one before was let pass"


def test_an_edit_while_the_answer_is_out_does_not_move_the_places_that_are_reported() -> None:
    talk = Talk(3)
    first, second, _ = [exchange.seq for exchange in talk.context.exchanges]
    talk.emit(RequestSent(OPUS, 0, ""))
    talk.emit(PrunApplied("user", (Edit("drop", first),)))
    talk.answer(dropped("messages.3.content.0", "end_user_binding_mismatch"))
    assert second in talk.unseen()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("prefix_binding_mismatch", "the model or the system prompt was changed"),
        ("model_binding_mismatch", f"{OPUS} can't read such thinking"),
        ("organization_binding_mismatch", "made for another account"),
        ("end_user_binding_mismatch", "made for another user"),
        ("a_new_one", "a_new_one"),
    ],
)
def test_a_person_is_told_of_each_block_once_and_why(reason: str, words: str) -> None:
    talk = Talk(3)
    talk.step(dropped("messages.1.content.0", reason))
    assert talk.told == [f"The endpoint dropped 1 thinking block (~30 tokens): {words}"]
    talk.step(dropped("messages.1.content.0", reason))
    assert len(talk.told) == 1
    talk.step(*[dropped(f"messages.{at}.content.0", reason) for at in (1, 3, 5)])
    all_of_them = "3 thinking blocks (~90 tokens), 2 for the first time"
    assert talk.told[1:] == [f"The endpoint dropped {all_of_them}: {words}"]
    resumed = folded(talk.records)
    assert resumed.unseen.dropped == talk.context.unseen.dropped
    assert resumed.counts.context_tokens == talk.context.counts.context_tokens


def test_after_an_undo_a_second_prune_is_told_with_the_number_that_its_preview_named() -> None:
    talk = Talk(3)
    prune = talk.emit(talk.clear(0))
    talk.step()
    talk.emit(PrunReverted((prune,)))
    talk.step()
    again = talk.clear(0)
    foreseen = impact(talk.context, [again], FREE).lost.blocks
    talk.emit(again)
    talk.step()
    assert talk.told[-1].startswith(f"The endpoint dropped {foreseen} thinking blocks")
    assert talk.told[-1].endswith(" tokens), 1 for the first time: the earlier context was edited")


def test_what_a_prune_announced_is_not_told_a_second_time() -> None:
    talk = Talk(3)
    announced = impact(talk.context, [talk.clear(0)], FREE).lost.blocks
    talk.emit(replace(talk.clear(0), thinking_blocks=announced))
    talk.step()
    assert talk.context.unseen.losses
    assert talk.told == []


def test_the_same_loss_is_told_again_once_it_had_ended() -> None:
    talk = Talk(3)
    before = talk.records[-1].seq
    for words in ("(~60 tokens):", "(~60 tokens), none for the first time:"):
        talk.emit(talk.clear(0))
        talk.step()
        assert talk.told[-1].startswith(f"The endpoint dropped 2 thinking blocks {words}")
        talk.emit(Rewound(before))
    assert len(talk.told) == 2


def test_a_report_that_names_no_answer_changes_nothing() -> None:
    talk = Talk(2)
    for path in ("", "messages.9.content.0", "messages.0.content.0", "messages.1.content.7", "elsewhere"):
        talk.step(dropped(path), {"type": "something_new"}, {})
    assert (talk.unseen(), talk.told) == ([], [])


def test_redacted_thinking_counts_as_blocks() -> None:
    talk = Talk(1)
    talk.emit(RequestSent(OPUS, 0, ""))
    talk.emit(
        AssistantMessage((Thinking("", "a"), RedactedThinking("b"), Text("so")), OPUS, usage=Usage(9, 40))
    )
    assert impact(talk.context, [talk.clear(0)], FREE).lost.blocks == 2


def test_the_gate_counts_dropped_thinking_as_saved_and_does_not_rewrite_it() -> None:
    talk = Talk(6)
    talk.step()
    market = Market(now=len(talk.records), model=OPUS, read=0.2, write=5.0)
    found = impact(talk.context, [talk.clear(0)], market)
    assert found.change is not None
    assert (found.freed, found.lost.tokens) == (98 + 180, 180)
    assert found.change.gain == pytest.approx(278 * 0.2e-6)
    assert found.change.cost == pytest.approx((found.change.rewritten - 278) * 4.8e-6)
    decision = judge(talk.context, [talk.clear(0)], market)
    assert decision.reason.endswith("a request, drops 6 thinking blocks (~180 tokens)")


def test_another_model_loses_what_it_cannot_read_and_gets_it_back() -> None:
    talk = Talk(2)
    found = impact(talk.context, [SettingChanged("model.name", "sonnet")], FREE)
    talk.emit(SettingChanged("model.name", "sonnet"))
    assert found.thinking == "drops 2 thinking blocks (~60 tokens)"
    back = impact(talk.context, [SettingChanged("model.name", "opus")], FREE)
    assert back.thinking == "brings back 2 thinking blocks (~60 tokens)"


def test_a_tool_round_is_open_until_the_model_answers_finally_or_something_new_is_asked() -> None:
    talk = Talk()
    assert not in_tool_round(talk.context)
    talk.step()
    assert in_tool_round(talk.context)
    talk.emit(UserMessage((Text("faster"),), "steering"))
    assert in_tool_round(talk.context), "steering belongs to the round"
    talk.emit(UserMessage((Text("something else"),)))
    assert not in_tool_round(talk.context), "a round that was interrupted"
    talk.step()
    talk.emit(AssistantMessage((Text("Done."),), OPUS))
    assert not in_tool_round(talk.context)


def test_thinking_that_a_summary_costs_is_no_cost_of_pruning() -> None:
    talk = Talk(4)
    kept = talk.context.exchanges[2].seq
    talk.emit(talk.clear(0))
    talk.step()
    talk.emit(CompactionApplied("the gist", 1, kept, model=OPUS))
    talk.step()
    assert talk.told[-1].endswith("the earlier context was summarized")
    assert talk.context.unseen.cost_of_edits().blocks == 3


def test_thinking_that_a_change_of_the_model_costs_is_no_cost_of_pruning() -> None:
    """Sonnet can't read what Opus thinks, so what it thinks itself does not fit once Opus goes on."""
    talk = Talk(2)
    talk.use("claude-sonnet-5-5")
    talk.step()
    talk.use(OPUS)
    talk.step()
    assert talk.told[-1].endswith("the model or the system prompt was changed")
    assert talk.context.unseen.cost_of_edits().blocks == 0


def test_thinking_that_comes_back_stale_with_its_answer_is_not_lost() -> None:
    talk = Talk(3)
    dropped_answer = talk.emit(PrunApplied("user", (Edit("drop", 6),)))
    talk.emit(PrunApplied("user", (Edit("clear", 4, None, "[gone]", 100, 2),)))
    found = impact(talk.context, [PrunReverted((dropped_answer,))], Market())
    assert (found.lost.blocks, found.back.blocks) == (0, 0)


def _with_drops(dropped: int) -> Talk:
    """A session with a request and its answer after so many exchanges were dropped."""
    talk = Talk(dropped + 1)
    heads = [exchange.seq for exchange in talk.context.exchanges[:dropped]]
    talk.emit(PrunApplied("user", tuple(Edit("drop", seq, None, None, 100, 0) for seq in heads)))
    talk.step()
    return talk


def _calls_of_a_request(dropped: int) -> int:
    talk, answer = _with_drops(dropped), AssistantMessage((Text("done"),), OPUS, "end_turn")
    return calls_of(lambda: (talk.emit(RequestSent(OPUS, 0, "")), talk.emit(answer)))


def test_a_request_takes_no_longer_after_many_drops_than_after_a_few() -> None:
    assert _calls_of_a_request(60) == _calls_of_a_request(6)
