"""What the inspector says: rows of the tree, legend of the map, what a key would do; pure, without a screen."""

from collections.abc import Sequence

from prunecli.context.acts import Act, Plan
from prunecli.context.economics import Break
from prunecli.context.impact import Impact
from prunecli.context.labels import Key
from prunecli.context.map import PARTS, Part, WindowMap
from prunecli.context.outline import Node, Row
from prunecli.figures import money, share, short
from prunecli.sanitize import one_line
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.tui.widgets.fitting import Piece

LETTERS: dict[Part, str] = {
    "system": "S",
    "instructions": "I",
    "tools": "T",
    "user": "U",
    "answers": "A",
    "results": "R",
    "notes": "N",
    "free": "·",
    "reserve": "/",
}
"""What a cell of the map shows, so that it can be read without colours."""

NAMES: dict[Part, str] = {
    "system": "system",
    "instructions": "instructions",
    "tools": "tools",
    "user": "you",
    "answers": "answers",
    "results": "results",
    "notes": "notes",
    "free": "free",
    "reserve": "for the answer",
}

KEYS: dict[Act, str] = {"prune": "p", "memo": "m", "restore": "r", "pin": "P", "undo": "u"}
WIDE = 110
"""Cells from which on the reasons have a column of their own."""


def legend(found: WindowMap) -> list[tuple[Part | None, str]]:
    """The parts that are there with their tokens, and what is withheld (part None)."""
    mark = "" if found.measured else "~"
    items: list[tuple[Part | None, str]] = [
        (part, f"{NAMES[part]} {mark if part not in ('free', 'reserve') else ''}{short(found.of(part))}")
        for part in PARTS
        if found.of(part)
    ]
    if found.pruned > 0:
        items.append((None, f"✂ pruned ~{short(found.pruned)}"))
    if abs(found.per_estimate - 1) >= 0.05 and found.used:
        items.append((None, f"map = tree × {found.per_estimate:.2f}"))
    return items


def title(found: WindowMap, model: str, requests: int, doing: str) -> tuple[list[Piece], list[Piece]]:
    """The first line: how full the window is, the model, and how many requests there were."""
    mark = "" if found.measured else "~"
    level = "bold $error" if found.share >= 0.9 else "$warning" if found.share >= 0.75 else "$foreground"
    left = [
        Piece(("Context",), "bold $accent", 9),
        Piece(
            (f"{mark}{share(found.share)}",), f"bold {level}" if "bold" not in level else level, 9, glue=" "
        ),
        Piece(
            (f"{mark}{short(found.used)} of {short(found.window)} tokens", f"{mark}{short(found.used)}"),
            "$foreground",
            3,
        ),
    ]
    right = [Piece((f"{requests} request{'s' * (requests != 1)}", ""), "$muted", 1)]
    if doing:
        right.insert(0, Piece((doing, doing.partition(":")[0]), "$warning", 5))
    else:
        right.insert(0, Piece((one_line(model), ""), "$muted", 2))
    return left, right


class Columns:
    """Where the columns of the tree stand for a width."""

    def __init__(self, width: int, last_seq: int) -> None:
        self.entry = max(5, len(str(last_seq)))
        self.why = width // 3 if width >= WIDE else 0
        fixed = self.entry + 2 + 2 + 6 + 2 + 4 + 2 + 7 + 2 + 11 + (self.why + 2 if self.why else 0)
        self.what = max(8, width - fixed)
        self.narrow = width < 60

    def line(self, entry: str, what: str, figures: Sequence[str], why: str) -> str:
        """A row of these cells: tokens, age, carried and state are the figures."""
        tokens, age, carried, state = figures
        parts = [f"{entry:>{self.entry}}", padded(what, self.what), f"{tokens:>6}"]
        if self.narrow:
            parts[1] = padded(what, self.what + 17)
        else:
            parts += [f"{age:>4}", f"{carried:>7}"]
        parts.append(f"{state:<11}")
        if self.why:
            parts.append(padded(why, self.why))
        return "  ".join(parts)

    def heading(self) -> str:
        """The names of the columns."""
        return self.line("entry", "what", ("tokens", "age", "carried", "state"), "why")


def padded(text: str, width: int) -> str:
    """Exactly so many cells of a text."""
    text = clip(text, width)
    return text + " " * (width - width_of(text))


def tree_line(node: Node, row: Row, columns: Columns, why: str) -> str:
    """A node as a row."""
    fold = ("▾ " if row.is_open else "▸ ") if row.unfolds else "  "
    mark = "❯ " if node.key.kind == "turn" and node.key.seq >= 0 and node.state != "summary" else ""
    cut = "✂ " if node.state in ("dropped", "cleared", "trimmed", "repaired") else ""
    what = "  " * row.depth + fold + mark + cut + one_line(node.label or "(empty)")
    entry = str(node.key.seq) if node.key.kind in ("turn", "exchange", "result") and node.key.seq >= 0 else ""
    tokens, carried = (short(node.tokens), short(node.carried)) if node.known else ("…", "…")
    return columns.line(entry, what, (tokens, str(node.age), carried, state_word(node)), why)


def state_word(node: Node) -> str:
    """The state, or for what has several results how many of them are pruned."""
    if node.state in ("live", "pinned", "kept") and node.pruned and node.key.kind in ("turn", "exchange"):
        return f"{node.pruned}/{node.results} ✂"
    return node.state


def detail(node: Node, why: str, read_price: float | None) -> list[Piece]:
    """All that is known of a node, for the line above the previews."""
    reason = one_line(why or node.why)
    tokens = f"~{short(node.tokens)}" if node.known else "…"
    if node.tokens != node.original:
        tokens += f" of ~{short(node.original)}"
    carried = f"carried {short(node.carried)} in {node.age} request{'s' * (node.age != 1)}"
    usd = f" ({money(node.carried * read_price / 1e6)} as cache reads)" if read_price and node.carried else ""
    name = node.key.kind if node.key.kind != "text" else "answer"
    where = f"{name} {node.key.seq}" if node.key.seq >= 0 else name
    state = state_word(node)
    if state != node.state:
        state = f"{node.pruned} of {node.results} results pruned"
    return [
        Piece((where,), "bold $foreground", 9),
        Piece((f"{tokens} tokens", tokens), "$foreground", 8),
        Piece((f"{state}: {reason}" if reason else state, state), "$accent", 3),
        Piece((carried + usd, carried, ""), "$muted", 2),
    ]


ORDER: tuple[Act, ...] = ("prune", "restore", "memo", "pin", "undo")


def preview(act: Act, planned: Plan, effect: Impact | None, window: int) -> tuple[list[Piece], list[Piece]]:
    """What a key would do: to tokens, to the cache, to the bill."""
    key = Piece((KEYS[act],), "bold $accent" if planned.allowed else "$muted", 9)
    if not planned.allowed or effect is None:
        return [key, Piece((f"no: {one_line(planned.refusal)}",), "$muted", 5, glue="  ")], []
    pieces = [
        key,
        Piece(
            (one_line(planned.what), one_line(planned.what).partition(":")[0]), "$foreground", 7, glue="  "
        ),
    ]
    if effect.change is None:
        return [*pieces, Piece(("no cost", ""), "$muted", 1)], []
    word = "frees" if effect.freed >= 0 else "adds"
    amount = f"{word} ~{short(abs(effect.freed))}"
    shares = f"{share(effect.before / window)} → {share(effect.after / window)}" if window else ""
    pieces.append(Piece((f"{amount} ({shares})", amount), "$success" if effect.freed > 0 else "$warning", 8))
    pieces.append(Piece((*cache_forms(effect.change),), "$muted", 2))
    pieces.append(Piece(tuple(bill_forms(effect.change)), "$muted", 4))
    return pieces, []


def cache_forms(change: Break) -> tuple[str, ...]:
    """What happens to the cache, from the longest to the shortest way to say it."""
    if change.cold:
        return (f"cache stays as it is ({change.cold})", "no cache lost", "")
    if change.rewritten <= 0:
        return ("no more cache lost: it breaks here anyway", "no more cache lost", "")
    again = f"{short(change.rewritten)} of the cache written again"
    return (f"{again} ({change.warm})", again, f"cache −{short(change.rewritten)}")


def bill_forms(change: Break) -> list[str]:
    """What it costs and saves, from the longest to the shortest way to say it."""
    if change.cost is None or change.gain is None:
        return ["$ unknown: no price for this model", "$ unknown"]
    now = f"~{money(change.cost)} now" if change.cost else "$0 now"
    if change.gain < 0:
        return [f"{now}, ~{money(-change.gain)} more a request", now]
    if not change.gain:
        return [now]
    even = f"even after {change.even_after} request{'s' * (change.even_after != 1)}"
    if not change.cost:
        return [f"{now}, saves ~{money(change.gain)} a request", f"{now}, saves ~{money(change.gain)}", now]
    return [f"{now}, saves ~{money(change.gain)} a request: {even}", f"{now}, {even}", now]


def done(planned: Plan, effect: Impact) -> str:
    """What was done, for a moment."""
    what = planned.what[:1].upper() + planned.what[1:]
    if effect.change is None:
        return what
    word = "freed" if effect.freed >= 0 else "back"
    return f"{what}: ~{short(abs(effect.freed))} tokens {word}"


def is_pruned(node: Node) -> bool:
    """Whether the model does not see all of it."""
    return node.state in ("dropped", "cleared", "trimmed", "repaired")


def wraps(items: Sequence[tuple[Part | None, str]], width: int) -> list[list[tuple[Part | None, str]]]:
    """The legend in as many lines as it needs."""
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


HELP: tuple[tuple[str, str], ...] = (
    ("Up Down j k", "move; PgUp PgDn Home End too"),
    ("Space Left Right", "fold, unfold; E everything"),
    ("p", "prune: clear this result, drop this exchange, clear the results of a turn"),
    ("m", "drop the exchange (all of a turn) with a memo in its place"),
    ("r", "restore what was pruned, and pin it"),
    ("P", "pin: no strategy and no prun touches it; again: unpin"),
    ("u", "undo the newest prune, whoever made it"),
    ("Enter", "the full text: the original, and what the model sees"),
    ("d", "what two requests that were sent differ in"),
    ("/", "show only what holds some words; Esc shows all again"),
    ("Esc q", "back to the conversation"),
    ("", ""),
    ("tokens", "estimate of what the next request holds of it; the map shows what the endpoint counts"),
    ("age", "requests since it came"),
    ("carried", "its tokens times the requests that it rode along with"),
)
"""What ? shows."""


def selected_name(key: Key) -> str:
    """What a memo is asked for, in a few words."""
    return "all exchanges of this turn" if key.kind == "turn" else f"exchange {key.seq}"
