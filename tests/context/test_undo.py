"""Undo, redo, restore, pin and recall: what comes back, for how long it is safe, and what stands on what."""

from typing import Any

import pytest

from prunecli.context.economics import Market
from prunecli.context.prun import plan_edits, plan_prun
from prunecli.context.redo import REDONE, redo, undo
from prunecli.context.strategies.adaptive import Tools
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, PrunReverted, Record, RequestSent
from prunecli.model.messages import Text, Usage
from tests.context.talk import ALL, THOUGHT, Talk, seqs, texts, tokens

MINUTE = 60_000


def worked(steps: int = 3) -> tuple[Talk, list[int]]:
    """Reads that the model has answered to; the seqs of their results."""
    talk = Talk()
    talk.user()
    found = [talk.step("read", f"{n} " + tokens(60), path=f"{n}.py") for n in range(steps)]
    talk.seen()
    return talk, found


# Undo ----------------------------------------------------------------------------------------------------------


def test_undo_protects_what_came_back_until_the_next_user_turn_ends() -> None:
    talk, found = worked()
    prun = talk.apply(talk.ask("pi", **ALL))
    talk.revert(prun)
    assert talk.view().locked(talk.entry(found[0])) == "restored by undo"
    assert seqs(talk.ask("pi", **ALL)) == []
    talk.user("the next turn")
    talk.say()
    assert seqs(talk.ask("pi", **ALL)) == []
    talk.user("and the one after it")
    talk.say()
    assert seqs(talk.ask("pi", **ALL)) == found


def test_an_undo_protects_no_longer_than_until_the_cache_is_cold_nor_from_the_user() -> None:
    talk, found = worked()
    talk.revert(talk.apply(talk.ask("pi", **ALL)))
    last = talk.records[-1].timestamp
    warm, cold = Market(last + MINUTE, model="m"), Market(last + 10 * MINUTE, model="m")
    assert seqs(talk.ask("pi", talk.view(market=cold), **ALL)) == [], "it was cold when the user restored it"
    assert seqs(talk.ask("pi", talk.view(forced=True), **ALL)) == found, "/prune prunes it at once"
    talk.add(RequestSent("m", 1, ""))
    talk.add(AssistantMessage((Text("ok"),), "m", usage=Usage(9, 1)))
    talk.user("the next turn")
    assert seqs(talk.ask("pi", talk.view(market=warm), **ALL)) == []
    assert seqs(talk.ask("pi", talk.view(market=cold), **ALL)) == found
    talk.records.append(Record(talk.seq, last + 10 * MINUTE, RequestSent("m", 1, "")))
    talk.context.apply(talk.records[-1])
    assert talk.view().locked(talk.entry(found[0])) == "", "and so it stays"


def test_undo_of_one_prune_leaves_the_others() -> None:
    talk, found = worked()
    first = talk.edit("clear", found[0], "[one]")
    talk.edit("clear", found[1], "[two]")
    talk.revert(first)
    assert list(talk.shown().values())[1] == "[two]"
    assert next(iter(talk.shown().values())).startswith("0 ")


def test_reverting_a_clear_brings_back_the_trim_below_it() -> None:
    talk, found = worked()
    talk.edit("trim", found[0], "[short]")
    clear = talk.edit("clear", found[0], "[gone]")
    talk.revert(clear)
    assert next(iter(talk.shown().values())) == "[short]"


def test_a_trim_then_a_clear_count_only_the_difference() -> None:
    talk, found = worked()
    talk.edit("trim", found[0], tokens(10))
    once = talk.context.counts.pruned.raw
    talk.edit("clear", found[0], "[x]")
    assert talk.context.counts.pruned.raw == once + 10 - 1


# Redo ----------------------------------------------------------------------------------------------------------


def test_redo_is_a_new_prune_with_the_same_texts() -> None:
    talk, _ = worked()
    prun = talk.apply(talk.ask("pi", **ALL), "pi")
    shown = talk.shown()
    talk.revert(prun)
    (event,) = redo(talk.view(), talk.records)
    assert (event.source, event.strategy, event.reason) == ("user", "pi", REDONE)
    first = talk.records[prun].event
    assert isinstance(first, PrunApplied)
    assert event.edits == first.edits
    assert talk.add(event) > prun
    assert talk.shown() == shown
    assert redo(talk.view(), talk.records) == []


def test_redo_brings_a_memo_and_its_drops_back() -> None:
    talk, _ = worked()
    view = talk.view()
    edits = plan_edits(view, plan_prun(view, 80, "the gist"))
    prun = talk.add(PrunApplied("model", edits, memo="the gist"))
    before = talk.context.messages()
    talk.revert(prun)
    (event,) = redo(talk.view(), talk.records)
    assert event.memo == "the gist"
    talk.add(event)
    assert talk.context.messages() == before


def test_redo_of_several_undone_at_once_takes_all_and_undone_one_by_one_the_last() -> None:
    talk, found = worked()
    first, second = talk.edit("clear", found[0], "[one]"), talk.edit("clear", found[1], "[two]")
    talk.add(PrunReverted((second, first)))
    assert [event.edits[0].text for event in redo(talk.view(), talk.records)] == ["[one]", "[two]"]
    for event in redo(talk.view(), talk.records):
        talk.add(event)
    assert redo(talk.view(), talk.records) == []


def test_undone_one_after_the_other_they_are_redone_in_turn() -> None:
    talk, found = worked()
    first, second = talk.edit("clear", found[0], "[one]"), talk.edit("clear", found[1], "[two]")
    talk.revert(second)
    talk.revert(first)
    again = []
    for _ in range(3):
        for event in redo(talk.view(), talk.records):
            again.append(event.edits[0].text)
            talk.add(event)
    assert again == ["[one]", "[two]"]


def test_after_another_prune_there_is_nothing_to_redo() -> None:
    talk, found = worked()
    talk.revert(talk.edit("clear", found[0], "[one]"))
    talk.edit("clear", found[1], "[two]")
    assert redo(talk.view(), talk.records) == []


@pytest.mark.parametrize("way", ["pin", "compact"])
def test_redo_leaves_alone_what_was_pinned_or_compacted_since(way: str) -> None:
    talk, found = worked()
    talk.revert(talk.edit("clear", found[0], "[one]"))
    talk.pin(found[0]) if way == "pin" else talk.compact(0, talk.seq)
    assert redo(talk.view(), talk.records) == []


def test_an_undo_pins_again_what_the_prune_unpinned_and_a_redo_unpins_it() -> None:
    talk, found = worked()
    talk.pin(found[0])
    talk.pin(found[0], pinned=False)
    talk.add(PrunApplied("user", (Edit("clear", found[0], None, "[gone]", 60, 1),), reason="by hand"))
    for event in undo(talk.context, talk.context.live_pruns()):
        talk.add(event)
    assert talk.context.pinned == {found[0]}
    assert next(iter(talk.shown().values())).startswith("0 ")
    for event in redo(talk.view(), talk.records):
        talk.add(event)
    assert talk.context.pinned == set()
    assert next(iter(talk.shown().values())) == "[gone]"
    for event in undo(talk.context, talk.context.live_pruns()):
        talk.add(event)
    assert talk.context.pinned == {found[0]}


# Restore and pin -----------------------------------------------------------------------------------------------


def test_restoring_a_target_takes_back_all_its_edits_and_pins_it() -> None:
    talk, found = worked()
    talk.edit("trim", found[0], "[short]")
    talk.edit("clear", found[0], "[gone]")
    talk.revert(found[0])
    assert talk.shown()[next(iter(talk.shown()))].startswith("0 ")
    assert talk.view().locked(talk.entry(found[0])) == "pinned"
    assert seqs(talk.ask("pi", **ALL)) == found[1:]
    talk.pin(found[0], pinned=False)
    assert seqs(talk.ask("pi", **ALL)) == found


def test_restoring_one_exchange_of_a_batch_leaves_the_memo_until_the_last_one_is_back() -> None:
    talk, found = worked()
    view = talk.view()
    plan = plan_prun(view, 110, "the gist", order="oldest")
    assert len(plan.exchanges) == 2
    talk.add(PrunApplied("model", plan_edits(view, plan), memo="the gist"))
    talk.revert(plan.exchanges[0])
    assert len(talk.shown()) == 2
    assert any(b"the gist" in message.canonical for message in talk.context.messages())
    talk.revert(plan.exchanges[1])
    assert len(talk.shown()) == len(found)
    assert not any(b"the gist" in message.canonical for message in talk.context.messages())


def test_an_exchange_with_a_pinned_result_is_not_dropped() -> None:
    talk, found = worked()
    talk.pin(found[1])
    kept = talk.exchange(found[1]).seq
    assert kept not in seqs(talk.ask("keep_last_n_steps", n=0))
    assert kept not in plan_prun(talk.view(), 10**6, None).exchanges


# prun ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "taken"), [("newest", -1), ("oldest", 0)])
def test_a_prun_begins_at_the_end_that_is_configured(order: Any, taken: int) -> None:
    talk, _ = worked()
    talk.step("prun", "soon", tokens=5)
    view = talk.view()
    free = [one.seq for one in view.exchanges][:-1]
    plan = plan_prun(view, 1, None, order=order)
    assert plan.exchanges == (free[taken],)


def test_the_figures_are_those_of_the_exchanges_less_the_memo() -> None:
    talk, found = worked(2)
    view = talk.view()
    plan = plan_prun(view, 10**6, "the gist")
    edits = plan_edits(view, plan)
    drops = [edit for edit in edits if edit.kind == "drop"]
    memo = next(edit for edit in edits if edit.kind == "memo")
    assert plan.tokens == sum(edit.tokens_before for edit in drops) - memo.tokens_after
    first, last = talk.exchange(found[0]).seq, view.exchanges[-1].seq
    assert memo.text == f'<pruned-memo by="assistant" entries="{first}-{last}">the gist</pruned-memo>'
    assert plan.message == (
        f"Will remove 3 exchanges (entries {first}-{last}), ~{plan.tokens:,} tokens, before the next turn "
        "(everything that can be removed; 1,000,000 were asked for)."
    )


def test_a_copy_for_each_exchange_is_priced_and_placed_at_each() -> None:
    talk, _ = worked()
    view = talk.view()
    plan = plan_prun(view, 110, "the gist", copies="each", order="oldest")
    edits = plan_edits(view, plan, copies="each")
    memos = [edit.seq for edit in edits if edit.kind == "memo"]
    assert tuple(memos) == plan.exchanges
    assert plan.tokens == sum(edit.tokens_saved for edit in edits)
    talk.add(PrunApplied("model", edits, memo="the gist"))
    assert sum(message.canonical.count(b"the gist") for message in talk.context.messages()) == len(memos)


def pinned(talk: Talk, found: list[int]) -> None:
    talk.pin(*(one.seq for one in talk.context.exchanges))


def compacted(talk: Talk, found: list[int]) -> None:
    talk.compact(0, found[1])


def sheltered(talk: Talk, found: list[int]) -> None:
    drops = tuple(talk.view().drop(one) for one in talk.view().exchanges)
    talk.revert(talk.add(PrunApplied("user", drops)))


@pytest.mark.parametrize("way", [pinned, compacted, sheltered])
def test_there_is_nothing_to_prune_where_all_is_kept(way: Any) -> None:
    talk, found = worked()
    way(talk, found)
    plan = plan_prun(talk.view(), 10, None)
    assert (plan.exchanges, plan.tokens) == ((), 0)
    assert plan.message.startswith("Nothing to prune: no finished exchange")


def test_there_is_nothing_to_prune_but_the_exchange_in_progress() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(60), path="a")
    assert plan_prun(talk.view(), 10, None).message.startswith("Nothing to prune")


def test_a_memo_that_costs_more_than_it_saves_is_not_made() -> None:
    talk = Talk()
    talk.user()
    talk.say("short")
    plan = plan_prun(talk.view(), 1, "a memo that is longer than what it stands for")
    assert plan.exchanges == ()
    assert plan.message.startswith("Nothing to prune: the memo takes")


def test_the_thinking_at_the_start_of_the_open_loop_is_not_promised_away() -> None:
    """The drop stops one exchange earlier."""
    talk = Talk()
    talk.user()
    first = talk.step("read", tokens(60), path="a", before=(THOUGHT,))
    second = talk.step("read", tokens(60), path="b")
    talk.step("prun", "soon", tokens=500)
    plan = plan_prun(talk.view(), 10**6, None)
    assert plan.exchanges == (talk.exchange(second).seq,)
    assert talk.exchange(first).seq not in plan.exchanges
    assert f"~{plan.tokens:,} tokens" in plan.message
    assert plan.tokens == talk.view().shown_tokens(talk.exchange(second))


# Recall --------------------------------------------------------------------------------------------------------


def recalled() -> tuple[Talk, int, int]:
    """A cleared read, and the result that recalled it, which the model has seen."""
    talk, found = worked(1)
    talk.edit("clear", found[0], "[gone]")
    talk.user()
    again = talk.step("recall", "0 " + tokens(60), entry=found[0])
    talk.seen()
    return talk, found[0], again


def test_what_was_recalled_is_pruned_like_the_original_and_keeps_its_handle() -> None:
    talk, original, again = recalled()
    proposal = talk.ask("pi", talk.view(recall=True), **ALL)
    assert seqs(proposal) == [again]
    assert texts(proposal) == [f'[output pruned — ~61 tokens | read path="0.py" | recall {original}]']


def test_a_recall_of_a_recall_leads_to_the_original() -> None:
    talk, original, again = recalled()
    talk.edit("clear", again, "[gone too]")
    third = talk.step("recall", "0 " + tokens(60), entry=again)
    talk.seen()
    assert talk.view(recall=True).with_handle(talk.entry(third), "[x]") == f"[x | recall {original}]"


def test_a_protected_tool_protects_what_is_recalled_of_it() -> None:
    talk, _, _ = recalled()
    assert seqs(talk.ask("pi", **ALL, protected_tools=("read",))) == []
    assert seqs(talk.ask("aggressive", keep_last_assistants=0, tools=Tools(deny=("read",)))) == []


@pytest.mark.parametrize("entry", [999, "7", None, [1], {"a": 1}, True])
def test_a_recall_of_nothing_is_a_result_of_its_own(entry: Any) -> None:
    talk, _ = worked(1)
    seq = talk.step("recall", "There is no tool result or answer numbered so", entry=entry)
    assert talk.entry(seq).tool_name == "recall"
