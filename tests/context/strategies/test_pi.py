"""Pi: the newest results up to a budget are kept, the rest is cleared once it is worth it."""

import pytest

from prunecli.context.strategies.pi import Options
from tests.context.talk import ALL, PICTURE, THOUGHT, Talk, seqs, talk_of, texts, tokens


def test_the_defaults_are_those_of_the_original() -> None:
    options = Options()
    assert (options.prune_minimum, options.prune_protect, options.protected_turns) == (20_000, 40_000, 2)
    assert options.protected_tools == ()
    assert options.prunable_tools == ("read", "bash", "grep", "find", "ls", "edit", "write")


def test_the_result_that_crosses_the_line_is_still_protected() -> None:
    talk, (first, _, _) = talk_of(50, 50, 60)
    assert seqs(talk.ask("pi", prune_minimum=0, prune_protect=61, protected_turns=0)) == [first]


@pytest.mark.parametrize(("protect", "pruned"), [(59, 2), (60, 2), (61, 1), (110, 1), (111, 0)])
def test_a_budget_that_is_used_up_exactly_protects_nothing_more(protect: int, pruned: int) -> None:
    talk, found = talk_of(50, 50, 60)
    asked = talk.ask("pi", prune_minimum=0, prune_protect=protect, protected_turns=0)
    assert seqs(asked) == found[:pruned]


@pytest.mark.parametrize(("minimum", "pruned"), [(99, 2), (100, 2), (101, 0)])
def test_exactly_the_minimum_is_enough(minimum: int, pruned: int) -> None:
    talk, _ = talk_of(50, 50)
    asked = talk.ask("pi", prune_minimum=minimum, prune_protect=0, protected_turns=0)
    assert len(asked.edits) == pruned


def test_tokens_are_characters_by_four_rounded_up_and_an_image_counts_4800_characters() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "x" * 401, path="a")
    talk.step("read", "x", PICTURE, path="b")
    talk.seen()
    told = texts(talk.ask("pi", **ALL))
    assert told[0] == '[output pruned — ~101 tokens | read path="a"]'
    assert told[1] == '[output pruned — ~1,201 tokens | read path="b"]'


def test_characters_outside_the_basic_plane_count_as_one_each() -> None:
    talk = Talk()
    talk.user()
    talk.step("bash", "🙂" * 400, command="true")
    talk.seen()
    assert texts(talk.ask("pi", **ALL)) == ['[output pruned — ~100 tokens | bash command="true"]']


def test_several_text_blocks_are_counted_together_and_replaced_by_one() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "x" * 150, "y" * 151, path="a")
    talk.seen()
    talk.apply(talk.ask("pi", **ALL), "pi")
    assert talk.shown() == {"toolu_0": '[output pruned — ~76 tokens | read path="a"]'}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"path": "src/App.tsx", "command": "x"}, 'read path="src/App.tsx"'),
        ({"command": "make", "pattern": "x"}, 'read command="make"'),
        ({"pattern": "a+", "query": "x"}, 'read pattern="a+"'),
        ({"query": "why"}, 'read query="why"'),
        ({"path": 3, "query": "why"}, 'read query="why"'),
        ({"other": "x"}, "read"),
        ({"path": "p" * 90}, f'read path="{"p" * 80}"'),
        ({"path": "p" * 79 + "e\u0301e"}, f'read path="{"p" * 79}"'),
    ],
)
def test_the_placeholder_names_the_first_argument_that_is_a_string(given: dict, shown: str) -> None:
    talk = Talk()
    talk.user()
    talk.call(("read", given))
    talk.answer(tokens(200))
    talk.seen()
    assert texts(talk.ask("pi", **ALL)) == [f"[output pruned — ~200 tokens | {shown}]"]


def test_the_handle_for_recall_stands_inside_the_bracket_even_after_a_command_of_several_lines() -> None:
    talk = Talk()
    talk.user()
    result = talk.step("bash", tokens(200), command="cd x\nmake")
    talk.seen()
    told = texts(talk.ask("pi", talk.view(recall=True), **ALL))
    assert told == [f'[output pruned — ~200 tokens | bash command="cd x\nmake" | recall {result}]']


def test_results_of_the_last_user_turns_are_kept_outside_of_the_budget() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(50), path="a")
    talk.user()
    talk.step("read", tokens(500), path="b")
    talk.user()
    talk.step("read", tokens(500), path="c")
    talk.seen()
    assert seqs(talk.ask("pi", prune_minimum=0, prune_protect=0, protected_turns=2)) == [old]
    assert seqs(talk.ask("pi", prune_minimum=0, prune_protect=1, protected_turns=2)) == []


def test_two_user_messages_in_a_row_are_two_turns() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(50), path="a")
    talk.seen()
    talk.user("one")
    talk.user("two", origin="steering")
    assert seqs(talk.ask("pi", prune_minimum=0, prune_protect=0, protected_turns=2)) == [old]


def test_with_fewer_user_turns_than_are_protected_all_is_kept() -> None:
    talk, _ = talk_of(500, 500)
    assert talk.ask("pi", prune_minimum=0, prune_protect=0, protected_turns=2).edits == ()


def test_a_memo_begins_no_turn() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(50), path="a")
    gone = talk.say("dropped")
    talk.user()
    talk.edit("memo", gone, "<pruned-memo>x</pruned-memo>")
    talk.edit("drop", gone)
    talk.step("read", tokens(50), path="b")
    talk.seen()
    assert seqs(talk.ask("pi", prune_minimum=0, prune_protect=0, protected_turns=1)) == [old]


def test_nothing_before_a_compaction_is_touched() -> None:
    talk = Talk()
    first = talk.user()
    talk.step("read", tokens(500), path="a")
    kept = talk.step("read", tokens(500), path="b")
    talk.seen()
    talk.compact(first, kept - 1)
    talk.user()
    new = talk.step("read", tokens(500), path="c")
    talk.seen()
    assert seqs(talk.ask("pi", **ALL)) == [new]


def test_a_protected_tool_wins_over_a_prunable_one_and_uses_up_no_budget() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.step("bash", tokens(500), command="make")
    talk.step("read", tokens(60), path="b")
    talk.seen()
    asked = talk.ask("pi", prune_minimum=0, prune_protect=60, protected_turns=0, protected_tools=("bash",))
    assert seqs(asked) == [old]


def test_only_prunable_tools_are_pruned_and_an_empty_list_means_all() -> None:
    talk = Talk()
    talk.user()
    mine = talk.step("my_tool", tokens(60))
    theirs = talk.step("read", tokens(60), path="a")
    talk.seen()
    assert seqs(talk.ask("pi", **ALL)) == [theirs]
    assert seqs(talk.ask("pi", **ALL, prunable_tools=())) == [mine, theirs]


def test_errors_are_kept_and_do_not_count_towards_the_minimum_but_use_up_the_budget() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.step("read", tokens(60), path="b", error=True)
    talk.seen()
    assert seqs(talk.ask("pi", prune_minimum=60, prune_protect=60, protected_turns=0)) == [old]
    assert talk.ask("pi", prune_minimum=61, prune_protect=0, protected_turns=0).edits == ()


def test_results_with_an_edit_are_passed_over() -> None:
    talk, (first, second, third) = talk_of(60, 60, 60)
    talk.edit("trim", second, "short")
    assert seqs(talk.ask("pi", prune_minimum=60, prune_protect=60, protected_turns=0)) == [first]
    assert talk.ask("pi", prune_minimum=61, prune_protect=60, protected_turns=0).edits == ()
    talk.edit("clear", third, "gone")
    assert talk.ask("pi", prune_minimum=0, prune_protect=60, protected_turns=0).edits == ()


def test_a_result_that_its_placeholder_would_not_shorten_stays_and_counts_all_the_same() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(8), path="a")
    long = talk.step("read", tokens(60), path="b")
    talk.seen()
    assert seqs(talk.ask("pi", prune_minimum=68, prune_protect=0, protected_turns=0)) == [long]
    assert talk.ask("pi", prune_minimum=69, prune_protect=0, protected_turns=0).edits == ()


def test_what_the_model_has_not_seen_is_never_touched() -> None:
    talk = Talk()
    talk.user()
    talk.call(("read", {"path": "a"}), ("read", {"path": "b"}))
    talk.answer(tokens(60))
    assert talk.ask("pi", **ALL).edits == ()
    talk.answer(tokens(60))
    talk.user("meanwhile", origin="steering")
    assert talk.ask("pi", **ALL).edits == ()
    talk.seen()
    assert len(talk.ask("pi", **ALL).edits) == 2


def test_the_output_of_a_command_is_a_bash_result_once_the_model_has_answered_to_it() -> None:
    talk = Talk()
    talk.user()
    ran = talk.command(tokens(60), "!make all")
    assert talk.ask("pi", **ALL).edits == ()
    talk.seen()
    asked = talk.ask("pi", **ALL)
    assert texts(asked) == ['[output pruned — ~60 tokens | bash command="make all"]']
    talk.apply(asked, "pi")
    assert b"!make all" in talk.context.messages()[0].canonical
    assert seqs(asked) == [ran]


def test_what_is_pinned_or_restored_by_undo_is_kept_and_does_not_count_towards_the_minimum() -> None:
    talk, (first, second) = talk_of(60, 60)
    talk.pin(first)
    assert seqs(talk.ask("pi", prune_minimum=60, prune_protect=0, protected_turns=0)) == [second]
    assert talk.ask("pi", prune_minimum=61, prune_protect=0, protected_turns=0).edits == ()
    talk.pin(first, pinned=False)
    pruned = talk.apply(talk.ask("pi", **ALL), "pi")
    talk.revert(pruned)
    assert talk.ask("pi", **ALL).edits == ()
    talk.user()
    talk.seen()
    assert talk.ask("pi", **ALL).edits == ()
    talk.user()
    assert seqs(talk.ask("pi", **ALL)) == [first, second]


def test_thinking_is_left_alone() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(60), path="a", before=(THOUGHT,))
    talk.seen()
    talk.apply(talk.ask("pi", **ALL), "pi")
    talk.user()
    assert b'"signature":"signed"' in talk.request().messages[1].canonical


def test_forced_the_minimum_counts_as_zero() -> None:
    talk, (first, second) = talk_of(60, 60)
    assert seqs(talk.ask("pi", talk.view(forced=True), prune_protect=0, protected_turns=0)) == [first, second]


def test_the_note_of_a_prune_names_no_measured_tokens() -> None:
    talk, _ = talk_of(60, 60)
    asked = talk.ask("pi", prune_protect=50, prune_minimum=0, protected_turns=0)
    assert asked.note == "older than the newest 50 tokens of tool output"
    assert talk.ask("pi", prune_protect=0, prune_minimum=0, protected_turns=0).note == "older tool output"


def test_the_note_says_what_holds_it_back() -> None:
    talk, _ = talk_of(60, 60)
    assert talk.ask("pi", protected_turns=0).note == "the newest 40K of tool output is always kept"
    held = talk.ask("pi", prune_protect=60, prune_minimum=61, protected_turns=0)
    assert held.note == "only 98% of prune_minimum (61 tokens) could go"


def test_each_result_that_is_spared_has_its_reason() -> None:
    talk = Talk()
    talk.user()
    small = talk.step("read", "abc", path="s")
    failed = talk.step("read", tokens(60), path="a", error=True)
    foreign = talk.step("my_tool", tokens(60))
    shielded = talk.step("grep", tokens(60), pattern="x")
    near = talk.step("read", tokens(60), path="b")
    talk.user()
    recent = talk.step("read", tokens(60), path="c")
    options = {"prune_minimum": 0, "prune_protect": 60, "protected_turns": 1, "protected_tools": ("grep",)}
    why = talk.ask("pi", **options).why
    assert {seq: why(talk.entry(seq)) for seq in (small, failed, foreign, shielded, near, recent)} == {
        small: "its placeholder would not be shorter",
        failed: "an error",
        foreign: "my_tool is not among the prunable tools",
        shielded: "grep is a protected tool",
        near: "within prune_protect (60 tokens)",
        recent: "within the last 1 user turns",
    }


def test_with_another_counter_its_tokens_count() -> None:
    class Words:
        name = "words"

        def count(self, text: str) -> int:
            return len(text.split())

    talk = Talk(Words())
    talk.user()
    talk.step("read", "a " * 90, path="a")
    talk.seen()
    assert texts(talk.ask("pi", **ALL)) == ['[output pruned — ~90 tokens | read path="a"]']
