"""The plain interface, line by line, on a scripted runtime."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from prunecli.commands.command import Effect, FillPrompt, InThread, Say, Work
from prunecli.front.effects import at_once
from prunecli.front.plain.effects import Effects
from prunecli.front.plain.loop import PlainLoop
from prunecli.front.plain.reader import PlainReader
from prunecli.front.presentation import prompt_history as history
from prunecli.front.presentation.presenter import Presenter
from prunecli.model.events import PrunApplied
from prunecli.model.messages import ToolUse
from prunecli.model.notes import APPROVED
from prunecli.model.signals import (
    RetryScheduled,
    StreamDiscarded,
    SummaryEnded,
    SummaryStarted,
    ToolProgress,
)
from prunecli.providers.provider import TextDelta
from prunecli.runtime import Runtime
from prunecli.runtime.guide import Guide
from prunecli.runtime.make import make_runtime
from prunecli.util.errors import ConnectionLost, UsageError
from prunecli.util.launch_options import Launch
from tests.scripted import Scripted, calls, fails, says
from tests.serving import as_json, serving
from tests.session.importers import stores
from tests.starting import closed, start
from tests.waiting import DEADLINE

RUN = ToolUse("t1", "bash", {"command": "make install"})


class Script:
    """Lines that a person would type; an exception is raised in place of one."""

    def __init__(self, lines: Sequence[str | type[BaseException]]) -> None:
        self._lines = list(lines)
        self.asked: list[str] = []

    def read(self, prompt: str) -> str | None:
        self.asked.append(prompt)
        if not self._lines:
            return None
        line = self._lines.pop(0)
        if isinstance(line, str):
            return line
        raise line

    answer = secret = read


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


def talked(
    runner: asyncio.Runner, runtime: Runtime, *lines: str | type[BaseException], prompt: str = ""
) -> list[str]:
    """What is printed until the lines are used up."""
    printed: list[str] = []
    talk = PlainLoop(runtime, Script(lines), printed.append, runner)
    talk.begin(prompt)
    talk.go()
    runner.run(runtime.close())
    return printed


def spoken(folder: Path, runner: asyncio.Runner, script: Sequence[Scripted], *lines: str) -> list[str]:
    return talked(runner, start(folder, script), *lines)


def test_a_prompt_is_answered_in_whole_lines(tmp_path: Path, runner: asyncio.Runner) -> None:
    printed = spoken(tmp_path, runner, [says("One.\n\nTwo.")], "hello")
    at = printed.index("One.")
    assert printed[at : at + 3] == ["One.", "", "Two."]
    assert printed.count("One.") == 1
    assert history.load(start(tmp_path).setup.places.history_file) == ["hello"]


def test_the_to_do_list_is_a_line_and_a_command_prints_it(tmp_path: Path, runner: asyncio.Runner) -> None:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Fix", "status": "in_progress"}]
    printed = spoken(
        tmp_path, runner, [calls(ToolUse("t1", "todo", {"todos": todos})), says("ok")], "go", "/todo"
    )
    assert any("todo" in line and "1/2 · now: Fix" in line for line in printed)
    assert "To-do 1/2\n[x] Look\n[>] Fix" in "\n".join(printed)


def test_a_line_to_remember_is_asked_about_and_written(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path)
    printed = talked(runner, runtime, "# Use tabs", "1")
    assert "Add this line to which file?" in printed
    assert "  + - Use tabs" in printed
    assert "Added to AGENTS.md: - Use tabs" in printed
    assert (runtime.setup.cwd / "AGENTS.md").read_text() == "- Use tabs\n"


@pytest.mark.parametrize(
    ("answer", "said", "session", "project"),
    [
        ("y", "failed", False, False),
        ("YES", "failed", False, False),
        ("n", "denied", False, False),
        ("", "denied", False, False),
        ("use ninja", "denied", False, False),
        ("yy", "denied", False, False),
        ("a", "failed", True, False),
        ("p", "failed", True, True),
        ("1", "failed", False, False),  # digits mean what they mean in other agents
        ("2", "failed", True, False),
        ("3", "denied", False, False),
    ],
)
def test_a_call_is_asked_about_and_only_a_whole_answer_allows_it(
    tmp_path: Path, runner: asyncio.Runner, answer: str, said: str, session: bool, project: bool
) -> None:
    runtime = start(tmp_path, [calls(RUN), says("all right")])
    printed = talked(runner, runtime, "go", answer)
    assert {"Run this command?", "  make install"} <= set(printed)
    assert any(line.startswith(f"[bash] {said}") for line in printed)
    results = [entry.text for entry in runtime.session.context.entries.values() if entry.kind == "result"]
    assert ("They said: use ninja" in results[0]) is (answer == "use ninja")
    (rule,) = runtime.gatekeeper.rules.allow if session else ("",)
    assert "2 or a: yes, and don't ask again for make install until you quit" in printed
    assert rule == ("bash(make install)" if session else "")
    assert bool(runtime.gatekeeper.rules.allow) is session
    assert runtime.project_rules.of(runtime.setup.cwd) == ((rule,) if project else ())


def test_ctrl_c_at_a_question_interrupts_the_run(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [calls(RUN), says("never said")])
    printed = talked(runner, runtime, "go", KeyboardInterrupt)
    assert "never said" not in printed
    assert any("nterrupted" in line for line in printed)
    assert not runtime.running


def test_commands_answer_in_lines_and_choices_are_numbers(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path)
    printed = talked(
        runner, runtime, "/permissions", "2", "/permissions", "", "/modle", "/quit", "never read"
    )
    assert runtime.gatekeeper.mode == "edits"
    assert "Mode edits: also runs edits inside the workspace." in printed
    assert any(line.startswith("error: No command named /modle. Did you mean /mo") for line in printed)


@pytest.mark.parametrize(("answer", "pruned"), [("y", True), ("", False), ("no", False)])
def test_an_act_that_costs_asks_yes_or_no(
    tmp_path: Path, runner: asyncio.Runner, answer: str, pruned: bool
) -> None:
    sets = (
        "ui.confirm=always",
        "permissions.mode=auto",
        "pruning.strategy=pi",
        "pruning.pi.protected_turns=0",
    )
    runtime = start(
        tmp_path,
        [calls(ToolUse("t1", "bash", {"command": "seq 4000"})), says("Done.")],
        sets=(*sets, "pruning.pi.prune_protect=0", "pruning.pi.prune_minimum=100000000"),
    )
    printed = talked(runner, runtime, "go", "/prune", answer)
    assert any(line.startswith("Frees ") for line in printed)
    assert any(isinstance(record.event, PrunApplied) for record in runtime.session.records) is pruned


def test_copying_prints_where_there_is_no_clipboard(tmp_path: Path, runner: asyncio.Runner) -> None:
    printed = spoken(tmp_path, runner, [says("the answer")], "hi", "/copy")
    assert printed.count("the answer") == 2


def test_a_key_is_asked_for_without_echo_and_printed_nowhere(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path)
    printed = talked(runner, runtime, "/login", "sk-ant-0123456789")
    assert runtime.setup.places.key_file.read_text().strip() == "sk-ant-0123456789"
    assert not any("0123456789" in line for line in printed)


def test_a_plan_is_asked_about(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [says("## Plan\n1. a"), says("## Plan\n1. b"), says("Done.")])
    printed = talked(runner, runtime, "/plan do it", "smaller", "e")
    assert runtime.gatekeeper.mode == "edits"
    words = [item.texts[0] for item in runtime.session.context.items if item.kind == "user"]
    assert words == ["do it", "smaller", APPROVED]
    assert "Done." in printed


def test_a_shell_command_prints_what_it_says(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path)
    assert "seen" in talked(runner, runtime, "!echo seen", "!!echo kept back")
    assert len(runtime.session.context.items) == 1


def test_what_failed_is_said_and_enter_tries_again(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [*[fails(ConnectionLost("gone", "check it"))] * 1, says("here")])
    runtime.run_limits = runtime.run_limits
    printed = talked(runner, runtime, "hi", "")
    assert any("gone" in line for line in printed)
    assert "here" in printed


def test_ctrl_c_twice_and_the_end_of_input_leave(tmp_path: Path, runner: asyncio.Runner) -> None:
    printed = talked(runner, start(tmp_path), KeyboardInterrupt, KeyboardInterrupt, "never read")
    assert "Ctrl+C again to quit." in printed
    assert "never read" not in printed


def test_what_a_start_has_to_ask_comes_first(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [says("hello back")], trusted=False)
    runtime.opening.append("/trust")
    runtime.notices = ["No API key: this is the demo model."]
    printed = talked(runner, runtime, "yes", prompt="hello")
    assert runtime.gatekeeper.trusted
    assert printed.index("No API key: this is the demo model.") < printed.index("hello back")


def test_a_local_server_is_offered_before_the_first_prompt(tmp_path: Path, runner: asyncio.Runner) -> None:
    row = {"id": "qwen", "owned_by": "vllm"}
    with serving(lambda *_: as_json({"data": [row]})) as served:
        runtime = start(tmp_path)
        runtime.setup = replace(runtime.setup, local_ports=(served.port,))
        assert "vLLM runs on this machine (1 model). /local to use it" in talked(runner, runtime)
    assert "/local" not in talked(runner, start(tmp_path / "other"))


def test_a_guide_says_its_lines_with_enter(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [says("first")])
    runtime.guide = Guide(["one", "/undo"])
    printed = talked(runner, runtime, "", "")
    assert "(Enter to send: one)" in printed
    assert "Nothing to undo: no prune and no summary is in effect." in printed
    assert runtime.guide.next(runtime.session.context) == ""


def test_going_back_proposes_what_was_said_there(tmp_path: Path, runner: asyncio.Runner) -> None:
    runtime = start(tmp_path, [says("one"), says("two"), says("again")])
    printed = talked(runner, runtime, "first", "second", "/rewind", "1", "", "")
    assert printed.count("(Enter to send: second)") == 1
    words = [item.texts[0] for item in runtime.session.context.items if item.kind == "user"]
    assert words == ["first", "second"]
    assert printed.index("two") < printed.index("again")


async def test_a_continued_session_begins_with_the_end_of_what_was_said(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says(f"answer {n}") for n in range(10)])
    for n in range(10):
        await runtime.submit(f"prompt {n}")
    path = await closed(runtime)
    again = start(tmp_path)
    again.open_session(path)
    printed: list[str] = []
    PlainLoop(again, Script([]), printed.append, asyncio.Runner())
    assert printed[0] == "(8 earlier entries are not shown)"
    assert "> prompt 9" in printed
    assert "answer 9" in printed
    await again.close()


async def long_session(folder: Path) -> Path:
    runtime = start(
        folder, [says("x" * 20_000 + f" {n}") for n in range(30)], sets=["compaction.enabled=false"]
    )
    for n in range(30):
        await runtime.submit(f"prompt {n}")
    return await closed(runtime)


@pytest.mark.slow
def test_a_long_session_is_read_to_its_end(tmp_path: Path, runner: asyncio.Runner) -> None:
    path = runner.run(long_session(tmp_path))
    runtime = start(tmp_path)
    runtime.resume(path)
    assert runtime.resuming is not None
    printed = talked(runner, runtime)
    assert "> prompt 29" in printed
    again = start(tmp_path)
    printed = talked(runner, again, f"/resume {path.stem}")
    assert "> prompt 29" in printed
    assert len(again.session.context.items) == 60


def test_sessions_of_another_agent_are_a_numbered_list(tmp_path: Path, runner: asyncio.Runner) -> None:
    environ, cwd = stores.environment(tmp_path, "pi.jsonl", "codex.jsonl")
    environ |= {"PRUNECLI_HOME": str(tmp_path / "data"), "PRUNECLI_SANDBOX": "off"}
    runtime = make_runtime(Launch(trust=True, cwd=cwd, flags={"--model": "demo"}, resume="@codex"), environ)
    printed = talked(runner, runtime, "1", "/resume @pi", "", "/resume @claude")
    assert "Sessions of Codex in this directory" in printed
    assert any(line.startswith("  1. Read the notes - 3 prompts - 5.5K tokens - ") for line in printed)
    assert "> Thank you, that is all." in printed
    assert any(
        "From Codex: 3 prompts, 5 responses, 2 results, 1 command or notice." in line for line in printed
    )
    assert "Sessions of pi in this directory" in printed
    assert "No sessions of Claude Code here" in printed


def reader() -> tuple[PlainReader, list[str], list[float]]:
    printed: list[str] = []
    now = [0.0]
    return (
        PlainReader(Presenter(lambda *_: "", lambda _: None), printed.append, lambda: now[0]),
        printed,
        now,
    )


def test_what_did_not_count_is_said_to_be_so() -> None:
    read, printed, _ = reader()
    for told in (TextDelta("a\nb"), StreamDiscarded(), RetryScheduled(1, 2.0, "gone")):
        read.read(told)
    assert printed == [
        "a",
        "b",
        "(discarded; the response starts again)",
        "(gone; attempt 2 in 2 s, Ctrl+C to stop)",
    ]


def test_a_long_call_says_now_and_then_that_it_runs() -> None:
    read, printed, now = reader()
    read.read(ToolProgress("t1", "one\n"))
    assert printed == []
    now[0] = 11.0
    read.read(ToolProgress("t2", "", "finished · 2 calls", "finished"))
    read.read(ToolProgress("t1", "one\ntwo\n"))
    now[0] = 12.0
    read.read(ToolProgress("t1", "one\ntwo\nthree\n"))
    assert printed == ["  still running: two"]


def test_a_summary_is_announced_with_how_to_stop_it_and_is_not_read_out() -> None:
    read, printed, now = reader()
    read.read(SummaryStarted(90_000))
    read.read(TextDelta("The goal.\n" * 100))
    now[0] = 11.0
    read.read(TextDelta("The state.\n"))
    read.read(StreamDiscarded())
    read.read(SummaryEnded())
    read.read(TextDelta("So,\n"))
    assert printed == [
        "(summarizing the older part of about 90.0K tokens; Ctrl+C to stop)",
        "  still running: the summary has 1.0K characters",
        "So,",
    ]


def test_help_names_what_can_be_typed_in_lines_and_no_keys_of_the_screen(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    printed = "\n".join(spoken(tmp_path, runner, [], "/help"))
    assert "end a line with \\ for a new line" in printed
    assert "Alt+Enter" not in printed


def test_a_theme_is_said_to_be_for_the_screen(tmp_path: Path, runner: asyncio.Runner) -> None:
    printed = spoken(tmp_path, runner, [], "/theme dusk")
    assert "Plain output has no colors." in printed


def test_plain_text_says_what_of_a_session_could_not_be_read(runner: asyncio.Runner, tmp_path: Path) -> None:
    before = start(tmp_path, [says("One.")])
    runner.run(before.submit("first words"))
    path = before.session.path
    assert path is not None
    runner.run(before.close())
    path.write_bytes(path.read_bytes().replace(b"first words", b"first w0rds"))
    runtime = start(tmp_path)
    runtime.open_session(path)
    printed = "\n".join(talked(runner, runtime))
    assert f"{runtime.session.id}.jsonl line 3" in printed
    assert "a message from the user may be missing" in printed


def test_plain_text_says_where_a_lost_file_goes_on(runner: asyncio.Runner, tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("One."), says("Two.")])
    runner.run(runtime.submit("go"))
    assert runtime.session.path is not None
    runtime.session.path.unlink()
    printed = "\n".join(talked(runner, runtime, prompt="more"))
    assert "The session file was deleted while it was open. Now writing to " in printed


@pytest.mark.parametrize("hidden", ["\u115f", "\u3164", "\u202e", "\x1b]0;x\x07", "\u200b", "\x9b31m"])
def test_no_hidden_character_is_printed_or_asked(tmp_path: Path, runner: asyncio.Runner, hidden: str) -> None:
    call = ToolUse(f"t{hidden}", "bash", {"command": f"make {hidden}install", f"x{hidden}": hidden})
    script = Script(["say " + hidden, "n", "/nothing" + hidden, "/model x" + hidden, "! echo " + hidden])
    printed: list[str] = []
    runtime = start(tmp_path, [calls(call), *[says(f"Done{hidden}.")] * 6])
    runtime.introduction = f"hello {hidden}"
    talk = PlainLoop(runtime, script, printed.append, runner)
    talk.begin("")
    talk.go()
    runner.run(runtime.close())
    assert len(printed) > 5
    for text in (*printed, *script.asked):
        assert (
            not set(hidden) & {"\u115f", "\u3164", "\u202e", "\x1b", "\x07", "\u200b", "\x9b"} & set(text)
        ), text


def test_work_of_a_command_is_done_like_a_prompt_and_its_effects_follow(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    printed: list[str] = []
    talk = PlainLoop(start(tmp_path), Script([]), printed.append, runner)

    async def work() -> Sequence[Effect]:
        return [Say("Moved."), FillPrompt("again")]

    async def fails() -> Sequence[Effect]:
        raise UsageError("nothing to move", "look again")

    at_once(Effects(talk).perform([Work("Moving", work), Work("Moving", fails), Say("last")]))
    assert printed[-6:] == [
        "Moving ...",
        "Moved.",
        "Moving ...",
        "error: nothing to move",
        "look again",
        "last",
    ]
    assert talk.proposed == "again"
    runner.run(talk.runtime.close())


def test_slow_work_of_a_command_is_told_to_stop(tmp_path: Path, runner: asyncio.Runner) -> None:
    printed: list[str] = []
    talk, stopped = PlainLoop(start(tmp_path), Script([]), printed.append, runner), Event()

    def work() -> Sequence[Effect]:
        talk.terminate(15)
        assert stopped.wait(DEADLINE)
        return [Say("late")]

    at_once(Effects(talk).perform([InThread("Checking", work, stopped.set)]))
    assert printed[-2:] == ["Checking ...", "Interrupted."]
    runner.run(talk.runtime.close())
