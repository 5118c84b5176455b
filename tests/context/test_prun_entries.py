"""prun and /prune by the numbers of entries: what goes, what stays and why, and what the answer promised."""

import re

import pytest

from prunecli.agent.policy import Policy
from prunecli.context.manual_edits import plan_range
from prunecli.context.prun import PrunPlan, listed, plan_edits, plan_entries, seqs_in
from prunecli.model.events import PrunApplied
from tests.context.talk import Talk


def worked(steps: int = 4) -> tuple[Talk, list[int]]:
    """Reads of a hundred tokens, an answer, and a call in progress."""
    talk = Talk()
    talk.user()
    found = [talk.step("read", f"{index} " * 200, path=f"{index}.py") for index in range(steps)]
    talk.call(("prun", {"list": True}))
    return talk, found


def planned(talk: Talk, entries: str, memo: str | None = None) -> PrunPlan:
    plan = Policy().plan(talk.context, entries, memo)
    assert plan == PrunPlan.from_json(plan.to_json()) or plan.message
    return plan


def apply(talk: Talk, plan: PrunPlan) -> None:
    edits = plan_edits(talk.view(), plan)
    before = talk.context.counts.context_tokens
    talk.add(PrunApplied("model", edits, memo=plan.memo, tokens_removed=plan.tokens))
    said = int(re.findall(r"~([\d,]+) tokens", plan.message)[0].replace(",", ""))
    assert abs(before - talk.context.counts.context_tokens - said) <= 1, "as the answer said"


def test_an_answer_goes_with_its_results_and_a_result_alone_is_cleared() -> None:
    talk, found = worked()
    first = talk.exchange(found[0]).seq
    plan = planned(talk, f"{first}-{found[0]}, {found[2]}")
    assert (plan.exchanges, plan.results) == ((first,), (found[2],))
    assert plan.message.startswith(
        f"Will remove 1 exchange (entries {first}-{found[0]}) and clear 1 result ({found[2]}), ~"
    )
    apply(talk, plan)
    shown = [text for text in talk.shown().values() if text.startswith(("[output pruned", "0 ", "1 ", "2 "))]
    assert [text[:2] for text in shown] == ["1 ", "[o"]


def test_with_a_memo_a_result_stands_for_its_exchange() -> None:
    talk, found = worked()
    plan = planned(talk, f"{found[1]}", "the gist")
    assert plan.exchanges == (talk.exchange(found[1]).seq,)
    apply(talk, plan)
    assert any(b"the gist" in message.canonical for message in talk.context.messages())


def test_what_stays_is_named_with_its_reason() -> None:
    talk, found = worked()
    talk.pin(found[1])
    plan = planned(talk, f"0-{found[0]}, {found[1]}, {talk.context.in_progress.seq}")  # type: ignore[union-attr]
    assert plan.exchanges == (talk.exchange(found[0]).seq,)
    assert "Not pruned: 0 has the user's words; " in plan.message
    assert f"{found[1]} is pinned" in plan.message
    assert "is not answered yet" in plan.message
    talk.edit("clear", found[2], "[gone]")
    none = planned(talk, f"{found[2]}")
    assert none.is_empty
    assert none.message == f"Nothing to prune: {found[2]} is pruned already."


@pytest.mark.parametrize("entries", ["", " , ", "twelve", "12..20", "9999", "3-1", "-4", "1" * 40])
def test_what_names_no_entry_is_an_error(entries: str) -> None:
    talk, _ = worked()
    with pytest.raises(ValueError, match=r"entries is a list|is no entry"):
        seqs_in(talk.view(), entries)


def test_two_calls_of_one_message_take_an_entry_once() -> None:
    talk, found = worked()
    view = talk.view()
    first = plan_entries(view, [found[0]], None)
    again = plan_entries(view, [found[0], found[1]], None, earlier=[first])
    assert again.results == (found[1],)


def test_the_list_has_each_exchange_that_could_go_or_the_largest_of_them() -> None:
    talk, found = worked()
    lines = listed(talk.view()).splitlines()
    assert lines[0] == "entries: what ~tokens"
    first = talk.exchange(found[0]).seq
    assert re.fullmatch(rf"{first}-{found[0]}: read 0.py ~\d+", lines[1])
    assert len(lines) == 1 + len(found)
    for line in lines[1:]:
        assert not planned(talk, line.partition(":")[0]).is_empty, "a line names what a call takes"
    many, _ = worked(400)
    text = listed(many.view())
    assert many.view().count(text) <= 1_000
    assert re.search(r"\n\d+ smaller ones: ~[\d,]+$", text)
    assert listed(Talk().view()).startswith("Nothing to prune")


def test_a_person_prunes_a_range_as_one_prune_and_keeps_words_and_pins() -> None:
    talk, found = worked()
    talk.pin(found[1])
    plan = plan_range(talk.view(), range(found[-1] + 1))
    (event,) = plan.events
    assert isinstance(event, PrunApplied)
    kept = talk.exchange(found[1]).seq
    assert [edit.seq for edit in event.edits] == [talk.exchange(one).seq for one in found if one != found[1]]
    assert kept not in {edit.seq for edit in event.edits}
    assert plan.what == "drop 3 exchanges with 3 results"
    assert plan_range(talk.view(), [0]).refusal == "your messages always stay"
    memo = plan_range(talk.view(), [found[0]], "the gist")
    assert [edit.kind for edit in memo.events[0].edits] == ["memo", "drop"]  # type: ignore[union-attr]
    both = plan_range(talk.view(), [found[0], talk.exchange(found[2]).seq])
    assert [edit.kind for edit in both.events[-1].edits] == ["drop", "clear"]  # type: ignore[union-attr]
