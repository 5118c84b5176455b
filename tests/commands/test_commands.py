"""The slash commands: what each does and answers."""

from functools import reduce
from pathlib import Path

import pytest

from prunecli import __version__
from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import (
    Choose,
    CompactNow,
    Confirm,
    EditFile,
    FillPrompt,
    PickSession,
    Say,
    SetTheme,
    ShowScreen,
    Submit,
    SwitchSession,
    Table,
    all_commands,
    command_names,
    run_line,
)
from prunecli.model.edits import Edit
from prunecli.model.events import (
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import ToolUse
from prunecli.model.notes import typed
from prunecli.model.requests import link
from prunecli.model.touches import named
from prunecli.runtime import Runtime
from tests.scripted import calls, says
from tests.starting import start

SMALL = (
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=10",
    "permissions.mode=auto",
)

BARE = ("config", "new", "prune-stats", "quit", "redo", "reload", "skills", "status", "todo", "tree", "trust")
"""The commands that take no arguments."""


def say(effects: object) -> str:
    assert isinstance(effects, list)
    return "\n".join(effect.text for effect in effects if isinstance(effect, Say))


async def with_results(folder: Path, *, sets: tuple[str, ...] = SMALL) -> Runtime:
    """A runtime after three reads of a long file."""
    runtime = start(
        folder,
        [
            *(calls(ToolUse(f"t{n}", "read", {"path": "long.txt"})) for n in range(3)),
            says("Read."),
            says("Again."),
        ],
        sets=sets,
    )
    (runtime.setup.cwd / "long.txt").write_text("a line of some length\n" * 300)
    await runtime.submit("read it")
    return runtime


def test_every_command_has_one_line_of_help() -> None:
    for command in all_commands():
        assert command.help, command.name
        assert len(command.help) < 100, command.name


@pytest.mark.parametrize("line", ["/exit", "/clear", "/stats", "/sessions"])
def test_a_command_has_another_name(tmp_path: Path, line: str) -> None:
    name = {"/exit": "/quit", "/clear": "/new", "/stats": "/prune-stats", "/sessions": "/resume"}[line]
    assert run_line(start(tmp_path), line) == run_line(start(tmp_path / "other"), name)


def test_status_says_what_this_session_runs_with(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=("permissions.mode=edits",))
    (table,) = run_line(runtime, "/status")
    assert isinstance(table, Table)
    rows = dict(table.rows)
    assert (rows["version"], rows["model"]) == (__version__, runtime.model_name)
    assert runtime.session.id in rows["session"]
    assert rows["context"].startswith("~0 of 170K tokens (0%), window 1.0M")
    assert rows["limit"] == "summarized at 85% of compaction.max_context_tokens"
    assert rows["permissions"].startswith("edits")
    assert rows["sandbox"] == "not tried yet"


async def test_review_asks_for_the_uncommitted_changes_or_what_is_named(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("None."), says("None.")])
    for line, words in (
        ("/review", "named here:"),
        ("/review the last commit", "named here: the last commit"),
    ):
        (asked,) = run_line(runtime, line)
        assert isinstance(asked, Submit)
        await runtime.submit(asked.text)
        sent = [item.event for item in runtime.session.context.items if isinstance(item.event, UserMessage)]
        first = typed(sent[-1]).split("\n")[0]
        assert first.startswith("Review the uncommitted changes")
        assert first.strip().endswith(words)


def test_only_a_near_command_is_suggested(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert "Did you mean /prune-stats?" in say(list(run_line(runtime, "/prunestats")))
    assert "Did you mean /help?" in say(list(run_line(runtime, "/HELP")))
    assert "did you mean 'pi'?" in say(list(run_line(runtime, "/prune-config strategy PI")))
    assert "Did you mean" not in say(list(run_line(runtime, "/vim")))


def test_help_lists_every_command(tmp_path: Path) -> None:
    table = next(e for e in run_line(start(tmp_path), "/help") if isinstance(e, Table))
    assert len(table.rows) == len(command_names())
    assert any("/new, /clear" in row[0] for row in table.rows)
    (one,) = run_line(start(tmp_path / "other"), "/help /rena")
    assert isinstance(one, Table)
    assert [row[0] for row in one.rows] == ["/rename"]
    assert "no command is named nope" in say(list(run_line(start(tmp_path / "third"), "/help nope")))


async def test_prune_applies_at_once_and_undo_brings_it_back(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    before = runtime.session.context.messages()
    assert " in 2 results. /undo" in say(list(run_line(runtime, "/prune")))
    assert runtime.session.context.messages() != before
    event = next(r.event for r in runtime.session.records if isinstance(r.event, PrunApplied))
    assert (event.source, event.reason) == ("user", "the user asked for it")
    assert "1 prune," in say(list(run_line(runtime, "/undo")))
    assert runtime.session.context.messages() == before
    assert isinstance(runtime.session.records[-1].event, PrunReverted)
    assert "Nothing to undo" in say(list(run_line(runtime, "/undo")))


async def test_entries_are_pruned_by_number(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    context = runtime.session.context
    first, second = [entry.seq for entry in context.live_results][:2]
    assert "clear entry" in say(list(run_line(runtime, f"/prune {first}")))
    assert first not in [entry.seq for entry in context.live_results]
    head = context.entries[second].exchange
    assert head is not None
    assert "drop this exchange" in say(list(run_line(runtime, f"/prune {head.seq}-{second}")))
    assert context.dropped(head)
    said = say(list(run_line(runtime, f"/prune {first}")))
    assert "Nothing to prune: already pruned" in said
    assert "your messages always stay" in say(list(run_line(runtime, f"/prune {context.items[0].seq}")))
    assert "expected an entry number" in say(list(run_line(runtime, "/prune all")))


async def test_prune_by_the_user_prunes_again_what_an_undo_restored(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    run_line(runtime, "/prune")
    assert "no /undo since" in say(list(run_line(runtime, "/redo")))
    run_line(runtime, "/undo")
    assert runtime.policy.prunes(runtime.session.context) == [], "strategies leave it alone"
    assert " in 2 results. /undo" in say(list(run_line(runtime, "/prune")))


@pytest.mark.parametrize(
    ("line", "verb", "before"),
    [("/prune", "Prune", ()), ("/undo", "Undo", ("/prune",)), ("/redo", "Redo", ("/prune", "/undo"))],
)
async def test_an_act_on_the_context_is_confirmed_as_configured(
    tmp_path: Path, line: str, verb: str, before: tuple[str, ...]
) -> None:
    runtime = await with_results(tmp_path, sets=(*SMALL, "ui.confirm=never"))
    for one in before:
        run_line(runtime, one)
    runtime.use_config(runtime.config.with_value("ui.confirm", "always"))
    there = len(runtime.session.records)
    (asked,) = run_line(runtime, line)
    assert isinstance(asked, Confirm)
    assert asked.verb == verb
    assert asked.line.startswith("Adds" if line == "/undo" else "Frees")
    assert len(runtime.session.records) == there, "nothing happens before the answer"
    assert say(list(asked.then()))
    assert len(runtime.session.records) > there


async def test_prune_with_nothing_to_prune_says_why(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path, sets=("permissions.mode=auto", "pruning.strategy=pi"))
    assert "Nothing to prune" in say(list(run_line(runtime, "/prune")))
    assert "Nothing to prune" in say(list(run_line(start(tmp_path / "home"), "/prune")))


def pruning_options(runtime: Runtime) -> list[tuple[str, ...]]:
    """Name, value and origin of each option, as /prune-config lists them without a screen."""
    (screen,) = run_line(runtime, "/prune-config")
    assert isinstance(screen, ShowScreen)
    _, options = screen.instead()
    assert isinstance(options, Table)
    return [row[:3] for row in options.rows]


async def test_prune_toggle_holds_for_the_session_and_is_recorded(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    assert "off" in say(list(run_line(runtime, "/prune-toggle")))
    assert runtime.session.records[-1].event == SettingChanged("pruning.enabled", False)
    assert not runtime.status().pruning
    assert runtime.policy.prunes(runtime.session.context) == []
    assert ("enabled", "false", "/prune-toggle") in pruning_options(runtime)
    assert "off" in say(list(run_line(runtime, "/prune-toggle off"))), "also if it is off already"
    assert "expected nothing, on or off" in say(list(run_line(runtime, "/prune-toggle x")))
    assert "on" in say(list(run_line(runtime, "/prune-toggle")))
    assert ("enabled", "true", "default") in pruning_options(runtime)


def test_prune_config_shows_origins_and_changes_a_value_for_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=("pruning.strategy=pi",))
    assert ("pi.prune_protect", "40000", "default") in pruning_options(runtime)
    assert "20000" in say(list(run_line(runtime, "/prune-config pi.prune_protect 20000")))
    assert runtime.config.strategy_options("pi").prune_protect == 20_000
    assert "session" in say(list(run_line(runtime, "/prune-config pi.prune_protect")))


def test_prune_config_saves_only_when_asked(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    run_line(runtime, "/prune-config pi.prune_protect 20000")
    assert not runtime.setup.places.settings_file.exists()
    assert "saved" in say(list(run_line(runtime, "/prune-config pi.prune_protect 10000 --save")))
    assert "10000" in runtime.setup.places.settings_file.read_text()


def test_an_unknown_option_is_answered_with_those_of_pruning(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    for line in ("/prune-config protect", "/prune-config protect 3"):
        said = say(list(run_line(runtime, line)))
        assert said.startswith("no pruning option named 'protect' (did you mean pruning.pi.prune_protect?)\n")
        assert "options: enabled, strategy, gate," in said
    assert "did you mean pruning.gate?" in say(list(run_line(runtime, "/prune-config gat 1")))
    assert "did you mean" not in say(list(run_line(runtime, "/prune-config x"))), "nothing is like it"


def test_the_options_of_any_strategy_can_be_listed(tmp_path: Path) -> None:
    (table,) = run_line(start(tmp_path), "/prune-config opencode")
    assert isinstance(table, Table)
    assert {row[0].partition(".")[0] for row in table.rows} == {"opencode"}


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        ("/doctor x", "/doctor probe tests the endpoint"),
        ("/copy x", "/copy code"),
        ("/pin off x", "/pin off 17"),
        ("/restore x", "/restore 17 20-24"),
    ],
)
async def test_a_word_in_place_of_an_entry_number_is_answered_with_what_the_command_takes(
    tmp_path: Path, line: str, takes: str
) -> None:
    said = say(list(run_line(await with_results(tmp_path), line)))
    assert said.startswith("expected an entry number, got 'x'\n")
    assert takes in said


@pytest.mark.parametrize("line", ["/prune-config pi.prune_protect 20k", "/prune-config pi.nothing 1"])
def test_a_wrong_option_is_an_error_that_names_the_key(tmp_path: Path, line: str) -> None:
    effects = list(run_line(start(tmp_path), line))
    assert isinstance(effects[0], Say)
    assert effects[0].level == "error"
    assert "pi." in effects[0].text


def test_two_words_are_no_model(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert "no model named 'sonnet high'" in say(list(run_line(runtime, "/model sonnet high")))
    assert not runtime.session.records


def test_model_is_chosen_for_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    choose = run_line(runtime, "/model")[0]
    assert isinstance(choose, Choose)
    assert any(choice.value == "opus" for choice in choose.choices)
    assert "claude-opus" in say(list(run_line(runtime, "/model opus")))
    assert runtime.model_name.startswith("claude-opus")


def test_a_model_that_may_not_answer_is_taken_and_doubted(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=["model.name=demo"])
    said = list(run_line(runtime, "/model claude-sonet-5-5"))
    assert [effect.level for effect in said if isinstance(effect, Say)] == ["info", "warning", "warning"]
    assert "Did you mean claude-sonnet-5-5?" in say(said)
    assert "No API key. /login" in say(said)
    assert "Did you mean" not in say(list(run_line(runtime, "/model zzz")))
    assert len(list(run_line(runtime, "/model demo"))) == 1
    elsewhere = start(tmp_path / "other", sets=["model.base_url=http://127.0.0.1:9"])
    assert len(list(run_line(elsewhere, "/model sonnet"))) == 1


@pytest.mark.parametrize(
    ("line", "surplus", "takes"),
    [
        *((f"/{name} extra words", "extra words", "no arguments") for name in BARE),
        ("/context tabel", "tabel", "nothing or table"),
        ("/effort high now", "now", "a level, with --save to keep it"),
        ("/effort --save", "--save", "a level, with --save to keep it"),
        ("/theme fjord --sav", "--sav", "a name, with --save to keep it"),
        ("/theme --save", "--save", "a name, with --save to keep it"),
        ("/plan off", "off", "a task; Shift+Tab changes the mode"),
        ("/quit " + "x" * 5_000, "x" * 59 + "…", "no arguments"),
    ],
)
def test_arguments_that_a_command_does_not_take_are_refused_and_nothing_is_done(
    tmp_path: Path, line: str, surplus: str, takes: str
) -> None:
    runtime = start(tmp_path)
    before, name, mode = runtime.session.id, line.split()[0], runtime.gatekeeper.mode
    expected = f"{name} {surplus}: unknown argument\n{name} takes {takes}"
    assert run_line(runtime, line) == [Say(expected, "error")]
    assert (runtime.session.id, runtime.gatekeeper.mode) == (before, mode)
    assert runtime.session.records == []
    assert "/hooks revoke x: unknown argument" in say(list(run_line(runtime, "/hooks revoke x")))


def test_theme_is_chosen_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert isinstance(run_line(runtime, "/theme")[0], Choose)
    (effect,) = run_line(runtime, "/theme prune-light")
    assert isinstance(effect, SetTheme)
    assert effect.name == "prune-light"
    assert runtime.config.ui.theme != "prune-light", "the front end checks the theme first"
    assert effect.then() == [Say("Theme: prune-light. /theme prune-light --save keeps it.")]
    assert runtime.config.ui.theme == "prune-light"
    assert "No theme" in say(list(run_line(runtime, "/theme ../../x")))


async def test_new_and_resume_switch_sessions(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    first = runtime.session.id
    assert run_line(runtime, "/new") == [SwitchSession()]
    assert runtime.session.id != first
    pick = run_line(runtime, "/resume")[0]
    assert isinstance(pick, PickSession)
    choose = pick.choose()
    assert [choice.value for choice in choose.choices] == [first]
    assert choose.choices[0].label == "Read it"
    assert run_line(runtime, f"/resume {first}") == [SwitchSession()]
    assert runtime.session.id == first
    assert runtime.status().ledger.scanned_tokens > 0


def test_resume_of_nothing_says_so(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert "No earlier session" in say(list(run_line(runtime, "/resume")))
    assert "no session" in say(list(run_line(runtime, "/resume 2020")))


async def test_context_shows_each_entry_with_its_state_and_why(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    run_line(runtime, "/prune")
    table = run_line(runtime, "/context table")[0]
    assert isinstance(table, Table)
    assert [row[4] for row in table.rows if "read" in row[1] and row[1].startswith("  ")] == [
        "cleared",
        "cleared",
        "live",
    ]
    assert "tokens" in table.note


def test_config_opens_the_editor_and_reload_reads_again(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    effect = run_line(runtime, "/config")[0]
    assert effect == EditFile(runtime.setup.places.config_file, "reload")
    runtime.setup.places.config_file.write_text("[pruning.pi]\nprune_protect = 7\n")
    assert "Configuration reloaded" in say(list(run_line(runtime, "/reload")))
    assert runtime.config.strategy_options("pi").prune_protect == 7
    runtime.setup.places.config_file.write_text("[pruning.pi]\nprune_protect = 'x'\n")
    wrong = say(list(run_line(runtime, "/reload")))
    assert "prune_protect" in wrong
    assert wrong.endswith("the previous values stay in effect. /config to edit again.")
    assert runtime.config.strategy_options("pi").prune_protect == 7


def test_reload_keeps_what_was_set_for_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    run_line(runtime, "/prune-config pi.prune_protect 7")
    (theme,) = run_line(runtime, "/theme fjord")
    assert isinstance(theme, SetTheme)
    theme.then()
    runtime.setup.places.config_file.parent.mkdir(parents=True, exist_ok=True)
    runtime.setup.places.config_file.write_text("[pruning.pi]\nprune_protect = 8\nprune_minimum = 9\n")
    said = say(list(run_line(runtime, "/reload")))
    options = runtime.config.strategy_options("pi")
    assert (options.prune_protect, options.prune_minimum, runtime.config.ui.theme) == (7, 9, "fjord")
    assert runtime.config.origin("pi.prune_protect") == "session"
    assert "Kept for this session: pruning.pi.prune_protect, ui.theme" in said


def test_trusting_a_directory_keeps_what_was_set_for_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path, trusted=False)
    run_line(runtime, "/prune-config pi.prune_protect 7")
    run_line(runtime, "/trust yes")
    assert runtime.config.strategy_options("pi").prune_protect == 7


async def test_a_changed_configuration_keeps_the_rules_that_the_user_granted(tmp_path: Path) -> None:
    runtime = start(tmp_path)

    async def always(asked: Asked) -> Answer:
        return Answer("always")

    runtime.gatekeeper.asker = always
    call = ToolUse("t", "bash", {"command": "make test"})
    await runtime.gatekeeper.ask(Asked(call, named(call.name, call.input), "", ("bash(make test)",)))
    for line in ("/theme fjord", "/prune-config pi.prune_protect 7", "/reload"):
        run_line(runtime, line)
        assert runtime.gatekeeper.judge("bash", named("bash", call.input)).kind == "allow", line


def test_a_rule_that_cannot_be_read_leaves_the_old_configuration(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.setup.places.config_file.parent.mkdir(parents=True, exist_ok=True)
    runtime.setup.places.config_file.write_text(
        '[tools]\nenabled = ["read"]\n[permissions]\nask = ["bash(("]\n'
    )
    assert "bash((" in say(list(run_line(runtime, "/reload")))
    assert "bash" in runtime.tools


def test_trust_is_asked_for_and_kept(tmp_path: Path) -> None:
    runtime = start(tmp_path, trusted=False)
    assert isinstance(run_line(runtime, "/trust")[0], Choose)
    assert "Read-only" in say(list(run_line(runtime, "/trust no")))
    assert not runtime.gatekeeper.trusted
    run_line(runtime, "/trust yes")
    assert runtime.gatekeeper.trusted
    assert runtime.setup.trust_store.is_trusted(runtime.setup.cwd)
    assert "is trusted" in say(list(run_line(runtime, "/trust")))


def test_permissions_change_the_mode(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert any(isinstance(effect, Choose) for effect in run_line(runtime, "/permissions"))
    run_line(runtime, "/permissions edits")
    assert runtime.status().mode == "edits"
    assert "No mode" in say(list(run_line(runtime, "/permissions yolo")))


def test_auto_mode_has_a_question_of_its_own(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    run_line(runtime, "/permissions edits")
    (asked,) = run_line(runtime, "/permissions auto")
    assert isinstance(asked, Choose)
    assert asked.grave
    assert [(one.value, one.label) for one in asked.choices] == [("auto yes", "Yes"), ("edits", "No")]
    assert runtime.status().mode == "edits"
    run_line(runtime, f"/permissions {asked.choices[0].value}")
    assert runtime.status().mode == "auto"
    assert "Mode auto" in say(list(run_line(runtime, "/permissions auto"))), "it is not asked again"


def test_rename_names_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    run_line(runtime, "/rename parser fix")
    assert runtime.session.name == "parser fix"
    for empty in ('""', "' '"):
        run_line(runtime, "/rename parser fix")
        assert run_line(runtime, f"/rename {empty}") == [Say("Session name removed.")]
        assert runtime.session.name == ""


async def test_a_name_may_stand_in_quotes(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    first = runtime.session.id
    assert run_line(runtime, '/rename "parser fix"') == [Say("Session renamed to parser fix.")]
    assert run_line(runtime, "/new") == [SwitchSession()]
    run_line(runtime, "/resume 'parser fix'")
    assert runtime.session.id == first
    run_line(runtime, '/rename the "old" one')
    assert runtime.session.name == 'the "old" one'


async def test_pin_keeps_an_entry_from_every_prune(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    first = next(e.seq for e in runtime.session.context.entries.values() if e.kind == "result")
    assert f"Pinned: {first}" in say(list(run_line(runtime, f"/pin {first}")))
    run_line(runtime, "/prune")
    assert runtime.session.context.text_edit(first) is None
    assert f"Pinned: {first}" in say(list(run_line(runtime, "/pin")))
    assert "Unpinned" in say(list(run_line(runtime, f"/pin off {first}")))
    run_line(runtime, "/prune")
    assert runtime.session.context.text_edit(first) is not None


async def test_pin_and_its_undo_name_only_the_entries_that_they_change(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    prompt, *later = runtime.session.context.entries
    assert f"Pinned: {', '.join(map(str, later))}." in say(list(run_line(runtime, "/pin 1-999")))
    assert "Nothing to pin: strategies never prune this" in say(list(run_line(runtime, f"/pin {prompt}")))
    run_line(runtime, f"/pin off {later[0]}-{later[-2]}")
    assert say(list(run_line(runtime, "/pin off 1-999"))) == f"Unpinned: {later[-1]}."
    assert say(list(run_line(runtime, "/pin off 1-999"))) == "Nothing to unpin: not pinned."
    runtime.emit(CompactionApplied("The gist.", prompt, later[-1]))
    assert "Nothing to pin: strategies never prune this" in say(list(run_line(runtime, "/pin 1-999")))


async def test_restore_shows_entries_again_at_the_end_and_nothing_before_them_changes(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    context = runtime.session.context
    run_line(runtime, "/prune")
    pruned = [seq for seq in context.entries if context.text_edit(seq)]
    before, digest = context.messages(), context.sha256()
    said = say(list(run_line(runtime, f"/restore {pruned[0]}-{pruned[-1]}")))
    assert "No cache is lost" in said
    after = context.messages()
    assert after[: len(before)] == before
    assert reduce(link, after[: len(before)], context.preamble.digest()).hex() == digest
    assert context.pinned == {runtime.session.records[-1].seq}
    last = runtime.session.records[-1].event
    assert isinstance(last, UserMessage)
    assert (last.origin, last.restores) == ("command", tuple(pruned))
    assert typed(last) == f"/restore {' '.join(map(str, pruned))}"
    for seq in pruned:
        event = context.entries[seq].event
        assert isinstance(event, ToolResult)
        assert set(event.content) <= set(last.content)
    assert "already shown again" in say(list(run_line(runtime, f"/restore {pruned[0]}")))


async def test_restore_in_place_brings_one_entry_back_where_it_was(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    whole = runtime.session.context.messages()
    run_line(runtime, "/prune")
    pruned = [
        e.seq for e in runtime.session.context.entries.values() if runtime.session.context.text_edit(e.seq)
    ]
    for seq in pruned:
        said = say(list(run_line(runtime, f"/restore {seq} in-place")))
        assert "Restored in place and pinned" in said
    assert runtime.session.context.messages() == whole
    assert runtime.session.context.pinned == set(pruned)
    assert "Nothing to restore" in say(list(run_line(runtime, f"/restore {pruned[0]}")))


@pytest.mark.parametrize("where", ["", " in-place"])
async def test_restore_of_an_answer_restores_its_results(tmp_path: Path, where: str) -> None:
    runtime = await with_results(tmp_path)
    context = runtime.session.context
    run_line(runtime, "/prune")
    pruned = next(entry for entry in context.entries.values() if context.text_edit(entry.seq))
    assert pruned.exchange is not None
    said = say(list(run_line(runtime, f"/restore {pruned.exchange.seq}{where}")))
    assert f"pinned: {pruned.seq} " in said


@pytest.mark.parametrize("line", ["/restore", "/restore x", "/pin 9999", "/restore -1"])
def test_what_is_no_entry_is_said(tmp_path: Path, line: str) -> None:
    assert "/context lists the entries" in say(list(run_line(start(tmp_path), line)))


@pytest.mark.parametrize(
    ("answer", "turns", "why"),
    [
        ("Yes.", 2, "the session has 2 turns, and the first 1 and the last 1 stay ([compaction] keep_first"),
        ("Yes.", 5, "a summary would replace only"),
    ],
)
async def test_compact_costs_no_request_where_it_gains_nothing_and_says_why(
    tmp_path: Path, answer: str, turns: int, why: str
) -> None:
    sets = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1", "model.name=claude-opus-5")
    runtime = start(tmp_path, [says(answer)] * turns, sets=sets)
    for number in range(turns):
        await runtime.submit(f"my own long words {number} " * 100)
    assert f"Nothing to summarize yet: {why}" in say(list(run_line(runtime, "/compact")))
    assert not await runtime.compact()


async def test_compact_is_offered_only_where_something_lies_between(tmp_path: Path) -> None:
    sets = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1", "model.name=claude-opus-5")
    long = says("a long answer " * 200)
    runtime = start(tmp_path, [long, long, long, says("The gist.")], sets=sets)
    assert "Nothing to summarize" in say(list(run_line(runtime, "/compact")))
    for words in ("one", "two", "three"):
        await runtime.submit(words)
    assert run_line(runtime, "/compact the parser") == [CompactNow("the parser")]
    assert await runtime.compact("the parser")
    body = runtime.session.context.messages()
    assert any(b"The gist." in message.canonical for message in body)
    assert any(b"two" in message.canonical for message in body)


async def test_what_the_next_request_prunes_is_announced(tmp_path: Path) -> None:
    sets = (*SMALL, "pruning.pi.prune_minimum=1", "pruning.gate=always")
    runtime = await with_results(tmp_path, sets=sets)
    assert runtime.status().held == "3.6K to prune with the next request"


async def test_redo_prunes_again_what_undo_brought_back(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    assert "Nothing to redo" in say(list(run_line(runtime, "/redo")))
    run_line(runtime, "/prune")
    pruned = runtime.session.context.messages()
    run_line(runtime, "/undo")
    assert runtime.session.context.messages() != pruned
    assert "Redid 1 prune, " in say(list(run_line(runtime, "/redo")))
    assert runtime.session.context.messages() == pruned
    assert "Nothing to redo" in say(list(run_line(runtime, "/redo")))


async def test_undo_takes_one_prune_by_its_number(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    run_line(runtime, "/prune")
    table = next(e for e in run_line(runtime, "/prune-stats") if isinstance(e, Table))
    number = table.rows[0][0]
    assert "/prune-stats lists prunes" in say(list(run_line(runtime, f"/undo {int(number) - 1}")))
    assert "Undid 1 prune" in say(list(run_line(runtime, f"/undo {number}")))
    assert not runtime.session.context.pruns


async def test_undo_says_that_an_automatic_prune_may_come_back(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    for line, source, said in (
        ("/prune-toggle on", "strategy", True),
        ("/prune-toggle on", "user", False),
        ("/prune-toggle off", "strategy", False),
    ):
        run_line(runtime, line)
        seq = next(seq for seq, one in runtime.session.context.entries.items() if one.kind == "result")
        runtime.emit(PrunApplied(source, (Edit("clear", seq, None, "x", 10, 0),), tokens_removed=10))
        text = say(list(run_line(runtime, "/undo")))
        assert ("may be pruned automatically again once the cache is cold" in text) is said, (line, source)


async def test_undo_passes_over_a_prune_whose_entries_were_all_restored(tmp_path: Path) -> None:
    runtime = await with_results(tmp_path)
    before = runtime.session.context.messages()
    run_line(runtime, "/prune")
    seqs = sorted(seq for seq, one in runtime.session.context.entries.items() if one.kind == "result")
    run_line(runtime, f"/restore {seqs[0]} in-place")
    assert "Undid 1 prune" in say(list(run_line(runtime, "/undo")))
    run_line(runtime, f"/restore {seqs[0]} in-place")
    run_line(runtime, "/redo")
    run_line(runtime, f"/restore {seqs[0]}-{seqs[1]} in-place")
    assert "Nothing to undo" in say(list(run_line(runtime, "/undo")))
    assert runtime.session.context.messages() == before


def test_a_strategy_that_cannot_be_imported_is_not_taken(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    folder = runtime.setup.places.user_strategies
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text("def propose(:\n")
    effects = list(run_line(runtime, "/prune-config strategy broken"))
    assert "broken.py: SyntaxError" in say(effects)
    assert runtime.config.pruning.strategy == "auto"


def test_theme_says_of_each_whether_it_is_light_and_what_it_says_of_itself(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    themes = runtime.setup.places.user_themes
    themes.mkdir(parents=True)
    (themes / "broken.toml").write_text("= nothing")
    (themes / "deep.toml").write_text("description = " + "[" * 10_000)
    (themes / "dusk.toml").write_text('description = "Mine."\nbase = "prune-dark"')
    (choose,) = run_line(runtime, "/theme")
    assert isinstance(choose, Choose)
    details = {choice.value: choice.detail for choice in choose.choices}
    assert details["parchment"] == "light · Ink on old paper."
    assert details["fjord"].startswith("dark · ")
    assert (details["dusk"], details["broken"], details["deep"]) == ("Mine.", "", "")


def test_help_names_the_keys_as_they_are_bound(tmp_path: Path) -> None:
    (table,) = run_line(start(tmp_path), "/help")
    assert isinstance(table, Table)
    assert table.note.startswith("Enter to send (steers while the agent works) · Alt+Enter to queue")
    other = start(tmp_path / "other", sets=["ui.keys.submit=ctrl+s", "ui.keys.follow_up=none"])
    (table,) = run_line(other, "/help")
    assert isinstance(table, Table)
    assert table.note.startswith("Ctrl+S to send (steers while the agent works) · ")
    assert "to queue" not in table.note


@pytest.mark.parametrize("line", ["/new", "/fork", "/resume {}"])
async def test_what_a_session_was_told_and_has_not_heard_comes_back_into_the_prompt(
    tmp_path: Path, line: str
) -> None:
    runtime = start(tmp_path, [says("One."), says("Two.")])
    await runtime.submit("first")
    other = runtime.session.id
    runtime.new_session()
    await runtime.submit("second")
    runtime.steer("more tests")
    runtime.follow_up("then docs")
    effects = run_line(runtime, line.format(other))
    assert FillPrompt("more tests\n\nthen docs") in effects
    assert runtime.status().waiting == ()
    await runtime.close()


def test_kept_rules_are_listed_and_removed(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.project_rules.keep(runtime.setup.cwd, "bash(make test)")
    listed = say(list(run_line(runtime, "/permissions")))
    assert "allow in this project: bash(make test)" in listed
    assert "/permissions remove RULE" in listed
    assert "Removed bash(make test)." in say(list(run_line(runtime, "/permissions remove bash(make test)")))
    assert runtime.project_rules.of(runtime.setup.cwd) == ()
    assert "No rule 'bash(make test)'" in say(list(run_line(runtime, "/permissions remove bash(make test)")))
    assert say(list(run_line(runtime, "/permissions remove"))).startswith("No rule given")


async def test_a_rule_of_the_session_can_be_removed(tmp_path: Path) -> None:
    runtime = start(tmp_path)

    async def always(asked: Asked) -> Answer:
        return Answer("always")

    runtime.gatekeeper.asker = always
    call = ToolUse("t", "bash", {"command": "make test"})
    await runtime.gatekeeper.ask(Asked(call, named(call.name, call.input), "", ("bash(make test)",)))
    assert "Removed" in say(list(run_line(runtime, "/permissions remove bash(make test)")))
    assert runtime.gatekeeper.judge("bash", named("bash", call.input)).kind == "ask"


async def test_a_rule_that_cannot_be_kept_holds_for_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path)

    async def project(asked: Asked) -> Answer:
        return Answer("project")

    runtime.gatekeeper.asker = project
    file = runtime.setup.places.rules_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("damaged")
    file.chmod(0o600)
    call = ToolUse("t", "bash", {"command": "make test"})
    await runtime.gatekeeper.ask(Asked(call, named(call.name, call.input), "", ("bash(make test)",)))
    assert runtime.gatekeeper.judge("bash", named("bash", call.input)).kind == "allow"
    assert file.read_text() == "damaged"
    assert "not a list of rules" in say(list(run_line(runtime, "/permissions")))
