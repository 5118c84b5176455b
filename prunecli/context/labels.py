"""Labels for outline nodes, read from the fold on demand, and the price of a change in words."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from prunecli.context import render
from prunecli.context.again import shown_in
from prunecli.context.economics import Break
from prunecli.context.exchange import Entry, call_argument
from prunecli.context.inputs import long_texts
from prunecli.context.state import RESTORED, Context
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, UserMessage
from prunecli.model.messages import Json, Text, Thinking, ToolUse, plain_text
from prunecli.util.figures import counted, in_tokens, money, share, short

NodeKind: TypeAlias = Literal[
    "system",
    "instructions",
    "tools",
    "turn",
    "prompt",
    "exchange",
    "memo",
    "text",
    "thinking",
    "calls",
    "result",
]
"""A turn is everything up to the next prompt; a prompt is only the typed message, one of its attachments, or a
summary."""
State: TypeAlias = Literal[
    "live",
    "trimmed",
    "cleared",
    "repaired",
    "dropped",
    "memo",
    "summary",
    "in progress",
    "pinned",
    "kept",
    "restored",
]
NUMBERED: tuple[NodeKind, ...] = ("turn", "prompt", "exchange", "result")
"""The node kinds that represent an entry; the others are parts of one."""
PRUNED: tuple[State, ...] = ("dropped", "cleared", "trimmed", "repaired")
"""The states of nodes that the next request does not contain in full."""
Summary: TypeAlias = Callable[[str, Mapping[str, Json]], str]
"""(tool, input) -> a one-line description, "" for an unknown tool."""

if TYPE_CHECKING:
    from prunecli.context.impact import Impact

_LABEL_CHARS = 300
_STATES: Mapping[str, State] = {"clear": "cleared", "trim": "trimmed", "cut": "trimmed", "repair": "repaired"}


class Key(NamedTuple):
    """The name of a node.

    `seq` is an entry (for a turn its user message, -1 if none). `part` is a prune for a memo, otherwise an index
    among siblings.
    """

    kind: NodeKind
    seq: int
    part: int = 0


def preamble(context: Context) -> list[tuple[Key, str]]:
    """Return system prompt, instruction files and tools as (key, canonical text)."""
    pieces = [piece.decode() for piece in context.preamble.system]
    texts = [
        (Key("instructions" if _is_instructions(piece) else "system", -1, at), piece)
        for at, piece in enumerate(pieces)
    ]
    tools = "\n".join(piece.decode() for piece in context.preamble.tools)
    return [*texts, (Key("tools", -1), tools)] if tools else texts


def memo_of(context: Context, key: Key) -> Edit:
    """Return the memo of a node. Raises KeyError if it no longer exists."""
    return dict(context.memos_of(key.seq))[key.part]


def label(context: Context, key: Key, summary: Summary) -> str:
    """Return the full one-line label of the node, not yet sanitized for a terminal."""
    match key.kind:
        case "system":
            return "system prompt"
        case "instructions":
            text = dict(preamble(context))[key]
            return "instructions " + text.partition('file=\\"')[2].partition('\\"')[0]
        case "tools":
            return f"{len(context.preamble.tools)} tools"
        case "turn" if key.seq == -1:
            return "before the first prompt"
        case "memo":
            return "memo: " + _first_line(_memo_words(memo_of(context, key).text or ""))
        case _:
            return _entry_label(context.entries[key.seq], key, summary)


def _entry_label(entry: Entry, key: Key, summary: Summary) -> str:
    if key.kind == "result" and entry.call:
        return _described(entry.call, summary)
    if key.kind == "calls":
        if not entry.exchange:
            return ""
        long = [_described(call, summary) for call in entry.exchange.calls if long_texts(call)]
        if long:
            return f"input{'s' * (len(long) > 1)} of {', '.join(long)}"
        return "calls " + ", ".join(call.name for call in entry.exchange.calls)
    if key.kind in ("text", "thinking"):
        texts = texts_of(entry, key.kind)
        return ("thinking: " if key.kind == "thinking" else "") + _first_line(texts[0] if texts else "")
    if entry.kind == "summary":
        return summary_label(entry)
    if isinstance(entry.event, UserMessage | AssistantMessage):
        said = _first_line(plain_text(entry.event.content))
        if said or entry.exchange is None:
            return said
        return "calls " + ", ".join(_described(call, summary) for call in entry.exchange.calls)
    return ""


def summary_label(entry: Entry) -> str:
    """Return the label of a summary, including whether the endpoint made it."""
    return f"summary{' by the endpoint' if entry.block else ''} of earlier messages"


def state(context: Context, key: Key) -> State:
    """Return the node's state in the next request."""
    if key.kind == "memo":
        return "memo"
    if key.seq == -1:
        return "live"
    entry = context.entries[key.seq]
    if entry.kind == "summary":
        return "summary"
    if entry.exchange and context.dropped(entry.exchange):
        return "dropped"
    edit = context.text_edit(entry.seq)
    if edit and (key.kind in ("result", "turn", "prompt") or (key.kind == "calls" and edit.kind == "cut")):
        return _STATES[edit.kind]
    if entry.exchange and entry.exchange is context.in_progress:
        return "in progress"
    home = _home(entry)
    if entry.seq in context.pinned or home in context.pinned:
        return "pinned"
    if home < context.boundary:
        return "kept"
    return "restored" if RESTORED in (context.locked(entry.seq), context.locked(home)) else "live"


def _home(entry: Entry) -> int:
    return entry.exchange.seq if entry.exchange else entry.seq


def shown_again(context: Context, key: Key) -> int:
    """Return the entry in which a `/restore` shows pruned or held back content again; -1 if there is none."""
    if key.kind not in NUMBERED or key.seq < 0:
        return -1
    held = context.entries[key.seq].spilled is not None
    return shown_in(context, key.seq) if held or state(context, key) in PRUNED else -1


def restored(context: Context) -> set[int]:
    """Return the results that an undo restored, which strategies therefore leave alone."""
    found: set[int] = set()
    for seq in context.sheltered:
        entry = context.entries.get(seq)
        if entry is not None and context.locked(seq) == RESTORED:
            is_head = entry.exchange is not None and entry.exchange.seq == seq
            parts = entry.exchange.results if entry.exchange and is_head else [entry]
            found.update(part.seq for part in parts if part.prunable)
    return found


def spared_until(context: Context, seqs: Iterable[int]) -> str:
    """Return how long strategies leave alone what an undo restored: this turn or the next one too."""
    homes = ((seq, _home(context.entries[seq])) for seq in seqs)
    last = max(context.sheltered.get(one, -1) for pair in homes for one in pair)
    prompt = "your next prompt" if last <= context.turns else "the prompt after your next one"
    return f"until the cache is cold, or until {prompt}"


def why(context: Context, key: Key) -> str:
    """Return the reason for a node's state as text; "" if there is nothing to explain."""
    entry, found = context.entries.get(key.seq), state(context, key)
    if entry is None:
        return ""
    if key.kind == "thinking" and context.unseen.lacks(entry.seq):
        return "the model no longer sees it"
    match found:
        case "dropped":
            edits = context.edits_of(entry.exchange.seq) if entry.exchange else []
            return decided(context, next((prun for prun, edit in edits if edit.kind == "drop"), -1))
        case "cleared" | "trimmed" | "repaired":
            return decided(
                context, [prun for prun, edit in context.edits_of(entry.seq) if edit.kind in _STATES][-1]
            )
        case "memo":
            return decided(context, key.part)
        case "in progress":
            return "the model has not answered it yet"
        case "pinned":
            return "never pruned automatically; P unpins it"
        case "restored":
            return f"restored by undo, not pruned automatically {spared_until(context, [key.seq])}"
        case "kept":
            return "kept by a summary: only you can prune it"
        case "summary":
            return "written by the model in place of earlier messages"
        case _:
            return context.locked(entry.seq) or context.locked(_home(entry))


def decided(context: Context, prun: int) -> str:
    """Return who decided a prune, and why."""
    record = context.pruns.get(prun)
    event = record.event if record else None
    if not isinstance(event, PrunApplied):
        return ""
    who = "the model" if event.source == "model" else event.strategy or "a strategy"
    if event.source == "user":
        return "by you"
    return f"{who}: {event.reason}" if event.reason else who


def parts_of(head: Entry) -> list[Key]:
    """Return the parts of an assistant message that cost tokens."""
    there: set[NodeKind] = set()
    for block in head.event.content if isinstance(head.event, AssistantMessage) else ():
        match block:
            case Text(text) if text and not text.isspace():
                there.add("text")
            case Thinking(_, signature) if signature:
                there.add("thinking")
            case ToolUse():
                there.add("calls")
            case _:
                pass
    kinds: tuple[NodeKind, ...] = ("thinking", "text", "calls")
    return [Key(kind, head.seq) for kind in kinds if kind in there]


def _is_instructions(piece: str) -> bool:
    return piece.startswith('{"text":"<instructions file=')


def texts_of(entry: Entry, kind: str) -> list[str]:
    """Return the texts of one part of an assistant message, as counted."""
    found: list[str] = []
    for block in entry.event.content if isinstance(entry.event, AssistantMessage) else ():
        match block:
            case Text(text) if kind == "text":
                found.append(text)
            case Thinking(thinking, signature) if kind == "thinking" and signature:
                found.append(thinking)
            case ToolUse(_, name, given) if kind == "calls":
                found.append(name + render.compact(given))
            case _:
                pass
    return found


def _described(call: ToolUse, summary: Summary) -> str:
    argument = summary(call.name, call.input) or (call_argument(call.input) or ("", ""))[1]
    return f"{call.name} {_first_line(argument)}".rstrip()


def _memo_words(text: str) -> str:
    return text.partition(">")[2].removesuffix("</pruned-memo>")


def _first_line(text: str) -> str:
    return text[: 4 * _LABEL_CHARS].strip().partition("\n")[0][:_LABEL_CHARS]


def tokens_pruned_by(context: Context, prun: int) -> int | None:
    """Return the tokens that a prune withholds, or an undo brought back (negative), as they were first shown.

    None for a record that was not folded.
    """
    row = context.prune_history.rows.get(prun)
    return None if row is None else row.shown


def prune_in_words(event: PrunApplied, tokens: int) -> str:
    """Return a prune of this many tokens in one line, with any memo below."""
    who = {"model": "the model", "user": "you"}.get(event.source) or event.strategy or "a strategy"
    count = event.messages_removed
    if event.reason and all(edit.kind == "strip" for edit in event.edits):
        return f"✂ {event.reason}"
    text = f"✂ pruned ~{in_tokens(max(0, tokens))}"  # a note may be longer than what it replaces
    text += f" in {count} {'entry' if count == 1 else 'entries'}, by {who}"
    if event.source == "strategy" and event.reason:
        text += f": {event.reason}"
    if event.thinking_blocks and "thinking block" not in event.reason:
        text += f" · {counted(event.thinking_blocks, 'thinking block')} lost"
    return text + (f"\nIts memo: {event.memo}" if event.memo else "")


def act_words(effect: "Impact", limit: int) -> str:
    """Return what an act on the context does and costs, in one line.

    `Frees 46.5K (7% → 2%) · about $0.04 now, pays back after 9 requests · 2 thinking blocks lost`
    """
    parts = (freed_words(effect, limit), price_words(effect.change), thinking_words(effect))
    return " · ".join(filter(None, parts))


def freed_words(effect: "Impact", limit: int) -> str:
    """Return the tokens that an act frees or adds, with the shares of the limit before and after."""
    if not effect.freed:
        return ""
    amount = f"{'Frees' if effect.freed > 0 else 'Adds'} {short(abs(effect.freed))}"
    return f"{amount} ({share(effect.before / limit)} → {share(effect.after / limit)})" if limit else amount


def price_words(change: Break | None) -> str:
    """Return what a change costs now, and after how many requests it has paid back."""
    if change is None:
        return ""
    if change.cost is None:
        return "price unknown"
    now = f"about {money(change.cost)} now" if change.cost else "costs nothing now"
    if change.even_after and change.cost:
        return f"{now}, pays back after {counted(change.even_after, 'request')}"
    return f"{now}, adds about {money(-change.gain)} a request" if change.gain and change.gain < 0 else now


def thinking_words(effect: "Impact") -> str:
    """Return the thinking that an act loses and restores."""
    moves = ((effect.lost.blocks, "lost"), (effect.back.blocks, "restored"))
    return " · ".join(f"{counted(blocks, 'thinking block')} {what}" for blocks, what in moves if blocks)
