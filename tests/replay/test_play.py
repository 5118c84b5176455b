"""A session played under strategies: what is sent, what it costs, and what it regrets."""

import gc
from dataclasses import replace

import pytest

from prunecli.agent.policy import Policy
from prunecli.context.compaction import Options
from prunecli.context.strategies import keep_last_n_steps
from prunecli.context.strategy import Chosen, Proposal
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.features.replay.rates import Rates
from prunecli.features.replay.replayer import Part, ReplayConfig, Replayer, Watch
from prunecli.features.replay.rows import Row, spread
from prunecli.features.replay.script import Script, script_of
from prunecli.features.replay.series import Series
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    PrunApplied,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, Thinking, ToolUse, Usage
from prunecli.model.requests import PREAMBLE

RATES = Rates(input=10.0, read=1.0, write=12.5, output=50.0)
LINE = "the quick brown fox jumps over the lazy dog, twice"
MINUTE = 60_000


class ClearAll:
    """A strategy that clears every result that may be cleared, as soon as there are two."""

    Options = object

    @staticmethod
    def propose(view: View, options: object) -> Proposal:
        edits = [view.replaced("clear", entry, "[gone]") for entry in view.results if not view.locked(entry)]
        return Proposal(tuple(edit for edit in edits if edit))


class Session:
    """Records of a session whose steps are a minute apart."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = [(0, SessionStarted("a", "/", "m"))]
        self.now = 0
        self.calls = 0

    def add(self, event: Event, wait: int = MINUTE) -> None:
        self.now += wait
        self.events.append((self.now, event))

    def user(self, text: str = "go on", wait: int = MINUTE) -> None:
        self.add(UserMessage((Text(text),), "import"), wait)

    def says(self, text: str) -> None:
        self.add(AssistantMessage((Text(text),), "m"))

    def calls_(self, result: str, name: str = "read", **given: str) -> None:
        self.calls += 1
        call = ToolUse(f"t{self.calls}", name, given or {"path": "a"})
        self.add(AssistantMessage((call,), "m"))
        self.add(ToolResult(call.id, name, (Text(result),)))

    def script(self) -> Script:
        records = [Record(seq, at, event) for seq, (at, event) in enumerate(self.events)]
        return script_of(records, Chars4(), name="s", agent="test")


def part(policy: Policy, *, ttl_ms: int = 5 * MINUTE, fixed: int = 2_000) -> Part:
    terms = ReplayConfig(policy, lambda _: RATES)
    preamble = {"system": ["x"], "tools": []}
    return Part("test", "always", lambda _: terms, lambda _: "m", preamble, fixed, ttl_ms, 150)


NONE = part(Policy(enabled=False))
CLEARING = part(Policy((Chosen("clear", ClearAll, None),)))


def played(session: Session, way: Part, watch: Watch | None = None) -> Row:
    return Replayer(session.script(), way, watch).play()


def reading(result: str = LINE * 200) -> Session:
    session = Session()
    session.user("read it")
    session.calls_(result)
    session.says("done")
    session.user("and now?")
    return session


def test_a_summary_of_turns_that_are_missing_in_a_damaged_log_is_played() -> None:
    session = Session()
    session.add(SettingChanged(PREAMBLE, {"system": ["x"], "tools": []}))
    for block in (None, {"type": "compaction", "content": "s", "signature": "c2ln"}):
        session.add(CompactionApplied("s", -1, 9, block=block, model="m", usage=Usage(5)))
    session.user()
    session.says("done")
    assert played(session, NONE).requests == 1


def test_only_prunecli_keeps_the_order_of_its_results() -> None:
    for preamble, order in (({}, ["1", "2"]), ({PREAMBLE: {"tools": []}}, ["2", "1"])):
        session = Session()
        for setting in preamble.items():
            session.add(SettingChanged(*setting))
        session.add(AssistantMessage(tuple(ToolUse(one, "read", {}) for one in "12"), "m"))
        for one in "21":
            session.add(ToolResult(one, "read", (Text(LINE),)))
        events = [step.event for step in session.script().steps]
        assert [event.tool_use_id for event in events if isinstance(event, ToolResult)] == order


def test_each_request_reads_what_the_one_before_sent_and_writes_the_rest() -> None:
    session = reading()
    session.says("so")
    row = played(session, NONE)
    first, second, third = 2_000 + 2, 2_000 + 2 + 4 + 2_500, 2_000 + 2 + 4 + 2_500 + 1 + 2
    assert (row.requests, row.tokens, row.peak) == (3, first + second + third, third)
    assert (row.cache_read, row.cache_write) == (first + second, third)
    assert row.cost == pytest.approx(((first + second) * 1.0 + third * 12.5) / 1e6)


def test_a_play_that_is_stopped_leaves_the_garbage_collection_as_it_was() -> None:
    before = gc.get_threshold()

    def stop(*_: object) -> None:
        assert gc.get_threshold() != before
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Replayer(reading().script(), NONE, stop).play()
    assert gc.get_threshold() == before


def test_after_the_lifetime_everything_is_written_again() -> None:
    session = reading()
    session.user("later", wait=6 * MINUTE)
    session.says("so")
    row = played(session, NONE)
    assert row.cache_read == 2_000 + 2
    assert played(session, part(Policy(enabled=False), ttl_ms=60 * MINUTE)).cache_read > row.cache_read


def test_a_rewind_to_the_end_of_a_turn_leaves_the_next_prompt_out() -> None:
    session = reading()
    end = len(session.events) - 1
    session.says("so")
    session.add(RunEnded("finished"))
    session.user(LINE * 900)
    session.says("long")
    session.add(Rewound(end + 2))
    session.user("and now?")
    session.says("short")
    row = played(session, NONE)
    assert row.peak > 10_000
    assert row.tokens - row.peak < 4 * 6_000, "the request after the rewind is short again"


def test_what_a_rewind_left_out_cannot_be_regretted() -> None:
    for rewinds in (False, True):
        session = Session()
        session.user("hi")
        session.says("hello")
        session.add(RunEnded("finished"))
        end = len(session.events) - 1
        session.user("read it")
        session.calls_(LINE * 200)
        session.says("done")
        session.user("and now?")
        session.says("so")
        if rewinds:
            session.add(Rewound(end))
        session.user("once more")
        session.says(f"It was: {LINE * 2}")
        row = played(session, CLEARING)
        assert (row.pruned_results, row.regret) == (1, 0 if rewinds else 1)


def test_a_copy_that_a_rewind_left_out_does_not_save_from_fetching_until_it_is_back() -> None:
    for comes_back in (False, True):
        session = reading()
        session.says("so")
        end = len(session.events) - 1
        session.user(f"it said {LINE}")
        session.says("yes")
        copied = len(session.events) - 1
        session.add(Rewound(end))
        if comes_back:
            session.add(Rewound(copied))
        session.user("what did it say?")
        session.says(LINE)
        assert played(session, CLEARING).regret == (0 if comes_back else 1)


def test_an_edit_breaks_the_cache_only_while_it_is_warm() -> None:
    warm, cold = reading(), reading()
    cold.user("later", wait=6 * MINUTE)
    for session in (warm, cold):
        session.says("so")
    rows = [played(session, CLEARING) for session in (warm, cold)]
    assert [row.pruned_results for row in rows] == [1, 1]
    assert [row.thinking_breaks for row in rows] == [1, 1]
    assert [row.cache_breaks for row in rows] == [1, 0]
    assert [row.edits_in_round for row in rows] == [0, 0]


def test_a_quote_of_what_was_cleared_is_fetched_again_at_the_documented_price() -> None:
    session = reading()
    session.says("so")
    session.user("what did it say?")
    session.says(LINE)
    session.user("thanks")
    session.says("yes")
    row = played(session, CLEARING)
    assert (row.regret, row.edit_regret) == (1, 0)
    context = 2_000 + 2 + 4 + 2 + 1 + 2 + 1 + 4  # [gone] takes two tokens
    once = context * RATES.read + 2_500 * RATES.write + 150 * RATES.output
    assert row.cost_with_any_rereads - row.cost == pytest.approx((once + 2_500 * RATES.read) / 1e6)
    assert row.cost_with_rereads == row.cost


def test_the_models_own_words_count_apart_from_results_and_are_regretted_like_them() -> None:
    session = Session()
    session.user("write it")
    session.calls_("ok", "write", path="a", content=LINE)
    for _ in range(3):
        session.calls_("fine", "bash", command="true")
    session.calls_("ok", "edit", path="a", old_string=LINE, new_string="b")
    session.says("done")
    options = keep_last_n_steps.Options(n=2)
    row = played(session, part(Policy((Chosen("keep_last_n_steps", keep_last_n_steps, options),))))
    assert (row.dropped_answers, row.pruned_results) == (3, 3)
    assert (row.regret, row.edit_regret) == (1, 1)


def test_an_edit_that_has_to_match_it_counts_in_both() -> None:
    session = reading()
    session.says("so")
    session.user("change it")
    session.calls_("ok", "edit", path="a", old_string=LINE, new_string="b")
    session.says("done")
    row = played(session, CLEARING)
    assert (row.regret, row.edit_regret) == (1, 1)
    assert row.cost < row.cost_with_rereads == row.cost_with_any_rereads


def test_a_result_is_fetched_again_once_and_a_newer_source_makes_it_needless() -> None:
    session = reading()
    for _ in range(3):
        session.says("so")
        session.user("what did it say?")
        session.says(LINE)
        session.user("again")
    assert played(session, CLEARING).regret == 1
    session = reading()
    session.says("so")
    session.user(f"it said {LINE}")
    session.says(LINE)
    assert played(session, CLEARING).regret == 0


def test_what_was_held_back_is_regretted_and_what_is_shown_of_it_is_not() -> None:
    def spill(result: ToolResult, call: ToolUse, step: object, seq: int) -> ToolResult:
        shown = "head of it: one two three four five six seven eight"
        return replace(result, spilled=Spilled(2_000, shown), tokens=None)

    shown = "head of it: one two three four five six seven eight"
    held = "tail of it: one two three four five six seven nine"
    for words, regrets in ((held, 1), (shown, 0)):
        session = Session()
        session.user("run it")
        session.calls_(" ".join([shown, *[held] * 160]))
        session.says(words)
        row = played(session, replace(NONE, spill=spill))
        assert (row.spilled_results, row.regret) == (1, regrets), words


def test_a_recorded_compaction_ends_what_can_be_quoted_and_carried() -> None:
    session = reading()
    session.says("so")
    session.add(CompactionApplied("a summary", 0, len(session.events)))
    session.user("what did it say?")
    session.says(LINE)
    row = played(session, CLEARING)
    assert row.regret == 0
    assert session.script().further == {2: 2, 4: 1, 6: 0, 9: 0}


def test_the_log_of_a_compaction_replaces_the_same_messages_again() -> None:
    """Also if its range begins behind a record that is not part of the conversation."""
    session = Session()
    session.add(SettingChanged(PREAMBLE, {"system": ["x"], "tools": []}))
    session.user(LINE * 200)
    session.says("done")
    session.user("and now?")
    session.add(CompactionApplied("a summary", 1, 4))
    session.says("so")
    player = Replayer(session.script(), NONE)
    player.play()
    assert LINE not in str(player.context.messages())
    assert "and now?" in str(player.context.messages())


def asked(session: Session, *meanwhile: Event) -> Session:
    """The session as a log of prunecli. These events come between the last request and its answer."""
    log = Session()
    log.add(SettingChanged(PREAMBLE, {"system": ["x"], "tools": []}))
    for at, (_, event) in enumerate(session.events[1:]):
        if isinstance(event, AssistantMessage):
            log.add(RequestSent("m", 0, ""))
            for one in meanwhile if at == len(session.events) - 2 else ():
                log.add(one)
        log.add(event)
    return log


def test_an_attempt_that_was_billed_without_an_answer_is_a_request_of_its_own() -> None:
    session = reading()
    session.says("so")
    cut = AttemptBilled("m", Usage(10, 3), "cut")
    whole, tried = (played(one, NONE) for one in (asked(session), asked(session, cut, cut)))
    assert (whole.requests, tried.requests) == (3, 5)
    assert tried.cache_write == whole.cache_write
    assert tried.cache_read == whole.cache_read + 2 * whole.peak, "the first attempt has stored it"
    assert tried.cost == pytest.approx(whole.cost + 2 * whole.peak * 1.0 / 1e6)


def test_an_attempt_that_the_user_stopped_keeps_the_cache_warm() -> None:
    session = reading()
    session.user("later")
    session.says("so")
    stopped = AttemptBilled("m", Usage(10, 3), "stopped"), RunEnded("interrupted")
    log = asked(session, *stopped, UserMessage((Text("again"),)), RequestSent("m", 0, ""))
    row = played(log, part(Policy(enabled=False), ttl_ms=4 * MINUTE))
    assert row.cache_write == row.peak, "nothing is written twice"


def test_edits_are_made_before_the_request_that_then_fails() -> None:
    session = reading()
    session.says("so")
    failed = RunEnded("error", "the endpoint is down"), UserMessage((Text("go on"),)), RequestSent("m", 0, "")
    seen: list[tuple[PrunApplied, ...]] = []
    player = Replayer(asked(session, *failed).script(), CLEARING, lambda _, sent: seen.append(sent.before))
    row = player.play()
    assert (row.requests, row.thinking_breaks) == (3, 1)
    assert [len(before) for before in seen] == [0, 0, 1]
    assert next(iter(player.context.pruns)) < player.context.user_turns[-1]


def test_thinking_that_an_endpoint_dropped_after_the_recorded_edits_is_not_dropped_in_a_play() -> None:
    dropped = {
        "type": "thinking_dropped",
        "path": "messages.1.content.0",
        "reason": "prefix_binding_mismatch",
    }
    session = Session()
    session.user()
    session.add(AssistantMessage((Thinking("hm " * 400, "signed"), Text("done")), "m"))
    session.user()
    session.add(AssistantMessage((Text("so"),), "m", input_transformations=(dropped,)))
    player = Replayer(session.script(), NONE)
    player.play()
    assert player.context.unseen.dropped == frozenset()


def test_what_an_endpoint_cleared_from_the_recorded_requests_is_sent_in_a_play() -> None:
    cleared = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 2_400}
    session = reading()
    session.add(AssistantMessage((Text("so"),), "m", applied_edits=(cleared,)))
    player = Replayer(session.script(), NONE)
    player.play()
    assert not player.context.counts.clearing.tokens


def test_a_message_that_the_recording_program_wrote_itself_is_no_request() -> None:
    session = reading()
    session.add(AssistantMessage((Text("API error"),), "<synthetic>"))
    session.user()
    session.says("so")
    assert played(session, NONE).requests == 3


def test_an_answer_with_the_very_content_of_a_prompt_is_still_counted_as_an_answer() -> None:
    """A prompt is estimated from its bytes, an answer is counted."""

    class Letters(Chars4):
        name = "letters"

    def prompts(said: Text, answer: Text, content: tuple[Text] | None = None) -> list[Row]:
        session = Session()
        session.add(UserMessage(content or (said,), "import"))
        session.add(AssistantMessage(content or (answer,), "m"))
        session.user()
        session.says("so")
        return [Replayer(replace(session.script(), counter=Letters()), NONE).play()]

    text = Text("語" * 3_000)
    assert prompts(text, text, (text,)) == prompts(text, text)


def test_a_restore_of_a_result_whose_call_is_lost_from_the_log_is_left_out() -> None:
    session = Session()
    session.add(SettingChanged(PREAMBLE, {"system": ["x"], "tools": []}))
    session.user()
    session.add(ToolResult("lost", "read", (Text(LINE),)))
    whole = len(session.events)
    session.add(UserMessage((Text("/restore"), Text(LINE)), "command", (whole - 1,)))
    session.says("done")
    player = Replayer(session.script(), NONE)
    assert player.play().requests == 1
    assert LINE not in str(player.context.messages())


def test_a_plot_shows_what_was_sent_if_a_later_request_is_lost_from_the_log() -> None:
    session = reading()
    session.says("so")
    series = Series()
    row = played(asked(session, UserMessage((Text("of a lost request"),))), NONE, series.watch)
    assert sum(series.layers[-1]) == row.peak


def test_a_summary_is_played_where_it_is_due_and_what_it_replaced_is_regretted() -> None:
    session = Session()
    for number in range(8):
        session.user(f"read {number}")
        session.calls_(f"{LINE} of {number} " * 100)
        session.says("done")
    session.user("and then?")
    session.says(f"It was: {LINE} of 3 {LINE}")
    compaction = Options(max_context_tokens=10_000, compact_at_pct=1.0)
    never = part(Policy(compaction=compaction))
    plain, summed = (played(session, way) for way in (never, replace(never, summary_tokens=500)))
    assert (plain.summaries, plain.regret, summed.summaries) == (0, 0, 1)
    assert summed.requests == plain.requests
    assert summed.peak < 11_000 < plain.peak
    assert summed.regret > 0, "the answer quotes a result that was summarized"
    dear = replace(never, summary_tokens=5_000)
    assert played(session, dear).cost > summed.cost
    assert not played(session, replace(never, summary_tokens=50_000)).summaries, "it would be longer"


@pytest.mark.parametrize(
    ("model", "ratio"), [("m", 1.0), ("claude-opus-4-6", 1.23), ("claude-opus-5-5", 1.6)]
)
def test_answers_are_counted_by_the_model_of_the_play_as_results_are(model: str, ratio: float) -> None:
    session = reading()
    said = (Text("x" * 2_000),)
    session.add(AssistantMessage(said, "m", "end_turn", Usage(1_000, 1_000), thinking_tokens=500))
    player = Replayer(session.script(), replace(NONE, name_of=lambda _: model))
    player.play()
    (answer,) = (one.event for one in player.context.entries.values() if one.text == "x" * 2_000)
    assert isinstance(answer, AssistantMessage)
    assert answer.usage.output_tokens == round(1_000 * ratio)
    assert answer.thinking_tokens == round(500 * ratio)


def test_the_spread_says_how_far_a_total_and_a_mean_may_be_off() -> None:
    def rows(base: float, cost: float) -> list[Row]:
        none, auto = Row("s", "a", "no_pruning", "always", False), Row("s", "a", "auto", "cache_aware", True)
        none.cost, auto.cost_with_any_rereads = base, cost
        return [none, auto]

    found = spread([rows(10, 5), rows(10, 5), rows(1, 1)], ("auto", "cache_aware", True))
    assert (round(found.whole, 3), round(found.mean, 3)) == (0.524, 0.667)
    assert 0 < found.whole_error < found.mean_error
    same = spread([rows(10, 5), rows(2, 1)], ("auto", "cache_aware", True))
    assert (same.whole_error, same.mean_error) == (0.0, 0.0)
