"""Records the three turns of each installed program as test data: `python -m tests.peers.recording`.

Writes tests/imports/handoff/AGENT.jsonl.gz (OpenCode: .json.gz, what `opencode export` prints). Paths are masked, the
programs' own texts are cut, and copies of requests are left out.
"""

import gzip
import json
import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prunecli.session.importers.finding import sessions_of
from prunecli.session.importers.opencode_store import export_of, in_store
from tests.peers.programs import PEERS, root

TO = Path(__file__).parents[1] / "imports" / "handoff"
CWD, HOME, PROGRAMS = "/home/me/demo", "/home/me", "/usr/lib"
_LONGEST = 1_200
_COPIES = ("api-request", "api-request-blob", "api-request-shape")
_COPIED = ("prompt_snapshot", "skill_listing", "agent_listing_delta")
"""Attachments that hold parts of the system prompt. Their rows link messages, so they stay, without the contents."""


def _cut(value: Any) -> Any:
    """A value with long texts cut, but for images and signatures."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]} [cut]"
    if isinstance(value, list):
        return [_cut(one) for one in value]
    return {key: _cut(one) for key, one in value.items()} if isinstance(value, dict) else value


def _rows(text: str) -> str:
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        if (kind := row.get("attachment", {}).get("type")) in _COPIED:
            row["attachment"] = {"type": kind}
    kept = [_cut(row) for row in rows if row.get("type") not in _COPIES]
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in kept)


def main() -> None:
    """Run each installed program and write its session."""
    TO.mkdir(parents=True, exist_ok=True)
    for peer in PEERS:
        if peer.binary() is None:
            print(f"{peer.program}: not installed")
            continue
        with TemporaryDirectory() as folder:
            home, cwd = Path(folder) / "home", Path(folder) / "demo"
            peer.run(home, cwd)
            [path] = sessions_of(peer.agent, {"HOME": str(home)})
            whole = in_store(path)
            text = json.dumps(_cut(export_of(path)), ensure_ascii=False) if whole else _rows(path.read_text())
            text = text.replace(str(cwd), CWD).replace(str(home), HOME).replace(folder, "/home/me")
            text = text.replace(str(root()), PROGRAMS).replace(folder.replace("/", "-"), "-home-me")
            text = text.replace(platform.release(), "6.18.0")
        name = peer.agent[1:] + (".json.gz" if whole else ".jsonl.gz")
        (TO / name).write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{name}: {len(text)} characters")


if __name__ == "__main__":
    main()
