"""The prompts that the endpoint has stored, on all branches and of all models.

`Cache` follows the current branch. After a rewind, the undo of a summary or a change of the model, the next request
may begin with a prompt of another one. Each request records the hash of its prompt, so the log tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from prunecli.context.cache import SAME_PREFIX
from prunecli.model.events import AssistantMessage, AttemptBilled, CompactionApplied, Record, RequestSent
from prunecli.model.messages import Usage


@dataclass(slots=True)
class Prompt:
    """A prompt up to its last breakpoint: its model and tokens, and when it was last used, in unix ms."""

    model: str
    tokens: int
    used: int


class Prompts:
    """The prompts of a session by hash."""

    def __init__(self) -> None:
        self._all: dict[str, Prompt] = {}
        self._branch: list[Prompt] = []
        """Those that the last request began with, shortest first. They were last used with it."""
        self._last = ("", 0)
        self._sent: RequestSent | None = None

    def apply(self, record: Record) -> None:
        """Follow one more record."""
        match record.event:
            case RequestSent() as sent:
                self._sent = sent
            case AssistantMessage(usage=usage) | AttemptBilled(usage=usage, reason="cut" | "stopped"):
                if self._sent and usage.prompt_tokens:
                    self._answered(self._sent, usage, record.timestamp)
                    self._sent = None
            case CompactionApplied(model=model, usage=usage) | AttemptBilled(model, usage, "summary"):
                if usage.prompt_tokens:  # else it was prepared, or another program made it
                    self._read(model, usage, record.timestamp)
            case _:
                pass

    def _answered(self, request: RequestSent, usage: Usage, at: int) -> None:
        self._read(request.model, usage, at)
        if request.sha256:
            is_marked = usage.cache_creation_input_tokens is not None
            tokens = usage.prompt_tokens - (usage.input_tokens if is_marked else 0)
            prompt = self._all[request.sha256] = Prompt(request.model, tokens, at)
            self._branch.append(prompt)

    def _read(self, model: str, usage: Usage, at: int) -> None:
        """A request reads the prompts that it begins with, which stay stored from then on."""
        read, (before, used) = usage.cache_read_input_tokens or 0, self._last
        while self._branch and (model != before or self._branch[-1].tokens * SAME_PREFIX > read):
            self._branch.pop().used = used
        if not self._branch or self._branch[-1].tokens < read * SAME_PREFIX:  # it began on another branch
            same = (one for one in self._all.values() if one.model == model and _is_same(one.tokens, read))
            self._branch += sorted(same, key=attrgetter("tokens"))
        self._last = model, at

    def longest(self, chain: Sequence[bytes], model: str, since: int) -> tuple[int, int]:
        """Return the number of messages, and the tokens, of the longest prompt that the model has used since then and
        that a request with this hash chain begins with. (0, 0) if there is none."""
        for one in self._branch:
            one.used = self._last[1]
        for messages in range(len(chain) - 1, 0, -1):
            prompt = self._all.get(chain[messages].hex())
            if prompt and prompt.model == model and prompt.used >= since:
                return messages, prompt.tokens
        return 0, 0


def _is_same(one: int, other: int) -> bool:
    """Return whether both are the tokens of the same prefix."""
    return min(one, other) >= SAME_PREFIX * max(one, other)
