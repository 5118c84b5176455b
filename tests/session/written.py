"""Session files made by hand for tests of lists, index and search."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prunecli.model.events import AssistantMessage, Event, Record, SessionStarted, SettingChanged, UserMessage
from prunecli.model.messages import Text, Usage
from prunecli.model.record_codec import encode_record
from prunecli.session.store import Store

T0 = 1_760_000_000_000


def prompt(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def answer(words: str = "yes", model: str = "claude-sonnet-5-5", tokens: int = 100) -> AssistantMessage:
    return AssistantMessage((Text(words),), model, usage=Usage(tokens, 10, 1_000, 50))


def named(name: str) -> SettingChanged:
    return SettingChanged("session.name", name)


def lines(events: Sequence[Event], start: int = 0) -> bytes:
    return b"".join(encode_record(Record(seq, T0 + seq, event)) for seq, event in enumerate(events, start))


def session(
    store: Store,
    cwd: Path,
    session_id: str,
    events: Sequence[Event] = (),
    *,
    changed: int = 0,
    **more: Any,
) -> Path:
    """The file of a session; `changed` is its time in seconds."""
    path = store.new_path(cwd, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    started = SessionStarted(session_id, str(cwd), "claude-sonnet-5-5", **more)
    path.write_bytes(lines([started, *events]))
    if changed:
        os.utime(path, (changed, changed))
    return path
