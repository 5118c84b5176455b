"""Is this thinking still in the conversation that it was thought in? The three checks of newer models.

There a thinking block is bound to the tools, the system prompt and every earlier block, and knows which thinking
block came before it: when one of them changed, or when a thinking block between others is missing, the block is
invalid, and so are the later ones that follow on it. Leaving out the first or the last thinking blocks, or all of
them, is allowed; what is thought after a change is bound to what it saw. Source: the service's documentation of
preserved thinking.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.endpoint.content import THINKING, Facts, Thought
from tests.endpoint.readers import may_read
from tests.endpoint.render import RenderedBlock
from tests.endpoint.rules import BINDING_CONTROLS, Model
from tests.endpoint.shape import Json, RefusedError
from tests.endpoint.summaries import continued

CHANGED = (
    "Invalid `{field}` in `{kind}` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
DIFFERS = " Content before this block differs from when it was created, first at `{place}`."
NEEDS_BETA = f" That setting requires the `{BINDING_CONTROLS}` value in the `anthropic-beta` header."

Mismatch: TypeAlias = Literal["error", "drop_block", "allow"]
"""What is done with thinking that is out of its conversation; "allow" is what older accounts get."""

_START = b"\0" * 16


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a reply is bound to: the digest of everything in front of it but thinking, the last thinking's tag, and
    the account that asked."""

    digest: bytes = b""
    previous: str = ""
    account: str = ""

    def after(self, block: RenderedBlock) -> "Prefix":
        """The prefix of what follows this block."""
        if not self.digest:
            return self
        return Prefix(_link(self.digest, block.key), self.previous, self.account)


UNBOUND = Prefix()
"""For a request that was not read."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the thinking of a request: its model, its account, what it does with mismatches, and whether it sent
    the header that this needs."""

    model: Model
    account: str
    mismatch: Mismatch
    controls: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """A conversation as the model sees it: what the reply is bound to, the places (message, block) of the thinking
    that was left out, what is reported of the request."""

    prefix: Prefix
    dropped: frozenset[tuple[int, int]]
    transformations: tuple[dict[str, Json], ...]


class PrefixChain:
    """Digests of every prefix of a sequence of blocks; what a sequence shares with the one before is not redone.
    `shorter`: of each one that ever was, the one that is shorter by a block."""

    def __init__(self, start: bytes = _START) -> None:
        self._keys: list[bytes] = []
        self._digests: list[bytes] = [start]
        self.shorter: dict[bytes, bytes] = {}

    def differs(self, now: Sequence[bytes], then: bytes) -> int:
        """Which block (from 0) of a sequence with these digests is the first that differs from the one with this
        digest; -1 if that is not known."""
        same = {then}
        while then in self.shorter:
            same.add(then := self.shorter[then])
        return next((at for at, digest in enumerate(now) if digest not in same), 0) - 1

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
            self.shorter[digests[-1]] = digests[-2]
        self._keys, self._digests = keys, digests
        return digests


def bind(
    preamble: Sequence[RenderedBlock], facts: Sequence[Facts], chain: PrefixChain, reader: Reader
) -> Bound:
    """What the model sees of this conversation's thinking. Raises RefusedError for the first block out of its place,
    where the reader wants it so."""
    start = continued(facts, preamble)
    keys = [block.key for block in preamble] if start is None else []
    for message in facts:
        keys += message.keys
    if start is not None:
        chain = PrefixChain(start)
    digests = chain.digests(keys) if reader.model.preserved else []
    dropped: set[tuple[int, int]] = set()
    told: list[dict[str, Json]] = []
    place, previous = len(preamble) if start is None else 0, ""
    for index, message in enumerate(facts):
        if not message.thinking:
            place += len(message.keys)
            continue
        signed = {thought.index: thought for thought in message.thinking}
        for at, kind in enumerate(message.kinds):
            if kind not in THINKING:
                place += kind != "compaction"
                continue
            thought = signed.get(at)
            if thought is None:
                continue
            reason = _mismatch(thought, reader, digests[place].hex() if digests else "", previous)
            where = f"messages.{index}.content.{at}"
            if reason == "prefix_binding_mismatch" and reader.mismatch == "error":
                name = "signature" if kind == "thinking" else "data"
                beta = "" if reader.controls else NEEDS_BETA
                first = chain.differs(digests[: place + 1], bytes.fromhex(thought.origin.prefix))
                named = _place(facts, first - (len(preamble) if start is None else 0))
                differs = DIFFERS.format(place=named) if named else ""
                raise RefusedError(where, CHANGED.format(field=name, kind=kind) + beta + differs)
            kept = not reason or (reason == "prefix_binding_mismatch" and reader.mismatch == "allow")
            if kept:
                previous = thought.tag
            else:
                dropped.add((index, at))
            if reason:
                type_ = "thinking_mismatch_allowed" if kept else "thinking_dropped"
                told.append({"type": type_, "path": where, "reason": reason})
    digest = digests[-1] if digests else b""
    return Bound(Prefix(digest, previous, reader.account), frozenset(dropped), tuple(told))


def _place(facts: Sequence[Facts], block: int) -> str:
    """Where a block is, counted without thinking; "" for one before the messages."""
    if block < 0:
        return ""
    counted = [
        f"messages.{index}.content.{at}"
        for index, message in enumerate(facts)
        for at, kind in enumerate(message.kinds)
        if kind not in THINKING and kind != "compaction"
    ]
    return counted[block]


def _mismatch(thought: Thought, reader: Reader, digest: str, previous: str) -> str:
    """Which check the block fails, "" for none; the order is the service's."""
    origin = thought.origin
    if origin.account and origin.account != reader.account:
        return "organization_binding_mismatch"
    if not may_read(reader.model.id, origin.model):
        return "model_binding_mismatch"
    if not digest or not origin.prefix:
        return ""
    moved = bool(previous) and origin.previous != previous
    return "prefix_binding_mismatch" if moved or origin.prefix != digest else ""


def _link(digest: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(digest + key, digest_size=16).digest()
