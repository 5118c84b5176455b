"""Connects the engine and the prompt: which keys it takes, and how the prompt shows text, cursor and selection."""

from textual.document._document import Selection

from prunecli.tui.prompting.pastes import MARK
from prunecli.tui.vim.changes import Register
from prunecli.tui.vim.engine import Mode, Vim
from prunecli.tui.vim.motions import line_end, line_start, row_of, row_start
from prunecli.tui.widgets.editor import around
from prunecli.tui.widgets.prompt import Prompt

_NAMED = frozenset({"backspace", "delete", "left", "right", "home", "end"})
_VERTICAL = {"up": "k", "down": "j"}


class VimKeys:
    """Vim's keys for the prompt."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._vim = Vim(self._around)
        self._shown: tuple[str, Selection] | None = None
        self.reset()

    @property
    def mode(self) -> str:
        return self._vim.mode

    @property
    def types(self) -> bool:
        """Whether letters go into the text."""
        return self._vim.mode == Mode.INSERT

    @property
    def _is_idle(self) -> bool:
        """Whether the next key begins a command."""
        return self._vim.mode == Mode.NORMAL and not self._vim.is_pending

    def reset(self) -> None:
        """Take another text, such as one from the history."""
        self._vim.reset(self._prompt.text, self._offset(self._prompt.cursor_location))
        self._show()

    def insert(self) -> None:
        self._take()
        self._vim.insert()
        self._show()

    def press(self, key: str, character: str | None) -> bool:
        """Handle a key; return False if the prompt should do what it does without vim."""
        if self._prompt.is_empty and (self._prompt.question is not None or key == "question_mark"):
            return False
        self._take()
        if key == "escape":
            handled = self._vim.escape()
        elif self.types:
            return False
        elif self._is_idle and self._in_history(character):
            return True
        else:
            handled = self._command(key, character)
        self._show()
        return handled

    def _in_history(self, character: str | None) -> bool:
        """Search the history with /, and walk through it with j and k at the edges."""
        prompt, row = self._prompt, self._prompt.cursor_location[0]
        if character == "/":
            prompt.begin_search()
        elif character == "k" and row == 0:
            if not prompt.older():
                prompt.action_cursor_up()
        elif character == "j" and row == prompt.document.line_count - 1:
            if not prompt.newer():
                prompt.action_cursor_down()
        else:
            return False
        return True

    def _command(self, key: str, character: str | None) -> bool:
        if key in _VERTICAL:
            key = key if self._is_idle else _VERTICAL[key]
        elif character and character.isprintable():
            key = character
        if len(key) > 1 and key not in _NAMED and key != "ctrl+r":
            self._vim.escape()  # a command that waited for its next key, or a selection
            return False
        app, copied = self._prompt.app, Register(self._prompt.app.clipboard)
        self._vim.registers["+"] = copied
        self._vim.press(key)
        if (now := self._vim.registers["+"]) != copied:
            app.copy_to_clipboard(now.text)
        return True

    def _around(self, text: str, at: int) -> tuple[int, int]:
        """Return the start and end of the emoji or the mark for a paste that an offset cuts apart."""
        start = line_start(text, at)
        line, column = text[start : line_end(text, at)], at - start
        known = self._prompt.pastes.texts
        marks = (one.span() for one in MARK.finditer(line) if int(one[1]) in known)
        first, last = next((one for one in marks if one[0] < column < one[1]), around(line, column))
        return start + first, start + last

    # The prompt ----------------------------------------------------------------------------------------------

    def _take(self) -> None:
        """Take what changed in the prompt since it was shown."""
        now = self._prompt.text, self._prompt.selection
        if now != self._shown:
            self._vim.take(now[0], self._offset(now[1].end))

    def _show(self) -> None:
        old, new = self._prompt.text, self._vim.text
        if old != new:
            most = min(len(old), len(new))
            first = next((at for at in range(most) if old[at] != new[at]), most)
            tail = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
            begin, end = self._place(old, first), self._place(old, len(old) - tail)
            self._prompt.replace(new[first : len(new) - tail], begin, end, maintain_selection_offset=False)
        self._prompt.selection = self._selection()
        self._prompt.scroll_cursor_visible()
        self._shown = self._prompt.text, self._prompt.selection

    def _selection(self) -> Selection:
        vim = self._vim
        start = end = vim.at
        if vim.mode in (Mode.VISUAL, Mode.LINES):
            start, end = vim.selection
            if vim.at < vim.anchor:
                start, end = end, start
            elif vim.mode == Mode.VISUAL:
                end = vim.at  # the cursor's own cell is the last one
        return Selection(self._place(vim.text, start), self._place(vim.text, end))

    def _offset(self, place: tuple[int, int]) -> int:
        return row_start(self._prompt.text, place[0]) + place[1]

    @staticmethod
    def _place(text: str, at: int) -> tuple[int, int]:
        return row_of(text, at), at - line_start(text, at)
