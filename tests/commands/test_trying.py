"""/prune-config try: what another strategy would have sent and cost in the session that is open."""

from pathlib import Path

import pytest

from prunecli.commands.command import Choose, InThread, Say, Table, arguments, run_line
from prunecli.features.replay.trial import MOST_REQUESTS, TrialStopped
from prunecli.model.events import AssistantMessage, RequestSent, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from tests.scripted import Scripted, calls, says
from tests.starting import start

SETS = ("permissions.mode=auto", "model.name=claude-sonnet-4-5")


async def worked(folder: Path, *sets: str, reads: int = 4) -> Runtime:
    """A runtime that read one long file a few times."""
    script: list[Scripted] = [calls(ToolUse(f"t{n}", "read", {"path": "long.txt"})) for n in range(reads)]
    runtime = start(folder, [*script, says("Read."), says("Again.")], sets=(*SETS, *sets))
    (runtime.setup.cwd / "long.txt").write_text("a line of some length\n" * 300)
    await runtime.submit("read it")
    return runtime


def trial(runtime: Runtime, words: str) -> InThread:
    (effect,) = run_line(runtime, f"/prune-config try {words}")
    assert isinstance(effect, InThread), effect
    return effect


def tried(runtime: Runtime, words: str) -> Table:
    (table,) = trial(runtime, words).work()
    assert isinstance(table, Table)
    return table


def settings(table: Table) -> list[tuple[str, ...]]:
    """The columns of a trial: the name of a setting, and its figures."""
    return list(zip(table.headings, *table.rows, strict=True))[1:]


def told(effects: object) -> str:
    (said,) = effects  # type: ignore[misc]
    assert isinstance(said, Say)
    assert said.level == "error"
    return said.text


async def test_it_shows_no_pruning_the_present_strategy_the_tried_one_and_what_was_reported(
    tmp_path: Path,
) -> None:
    runtime = await worked(tmp_path)
    before = list(runtime.session.records)
    table = tried(runtime, "aggressive")
    assert [row[0] for row in settings(table)] == ["no_pruning", "auto", "aggressive + spill", "as billed"]
    assert {row[1] for row in settings(table)} == {"5"}
    assert all(row[4].startswith("$") for row in settings(table))
    assert settings(table)[0][5:7] == ("100%", "100%")
    assert "/prune-config strategy aggressive selects it" in table.note
    assert "can't show what the model would have done differently" in table.note
    assert runtime.session.records == before, "trying changes nothing"
    assert runtime.config.pruning.strategy == "auto"


async def test_the_options_of_the_session_are_tried(tmp_path: Path) -> None:
    runtime = await worked(tmp_path, "pruning.gate=always")
    assert settings(tried(runtime, "keep_last_n_steps"))[2][8] == "0"
    run_line(runtime, "/prune-config keep_last_n_steps.n 1")
    assert settings(tried(runtime, "keep_last_n_steps"))[2][8] == "3"
    run_line(runtime, "/prune-config spill.read 100")
    assert settings(tried(runtime, "keep_last_n_steps"))[2][9] == "4"
    run_line(runtime, "/prune-config spill.enabled false")
    assert settings(tried(runtime, "keep_last_n_steps"))[2][9] == "0"


async def test_no_pruning_has_one_row_if_no_result_is_shortened(tmp_path: Path) -> None:
    runtime = await worked(tmp_path, "pruning.spill.enabled=false")
    table = tried(runtime, "no_pruning")
    assert [row[0] for row in settings(table)] == ["no_pruning", "auto", "as billed"]


async def test_a_present_strategy_of_the_endpoint_has_no_row(tmp_path: Path) -> None:
    runtime = await worked(tmp_path, "pruning.strategy=server_clear")
    assert [row[0] for row in settings(tried(runtime, "pi"))] == ["no_pruning", "pi + spill", "as billed"]


async def test_two_strategies_run_one_after_the_other(tmp_path: Path) -> None:
    table = tried(await worked(tmp_path), "superseded+pi")
    assert settings(table)[2][0] == "superseded+pi + spill"
    assert '/prune-config strategy ["superseded", "pi"] selects it' in table.note


async def test_without_a_name_the_strategies_are_offered(tmp_path: Path) -> None:
    (choose,) = run_line(await worked(tmp_path), "/prune-config try")
    assert isinstance(choose, Choose)
    assert choose.command == "prune-config"
    names = [choice.label for choice in choose.choices]
    assert {"auto", "pi", "no_pruning"} <= set(names)
    assert "server_clear" not in names, "the endpoint edits, so nothing is known of it"
    assert [choice.label for choice in choose.choices if choice.current] == ["auto"]
    assert choose.choices[0].value == f"try {names[0]}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("magic", "try magic: no such strategy"),
        ("pi+magic", "try magic: no such strategy"),
        ("server_clear", "try server_clear: a trial can't show what the endpoint clears itself"),
        ("pi auto", "one strategy at a time, got pi auto"),
        ("+", "try +: no such strategy"),
        ("pi+", "try pi+: no such strategy"),
    ],
)
async def test_a_wrong_name_is_an_error_with_the_right_ones(tmp_path: Path, words: str, said: str) -> None:
    text = told(run_line(start(tmp_path), f"/prune-config try {words}"))
    assert said in text
    assert "choose from" in text or "a+b" in text


async def test_it_stops_when_asked_to(tmp_path: Path) -> None:
    effect = trial(await worked(tmp_path), "pi")
    effect.stop()
    with pytest.raises(TrialStopped, match="stopped"):
        effect.work()


async def test_a_long_session_is_tried_up_to_a_limit(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=SETS)
    for _ in range(MOST_REQUESTS + 5):
        runtime.emit(UserMessage((Text("and?"),)))
        runtime.emit(RequestSent("claude-sonnet-4-5", 1, ""))
        runtime.emit(AssistantMessage((Text("Yes."),), "claude-sonnet-4-5", usage=Usage(10, 1)))
    table = tried(runtime, "no_pruning")
    assert settings(table)[0][1] == "2,000"
    assert table.note.startswith("The first 2,000 requests.")


async def test_a_session_without_a_request_shows_zeros_and_one_without_a_price_what_it_assumes(
    tmp_path: Path,
) -> None:
    empty = tried(start(tmp_path / "one", sets=SETS), "pi")
    assert [row[1] for row in settings(empty)] == ["0"] * 3
    assert settings(empty)[0][5] == "-"
    runtime = await worked(tmp_path / "two", "model.name=local-model")
    table = tried(runtime, "pi")
    assert "as billed" not in [row[0] for row in settings(table)]
    assert table.note.startswith(
        "local-model: no known price, counting $1 for a million tokens of input. The recorded answers"
    )


async def test_a_function_that_fails_is_told(tmp_path: Path) -> None:
    runtime = await worked(tmp_path, "pruning.importance.function=math:nothing", "pruning.importance.n=1")
    assert tried(runtime, "importance").note.startswith("pruning.importance.function (math:nothing): ")


async def test_the_strategies_that_can_be_tried_are_completed(tmp_path: Path) -> None:
    runtime = await worked(tmp_path)
    words = dict(arguments(runtime, "prune-config "))
    assert "opencode" in words, "the options of any strategy can be listed"
    assert next(iter(words)) == "try"
    assert words["gate"] == '"cache_aware"', "an option and its value"
    assert words["spill"] == "All of its options"
    assert words["pi.prune_protect"].startswith("Tokens of the newest tool results to keep. An integer")
    values = dict(arguments(runtime, "prune-config strategy "))
    assert values["auto"] == "current"
    assert values["pi"] == "Keep the newest results within a budget, prune the rest (pi-context-pruning 1.1)."
    assert dict(arguments(runtime, "prune-config gate ")) == {"cache_aware": "current", "always": ""}
    assert dict(arguments(runtime, "prune-config pi.prune_protect ")) == {"40000": "current"}
    assert arguments(runtime, "prune-config no_such ") == []
    assert arguments(runtime, "prune-config gate always ") == []
    found = dict(arguments(runtime, "prune-config try a"))
    assert found["auto"] == "current"
    assert found["aggressive"] == ""
    assert "server_clear" not in found, "the endpoint's own edits cannot be tried"
    assert arguments(runtime, "prune-config try pi ") == []
    assert arguments(runtime, "no-such-command x") == ()
