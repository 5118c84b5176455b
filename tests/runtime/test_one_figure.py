"""One figure for one thing: each prune has one amount and the session one saving, wherever they are shown."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from prunecli.cli.sessions import _line
from prunecli.commands.command import Effect, Say, Table, run_line
from prunecli.context.labels import Key, prune_in_words, tokens_pruned_by
from prunecli.context.manual_edits import plan
from prunecli.context.outline import Outline
from prunecli.front.headless.run import Printer
from prunecli.front.presentation import entries as shown
from prunecli.front.presentation.presenter import Presenter, presenter_of
from prunecli.library import events
from prunecli.library.events import EventsOf
from prunecli.model.events import AssistantMessage, PrunApplied, PrunReverted, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.record_codec import record_to_json
from prunecli.runtime import Runtime
from prunecli.tui.widgets.status import pruning_line
from prunecli.util.figures import money, short
from tests.starting import start

MODEL = "claude-sonnet-4-5"
SETS = (
    f"model.name={MODEL}",
    "ui.confirm=never",
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=800",
)
SESSIONS = 50


class Walk:
    """A session at an endpoint that counts otherwise than the estimator, with a screen that follows it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = Random(seed)
        self.runtime = start(folder, sets=SETS)
        self.screen: Presenter = presenter_of(self.runtime, self.runtime.session.context)
        self._shown = 0
        self._calls = 0

    def emit(self, event: UserMessage | AssistantMessage | ToolResult) -> None:
        self.runtime.emit(event)

    def answer(self, *content: Text | ToolUse) -> None:
        counted = round(self.runtime.session.context.counts.context_tokens * self.chance.uniform(0.85, 1.25))
        cached = round(counted * self.chance.uniform(0.3, 0.95))
        stop = "tool_use" if any(isinstance(one, ToolUse) for one in content) else "end_turn"
        output = self.chance.randint(5, 200)
        self.emit(AssistantMessage(content, MODEL, stop, Usage(0, output, cached, counted - cached)))

    def work(self) -> None:
        self.emit(UserMessage((Text("go on"),)))
        for _ in range(self.chance.randint(1, 3)):
            numbers = range(self._calls, self._calls + self.chance.randint(1, 2))
            self._calls = numbers.stop
            uses = [ToolUse(f"t{number}", "read", {"path": "a.py"}) for number in numbers]
            self.answer(Text("Reading."), *uses)
            for use in uses:
                text = "a line of some length\n" * self.chance.randint(20, 600)
                self.emit(ToolResult(use.id, "read", (Text(text),)))
        self.answer(Text("Done."))

    def act(self) -> None:
        """Prune or restore something, and compare what is said with what is recorded."""
        before = len(self.runtime.session.records)
        line = self.chance.choice(["/prune", "/undo", "/redo", "/undo all", "by hand", "drop", "/restore"])
        live = self.runtime.session.context.live_results
        if line in ("by hand", "drop"):
            if live:
                self.by_hand(self.chance.choice(live).seq, drop=line == "drop")
            return
        if line == "/restore":
            pruned = [
                edit.seq for record in self.runtime.session.context.live_pruns() for edit in edits_of(record)
            ]
            if not pruned:
                return
            line = f"/restore {self.chance.choice(pruned)} in-place"
        scanned = self.runtime.status().ledger.scanned_tokens
        said = text_of(run_line(self.runtime, line))
        assert self.runtime.status().ledger.scanned_tokens == scanned
        made = self.runtime.session.records[before:]
        amount = sum(tokens_pruned_by(self.runtime.session.context, record.seq) or 0 for record in made)
        if made and line == "/prune":
            assert f"Pruned {short(amount)} in" in said
        if made and line.startswith("/undo"):
            assert f", {short(-amount)} restored." in said

    def by_hand(self, seq: int, *, drop: bool) -> None:
        runtime = self.runtime
        exchange = runtime.session.context.entries[seq].exchange
        assert exchange is not None
        key = Key("exchange", exchange.seq) if drop else Key("result", seq)
        view, outline = runtime.policy.view(runtime.session.context), Outline(runtime.session.context, ())
        for event in plan(view, outline, "prune", key).events:
            runtime.emit(event)

    def follow(self) -> None:
        """Show the records so far on the screen."""
        for record in self.runtime.session.records[self._shown :]:
            self.screen.take(record)
        self._shown = len(self.runtime.session.records)

    def prunes(self) -> Iterator[tuple[Record, PrunApplied]]:
        for record in self.runtime.session.records:
            if isinstance(record.event, PrunApplied):
                yield record, record.event

    def check(self) -> None:
        runtime, context = self.runtime, self.runtime.session.context
        self.follow()
        stats = next((one for one in run_line(runtime, "/prune-stats") if isinstance(one, Table)), None)
        rows = {row[0]: row for row in stats.rows} if stats else {}
        lines = [one.text for one in self.screen.board.entries if isinstance(one, shown.Notice)]
        for record, event in self.prunes():
            amount = event.shown_tokens
            assert amount == tokens_pruned_by(context, record.seq)
            words = prune_in_words(event, amount or 0)
            assert words.startswith(f"✂ pruned ~{short(amount or 0)} tokens")
            assert any(line.startswith(words.partition("\n")[0]) for line in lines), "on the screen"
            assert words in _line(record, context), "in `sessions show`"
            assert rows[str(record.seq)][4] == short(amount or 0), "in /prune-stats"
            assert record_to_json(record)["shown_tokens"] == amount, "in the log"
            assert streamed(runtime, record)["shown_tokens"] == amount, "in stream-json"
            assert [
                (one.tokens, one.text)
                for one in EventsOf(runtime).of(record)
                if isinstance(one, events.Pruned)
            ] == [(amount, words)], "in the library"
            self.marked(record, event)
        self.sums(stats)
        self.saving(stats)

    def marked(self, record: Record, event: PrunApplied) -> None:
        """The call of the only result that a prune clears is marked with the amount of the prune."""
        context, edits = self.runtime.session.context, event.edits
        if len(edits) != 1 or edits[0].kind != "clear" or not context.in_force(record.seq, edits[0]):
            return
        exchange = context.entries[edits[0].seq].exchange
        if exchange is None or context.dropped(exchange):
            return
        calls = [
            one
            for slot, one in enumerate(self.screen.board.entries)
            if isinstance(one, shown.ToolCall) and self.screen.target(slot) == edits[0].seq
        ]
        assert [one.pruned for one in calls] == [f"pruned ~{short(event.shown_tokens or 0)}"]

    def sums(self, stats: Table | None) -> None:
        """What is pruned now is the sum of all prunes and undos, in the bar, the statistics and /context."""
        runtime = self.runtime
        history, ledger = runtime.session.context.prune_history.rows.values(), runtime.status().ledger
        assert ledger.pruned_tokens == ledger.to_json()["pruned_tokens"] == sum(row.shown for row in history)
        assert ledger.pruned_tokens <= ledger.scanned_tokens
        pruned = short(ledger.pruned_tokens)
        assert f" · pruned {pruned}" in pruning_line(runtime.status(), 200).plain
        table = next(one for one in run_line(runtime, "/context table") if isinstance(one, Table))
        assert f" · pruned ~{pruned} · " in table.note
        if stats:
            figure = re.search(r"^pruned +~?(\S+)", stats.note, re.MULTILINE)
            assert figure
            assert figure[1] == pruned

    def saving(self, stats: Table | None) -> None:
        """What is saved is one amount, in the bar, the statistics, the bill and the JSON."""
        runtime = self.runtime
        saved = runtime.balance.now.balance
        assert saved is not None
        bar = pruning_line(runtime.status(), 200).plain.rstrip()
        if runtime.status().ledger.pruned_tokens or money(saved) != money(0):
            assert bar.endswith(f" · saved {money(saved)}")
        word = f"{'saved' if saved >= 0 else 'cost'} {money(abs(saved))} net"
        cost = next(one for one in run_line(runtime, "/cost") if isinstance(one, Table))
        if runtime.balance.now.withheld or runtime.balance.now.rewritten:
            assert f"Pruning {word} in this session." in cost.note
        if stats:
            assert stats.title == f"Pruning {word} in this session"
        net = runtime.status().ledger.to_json()["net_usd"]
        assert net == round(saved, 6)


def streamed(runtime: Runtime, record: Record) -> dict[str, Any]:
    lines: list[str] = []
    Printer(runtime, "stream-json", lines.append, lines.append).read(record)
    return json.loads(lines[0])  # type: ignore[no-any-return]


def edits_of(record: Record) -> Sequence[object]:
    return record.event.edits if isinstance(record.event, PrunApplied) else ()


def text_of(effects: Sequence[Effect]) -> str:
    return "\n".join(one.text for one in effects if isinstance(one, Say))


@pytest.mark.parametrize("part", range(5))
def test_each_figure_is_the_same_wherever_it_is_shown(part: int, tmp_path: Path) -> None:
    acts = 0
    for seed in range(part * SESSIONS // 5, (part + 1) * SESSIONS // 5):
        walk = Walk(tmp_path / str(seed), seed)
        for _ in range(walk.chance.randint(3, 6)):
            walk.work()
            walk.act()
            walk.check()
        acts += sum(isinstance(one.event, PrunApplied | PrunReverted) for one in walk.runtime.session.records)
    assert acts > 20
