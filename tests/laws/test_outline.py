"""The map sums to the window, the tree to the ledger, and a preview to what then really happens."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from prunecli.context.acts import Act, plan
from prunecli.context.economics import Market
from prunecli.context.impact import impact
from prunecli.context.labels import Key
from prunecli.context.ledger import ledger
from prunecli.context.map import PARTS, WindowMap, apportioned, window_map
from prunecli.context.outline import Outline
from prunecli.context.project import project
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.errors import InvalidRequest
from prunecli.model.events import Record
from tests.laws.checks import valid
from tests.laws.logs import sessions

ACTS: tuple[Act, ...] = ("prune", "memo", "restore", "pin", "undo")


def folded(records: list[Record]) -> Context:
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    return context


def everything(outline: Outline) -> list[Key]:
    return [row.key for row in outline.rows(lambda _: True)]


@given(sessions(), st.integers(1, 400), st.integers(0, 100))
def test_the_map_sums_to_the_window_and_its_used_part_to_the_ledger(
    records: list[Record], window: int, reserve: int
) -> None:
    context = folded(records)
    found = window_map(Outline(context, records), window, reserve, 0)
    books = ledger(View(context, window), ())
    assert sum(found.tokens) == max(window, found.used)
    assert found.used == books.context_tokens == sum(found.tokens) - found.of("free") - found.of("reserve")
    assert min(found.tokens) >= 0


@given(st.lists(st.integers(0, 10_000), min_size=9, max_size=9), st.integers(1, 300))
def test_a_map_of_cells_has_each_cell_and_each_part_that_is_there(tokens: list[int], count: int) -> None:
    found = WindowMap(tuple(tokens), 0, 0, 0, True, 1.0)
    cells = found.cells(count)
    there = [part for part in PARTS if found.of(part)]
    assert len(cells) == (count if there else 0)
    assert [part for part in PARTS if part in cells] == (
        there if count >= len(there) else sorted(set(cells), key=PARTS.index)
    )
    assert cells == sorted(cells, key=PARTS.index)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 1000), min_size=1, max_size=9))
def test_what_is_divided_is_all_there(total: int, weights: list[int]) -> None:
    assert sum(apportioned(total, weights)) == total


@given(sessions())
def test_the_trees_sums_are_the_ledgers(records: list[Record]) -> None:
    context = folded(records)
    outline, books = Outline(context, records), ledger(View(context, 200_000), ())
    after = [item for item in context.items if item.seq > context.boundary]
    results = [part for item in after for part in (item.exchange.entries if item.exchange else [item])]
    scanned = sum(context.tally.tokens(entry) for entry in results if entry.prunable)
    assert scanned == books.scanned_tokens
    sums = outline.total(after)
    assert sums.original - sums.shown == books.pruned_tokens
    nodes = [outline.node(row.key) for row in outline.rows(lambda key: key.kind == "turn") if row.depth == 1]
    of_memos = sum(node.tokens for node in nodes if node.key.kind == "memo")
    heads = sum(outline.sums(turn.head).shown for turn in outline.turns if turn.head)
    exchanges = sum(node.tokens for node in nodes if node.key.kind == "exchange")
    assert exchanges + heads + of_memos == outline.whole.shown


@given(sessions())
def test_a_tree_that_followed_the_log_is_the_tree_of_the_log(records: list[Record]) -> None:
    context = Context(Chars4())
    followed = Outline(context, [])
    for at, record in enumerate(records):
        context.apply(record)
        followed.take(records[: at + 1])
        _ = followed.whole
    anew = Outline(context, records)
    assert everything(followed) == everything(anew)
    assert [followed.node(key) for key in everything(anew)] == [anew.node(key) for key in everything(anew)]


@given(sessions(), st.data())
def test_a_preview_is_what_then_happens_and_doing_it_again_does_nothing(
    records: list[Record], data: st.DataObject
) -> None:
    context = folded(records)
    outline, view = Outline(context, records), View(context, 200_000)
    for _ in range(4):
        key = data.draw(st.sampled_from(everything(outline)))
        act = data.draw(st.sampled_from(ACTS))
        planned = plan(view, outline, act, key, "what it was about")
        if not planned.allowed:
            assert planned.refusal
            continue
        foreseen = impact(context, planned.events, Market())
        pruned, words = context.tally.pruned_tokens, user_words(context)
        for event in planned.events:
            record = Record(records[-1].seq + 1, records[-1].timestamp + 1, event)
            records = [*records, record]
            context.apply(record)
        outline.take(records)
        assert foreseen.after == context.tally.context_tokens
        assert foreseen.withheld == context.tally.pruned_tokens - pruned
        assert user_words(context) == words
        assert context.messages() == project(records)
        assert outline.whole == Outline(context, records).whole
        if act in ("prune", "memo", "restore") and key in everything(outline):
            again = plan(view, outline, act, key, "what it was about")
            assert act == "memo" or not again.allowed, again.what


def user_words(context: Context) -> list[list[str]]:
    return [entry.typed or entry.texts for entry in context.items if entry.kind in ("user", "command")]


@given(sessions(), st.data())
def test_no_act_makes_a_request_invalid_that_was_valid(records: list[Record], data: st.DataObject) -> None:
    context = folded(records)
    try:
        valid(context.messages())
    except InvalidRequest:  # a log that was broken before says nothing
        return
    outline, view = Outline(context, records), View(context, 200_000)
    key = data.draw(st.sampled_from(everything(outline)))
    for event in chain(plan(view, outline, data.draw(st.sampled_from(ACTS)), key, "x").events):
        records = [*records, Record(len(records), records[-1].timestamp + 1, event)]
        context.apply(records[-1])
        valid(context.messages())
    assert context.messages() == project(records)
