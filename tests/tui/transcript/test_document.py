"""Entries: how they look, how they fold, how they are replaced and streamed."""

from dataclasses import replace
from typing import Any

import pytest

from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Divider,
    Entry,
    Level,
    Notice,
    Origin,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.layout import KEPT_BLOCKS
from tests.tui.transcript.showing import INKS, document, item, rows, texts

OUTPUT = Output("first line\nsecond line\n")


def call(state: ToolState = ToolState.OK, argument: str = "pytest -q", **more: Any) -> ToolCall:
    return ToolCall("bash", argument, state, **more)


def line(entry: Entry, width: int = 60) -> str:
    return texts(document(entry, width=width))[0]


def test_a_tool_call_is_one_line_with_columns_at_the_right():
    assert line(call(outcome="41 passed", duration_ms=2100, tokens=1400, body=OUTPUT)) == (
        f"{'✓ bash   pytest -q   41 passed':<41}   2.1s  1.4K tok ▸"
    )
    assert line(call(duration_ms=3, tokens=12)) == f"{'✓ bash   pytest -q':<41}    3ms    12 tok"


def test_columns_stand_one_below_the_other():
    calls = [
        call(duration_ms=3, tokens=2, body=OUTPUT),
        ToolCall("read", "x" * 80, ToolState.OK, "y" * 80, 192_000, 128_000, OUTPUT),
        ToolCall("find", "漢字" * 40, ToolState.OK, "", 7_500_000, 1_250_000, OUTPUT),
    ]
    for width in (30, 40, 60, 100, 200):
        made = document(*calls, width=width)
        assert [row.cells for row in rows(made)] == [width] * 3 if width >= 36 else True
        assert max(row.cells for row in rows(made)) <= width


@pytest.mark.parametrize(
    ("entry", "icon"),
    [
        (call(ToolState.WAITING), "◌"),
        (call(ToolState.RUNNING), "⠋"),
        (call(ToolState.OK), "✓"),
        (call(ToolState.ERROR), "✗"),
        (call(ToolState.DENIED), "⊘"),
        (call(ToolState.INTERRUPTED), "■"),
        (call(ToolState.OK, body=Diff("@@ -1 +1 @@\n-a\n+b")), "±"),
        (call(ToolState.OK, pruned="pruned ~4.1K"), "✂"),
    ],
)
def test_the_icon_tells_the_state(entry: ToolCall, icon: str):
    assert line(entry)[0] == icon


def test_denial_and_interruption_are_said_in_words_too():
    assert "denied" in line(call(ToolState.DENIED))
    assert "interrupted" in line(call(ToolState.INTERRUPTED))


@pytest.mark.parametrize(("width", "least"), [(80, 24), (160, 90)])
def test_the_outcome_takes_the_room_that_the_line_has(width: int, least: int):
    said = "test_names.py::test_a_long_name FAILED: expected 'hello-world', got 'hello_world' " * 2
    text = rows(document(call(ToolState.OK, outcome=said), width=width))[0].text
    shown = text.partition("pytest -q   ")[2].partition("…")[0]
    assert said.startswith(shown)
    assert len(shown) >= least
    assert len(text.rstrip()) <= width


@pytest.mark.parametrize(
    ("width", "end"),
    [
        (160, "exit 1 · 8 failed, 292 passed in 1.01s · 8,605 lines not sent"),
        (80, "exit 1 · 8 fai… · in part"),
        (60, "exit 1 · 8 fai…"),
    ],
)
def test_a_result_that_was_sent_in_part_says_so_if_there_is_room(width: int, end: str) -> None:
    said = "exit 1 · 8 failed, 292 passed in 1.01s · 8,605 lines not sent"
    long = "pytest -q " + "a" * 45
    entry = call(ToolState.OK, argument=long, outcome=said, body=OUTPUT, duration_ms=1700, tokens=657)
    assert f"   {end} " in rows(document(entry, width=width))[0].text


def test_an_argument_that_the_line_shows_is_not_repeated_below_a_long_outcome():
    entry = call(ToolState.OK, argument="pytest -q " + "a" * 45, outcome="o" * 150, body=OUTPUT)
    shown = texts(document(replace(entry, folded=False), width=160))
    assert sum("pytest -q" in row for row in shown) == 1


def test_a_pruned_call_stays_and_offers_to_be_restored():
    row = rows(document(call(pruned="pruned ~4.1K", tokens=4100, body=OUTPUT)))[0]
    assert row.text.rstrip().startswith("✂ bash   pytest -q   pruned ~4.1K · restore")
    assert row.hot is not None
    assert row.text[row.hot[0] : row.hot[1]] == "restore"
    assert "4.1K  " not in row.text[row.hot[1] :]


def test_restore_can_be_clicked_on_a_narrow_screen():
    for width in (24, 30, 40):
        row = rows(document(ToolCall("bash", "x" * 90, ToolState.OK, pruned="pruned ~4.1K"), width=width))[0]
        assert row.hot is not None
        assert row.hot[1] <= width


def test_pruned_texts_carry_a_mark():
    for entry in (Prompt("words", pruned="pruned ~1K"), Assistant("words", pruned="pruned ~1K")):
        assert texts(document(entry))[-1] == "✂ pruned ~1K · restore"
    assert "pruned ~1K · restore" in line(Thinking("words", pruned="pruned ~1K"))


def test_where_a_prompt_came_from_is_to_be_seen():
    marks = [line(Prompt("words", origin))[0] for origin in Origin]
    assert marks == ["❯", "↳", "+", "!"]
    assert texts(document(Prompt("one\ntwo"))) == ["❯ one", "  two"]


def test_notices_and_dividers():
    assert line(Notice("hello", Level.ERROR)) == "✗ hello"
    assert texts(document(Notice("one\ntwo", Level.WARNING))) == ["! one", "  two"]
    assert line(Divider("compacted"), 30) == "─── compacted ────────────────"
    assert line(Divider(), 10) == "─" * 10


def test_what_is_said_of_a_prune_stands_among_the_calls_under_its_own_mark() -> None:
    call = ToolCall("read", "a.py", ToolState.OK)
    made = document(call, Notice("✂ pruned ~4.2K tokens in 1 entry, by pi"), call, Notice("something else"))
    first, prune, second, gap, other = texts(made)
    assert prune == "✂ pruned ~4.2K tokens in 1 entry, by pi"
    assert first.startswith("✓ read")
    assert second.startswith("✓ read")
    assert (gap, other) == ("", "· something else")


def test_output_is_folded_and_diffs_are_not():
    assert len(texts(document(call(body=OUTPUT)))) == 1
    assert len(texts(document(call(body=Diff("@@ -1 +1 @@\n-a\n+b"))))) == 3
    assert len(texts(document(call(body=OUTPUT, folded=False)))) == 3


def test_a_failing_call_shows_its_last_three_lines_without_being_unfolded() -> None:
    body = Output("one\ntwo\n\nthree \x1b[31m\n" + "f" * 90 + "\n[exit code 1]\n")
    made = document(call(ToolState.ERROR, outcome="exit 1", body=body), width=40)
    assert [text.rstrip() for text in texts(made)[1:]] == [
        "  │ two",
        "  │ three ␛[31m",
        "  │ " + "f" * 35 + "…",
    ]
    made.fold(item(made, 0), False)
    assert sum("two" in text for text in texts(made)) == 1


def test_the_last_lines_of_a_failing_call_are_shown_like_the_rest_of_its_output() -> None:
    made = document(
        call(ToolState.ERROR, outcome="exit 1", body=Output("one\r\n\ttwo\r\nthree\r\n[exit code 1]"))
    )
    assert [text.rstrip() for text in texts(made)[1:]] == ["  │ one", "  │     two", "  │ three"]


def test_the_reason_of_a_denial_is_shown_to_its_end() -> None:
    reason = "Plan mode is read-only: `rm` can change files; Shift+Tab to change the mode"
    shown = texts(document(call(ToolState.DENIED, body=Output(reason)), width=40))
    assert " ".join(row.replace("│", "").strip() for row in shown[1:]) == reason


@pytest.mark.parametrize(("lines", "shown"), [(1, ["step 0"]), (9, ["step 0", "step 1", "step 2", "…"])])
def test_a_denied_call_shows_how_its_reason_begins(lines: int, shown: list[str]) -> None:
    body = Output("\n".join(f"step {n}" for n in range(lines)))
    made = document(call(ToolState.DENIED, body=body), width=40)
    assert [line.strip() for line in texts(made)[1:]] == [f"│ {line}" for line in shown]
    assert len(texts(document(call(ToolState.DENIED, body=None)))) == 1


@pytest.mark.parametrize("text", ["step 1", "\n".join(f"step {n}" for n in range(9))])
def test_a_call_that_was_cut_shows_what_was_said_without_being_unfolded(text: str) -> None:
    body = Output(f"{text}\n[interrupted: the call did not finish; it may have partly run]")
    made = document(call(ToolState.INTERRUPTED, body=body), width=40)
    assert [line.strip() for line in texts(made)[1:]] == [f"│ {line}" for line in text.split("\n")[-3:]]


@pytest.mark.parametrize(
    "entry",
    [
        call(ToolState.INTERRUPTED, body=Output("[interrupted: the call did not finish]")),
        call(ToolState.OK, body=OUTPUT),
        call(ToolState.ERROR, body=Output("only this\n[exit code 1]\n")),
        call(ToolState.ERROR, body=OUTPUT, pruned="pruned ~2K"),
        call(ToolState.ERROR),
    ],
)
def test_what_succeeded_was_pruned_or_says_no_more_than_its_line_is_one_line(entry: ToolCall) -> None:
    assert len(texts(document(entry))) == 1


def test_unfolding_shows_the_output_behind_a_bar():
    made = document(call(body=OUTPUT))
    item = made.item(0)
    assert item
    made.fold(item, False)
    assert texts(made)[1:] == ["  │ first line", "  │ second line"]
    assert texts(made)[0].endswith("▾")
    made.fold(item, True)
    assert len(texts(made)) == 1


def test_output_in_a_language_is_shown_as_code():
    made = document(call(body=Output("def f():\n    pass", "python"), folded=False))
    assert texts(made)[1:] == ["    def f():", "        pass"]
    assert len({segment.style for segment in rows(made)[1].segments}) > 2


def test_a_command_that_does_not_fit_is_shown_in_full_when_unfolded():
    command = "cat <<EOF\nwords\nEOF"
    made = document(ToolCall("bash", command, ToolState.OK, body=OUTPUT, folded=False))
    assert texts(made)[0].startswith("✓ bash   cat <<EOF …")
    assert texts(made)[1:4] == ["  │ cat <<EOF", "  │ words", "  │ EOF"]
    wide = document(ToolCall("bash", "x" * 60, ToolState.OK, body=OUTPUT, folded=False), width=200)
    assert texts(wide)[1:] == ["  │ first line", "  │ second line"]


def test_a_reason_of_one_line_that_the_line_of_a_failed_call_cuts_is_shown_below_it():
    why = "old_string was not found in the file (0 matches). The nearest is line 12: def camelize(string):"
    failed = ToolCall(
        "edit", "package/module.py", ToolState.ERROR, outcome=why, body=Output(why), duration_ms=3
    )
    narrow, *below = texts(document(failed))
    assert "old_string" not in narrow
    assert " ".join(line.removeprefix("  │ ") for line in below) == why
    assert len(texts(document(failed, failed, width=200))) == 2
    assert len(texts(document(call(ToolState.ERROR, outcome="exit code 1", body=OUTPUT)))) == 3


def test_calls_stand_together_and_open_ones_apart():
    made = document(Assistant("I will look."), call(body=OUTPUT), call(body=OUTPUT), Assistant("So."))
    assert [bool(text) for text in texts(made)] == [True, True, True, False, True]
    item = made.item(1)
    assert item
    made.fold(item, False)
    assert [bool(text) for text in texts(made)] == [True, True, True, True, False, True, False, True]


def test_replacing_keeps_the_fold_the_user_chose():
    made = document(call(ToolState.RUNNING), call(ToolState.RUNNING))
    first, second = made.item(0), made.item(1)
    assert first
    assert second
    made.replace(first.key, call(body=OUTPUT))
    made.fold(first, False)
    made.replace(first.key, call(body=OUTPUT, pruned="pruned ~1K"))
    made.replace(second.key, call(body=Diff("@@ -1 +1 @@\n-a\n+b")))
    assert not first.folded
    assert not second.folded


def test_a_call_that_runs_shows_its_last_lines_and_its_time():
    now = [0.0]
    made = document()
    made._clock = lambda: now[0]
    key = made.append(call(ToolState.RUNNING))
    made.set_tail(key, ["one", "two"])
    assert texts(made)[1:] == ["  │ one", "  │ two"]
    made.set_tail(key, ["two", "three"])
    assert texts(made)[1:] == ["  │ two", "  │ three"]
    now[0] = 65_000.0
    assert made.tick()
    assert "1m05s" in texts(made)[0]
    assert texts(made)[0][0] == "⠙"
    made.replace(key, call(duration_ms=65_100))
    assert len(texts(made)) == 1
    assert not made.tick()


def test_a_tail_for_something_that_does_not_run_is_ignored():
    made = document(call(), Assistant("x"))
    for number in (0, 1, 7):
        made.set_tail(number, ["lines"])  # type: ignore[arg-type]
    assert "lines" not in "".join(texts(made))


def test_a_thought_is_folded_and_says_what_it_is_about():
    made = document(Thinking("**The plan**\n\nLook *first*."))
    assert texts(made)[0].startswith("∴ think  The plan")
    item = made.item(0)
    assert item
    made.fold(item, False)
    assert texts(made)[1:] == ["  │ The plan", "  │", "  │ Look first."]


def test_a_thought_that_streams_shows_its_latest_line_and_can_be_unfolded_meanwhile():
    made = document()
    key = made.append(Thinking(streaming=True))
    item = made.item(key)
    assert item
    made.feed(key, "one\n\ntwo\n\nthr")
    made.flush()
    assert texts(made)[0].startswith("⠋ think  thr")
    made.fold(item, False)
    made.feed(key, "ee and more")
    made.flush()
    assert texts(made)[1:] == ["  │ one", "  │", "  │ two", "  │", "  │ three and more"]
    made.fold(item, True)
    made.feed(key, "\n\nfour")
    made.flush()
    made.fold(item, False)
    made.finish(key)
    assert [text for text in texts(made)[1:] if text.strip(" │")] == [
        "  │ one",
        "  │ two",
        "  │ three and more",
        "  │ four",
    ]
    assert texts(made)[0].startswith("∴ think")


def test_a_thought_that_streamed_looks_like_one_of_a_resumed_session():
    now = [0.0]
    made = Document(INKS, lambda: now[0])
    made.layout.resize(60)
    key = made.append(Thinking(streaming=True))
    made.feed(key, "hm")
    now[0] = 4_200.0
    made.tick()
    made.finish(key)
    assert texts(made) == texts(document(Thinking("hm")))


def test_text_streams_into_an_entry_that_is_not_the_last():
    made = document()
    first = made.append(Assistant(streaming=True))
    second = made.append(Assistant(streaming=True))
    made.append(call())
    for _ in range(3):
        made.feed(first, "upper\n\n")
        made.feed(second, "lower\n\n")
        made.flush()
    made.finish(first)
    made.finish(second)
    shown = [text for text in texts(made) if text]
    assert shown[:3] == ["upper"] * 3
    assert shown[3:6] == ["lower"] * 3


def test_a_lot_of_text_is_laid_in_parts():
    made = document()
    key = made.append(Assistant(streaming=True))
    made.feed(key, "words and words\n\n" * 20_000)
    made.finish(key)
    assert made.waiting
    while made.waiting:
        made.flush()
    assert made.layout.heights.total == 39_999
    assert not item(made, key).stream


def test_text_for_an_entry_that_is_finished_or_gone_is_ignored():
    made = document(Assistant("done"))
    made.feed(item(made, 0).key, "more")
    key = made.append(Assistant(streaming=True))
    made.clear()
    made.feed(key, "lost")
    made.finish(key)
    made.replace(key, Assistant("lost"))
    assert not made.flush()
    assert texts(made) == []


def test_keys_are_never_given_twice():
    made = document(Prompt("a"), Prompt("b"))
    made.clear()
    assert made.append(Prompt("c")) == 2
    assert made.prompts == [2]


def test_guessed_heights_are_not_far_off_and_become_exact():
    made = document(*[Assistant("word " * 40 + "\n\n- a\n- b\n") for _ in range(200)])
    guessed = made.layout.heights.total
    exact = len(rows(made))
    assert made.layout.heights.total == exact
    assert 0.6 < guessed / exact < 1.6


def test_rows_are_forgotten_and_made_again():
    made = document(*[Prompt(f"number {n}") for n in range(1000)])
    before = texts(made)
    assert sum(block.rows is not None for block in made.layout.heights) == KEPT_BLOCKS
    assert texts(made) == before


PASTE = "look at this\n" + "\n".join(f"line {number}" for number in range(200)) + "\n"


def test_a_long_prompt_shows_its_start_until_it_is_unfolded():
    made = document(Prompt(PASTE), width=40)
    assert texts(made) == [
        "❯ look at this",
        *(f"  line {number}" for number in range(7)),
        "▸ 193 more lines · … line 199",
    ]
    made.fold(item(made, 0), False)
    whole = ["❯ look at this", *(f"  line {number}" for number in range(200)), "▾ 193 more lines"]
    assert [row.rstrip() for row in texts(made)] == whole
    made.fold(item(made, 0), True)
    assert len(texts(made)) == 9


@pytest.mark.parametrize("text", ["", "x\n" * 20, "x" * 3_000, "x\n" * 19 + "y"])
def test_a_prompt_that_is_not_long_is_shown_in_full(text: str):
    made = document(Prompt(text), width=40)
    assert not item(made, 0).can_fold
    assert "".join(row[2:].strip() for row in texts(made)) == text.replace("\n", "")


def test_a_long_line_of_a_prompt_is_cut_and_joined_again():
    made = document(Prompt("x" * 5_000), width=40)
    assert texts(made)[-1] == "▸ 4,200 more characters"
    made.fold(item(made, 0), False)
    assert "".join(row[2:].strip() for row in texts(made)[:-1]) == "x" * 5_000
