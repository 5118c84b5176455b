"""Whatever text an entry has, nothing of it acts on the terminal and every row is as wide as it says."""

import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

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
from prunecli.tui.transcript.transcript_view import Transcript
from tests.tui.transcript.showing import DRESS, document, rows, showing

EVIL = "".join(
    [
        *map(chr, range(0x100)),
        "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\x90q\x1b\\",
        "\u202e\u2066\u200b\u200d\ufeff\u2028\u00ad\u061c\ud800\udfff\U000e0041\U000e0100\ufff9\u115f\u3164",
        "&#x202e;&#27;&#10;&#9;&#x200b;<http://x/%1b[31m%E2%80%AE> [a](http://b/%1b%07) ![%1b](%1b) `\x1b`",
        "👩\u200d👧❤\ufe0f e\u0301 漢字 \u0d4d\u200d",
    ]
)
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
anything = st.text(
    st.one_of(st.characters(codec=None), st.sampled_from("|-#*`>[]()&;~_ \n\t\r\u200d\ufe0f\x1b\u202e")),
    max_size=80,
)


def everywhere(text: str) -> list[Entry]:
    """Entries of all kinds that have a text in every field."""
    call = ToolCall(text, text, ToolState.OK, text, 3, 4, Output(text), folded=False)
    return [
        *[Prompt(text, origin, text) for origin in Origin],
        Assistant(text),
        Assistant(
            f"- {text}\n\n> {text}\n\n```{text}\n{text}\n```\n\n| {text} |\n|---|\n| {text} |", pruned=text
        ),
        Thinking(text, folded=False),
        Thinking(text, pruned=text),
        call,
        ToolCall(text, text, ToolState.RUNNING, text, pruned=text),
        ToolCall(text, text, ToolState.ERROR, text, body=Output(text, "python"), folded=False),
        ToolCall(text, text, ToolState.OK, body=Diff(text, text)),
        ToolCall("edit", "x", ToolState.OK, body=Diff(f"@@ -1 +1 @@ {text}\n-{text}\n+{text}", "x.py")),
        *[Notice(text, level) for level in Level],
        Divider(text),
    ]


def acting(entries: list[Entry], width: int) -> set[str]:
    """The characters of the drawn rows that could act on a terminal. Each row is as wide as it says."""
    made, found = document(*entries, width=width), set[str]()
    for row in rows(made):
        strip = row.strip(width, DRESS)
        assert strip.cell_length == width
        assert sum(cell_len(segment.text) for segment in strip) == width
        found.update(char for char in strip.text if unicodedata.category(char) in FORBIDDEN)
        strip.text.encode()
    return found - {"\u200c", "\u200d"}


def test_the_worst_text_in_every_field_at_every_width():
    for width in (1, 2, 5, 20, 60, 200):
        assert acting(everywhere(EVIL), width) == set()


@settings(max_examples=60, deadline=None)
@given(anything, st.sampled_from([1, 4, 17, 60, 120]))
@example("\u200d", 4)
@example("a\u200d\ufe0f\u200db", 4)
@example("|a|\n|-|\n|\x1b|", 20)
def test_any_text_in_every_field(text: str, width: int):
    assert acting(everywhere(text), width) == set()


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, max_size=6))
def test_any_text_that_streams(parts: list[str]):
    made = document()
    key = made.append(Assistant(streaming=True))
    for part in parts:
        made.feed(key, part)
        made.flush()
        for row in rows(made):
            text = row.strip(60, DRESS).text
            assert cell_len(text) == 60
            assert not [c for c in text if c not in "\u200c\u200d" and unicodedata.category(c) in FORBIDDEN]


async def test_what_is_sent_to_the_terminal_has_only_our_own_sequences():
    """Colors (SGR) and nothing else between the characters of the rows."""
    async with showing(*everywhere(EVIL), size=(80, 30)) as (transcript, pilot, app):
        for _ in range(12):
            sent = "".join(transcript.render_line(y).render(app.console) for y in range(30))
            for sequence in sent.split("\x1b")[1:]:
                assert sequence[0] == "["
                assert sequence[1 : sequence.index("m")].replace(";", "").isdigit()
            assert not {c for c in sent if ord(c) < 32} - {"\x1b"}
            transcript.page_up()
            await pilot.pause()


async def test_a_set_of_hostile_strings_can_be_searched_selected_and_copied():
    async with showing(*everywhere(EVIL), size=(80, 30)) as (transcript, pilot, app):
        transcript.text_select_all()
        text = app.screen.get_selected_text()
        assert text
        assert "\x1b" not in text
        transcript.search("\x1b[2J")
        await pilot.pause()
        assert isinstance(app.transcript, Transcript)
