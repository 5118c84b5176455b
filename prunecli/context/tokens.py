"""Counting tokens: raw estimates, and how the endpoint counts.

A *raw* token is what the configured counter (`[pruning] estimator`) says of a text. Strategies, edits and the log
use raw tokens, so that the same log gives the same decisions whatever an endpoint reports. Everything a person or
the model reads is in the endpoint's tokens: `Scale` converts, and learns from each reported prompt:

    prompt = fixed + rate * (raw + wordy * words) + exact

`fixed` is the system prompt with the tools (and whatever the endpoint adds to them), `raw` the raw tokens of results
and unreported answers, `words` those of the user's words and of summaries, estimated from their bytes so that a first
request needs no tokenizer, `exact` the output tokens that the endpoint reported of the answers in the context. The
parts add up to the whole by construction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

CHARS_PER_TOKEN = 4

_PRIOR, _WORDS_PRIOR = 200, 100
"""Raw tokens, and those of words, by which what is known beforehand weighs in until there is enough to measure."""
_DRIFT = 0.25
"""Share by which `fixed` may wander from its first measurement before `wordy` is measured again."""
_RANGE = 1.6
"""How many times larger or smaller than the family's factor a measured rate may be."""
_LEAST = 0.25
"""Share of what is expected below which a report is not taken for the whole prompt."""
_STEP = 0.002
"""Share by which a measured rate differs from the one in use before it replaces that: figures shown should rest."""


class TokenCounter(Protocol):
    """Counts tokens of a text, raw: no calibration. `name` is the value of `[pruning] estimator`."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of the text."""
        ...


class Chars4:
    """ceil(characters / 4): the estimate of several of the original programs."""

    name = "chars4"

    def count(self, text: str) -> int:
        """Tokens of the text."""
        return -(-len(text) // CHARS_PER_TOKEN)


def from_bytes(size: int) -> int:
    """Raw tokens of so many bytes of UTF-8: right for code and prose within a tenth, also in Chinese."""
    return -(-size // CHARS_PER_TOKEN)


def from_words(text: str) -> int:
    """Raw tokens of words that nobody has counted: a prompt, or a summary. Characters of four bytes, such as emoji,
    take one to two tokens each, and joined ones more."""
    data = text.encode("utf-8", "replace")
    return from_bytes(len(data) + 2 * data.count(b"\xf0"))


class Amount(NamedTuple):
    """Tokens of something: raw ones, those that the endpoint itself reported of answers, and estimates of words."""

    raw: int = 0
    exact: int = 0
    words: int = 0

    def times(self, count: int) -> "Amount":
        """So many times as much."""
        return Amount(self.raw * count, self.exact * count, self.words * count)

    def plus(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(self.raw + other.raw, self.exact + other.exact, self.words + other.words)

    def minus(self, other: "Amount") -> "Amount":
        """This without the other."""
        return Amount(self.raw - other.raw, self.exact - other.exact, self.words - other.words)


NOTHING = Amount()


def words_of(text: str) -> Amount:
    """What words that nobody has counted take: a prompt, or a summary."""
    return Amount(words=from_words(text))


def total(amounts: Iterable[Amount]) -> Amount:
    """All of them together."""
    found = list(amounts)
    return Amount(*map(sum, zip(*found, strict=True))) if found else NOTHING


class Fit(NamedTuple):
    """The slope of a line through the origin, by least squares: sums of x*y and of x squared."""

    products: float = 0.0
    squares: float = 0.0

    def seeing(self, x: float, y: float) -> "Fit":
        """With one more point."""
        return Fit(self.products + x * y, self.squares + x * x)

    def slope(self, expected: float, weight: float) -> float:
        """The slope where one was expected, as if from a point at x = `weight`."""
        return (expected * weight**2 + self.products) / (weight**2 + self.squares)


@dataclass(frozen=True, slots=True)
class Scale:
    """How the endpoint counts. `factor` is the model family's tokens for one raw token, known beforehand; `rate` is
    what was measured, `wordy` the measured raw tokens for one that was estimated of words.

    `fixed` are the tokens in front of the messages; `base` is what they were first measured as, None before any
    report. `part` is below 1 where the endpoint reports less than the messages would take: then something left the
    prompt that the log does not tell. `measured` says whether a report stands behind these figures. `rates` and
    `words` hold what `rate` and `wordy` were measured from.
    """

    factor: float = 1.0
    rate: float = 1.0
    wordy: float = 1.0
    part: float = 1.0
    fixed: float = 0.0
    base: float | None = None
    measured: bool = False
    rates: Fit = Fit()
    words: Fit = Fit()

    @staticmethod
    def of(factor: float, preamble: int) -> "Scale":
        """The scale before any report: `preamble` are the raw tokens of system prompt and tools."""
        return Scale(factor, factor, fixed=factor * preamble)

    def tokens(self, raw: float, exact: float = 0, words: float = 0) -> int:
        """The endpoint's tokens for an amount."""
        return round(self.part * self._weight(raw, exact, words))

    def total(self, raw: float, exact: float, words: float) -> int:
        """Tokens of a whole request whose messages have this amount."""
        return max(0, round(self.fixed + self.part * self._weight(raw, exact, words)))

    def _weight(self, raw: float, exact: float, words: float) -> float:
        return self.rate * (raw + self.wordy * words) + exact

    def for_preamble(self, raw: int) -> "Scale":
        """With another system prompt or other tools, of so many raw tokens: estimated until the next report."""
        return replace(self, fixed=self.factor * raw, base=None)

    def for_model(self, factor: float) -> "Scale":
        """For a model of another family: its factor until the next report."""
        return replace(Scale.of(factor, 0), fixed=self.fixed * factor / self.factor)

    def grew(self, by: int, amount: Amount) -> "Scale":
        """The scale after a prompt grew `by` tokens when this amount was appended and nothing else changed.

        This is what measures `rate` and `wordy`: whole prompts hold too much that is only estimated.
        """
        raw, exact, words = amount
        if raw >= _PRIOR / 5 and words <= raw / 20:
            rate = (by - exact - self.rate * self.wordy * words) / raw
            if not 1 / _RANGE <= rate / self.factor <= _RANGE:
                return self
            rates = self.rates.seeing(raw, raw * rate)
            return replace(self, rates=rates, rate=_stepped(self.rate, rates.slope(self.factor, _PRIOR)))
        if words >= _WORDS_PRIOR / 5 and raw <= words:
            wordy = ((by - exact) / self.rate - raw) / words
            if not 1 / _RANGE <= wordy <= _RANGE:
                return self
            fit = self.words.seeing(words, words * wordy)
            return replace(self, words=fit, wordy=_stepped(self.wordy, fit.slope(1.0, _WORDS_PRIOR)))
        return self

    def reported(self, prompt: int, amount: Amount) -> "Scale":
        """The scale after a report of `prompt` tokens for a request whose messages have this amount.

        What `rate` leaves over is taken for `fixed` while that is plausible, then for words. A report of far less
        than the messages is none of the whole prompt: some servers report what they had not cached.
        """
        if prompt < _LEAST * self._weight(*amount):
            return self
        fixed = prompt - self._weight(*amount)
        first = self.fixed if self.base is None else self.base
        plausible = fixed >= first / 2 if self.base is None else abs(fixed - first) <= _DRIFT * first
        if plausible:
            base = fixed if self.base is None else first
            return replace(self, part=1.0, fixed=fixed, base=base, measured=True)
        raw, exact, words = amount
        rest = (prompt - first - exact) / self.rate - raw
        wordy = min(max((rest + _PRIOR) / (words + _PRIOR), 1 / _RANGE), _RANGE)
        fixed = prompt - self.rate * (raw + wordy * words) - exact
        part = 1.0
        if fixed < 0:  # something left the prompt that the log does not tell
            part = prompt / max(1.0, prompt - fixed + first)
            fixed = first * part
        return replace(self, wordy=wordy, part=part, fixed=fixed, base=first, measured=True)


def _stepped(used: float, measured: float) -> float:
    return measured if abs(measured - used) > _STEP * used else used


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """`total` divided in proportion to the weights, in whole numbers that sum to it (largest remainder)."""
    whole = sum(weights)
    if whole <= 0:
        return [total if at == 0 else 0 for at in range(len(weights))]
    parts = [total * weight // whole for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % whole), at))
    for at in by_rest[: total - sum(parts)]:
        parts[at] += 1
    return parts
