"""Counting tokens: raw estimates, and their conversion to the endpoint's counts.

*Raw* tokens are the counts of the configured counter (`[pruning] estimator`). Strategies, edits and the log use raw
tokens, so the same log gives the same decisions regardless of an endpoint's reports. Everything shown to the user or
the model is in the endpoint's tokens. `Scale` converts them, and is updated by each reported prompt:

    prompt = fixed + rate * (raw + wordy * words) + exact

`fixed` is the system prompt with the tools (and anything that the endpoint adds to them). `raw` is the raw tokens of
results and unreported answers. `words` is the tokens of user messages and summaries, estimated from their bytes so
that a first request needs no tokenizer. `exact` is the part without a rate: the output tokens that the endpoint
reported for the answers in the context, and images, which are counted by their pixels. The parts add up to the whole
by construction.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

from prunecli.model.messages import Block, Document, Image, Text, Thinking, ToolUse, is_media

CHARS_PER_TOKEN = 4

IMAGE_TOKENS = 1_600
"""Tokens of an image of unknown size."""
PATCH = 28
"""An image of known size takes one token for each square with sides of this many pixels, rounded up."""
MOST_IMAGE_TOKENS = 4_784
"""Tokens of the largest image: the endpoint shrinks larger ones."""
PAGE_TOKENS = 2_500
"""Tokens of a document's page: its text and a picture of it."""
_NO_MEDIA = frozenset((Text, Thinking, ToolUse))

_PRIOR, _WORDS_PRIOR = 200, 100
"""Weight of prior knowledge, in raw tokens and in those of words, until enough is measured."""
_DRIFT = 0.25
"""Maximum drift of `fixed` from its first measurement before `wordy` is measured again."""
RANGE = 1.6
"""The largest ratio between a measured rate and the family's factor."""
_LEAST = 0.25
"""A report below this share of the expected size does not cover the whole prompt."""
_STEP = 0.002
"""Minimum difference for a measured rate to replace the rate in use, so that figures stay stable."""


_SYMBOLS = re.compile("[\u200d\ufe0f\u2600-\u27bf\U00010000-\U0010ffff]")
_MOST = 4
_ONE = "\u200d\ufe0f★☆☎☺♀♂♡♥♦♪♫✅✓✔✨❤➡🏻🏼👇👉👌👍👏💕🔥😀😁😂😉😊😍😘😭🙂🙏🤣"
_COMMON = "\U0001f1c0-\U0001f1ff\U0001f300-\U0001f53f\U0001f600-\U0001f6bf\U0001f900-\U0001f97f"
_TWO = f"{_ONE}\u2600-\u26bf\u2700-\u27bf{_COMMON}"
_THREE = f"{_TWO}\u26c0-\u26ff\U0001d400-\U0001d7ff\U0001f000-\U0001faff\U00020000-\U00020bff"
_FEWER = tuple(re.compile(f"[{symbols}]") for symbols in (_ONE, _TWO, _THREE))
"""Symbols take four tokens each in o200k_base, and one less for each of these sets that contains them."""


@cache
def _dense() -> re.Pattern[str]:
    """Return the pattern of Chinese, Japanese and Korean characters; compiling it would delay every start."""
    return re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")


class TokenCounter(Protocol):
    """Counts raw tokens of the text, uncalibrated. `name` is the value of `[pruning] estimator`."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens in the text."""


class Chars4:
    """ceil(characters / 4), as several of the original programs estimate.

    A Chinese, Japanese or Korean character counts as 5/8 of a token, its average in o200k_base.
    """

    name = "chars4"

    def count(self, text: str) -> int:
        """Return the number of tokens in the text."""
        dense = 0 if text.isascii() else len(_dense().findall(text))
        return -(-(2 * len(text) + 3 * dense) // (2 * CHARS_PER_TOKEN))


def from_bytes(size: int) -> int:
    """Return the raw tokens for a number of UTF-8 bytes, accurate to a tenth for code and prose, including
    Chinese."""
    return -(-size // CHARS_PER_TOKEN)


def from_words(text: str) -> int:
    """Return the raw tokens of uncounted text: a prompt or a summary.

    Emoji, symbols and rare scripts take more tokens than their bytes suggest, by block. All other text takes a
    quarter of its bytes.
    """
    symbols = "" if text.isascii() else "".join(_SYMBOLS.findall(text))
    rest = len(text.encode("utf-8", "replace")) - len(symbols.encode())
    return from_bytes(rest) + _MOST * len(symbols) - sum(len(few.findall(symbols)) for few in _FEWER)


class Amount(NamedTuple):
    """An amount of tokens: raw, exact (reported answers, and images by pixels), and estimated from words."""

    raw: int = 0
    exact: int = 0
    words: int = 0

    def times(self, count: int) -> "Amount":
        """Return a multiple of the amount."""
        return Amount(self.raw * count, self.exact * count, self.words * count)

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum of both."""
        raw, exact, words = other
        return Amount(self.raw + raw, self.exact + exact, self.words + words)

    def minus(self, other: "Amount") -> "Amount":
        """Return the difference of both."""
        raw, exact, words = other
        return Amount(self.raw - raw, self.exact - exact, self.words - words)


NOTHING = Amount()


@dataclass(slots=True, eq=False)
class Sizes:
    """The sizes of some content, each stored on first use; the plays of a recorded session share them.

    `tokens` is the raw estimate of its texts, and `spoken_tokens` the same without thinking. `chars` are the
    characters of the texts, `images` is the raw estimate of the images, and `blocks` is the number of blocks on the
    wire. -1 if not known yet. `amount` is the whole content without images, None if not known yet.
    """

    tokens: int = -1
    spoken_tokens: int = -1
    chars: int = -1
    images: int = -1
    blocks: int = -1
    amount: Amount | None = None


def words_of(text: str) -> Amount:
    """Return the amount for uncounted text: a prompt or a summary."""
    return Amount(words=from_words(text))


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of the amounts."""
    raw = exact = words = 0
    for amount in amounts:
        raw, exact, words = raw + amount[0], exact + amount[1], words + amount[2]
    return Amount(raw, exact, words)


class Fit(NamedTuple):
    """A least-squares slope through the origin: sums of x*y and of x squared."""

    products: float = 0.0
    squares: float = 0.0

    def seeing(self, x: float, y: float) -> "Fit":
        """Add a point."""
        return Fit(self.products + x * y, self.squares + x * x)

    def slope(self, expected: float, weight: float) -> float:
        """Return the slope, with an expected one weighed in as a point at x = `weight`."""
        return (expected * weight**2 + self.products) / (weight**2 + self.squares)


class Scale(NamedTuple):
    """The conversion to the endpoint's counts.

    `factor` is the model family's known number of tokens per raw token, `rate` the measured number, and `wordy` the
    measured raw tokens per token estimated from words. `fixed` is the tokens before the messages; `base` is their
    first measurement, None before any report. `even` is close to 1 and spreads the remainder of the last report over
    all estimated messages. `part` is below 1 if the endpoint reports fewer tokens than the
    messages would take, because something left the prompt without a record in the log. `measured`: these figures are
    based on a report. `rates` and `words` hold the measurements behind `rate` and `wordy`. `share` is below 1 if the
    endpoint counted only this part of the expected system prompt and tools; it may do so for messages as well.
    """

    factor: float = 1.0
    rate: float = 1.0
    wordy: float = 1.0
    even: float = 1.0
    part: float = 1.0
    fixed: float = 0.0
    base: float | None = None
    measured: bool = False
    rates: Fit = Fit()
    words: Fit = Fit()
    share: float = 1.0

    @staticmethod
    def of(factor: float, preamble: int) -> "Scale":
        """Return the scale before any report: `preamble` are the raw tokens of system prompt and tools."""
        return Scale(factor, factor, fixed=factor * preamble)

    def tokens(self, raw: float, exact: float = 0, words: float = 0) -> int:
        """Return the endpoint's tokens for an amount."""
        return round(self.part * self._spread(raw, exact, words))

    def total(self, raw: float, exact: float, words: float) -> int:
        """Return the tokens of a whole request with these messages."""
        return max(0, round(self.fixed + self.part * self._spread(raw, exact, words)))

    def _spread(self, raw: float, exact: float, words: float) -> float:
        return self.even * self.rate * (raw + self.wordy * words) + exact

    def weight(self, raw: float, exact: float, words: float) -> float:
        """Return the endpoint's tokens for an amount by the measured rates alone, unrounded."""
        return self.rate * (raw + self.wordy * words) + exact

    def weighs_like(self, other: "Scale") -> bool:
        """Return whether `weight` gives the same result in both scales for every amount."""
        return self.rate == other.rate and self.wordy == other.wordy

    def for_preamble(self, raw: int) -> "Scale":
        """Return the scale, until the next report, for another system prompt or tools of this many raw tokens."""
        return self._replace(fixed=self.factor * raw, base=None, share=1.0)

    def for_model(self, factor: float) -> "Scale":
        """Return the scale, until the next report, for a model family with this factor.

        The ratio of the endpoint's counts to the family's factor depends on the content, so it stays the same.
        """
        by = factor / self.factor
        rates = Fit(by * self.rates.products, self.rates.squares)
        scaled = self._replace(factor=factor, rate=by * self.rate, fixed=by * self.fixed, rates=rates)
        return scaled._replace(base=None, measured=False)

    def grew(self, by: int, amount: Amount) -> "Scale":
        """Return the scale after a prompt grew by `by` tokens and only this amount was appended.

        This measures `rate` and `wordy`: whole prompts contain too much that is only estimated.
        """
        raw, exact, words = amount
        if raw >= _PRIOR / 5 and words <= raw / 20:
            rate = (by - exact - self.rate * self.wordy * words) / raw
            if not self.share / RANGE <= rate / self.factor <= RANGE:
                return self
            rates = self.rates.seeing(raw, raw * rate)
            return self._replace(rates=rates, rate=_stepped(self.rate, rates.slope(self.factor, _PRIOR)))
        if words >= _WORDS_PRIOR / 5 and raw <= words:
            wordy = ((by - exact) / self.rate - raw) / words
            if not 1 / RANGE <= wordy <= RANGE:
                return self
            fit = self.words.seeing(words, words * wordy)
            return self._replace(words=fit, wordy=_stepped(self.wordy, fit.slope(1.0, _WORDS_PRIOR)))
        return self

    def reported(self, prompt: int, amount: Amount) -> "Scale":
        """Return the scale after a report of `prompt` tokens for messages of this amount.

        While plausible, the remainder that `rate` does not explain is split between `fixed` and the estimated
        messages in proportion to their sizes, so each moves little; otherwise it is attributed to words. A report far
        below the estimate does not cover the whole prompt, since some servers report only uncached tokens.
        """
        raw, exact, words = amount
        estimated = self.rate * (raw + self.wordy * words)
        if prompt < _LEAST * (estimated + exact):
            return self
        fixed = prompt - estimated - exact
        first = self.fixed if self.base is None else self.base
        plausible = fixed >= first / 2 if self.base is None else abs(fixed - first) <= _DRIFT * first
        if plausible:
            base, share = self.base, self.share
            if base is None:
                base = first * (prompt - exact) / (first + estimated) if first else fixed
                share = min(share, share * base / first) if first else share
            even = 1 + (fixed - base) / max(1.0, base + estimated)
            fixed = prompt - even * estimated - exact
            measured = True, self.rates, self.words, share
            return Scale(self.factor, self.rate, self.wordy, even, 1.0, fixed, base, *measured)
        rest = (prompt - first - exact) / self.rate - raw
        wordy = min(max((rest + _PRIOR) / (words + _PRIOR), 1 / RANGE), RANGE)
        fixed = prompt - self.rate * (raw + wordy * words) - exact
        part = 1.0
        if fixed < 0:  # something left the prompt without a record
            part = prompt / max(1.0, prompt - fixed + first)
            if part < _LEAST:
                return self
            fixed = first * part
        return self._replace(wordy=wordy, even=1.0, part=part, fixed=fixed, base=first, measured=True)


def _stepped(used: float, measured: float) -> float:
    return measured if abs(measured - used) > _STEP * used else used


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """Divide `total` in proportion to the weights, into whole numbers that add up to it (largest remainder)."""
    whole = sum(weights)
    if whole <= 0:
        return [total if at == 0 else 0 for at in range(len(weights))]
    parts = [total * weight // whole for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % whole), at))
    for at in by_rest[: total - sum(parts)]:
        parts[at] += 1
    return parts


def media_tokens(block: Block) -> int:
    """Return the raw estimate of an image or a document."""
    match block:
        case Document(pages=pages):
            return max(1, pages) * PAGE_TOKENS
        case Image(width=width, height=height):
            return min(-(-width // PATCH) * -(-height // PATCH), MOST_IMAGE_TOKENS) or IMAGE_TOKENS
        case _:
            return IMAGE_TOKENS


def image_tokens(content: Sequence[Block]) -> int:
    """Return the raw estimate of the images and documents in these blocks."""
    if _NO_MEDIA.issuperset(map(type, content)):
        return 0
    return sum([media_tokens(block) for block in content if is_media(block)])


def result_tokens(content: Sequence[Block], count: Callable[[str], int]) -> int:
    """Return the raw estimate of a result's content."""
    return sum(count(block.text) for block in content if isinstance(block, Text)) + image_tokens(content)
