"""Texts for an editor, which shows Markdown."""

import re

from acp.schema import AgentMessageChunk, AgentThoughtChunk, TextContentBlock, UserMessageChunk

from prunecli.commands.command import Table
from prunecli.util.sanitize import one_line, source, visible

OURS = {"prunecli": {"notice": True}}
"""The `_meta` that marks prunecli's own texts for clients."""
_TICKS = re.compile("`{3,}")
_SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~])")


def block(text: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=text)


def said(text: str) -> AgentMessageChunk:
    return AgentMessageChunk(session_update="agent_message_chunk", content=block(shown(text)))


def thought(text: str) -> AgentThoughtChunk:
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=block(shown(text)))


def prompted(text: str) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=block(shown(text)))


def noticed(text: str) -> AgentMessageChunk:
    """Return prunecli's own lines, as a quote between the model's texts."""
    quoted = "\n".join(f"> {escaped(line)}  " for line in text.strip().split("\n"))
    return ours(quoted)


def ours(markdown: str) -> AgentMessageChunk:
    """Return prunecli's own Markdown, as a separate paragraph."""
    content = block(f"\n\n{markdown}\n\n")
    return AgentMessageChunk(session_update="agent_message_chunk", content=content, field_meta=OURS)


def shown(text: str) -> str:
    """Return the text with hidden characters made visible, except tabs."""
    return "\t".join(map(visible, text.replace("\r\n", "\n").split("\t")))


def escaped(text: str) -> str:
    """Return a line escaped for Markdown, except code in backticks."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def fenced(text: str, language: str = "") -> str:
    """Return text escaped for Markdown, with its line breaks."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{source(text.rstrip(chr(10)))}\n{fence}"


def table(given: Table) -> str:
    width = len(given.headings)
    marks = ["--:" if at in given.right else "---" for at in range(width)]
    rows = [(*map(_cell, row), *[""] * (width - len(row))) for row in (given.headings, *given.rows)]
    lines = [f"| {' | '.join(row)} |" for row in (rows[0], marks, *rows[1:])]
    note = "\n\n" + "  \n".join(map(escaped, given.note.split("\n"))) if given.note else ""
    return f"**{escaped(given.title)}**\n\n" + "\n".join(lines) + note


def _cell(text: str) -> str:
    return escaped(text) or " "
