"""What each act costs in thinking is foretold to the block, told once, and recorded; no request is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Say, run_line
from prunecli.context.labels import prune_in_words
from prunecli.front.headless.run import run_headless
from prunecli.model.events import AssistantMessage, PrunApplied, PrunReverted, Record, RequestSent, Rewound
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime
from tests.e2e.bound import clear, dropped, predicted, results, session, turn
from tests.endpoint import Endpoint, Reply, Rules

ACCOUNTS = {
    "new account": Rules(),
    "old account": Rules(old_account=True),
    "gateway": Rules(refused=("thinking.block_binding",)),
}
SCENARIOS: tuple[tuple[str, ...], ...] = (
    ("prune", "say"),
    ("prune", "undo", "say"),
    ("prune", "restore", "say"),
    ("prune", "prune", "undo", "undo", "say"),
    ("prune", "rewind", "say"),
    ("model", "say", "back", "say"),
    ("prune", "model", "back", "undo"),
    ("prune", "resume", "say", "resume", "undo"),
    ("compact", "say", "prune"),
    ("prune", "compact", "model", "undo", "back"),
)
LOSS = re.compile(
    r"The endpoint dropped (\d+) thinking blocks? \(~\S+ tokens\)(?:, (\d+) for the first time)?:"
)


class Recording:
    """Hears a session: what was foretold of each request, and how many losses prunes and notices told a person."""

    def __init__(self) -> None:
        self.with_forecast: list[int] = []
        self.by_prunes = self.by_notices = 0
        self._context: Any = None

    def follow(self, runtime: Runtime) -> None:
        self._context = runtime.session.context
        runtime.session.subscribe(self._hear)

    def _hear(self, said: object) -> None:
        match said:
            case Record(_, _, RequestSent()):
                self.with_forecast.append(self._context.thoughts.blocks(self._context.unseen.dropped))
            case Notice(text) if found := LOSS.match(text):
                self.by_notices += int(found[2] or found[1])
            case Record(_, _, PrunApplied() as prune):
                self.by_prunes += prune.thinking_blocks


def blocks_ever_dropped(endpoint: Endpoint) -> int:
    """How many different blocks the endpoint dropped from any request."""
    found = set()
    for request in endpoint.requests:
        for path in request.dropped if request.refusal is None else ():
            _, message, _, block = path.split(".")
            found.add(request.json["messages"][int(message)]["content"][int(block)]["signature"])
    return len(found)


async def act(runtime: Runtime, what: str) -> None:
    """One act of the user's, whose cost in blocks is recorded with it before anything is sent."""
    context = runtime.session.context
    match what:
        case "prune":
            live = [
                seq for seq in results(runtime) if seq in context.entries and context.text_edit(seq) is None
            ]
            clear(runtime, live[1 if len(live) > 1 else 0])
        case "undo":
            prune = context.live_pruns()
            runtime.emit(PrunReverted((prune[-1].seq,))) if prune else None
        case "restore":
            edited = [seq for seq in results(runtime) if context.text_edit(seq)]
            runtime.emit(PrunReverted((edited[0],)))
        case "rewind":
            runtime.emit(Rewound(context.user_turns[-1] - 1))
        case "model":
            runtime.set_model("sonnet")
        case "back":
            runtime.set_model("opus")
        case "compact":
            assert await runtime.compact()
        case _:
            pass


@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=" ".join)
async def test_every_act_is_foretold_and_told_once(
    tmp_path: Path, scenario: tuple[str, ...], account: str
) -> None:
    number = 3
    script: list[Any] = [*turn(0, 1, 2), *turn(3)]
    for what in scenario:
        script += [Reply("A summary of it all.")] if what == "compact" else []
        number += 1
        script += turn(number % 12)
    async with Endpoint(script, rules=ACCOUNTS[account]) as endpoint:
        witness, left = Recording(), [*scenario]
        begun = False
        while left:
            async with session(tmp_path, endpoint, continue_last=begun) as runtime:
                witness.follow(runtime)
                if not begun:
                    await runtime.submit("look")
                    await runtime.submit("and there")
                begun = True
                if left[0] == "resume":
                    left.pop(0)
                while left and left[0] != "resume":
                    await act(runtime, left.pop(0))
                    await runtime.submit("go on")
                records = runtime.session.records
        models = 1 + ("model" in scenario)
        assert len(endpoint.rejected) == (models if account == "gateway" else 0), "each model is asked once"
        requests = [request for request in endpoint.requests if not _is_summary(request.json)]
        assert len(witness.with_forecast) == len(requests)
        pairs = zip(witness.with_forecast, requests, strict=True)
        of_answers = [(with_forecast, one) for with_forecast, one in pairs if one.refusal is None]
        if account == "gateway":  # it has stale thinking left out, and says nothing of another model's
            assert not any(one.dropped for _, one in of_answers)
            assert witness.by_notices == 0
        else:
            assert [with_forecast for with_forecast, _ in of_answers] == [
                len(one.dropped) for _, one in of_answers
            ]
            reported = [one.event for one in records if isinstance(one.event, AssistantMessage)]
            told = [len(one.input_transformations or ()) for one in reported]
            assert told == [len(one.transformations) for _, one in of_answers]
            assert witness.by_prunes + witness.by_notices == blocks_ever_dropped(endpoint), "none twice"


def _is_summary(body: dict[str, Any]) -> bool:
    last = body["messages"][-1]["content"][-1]
    return "compaction" in body or "summary" in str(last.get("text", "")).lower()


def said(effects: Any) -> str:
    return " ".join(effect.text for effect in effects if isinstance(effect, Say))


EASY = (
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=0",
    "pruning.gate=cache_aware",
    "ui.confirm=never",
)


async def test_commands_name_the_blocks_before_and_after(tmp_path: Path) -> None:
    script = [*turn(0, 1, 2), *turn(3), *turn(4), *turn(5)]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *EASY) as runtime:
        context = runtime.session.context
        await runtime.submit("look")
        preview = said(run_line(runtime, "/prune preview"))
        assert re.search(
            r"would prune \d results?\. Frees [\d.K]+ .*· about \$\S+ now, pays back after \d+ requests?",
            preview,
        )
        assert preview.endswith(" · 3 thinking blocks lost")
        assert not context.live_pruns(), "a preview does nothing"
        assert said(run_line(runtime, "/prune")).count("thinking") == 1, "in the line before it"
        prune = context.live_pruns()[-1].event
        assert isinstance(prune, PrunApplied)
        assert prune_in_words(prune, 1).endswith("by you · 3 thinking blocks lost")
        await runtime.submit("again")
        assert dropped(endpoint)[-1] == 3
        note = run_line(runtime, "/cost")[0].note  # type: ignore[union-attr]
        assert "Pruning cost 3 thinking blocks (~" in note
        undone = said(run_line(runtime, "/undo"))
        assert "Drops 2 thinking blocks (~" in undone
        assert "brings back 3 thinking blocks (~" in undone
        await runtime.submit("and again")
        assert dropped(endpoint)[-1] == 2
        note = run_line(runtime, "/cost")[0].note  # type: ignore[union-attr]
        assert "Pruning cost 5 thinking blocks (~" in note
        other = said(run_line(runtime, "/model sonnet"))
        assert re.search(r"Drops \d thinking blocks .*return if you switch back", other)
        assert "Brings back" in said(run_line(runtime, "/model opus"))
        redone = said(run_line(runtime, "/redo"))
        assert re.search(
            r"Redid 1 prune, .* Drops \d thinking blocks .*, brings back 2 thinking blocks \(~", redone
        )
    assert endpoint.rejected == []


@pytest.mark.parametrize("refused", [(), ("compaction",)])
async def test_a_compaction_says_what_it_costs_in_the_turns_that_stay(
    tmp_path: Path, refused: tuple[str, ...]
) -> None:
    """Nothing where the endpoint makes the summary; the first time it does not is foretold like the others."""
    script = [*turn(0, 1), *turn(2), *turn(3), Reply("A summary."), *turn(4), *turn(5), *turn(6), *turn(7)]
    script += [Reply("Another summary."), *turn(8)]
    async with (
        Endpoint(script, rules=Rules(refused=refused)) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        for words in (("one", "two", "three"), ("four", "five", "six")):
            for word in words:
                await runtime.submit(word)
            before, told = len(endpoint.requests), list[object]()
            leave = runtime.session.subscribe(told.append)
            assert await runtime.compact()
            leave()
            await runtime.submit("go on")
            first = next(one for one in endpoint.requests[before:] if not _is_summary(one.json))
            lost = [len(first.dropped)] if first.dropped else []
            assert bool(lost) == bool(refused)
            assert predicted(one.text for one in told if isinstance(one, Notice)) == lost


@pytest.mark.parametrize("form", ["text", "stream-json"])
async def test_headless_a_loss_is_told_once_also_after_a_resume(tmp_path: Path, form: Any) -> None:
    async def print_run(runtime: Runtime, *prompts: str) -> tuple[list[str], list[str]]:
        out, err = list[str](), list[str]()
        code = await run_headless(runtime, [*prompts], form=form, out=out.append, err=err.append)
        assert code == 0
        return out, err

    async with Endpoint([*turn(0, 1, 2), *turn(3), *turn(4)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("look")
            out, err = await print_run(runtime, f"/prune {results(runtime)[0]}", "go on")
        told = [line.partition("✂")[2] for line in err if "thinking block" in line]
        assert len(told) == 1
        assert told[0].endswith("by you · 3 thinking blocks lost"), "in the prune's own line"
        assert sum("thinking block" in line for line in out) == (form == "stream-json")
        assert not any("The endpoint dropped" in line for line in [*out, *err])
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            out, err = await print_run(runtime, "go on")
        assert not [line for line in [*out, *err] if "thinking block" in line]
    assert dropped(endpoint)[-1] == 3, "they are still dropped"


async def test_no_strategy_edits_inside_a_tool_round(tmp_path: Path) -> None:
    """The results of a round go in one batch, before the first request of the next turn."""
    keep = ("pruning.enabled=true", "pruning.gate=always", "pruning.pi.prune_minimum=0", *EASY[:3])
    async with Endpoint([*turn(0, 1, 2, 3, 4), *turn(5)]) as endpoint:
        async with session(tmp_path, endpoint, *keep) as runtime:
            await runtime.submit("look")
            assert prunes(runtime, lambda event: event.source == "strategy") == []
            at = len(runtime.session.records)
            await runtime.submit("again")
            assert prunes(runtime, lambda event: True) != []
            kinds = [type(one.event) for one in runtime.session.records[at:]]
            first = kinds.index(RequestSent)
            assert PrunApplied in kinds[:first]
            assert PrunApplied not in kinds[first:]
        assert endpoint.rejected == []


def prunes(runtime: Runtime, wanted: Callable[[PrunApplied], bool]) -> list[PrunApplied]:
    events = (record.event for record in runtime.session.records)
    return [event for event in events if isinstance(event, PrunApplied) and wanted(event)]
