"""The map sums to the window, the tree to the ledger, and a preview to what then really happens."""

from collections.abc import Callable, Iterator
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context import labels
from prunecli.context.economics import Market
from prunecli.context.impact import impact
from prunecli.context.item_order import is_edited_since
from prunecli.context.labels import Key
from prunecli.context.ledger import ledger
from prunecli.context.manual_edits import Act, cleared, plan
from prunecli.context.outline import PARTS, USED, Outline, Row, WindowMap, apportioned, window_map
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4, total
from prunecli.context.view import View
from prunecli.features.inspector.inspecting import ORDERS, Found, Listing, Order, Prunable, Ranked
from prunecli.model.events import Record
from prunecli.model.requests import WireMessage
from prunecli.util.errors import InvalidRequest
from tests.context.project import project
from tests.laws.checks import valid
from tests.laws.logs import sessions
from tests.session.points import folded

ACTS: tuple[Act, ...] = ("prune", "memo", "restore", "in_place", "pin", "undo")


def everything(outline: Outline) -> list[Key]:
    return [row.key for row in Listing(outline).done()]


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
    found = WindowMap(tuple(tokens), 0, 0, 0, measured=True)
    cells = found.cells(count)
    there = [part for part in USED if found.of(part)]
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
    after = [item for item in context.items if item.seq > context.boundary or is_edited_since(context, item)]
    results = [
        part for item in context.items for part in (item.exchange.entries if item.exchange else [item])
    ]
    scale, scanned = context.counts.scale, [part for part in results if part.is_scanned]
    drift = context.prune_history.drift(scale)
    assert round(drift * scale.tokens(*total(map(context.counts.amount, scanned)))) == books.scanned_tokens
    sums = outline.total(after)
    assert context.prune_history.shown_of(sums.whole.minus(sums.shown), scale) == books.pruned_tokens
    nodes = [outline.node(row.key) for row in Listing(outline).done()]
    for depth, kinds in enumerate((("turn",), ("prompt", "exchange", "memo"))):
        rows = [node.tokens for node in nodes if node.key.kind in kinds]
        heads = [outline.sums(turn.head).shown for turn in outline.turns if turn.head and depth]
        fixed = sum(node.tokens for node in nodes if node.key.seq == -1 and node.key.kind != "turn")
        parts = sum(rows) + sum(scale.tokens(*head) for head in heads) + fixed
        assert abs(parts - books.context_tokens) <= (len(rows) + len(heads) + 2) / 2 or scale.fixed < 0


@settings(deadline=None, max_examples=12)
@given(sessions())
def test_the_totals_of_the_tools_are_those_of_the_whole(records: list[Record]) -> None:
    context = folded(records)
    outline = Outline(context, records)
    whole, tools = outline.whole, [sums for _, sums in outline.tools]
    assert sum(sums.results for sums in tools) == whole.prunable
    assert sum(sums.pruned for sums in tools) == whole.pruned
    assert tools == sorted(tools, key=lambda sums: sums.left, reverse=True)


@settings(deadline=None, max_examples=12)
@given(sessions(), st.sampled_from(ORDERS))
def test_a_ranked_list_has_each_part_once_with_the_largest_first(records: list[Record], by: Order) -> None:
    outline = Outline(folded(records), records)
    keys = [row.key for row in Ranked(outline, by).done()]
    assert len(set(keys)) == len(keys)
    figures = [outline.figures(key) for key in keys]
    preamble = sum(tokens for _, tokens in outline.preamble)
    in_part = [one for key, one in zip(keys, figures, strict=True) if key.kind != "calls"]
    whole = outline.context.counts.scale.tokens(*outline.whole.shown)
    assert sum(one.tokens for one in in_part) <= whole + preamble + len(keys) / 2  # each is rounded
    values = [
        getattr(one, "original" if by == "size" else "tokens" if by == "order" else by) for one in figures
    ]
    assert values == sorted(values, reverse=True)


@settings(deadline=None, max_examples=12)
@given(sessions())
def test_the_results_of_the_first_view_can_be_pruned_and_are_the_largest(records: list[Record]) -> None:
    context = folded(records)
    view, outline = View(context, 200_000), Outline(context, records)
    keys = [row.key for row in Prunable(view).done()]
    assert all(plan(view, outline, "prune", key).allowed for key in keys)
    tokens = [outline.figures(key).tokens for key in keys]
    assert tokens == sorted(tokens, reverse=True)
    listed = {key.seq for key in keys}
    free = [one for one in view.results if one.seq not in listed and not view.locked(one)]
    others = [
        context.counts.scale.tokens(*context.counts.amount(one)) for one in free if cleared(view, one)[1]
    ]
    assert len(keys) == 10 or not others
    assert max(others, default=0) <= min(tokens, default=0)


def settled(outline: Outline) -> list[object]:
    """All that can be asked of an outline."""
    keys, whole = everything(outline), outline.whole
    turns = [outline.of_turn(turn) for turn in outline.turns]
    nodes = list(map(outline.node, keys))
    tools = outline.tools
    return [keys, whole, tools, turns, nodes]


@settings(deadline=None)
@given(sessions(), st.data())
def test_a_tree_that_followed_the_log_is_the_tree_of_the_log(
    records: list[Record], data: st.DataObject
) -> None:
    """Whatever was asked, measured, listed or searched for meanwhile."""
    context = Context(Chars4())
    followed = Outline(context, [])
    measuring = followed.measuring()
    words = data.draw(st.sampled_from(["0", "live", "in progress", "pinned", "read", "cleared", "zz"]))
    for at, record in enumerate(records):
        context.apply(record)
        followed.take(records[: at + 1])
        match data.draw(st.sampled_from(["ask", "measure", "begin to measure", "list", "search", "nothing"])):
            case "ask":
                _ = [followed.node(Key("turn", turn.seq)) for turn in followed.turns]
            case "measure":
                _ = followed.whole
            case "begin to measure":
                measuring = followed.measuring() if next(measuring, 1) else measuring
            case "list":
                _ = everything(followed)
            case "search":
                Found(followed, words).done()
            case _:
                pass
    anew = Outline(context, records)
    assert settled(followed) == settled(anew)
    assert list(Found(followed, words).done()) == list(Found(anew, words).done())


def rows_of_tree(outline: Outline, is_open: Callable[[Key], bool]) -> Iterator[Row]:
    """The rows, slowly and obviously, from the turns."""
    for key, _ in outline.preamble:
        yield Row(0, key, unfolds=False, is_open=False)
    for turn in outline.turns:
        key = Key("turn", turn.seq)
        opened = bool(turn.children) and is_open(key)
        yield Row(0, key, bool(turn.children), opened)
        for head in turn.children if opened else ():
            if head.exchange is None:
                assert head.is_attached or not head.opens_turn
                yield Row(1, Key("prompt", head.seq), unfolds=False, is_open=False)
                continue
            found = outline.context.memos_of(head.seq)
            for prun in dict.fromkeys(prun for prun, edit in found if outline.context.in_force(prun, edit)):
                yield Row(1, Key("memo", head.seq, prun), unfolds=False, is_open=False)
            key, parts = Key("exchange", head.seq), labels.parts_of(head)
            unfolds = bool(head.exchange.calls) or len(parts) > 1
            yield Row(1, key, unfolds, unfolds and is_open(key))
            if unfolds and is_open(key):
                below = [*parts, *(Key("result", result.seq) for result in head.exchange.results)]
                yield from (Row(2, part, unfolds=False, is_open=False) for part in below)


@given(sessions(), st.data())
def test_a_list_has_every_node_that_is_not_below_a_folded_one_and_knows_where_it_stands(
    records: list[Record], data: st.DataObject
) -> None:
    outline = Outline(folded(records), records)
    every = everything(outline)
    unfolded, turned = data.draw(st.booleans()), data.draw(st.sets(st.sampled_from(every), max_size=5))
    rows = Listing(outline, turned, unfolded=unfolded).done()
    assert list(rows) == list(rows_of_tree(outline, lambda key: (key in turned) is not unfolded))
    assert [rows.place(row.key) for row in rows] == list(range(len(rows)))
    assert all(rows.place(key) is None for key in {*every} - {row.key for row in rows})
    assert rows.has_folded is any(row.unfolds and not row.is_open for row in rows)
    for at, row in enumerate(rows):
        holds = [one for one in range(at) if rows[one].depth < row.depth]
        assert rows.above(at) == (holds[-1] if row.depth else at)


@given(sessions(), st.sampled_from(["0", "LIVE", "in progress", "pinned", "read", "cleared", "memo", "zz"]))
def test_what_is_found_is_every_node_that_holds_the_words_and_what_is_above_it(
    records: list[Record], words: str
) -> None:
    outline = Outline(folded(records), records)
    wanted, way = list[Row](), list[Row]()
    for row in Listing(outline).done():
        way = [one for one in way if one.depth < row.depth] + [row]
        text = f"{row.key.seq} {outline.label(row.key)} {labels.state(outline.context, row.key)}"
        if words.lower() in text.lower():
            wanted += [one for one in way if (one not in wanted and one.key.kind != "memo") or one is row]
    found = Found(outline, words).done()
    assert list(found) == wanted
    assert [found.place(row.key) for row in found] == list(range(len(found)))


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
        pruned, words, before = context.counts.pruned, user_words(context), context.messages()
        for event in planned.events:
            record = Record(records[-1].seq + 1, records[-1].timestamp + 1, event)
            records = [*records, record]
            context.apply(record)
        outline.take(records)
        assert foreseen.after == context.counts.context_tokens
        more = context.counts.pruned.minus(pruned)
        assert foreseen.withheld == context.counts.scale.tokens(*more)
        assert user_words(context)[: len(words)] == words
        if act == "restore":
            assert is_continued(before, context.messages())
            assert foreseen.change
            assert foreseen.change.at_end
            assert not foreseen.change.rewritten
        assert context.messages() == project(records)
        assert outline.whole == Outline(context, records).whole
        if act in ("prune", "memo", "restore", "in_place") and key in everything(outline):
            again = plan(view, outline, act, key, "what it was about")
            assert act == "memo" or not again.allowed, again.what


def is_continued(before: tuple[WireMessage, ...], after: tuple[WireMessage, ...]) -> bool:
    """Whether nothing that stood there has changed: only the last message may have become longer."""
    last = len(before) - 1
    return (
        after[:last] == before[:last]
        and after[last].blocks[: len(before[last].blocks)] == before[last].blocks
    )


def user_words(context: Context) -> list[list[str]]:
    return [entry.typed or entry.texts for entry in context.items if entry.opens_turn]


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
