"""Tells typed text from generated text in Claude Code's user rows.

A command typed in the prompt (`!ls`, `/context`) is one row and its output the next; together they become one
command. Other generated text becomes a notice. Newer versions record the author of a row; older ones only mark up the
text.
"""

import re

from prunecli.model.messages import Json
from prunecli.session.importers.transcript import Transcript, part, words

_MARKED = re.compile(
    r"\s*(?:<(?:system-reminder|task-notification|teammate-message|command-(?:name|message|args)"
    r"|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|user-prompt-submit-hook)\b"
    r"|\[Request interrupted by user)"
)
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>", re.DOTALL)
_NAME = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OUTPUT = re.compile(r"\s*<(?:local-command|bash)-(?:stdout|stderr)>")
_OUTPUT_TAG = re.compile(r"</?(?:local-command|bash)-(?:stdout|stderr)>")
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)
_TAG = re.compile(r"\s*<([a-z-]+)")
_LONGEST_TITLE = 120


def is_typed(row: Json, text: str) -> bool:
    """Return whether a person typed this text of a user row or a queued command."""
    source, kind = row.get("promptSource"), part(row.get("origin")).get("kind")
    if row.get("isMeta") is True or source == "system" or kind not in (None, "human"):
        return False
    return source is not None or not _MARKED.match(text)


class Commands:
    """A writer of generated text to a transcript. A command waits for its output, which the next row may contain."""

    def __init__(self, to: Transcript) -> None:
        self._to = to
        self._typed = ""
        self._when: int | None = None

    def take(self, row: Json, text: str, when: int | None) -> None:
        shell, name = _SHELL.match(text), _NAME.search(text) if _MARKED.match(text) else None
        if shell or name:
            self.flush()
            arguments = _ARGUMENTS.search(text)
            typed = (
                f"!{shell[1]}" if shell else f"{name[1]} {arguments[1] if arguments else ''}" if name else ""
            )
            self._typed, self._when = typed.strip(), when
        elif self._typed and (_OUTPUT.match(text) or row.get("isMeta") is True):
            output = _OUTPUT_TAG.sub("", text) if _OUTPUT.match(text) else text
            self._to.command(self._typed, output, self._when)
            self._typed = ""
        else:
            self.flush()
            self._to.notice(_title(row, text), text, when)

    def flush(self) -> None:
        if self._typed:
            self._to.command(self._typed, (), self._when)
            self._typed = ""


def _title(row: Json, text: str) -> str:
    """Return the title of a notice: its summary, first tag or sender."""
    summary, tag = _SUMMARY.search(text), _TAG.match(text)
    kind = words(part(row.get("origin")).get("kind"))
    title = summary[1] if summary else (tag[1] if tag else kind) or "notice"
    return " ".join(title.split())[:_LONGEST_TITLE]
