"""The prompt: an editor whose keys submit, move through the history and complete. Other keys are passed on."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.reactive import var
from textual.widgets import TextArea

from prunecli.front.presentation import completion
from prunecli.front.presentation.prompt_history import History
from prunecli.tui.messages import ActionAsked, PromptSubmitted, Typed
from prunecli.tui.prompting.draft import Draft
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.tui.widgets.editor import Editor
from prunecli.util.bindings import Keys
from prunecli.util.lazy import lazy
from prunecli.util.paths import has_feature

if TYPE_CHECKING:
    from prunecli.tui.prompting import dropped
    from prunecli.tui.vim import keys as vim_keys
    from prunecli.tui.widgets.completer import Completer
    from prunecli.tui.widgets.question import Question
else:
    dropped = lazy("prunecli.tui.prompting.dropped")
    vim_keys = lazy("prunecli.tui.vim.keys")

_WORDS = ("Ask, or / for commands", *([", @ for files"] if has_feature("attachments") else []))
PLACEHOLDER = "".join([*_WORDS, ", ! for a shell command"])
PLACEHOLDERS = (PLACEHOLDER, "".join(_WORDS), _WORDS[0], "Ask")
"""The hints in the empty prompt, for narrower and narrower screens."""

_TO_MENU = frozenset({"older", "newer", "complete", "submit", "interrupt", "search_history"})
_TO_QUESTIONS = {
    "submit": "enter",
    "interrupt": "escape",
    "quit": "ctrl+c",
    "older": "up",
    "newer": "down",
    "fold_all": "ctrl+o",
}
"""The actions that a question understands, and the key names that it uses for them."""

_KINDS = {
    "": ("❯", ""),
    "!": ("$", "shown to the model"),
    "!!": ("$", "not shown to the model"),
    "#": ("+", "adds a line to AGENTS.md"),
    "search": ("?", "search prompt history"),
}
"""The glyph and label of each kind of prompt."""


class Prompt(Editor):
    """The input field. Actions that are not about typing are posted as `ActionAsked`."""

    question: var["Question | None"] = var(None, init=False)

    def __init__(self, keys: Keys) -> None:
        super().__init__(id="prompt")
        self.keys = keys
        self.past = History()
        self._offers: tuple[str, ...] = ()
        self._awaited: tuple[str, ...] = ()
        self.offer(*PLACEHOLDERS)
        self._completer: Completer | None = None
        self._wanted: completion.Wanted | None = None
        self._before_search: Draft | None = None
        self._recalled: str | None = None
        """The text that Up or Down brought back, which is not completed until it is edited: the menu would take the
        next Up or Down."""
        self._works: Callable[[], bool] = lambda: False
        self._vim: vim_keys.VimKeys | None = None

    @property
    def vim_mode(self) -> str:
        return self._vim.mode if self._vim else ""

    def edit_like(self, editing: str) -> None:
        """Use the keys of `[ui] editing`."""
        if (editing == "vim") != (self._vim is not None):
            self._vim = vim_keys.VimKeys(self) if editing == "vim" else None
            self._apply_look()

    # Contents ------------------------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        return self._before_search or Draft(self.text, dict(self.pastes.texts))

    def restore(self, draft: Draft) -> None:
        self.pastes.texts = dict(draft.pastes)
        self.put_text(draft.text)

    def put_text(self, text: str) -> None:
        super().put_text(text)
        if self._vim is not None:
            self._vim.reset()

    def offer(self, *forms: str) -> None:
        """While the prompt is empty, show the first of these texts that fits, or else the start of the last one."""
        self._offers = forms
        self._offer()

    def await_text(self, *forms: str) -> None:
        """Show these texts instead while a question waits for a typed answer; none when it is over."""
        if forms != self._awaited:
            self._awaited = forms
            self._offer()

    def _offer(self) -> None:
        forms, room = self._awaited or self._offers, max(0, self.content_size.width - self.gutter_width)
        fitting = (form for form in forms if not room or width_of(form) <= room)
        self.placeholder = next(fitting, clip(forms[-1], room))

    def on_resize(self) -> None:
        self._offer()

    def take(self) -> str:
        """Return the text with every paste, add it to the history and clear the prompt."""
        text = self.typed
        self.past.add(text)
        self.set_text("")
        self._type_on()
        return text

    def _type_on(self) -> None:
        """Type letters again, for a new prompt, a search or an answer."""
        if self._vim is not None:
            self._vim.insert()
            self._apply_look()

    def watch_question(self, question: "Question | None") -> None:
        if question is not None and self.is_empty:
            self._type_on()

    def give_back(self, text: str) -> None:
        self.set_text(text if self.is_empty else f"{text}\n\n{self.typed}")

    def fill(self, text: str) -> None:
        self.set_text(text if self.is_empty else f"{self.typed}\n\n{text}", draft=True)
        self.focus()

    @property
    def shell(self) -> str:
        """Return ! or !! for a shell command, else ""."""
        first = self.document[0]
        return "" if not first.startswith("!") else "!!" if first.startswith("!!") else "!"

    # Keys ----------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if self.in_burst(event) and event.key == "enter":
            self.put("\n")
        elif not self.press(event.key, event.time, event.character):
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        if self.question is not None:
            self.question.pasted(event.time)

    def received(self, text: str) -> None:
        """Insert a paste; images and PDF files dropped on the terminal are attached.

        If the terminal pastes nothing, its clipboard may contain an image.
        """
        if not text:
            self.post_message(ActionAsked("paste_image"))
            return

        root = self._completer.root if self._completer and not self.shell else None
        super().received((dropped.as_mentions(text, root) if root else None) or text)

    def clip(self, text: str, size: str) -> None:
        """Insert a mark for an image from the clipboard. The mark stands for this mention."""
        self.put(f"{self.pastes.mark(text, f'Image #{{}}, {size}')} ")

    def press(self, key: str, at: float | None = None, character: str | None = None) -> bool:
        """Handle a key pressed at this time; return False if the editor should handle it."""
        self._look()
        if self._vim is not None and not self.searching and self._vim.press(key, character):
            self._apply_look()
            self._look()
            return True
        return self._menu_key(key) or (at is not None and self._answers(key, at)) or self._act(key)

    def _answers(self, key: str, at: float) -> bool:
        """Return whether a key belongs to the question above.

        Arrows leave the text at its first and last row, and then move among the answers until the text changes.
        """
        action = self.keys.action(key)
        if self.question is None or self.searching or (action == "submit" and self._is_known_command()):
            return False
        stays = (action == "older" and not self.on_first_row) or (action == "newer" and not self.on_last_row)
        if stays and not self.question.answering.was_moved:
            return False
        name = _TO_QUESTIONS.get(action) or ("" if key in _TO_QUESTIONS.values() else key)
        return self.question.press(name, at)

    def _is_known_command(self) -> bool:
        text = self.text.strip()
        return (
            self._completer is not None
            and completion.is_command(text)
            and self._completer.knows(text.split()[0][1:])
        )

    def _menu_key(self, key: str) -> bool:
        action = self.keys.action(key)
        if self._completer is not None and self._completer.is_open and action in _TO_MENU:
            return self._completer.key(action)
        if self.searching and action in ("submit", "interrupt"):
            self.end_search()
            return True
        return False

    def _act(self, key: str) -> bool:
        action = self.keys.action(key)
        if key == "question_mark" and self.is_empty:
            action = "show_keys"
        match action:
            case "":
                return False
            case "follow_up" if not self._works():  # terminals set up for Claude Code send it for Shift+Enter
                self.put("\n")
            case "submit" | "follow_up":
                self._submit(follow_up=action == "follow_up")
            case "newline":
                self.put("\n")
            case "older":
                return self.older()
            case "newer":
                return self.newer()
            case "search_history":
                self.begin_search()
            case "complete":
                if self.is_empty:
                    self.post_message(ActionAsked("browse"))
            case "quit":
                self._clear_or_quit()
            case "leave":
                if not self.is_empty:
                    return False
                self.post_message(ActionAsked("leave"))
            case _:
                self.post_message(ActionAsked(action))
        return True

    def _submit(self, *, follow_up: bool) -> None:
        row, column = self.cursor_location
        if self.document[row][:column].endswith("\\"):
            self.put("\n", (row, column - 1))
            return
        self.post_message(PromptSubmitted(self.take(), follow_up))

    def older(self) -> bool:
        if not self.on_first_row:
            return False
        if self.is_empty and self.has_class("-waiting"):
            self.post_message(ActionAsked("take_back"))
            return True
        self._recall(self.past.older(self.typed))
        return True

    def newer(self) -> bool:
        if not self.on_last_row:
            return False
        self._recall(self.past.newer())
        return True

    def _recall(self, entry: str | None) -> None:
        if entry is not None:
            self.set_text(entry)
            self._recalled = self.text
            self._look()

    def _clear_or_quit(self) -> None:
        """Copy the selection; else clear the prompt, keeping it in the history; else post the action."""
        if self.selected_text:
            self.action_copy()
        elif self.screen.get_selected_text():
            self.post_message(ActionAsked("quit"))
        elif self.searching:
            self.end_search()
        elif self.is_empty:
            self.post_message(ActionAsked("quit"))
        else:
            self.take()

    # Completion ----------------------------------------------------------------------------------------------

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._apply_look()
        self._look()
        if self.question is not None:
            self.question.holds(self.text)
        self.post_message(Typed())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._look()

    def _apply_look(self) -> None:
        shell = self.shell
        memory = "#" if not shell and completion.is_memory(self.text) else ""
        kind = "search" if self.searching else shell or memory
        glyph, title = _KINDS[kind]
        title = " · ".join(filter(None, (title, self.vim_mode)))
        if (glyph, title) != (self.glyph, self.border_title):
            self.glyph, self.border_title = glyph, title
            self.set_class(kind == shell != "", "-shell")
            self.refresh()

    def _look(self) -> None:
        wanted: completion.Wanted | None = None
        if self._recalled is not None and self.text != self._recalled:
            self._recalled = None
        if self.searching:
            wanted = completion.Wanted("history", self.text, 0)
        elif self._recalled is None and (self._vim is None or self._vim.types):
            row, column = self.cursor_location
            wanted = completion.wanted(self.document[row], column, alone=self.document.line_count == 1)
        if wanted != self._wanted:
            self._wanted = wanted
            self._tell_completer()

    def _tell_completer(self) -> None:
        if self._completer is not None:
            wanted = self._wanted
            self._completer.asked(*(wanted.topic, wanted.query) if wanted else ("", ""))

    def use_completer(self, completer: "Completer", works: Callable[[], bool]) -> None:
        """Use this completer from now on. `works` returns whether the agent works."""
        self._completer, self._works = completer, works
        self._look()
        self._tell_completer()

    def complete(self, value: str) -> None:
        wanted, self._wanted = self._wanted, None
        if self.searching:
            self._before_search = None
            self.set_text(value)
            self._apply_look()
        elif wanted:
            self.put(value, (self.cursor_location[0], wanted.start))

    @property
    def searching(self) -> bool:
        return self._before_search is not None

    def begin_search(self) -> None:
        self._before_search = self.draft
        self._wanted = None
        self.set_text("")
        self._type_on()
        self._apply_look()
        self._look()

    def end_search(self) -> None:
        before, self._before_search = self._before_search, None
        self._wanted = None
        if before:
            self.restore(before)
        self._apply_look()
        self._tell_completer()
