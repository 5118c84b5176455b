"""What may not be touched by hand, and the reason that is given."""

import pytest

from prunecli.context.again import shown_in
from prunecli.context.economics import Market
from prunecli.context.impact import impact
from prunecli.context.labels import Key, price_words
from prunecli.context.ledger import ledger
from prunecli.context.manual_edits import Act, Plan, at_the_end, in_place, plan
from prunecli.context.outline import PARTS, Outline, window_map
from prunecli.model.events import (
    AssistantMessage,
    Pinned,
    PrunApplied,
    PrunReverted,
    RequestSent,
    Rewound,
    UserMessage,
)
from prunecli.model.messages import Text, Usage
from tests.context.project import project
from tests.context.talk import PICTURE, THOUGHT, Talk, tokens


def planned(talk: Talk, act: Act, key: Key, memo: str = "words") -> Plan:
    return plan(talk.view(), Outline(talk.context, ()), act, key, memo)


def test_what_the_model_has_not_seen_is_not_pruned() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("read", tokens(100))
    for key in (Key("result", result), Key("exchange", 1), Key("turn", 0)):
        assert "in progress" in planned(talk, "prune", key).refusal
    assert "in progress" in planned(talk, "memo", Key("exchange", 1)).refusal
    talk.say()
    assert planned(talk, "prune", Key("result", result)).allowed


@pytest.mark.parametrize("act", ["prune", "memo", "restore", "pin"])
def test_the_users_words_and_the_preamble_stay(act: Act) -> None:
    talk = Talk()
    talk.user(tokens(100))
    assert planned(talk, act, Key("turn", 0)).refusal
    assert "always stay" in planned(talk, act, Key("system", -1)).refusal
    assert "always stay" in planned(talk, act, Key("tools", -1)).refusal


def test_what_survived_a_compaction_is_pruned_by_a_person_only() -> None:
    talk = Talk()
    talk.user()
    kept = talk.step("read", tokens(100))
    talk.say()
    talk.user()
    talk.say()
    talk.compact(3, 5)
    assert "summary" in planned(talk, "prune", Key("turn", talk.seq - 1)).refusal
    assert planned(talk, "pin", Key("result", kept)).refusal
    assert planned(talk, "prune", Key("exchange", 1)).allowed
    assert not talk.view().results
    assert talk.view().locked(talk.entry(kept)) == "kept by a summary"
    (event,) = planned(talk, "prune", Key("result", kept)).events
    effect, scanned = impact(talk.context, [event], Market()), ledger(talk.view(), []).scanned_tokens
    number = talk.add(event)
    books = ledger(talk.view(), [])
    assert books.pruned_tokens == talk.context.counts.tokens(talk.entry(kept)) - 9 == effect.withheld > 80
    assert books.scanned_tokens == scanned
    assert talk.context.messages() == project(talk.records)
    talk.add(PrunReverted((number,)))
    books = ledger(talk.view(), [])
    assert (books.scanned_tokens, books.pruned_tokens) == (scanned, 0)
    assert planned(talk, "prune", Key("result", kept)).allowed, "an undo leaves nothing behind"


def test_thinking_stays_at_the_beginning_of_the_open_tool_loop() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(100), before=(THOUGHT,))
    talk.step("read", tokens(100))
    assert "thinking" in planned(talk, "prune", Key("exchange", 1)).refusal


def test_pruning_what_is_pinned_unpins_it_but_a_turn_passes_it_over() -> None:
    talk = Talk()
    talk.user()
    first, second = talk.step("read", tokens(100)), talk.step("read", tokens(100))
    talk.say()
    talk.pin(first)
    one = planned(talk, "prune", Key("result", first))
    assert one.events[0] == Pinned((first,), pinned=False)
    assert "unpin and" in one.what
    whole = planned(talk, "prune", Key("turn", 0))
    assert [edit.seq for event in whole.events if isinstance(event, PrunApplied) for edit in event.edits] == [
        second
    ]


def test_a_pinned_result_that_the_model_has_not_seen_is_not_pruned() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("read", tokens(100))
    talk.pin(result)
    assert "in progress" in planned(talk, "prune", Key("result", result)).refusal


@pytest.mark.parametrize("act", ["prune", "memo"])
def test_what_an_undo_brought_back_is_pruned_again_by_hand_as_before(act: Act) -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(300))
    talk.step("ls", "a")  # too short for a placeholder
    talk.say()
    before = planned(talk, act, Key("turn", 0))
    talk.revert(talk.add(before.events[-1]))
    again = planned(talk, act, Key("turn", 0))
    assert (again.events, again.refusal) == (before.events, "")


def test_a_prompt_alone_stays_and_the_output_of_a_command_is_cleared() -> None:
    talk = Talk()
    prompt, command = talk.user(tokens(100)), talk.command(tokens(200))
    talk.say()
    for act in ("prune", "memo", "pin"):
        assert planned(talk, act, Key("prompt", prompt)).refusal  # type: ignore[arg-type]
    assert planned(talk, "prune", Key("prompt", command)) == planned(talk, "prune", Key("turn", command))
    assert planned(talk, "pin", Key("prompt", command)).allowed
    assert planned(talk, "restore", Key("prompt", command)).refusal == "nothing pruned here"


def test_a_turn_whose_free_results_cannot_be_cleared_gives_up_its_pinned_ones() -> None:
    talk = Talk()
    talk.user()
    large, _ = talk.step("read", tokens(300)), talk.step("ls", "a")
    talk.say()
    talk.pin(large)
    assert "unpin and" in planned(talk, "prune", Key("turn", 0)).what


def test_the_state_says_what_strategies_leave_alone_after_an_undo() -> None:
    talk = Talk()
    talk.user()
    first, second = talk.step("read", tokens(300)), talk.step("read", tokens(300))
    talk.say()
    talk.revert(talk.add(planned(talk, "prune", Key("turn", 0)).events[-1]))
    outline = Outline(talk.context, ())
    assert [outline.node(Key("result", seq)).state for seq in (first, second)] == ["restored"] * 2
    assert "not pruned automatically" in outline.node(Key("result", first)).why
    assert (outline.node(Key("turn", 0)).restored, outline.node(Key("exchange", 1)).restored) == (2, 1)
    talk.user()
    talk.user()
    assert outline.node(Key("result", first)).state == "live"
    assert outline.node(Key("turn", 0)).restored == 0


def test_a_memo_that_would_be_longer_than_what_it_replaces_is_refused() -> None:
    talk = Talk()
    talk.user()
    head = talk.say("short")
    assert "this would add" in planned(talk, "memo", Key("exchange", head), tokens(50)).refusal
    assert "2,000" in planned(talk, "memo", Key("exchange", head), "x" * 2_001).refusal


def test_a_command_output_is_cleared_and_the_command_stays() -> None:
    talk = Talk()
    command = talk.command(tokens(200))
    talk.say()
    one = planned(talk, "prune", Key("turn", command))
    assert "output of this command" in one.what
    talk.add(one.events[0])
    assert talk.entry(command).typed == ["!ls"]
    assert "already pruned" in planned(talk, "prune", Key("turn", command)).refusal


def test_the_price_of_an_act_is_the_gates() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("read", tokens(1_000))
    talk.say()
    talk.context.last_response = 1_000
    talk.add(RequestSent("m", 0, "00"))
    market = Market(2_000, 300_000, "", read=0.3, write=3.75)
    found = impact(talk.context, planned(talk, "prune", Key("result", result)).events, market)
    assert found.change is not None
    assert found.change.rewritten > 900
    assert found.change.gain == pytest.approx(found.freed * 0.3 / 1e6)
    assert found.change.cost == pytest.approx(max(0, found.change.rewritten - found.freed) * 3.45 / 1e6)
    later = impact(talk.context, planned(talk, "prune", Key("result", result)).events, Market(10**9, 300_000))
    assert later.change is not None
    assert later.change.cold.startswith("cache cold")
    assert (later.change.rewritten, later.change.cost) == (0, None)


def test_a_context_that_outgrew_its_window_has_nothing_free() -> None:
    talk = Talk()
    talk.user(tokens(500))
    found = window_map(Outline(talk.context, ()), 100, 20, 0)
    assert (found.of("free"), found.of("reserve")) == (0, 0)
    assert found.share >= 5
    assert set(found.cells(10)) == {"user"}
    assert len(PARTS) == len(found.tokens)


def test_an_empty_context_has_no_cells() -> None:
    found = window_map(Outline(Talk().context, ()), 100, 20, 0)
    assert (found.of("free"), found.of("reserve"), found.cells(10)) == (80, 20, [])
    assert window_map(Outline(Talk().context, ()), 0, 0, 0).cells(10) == []


# Bringing back -------------------------------------------------------------------------------------------------


def again(talk: Talk, *seqs: int) -> UserMessage:
    """What a restore of these entries at the end adds."""
    made = at_the_end(talk.context, seqs)
    (event,) = made.events
    assert isinstance(event, UserMessage)
    talk.add(event)
    return event


def test_a_restored_result_comes_back_at_the_end_whole_and_pinned() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(300), PICTURE, path="a.py")
    talk.say()
    talk.edit("clear", seq, "[gone]")
    before = talk.context.messages()
    event = again(talk, seq)
    assert talk.context.messages()[: len(before)] == before
    assert event.content == (
        Text(f"/restore {seq}"),
        Text(f'[entry {seq}: result of read path="a.py"]'),
        Text(tokens(300)),
        PICTURE,
    )
    shown = talk.seq - 1
    assert talk.view().locked(talk.entry(shown)) == "in progress"
    talk.say()
    assert talk.view().locked(talk.entry(shown)) == "pinned"
    assert at_the_end(talk.context, [seq]).refusal == f"already shown again in entry {shown}"
    talk.user()
    talk.request()


def test_a_dropped_exchange_comes_back_as_text_of_its_calls_and_results() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("bash", "1 failed", command="pytest -q", error=True, before=(THOUGHT, Text("I test.")))
    talk.say()
    head = talk.exchange(result).seq
    talk.edit("drop", head)
    event = again(talk, head)
    assert event.restores == (head, result)
    assert [block.text for block in event.content if isinstance(block, Text)] == [
        f"/restore {head}",
        f"[entry {head}: your answer]",
        "I test.",
        '(called bash {"command":"pytest -q"})',
        f'[entry {result}: result of bash command="pytest -q", failed]',
        "1 failed",
    ]
    talk.request()


def test_one_result_of_a_dropped_exchange_comes_back_alone_and_in_place_with_all_of_it() -> None:
    talk = Talk()
    talk.user()
    talk.call(("read", {"path": "a.py"}), ("read", {"path": "b.py"}))
    first, second = talk.answer("one"), talk.answer("two")
    talk.say()
    talk.edit("drop", talk.exchange(first).seq)
    assert in_place(talk.context, [second]).events == (PrunReverted((talk.exchange(first).seq,)),)
    assert again(talk, second).restores == (second,)


def test_what_is_shown_again_does_not_come_back_in_place_as_well() -> None:
    talk = Talk()
    talk.user()
    one, two = talk.step("read", tokens(300)), talk.step("read", tokens(300))
    talk.say()
    talk.edit("clear", one, "gone")
    talk.edit("clear", two, "gone")
    again(talk, one)
    shown = talk.seq - 1
    talk.say()
    assert in_place(talk.context, [one, two]).entries == (two,)
    assert (
        in_place(talk.context, [one]).refusal == f"already shown again in entry {shown}: prune that one first"
    )
    talk.edit("clear", shown, "gone")
    assert in_place(talk.context, [one, two]).entries == (one, two)


def test_what_a_compaction_took_comes_back_at_the_end_only() -> None:
    talk = Talk()
    talk.user()
    gone = talk.step("read", tokens(100))
    talk.say()
    talk.user()
    talk.say()
    talk.compact(0, 4)
    assert in_place(talk.context, [gone]).refusal
    assert Text(tokens(100)) in again(talk, gone).content


def test_a_restored_entry_that_was_pruned_again_is_restored_from_its_original() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(300), path="a.py")
    talk.say()
    talk.edit("clear", seq, "[gone]")
    first = again(talk, seq)
    shown = talk.seq - 1
    talk.say()
    cleared = planned(talk, "prune", Key("prompt", shown))
    for event in cleared.events:
        talk.add(event)
    edit = talk.context.text_edit(shown)
    assert edit is not None
    assert edit.text is not None
    assert 'read path="a.py"' in edit.text
    assert shown_in(talk.context, seq) == -1
    second = again(talk, shown)
    assert second.content[1:] == first.content[1:]
    assert shown_in(talk.context, seq) == shown_in(talk.context, shown) == talk.seq - 1
    assert talk.view(recall=True).with_handle(talk.entry(shown), "[x]") == f"[x | recall {seq}]"


def test_the_state_says_where_a_pruned_entry_is_shown_again() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(300))
    talk.say()
    talk.edit("clear", seq, "[gone]")
    again(talk, seq)
    node = Outline(talk.context, ()).node(Key("result", seq))
    assert (node.state, node.again) == ("cleared", talk.seq - 1)


def test_at_the_end_costs_what_comes_back_and_in_place_all_that_stands_behind_it_too() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(300))
    talk.add(AssistantMessage((Text(tokens(900)),), "m", "end_turn", Usage(0, 900, 900, 400)))
    talk.edit("clear", seq, "[gone]")
    unsent = impact(talk.context, in_place(talk.context, [seq]).events, Market(read=1.0, write=11.0)).change
    assert unsent
    assert (unsent.cost, price_words(unsent).partition(",")[0]) == (0, "costs nothing now")
    talk.add(RequestSent("m", 0, "00"))
    market = Market(read=1.0, write=11.0)
    end = impact(talk.context, at_the_end(talk.context, [seq]).events, market)
    place = impact(talk.context, in_place(talk.context, [seq]).events, market)
    assert end.change
    assert place.change
    assert (end.change.at_end, end.change.rewritten) == (True, 0)
    assert place.change.rewritten > 900
    assert end.change.cost == pytest.approx(-end.freed * 10 / 1e6)
    assert place.change.cost
    assert place.change.cost > 3 * end.change.cost


def test_a_rewind_before_a_restore_takes_it_out_and_the_entry_can_be_restored_again() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(300))
    talk.say()
    at = talk.edit("clear", seq, "[gone]")
    before = talk.context.messages()
    again(talk, seq)
    talk.add(Rewound(at))
    assert talk.context.messages() == before
    assert shown_in(talk.context, seq) == -1
    assert at_the_end(talk.context, [seq]).allowed


def test_a_result_of_a_dropped_exchange_comes_back_with_all_of_it_and_both_are_named() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("read", tokens(300))
    talk.say()
    head = talk.exchange(result).seq
    talk.edit("drop", head)
    found = in_place(talk.context, [result])
    assert found.events == (PrunReverted((head,)),)
    assert (found.entries, found.whole) == ((result,), (head,))
    assert found.what == f"restore and pin entry {result} in place with all of entry {head}"


def test_the_preview_of_an_undo_counts_the_entries_that_are_still_pruned() -> None:
    talk = Talk()
    talk.user()
    first, _ = talk.step("read", tokens(300)), talk.step("read", tokens(300))
    talk.say()
    talk.add(planned(talk, "prune", Key("turn", 0)).events[-1])
    assert planned(talk, "undo", Key("turn", 0)).what == "undo your last prune (2 entries)"
    talk.add(planned(talk, "in_place", Key("result", first)).events[-1])
    assert planned(talk, "undo", Key("turn", 0)).what == "undo your last prune (1 of 2 entries)"
