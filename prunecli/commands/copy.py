"""/copy: put text of the session on the clipboard as written."""

import re
from collections.abc import Sequence

from prunecli.commands.command import Copy, Effect, Say, refuse
from prunecli.context.exchange import Entry
from prunecli.model.messages import plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import NUMBERS, entries_of
from prunecli.util.errors import UsageError

USAGE = f"/copy, /copy code, /copy code 2 or /copy 17 20-24; {NUMBERS}"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Copy the last answer, its last code block (/copy code) or an entry (/copy 17)."""
    words = arguments.split()
    if not words:
        return [Copy(_last_answer(runtime), "the last answer")]
    if words[0] == "code":
        return _code(code_blocks(_last_answer(runtime)), words[1:])
    seqs = entries_of(runtime, words, USAGE)
    entries = runtime.session.context.entries
    what = f"{'entry' if len(seqs) == 1 else 'entries'} {', '.join(map(str, seqs))}"
    text = "\n\n".join(filter(None, (_text(entries[seq]) for seq in seqs)))
    if not text:
        raise UsageError(f"no text in {what}", "a call has none; copy its result")
    return [Copy(text, what)]


def _code(blocks: Sequence[str], words: Sequence[str]) -> Sequence[Effect]:
    if not blocks:
        return [Say("The last answer has no code block.")]
    refuse("copy", words[1:], "code and the number of one block")
    which = words[0] if words else str(len(blocks))
    if not which.isdigit() or not 1 <= int(which) <= len(blocks):
        raise UsageError(
            f"no code block {which!r} in the last answer", f"choose a number from 1 to {len(blocks)}"
        )
    return [Copy(blocks[int(which) - 1], f"code block {which} of {len(blocks)}")]


def code_blocks(markdown: str) -> list[str]:
    """Return the contents of fenced code blocks, in order. An unclosed block runs to the end of the text."""
    blocks: list[str] = []
    fence, lines = "", list[str]()
    for line in markdown.split("\n"):
        match = _FENCE.fullmatch(line)
        if not fence:
            if match and "`" not in match[2]:
                fence, lines = match[1], []
        elif match and match[1].startswith(fence) and not match[2].strip():
            blocks.append("\n".join(lines))
            fence = ""
        else:
            lines.append(line)
    return [*blocks, "\n".join(lines)] if fence else blocks


def _last_answer(runtime: Runtime) -> str:
    """Return the model's latest text, pruned or not. Raises UsageError if there is none."""
    for entry in reversed(runtime.session.context.entries.values()):
        if entry.kind == "assistant" and (text := _text(entry).strip()):
            return text
    raise UsageError("no answer to copy yet")


def _text(entry: Entry) -> str:
    return plain_text(getattr(entry.event, "content", ()))
