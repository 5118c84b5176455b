"""Counting tokens: raw estimates, and their conversion to the endpoint's counts.

*Raw* tokens are the counts of the configured counter (`[pruning] estimator`). Strategies, edits and the log use raw
tokens, so the same log gives the same decisions regardless of an endpoint's reports. Everything shown to the user or
the model is in the endpoint's tokens. `Scale` converts them with one ratio, which each reported prompt sets:

    prompt = fixed + ratio * (raw + words) + exact

`fixed` is the system prompt with the tools (and anything that the endpoint adds to them). `raw` is the raw tokens of
results and unreported answers. `words` is the tokens of user messages and summaries, estimated from their bytes so
that a first request needs no tokenizer. `exact` is the part without a ratio: the output tokens that the endpoint
reported for the answers in the context, and images, which are counted by their pixels. The parts add up to the whole
by construction.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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

_PRIOR = 500
"""Weight of the family's factor, in raw tokens, until enough is measured."""
RANGE = 1.6
"""The largest plausible ratio between a measured ratio and the family's factor."""
_LEAST = 0.25
"""A report below this share of the expected size does not cover the whole prompt: some servers report only uncached
tokens."""


_SYMBOLS = "[\u200d\ufe0f\u2600-\u27bf\U00010000-\U0010ffff]"
_MOST = 4
_ONE = "\u200d\ufe0f★☆☎☺♀♂♡♥♦♪♫✅✓✔✨❤➡🏻🏼👇👉👌👍👏💕🔥😀😁😂😉😊😍😘😭🙂🙏🤣"
_COMMON = "\U0001f1c0-\U0001f1ff\U0001f300-\U0001f53f\U0001f600-\U0001f6bf\U0001f900-\U0001f97f"
_TWO = f"{_ONE}\u2600-\u26bf\u2700-\u27bf{_COMMON}"
_THREE = f"{_TWO}\u26c0-\u26ff\U0001d400-\U0001d7ff\U0001f000-\U0001faff\U00020000-\U00020bff"
_FEWER = tuple(f"[{symbols}]" for symbols in (_ONE, _TWO, _THREE))
"""Symbols take four tokens each in o200k_base, and one less for each of these sets that contains them."""


_DENSE = "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]"
"""Chinese, Japanese and Korean characters. `re` compiles such patterns at first use, which delays no start."""


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
        dense = 0 if text.isascii() else len(re.findall(_DENSE, text))
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
    if text.isascii():
        return from_bytes(len(text))
    symbols = "".join(re.findall(_SYMBOLS, text))
    rest = len(text.encode("utf-8", "replace")) - len(symbols.encode())
    return from_bytes(rest) + _MOST * len(symbols) - sum(len(re.findall(few, symbols)) for few in _FEWER)


class Amount(NamedTuple):
    """An amount of tokens: raw, exact (reported answers, and images by pixels), and estimated from words."""

    raw: int = 0
    exact: int = 0
    words: int = 0

    def times(self, count: int) -> "Amount":
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


class Scale(NamedTuple):
    """The conversion to the endpoint's counts.

    `factor` is the model family's known number of tokens per raw token, `ratio` the one in use. `fixed` are the
    endpoint's tokens before the messages, `base` those that the first report measured. `measured`: these figures come
    from a report.
    """

    factor: float = 1.0
    ratio: float = 1.0
    fixed: float = 0.0
    base: float = 0.0
    measured: bool = False

    @staticmethod
    def of(factor: float, preamble: int) -> "Scale":
        """Return the scale before any report: `preamble` are the raw tokens of system prompt and tools."""
        return Scale(factor, factor, factor * preamble, factor * preamble)

    def tokens(self, raw: float, exact: float = 0, words: float = 0) -> int:
        """Return the endpoint's tokens for an amount."""
        return round(self.ratio * (raw + words) + exact)

    def total(self, raw: float, exact: float, words: float) -> int:
        """Return the tokens of a whole request with these messages."""
        return max(0, round(self.fixed + self.ratio * (raw + words) + exact))

    def for_preamble(self, raw: int) -> "Scale":
        """Return the scale, until the next report, for another system prompt or tools of this many raw tokens."""
        return self._replace(fixed=self.factor * raw, base=self.factor * raw, measured=False)

    def for_model(self, factor: float) -> "Scale":
        """Return the scale, until the next report, for a model family with this factor.

        How the endpoint's counts differ from the family's factor depends on the content, so it stays the same.
        """
        by = factor / self.factor
        return Scale(factor, by * self.ratio, by * self.fixed, by * self.base)

    def reported(self, prompt: int, amount: Amount) -> "Scale":
        """Return the scale after a report of `prompt` tokens for messages of this amount.

        The first report tells how much precedes the messages; later ones set the ratio. The part before the messages
        takes what a plausible ratio does not explain.
        """
        raw, exact, words = amount
        estimated, rest = raw + words, prompt - exact
        expected = self.ratio * estimated + exact + (self.fixed if self.measured else 0)
        if prompt < _LEAST * expected or rest <= 0:
            return self
        base, ratio = self.base, self.ratio
        if not self.measured:
            first = rest - ratio * estimated
            base = first if first > 0 and (not base or base / 2 <= first <= 2 * base) else base
        ratio = (self.factor * _PRIOR + rest - base) / (_PRIOR + estimated)
        ratio = min(max(ratio, self.factor / RANGE), self.factor * RANGE, rest / max(1, estimated))
        return Scale(self.factor, ratio, rest - ratio * estimated, base, measured=True)


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
