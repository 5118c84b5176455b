"""The log of pruning: a line for each prune and what came of it, and nobody's words."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import InThread, Table, run_line
from prunecli.model.events import CompactionApplied, Rewound, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from prunecli.runtime.pruning_log import MOST_BYTES, log_prunes
from tests.scripted import Scripted, calls, says
from tests.starting import start

SMALL = (
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=0",
    "permissions.mode=auto",
)


def started(folder: Path) -> tuple[Runtime, Path]:
    def read(number: int, usage: Usage) -> Scripted:
        made = calls(ToolUse(f"t{number}", "read", {"path": "long.txt"}))
        return Scripted(made.content, made.stop_reason, usage)

    answers = [
        Scripted(says(word).content, "end_turn", Usage(10, 5, 500, 3_000)) for word in ("One.", "Two.")
    ]
    script = [read(0, Usage(0, 5, 0, 2_000)), answers[0], read(1, Usage(10, 5, 400, 1_600)), answers[1]]
    runtime = start(folder, script, sets=SMALL)
    (runtime.setup.cwd / "long.txt").write_text("a line of some length\n" * 300)
    path = folder / "logs" / "prunecli.log"
    log_prunes(path, runtime)
    return runtime, path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_prune_an_undo_and_the_ledger_are_lines(tmp_path: Path) -> None:
    runtime, path = started(tmp_path)
    await runtime.submit("read the secret")
    assert not path.exists()
    run_line(runtime, "/prune")
    await runtime.submit("again")
    found = lines(path)
    assert [line["event"] for line in found] == ["prune", "run_end"]
    prune, end = found
    assert (prune["source"], prune["strategy"]) == ("user", "pi")
    assert prune["tokens_before"] - prune["tokens_after"] == prune["tokens_removed"] > 0
    assert end["pruned_tokens"] > 0
    run_line(runtime, "/undo")
    assert lines(path)[-1]["event"] == "undo"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "secret" not in path.read_text()
    assert "some length" not in path.read_text()


async def test_prune_stats_shows_each_prune_with_its_rereads(tmp_path: Path) -> None:
    runtime, _ = started(tmp_path)
    await runtime.submit("read it")
    run_line(runtime, "/prune")
    await runtime.submit("again")
    run_line(runtime, "/undo")
    table = next(effect for effect in run_line(runtime, "/prune-stats") if isinstance(effect, Table))
    assert table.headings[4:9] == ("pruned", "before", "after", "cache cost", "re-reads")
    undo, first = table.rows  # the newest first
    assert first[9].endswith("(undone)")
    assert first[8].startswith("1, ~")
    assert undo[3] == "undo"
    assert undo[9] == f"undid prune {first[0]}"


async def test_prune_stats_says_why_a_prune_has_no_effect_any_more(tmp_path: Path) -> None:
    runtime, _ = started(tmp_path)
    await runtime.submit("read it")
    (result,) = [entry.seq for entry in runtime.session.context.entries.values() if entry.kind == "result"]

    def reasons() -> list[str]:
        table = next(effect for effect in run_line(runtime, "/prune-stats") if isinstance(effect, Table))
        return [row[9] for row in reversed(table.rows)]

    before = runtime.session.records[-1].seq
    run_line(runtime, "/prune")
    run_line(runtime, f"/restore {result} in-place")
    restored = [
        "the user asked for it (undone)",
        f"restored entry {result} in place",
    ]
    assert reasons() == restored
    runtime.emit(Rewound(before))
    assert reasons() == [f"{restored[0].removesuffix('(undone)')}(rewound)", f"{restored[1]} (rewound)"]
    run_line(runtime, "/prune")
    runtime.emit(UserMessage((Text("go on"),)))
    runtime.emit(CompactionApplied("the gist", 0, runtime.session.records[-1].seq))
    assert reasons()[2:] == ["the user asked for it (summarized)"]
    (undo,) = run_line(runtime, "/undo")
    assert isinstance(undo, InThread), "it is the summary that would be taken back"


async def test_a_full_log_makes_room(tmp_path: Path) -> None:
    runtime, path = started(tmp_path)
    await runtime.submit("read it")
    path.parent.mkdir()
    path.write_text("x" * MOST_BYTES)
    run_line(runtime, "/prune")
    assert not path.exists()
    assert path.with_name("prunecli.log.1").stat().st_size > MOST_BYTES
    run_line(runtime, "/undo")
    assert [line["event"] for line in lines(path)] == ["undo"]


@pytest.mark.parametrize("blocked", ["logs", "logs/prunecli.log"])
async def test_a_log_that_cannot_be_written_costs_its_lines_and_nothing_else(
    tmp_path: Path, blocked: str
) -> None:
    runtime, _ = started(tmp_path)
    (tmp_path / "logs").mkdir() if blocked != "logs" else (tmp_path / "logs").write_text("a file")
    if blocked != "logs":
        (tmp_path / blocked).mkdir()
    await runtime.submit("read it")
    run_line(runtime, "/prune")
    assert runtime.session.context.pruns
