"""The context inspector: the window as a map and a tree, with a preview of what each key would do."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from prunecli.commands.command import Table, asks_first
from prunecli.context.impact import Impact
from prunecli.context.labels import Key, act_words
from prunecli.context.manual_edits import Act, Plan
from prunecli.context.outline import Row
from prunecli.features.inspector.details import DiffScreen, TextScreen
from prunecli.features.inspector.inspecting import (
    MOST_PRUNABLE,
    ORDERS,
    Found,
    Inspecting,
    Listing,
    Order,
    Ranked,
    Rows,
)
from prunecli.features.inspector.tree import SMALL, TALL, MapView, TreeRows
from prunecli.features.inspector.words import (
    HELP,
    KEYS,
    LIKE,
    detail,
    done,
    hint,
    preview,
    selected_name,
    title,
    tools_line,
    tools_table,
)
from prunecli.front.presentation.outcomes import advice
from prunecli.model.events import Record
from prunecli.model.signals import SessionEvent
from prunecli.runtime import Runtime
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.slices import Between, once
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.tui.widgets.editor import Field
from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.figures import budget
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.tui.app import PrunecliApp

REFRESH_SECONDS = 0.1
REST_SECONDS = 0.15
"""Seconds the mark must rest on a long turn before its previews are computed."""
_FOLDS = {"space": None, "left": False, "h": False, "right": True, "l": True}
_ANSWERS = "Enter for yes, Esc for no"
_MEMO_HINTS = ("Enter to replace · Esc to cancel",)
_FILTER_HINTS = (
    "Enter to keep the filter · Up/Down to move · Esc to clear it",
    "Enter to keep · Esc to clear",
)
_BUSY = "Reading the session …"
MANY_RESULTS = 300
"""Number of results in a turn above which previews wait until the mark rests."""


class ContextScreen(Dialog[None]):
    DEFAULT_CSS = """
    ContextScreen {
        background: $background; color: $foreground;
        #detail { height: auto; padding: 0 1; border-top: solid $faint; }
        #field, #field:focus { height: 1; border: none; padding: 0 1; background: $panel; display: none; }
        #field.-shown { display: block; }
        LastLine { height: 1; padding: 0 1; color: $muted; }
    }
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._runtime = runtime
        self._program = cast("PrunecliApp", self.app)
        self._prompt = self._program.frame.prompt
        self.inspecting = Inspecting(runtime)
        self._previews = Previews(runtime, self.inspecting)
        self._folds = Folds()
        self._asked: Key | None = None
        self._due = False
        self._rested: Timer | None = None
        self._last = LastLine()
        self._between = Between(self)
        self._actions: dict[str, Callable[[], object]] = {
            "escape": self._leave,
            "q": lambda: self.dismiss(None),
            "ctrl+c": lambda: self.dismiss(None),
            "E": self._fold_all,
            "slash": self._search,
            "question_mark": self._help,
            "f1": self._help,
            "d": lambda: self.app.push_screen(DiffScreen(runtime.session.records, self.inspecting.outline)),
            "s": lambda: self._list_by(self._folds.next_order),
            "tab": lambda: self._list_by("order" if self._folds.by == "prunable" else "prunable"),
            "t": self._tools,
        }
        self._of_node: dict[str, Callable[[Key], object]] = {
            **{key: partial(self._act, act) for act, key in KEYS.items() if act != "memo"},
            **{key: partial(self._fold, unfold=unfold) for key, unfold in _FOLDS.items()},
            "enter": lambda key: self.app.push_screen(TextScreen(self.inspecting.outline, key)),
            "m": self._ask_memo,
            "v": self._span,
            "c": self._ask_for_more,
        }
        self.tree_rows = TreeRows(self._program.palette, self.inspecting)
        turns = self.inspecting.outline.turns
        if turns:
            self._folds.turn(Key("turn", turns[-1].seq))

    def compose(self) -> ComposeResult:
        yield MapView()
        yield self.tree_rows
        yield Static("", id="detail")
        yield Field(id="field", submits=True)
        yield self._last

    def on_mount(self) -> None:
        self._unsubscribe = self._runtime.session.subscribe(self._take)
        self.app.theme_changed_signal.subscribe(
            self, lambda _: self.tree_rows.set_palette(self._program.palette), immediate=True
        )
        self.watch(self._prompt, "question", self._tell, init=False)
        self.tree_rows.focus()
        self._between.do("log", self.inspecting.outline.reading(), self._renew)

    def on_unmount(self) -> None:
        self._unsubscribe()

    def on_resize(self) -> None:
        self._tell()

    # Showing -------------------------------------------------------------------------------------------------

    def _take(self, event: SessionEvent) -> None:
        """Schedule an update for new events; one update shows all that arrived."""
        if isinstance(event, Record) and not self._due:
            self._due = True
            once(self, REFRESH_SECONDS, self._follow)

    def _follow(self) -> None:
        self._due = False
        if not self.inspecting.outline.is_read:
            return
        if self.inspecting.refresh():
            self._renew()
        else:
            self._tell()

    def _renew(self) -> None:
        if not self.inspecting.is_measured:
            self._between.do("figures", self.inspecting.measuring(), self._tell_all)
        self._show()

    def _tell_all(self) -> None:
        self.tree_rows.measured()
        self._tell()

    def _show(self, marked: Key | None = None) -> None:
        """Rebuild the rows and keep the marked node marked.

        Many rows are built in slices, so keys stay responsive.
        """
        rows = self._folds.rows(self.inspecting)
        self._between.do("rows", rows.in_steps(), lambda: self._show_rows(rows, marked))
        self._tell()

    def _show_rows(self, rows: Rows, marked: Key | None) -> None:
        if marked is None and (row := self.tree_rows.marked):
            marked = _in_view(rows, self.inspecting.path(row.key))
        self.tree_rows.show(rows, self._folds.by, marked)
        self._tell()

    def _tell(self) -> None:
        """Update the map, the detail and the hint for the marked node."""
        if not self.is_mounted or not self.inspecting.outline.is_read:
            return
        found, outline, bill = self.inspecting.map, self.inspecting.outline, self._runtime.bill
        asked = self._prompt.question is not None
        doing = "answer needed · Esc to return" if asked else "working" if self._runtime.running else ""
        self.query_one(MapView).show(
            found,
            title(found, self._runtime.model_name, bill.requests or outline.carry_cost.requests, doing),
            tools_line(outline.tools) if outline.is_measured else (),
        )
        busy = _BUSY if self._between.is_busy else ""
        none = busy or self._folds.nothing
        rested = self._rested is not None
        lines = self._previews.look(self.tree_rows.marked, none, self.size, has_rested=rested)
        if self._previews.is_waiting:
            self._rested = once(self, REST_SECONDS, self._tell)
        self.query_one("#detail", Static).update(lines)
        hints = self._previews.hints(self._folds.by)
        if self.query_one("#field").has_class("-shown"):
            hints = [Piece(_FILTER_HINTS if self._asked is None else _MEMO_HINTS)]
        self._last.show(busy, hints, self.size.width - 2)

    # Keys ----------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Handle the tree's keys; while the user types, only Esc and the arrow keys. Clear the last result."""
        if self._last.said:
            self._say("")
        if self._last.question:
            self._last.answer(event.key)
            self._tell()
        elif self.focused is self.query_one("#field", Input):
            if event.key in ("escape", "ctrl+c"):
                if self._close_field() is None:
                    self._filter("")
            elif event.key in ("up", "down") and self._asked is None:
                self.tree_rows.press(event.key)
            elif event.is_printable or event.key == "enter":  # sent to the tree before the field opened
                self.query_one("#field", Field).post_message(events.Key(event.key, event.character))
            else:
                return
        elif not (self.tree_rows.press(event.key) or self._deed(event.key)):
            return
        event.stop()
        event.prevent_default()

    def _deed(self, key: str) -> bool:
        """Run a key's command on the marked node or the screen; return False if the key has no command."""
        if (deed := self._actions.get(key)) is not None:
            deed()
            return True
        if self._folds.by == "prunable" and key.isdecimal():
            rows, at = self.tree_rows.rows, (int(key) - 1) % MOST_PRUNABLE
            if at < len(rows):
                self._act("prune", rows[at].key)
            return True
        of_node = self._of_node.get(key)
        if of_node is not None and (marked := self.tree_rows.marked):
            of_node(marked.key)
        return of_node is not None

    def _leave(self) -> None:
        if self.inspecting.since is not None:
            self._span(self.inspecting.since)
            return
        self._filter("") if self._folds.words else self.dismiss(None)

    def on_tree_rows_marked(self) -> None:
        self._last.said = ""
        if self._rested is not None:
            self._rested.stop()
            self._rested = None
        self._tell()

    def on_tree_rows_folded(self, message: TreeRows.Folded) -> None:
        self._fold(message.key)

    def _fold(self, key: Key, *, unfold: bool | None = None) -> None:
        row = self.tree_rows.marked
        if row is None or self._folds.words:
            return
        if unfold is False and not row.is_open and row.depth:
            self.tree_rows.move(self.tree_rows.rows.above(self.tree_rows.at))
        elif row.unfolds and unfold is not row.is_open:
            self._folds.turn(key)
            self._show()

    def _fold_all(self) -> None:
        """Unfold everything, or fold it if nothing is folded. A sorted list does not fold; the first view becomes
        the tree."""
        by = self._folds.by
        if by in ("order", "prunable"):
            self._folds.turn_all(unfolded=by == "prunable" or self.tree_rows.rows.has_folded)
            self._folds.by = "order"
            self._show()

    def _list_by(self, by: Order) -> None:
        """Switch to another order, from its top; back in the tree, keep the marked node in view."""
        self._folds.by = by
        row, turns = self.tree_rows.marked, self.inspecting.outline.turns
        path = self.inspecting.path(row.key) if row else [Key("turn", turn.seq) for turn in turns[-1:]]
        if by == "order":
            self._folds.unfold(*path[:-1])
        self._show(path[-1] if path else None)

    def _tools(self) -> None:
        outline = self.inspecting.outline
        if not outline.is_measured:
            self._say(_BUSY)
        elif outline.tools:
            self.app.push_screen(TableScreen(tools_table(outline.tools, outline.carry_cost.requests)))
        else:
            self._say("No tool results yet")

    def _help(self) -> None:
        self.app.push_screen(TableScreen(Table("Context inspector", ("key", "action"), HELP)))

    # Acts ----------------------------------------------------------------------------------------------------

    def _act(self, act: Act, key: Key, memo: str = "", *, agreed: bool = False) -> None:
        planned = self.inspecting.plan(act, key, memo)
        effect, begun = self.inspecting.impact(planned), len(self._runtime.session.records)
        if not planned.allowed:
            self._say(advice(planned.refusal))
        elif not agreed and (line := _question(self._runtime, planned, effect)):
            self._last.ask(line, partial(self._act, act, key, memo, agreed=True))
            self._tell()
        elif problem := self.inspecting.tried(act, key, memo):
            self._say(problem)
        else:
            said = done(act, planned, effect, self.inspecting.withheld_since(begun))
            self._last.said = said + _then(act, running=self._runtime.running)
            self._renew()

    def _span(self, key: Key) -> None:
        """Begin a range at this node, or end it."""
        since = self.inspecting.since = key if self.inspecting.since is None else None
        self.tree_rows.refresh()
        self._say("" if since is None else "Range: move to its other end · p prunes it · m memo · v ends it")

    def _say(self, text: str) -> None:
        self._last.said = text
        self._tell()

    def _search(self) -> None:
        if self._folds.by == "prunable":
            self._list_by("order")
        self._open_field("filter by words", self._folds.words)

    def _ask_memo(self, key: Key) -> None:
        planned = self.inspecting.plan("memo", key)
        if not planned.allowed:
            self._say(advice(planned.refusal))
            return
        self._asked = key
        self._open_field(f"memo to replace {selected_name(key)}", "")

    def _open_field(self, placeholder: str, value: str) -> None:
        field = self.query_one("#field", Input)
        field.placeholder = placeholder
        field.value = value
        field.add_class("-shown")
        self.set_focus(field)
        self._tell()

    def _close_field(self) -> Key | None:
        """Return to the tree, and return the node to replace with a memo."""
        asked, self._asked = self._asked, None
        self.query_one("#field").remove_class("-shown")
        self.tree_rows.focus()
        self._tell()
        return asked

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._asked is None and event.input.has_class("-shown"):
            self._filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        memo = event.value.strip()
        if asked := self._close_field():
            self._act("memo", asked, memo) if memo else self._say("No memo written: the text was empty")

    def _ask_for_more(self, key: Key) -> None:
        """Ask whether to send more of results like this one, and set their cap for this session."""
        found = self.inspecting.higher_cap(key)
        if isinstance(found, str):
            self._say(found)
            return
        kind, cap = found
        upto = f"p to {budget(cap)} tokens of {LIKE[kind]}"

        def raise_cap() -> None:
            self.inspecting.set_cap(kind, cap)
            self._say(f"From now on u{upto} are sent (this session)")

        self._last.ask(f"Send more of outputs like this from now on? U{upto}", raise_cap)
        self._tell()

    def _filter(self, words: str) -> None:
        self._folds.words = words.strip()
        self._show()


def _in_view(rows: Rows, path: Sequence[Key]) -> Key | None:
    """Return the last node of a path that is listed: the node itself, or what it is folded into."""
    return next((key for key in reversed(path) if rows.place(key) is not None), None)


def _question(runtime: Runtime, planned: Plan, effect: Impact) -> str:
    """Return what to ask before an act that costs something, "" for nothing."""
    if effect.change is None or not asks_first(runtime, effect):
        return ""
    return f"{act_words(effect, runtime.policy.limit)} · {planned.brief or planned.what}?"


def _then(act: Act, *, running: bool) -> str:
    """Return what follows an act, to end its line."""
    if act in ("prune", "memo"):
        return " · u to undo"
    return " · after the current tool calls" if act == "restore" and running else ""


class LastLine(Static):
    """The last line: what was done, a question, or the keys."""

    said = ""
    question = ""
    _then: Callable[[], object] | None = None

    def ask(self, question: str, then: Callable[[], object]) -> None:
        """Ask instead of showing the keys. The next key answers: Enter or y for yes."""
        self.question, self._then = question, then

    def answer(self, key: str) -> None:
        then, self.question, self._then = self._then, "", None
        if then is not None and key in ("enter", "y"):
            then()

    def show(self, busy: str, hints: Sequence[Piece], width: int) -> None:
        width, said = max(10, width), one_line(self.said or busy)
        while width_of(said) > width and " · " in said:
            said = said.rpartition(" · ")[0]
        if self.question:
            hints, said = (
                [Piece((self.question,), "bold $foreground", 2), Piece((_ANSWERS,), "$muted", 1)],
                "",
            )
        self.update(Content(clip(said, width)) if said else fitted(hints, (), width))


class Folds:
    """What the tree lists: the filter, the order, and the nodes whose fold differs from the default."""

    def __init__(self) -> None:
        self.words = ""
        self.by: Order = "prunable"
        self._unfolded = False
        self._turned: set[Key] = set()

    def turn(self, key: Key) -> None:
        self._turned.symmetric_difference_update({key})

    def turn_all(self, *, unfolded: bool) -> None:
        self._unfolded = unfolded
        self._turned.clear()

    def unfold(self, *keys: Key) -> None:
        if self._unfolded:
            self._turned.difference_update(keys)
        else:
            self._turned.update(keys)

    @property
    def next_order(self) -> Order:
        return ORDERS[(ORDERS.index(self.by) + 1) % len(ORDERS)] if self.by in ORDERS else "tokens"

    @property
    def nothing(self) -> str:
        """What to say without any row."""
        if self.by == "prunable":
            return "Nothing to prune yet: no tool output. Tab shows everything"
        return "No matches" if self.words else "No messages yet"

    def rows(self, inspecting: Inspecting) -> Rows:
        if self.by == "prunable":
            return inspecting.prunable()
        if self.by != "order":
            return Ranked(inspecting.outline, self.by, self.words)
        if self.words:
            return Found(inspecting.outline, self.words)
        return Listing(inspecting.outline, self._turned, unfolded=self._unfolded)


class Previews:
    """The lines below the tree: the marked node, and the effect of each key. `is_waiting`: the mark must rest before
    they are computed."""

    def __init__(self, runtime: Runtime, inspecting: Inspecting) -> None:
        self._runtime = runtime
        self._inspecting = inspecting
        self.is_waiting = False
        self._idle: set[str] = set()
        self._words: dict[str, str] = {}

    def hints(self, by: Order) -> list[Piece]:
        """Return the keys, dimmed if they would do nothing to the last node, and the current order."""
        words = {**self._words, "s": "sort" if by == "order" else f"sort: {by}"}
        return hint(self._idle, words, is_first=by == "prunable")

    def look(self, row: Row | None, none: str, size: tuple[int, int], *, has_rested: bool) -> Content:
        """Return the node and its previews, always in the same number of lines, so that nothing jumps.

        The number of lines depends on the size of the screen. `none` is shown if no node is marked.
        """
        width, most = max(10, size[0] - 2), 1 if size[1] < SMALL else 3 if size[1] < TALL else len(KEYS)
        lines = [*self._lines(row, none, width, most, has_rested=has_rested), *[Content("")] * most]
        return Content("\n").join([line.truncate(width, ellipsis=True) for line in lines[: most + 1]])

    def _lines(
        self, row: Row | None, none: str, width: int, most: int, *, has_rested: bool
    ) -> Sequence[Content]:
        inspecting = self._inspecting
        node = inspecting.node(row.key) if row else None
        self._idle = {"p", "m", "r", "R", "P", "Enter"} if node is None else set()
        self._idle |= {"d"} if inspecting.outline.carry_cost.requests < 2 else set()
        self._words, self.is_waiting = {}, False
        if row is None or node is None:
            return [Content("No longer in the context" if row else none)]
        about = fitted(detail(node, inspecting.why(row.key), inspecting.cost(node)), (), width)
        self.is_waiting = node.results > MANY_RESULTS and not has_rested
        if self.is_waiting or not inspecting.is_measured:
            return [about, *[Content("…")] * most]
        planned = {act: inspecting.plan(act, row.key) for act in KEYS}
        self._idle |= {KEYS[act] for act, one in planned.items() if not one.allowed}
        self._words = {"P": "unpin"} if planned["pin"].what.startswith("unpin ") else {}
        able = [(act, one) for act, one in planned.items() if one.allowed][:most]
        limit = inspecting.map.limit or inspecting.map.window
        lines = [preview(act, one, inspecting.impact(one), limit) for act, one in able]
        return [about, *(fitted(line, (), width) for line in lines)]
