"""Questions from MCP servers in panels above the prompt: one panel for each field, each with a way to decline."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual.content import Content

from prunecli.runtime.forms import Elicitation, Field, Reply
from prunecli.tui.port import Port, answer_of
from prunecli.tui.program import Program
from prunecli.tui.widgets.long_question import LongQuestion
from prunecli.tui.widgets.question import Row
from prunecli.util.sanitize import one_line, source

NO = "No, decline"
_BULLET = "·"
TYPE_IT = "Send the typed text"
_KEYS = ("Enter or a digit to answer · Esc to decline", "Enter to answer · Esc to decline")
_KEYS_TEXT = ("Type an answer, then Enter · Esc to decline", "Type, then Enter · Esc to decline")


class Eliciting:
    """The servers' questions, asked one at a time. Canceling a question removes its panel."""

    def __init__(self, port: Port, program: Program, open_page: Callable[[str], Awaitable[bool]]) -> None:
        self._port = port
        self._program = program
        self._open_page = open_page
        self._turn = asyncio.Lock()

    async def ask(self, asked: Elicitation) -> Reply:
        """Ask all fields of a question, and return the answer."""
        async with self._turn:
            self._program.notify_user("has a question from an MCP server")
            if asked.url:
                return Reply("accept" if await self._opened(asked) else "decline")
            if not asked.fields:
                rows = [("1y", "Yes"), ("2n", NO)]
                agreed = await self._agreed(asked.server, asked.message, rows)
                return Reply("accept" if agreed == 0 else "decline")
            values = {}
            for field in asked.fields:
                problem = ""
                while True:
                    given = await self._field(asked, field, problem)
                    if given is None:
                        return Reply("decline")
                    try:
                        if given:
                            values[field.name] = field.value(given)
                        break
                    except ValueError as error:
                        problem = str(error)
            return Reply("accept", values)

    async def _opened(self, asked: Elicitation) -> bool:
        rows, problem = [("1o", "Open it in the browser"), ("2y", "Done, go on"), ("3n", NO)], ""
        while True:
            about = "\n".join(filter(None, [problem, asked.message, asked.url]))
            row = await self._agreed(asked.server, about, rows)
            if row:
                return row == 1
            opened = await self._open_page(asked.url)
            problem = "" if opened else "No browser could be opened here. Open the page yourself."

    async def _agreed(self, server: str, about: str, rows: Sequence[tuple[str, str]]) -> int:
        return (await self._panel(f"The MCP server {server} asks", about, rows, for_text=None))[0]

    async def _field(self, asked: Elicitation, field: Field, problem: str) -> str | None:
        """Return the user's choice or text for a field: "" to leave it out, None to decline."""
        rows: list[tuple[str, str]] = []
        texts: list[str | None] = []
        if field.kind in ("choice", "boolean"):
            choices = field.choices or (("yes", "Yes"), ("no", "No"))
            for number, (value, label) in enumerate(choices, 1):
                usual = field.default is not None and value == _as_choice(field.default)
                rows.append((str(number) if number < 10 else "", f"{label} (default)" if usual else label))
                texts.append(value)
        else:
            rows.append(("1", TYPE_IT))
            texts.append("")
            if field.default is not None:
                rows.append(("", f"Send {field.default}"))
                texts.append(str(field.default))
        if not field.required:
            rows.append(("", "Leave it out"))
            texts.append("")
        rows.append(("n", NO))
        texts.append(None)
        for_text = None if field.kind in ("choice", "boolean") else 0
        more = [problem and f"Not accepted: {problem}.", asked.message, field.about, _listed(field)]
        title = f"The MCP server {asked.server} asks: {field.title}"
        row, text = await self._panel(title, "\n".join(filter(None, more)), rows, for_text=for_text)
        return text if row == for_text else texts[row]

    async def _panel(
        self, title: str, about: str, rows: Sequence[tuple[str, str]], *, for_text: int | None
    ) -> tuple[int, str]:
        """Show a panel until it is answered. Esc selects the last row."""
        typed = for_text is not None  # in that case, a digit or a letter begins text
        shown = [
            Row(_BULLET if typed else _letters(at, key), (one_line(label),))
            for at, (key, label) in enumerate(rows, 1)
        ]

        def made(give: Callable[[tuple[int, str]], None]) -> LongQuestion:
            panel = LongQuestion(
                one_line(title),
                shown,
                lambda row, text: give((row, text)),
                for_text=for_text,
                leave=len(rows) - 1,
                needs_text=True,
            )
            panel.keys = _KEYS_TEXT if typed else _KEYS
            panel.text = Content.styled(source(about), "$foreground")
            return panel

        return await answer_of(self._port, made)


def _as_choice(default: object) -> str:
    return ("yes" if default else "no") if isinstance(default, bool) else str(default)


def _letters(number: int, key: str) -> str:
    digit = str(number) if number < 10 else _BULLET
    return digit + (key if key.isalpha() else key[1:])


def _listed(field: Field) -> str:
    if field.kind == "choices":
        return f"Any of these, separated by commas: {', '.join(label for _, label in field.choices)}"
    return {"number": "A number", "integer": "A whole number"}.get(field.kind, "")
