"""Shortens the input of a call, and finds the inputs that cost more to keep than to fetch again."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.expectations import Expectations, break_even
from prunecli.context.inputs import INPUT_KINDS, LongText, long_texts, shown_inputs, without
from prunecli.context.render import compact
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.messages import ToolUse

_MARK_TOKENS = 20
"""The tokens of what stands in place of a long text."""


def call_shown(view: View, head: Entry, call: ToolUse) -> ToolUse:
    """Return a call of this answer with its input as the context shows it."""
    cuts = shown_inputs([edit for _, edit in view.context.edits_of(head.seq)])
    return replace(call, input=cuts[call.id]) if call.id in cuts else call


def cut(view: View, head: Entry, call: ToolUse, texts: Sequence[LongText]) -> Edit | None:
    """Return the edit that leaves these texts out of a call's input, both as shown now, or None if it saves no
    tokens."""
    handle = f" | recall {head.seq} input" if view.recall else ""
    sizes = [view.about(view.count(one.text), head) for one in texts]
    marks = [
        f"[input pruned — {one.what}, ~{n:,} tokens{handle}]" for one, n in zip(texts, sizes, strict=True)
    ]
    text = without(call, texts, marks)
    before, after = view.count(call.name + compact(call.input)), view.count(call.name + text)
    return Edit("cut", head.seq, call.id, text, before, after) if after < before else None


_Text: TypeAlias = tuple[LongText, int, Sequence[float]]


class _Candidate(NamedTuple):
    """A call with its long texts, the least likely to be quoted first: each with raw tokens and the probability, by
    age, that it or one before it is quoted. `made` are the edits so far, by the number of texts that they leave out.
    """

    call: ToolUse
    texts: tuple[_Text, ...]
    made: dict[int, Edit | None]


class _Candidates(NamedTuple):
    """The calls of an exchange, and what a request that fetches their texts may cost if leaving any out gains."""

    calls: tuple[_Candidate, ...] = ()
    most: float = 0.0


_NONE = _Candidates()


def worthwhile(view: View, numbers: Expectations, ages: Sequence[int], fetch: float) -> list[Edit]:
    """Return the cuts whose expected gain is positive.

    `ages` are the newest answers, oldest first. `fetch` is the cost of a request that fetches an input again, in
    tokens written once and read from then on.
    """
    facts: Mapping[Exchange, _Candidates] = view.measured(
        ("cuts", id(numbers.inputs)), lambda exchange: _candidates(view, exchange, numbers)
    )
    edits = list[Edit]()
    for exchange in [one for one in view.exchanges if fetch < facts[one].most]:
        age = len(ages) - bisect_right(ages, exchange.seq)
        if age < numbers.min_age:
            continue
        at = max(0, bisect_right(numbers.ages, age) - 1)
        for call, texts, made in facts[exchange].calls:
            count = _most_gaining(texts, at, fetch)
            if count and count not in made:
                made[count] = cut(view, exchange.head, call, [text for text, *_ in texts[:count]])
            if count and (edit := made[count]):
                edits.append(edit)
    return edits


def _most_gaining(texts: Sequence[_Text], at: int, fetch: float) -> int:
    """Return how many of these texts, from the first on, gain most if they are left out; 0 if none gains."""
    best, count, saved, size = 0.0, 0, 0, 0
    for number, (_, raw, odds) in enumerate(texts, 1):
        saved, size = saved + max(0, raw - _MARK_TOKENS), size + raw
        net = saved - odds[at] * (fetch + size)
        if net > best:
            best, count = net, number
    return count


def _candidates(view: View, exchange: Exchange, numbers: Expectations) -> _Candidates:
    """Return the calls of an exchange with texts that may be cut; none if it is locked."""
    if not exchange.calls or not exchange.head.is_sent or view.locked(exchange):
        return _NONE
    found, most = list[_Candidate](), 0.0
    for own in exchange.calls:
        call = call_shown(view, exchange.head, own)
        sizes = [(text, view.count(text.text)) for text in long_texts(call) if text.kind in numbers.inputs]
        sizes.sort(key=lambda one: INPUT_KINDS.index(one[0].kind))
        texts, whole, saved = list[_Text](), 0, 0
        for text, raw in sizes:
            whole, saved = whole + raw, saved + max(0, raw - _MARK_TOKENS)
            odds = numbers.inputs[text.kind]
            texts.append((text, raw, odds))
            most = max(most, break_even(saved, whole, min(odds)))
        if texts:
            found.append(_Candidate(call, tuple(texts), {}))
    return _Candidates(tuple(found), most) if found else _NONE
