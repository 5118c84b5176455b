"""The golden figures of a session under a strategy; `python -m tests.golden.requests` writes them all anew.

A change of these figures is a change of what is sent: it needs a reason in the same commit.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from prunecli.config import Config
from prunecli.config.references import chosen
from prunecli.context.inspect import inspect
from prunecli.context.tokens import Chars4
from prunecli.session.importers.source import read_source

SESSIONS = sorted((Path(__file__).parents[1] / "sessions").glob("*.gz"))
GOLDEN = Path(__file__).parent / "requests.json"
WINDOW = 30_000
"""Tokens: small, so that strategies which go by the window have something to do."""
OPTIONS = {
    "pi": {"prune_minimum": 2000, "prune_protect": 4000},
    "opencode": {"prune_minimum": 2000, "prune_protect": 4000},
}


def strategies() -> list[str]:
    """All of them, but for the name that stands for others."""
    return [name for name in Config().strategies.names() if name != "auto"]


def figures(path: Path, strategy: str) -> dict[str, Any]:
    """Messages, edits and tokens of the next request, and the hash of its bytes."""
    config = Config()
    for key, value in OPTIONS.get(strategy, {}).items():
        config = config.with_value(f"{strategy}.{key}", str(value))
    found = inspect(
        read_source(path).records, [chosen(config, strategy)], window=WINDOW, counter=Chars4(), recall=True
    )
    digest = sha256(b"\n".join(message.canonical for message in found.messages)).hexdigest()
    pruned = found.ledger.pruned_tokens
    return {
        "messages": len(found.messages),
        "edits": len(found.edits),
        "pruned": pruned,
        "sha256": digest[:16],
    }


if __name__ == "__main__":
    every = {path.name: {name: figures(path, name) for name in strategies()} for path in SESSIONS}
    GOLDEN.write_text(json.dumps(every, indent=1) + "\n")
