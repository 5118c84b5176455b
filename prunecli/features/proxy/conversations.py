"""The conversations of one proxy: which one a request belongs to, and their sessions."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from prunecli.features.proxy.body import Incoming, Message, incoming, plain
from prunecli.features.proxy.conversation import Conversation, HowToPrune
from prunecli.runtime import Runtime
from prunecli.util.errors import PrunecliError


class Conversations:
    """All conversations. `make` returns a runtime without a session, and may block; `known` is the file of the
    sessions that earlier proxies recorded, by the first message."""

    def __init__(self, make: Callable[[], Runtime], how: HowToPrune, known: Path) -> None:
        self.all: list[Conversation] = []
        self._make, self._how, self._known = make, how, known
        self._making = asyncio.Lock()

    def read(self, raw: bytes) -> Incoming:
        """Read a request. What it shares with the last one of a conversation is not read again. Raises ValueError."""
        return incoming(raw, [one.last for one in self.all if one.last])

    async def of(self, request: Incoming) -> Conversation | None:
        """Return the conversation of a request, None for one that is left alone: without tools, there is no tool
        output to prune. Raises PrunecliError if a session can't be made.

        A request belongs to the conversation with the longest shared beginning, even if it then differs: the program
        went back. One that still waits for its answer is not rewound; a request with that answer waits for its turn.
        """
        if not request.preamble["tools"]:
            return None
        async with self._making:
            found = self._best(request) or self._summarized(request)
            if found is None:
                found = await asyncio.to_thread(self._opened, request.messages)
                self.all.append(found)
            return found

    def known(self, request: Incoming) -> Conversation | None:
        """Return the conversation that a request continues, None if none does."""
        shared = [(one.shared(request.messages), one) for one in self.all if not one.off]
        same, found = max(shared, key=lambda pair: pair[0], default=(0, None))
        return found if found and same == found.length else None

    def _best(self, request: Incoming) -> Conversation | None:
        shared = [(one.shared(request.messages), one) for one in self.all if one.serves(request)]
        fits = [(same, one) for same, one in shared if same and (not one.busy or one.goes_on(request, same))]
        return max(fits, key=lambda pair: pair[0])[1] if fits else None

    def _summarized(self, request: Incoming) -> Conversation | None:
        """Return the conversation of which a request begins with the program's own summary."""
        fits = (
            one for one in self.all if one.serves(request) and not one.busy and one.summarized_in(request)
        )
        if found := next(fits, None):
            self._keep(_digest(request.messages), found.runtime.session.id)
        return found

    def _opened(self, messages: Sequence[Message]) -> Conversation:
        runtime = self._make()
        first = _digest(messages)
        before = self._sessions_of(first) if len(messages) > 1 else []
        for id_ in before:
            conversation = Conversation(runtime, self._how)
            with suppress(PrunecliError, OSError):  # moved, open elsewhere or damaged: a new session then
                runtime.open_session(runtime.store.find(id_))
                if conversation.resume(messages):
                    return conversation
                runtime.new_session()
        self._keep(first, runtime.session.id)
        return Conversation(runtime, self._how, is_lost=bool(before))

    def _sessions_of(self, first: str) -> list[str]:
        """Return the ids of sessions that begin with this message, the newest first."""
        try:
            lines = self._known.read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        rows: list[str] = []
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                if row["first"] == first:
                    rows.append(str(row["session"]))
        return rows[::-1][:5]

    def _keep(self, first: str, id_: str) -> None:
        line = json.dumps({"first": first, "session": id_}) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with suppress(OSError):  # the next proxy then begins a new session for this conversation
            self._known.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._known, flags, 0o600)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)

    async def close(self) -> None:
        """Record what is left, and close all sessions."""
        for conversation in self.all:
            with suppress(PrunecliError):
                await conversation.close()
            await conversation.runtime.close()


def _digest(messages: Sequence[Message]) -> str:
    return sha256(b"".join(plain(messages[:1]))).hexdigest()
