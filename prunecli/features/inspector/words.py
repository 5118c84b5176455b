"""The inspector's texts: tree rows, map legend and key previews. Pure, without a screen."""

from collections.abc import Collection, Mapping, Sequence

from prunecli.commands.command import Table
from prunecli.context.expectations import Kind
from prunecli.context.impact import Impact
from prunecli.context.labels import PRUNED, Key, freed_words, price_words, thinking_words
from prunecli.context.manual_edits import Act, Plan
from prunecli.context.measured import ToolSum
from prunecli.context.outline import USED, Node, Part, WindowMap
from prunecli.tui.transcript.rows import width_of
from prunecli.tui.widgets.fitting import Piece
from prunecli.util.figures import counted, in_tokens, money, share, short
from prunecli.util.sanitize import one_line

LETTERS: dict[Part, str] = dict(zip(USED, "SITUARN", strict=True))
"""The letter of each part in a map cell, so that the map is readable without colors."""
BEYOND: tuple[Part, ...] = ("free", "reserve")
"""The parts of the window that are not used, which have no cells."""
_NAMES: dict[Part, str] = {"user": "you", "reserve": "reserved for the reply"}
"""The names of parts that are not called as in the code."""

KEYS: dict[Act, str] = {
    "prune": "p",
    "restore": "r",
    "in_place": "R",
    "memo": "m",
    "pin": "P",
    "undo": "u",
}
"""The key of each action, in the order in which the available ones are listed."""

_FIRST_HINT = (
    *(("Tab", "everything"), ("p", "prune"), ("u", "undo"), ("P", "pin"), ("Enter", "text"), ("m", "memo")),
    *(("?", "help"), ("q", "back")),
)
"""The keys of the first view and their words. If room is short, the last words are dropped first."""
_HINT = (
    *(("p", "prune"), ("m", "memo"), ("r", "restore"), ("R", "in place"), ("P", "pin"), ("u", "undo")),
    *(
        ("Tab", "first view"),
        ("Enter", "text"),
        ("d", "diff"),
        ("s", "sort"),
        ("t", "tools"),
        ("/", "filter"),
        ("?", "help"),
        ("q", "back"),
    ),
)
"""Those of the tree."""

LIKE: Mapping[Kind, str] = {
    "bash": "a command's output",
    "print": "a printed file",
    "read": "each file",
    "search": "a search",
    "other": "each other result",
}
"""Results of a kind, in words."""


def legend(found: WindowMap) -> list[tuple[Part | None, str]]:
    """Return the parts present with their tokens, and the tokens withheld or never sent (part None)."""
    items: list[tuple[Part | None, str]] = [
        (part, f"{_NAMES.get(part, part)} ~{short(found.of(part))}") for part in USED if found.of(part)
    ]
    items += [
        (None, f"{_NAMES.get(part, part)} {short(found.of(part))}") for part in BEYOND if found.of(part)
    ]
    if found.pruned > 0:
        items.append((None, f"✂ pruned ~{short(found.pruned)}"))
    if found.held:
        items.append((None, f"┊ shortened ~{short(found.held)}"))
    if found.cleared.tokens:
        items.append((None, f"✂ {found.cleared.words}"))
    return items


def title(found: WindowMap, model: str, requests: int, doing: str) -> tuple[list[Piece], list[Piece]]:
    """Return the first line: the window's fill level, the model and the number of requests."""
    mark = "" if found.measured else "~"
    left = [
        Piece(("Context",), "bold $accent", 9),
        Piece((f"{mark}{share(found.share)}",), f"bold {_level(found)}", 9, glue=" "),
        Piece(
            (f"{mark}{short(found.used)} of {in_tokens(found.limit)}", f"{mark}{short(found.used)}"),
            "$foreground",
            3,
        ),
    ]
    if found.limit < found.window:
        left.append(Piece((f"window {short(found.window)}", ""), "$muted", 1))
    right = [Piece((f"{counted(requests, 'request')} so far", ""), "$muted", 1)]
    if doing:
        right.insert(0, Piece((doing, doing.partition(":")[0]), "$warning", 5))
    else:
        right.insert(0, Piece((one_line(model), ""), "$muted", 2))
    return left, right


def gauge(found: WindowMap, width: int) -> list[tuple[str, str]]:
    """Return the window as a thin line: what is used, and a mark at the limit that acts."""
    scale = max(found.window, found.used, found.limit, 1)
    used = min(width, round(width * found.used / scale))
    limit = min(width - 1, round(width * found.limit / scale))
    line = [("━", _level(found)) if at < used else ("─", "$faint") for at in range(width)]
    if 0 < limit < width and found.limit < scale:
        line[limit] = ("┃", "$foreground")
    return line


def _level(found: WindowMap) -> str:
    return "$error" if found.share >= 0.9 else "$warning" if found.share >= 0.75 else "$foreground"


def detail(node: Node, why: str, cost: float | None) -> list[Piece]:
    """Return all facts about a node, for the line above the previews."""
    reason = one_line(node.why or why)
    tokens = f"~{short(node.tokens)}" if node.known else "…"
    if node.tokens != node.original:
        tokens += f" of ~{short(node.original)}"
    carried = f"carried {short(node.carried)} in {counted(node.age, 'request')}"
    usd = f" ({money(cost)})" if cost else ""
    name = node.key.kind if node.key.kind != "text" else "answer"
    where = f"{name} {node.key.seq}" if node.key.seq >= 0 else name
    state = state_word(node)
    if state != node.state:
        count, word = (node.pruned, "pruned") if node.pruned else (node.restored, "restored")
        state = f"{count} of {node.results} results {word}"
    if node.again >= 0:
        state += f", shown again at {node.again}"
    return [
        Piece((where,), "bold $foreground", 9),
        Piece((f"{tokens} tokens", tokens), "$foreground", 8),
        *([_held(node)] if node.held else []),
        Piece((f"{state}: {reason}" if reason else state, state), "$accent", 3),
        Piece((carried + usd, carried, ""), "$muted", 2),
    ]


def _held(node: Node) -> Piece:
    """Return the tokens that were never sent, with the key that raises the cap of a result's kind."""
    held = f"~{short(node.held)} not sent"
    more = (f"{held} (c to send more from now on)",) if node.key.kind == "result" else ()
    return Piece((*more, held, ""), "$muted", 4)


def hint(idle: Collection[str], words: Mapping[str, str], *, is_first: bool = False) -> list[Piece]:
    """Return the key hints, dimming keys in `idle`, which would do nothing now. `words` overrides some keys'
    words."""
    pieces: list[Piece] = []
    keys = _FIRST_HINT if is_first else _HINT
    for at, (key, word) in enumerate(keys):
        styles = ("$muted dim", "$muted dim") if key in idle else ("bold $accent", "$foreground")
        pieces.append(Piece((key,), styles[0], len(keys), glue="  "))
        pieces.append(Piece((words.get(key, word), ""), styles[1], len(keys) - at, glue=" "))
    return pieces


def preview(act: Act, planned: Plan, effect: Impact, limit: int) -> list[Piece]:
    """Return the effect of a key in one line, in the words of the line before every act."""
    what = one_line(planned.what)
    pieces = [
        Piece((KEYS[act],), "bold $accent", 9),
        Piece((what, planned.brief or what.partition(":")[0]), "$foreground", 8, glue="  "),
    ]
    if effect.change is None:
        return [*pieces, Piece(("no cost", ""), "$muted", 1)]
    freed, price = freed_words(effect, limit), price_words(effect.change)
    pieces.append(Piece((freed, freed.partition(" (")[0]), "$success" if effect.freed > 0 else "$warning", 7))
    pieces.append(Piece((thinking_words(effect), _blocks(effect)), "$warning", 6))
    now = price.partition(",")[0]
    pieces.append(Piece((price, now, now.removeprefix("about ")), "$muted", 4))
    return pieces


def done(act: Act, planned: Plan, effect: Impact, tokens: int) -> str:
    """Return what was done. `tokens` is the amount of the prune or undo, as it is shown everywhere."""
    if tokens > 0:
        what = f"Pruned {short(tokens)}" if act == "prune" else f"Replaced {short(tokens)} by a memo"
    elif tokens < 0:
        what = f"Restored {short(-tokens)}"
    else:
        what = f"Done: {planned.what}"
    return " · ".join(filter(None, (what, _blocks(effect))))


def _blocks(effect: Impact) -> str:
    """Return the thinking blocks dropped and brought back, as short as possible: −3 +20 thinking."""
    signed = (("−", effect.lost.blocks), ("+", effect.back.blocks))
    changes = [f"{sign}{count}" for sign, count in signed if count]
    return f"{' '.join(changes)} thinking" if changes else ""


def wraps(items: Sequence[tuple[Part | None, str]], width: int) -> list[list[tuple[Part | None, str]]]:
    """Return the legend, wrapped into as many lines as it needs."""
    lines: list[list[tuple[Part | None, str]]] = [[]]
    used = 0
    for part, text in items:
        cells = width_of(text) + (2 if part else 0) + 3
        if lines[-1] and used + cells > width + 3:
            lines.append([])
            used = 0
        lines[-1].append((part, text))
        used += cells
    return lines


def tools_line(totals: Sequence[tuple[str, ToolSum]]) -> list[Piece]:
    pieces = [Piece(("By tool",), "$muted", len(totals) + 1)] if totals else []
    for at, (name, sums) in enumerate(totals):
        text = f"{one_line(name)} ~{short(sums.left)}"
        pieces.append(
            Piece((f"{text} in {sums.results}", text, ""), "$foreground", len(totals) - at, glue="   ")
        )
    return pieces


def tools_table(totals: Sequence[tuple[str, ToolSum]], requests: int) -> Table:
    """Return a table of the result totals per tool."""
    rows = [
        (
            one_line(name),
            str(sums.results),
            str(sums.pruned),
            *(f"~{short(n)}" for n in (sums.left, sums.original, sums.carried(requests))),
        )
        for name, sums in totals
    ]
    headings = ("tool", "results", "pruned", "tokens", "size", "carried")
    note = (
        "tokens: in the next request · size: before pruning · carried: tokens × requests that included them"
    )
    return Table("Tool results", headings, tuple(rows), (1, 2, 3, 4, 5), note)


HELP: tuple[tuple[str, str], ...] = (
    ("Tab", "the ten largest results that you can prune, or everything as a tree"),
    ("1 to 9, 0", "there: prune the result of this number"),
    ("Up Down j k", "move; also PgUp PgDn Home End"),
    ("Space Left Right", "fold or unfold; E for everything"),
    ("p", "prune: clear this result, drop this exchange, clear the results of a turn"),
    ("m", "replace the exchange (all of a turn's) with a memo"),
    ("v", "begin a range here, move, then p or m; v or Esc ends it"),
    ("r", "restore at the end and pin: nothing before it changes"),
    ("R", "restore in place and pin: the cache is rewritten from there on"),
    ("P", "pin: never pruned automatically; again to unpin"),
    ("u", "undo the last prune, manual or automatic"),
    ("c", "on a shortened result: send more of outputs like it from now on"),
    ("Enter", "show the full text: the original and what the model sees"),
    ("d", "compare two requests"),
    ("s", "sort by tokens, size, age, carried; then the tree again"),
    ("t", "totals per tool"),
    ("/", "filter by words; Esc to clear"),
    ("Esc q", "back to the conversation"),
    ("", ""),
    ("tokens", "its size in the next request, by the endpoint's count; ~ until reported"),
    ("size", "its size before pruning; shown once something is pruned or shortened"),
    ("age", "requests since it was added"),
    ("carried", "tokens × requests that included it"),
    ("cost so far", "dollars for sending it, stored once and read with each request since"),
    ("state", "restored: shown again after an undo; not pruned automatically for a while"),
    ("", "see 45: shown again at the end, as entry 45"),
    ("", "shortened: only a part of a long output was sent"),
)
"""The help shown for `?`."""


def selected_name(key: Key) -> str:
    names = {"turn": "all exchanges in this turn", "exchange": f"exchange {key.seq}"}
    return names.get(key.kind, f"the exchange with entry {key.seq}")


def state_word(node: Node) -> str:
    """Return the state, or for several results the number of pruned and restored ones."""
    if node.state in ("live", "pinned", "kept", "restored") and node.key.kind in ("turn", "exchange"):
        if node.pruned:
            return f"{node.pruned}/{node.results} ✂"
        if node.restored and node.state != "restored":
            return "restored" if node.restored == node.results else f"{node.restored}/{node.results} restored"
    return node.state


def is_pruned(node: Node) -> bool:
    return node.state in PRUNED
