"""Who wrote this thinking, and where? Signatures of thinking blocks: deterministic, checkable without memory.

A signature names the message, the place in it, what stood before it and the thinking block before it, and holds an
HMAC over all that and the text. A changed, moved or foreign block is seen even by another endpoint with the same key.
Bound thinking is the exception: there the signature holds the reasoning, and the text beside it is for people only.
"""

import binascii
import hashlib
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass
from urllib.parse import quote, unquote

DEFAULT_KEY = b"tests.endpoint"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a signed block stood: the message's id ("" for one signed by hand) and its index in the content.

    `prefix` is the digest of everything in front of it but thinking, `previous` the tag of the thinking block in
    front of it; both "" when unknown. `model` and `account` wrote it; `chars` are those of the reasoning itself,
    which the visible text need not show, 0 where the visible text is all.
    """

    message_id: str = ""
    position: int = 0
    prefix: str = ""
    previous: str = ""
    model: str = ""
    account: str = ""
    chars: int = 0

    @property
    def sealed(self) -> bool:
        """Whether the reasoning is in the signature, as it is with bound thinking: the visible text is free."""
        return bool(self.prefix)


ANYWHERE = Origin()
"""For thinking signed by hand: valid in any message, place and conversation."""


def sign(text: str, origin: Origin = ANYWHERE, key: bytes = DEFAULT_KEY) -> str:
    """The signature of a thinking text."""
    return _seal("thinking", text, origin, key)


def verify(text: str, signature: str, key: bytes = DEFAULT_KEY) -> Origin | None:
    """Where the block with this text and signature was issued, None when it was not issued with this key."""
    return _open("thinking", text, signature, key)


def redact(secret: str, origin: Origin = ANYWHERE, key: bytes = DEFAULT_KEY) -> str:
    """The `data` of a redacted_thinking block that hides `secret`."""
    hidden = b64encode(secret.encode()).decode()
    return f"{hidden}.{_seal('redacted', hidden, origin, key)}"


def verify_redacted(data: str, key: bytes = DEFAULT_KEY) -> Origin | None:
    """Where this redacted block was issued, None when it was not issued with this key."""
    hidden, _, signature = data.partition(".")
    return _open("redacted", hidden, signature, key)


def seal_summary(origin: Origin, key: bytes = DEFAULT_KEY) -> str:
    """The signature of a summary; its text is held by its tag, so that a changed text is told from a changed
    signature."""
    return _seal("compaction", "", origin, key)


def open_summary(signature: str, key: bytes = DEFAULT_KEY) -> Origin | None:
    """What a summary's signature holds, None when it was not issued with this key."""
    return _open("compaction", "", signature, key)


def tag(signature: str) -> str:
    """A short name of a block for the one that follows it: of its signature, or its data when redacted."""
    return hashlib.sha256(signature.encode()).hexdigest()[:16]


def _seal(kind: str, text: str, origin: Origin, key: bytes) -> str:
    names = f"{quote(origin.model, safe='')}:{quote(origin.account, safe='')}:{origin.chars}"
    place = f"{origin.message_id}:{origin.position}:{origin.prefix}:{origin.previous}:{names}"
    text = "" if origin.sealed and kind == "thinking" else text
    mac = hmac.digest(key, f"{kind}\0{place}\0{text}".encode(), "sha256")
    return b64encode(place.encode() + b":" + mac).decode()


def _open(kind: str, text: str, signature: str, key: bytes) -> Origin | None:
    try:
        parts = [part.decode() for part in b64decode(signature, validate=True).split(b":", 7)[:7]]
        message_id, position, prefix, previous, model, account, chars = parts
        names = unquote(model), unquote(account)
        origin = Origin(message_id, int(position), prefix, previous, *names, int(chars))
    except (binascii.Error, ValueError):  # not base64, too few parts, no UTF-8, no number
        return None
    return origin if hmac.compare_digest(_seal(kind, text, origin, key), signature) else None
