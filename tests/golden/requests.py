"""The golden figures of a session under a strategy; `python -m tests.golden.requests` writes them all anew.

A change of these figures is a change of what is sent: it needs a reason in the same commit.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.tokens import Chars4
from prunecli.features.inspector.inspect import inspect
from prunecli.model.events import Record
from prunecli.session.importers.source import read_source
from tests.sessions import SESSIONS

GOLDEN = Path(__file__).parent / "requests.jsonl"
WINDOW = 30_000
"""Tokens: small, so that strategies which go by the window have something to do."""
OPTIONS = {
    "pi": {"prune_minimum": 2000, "prune_protect": 4000},
    "opencode": {"prune_minimum": 2000, "prune_protect": 4000},
}


def strategies() -> list[str]:
    """All that edit: not the name that stands for others, and not the one that leaves it to the endpoint."""
    return [name for name in Config().strategies.names() if name not in ("auto", "server_clear")]


def figures(path: Path) -> dict[str, list[Any]]:
    """Messages and edits of the next request, and the beginning of the hash of its bytes, for each strategy."""
    records = read_source(path).records
    return {name: _figures(records, name) for name in strategies()}


def _figures(records: Sequence[Record], strategy: str) -> list[Any]:
    config = Config()
    for key, value in OPTIONS.get(strategy, {}).items():
        config = config.with_value(f"{strategy}.{key}", str(value))
    found = inspect(records, [chosen(config, strategy)], window=WINDOW, counter=Chars4(), recall=True)
    digest = sha256(b"\n".join(message.canonical for message in found.messages)).hexdigest()
    return [len(found.messages), len(found.edits), digest[:12]]


def written() -> str:
    """The golden file: one line for each session and strategy."""
    return "".join(
        json.dumps([path.name, name, *found]) + "\n"
        for path in SESSIONS
        for name, found in figures(path).items()
    )


if __name__ == "__main__":
    GOLDEN.write_text(written())
