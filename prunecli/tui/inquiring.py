"""A question from the model in a panel above the prompt: its options, and a row for the user's own words."""

from collections.abc import Callable

from textual.content import Content

from prunecli.front.presentation.questions import inquiry_title
from prunecli.tools.asking import Inquiry, Reply
from prunecli.tui.widgets.long_question import LongQuestion
from prunecli.tui.widgets.question import Row
from prunecli.util.sanitize import one_line

OWN_WORDS, SEND, DECLINE = "Type another answer", "Send", "Don't answer"
_HINTS = ("Enter or a digit to answer · or type an answer · Esc to decline", "Enter, or type an answer")
_HINTS_SEVERAL = (
    "Space or a digit to choose · or type an answer · Esc to decline",
    "Enter, or type an answer",
)


class InquiryPanel(LongQuestion):
    """A panel that asks one question. With `multiple`, options can be switched on and off until the row "Send"
    answers."""

    def __init__(self, inquiry: Inquiry, answered: Callable[[Reply], object]) -> None:
        self._inquiry = inquiry
        self._replied = answered
        self._chosen = set[int]()
        count = len(inquiry.options)
        self._own = count + inquiry.multiple
        rows = self._made_rows()
        self.keys = _HINTS_SEVERAL if inquiry.multiple else _HINTS
        title, more = inquiry_title(inquiry)
        parts = title, rows, self._take
        super().__init__(
            *parts, for_text=self._own, leave=len(rows) - 1, marked=inquiry.default, needs_text=True
        )
        self.text = Content.styled(more, "$foreground")

    def _made_rows(self) -> list[Row]:
        rows = []
        for at, option in enumerate(self._inquiry.options):
            box = ("[x] " if at in self._chosen else "[ ] ") if self._inquiry.multiple else ""
            detail = f"  {one_line(option.description)}" if option.description else ""
            rows.append(Row(str(at + 1), (box, one_line(option.label), (detail, "$muted"))))
        if self._inquiry.multiple:
            rows.append(Row(str(len(rows) + 1), (f"{SEND} ({len(self._chosen)} chosen)",)))
        rows.append(Row(str(len(rows) + 1), (OWN_WORDS,)))
        return [*rows, Row("·", (DECLINE,))]

    def press(self, key: str, at: float) -> bool:
        blank = self._typing is not None and not self._typing.text
        if key == "space" and self._chooses and blank and self.answering.is_ready(at):
            self._finish(with_text=False, pending=False)
            return True
        return super().press(key, at)

    @property
    def _chooses(self) -> bool:
        return self._inquiry.multiple and self.answering.marked < len(self._inquiry.options)

    def _finish(self, *, with_text: bool, pending: bool) -> None:
        """Answer with the marked row, or choose it and continue asking."""
        row, typing = self.answering.marked, self._typing
        if self._chooses:
            self._chosen ^= {row}
            self._rows = self._made_rows()
            if pending and typing is not None:
                typing.set_text("")
            self.answering.mark(row)
            self._wait()
        else:
            super()._finish(with_text=with_text, pending=pending)

    def _take(self, row: int, text: str) -> None:
        chosen = tuple(sorted(self._chosen))
        if row < len(self._inquiry.options):
            self._replied(Reply((row,)))
        elif row == self._own:
            self._replied(Reply(chosen, text.strip()))
        else:
            self._replied(Reply(chosen if self._inquiry.multiple and row == self._own - 1 else ()))
