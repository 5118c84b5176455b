"""Laws of holding back: what is shown is a part of the whole, within its cap, and the rest can be fetched exactly."""

import json
import re
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.expectations import Caps
from prunecli.context.pages import Lines, head_end, is_json
from prunecli.context.spill import held_part, kind_of, spill
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.touches import Touches, named
from prunecli.providers.tokenizer import load
from tests.context.project import project

COUNTERS = (Chars4, cache(load))
"""What makes a counter, when the first test needs it."""
MARKS = ["\n", "\r\n", "\n\n", "\t", "[", "]", "{", '"', ","]
WORDS = ["word ", "x" * 50, "0123456789", "é", "e\u0301", "\U0001f469\u200d\U0001f467", "\x1b[31m"]
PIECES = st.sampled_from([*WORDS, *MARKS])
LINES = st.lists(PIECES, max_size=30).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=40,
)
JSONS = st.builds(
    lambda rows, indent: json.dumps(rows, indent=indent, ensure_ascii=False),
    st.lists(VALUES, min_size=1, max_size=30),
    st.sampled_from([None, 2]),
)
REPEATED = st.builds(lambda line, count: line * count, LINES, st.integers(1, 60))
TEXTS = st.lists(LINES, max_size=60).map("\n".join) | REPEATED | JSONS
CALLS = st.sampled_from(
    [
        ("bash", {"command": "make"}),
        ("bash", {"command": "cat a b"}),
        ("read", {"path": "a"}),
        ("grep", {"pattern": "x"}),
        ("web", {"url": "x"}),
    ]
)
NOTE = re.compile(
    r"\[[\d,]+ of [\d,]+ (?:lines|characters(?: of line [\d,]+)?) held back \| "
    r"(?:recall 17 lines (\S+)|(continue) with offset=(\d+)|[^\]]*)\]"
)


@given(TEXTS, CALLS, st.integers(1, 120), st.booleans(), st.booleans(), st.sampled_from(COUNTERS))
@settings(max_examples=40, deadline=None)
def test_what_is_shown_is_a_part_and_the_rest_is_named(text, call, cap, failed, recall, counter) -> None:
    name, given_ = call
    counter = counter()
    use, touches = ToolUse("t1", name, given_), named(name, given_)
    result = ToolResult("t1", name, (Text(text),), failed)
    caps = Caps(cap, cap, cap, cap, cap, least=1)
    found = spill(result, use, touches, 17, caps, counter, recall=recall)
    assert found == spill(result, use, touches, 17, caps, counter, recall=recall)
    assert found.content == result.content
    if found.spilled is None:
        assert is_json(text) or counter.count(text) <= cap + 60 or kind_of(use, touches) is None
        return
    shown = found.spilled.shown
    assert counter.count(shown) + found.spilled.tokens == counter.count(text)
    assert found.spilled.tokens > 0
    start, stop = held_part(text, shown)
    head, tail = text[:start], text[stop:]
    assert shown.startswith(head)
    assert shown.endswith(tail)
    note = shown[len(head) : len(shown) - len(tail)].strip("\n")
    match = NOTE.fullmatch(note)
    assert match, note
    most = 2 * cap if is_json(text) else cap
    assert counter.count(head) + counter.count(tail) <= most + 2
    lines = Lines(text)
    if match[1]:
        assert lines.part(match[1]) == (start, stop)
        assert paged(text, match[1], counter.count) == text[start:stop]
    if match[2]:
        assert "".join(text.split("\n")[int(match[3]) - 1 :]) == "".join(text[start:].split("\n"))
    if recall and not match[2]:
        assert match[1]


def paged(text: str, name: str, count) -> str:
    """All pages of a part, each as recall names it."""
    lines, found = Lines(text), ""
    start, stop = lines.part(name)
    while start < stop:
        end = start + (head_end(text[start:stop], 20, count) or stop - start)
        assert lines.part(lines.name(start, end)) == (start, end)
        found += text[start:end]
        start = end
    return found


@given(TEXTS, st.integers(1, 60), st.integers(0, 200))
@settings(max_examples=30, deadline=None)
def test_the_log_alone_says_what_was_sent(text: str, cap: int, later: int) -> None:
    use = ToolUse("t1", "bash", {"command": "make"})
    result = ToolResult("t1", "bash", (Text(text),))
    made = spill(result, use, Touches(runs=("make",)), 2, Caps(bash=cap, least=1), Chars4(), recall=True)
    events = (UserMessage((Text("go"),)), AssistantMessage((use,), "m", "tool_use"), made)
    records = [Record(seq, 1_000 + seq, event) for seq, event in enumerate(events)]
    context, again = Context(Chars4()), Context(COUNTERS[1]())
    for record in records:
        context.apply(record)
        again.apply(decode_record(encode_record(record)))
    assert [one.blocks for one in context.messages()] == [one.blocks for one in project(records)]
    assert again.sha256() == context.sha256()
    block = json.loads(context.messages()[-1].blocks[0])
    sent = made.spilled.shown if made.spilled else text
    assert block["content"][0]["text"] == (sent if sent.strip() else "(no output)")
    entry = context.entries[2]
    assert (entry.text, entry.whole) == (sent, text)
    assert context.counts.tokens(entry) == Chars4().count(sent)
