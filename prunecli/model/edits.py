"""Edits: the changes that a prune makes, one for each target in the working context.

An edit names its target by `seq` and has the exact text that the model will see instead, so replay never recomputes
anything.
"""

from typing import Literal, TypeAlias

from prunecli.model.codec import strict_loads
from prunecli.util.frozen import frozen

EditKind: TypeAlias = Literal["drop", "memo", "clear", "trim", "cut", "strip", "repair"]
_WITH_TEXT = frozenset({"memo", "clear", "trim", "cut", "repair"})


@frozen
class Edit:
    """One change of one target.

    drop: `seq` is the assistant message of the exchange. memo: `seq` is the assistant message of the first dropped
    exchange, `text` the whole block as sent. clear, trim: `seq` is the tool result, `tool_use_id` its call. cut:
    `seq` is the assistant message, `tool_use_id` one of its calls, `text` the JSON of the input that is sent. strip:
    `seq` is the assistant message whose thinking is left out. repair: `seq` is the entry whose rejected blocks are
    replaced by `text`. `tokens_before` and `tokens_after` are raw estimates of the target.
    """

    kind: EditKind
    seq: int
    tool_use_id: str | None = None
    text: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0

    def __post_init__(self) -> None:
        if (self.text is not None) != (self.kind in _WITH_TEXT):
            raise ValueError(f"a {self.kind} edit {'needs' if self.text is None else 'has no'} text")
        if self.kind == "cut" and not isinstance(strict_loads(self.text or ""), dict):
            raise ValueError("the text of a cut edit is no input of a call")

    @property
    def tokens_saved(self) -> int:
        """The tokens that the edit removes from the working context; negative for a memo."""
        return self.tokens_before - self.tokens_after
