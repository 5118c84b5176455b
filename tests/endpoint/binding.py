"""Is this thinking still in the conversation that it was thought in? The prefix check of newer models.

There a thinking block is bound to the tools, the system prompt and every earlier block: when one of them changed, or
when a thinking block between others is missing, the block and all later ones are refused. Leaving out the first or
the last thinking blocks, or all of them, is allowed. Source: the service's documentation of preserved thinking.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tests.endpoint.content import THINKING, Facts
from tests.endpoint.render import RenderedBlock
from tests.endpoint.shape import RefusedError

CHANGED = (
    "Invalid `{field}` in `{kind}` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)

_START = b"\0" * 16


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a reply is bound to: the digest of everything in front of it but thinking, the last thinking's tag."""

    digest: bytes = b""
    previous: str = ""

    def after(self, block: RenderedBlock) -> "Prefix":
        """The prefix of what follows this block."""
        return Prefix(_link(self.digest, block.key), self.previous) if self.digest else self


UNBOUND = Prefix()
"""For a model that does not bind its thinking."""


class PrefixChain:
    """Digests of every prefix of a sequence of blocks; what a sequence shares with the one before is not redone."""

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._digests: list[bytes] = [_START]

    def digests(self, keys: list[bytes]) -> list[bytes]:
        """The digest in front of each key, and behind the last."""
        shared = 0
        for old, new in zip(self._keys, keys, strict=False):
            if old != new:
                break
            shared += 1
        digests = self._digests[: shared + 1]
        for key in keys[shared:]:
            digests.append(_link(digests[-1], key))
        self._keys, self._digests = keys, digests
        return digests


def bind(
    preamble: Sequence[RenderedBlock], facts: Sequence[Facts], chain: PrefixChain
) -> tuple[Prefix, RefusedError | None]:
    """What the reply to this conversation is bound to, and the refusal of the first block out of its place."""
    keys = [block.key for block in preamble]
    for message in facts:
        keys += message.keys
    digests = chain.digests(keys)
    place, previous = len(preamble), ""
    refusal: RefusedError | None = None
    for index, message in enumerate(facts):
        if not message.thinking:
            place += len(message.blocks)
            continue
        signed = {thought.index: thought for thought in message.thinking}
        for at, kind in enumerate(message.kinds):
            if kind not in THINKING:
                place += 1
                continue
            thought = signed.get(at)
            if thought is None:
                continue
            origin = thought.origin
            moved = bool(previous) and origin.previous != previous
            if origin.prefix and refusal is None and (moved or origin.prefix != digests[place].hex()):
                field = "signature" if kind == "thinking" else "data"
                refusal = RefusedError(
                    f"messages.{index}.content.{at}", CHANGED.format(field=field, kind=kind)
                )
            previous = thought.tag
    return Prefix(digests[-1], previous), refusal


def _link(digest: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(digest + key, digest_size=16).digest()
