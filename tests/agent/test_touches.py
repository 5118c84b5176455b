"""What a tool declares of a call decides whether it may run; argument names and tool names decide nothing."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from prunecli.agent.asking import Answer
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.model.events import ToolStarted
from prunecli.model.messages import Json, ToolUse
from prunecli.model.touches import Touches
from prunecli.safety.permissions.verdict import MODES, Rules, Verdict
from prunecli.tools.tool import ToolContext, ToolOutput, text_output, touches_of
from tests.agent.judged import Scene
from tests.agent.running import Bench, Change, Echo
from tests.scripted import Scripted, ScriptedProvider, calls, says

OUTSIDE = "../outside/x"


class Peek:
    """A new tool that declares nothing."""

    name: ClassVar[str] = "peek"
    description: ClassVar[str] = "Peek at something."
    parallel: ClassVar[bool] = True

    @dataclass(frozen=True, slots=True)
    class Input:
        file: str = ""
        path: str = ""
        target: str = ""

    def __init__(self) -> None:
        self.ran = 0

    def summary(self, given: Mapping[str, Json]) -> str:
        return str(given)

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        self.ran += 1
        return text_output(given.file or given.path or given.target)


class Broken(Peek):
    """Its declaration fails."""

    def touches(self, given: Peek.Input) -> Touches:
        raise KeyError(given.file)


# What declares nothing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [Peek(), Broken()])
def test_a_tool_that_declares_nothing_is_asked_about_in_every_mode_but_auto(here: Scene, tool: Peek) -> None:
    touches = touches_of(tool, Peek.Input(file="src/a.py"))
    for mode in MODES:
        verdict = here.judge_touches("peek", touches, mode=mode)
        assert verdict.kind == {"auto": "allow", "plan": "deny"}.get(mode, "ask")
        assert verdict.may_change_files
        assert here.judge_touches("peek", touches, mode=mode, trusted=False).kind == "deny"


@pytest.mark.parametrize("key", ["file", "path", "target"])
@pytest.mark.parametrize("path", ["src/a.py", ".env", OUTSIDE])
async def test_no_argument_of_a_call_is_guessed_to_be_its_path(key: str, path: str) -> None:
    for mode in MODES:
        tool = Peek()
        bench = Bench(scripted(calls(ToolUse("t1", "peek", {key: path})), says("Done.")), mode=mode)
        bench.tools["peek"] = tool
        bench.answers = [] if mode in ("auto", "plan") else [no()]
        await bench.talk("go")
        assert len(bench.asked) == (mode in ("ask", "edits"))
        assert tool.ran == (mode == "auto")


def scripted(*script: Scripted) -> ScriptedProvider:
    return ScriptedProvider(list(script))


def no() -> Answer:
    return Answer("deny")


@pytest.mark.parametrize("rule", ["peek", "Peek", "*"])
def test_a_deny_rule_that_names_it_refuses_it_in_every_mode(here: Scene, rule: str) -> None:
    for mode in MODES:
        rules = Rules(allow=("peek", "*"), deny=(rule,))
        assert here.judge_touches("peek", None, mode=mode, rules=rules).kind == "deny"


def test_whether_a_rule_with_a_path_denies_what_declares_none_is_asked_even_in_auto_mode(here: Scene) -> None:
    rules = Rules(deny=("grep(src/**)",))
    assert here.judge_touches("grep", None, mode="auto", rules=rules).kind == "ask"
    assert here.judge_touches("grep", Touches(), mode="auto", rules=rules).kind == "ask"


def test_allowing_it_for_the_session_allows_that_tool_alone(here: Scene) -> None:
    verdict = here.judge_touches("peek", None)
    assert verdict.rules == ("peek",)
    rules = Rules(allow=verdict.rules)
    assert here.judge_touches("peek", None, rules=rules).kind == "allow"
    assert here.judge_touches("poke", None, rules=rules).kind == "ask"


# What is declared --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("touches", "kind"),
    [
        (Touches(reads=("src/a.py",)), "allow"),
        (Touches(reads=("src/a.py", "README.md"), searches=("src",)), "allow"),
        (Touches(reads=(OUTSIDE,)), "ask"),
        (Touches(reads=("src/a.py", OUTSIDE)), "ask"),
        (Touches(reads=("out/x",)), "ask"),
        (Touches(reads=(".env",)), "ask"),
        (Touches(searches=(OUTSIDE,)), "ask"),
        (Touches(reads=("/etc/passwd",), searches=(".",)), "ask"),
        (Touches(changes=("src/a.py",)), "ask"),
        (Touches(runs=("git status",)), "allow"),
        (Touches(runs=("git status", "make")), "ask"),
        (Touches(reads=(OUTSIDE,), runs=("git status",)), "ask"),
        (Touches(), "allow"),
        (Touches(reads=("loop",)), "deny"),
        (Touches(reads=("",)), "deny"),
    ],
)
def test_every_part_of_a_declaration_is_judged(here: Scene, touches: Touches, kind: str) -> None:
    assert here.judge_touches("new", touches).kind == kind


def test_edits_mode_lets_a_new_tool_change_only_the_workspace(here: Scene) -> None:
    def kind(*paths: str) -> str:
        return here.judge_touches("new", Touches(changes=paths), mode="edits").kind

    assert kind("src/a.py", "src/b.py") == "allow"
    assert kind("src/a.py", OUTSIDE) == "ask"
    assert kind("src/a.py", ".git/hooks/pre-commit") == "ask"
    assert here.judge_touches("new", Touches(changes=("src/a.py",)), mode="plan").kind == "deny"


@pytest.mark.parametrize(
    ("rule", "touches"),
    [
        ("read(src/**)", Touches(reads=("src/a.py",))),
        ("read(src/**)", Touches(reads=("src/a.py",), changes=("README.md",))),
        ("edit(src/**)", Touches(changes=("README.md", "src/a.py"))),
        ("bash(rm:*)", Touches(runs=("ls", "rm -r src"))),
        ("bash", Touches(runs=("ls",))),
        ("read(.env)", Touches(runs=("cat .env",))),
    ],
)
def test_a_deny_rule_speaks_for_every_tool_that_does_what_it_names(
    here: Scene, rule: str, touches: Touches
) -> None:
    for mode in MODES:
        verdict = here.judge_touches("new", touches, mode=mode, rules=Rules(allow=("*",), deny=(rule,)))
        assert verdict.kind == "deny", mode


def test_one_question_is_answered_by_the_rule_that_it_offers_and_several_offer_none(here: Scene) -> None:
    one = Touches(reads=(OUTSIDE,), searches=("src",))
    assert here.judge_touches("grep", one).rules == ()  # the folder of the one place does not cover the other
    several = Touches(reads=(OUTSIDE,), runs=("make",))
    verdict = here.judge_touches("new", several)
    assert (verdict.kind, verdict.rules) == ("ask", ())
    assert "outside the workspace" in verdict.reason
    assert "runs project code" in verdict.reason
    both = Touches(changes=("src/a.py", "src/b.py"))
    rules = here.judge_touches("edit", both).rules
    assert rules == ("edit(src/**)",)
    assert here.judge_touches("edit", both, rules=Rules(allow=rules)).kind == "allow"


@pytest.mark.parametrize(
    ("touches", "may"),
    [
        (None, True),
        (Touches(changes=("src/a.py",)), True),
        (Touches(runs=("make",)), True),
        (Touches(runs=("git status", "make")), True),
        (Touches(runs=("git status",)), False),
        (Touches(reads=("src/a.py",), searches=("src",)), False),
        (Touches(), False),
    ],
)
def test_files_are_saved_before_what_may_change_them(here: Scene, touches: Touches | None, may: bool) -> None:
    assert here.judge_touches("new", touches, mode="auto").may_change_files == may


# One call ----------------------------------------------------------------------------------------------------


class Counting(SessionGatekeeper):
    """Counts its judgments."""

    judged: ClassVar[list[str]] = []

    def judge(self, tool_name: str, touches: Touches | None, not_read: tuple[str, ...] = ()) -> Verdict:
        self.judged.append(tool_name)
        return super().judge(tool_name, touches, not_read)


async def test_a_call_is_read_declared_and_judged_once() -> None:
    declared: list[str] = []

    class Noting(Echo):
        def touches(self, given: Echo.Input) -> Touches:
            declared.append(given.words)
            return super().touches(given)

    words = ["one", "two", "make", "three"]
    names = ["echo", "echo", "change", "echo"]
    used = [
        ToolUse(f"t{n}", name, {"words": word})
        for n, (name, word) in enumerate(zip(names, words, strict=True))
    ]
    bench = Bench(scripted(calls(*used), says("Done.")))
    bench.tools |= {"echo": Noting(), "change": Change()}
    run = bench.run()
    Counting.judged.clear()
    run.executor.gatekeeper = Counting(Rules(), "auto", True, Path("/w"))
    bench.say("go")
    await run.run()
    assert Counting.judged == names
    assert declared == ["one", "two", "three"]


async def test_what_a_call_touches_is_judged_after_what_ran_before_it(here: Scene) -> None:
    class Linking(Change):
        async def run(self, given: Echo.Input, context: ToolContext) -> ToolOutput:
            os.symlink(here.outside / "x", here.workspace / "link")
            return text_output("linked")

    class Reading(Echo):
        def touches(self, given: Echo.Input) -> Touches:
            return Touches(reads=(given.words,))

    first = ToolUse("t0", "change", {"words": "make"})
    others = [ToolUse(f"t{n}", "echo", {"words": "link"}) for n in (1, 2)]
    bench = Bench(scripted(calls(first, *others), says("Done.")))
    reading = Reading()
    bench.tools |= {"echo": reading, "change": Linking()}
    bench.answers = [no(), no()]
    run = bench.run()
    run.executor.gatekeeper = SessionGatekeeper(
        Rules(allow=("bash(make)",)), "ask", True, here.workspace, asker=bench._ask
    )
    bench.say("go")
    await run.run()
    assert [asked.call.id for asked in bench.asked] == ["t1", "t2"]
    assert reading.ran == []


async def test_the_start_of_a_call_records_what_it_touches() -> None:
    used = (
        ToolUse("t1", "change", {"words": "make"}),
        ToolUse("t2", "echo", {"words": "src"}),
        ToolUse("t3", "peek", {"file": "a"}),
    )
    bench = Bench(scripted(calls(*used), says("Done.")))
    bench.tools["peek"] = Peek()
    await bench.talk("go")
    started = [one.event for one in bench.session.records if isinstance(one.event, ToolStarted)]
    assert [event.touches for event in started] == [
        Touches(runs=("make",)),
        Touches(searches=("src",)),
        None,
    ]
    results = [entry.touches for entry in bench.session.context.entries.values() if entry.kind == "result"]
    assert results == [event.touches for event in started]
