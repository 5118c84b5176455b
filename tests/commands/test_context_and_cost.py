"""/context and /cost: what they answer."""

import re
from pathlib import Path

import pytest

from prunecli.commands.command import Say, ShowScreen, Table, run_line
from prunecli.features.money.cost_command import MOST_ROWS
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    PrunReverted,
    RequestSent,
    Rewound,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from prunecli.util.figures import money, short
from tests.starting import start


def test_context_is_for_the_inspector_and_has_a_table_for_front_ends_without_one(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.emit(UserMessage((Text("hello"),)))
    effect = run_line(runtime, "/context")[0]
    assert isinstance(effect, ShowScreen)
    (table,) = effect.instead()
    assert table == run_line(runtime, "/context table")[0]
    assert isinstance(table, Table)
    assert table.rows[1][1] == "> hello"


def test_the_tokens_of_the_table_add_up_to_the_context_and_sizes_are_those_of_the_originals(
    tmp_path: Path,
) -> None:
    runtime = start(tmp_path)
    runtime.emit(UserMessage((Text("hello"),)))
    answers = list[int]()
    for number in range(3):
        call = ToolUse(f"t{number}", "read", {})
        answers.append(runtime.emit(AssistantMessage((call,), "m", "tool_use")).seq)
        runtime.emit(ToolResult(call.id, "read", (Text("word " * 300),)))
    clear = Edit("clear", answers[0] + 1, "t0", "[gone]", 300, 2)
    memo, drop = (
        Edit("memo", answers[1], None, "the gist", 0, 2),
        Edit("drop", answers[1], None, None, 303, 0),
    )
    runtime.emit(PrunApplied("user", (clear, memo, drop)))
    table = run_line(runtime, "/context table")[0]
    assert isinstance(table, Table)
    now, sizes = ([int(row[at]) for row in table.rows] for at in (2, 3))
    assert sum(now) == pytest.approx(runtime.status().ledger.context_tokens, abs=3)
    assert sum(sizes) > 2 * sum(now)


def test_cost_of_nothing_says_so(tmp_path: Path) -> None:
    answer = run_line(start(tmp_path), "/cost")[0]
    assert isinstance(answer, Say)
    assert "No cost yet" in answer.text


def test_cost_lists_models_and_requests_and_says_unknown_prices(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.emit(UserMessage((Text("hello"),)))
    use = ToolUse("t1", "read", {})
    runtime.emit(AssistantMessage((use,), "claude-sonnet-4-5", usage=Usage(1_000, 100, 0, 9_000)))
    result = runtime.emit(ToolResult("t1", "read", (Text("word " * 400),)))
    runtime.emit(PrunApplied("user", (Edit("clear", result.seq, None, "x", 400, 1),), tokens_removed=399))
    runtime.emit(AssistantMessage((Text("b"),), "claude-sonnet-4-5", usage=Usage(1_000, 100, 9_000, 500)))
    runtime.emit(AssistantMessage((Text("c"),), "mystery", usage=Usage(500, 10)))
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    names = [row[0] for row in table.rows]
    assert names[:3] == ["claude-sonnet-4-5", "mystery", "all"]
    known, unknown, everything = table.rows[:3]
    assert known[1:7] == ("×2", "2.0K", "9.0K", "9.5K", "44%", "200")
    assert known[7] == "$0.0473"
    assert unknown[7] == "$ ?"
    assert everything[7] == "$0.0473 + ?"
    assert [row[:2] for row in table.rows[4:]] == [("1 hello", "×3")]
    assert [row[1] for row in table.below[4]] == ["6", "5", "2"]
    every = run_line(runtime, "/cost all")[0]
    assert isinstance(every, Table)
    assert [row[1] for row in every.rows[4:]] == ["6", "5", "2"]
    assert "No known price for mystery" in table.note
    assert "prices unknown" in table.note


def test_cost_with_known_prices_says_what_pruning_saved_net(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.emit(UserMessage((Text("hello"),)))
    runtime.emit(AssistantMessage((ToolUse("t1", "read", {}),), "claude-sonnet-4-5", usage=Usage(900, 100)))
    result = runtime.emit(ToolResult("t1", "read", (Text("word " * 40_000),)))
    runtime.emit(PrunApplied("user", (Edit("clear", result.seq, None, "x", 40_000, 1),)))
    runtime.emit(AssistantMessage((Text("b"),), "claude-sonnet-4-5", usage=Usage(1_000, 100, 9_000, 500)))
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    assert "Pruning saved $" in table.note
    assert table.note.startswith("Without pruning, requests would have sent ~")
    assert "rewriting ~0 tokens" not in table.note, "nothing was written again"
    assert table.note.endswith(" net in this session.")
    assert [row[0] for row in table.rows][:2] == ["claude-sonnet-4-5", ""]


def test_cost_and_prune_stats_say_the_same_of_what_was_written_again(tmp_path: Path) -> None:
    runtime, model = start(tmp_path), "claude-sonnet-4-5"
    runtime.emit(UserMessage((Text("word " * 8_000),)))
    runtime.emit(AssistantMessage((ToolUse("t1", "read", {}),), model, "tool_use", Usage(100, 9, 0, 9_000)))
    result = runtime.emit(ToolResult("t1", "read", (Text("word " * 800),)))
    runtime.emit(RequestSent(model, 0, "00"))
    runtime.emit(AssistantMessage((Text("b"),), model, usage=Usage(0, 9, 9_000, 5_000)))
    runtime.emit(PrunApplied("user", (Edit("clear", result.seq, None, "x", 4_000, 0),), tokens_removed=4_000))
    runtime.emit(RequestSent(model, 0, "00"))
    runtime.emit(AssistantMessage((Text("c"),), model, usage=Usage(0, 9, 2_000, 8_000)))
    found = runtime.balance.now
    assert found.cost is not None
    assert found.rewritten > 1_000
    cost, prunes = run_line(runtime, "/cost")[0], run_line(runtime, "/prune-stats")[0]
    assert isinstance(cost, Table)
    assert isinstance(prunes, Table)
    tokens, usd = short(found.rewritten), money(found.cost)
    assert f"rewriting ~{tokens} tokens to the cache cost ~{usd}" in cost.note
    assert f"{tokens} tokens to the prompt cache" in prunes.note
    assert f"  more     {usd:>8}" in prunes.note
    assert prunes.rows[0][7] == f"{tokens} {usd}"
    assert "listed" not in prunes.note
    assert found.balance is not None
    assert cost.rows[0][-1] == f"lost ~{money(-found.balance)}"


def test_prune_stats_say_how_much_of_what_was_written_again_is_in_the_list(tmp_path: Path) -> None:
    """A rewind to before an undo brings the prune back, when only the unpruned prompt would still be cached."""
    now, model = [0], "claude-sonnet-4-5"
    runtime = start(tmp_path, clock=lambda: now[0])

    def answered(minute: int, read: int, written: int, *calls: ToolUse) -> None:
        now[0] = 60_000 * minute
        runtime.emit(RequestSent(model, 0, "00"))
        runtime.emit(AssistantMessage((Text("b"), *calls), model, usage=Usage(0, 9, read, written)))

    runtime.emit(UserMessage((Text("word " * 8_000),)))
    answered(1, 0, 9_000, ToolUse("t1", "read", {}))
    result = runtime.emit(ToolResult("t1", "read", (Text("word " * 800),)))
    answered(1, 9_000, 5_000)
    prune = runtime.emit(PrunApplied("user", (Edit("clear", result.seq, None, "x", 4_000, 0),)))
    answered(1, 2_000, 8_000)
    runtime.emit(PrunReverted((prune.seq,)))
    answered(4, 9_000, 5_100)
    answered(8, 14_100, 50)
    runtime.emit(Rewound(prune.seq))
    answered(9, 2_000, 8_100)
    (prunes,) = run_line(runtime, "/prune-stats")
    assert isinstance(prunes, Table)
    assert [row[7].partition(" ")[0] for row in prunes.rows] == ["1.8K", "8.0K"]
    assert "9.8K tokens to the prompt cache" in prunes.note


def test_prune_says_what_it_costs_as_its_preview_does(tmp_path: Path) -> None:
    runtime, model = start(tmp_path, sets=["model.name=claude-sonnet-4-5"]), "claude-sonnet-4-5"
    runtime.emit(UserMessage((Text("word " * 800),)))
    runtime.emit(AssistantMessage((ToolUse("t1", "read", {}),), model, "tool_use", Usage(0, 9, 0, 9_000)))
    runtime.emit(ToolResult("t1", "read", (Text("word " * 4_000),)))
    for _ in range(3):
        runtime.emit(RequestSent(model, 0, "00"))
        runtime.emit(AssistantMessage((Text("b"),), model, usage=Usage(0, 9, 14_000, 50)))
        runtime.emit(UserMessage((Text("go on"),)))
    (preview,), (line, done) = (run_line(runtime, line) for line in ("/prune preview", "/prune"))
    assert isinstance(preview, Say)
    assert isinstance(line, Say)
    assert isinstance(done, Say)
    assert preview.text == f"/prune would prune 1 result. {line.text}"
    assert re.fullmatch(
        r"Frees [\d.]+K \(\d+% → \d+%\) · about \$[\d.]+ now, pays back after \d+ requests?", line.text
    )
    assert re.fullmatch(r"Pruned [\d.]+K in 1 result\. /undo to restore it\.", done.text)


def test_a_bill_of_many_requests_lists_the_newest_and_sums_all(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    for _ in range(MOST_ROWS + 5):
        runtime.emit(AssistantMessage((Text("b"),), "claude-sonnet-4-5", usage=Usage(1_000, 100)))
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    assert table.rows[0][1] == f"×{MOST_ROWS + 5}"
    assert table.rows[2][:2] == ("before the first prompt", f"×{MOST_ROWS + 5}")
    assert len(table.below[2]) == MOST_ROWS
    assert table.below[2][0][1] == str(runtime.session.records[-1].seq)
    assert "lists all 1,005" in table.note


def turns_of(tmp_path: Path) -> Runtime:
    """Two prompts with two requests and one."""
    runtime, model = start(tmp_path), "claude-sonnet-4-5"
    for words, answers in (("fix the parser, and then all of its many tests", 2), ("go on", 1)):
        runtime.emit(UserMessage((Text(words),)))
        for _ in range(answers):
            runtime.emit(AssistantMessage((Text("b"),), model, usage=Usage(1_000, 100, 9_000, 500)))
    return runtime


def test_a_turn_is_named_in_twenty_columns(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    for words in ("日本語のとても長い長い質問です", "exactly twenty signs", "a" * 21):
        runtime.emit(UserMessage((Text(words),)))
        runtime.emit(AssistantMessage((Text("b"),), "claude-sonnet-4-5", usage=Usage(1, 1)))
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    names = [row[0] for row in table.rows[2:]]
    assert names == ["3 " + "a" * 19 + "…", "2 exactly twenty signs", "1 日本語のとても長い…"]


def test_cost_unfolds_by_turn_and_a_number_lists_its_requests(tmp_path: Path) -> None:
    runtime = turns_of(tmp_path)
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    assert [row[:2] for row in table.rows[2:]] == [("2 go on", "×1"), ("1 fix the parser, and…", "×2")]
    assert [len(rows) for rows in table.below] == [0, 0, 1, 2]
    assert table.lines_note.startswith("/cost N lists the requests of turn N")
    one = run_line(runtime, "/cost 1")[0]
    assert isinstance(one, Table)
    assert (one.title, one.rows[1:]) == ("Cost of turn 1", table.below[3])
    for word in ("3", "0", "x", "1.5"):
        said = run_line(runtime, f"/cost {word}")[0]
        assert isinstance(said, Say)
        assert said.level == "error"
