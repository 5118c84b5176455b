"""Counts tokens with o200k_base. The vocabulary is part of the package and never downloaded.

This is not Claude's tokenizer; models.token_factor corrects for the difference. Loading takes 0.3 to 0.4 s of CPU, so
it runs in a thread; only the last step, about 0.2 s, blocks the interpreter.
"""

import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.errors import ConfigError

VOCABULARY = "o200k_base.tokens.xz"
SHA256 = "2f451f31d7403017d0b0dc6319ded23a09f33f573b1635c001fc6b91a1c21302"
"""The sha256 of the unpacked file."""

MAX_PIECE = 32_768
"""Maximum characters to encode at once. A megabyte of spaces overflows the stack of tiktoken's regex engine."""

_SLICE = 4_096
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""The pattern of o200k_base, from the published definition of the encoding."""


class Tokenizer:
    """A thread-safe tokenizer for o200k_base. `name` is the value of `[pruning] estimator`."""

    name = "tiktoken"

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        self._encode = encode

    def count(self, text: str) -> int:
        """Return the number of tokens in the text. Texts over MAX_PIECE are counted in pieces, with at most one token
        too many each."""
        if len(text) <= MAX_PIECE:
            return len(self._encode(text))
        return sum(len(self._encode(piece)) for piece in pieces(text))


class Shipped:
    """The shipped tokenizer, loaded on first use. Thread-safe."""

    name = "tiktoken"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None
        self._thread: threading.Thread | None = None

    def warm(self) -> None:
        """Start loading the tokenizer in a thread, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self.load, name="tokenizer", daemon=True)
            self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether the tokenizer is loaded, so that counting does not wait."""
        return self._loaded is not None

    def load(self) -> Tokenizer:
        """Load the tokenizer if needed; call this in a thread. Raises ConfigError for a damaged installation."""
        with self._lock:
            if self._loaded is None:
                self._loaded = load()
            return self._loaded

    def count(self, text: str) -> int:
        return (self._loaded or self.load()).count(text) if text else 0


SHIPPED = Shipped()
"""The tokenizer of this process."""


def counter(estimator: str) -> TokenCounter:
    return Chars4() if estimator == "chars4" else SHIPPED


def pieces(text: str, limit: int = MAX_PIECE) -> Iterator[str]:
    """Yield the text in pieces of at most `limit` characters, cut after a line end if one is near."""
    start = 0
    while start < len(text):
        end = start + limit
        if end < len(text):
            end = (text.rfind("\n", start + limit // 2, end) + 1) or end
        yield text[start:end]
        start = end


def load(folder: Path = Path(__file__).parent.parent / "data") -> Tokenizer:
    """Return the tokenizer of the vocabulary in this folder. Raises ConfigError for a missing or damaged file."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks(folder), special_tokens={}
    )
    return Tokenizer(encoding.encode_ordinary)


def ranks(folder: Path) -> dict[bytes, int]:
    """Return a map from token to rank for the vocabulary in this folder. Raises ConfigError as `load` does."""
    return _ranks(_unpacked(folder / VOCABULARY))


def _unpacked(path: Path) -> bytes:
    import lzma

    try:
        data = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise ConfigError(f"{path}: can't be read: {error}", "reinstall prunecli") from error
    if sha256(data).hexdigest() != SHA256:
        raise ConfigError(f"{path}: wrong vocabulary file", "reinstall prunecli")
    return data


def _ranks(data: bytes) -> dict[bytes, int]:
    """Return a map from token to rank. The data has the number of tokens (4 bytes), their lengths, then their bytes,
    in the order of their ranks.

    Works in slices, so that other threads can run.
    """
    count = int.from_bytes(data[:4], "big")
    lengths, start = data[4 : 4 + count], 4 + count
    ranks: dict[bytes, int] = {}
    for first in range(0, count, _SLICE):
        for rank, length in enumerate(lengths[first : first + _SLICE], first):
            ranks[data[start : start + length]] = rank
            start += length
        time.sleep(0)
    return ranks
