"""One scale: parts sum to wholes, what is shown live is shown after a resume, and every front end says the same."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.labels import tokens_pruned_by
from prunecli.context.ledger import Ledger, ledger
from prunecli.context.outline import Outline, window_map
from prunecli.context.state import Context
from prunecli.context.tokens import Amount, Chars4, Scale
from prunecli.context.view import View
from prunecli.features.inspector.inspect import inspect
from prunecli.features.inspector.inspecting import Listing
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    ToolResult,
)
from prunecli.model.messages import Usage
from prunecli.model.requests import PREAMBLE
from tests.laws.logs import logs, sessions

WINDOW = 20_000
PREAMBLES = [
    {"system": ["You work in a terminal. " * 40], "tools": [{"name": "read", "description": "r" * 400}]},
    {},
]


def factor_of(model: str) -> float:
    return {"m": 1.3, "other": 1.6}.get(model, 1.0)


@st.composite
def reported(draw: st.DrawFn, made: st.SearchStrategy[list[Record]]) -> list[Record]:
    """A log with system prompt, tools and model, where some requests are recorded, answered with a believable usage,
    with none, or with nonsense."""
    found: list[Record] = []

    def add(record: Record) -> None:
        found.append(replace(record, seq=len(found)))

    add(Record(0, 0, SettingChanged(PREAMBLE, draw(st.sampled_from(PREAMBLES)))))
    add(Record(0, 0, SettingChanged("model.name", draw(st.sampled_from(["m", "n"])))))
    context = Context(Chars4(), factor_of)
    for record in draw(made):
        event = record.event
        if isinstance(event, AssistantMessage):
            match draw(st.sampled_from(["right", "right", "right", "failed", "none", "nonsense", "model"])):
                case "right":
                    add(replace(record, event=RequestSent("m", 1, "00")))
                    prompt = round(context.counts.context_tokens * draw(st.floats(0.8, 1.3)))
                    usage = Usage(
                        prompt, draw(st.integers(0, 300)), draw(st.sampled_from([None, 0, prompt])), 0
                    )
                    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}
                    edits = draw(st.sampled_from([None, None, 10, 200, 10**5]))
                    applied = None if edits is None else ({**edit, "cleared_input_tokens": edits},)
                    event = replace(event, usage=usage, applied_edits=applied)
                case "failed":
                    add(replace(record, event=RequestSent("m", 1, "00")))
                case "nonsense":
                    event = replace(event, usage=Usage(draw(st.integers(0, 9)), draw(st.integers(0, 9**5))))
                case "model":
                    add(
                        replace(
                            record, event=SettingChanged("model.name", draw(st.sampled_from(["m", "other"])))
                        )
                    )
                case _:
                    event = replace(event, usage=Usage())
        add(replace(record, event=event))
        context.apply(found[-1])
    return found


def folded(records: list[Record]) -> Context:
    context = Context(Chars4(), factor_of)
    for record in records:
        context.apply(record)
    return context


PI = chosen(Config().with_value("pi.prune_minimum", "20").with_value("pi.prune_protect", "30"), "pi")


def books(context: Context) -> Ledger:
    return ledger(View(context, WINDOW), [PI])


def figures(context: Context, records: list[Record]) -> list[Any]:
    """Everything that is shown of a context."""
    outline, told = Outline(context, records), books(context)
    nodes = [outline.node(row.key) for row in Listing(outline).done()]
    history = list(context.prune_history.rows.values())
    return [
        told,
        window_map(outline, WINDOW, 1_000, told.pruned_tokens),
        nodes,
        context.counts.scale,
        history,
    ]


@given(st.one_of(reported(logs()), reported(sessions())))
@settings(max_examples=30, deadline=None)
def test_each_part_is_at_most_its_whole_and_the_parts_sum_to_it(records: list[Record]) -> None:
    context = folded(records)
    outline, told = Outline(context, records), books(context)
    assert 0 <= told.protected_tokens <= told.scanned_tokens
    assert told.pruned_tokens <= told.scanned_tokens
    found = window_map(outline, WINDOW, 1_000, told.pruned_tokens)
    assert sum(found.tokens) == max(WINDOW, found.used)
    assert found.used == told.context_tokens
    assert min(found.tokens) >= 0
    nodes = [outline.node(row.key) for row in Listing(outline).done()]
    top = [node for node in nodes if node.key.kind == "turn" or node.key.seq == -1]
    assert abs(sum(node.tokens for node in top) - told.context_tokens) <= len(top)
    assert all(node.tokens >= 0 for node in nodes)
    assert all(node.tokens <= told.context_tokens + 1 for node in nodes)


@given(st.one_of(reported(logs()), reported(sessions())), st.data())
@settings(max_examples=20, deadline=None)
def test_a_figure_that_is_shown_live_is_the_one_after_a_resume(
    records: list[Record], data: st.DataObject
) -> None:
    """Whatever was asked meanwhile."""
    live = Context(Chars4(), factor_of)
    for at, record in enumerate(records):
        live.apply(record)
        match data.draw(st.sampled_from(["ledger", "everything", "nothing", "nothing"])):
            case "ledger":
                books(live)
            case "everything":
                figures(live, records[: at + 1])
            case _:
                pass
    assert figures(live, records) == figures(folded(records), records)


def only_prune(records: list[Record]) -> int | None:
    """The one prune of these records that nothing has touched since, None if there are others."""
    touching = (PrunApplied, PrunReverted, CompactionApplied, Rewound)
    found = [record for record in records if isinstance(record.event, touching)]
    return found[0].seq if len(found) == 1 and isinstance(found[0].event, PrunApplied) else None


@given(st.one_of(reported(logs()), reported(sessions())))
@settings(max_examples=25, deadline=None)
def test_the_line_of_a_prune_and_the_status_line_show_one_figure_at_each_moment(
    records: list[Record],
) -> None:
    """Also after the scale was fitted anew, and from one rounding: while a prune is the only one, they are equal."""
    context, late = Context(Chars4(), factor_of), False
    for at, record in enumerate(records):
        context.apply(record)
        prun = only_prune(records[: at + 1])
        if prun is None:
            continue
        late = late or (
            isinstance(record.event, ToolResult) and at > prun
        )  # of a call that was dropped before
        if not late:
            assert tokens_pruned_by(context, prun) == books(context).pruned_tokens


@given(st.one_of(reported(logs()), reported(sessions())))
@settings(max_examples=20, deadline=None)
def test_what_prunes_and_undos_withhold_adds_up_to_what_is_withheld(records: list[Record]) -> None:
    context = Context(Chars4(), factor_of)
    for record in records:
        before = context.counts.pruned
        context.apply(record)
        if record.seq in context.prune_history.rows:
            withheld = context.prune_history.rows[record.seq].withheld
            assert context.counts.pruned == before.plus(withheld)


@given(st.one_of(reported(logs()), reported(sessions())))
@settings(max_examples=30, deadline=None)
def test_no_prune_or_undo_changes_what_is_scanned(records: list[Record]) -> None:
    context = Context(Chars4(), factor_of)
    for record in records:
        before = context.counts.scanned
        context.apply(record)
        if isinstance(record.event, PrunApplied | PrunReverted | Pinned):  # a /restore adds its copy
            assert context.counts.scanned == before


@given(reported(sessions()))
@settings(max_examples=20, deadline=None)
def test_the_look_from_outside_shows_what_the_session_shows(records: list[Record]) -> None:
    context = folded(records)
    found = inspect(records, [PI], window=WINDOW, counter=Chars4(), factor_of=factor_of, recorded=True)
    assert found.ledger == books(context)
    assert found.messages == context.messages()


@given(
    st.floats(0.7, 1.5),
    st.lists(st.tuples(st.integers(500, 4_000), st.integers(0, 900)), min_size=8, max_size=30),
)
def test_how_the_endpoint_counts_is_learned_from_what_it_reports(
    true: float, steps: list[tuple[int, int]]
) -> None:
    scale, amount, prompt = Scale.of(1.1, 1_000), Amount(words=50), round(1_100 + true * 50)
    scale = scale.reported(prompt, amount)
    for raw, exact in steps:
        more = Amount(raw, exact)
        by = round(true * raw) + exact
        amount, prompt = amount.plus(more), prompt + by
        scale = scale.reported(prompt, amount)
    assert abs(scale.ratio - true) <= 0.1 * true
    assert scale.total(*amount) == prompt


def test_a_report_of_what_was_not_cached_is_none_of_the_whole_prompt() -> None:
    scale = Scale.of(1.0, 1_000)
    assert scale.reported(40, Amount(5_000)) == scale
    assert scale.reported(4_000, Amount(5_000)).measured
