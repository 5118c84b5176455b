"""The chooser behind /prune-config: the strategies with what this session would have cost, and the options of one."""

from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.commands.command import Say, Table, run_line
from prunecli.commands.prune_config import TRY, options
from prunecli.runtime import Runtime
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.screens.table import Rows
from prunecli.tui.transcript.rows import clip
from prunecli.tui.widgets.editor import Field
from prunecli.tui.widgets.fitting import last_keys
from prunecli.util.errors import PrunecliError
from prunecli.util.figures import money
from prunecli.util.sanitize import one_line

OTHER_CELLS, LEAST_SENTENCE = 20, 20
"""Columns besides name and sentence, and the least room for a sentence."""
MOST_VALUE = 20
"""Columns of a value; all of it is there to edit."""
GENERAL = "all strategies"
"""The row whose options hold for every strategy."""
_KEYS = {
    "strategies": "Up/Down to compare · Tab for its options · Enter to use it · Esc to close",
    "options": "Tab for the strategies · Enter to edit · Esc to close",
    "value": "Enter to set · Esc to cancel",
}


class StrategiesScreen(Dialog[None]):
    """The strategies above, the options of the marked one below."""

    DEFAULT_CSS = """
    StrategiesScreen {
        background: $background; color: $foreground;
        #title, #name { height: 1; padding: 0 1; text-style: bold; color: $accent; }
        Rows { padding: 0 1; scrollbar-size-vertical: 1; background: $background; color: $foreground; }
        Rows .rows--heading { color: $muted; background: $background; }
        Rows .rows--marked { color: $foreground; background: $selection; }
        #strategies { height: auto; max-height: 55%; }
        #options { height: 1fr; }
        #name { border-top: solid $faint; height: auto; max-height: 3; text-style: none; }
        #value, #value:focus { height: 1; border: none; padding: 0 1; background: $panel; display: none; }
        #value.-shown { display: block; }
        #last { height: 1; padding: 0 1; color: $muted; }
    }
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._runtime = runtime
        self._costs: dict[str, str] = {}
        self._stop: Callable[[], None] = lambda: None
        self._said = ""
        self._billed: float | None = None
        known = runtime.config.strategies
        self._sentences = {name: known.sentence(name) for name in known.names()}
        self._sentences[GENERAL] = "Whether and when to prune, and what is never sent."
        self._names = list(self._sentences)
        self.strategies = Rows(self._strategies(), id="strategies")
        self.options = Rows(self._options(), id="options")

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield self.strategies
        yield Static(id="name")
        yield self.options
        yield Field(id="value", submits=True, first=self._in_field)
        yield Static(id="last")

    def on_mount(self) -> None:
        now = self._runtime.config.pruning.strategies
        self.strategies.mark(next((at for at, name in enumerate(self._names) if name in now), 0))
        self.set_focus(self.strategies)
        self._show()
        self._begin_trial(self._tried)

    def on_unmount(self) -> None:
        self._stop()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    # What is shown -------------------------------------------------------------------------------------------

    def _strategies(self) -> Table:
        """Return the strategies with sentences of one line; the whole sentence stands with the options."""
        now, width = self._runtime.config.pruning.strategies, self.app.size.width
        room = width - max(map(len, self._names)) - OTHER_CELLS
        rows = [
            ("●" if name in now else "", name, clip(text, max(1, room)), self._costs.get(name, ""))
            for name, text in self._sentences.items()
        ]
        if room < LEAST_SENTENCE:
            return Table("", ("", "strategy", "cost"), tuple((row[0], row[1], row[3]) for row in rows), (2,))
        return Table("", ("", "strategy", "what it does", "cost"), tuple(rows), (3,))

    @property
    def _chosen(self) -> str:
        return self._names[max(0, self.strategies.marked)]

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return the options of the marked row."""
        name, known = self._chosen, self._runtime.config.strategies.names()
        if name == GENERAL:
            return [row for row in options(self._runtime) if row[0].partition(".")[0] not in known]
        return [row for row in options(self._runtime, name) if row[0].startswith(f"{name}.")]

    def _options(self) -> Table:
        rows = tuple(
            (
                key.removeprefix(f"{self._chosen}."),
                clip(value, MOST_VALUE) + (f" ({origin})" if origin != "default" else ""),
                what,
            )
            for key, value, origin, what in self._rows()
        )
        return Table("", ("option", "value", "meaning and range") if rows else ("no options",), rows)

    def _show(self) -> None:
        """Renew both tables; what is marked and in view stays so."""
        for rows, made in ((self.strategies, self._strategies), (self.options, self._options)):
            at, top = rows.marked, rows.scroll_offset.y
            rows.show(made())
            rows.scroll_to(y=top, animate=False, force=True, immediate=True)
            rows.mark(
                at if rows is self.strategies or self.focused is self.options or self._is_editing else -1
            )
        name = self._chosen
        about = Content.assemble((name, "bold $accent"), f"  {one_line(self._sentences[name])}")
        self.query_one("#name", Static).update(about)
        billed = f"; this session was billed {money(self._billed)}" if self._billed else ""
        self.query_one("#title", Static).update(Content(f"Pruning: choose a strategy{billed}"))
        self._tell()

    def _tell(self) -> None:
        pane = "value" if self._is_editing else "options" if self.focused is self.options else "strategies"
        text = one_line(self._said) or last_keys(_KEYS[pane], self.size.width - 2)
        self.query_one("#last", Static).update(Content(text))

    # Costs ---------------------------------------------------------------------------------------------------

    @property
    def _tried(self) -> tuple[str, ...]:
        """The strategies that can be tried; none without the feature that tries them."""
        brought = self._runtime.config.installed.of("command").get(TRY)
        return tuple(brought.load().tried_by(self._runtime)) if brought else ()

    def _begin_trial(self, names: Sequence[str]) -> None:
        """Play this session under these strategies, in a thread; each cost is shown as soon as it is known."""
        self._stop()
        names = [name for name in names if name in self._tried]
        if not names:
            return
        trial = self._runtime.config.installed.of("command")[TRY].load().trial_of(self._runtime, *names)
        if not trial.bill.requests:
            return
        self._stop, self._billed = trial.stop, trial.bill.cost
        self._costs |= dict.fromkeys(names, "…")

        def done(row: Any) -> None:
            if row.strategy in names:
                self.app.call_from_thread(self._cost, row.strategy, money(row.cost))

        def play() -> None:
            try:
                trial.rows(done)
                self.app.call_from_thread(self._say, ". ".join(trial.notes))
            except PrunecliError as error:
                self.app.call_from_thread(self._stopped, error.message)

        self.run_worker(play, thread=True, group="trial")

    def _cost(self, name: str, usd: str) -> None:
        self._costs[name] = usd
        if not self.is_closed:
            self._show()

    def _stopped(self, why: str) -> None:
        self._costs = {name: "?" if usd == "…" else usd for name, usd in self._costs.items()}
        self._say(f"Costs: {why}")

    def _say(self, text: str) -> None:
        if text and not self.is_closed:
            self._said = text
            self._show()

    # Keys ----------------------------------------------------------------------------------------------------

    @property
    def _is_editing(self) -> bool:
        return self.query_one("#value").has_class("-shown")

    def on_key(self, event: events.Key) -> None:
        """Handle all keys but those of the field."""
        pane = self.options if self.focused is self.options else self.strategies
        other = self.strategies if pane is self.options else self.options
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -5, "pagedown": 5, "home": -99, "end": 99}
        self._said = ""
        if event.key in steps:
            pane.mark(max(0, pane.marked + steps[event.key]))
            self._show()
        elif event.key in ("tab", "shift+tab", "left", "right"):
            if other is self.strategies or self._rows():
                self.set_focus(other)
                other.mark(max(0, other.marked))
        elif event.key == "enter":
            self._enter()
        elif event.key in ("escape", "q", "ctrl+c"):
            self.dismiss(None)
        else:
            return
        event.stop()
        event.prevent_default()
        if not self.is_closed:
            self._tell()

    def on_click(self, event: events.Click) -> None:
        if isinstance(event.widget, Rows) and (row := event.widget.row_under(event.y)) >= 0:
            event.widget.mark(row)
            self._show()

    def _enter(self) -> None:
        if self.focused is self.options:
            if row := self._rows()[max(0, self.options.marked) : self.options.marked + 1]:
                self._edit(row[0][0], row[0][1])
        elif self._chosen == GENERAL:
            self.set_focus(self.options)
            self.options.mark(0)
        else:
            self._set("strategy", self._chosen)

    def _edit(self, key: str, value: str) -> None:
        field = self.query_one("#value", Input)
        field.placeholder, field.value = key, "" if value == "unset" else value
        field.add_class("-shown")
        self.set_focus(field)

    def _in_field(self, event: events.Key) -> bool:
        if event.key in ("escape", "ctrl+c"):
            self._close_field()
        return event.key in ("escape", "ctrl+c")

    def _close_field(self) -> None:
        self.query_one("#value").remove_class("-shown")
        self.set_focus(self.options)
        self._tell()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        key = event.input.placeholder
        self._close_field()
        self._set(key, event.value.strip())

    def _set(self, key: str, text: str) -> None:
        """Set an option for this session as the typed command does, say so, or why not, and try again."""
        effects = run_line(self._runtime, f"/prune-config {key} {text}")
        self._said = " ".join(effect.text for effect in effects if isinstance(effect, Say))
        if key != "strategy":
            self._begin_trial(self._tried if self._chosen == GENERAL else [self._chosen])
        self._show()
