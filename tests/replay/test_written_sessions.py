"""Sessions in which the user and the model do what recordings of other agents lack: they are replayed as lived."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.commands import pin, prune, restore, undo
from prunecli.features.replay.replay import Setting
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Rewound,
    RunEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Text, Thinking
from prunecli.model.requests import Request
from prunecli.providers.provider import Offer, Provider, Response, StreamEvent
from prunecli.runtime import Runtime
from prunecli.runtime.running import run_of
from tests.laws.exact import png
from tests.replay.playable import MODEL
from tests.replay.through import OTHER, lived, replayed, saved, sets_of
from tests.replay.written import HOUR, MINUTE, Written, lines

AUTO = Setting("auto", "cache_aware", spill=True)
EAGER = Setting("aggressive", "always", spill=False)
STEADY = Setting("prune_old_observations", "cache_aware", spill=True)


def result(runtime: Runtime, number: int) -> str:
    """The number of a result's record, as the user types it."""
    return str([one.seq for one in runtime.session.records if isinstance(one.event, ToolResult)][number])


def back_to(turn: int) -> Callable[[Runtime], object]:
    """A rewind to the end of a turn."""

    def act(runtime: Runtime) -> None:
        ends = [one.seq for one in runtime.session.records if isinstance(one.event, RunEnded)]
        runtime.emit(Rewound(ends[turn]))

    return act


def reading(session: Written, name: str, files: int = 3) -> Written:
    for number in range(files):
        session.reads(f"/{name}{number}.py", lines(200, f"{name}{number}"))
    return session.says(f"read {name}")


def recalls() -> Written:
    """A big file is cut; the model recalls lines of it, edits it and reads it again, with pauses between prompts."""
    session = Written().prompt("look at the big file").reads("/big.py", lines(1_000, "big"))
    session.calls(("recall", {"entry": 6, "lines": "700-720"}, lines(20, "page")))
    session.calls(("edit", {"path": "/big.py", "old_string": "big 3:", "new_string": "3"}, "edited"))
    session.reads("/big.py", lines(1_000, "big")).says("so")
    session.prompt("and the tests?", wait=10 * MINUTE).runs("pytest -q", lines(400, "test"), failed=True)
    session.calls(("recall", {"entry": 6, "lines": "1-20"}, lines(20, "big"))).says(
        "they fail: " + lines(3, "test")
    )
    session.prompt("fix them", wait=2 * HOUR).reads("/big.py", lines(1_000, "big"))
    return session.says("ok").prompt("thanks", wait=4 * MINUTE).says("bye")


def steered() -> Written:
    session = Written().prompt("a")
    session.calls(("read", {"path": "/a"}, lines(300, "a")), ("read", {"path": "/b"}, lines(300, "b")))
    session.steers("also c").reads("/c", lines(300, "c")).steers("and d").steers("and e")
    session.reads("/d", lines(200, "d")).says()
    return reading(session.prompt(wait=10 * MINUTE), "f").prompt(wait=2 * HOUR).says()


def many_blocks() -> Written:
    """More results in an answer than the blocks at which a breakpoint looks."""
    session = Written().prompt("a")
    for turn in range(3):
        called = [("read", {"path": f"/{turn}-{at}"}, lines(40, f"{turn}-{at}")) for at in range(24)]
        session.calls(*called)
    return reading(reading(session.says().prompt(), "f").prompt(wait=10 * MINUTE), "g").prompt().says()


def failures_and_images() -> Written:
    session = Written().prompt("a")
    for number in range(4):
        session.runs(f"make {number}", lines(300, f"error {number}") + "\nexit 2", failed=True)
    session.calls(("read", {"path": "/a.png"}, (Text("a picture"), png(800, 600)))).reads("/blank", "").says()
    return reading(session.prompt(wait=10 * MINUTE), "f").prompt(wait=10 * MINUTE).says()


def repeated_ids() -> Written:
    """As local servers number the calls of each turn."""
    session = Written().prompt("a")
    for turn in range(3):
        session.number_from(0)
        reading(session, f"t{turn}_").prompt(wait=turn * 10 * MINUTE)
    return session.says()


def models() -> Written:
    session = reading(Written().prompt("a"), "f")
    reading(session.prompt("b", first=lambda runtime: runtime.set_model(OTHER)), "g")
    reading(session.prompt("c", first=lambda runtime: runtime.set_model(MODEL)), "h")
    return reading(session.prompt(wait=10 * MINUTE, first=lambda runtime: runtime.set_model(OTHER)), "i")


def rewound() -> Written:
    session = reading(reading(Written().prompt("a"), "f").prompt("b"), "g")
    reading(session.prompt("c", first=back_to(0)), "h")
    reading(session.prompt("d", wait=10 * MINUTE), "i")
    return reading(session.prompt("e", first=back_to(1)), "j").prompt(wait=6 * MINUTE).says()


def sent_again() -> Written:
    """The endpoint still has a prompt that is sent again after a rewind."""
    session = reading(reading(Written().prompt("a"), "f").prompt(lines(99)), "g")
    return reading(session.prompt(lines(99), first=back_to(0)), "h").prompt(wait=10 * MINUTE).says()


def pinned() -> Written:
    session = reading(Written().prompt("a"), "f")
    reading(session.prompt("b", first=lambda runtime: pin.run(runtime, result(runtime, 0))), "g")
    return reading(session.prompt(wait=10 * MINUTE), "h").prompt(wait=10 * MINUTE).says()


def restored() -> Written:
    session = reading(Written().prompt("a"), "f", 4)
    reading(session.prompt("b", wait=10 * MINUTE), "g")
    reading(session.prompt("c", first=lambda runtime: restore.run(runtime, result(runtime, 0))), "h")
    return session.prompt(wait=10 * MINUTE).says()


SESSIONS = (
    recalls,
    steered,
    many_blocks,
    failures_and_images,
    repeated_ids,
    models,
    rewound,
    sent_again,
    pinned,
    restored,
)


async def made(session: Written, setting: Setting, folder: Path, *sets: str, parallel: bool = False):  # type: ignore[no-untyped-def]
    return await lived(session.records, folder, (*sets_of(setting), *sets), session.acts, parallel=parallel)


@pytest.mark.parametrize("setting", [AUTO, EAGER, STEADY], ids=lambda one: one.strategy)
@pytest.mark.parametrize("write", SESSIONS, ids=lambda one: one.__name__)
async def test_a_written_session_and_its_log_are_replayed_as_lived(
    write: Callable[[], Written], setting: Setting, tmp_path: Path
) -> None:
    session = write()
    program, runtime = await made(session, setting, tmp_path)
    assert program.edits or program.spilled
    assert replayed(runtime.session.records, runtime, setting) == program
    if not session.acts:
        assert replayed(session.records, runtime, setting) == program


@pytest.mark.parametrize(
    "write", [recalls, steered, many_blocks, models, rewound], ids=lambda one: one.__name__
)
async def test_a_log_is_replayed_under_another_setting_as_the_program_would_have_lived_it(
    write: Callable[[], Written], tmp_path: Path
) -> None:
    session = write()
    _, first = await made(session, EAGER, tmp_path / "first", parallel=True)
    program, other = await made(session, AUTO, tmp_path / "second", parallel=True)
    assert replayed(first.session.records, other, AUTO) == program


@pytest.mark.parametrize("setting", [AUTO, EAGER], ids=lambda one: one.strategy)
@pytest.mark.parametrize("write", [steered, models, rewound, pinned], ids=lambda one: one.__name__)
async def test_the_program_shows_the_savings_and_tokens_that_a_replay_counts(
    write: Callable[[], Written], setting: Setting, tmp_path: Path
) -> None:
    _, runtime = await made(write(), setting, tmp_path)
    usd, ledger = saved(runtime.session.records, runtime, setting)
    assert runtime.balance.now.net == pytest.approx(usd, abs=0.015)
    assert runtime.status().ledger == ledger
    assert ledger.pruned_tokens or usd


async def test_fetching_content_again_is_regretted_beside_the_savings(tmp_path: Path) -> None:
    """A restore happens only with prunes, so a replay without prunes does not have it."""
    _, runtime = await made(restored(), AUTO, tmp_path)
    usd, ledger = saved(runtime.session.records, runtime, AUTO)
    assert runtime.balance.now.regret
    assert runtime.balance.now.balance == pytest.approx(usd, rel=0.01)
    assert runtime.status().ledger == ledger


async def test_a_call_keeps_its_own_file_when_a_later_turn_repeats_its_id(tmp_path: Path) -> None:
    setting = Setting("superseded", "always", spill=False)
    program, runtime = await made(repeated_ids(), setting, tmp_path)
    assert replayed(runtime.session.records, runtime, setting) == program
    assert program.edits == [], "no file is read twice"


def recalling(entry: int) -> Written:
    session = reading(reading(Written().prompt("a"), "f", 5).prompt(wait=10 * MINUTE), "g")
    session.prompt().calls(("recall", {"entry": entry}, lines(200, "g1"))).says()
    return session.prompt(wait=10 * MINUTE).says().prompt(wait=10 * MINUTE).says()


async def test_a_call_of_recall_names_the_entry_by_its_number_under_the_other_setting(tmp_path: Path) -> None:
    async def entry(setting: Setting) -> int:
        _, runtime = await made(recalling(0), setting, tmp_path / f"numbers of {setting.strategy}")
        return int(result(runtime, 6))

    eager, auto = await entry(EAGER), await entry(AUTO)
    assert eager != auto
    _, first = await made(recalling(eager), EAGER, tmp_path / "first")
    program, other = await made(recalling(auto), AUTO, tmp_path / "second")
    assert f" | recall {auto}]" in str(program.edits[-1]), (
        "what it showed is cleared with a pointer to the original"
    )
    assert replayed(first.session.records, other, AUTO) == program


async def test_what_the_user_pruned_and_undid_by_hand_is_left_out(tmp_path: Path) -> None:
    session = reading(Written().prompt("a"), "f", 4)
    reading(session.prompt("b", first=lambda runtime: prune.run(runtime, "")), "g")
    reading(session.prompt("c", first=lambda runtime: undo.run(runtime, "")), "h")
    session.prompt(wait=10 * MINUTE).says()
    _, runtime = await made(session, AUTO, tmp_path / "by hand")
    assert sum(isinstance(one.event, PrunApplied | PrunReverted) for one in runtime.session.records) >= 2
    session.acts.clear()
    program, other = await made(session, AUTO, tmp_path / "without")
    assert replayed(runtime.session.records, other, AUTO) == program


async def test_a_restore_is_left_out_where_nothing_was_withheld(tmp_path: Path) -> None:
    session, setting = restored(), Setting("superseded", "cache_aware", spill=False)
    _, first = await made(session, AUTO, tmp_path / "first")
    program, other = await made(session, setting, tmp_path / "second")
    assert replayed(first.session.records, other, setting) == program


async def attach(runtime: Runtime) -> None:
    """A prompt with a long file, whose content is cut like a result."""
    (runtime.setup.cwd / "long.txt").write_text(lines(1_200, "long"))
    runtime.emit(UserMessage((Text("look at @long.txt"),), "prompt"))
    for file in await runtime.parts.attachments(run_of(runtime), "@long.txt"):
        runtime.emit(file.at(runtime.session.next_seq))


@pytest.mark.parametrize("setting", [AUTO, EAGER], ids=lambda one: one.strategy)
async def test_an_attachment_is_cut_as_the_setting_says(setting: Setting, tmp_path: Path) -> None:
    """Not as it was when the session was recorded."""
    session = reading(reading(Written().prompt("a"), "f").prompt("b", first=attach), "g")
    session.prompt(wait=10 * MINUTE).says().prompt(wait=10 * MINUTE).says()
    logs = []
    for number, one in enumerate((AUTO, EAGER)):
        program, runtime = await made(session, one, tmp_path / str(number))
        logs.append(runtime.session.records)
        if one == setting:
            lived_through, same = program, runtime
    assert [replayed(log, same, setting) == lived_through for log in logs] == [True, True]


async def test_calls_that_run_at_once_keep_the_numbers_of_the_log(tmp_path: Path) -> None:
    session = steered()
    program, runtime = await made(session, EAGER, tmp_path, parallel=True)
    kinds = [type(record.event) for record in runtime.session.records]
    start = kinds.index(ToolStarted)
    assert kinds[start : start + 4] == [ToolStarted, ToolStarted, ToolResult, ToolResult]
    assert replayed(runtime.session.records, runtime, EAGER) == program


@pytest.mark.parametrize(
    "sets",
    [("model.cache_ttl=1h",), ("pruning.spill.level=strong",), (f'models."{MODEL}".context_window=60000',)],
    ids=["an hour", "strong", "a small window"],
)
async def test_other_options_are_replayed_as_lived(sets: tuple[str, ...], tmp_path: Path) -> None:
    session = Written().prompt("a")
    for turn in range(4):
        reading(session, f"t{turn}_", 8).prompt(wait=(20 if turn == 2 else 1) * MINUTE)
    session.says().prompt(wait=2 * HOUR).says()
    program, runtime = await made(session, AUTO, tmp_path, *sets)
    assert program.edits
    assert replayed(runtime.session.records, runtime, AUTO) == program


@pytest.mark.parametrize("spill", [True, False], ids=["spill", "off"])
async def test_a_strategy_that_prunes_nothing_makes_room_near_the_window_unless_pruning_is_off(
    spill: bool, tmp_path: Path
) -> None:
    session, setting = Written().prompt("a"), Setting("no_pruning", "always", spill=spill)
    for turn in range(3):
        reading(session, f"t{turn}_", 6).prompt(wait=MINUTE)
    session.says()
    off = () if spill else ("pruning.enabled=false",)
    program, runtime = await made(session, setting, tmp_path, f'models."{MODEL}".context_window=40000', *off)
    assert bool(program.edits) == spill
    assert replayed(runtime.session.records, runtime, setting) == program


async def test_a_session_without_recall_is_not_told_to_call_it(tmp_path: Path) -> None:
    """Whatever tools are enabled when it is replayed."""
    session = reading(Written().prompt("a").runs("make", lines(400)), "f").prompt(wait=10 * MINUTE).says()
    program, runtime = await lived(session.records, tmp_path, sets_of(AUTO), recall=False)
    assert program.edits
    assert program.spilled
    assert "recall" not in str(program)
    assert "recall" in runtime.config.tools.enabled
    assert replayed(runtime.session.records, runtime, AUTO) == program


@pytest.mark.parametrize("strategy", ["aggressive", "keep_last_n_steps"])
async def test_edits_and_requests_are_as_lived_if_the_model_binds_its_thinking(
    strategy: str, tmp_path: Path
) -> None:
    """Its family has its own number of tokens, so that the usage differs from the endpoint's."""
    session, setting = Written().prompt("a"), Setting(strategy, "always", spill=False)
    for turn in range(3):
        reading(session, f"t{turn}_", 6).prompt(wait=turn * 10 * MINUTE)
    session.says()
    for at, record in enumerate(session.records):
        if isinstance(event := record.event, AssistantMessage):
            thinks = replace(event, content=(Thinking("hm " * 90, ""), *event.content))
            session.records[at] = replace(record, event=thinks)
    program, runtime = await made(session, setting, tmp_path, "model.name=claude-opus-5-5")
    answers = [one.event for one in runtime.session.records if isinstance(one.event, AssistantMessage)]
    assert any(answer.input_transformations for answer in answers), "thinking was dropped"
    again = replayed(runtime.session.records, runtime, setting)
    assert [sha256 for sha256, _ in again.requests] == [sha256 for sha256, _ in program.requests]
    assert again.edits == program.edits


COMPACTING = "compaction.enabled=true", "compaction.keep_first_turns=0", "compaction.keep_recent_turns=1"


@pytest.mark.parametrize("summary", ["so far", lines(4_000)], ids=["made", "of no use"])
async def test_a_summary_keeps_in_the_cache_what_it_reads(summary: str, tmp_path: Path) -> None:
    session = reading(reading(Written().prompt("a"), "f").prompt("b"), "g").prompt().says()
    session.summarizes(summary, wait=4 * MINUTE)
    reading(session.prompt("c", wait=4 * MINUTE), "h").prompt(wait=6 * MINUTE).says()
    program, runtime = await made(session, AUTO, tmp_path, *COMPACTING[1:], "compaction.keep_first_turns=1")
    reports = (AttemptBilled, CompactionApplied)
    assert sum(isinstance(one.event, reports) for one in runtime.session.records) == 1
    assert replayed(runtime.session.records, runtime, AUTO) == program


async def test_a_summary_between_two_rewinds_is_played_as_lived(tmp_path: Path) -> None:
    session = reading(reading(Written().prompt("a"), "f", 4).prompt().says().prompt(), "g").prompt().says()

    async def act(runtime: Runtime) -> None:
        back_to(1)(runtime)
        await runtime.compact()
        back_to(-1)(runtime)

    reading(session.summarizes(lines(6_000), first=act).prompt(), "h")
    program, runtime = await made(session, EAGER, tmp_path, *COMPACTING[1:])
    assert any(isinstance(one.event, AttemptBilled) for one in runtime.session.records)
    assert replayed(runtime.session.records, runtime, EAGER) == program


async def test_the_gate_counts_the_compactions_that_prunes_spare(tmp_path: Path) -> None:
    session = Written().prompt("a")
    for turn in range(3):
        reading(session, f"t{turn}_", 3).prompt()
    limit = "compaction.max_context_tokens=12000"
    program, runtime = await made(session.says(), STEADY, tmp_path, *COMPACTING, limit)
    assert "spares a summary" in str(runtime.session.records)
    assert replayed(runtime.session.records, runtime, STEADY) == program


async def test_prunes_before_a_compaction_are_made_before_its_request(tmp_path: Path) -> None:
    session, text = Written().prompt("a"), lines(200, "f")
    session.reads("/f", text).reads("/g", text).reads("/h", text).reads("/f", text).says()
    session.prompt(lines(400), wait=HOUR).says("A summary.").says()
    setting = Setting("superseded", "cache_aware", spill=False)
    program, runtime = await made(
        session, setting, tmp_path, *COMPACTING, "compaction.max_context_tokens=12000"
    )
    kinds = [type(record.event) for record in runtime.session.records]
    assert kinds.index(PrunApplied) + 1 == kinds.index(CompactionApplied)
    assert replayed(runtime.session.records, runtime, setting) == program


class Routed:
    """A provider whose endpoint now and then lets another model answer."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._asked = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self._asked += 1
        async for event in self._provider.stream(request):
            other = isinstance(event, Response) and self._asked % 3 == 0
            yield replace(event, model=OTHER) if other and isinstance(event, Response) else event

    async def models(self) -> tuple[Offer, ...]:
        return await self._provider.models()

    async def close(self) -> None:
        await self._provider.close()


async def test_an_answer_that_names_another_model_is_not_a_change_of_the_model(tmp_path: Path) -> None:
    session = reading(reading(Written().prompt("a"), "f").prompt("b"), "g")
    program, runtime = await lived(session.records, tmp_path, sets_of(EAGER), around=Routed)
    assert replayed(runtime.session.records, runtime, EAGER) == program
