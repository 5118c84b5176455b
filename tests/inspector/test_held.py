"""What was held back of a long result, wherever it is shown: transcript, exports, inspector, ledger, statistics."""

from dataclasses import replace

from prunecli.context.again import withheld
from prunecli.context.expectations import Caps
from prunecli.context.labels import Key
from prunecli.context.ledger import ledger
from prunecli.context.manual_edits import at_the_end, in_place, plan
from prunecli.context.outline import Outline, Row
from prunecli.context.spill import held_part, held_words, spill
from prunecli.context.tokens import Chars4
from prunecli.features.export.exporters.formats import exported
from prunecli.features.export.exporters.redact import redacted
from prunecli.features.inspector.tree import cells_of
from prunecli.front.presentation.entries import Output
from prunecli.front.presentation.outcomes import body_of, outcome_of
from prunecli.model.events import AssistantMessage, Record, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Image, Text, ToolUse
from prunecli.model.touches import Touches
from prunecli.tui.transcript.pieces import output_parts
from tests.context.talk import Talk

WHOLE = "".join(f"line {number:04}..........\n" for number in range(1, 201))
CAPS = Caps(bash=100, read=100, other=100, least=10)


def long(talk: Talk, text: str = WHOLE, tool: str = "bash", touches: Touches | None = None) -> int:
    """A call with a long result, and the seq of the result."""
    touches = touches or Touches(runs=("make",))
    use = ToolUse(f"long{talk.seq}", tool, {})
    talk.add(AssistantMessage((use,), "m", "tool_use"))
    talk.add(ToolStarted(use.id, tool, {}, touches))
    event = ToolResult(use.id, tool, (Text(text),))
    return talk.add(spill(event, use, touches, talk.seq, CAPS, Chars4(), recall=True))


def begun() -> tuple[Talk, int]:
    talk = Talk()
    talk.user()
    seq = long(talk)
    talk.seen()
    return talk, seq


def event_of(talk: Talk, seq: int) -> ToolResult:
    event = talk.entry(seq).event
    assert isinstance(event, ToolResult)
    return event


def test_the_transcript_shows_all_of_it_with_the_rest_marked() -> None:
    talk, seq = begun()
    event = event_of(talk, seq)
    assert outcome_of(event).endswith(" lines · 180 lines not sent")
    body = body_of(event)
    assert isinstance(body, Output)
    assert body.text == WHOLE
    assert body.held == (200, 3800)
    parts = list(output_parts(body))
    assert [getattr(part, "held", False) for part in parts] == [False, True, False]
    assert "\n".join(part.source for part in parts) == WHOLE.rstrip("\n")


def test_colors_of_a_command_are_left_out_of_a_result_sent_in_part() -> None:
    talk = Talk()
    talk.user()
    seq = long(talk, WHOLE.replace("line", "\x1b[31mline\x1b[0m"))
    event = replace(event_of(talk, seq), details={"exit_code": 0})
    assert outcome_of(event) == "line 0200.......... · 187 lines not sent"
    body = body_of(event)
    assert isinstance(body, Output)
    assert body.text == WHOLE
    assert body.held == (140, 140 + 187 * 20)
    entries = talk.context.entries.values()
    records = [Record(one.seq, one.timestamp, event if one.seq == seq else one.event) for one in entries]
    assert "[31m" not in exported(records, "html").text


def test_the_rest_is_marked_too_if_an_image_is_between_the_texts() -> None:
    talk = Talk()
    talk.user()
    use = ToolUse("shot", "mcp_call", {})
    talk.add(AssistantMessage((use,), "m", "tool_use"))
    content = (Text("before"), Image("image/png", "AAAA", 10, 10), Text(WHOLE), Text("after"))
    event = spill(ToolResult(use.id, "mcp_call", content), use, None, 4, CAPS, Chars4(), recall=True)
    body = body_of(event)
    assert isinstance(body, Output)
    assert body.held is not None
    assert body.text.endswith("\nafter\n[image/png 10x10]")
    assert event.spilled is not None
    assert body.text[: body.held[0]] == event.spilled.shown.partition("[")[0]


def test_the_part_is_found_wherever_the_cut_is() -> None:
    for text in (WHOLE, "[" * 3000, "[1" * 500 + "\n" * 900, "x" * 4000, "a\n[b\n" * 400):
        talk = Talk()
        talk.user()
        seq = long(talk, text)
        entry = talk.entry(seq)
        assert entry.whole == text
        start, stop = held_part(text, entry.text)
        assert 0 <= start < stop <= len(text)
        assert entry.text.startswith(text[:start])
        assert entry.text.endswith(text[stop:])
        assert held_words(entry.text)
    assert held_part("abc", "something else") == (0, 0)


def test_the_exports_have_all_of_it_and_say_what_was_held_back() -> None:
    talk, _ = begun()
    records = [Record(entry.seq, entry.timestamp, entry.event) for entry in talk.context.entries.values()]
    html = exported(records, "html").text
    assert "180 of 200 lines" in html
    assert '<span class="held" title="not sent to the model">line 0011' in html
    messages = exported(records, "messages").text, exported(records, "messages", whole=True).text
    assert ["line 0100" in text for text in messages] == [False, True]
    markdown = exported(records, "markdown").text
    assert "not sent to the model: 180 of 200 lines" in markdown
    assert "line 0100" in markdown


def test_what_is_sent_is_redacted_too() -> None:
    key = "ghp_" + "a1B2" * 9
    event = spill(
        ToolResult("t", "bash", (Text(f"{key}\n{WHOLE}"),)),
        ToolUse("t", "bash", {}),
        Touches(runs=("env",)),
        3,
        CAPS,
        Chars4(),
        recall=True,
    )
    [clean], found = redacted([Record(3, 4, event)])
    assert found == 2
    assert isinstance(clean.event, ToolResult)
    assert clean.event.spilled is not None
    assert key not in clean.event.spilled.shown
    assert clean.event.spilled.shown.startswith("[redacted: ")


def test_the_ledger_counts_it_apart() -> None:
    talk, seq = begun()
    entry = talk.entry(seq)
    found = ledger(talk.view(), ())
    assert (found.held_results, found.held_tokens) == (1, 1000 - talk.context.counts.tokens(entry))
    answers = [item for item in talk.context.items if item.kind == "assistant"]
    sent = found.scanned_tokens - sum(map(talk.context.counts.tokens, answers))
    assert sent == talk.context.counts.tokens(entry) < 130
    assert found.pruned_tokens == 0
    assert found.to_json()["held_tokens"] == found.held_tokens
    talk.edit("clear", seq, "[gone]")
    found = ledger(talk.view(), ())
    assert (found.held_results, found.held_tokens) == (0, 0)
    assert found.pruned_tokens < 130


def test_the_inspector_shows_it_and_restores_it_at_the_end() -> None:
    talk, seq = begun()
    outline = Outline(talk.context, [])
    key = Key("result", seq)
    held = talk.entry(seq).held_tokens
    assert outline.node(key).held == outline.node(Key("turn", 0)).held == held
    row = Row(2, key, unfolds=False, is_open=False)
    assert cells_of(outline.node(key), row, "").state == f"shortened ({held} not sent)"
    assert in_place(talk.context, [seq]).refusal == "shortened: restore it at the end"
    planned = plan(talk.view(), outline, "restore", key)
    assert planned.entries == (seq,)
    [event] = planned.events
    assert isinstance(event, UserMessage)
    shown = talk.add(event)
    assert any(isinstance(block, Text) and block.text == WHOLE for block in event.content)
    assert at_the_end(talk.context, [seq]).refusal == f"already shown again in entry {shown}"
    assert Outline(talk.context, []).node(key).again == shown
    assert ledger(talk.view(), ()).held_results == 0, "all of it was sent now"


def test_a_turn_counts_what_the_ledger_counts() -> None:
    talk = Talk()
    talk.user()
    first, second = long(talk), long(talk)
    talk.seen()
    outline = Outline(talk.context, talk.records)

    def is_equal() -> int:
        outline.take(talk.records)
        held = ledger(talk.view(), ()).held_tokens
        assert outline.node(Key("turn", 0)).held == held
        assert sum(outline.node(Key("result", seq)).held for seq in (first, second)) == held
        return held

    assert is_equal() == 2 * talk.entry(first).held_tokens
    talk.edit("clear", first, "[gone]")
    assert is_equal() == talk.entry(first).held_tokens
    [event] = plan(talk.view(), outline, "restore", Key("result", second)).events
    shown = talk.add(event)
    assert is_equal() == 0
    talk.edit("clear", shown, "[gone]")
    assert is_equal() == talk.entry(first).held_tokens


def test_a_turn_brings_back_its_pruned_results_and_not_every_rest() -> None:
    talk, first = begun()
    second = talk.step("bash", "x" * 400)
    talk.seen()
    assert [entry.seq for entry in withheld(talk.context, [first, second])] == [first]
    talk.edit("clear", second, "[gone]")
    assert at_the_end(talk.context, [first, second]).entries == (second,)


def test_a_read_that_shows_less_supersedes_no_more_than_it_shows() -> None:
    talk = Talk()
    talk.user()
    touches = Touches(reads=("a.py",))
    page = {"path": "a.py", "first_line": 150, "last_line": 160, "lines": 200}
    talk.step("read", "line\n" * 11, touches=touches, details=page, path="a.py", offset=150, limit=11)
    whole = long(talk, tool="read", touches=touches)
    talk.seen()
    assert talk.entry(whole).spilled
    assert talk.ask("superseded").edits == ()
