"""Repairs histories that the endpoint rejects.

Each known kind of rejection leads to a recorded edit, so that the session stays repaired.
"""

import re
from collections.abc import Sequence

from prunecli.context.exchange import Entry
from prunecli.context.ledger import prun_applied
from prunecli.context.lost_thinking import has_thinking
from prunecli.context.thoughts import thinks
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.model.messages import Document, Image
from prunecli.model.requests import Role, posted

_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_NAMED = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_TOO_MANY = re.compile(r"too many images\D*(\d+) > (\d+)")


_TOO_MANY_PAGES = re.compile(r"maximum of (\d+) PDF pages")


def strip_thinking(view: View, refusal: str = "") -> PrunApplied | None:
    """Return the event that leaves out thinking after the endpoint rejected it; None if there is none.

    It affects the answer named in the error and all later ones, which build on it. If no answer is named, it affects
    all thinking.
    """
    context = view.context
    first = _named_answer(view, refusal)
    seqs = [
        exchange.seq
        for exchange in context.exchanges
        if exchange.seq >= first and has_thinking(exchange.head) and thinks(context, exchange.seq)
    ]
    return left_out(view, seqs, f"thinking from entry {first} on" if first else "all earlier thinking")


def strip_stale(view: View) -> PrunApplied | None:
    """Return the event that leaves out all thinking that no longer fits the conversation; None if there is none."""
    return left_out(view, view.context.thoughts.stale(), "thinking that no longer fits the conversation")


def left_out(view: View, seqs: Sequence[int], what: str) -> PrunApplied | None:
    """Return the event that leaves out the thinking of these answers; None without answers."""
    if not seqs:
        return None
    edits = [Edit("strip", seq) for seq in seqs]
    return prun_applied(view, "strategy", edits, strategy="repair", reason=f"{what} was left out")


def summary_as_text(view: View, why: str) -> PrunApplied | None:
    """Return the event that sends the endpoint's summary as text from now on; None if no summary is sent as a
    block."""
    context = view.context
    first = context.items[0] if context.items else None
    if first is None or not first.block or context.text_edit(first.seq):
        return None
    tokens = view.tokens(first)
    edit = Edit("repair", first.seq, None, first.text, tokens, tokens)
    return prun_applied(view, "strategy", [edit], strategy="repair", reason=why)


def _named_answer(view: View, refusal: str) -> int:
    """Return the seq of the answer whose block an error names, 0 if the error names none."""
    entry = _named(view, _PLACE.search(refusal), role="assistant")
    return entry.seq if entry else 0


def _named(view: View, place: re.Match[str] | None, role: Role | None = None) -> Entry | None:
    """Return the entry that a place in the request shows, if that is in a message of this role."""
    messages = posted(view.context.messages())
    message = messages[int(place[1])] if place and int(place[1]) < len(messages) else None
    if place is None or message is None or message.role != (role or message.role):
        return None
    block = int(place[2] or 0)
    return view.context.entries.get(message.seqs[block]) if block < len(message.seqs) else None


def repair_image(view: View, refusal: str) -> PrunApplied | None:
    """Return the event that replaces the images and documents of the entry named in an error.

    If there are too many images, the oldest one is replaced. Returns None if the error names no entry with an image.
    All text of the entry is kept.
    """
    if many := _TOO_MANY.search(refusal):
        return leave_out_images(view, count=int(many[1]) - int(many[2]) * 3 // 4)
    if pages := _TOO_MANY_PAGES.search(refusal):
        return _leave_out_documents(view, int(pages[1]))
    entry = _named(view, _PLACE.search(refusal))
    content = getattr(entry.event, "content", ()) if entry else ()
    if entry is None or not any(isinstance(one, Image | Document) for one in content):
        return None
    edit = _without_images(view, entry, "the endpoint refused it")
    return prun_applied(
        view, "strategy", [edit], strategy="repair", reason=f"{_what(entry)} was refused: {refusal[:200]}"
    )


def leave_out_images(view: View, excess: int = 0, count: int = 0) -> PrunApplied | None:
    """Return the event that leaves out the oldest images, because the endpoint limits size and count.

    Images are left out until the request is `excess` bytes smaller and has `count` fewer images. Returns None without
    images. All text of their entries is kept.
    """
    context, edits = view.context, list[Edit]()
    for entry in context.entries.values():
        edit = context.text_edit(entry.seq)
        if excess <= 0 and count <= 0:
            break
        if (edit is None or edit.kind != "repair") and (sizes := _image_bytes(entry)):
            excess, count = excess - sum(sizes), count - len(sizes)
            edits.append(_without_images(view, entry, "the request had too many"))
    if not edits:
        return None
    return prun_applied(view, "strategy", edits, strategy="repair", reason="the oldest images were left out")


def _leave_out_documents(view: View, most: int) -> PrunApplied | None:
    """Return the event that leaves out the oldest documents until at most this many pages are left."""
    context = view.context
    pages = {entry: _pages(entry) for entry in context.entries.values()}
    shown = [entry for entry, count in pages.items() if count and context.text_edit(entry.seq) is None]
    excess, edits = sum(pages[entry] for entry in shown) - most, list[Edit]()
    for entry in shown:
        if excess <= 0 and edits:
            break
        excess -= pages[entry]
        edits.append(_without_images(view, entry, "the request had too many pages"))
    if not edits:
        return None
    return prun_applied(
        view, "strategy", edits, strategy="repair", reason="the oldest documents were left out"
    )


def _pages(entry: Entry) -> int:
    return sum(max(1, block.pages) for block in entry.content if isinstance(block, Document))


def named_entry(view: View, refusal: str) -> Entry | None:
    """Return the entry that another kind of error names, if `leave_out` can help."""
    entry = _named(view, _NAMED.search(refusal))
    return entry if entry and leave_out(view, entry) else None


def leave_out(view: View, entry: Entry) -> PrunApplied | None:
    """Return the event that omits a rejected entry from all later requests.

    The text of a result or an attachment is replaced; an answer is dropped with its results. Returns None for user
    messages, which are always kept, for an answer whose calls are still running, and for an entry that is already
    left out.
    """
    context, exchange = view.context, entry.exchange
    edit = context.text_edit(entry.seq)
    if not (exchange or entry.is_attached) or not view.shows(entry) or (edit and edit.kind == "repair"):
        return None
    if entry.kind == "result" or exchange is None:
        text = "[left out: the endpoint refused it]"
        edit = Edit("repair", entry.seq, None, text, view.tokens(entry), view.count(text))
    elif exchange is not context.in_progress:
        edit = view.drop(exchange)
    else:
        return None
    return prun_applied(view, "user", [edit], reason="the endpoint refused it")


def _image_bytes(entry: Entry) -> list[int]:
    content = getattr(entry.event, "content", ())
    return [len(block.data) for block in content if isinstance(block, Image | Document)]


def _without_images(view: View, entry: Entry, why: str) -> Edit:
    text = "\n".join(filter(None, [*entry.typed, entry.text, f"[{_what(entry)} was left out: {why}]"]))
    return Edit("repair", entry.seq, None, text, view.tokens(entry), view.count(text))


def _what(entry: Entry) -> str:
    return "a document" if any(isinstance(block, Document) for block in entry.content) else "an image"
