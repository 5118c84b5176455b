"""Markdown: readable, complete, and what was said stays where it was said."""

import re

import pytest

from prunecli.features.export.exporters.markdown import write
from prunecli.model.events import AssistantMessage, ToolResult, UserMessage
from prunecli.model.messages import Image, Text, ToolUse
from tests.session.exporters.sample import HOSTILE, numbered, sample


def outside(markdown: str) -> list[str]:
    """The lines that stand in no fenced block; a fence that is never closed fails."""
    lines, fence = [], ""
    for line in markdown.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line.removeprefix("> "))
        if fence:
            if mark and mark[1].startswith(fence) and not line.removeprefix("> ").strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line)
    assert fence == ""
    return lines


def test_a_session_reads_from_top_to_bottom() -> None:
    text = write(sample())
    assert text.startswith(
        "# Reading\n\n- session: `s-1`\n- directory: `/home/me/project`\n- model: `claude-x`\n"
    )
    order = [
        "> Read them.",
        "private thought",
        "I read.",
        "**`read`** `file1.txt`",
        "**Result of `read`** `file1.txt`",
        "> ✂ pruned: cleared by pi; the model sees:",
        "[cleared stub]",
        "long output",
        "> ✂ pruned: left out by the model",
        "shown output",
        "All read.",
        "> `!ls`",
        "> thanks",
    ]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


@pytest.mark.parametrize("said", HOSTILE)
def test_no_text_makes_a_heading_a_tag_or_an_open_fence(said: str) -> None:
    text = write(
        numbered(
            UserMessage((Text(said),)),
            AssistantMessage((Text("fine"), ToolUse("a", "read", {"path": said, "n": 1}))),
            ToolResult("a", "read", (Text(said),)),
        )
    )
    prose = outside(text)
    headings = [line for line in prose if line.startswith("#")]
    assert len(headings) == 3
    for line in prose:
        assert not re.search(r"(?<!\\)<(?=[a-zA-Z/!?])", re.sub(r"(`+).+?\1", "", line)), line
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_fence_that_the_model_left_open_is_closed_before_the_next_entry() -> None:
    text = write(numbered(AssistantMessage((Text("look:\n```python\nx = 1"),)), UserMessage((Text("ok"),))))
    assert "> ok" in outside(text)


def test_code_in_prose_stays_as_it_was() -> None:
    text = write(numbered(AssistantMessage((Text("Use `List<int>` or:\n```\n<b>\n```\nand <b>."),))))
    assert "Use `List<int>` or:\n```\n<b>\n```\nand \\<b>." in text


def test_an_image_that_a_command_shows_is_named() -> None:
    command = UserMessage((Text("/restore 3"), Text("words"), Image("image/png", "AAAA")), "command", (3,))
    assert "[image, image/png]" in write(numbered(command))


def test_a_prompt_that_is_too_long_for_a_title_ends_with_an_ellipsis() -> None:
    assert write(numbered(UserMessage((Text("long " * 30),)))).startswith(f"# {'long ' * 15}long…\n")
