"""A single-line input whose keys take effect in order."""

from textual import events
from textual.widgets import Input

from prunecli.tui.widgets.editor import run_own_binding


class Field(Input):
    """`submits`: Enter submits the line. Otherwise Enter goes to the parent, as Ctrl+C always does."""

    def __init__(
        self,
        value: str = "",
        placeholder: str = "",
        *,
        submits: bool = False,
        password: bool = False,
        id: str | None = None,  # noqa: A002  # Textual's name
    ) -> None:
        super().__init__(value, placeholder, password=password, id=id)
        self._left = {"ctrl+c"} if submits else {"ctrl+c", "enter"}

    async def _on_key(self, event: events.Key) -> None:
        if event.key not in self._left:
            await run_own_binding(self, event)
