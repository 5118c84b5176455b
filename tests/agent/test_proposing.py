"""Commands that run before the user is asked: what is asked, applied, dropped, run again, and what the model gets."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from prunecli.agent.asking import Answer
from prunecli.agent.execute import Executor
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.model.events import ToolResult
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.touches import Touches
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules
from prunecli.tools.bash import ConfinedMovableBash
from prunecli.tools.processes.sandboxing import Blocked, bare
from prunecli.tools.tool import ToolContext, ToolOutput, text_output
from prunecli.util.errors import ToolError
from tests.agent.running import Bench

NETWORK = Blocked("blocked by the sandbox: the network is off", "needs network: x.example", network=True)
YES, NO = Answer("once"), Answer("deny")


class Shell(ConfinedMovableBash):
    """A bash that only notes what runs and where. `touch F` changes F, `curl` needs the network, `wait` waits."""

    def __init__(self, desk: "Desk") -> None:
        self.desk = desk
        self.ran: list[tuple[str, str]] = []
        self.waits = asyncio.Event()

    async def run(self, given: Any, context: ToolContext) -> ToolOutput:
        where = self.desk.where(context)
        where = f"{where} outside" if given.outside else where
        self.ran.append((given.command, f"{where} jobs" if "jobs" in context.parts else where))
        for word in given.command.split(";"):
            name, _, path = word.strip().partition(" ")
            if name == "touch" and where == "layer":
                self.desk.layers[-1].changes.append(path)
            if name == "curl" and where == "layer":
                return replace(
                    text_output("could not resolve\n", {"exit_code": 6}, is_error=True), blocked=NETWORK
                )
            if name == "wait":
                self.waits.set()
                await asyncio.Event().wait()
        return text_output(f"did {given.command}\n", {"exit_code": 0})


@dataclass
class FakeLayer:
    desk: "Desk"
    keeps_changes: bool = True
    changes: list[str] = field(default_factory=list)
    is_open: bool = True

    def confine(self, *_: object, **__: object) -> Any:
        raise NotImplementedError

    def freeze(self) -> Any:
        if self.desk.broken:
            raise ToolError("a process can't be ended")
        return SimpleNamespace(changes=tuple(self.changes), refused=self.desk.refused, stale=())

    def apply(self, proposal: Any) -> Sequence[str]:
        if self.desk.fails:
            raise ToolError("the disk is full")
        stale = self.desk.stale.pop(0) if self.desk.stale else ()
        if not stale:
            self.desk.applied += proposal.changes
        return stale

    def close(self) -> None:
        self.is_open = False


@dataclass
class Desk:
    """A workbench whose layers are lists of changed paths."""

    in_use: asyncio.Lock = field(default_factory=asyncio.Lock)
    layers: list[FakeLayer] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    stale: list[tuple[str, ...]] = field(default_factory=list)
    refused: tuple[tuple[str, str], ...] = ()
    granted: list[Blocked] = field(default_factory=list)
    overlays: bool = True
    broken: bool = False
    fails: bool = False
    none: bool = False

    def layer(self) -> FakeLayer:
        if self.none:
            raise ToolError("no room")
        self.layers.append(FakeLayer(self, self.overlays))
        return self.layers[-1]

    def again(self, blocked: Blocked) -> Any:
        self.granted.append(blocked)
        return blocked

    def where(self, context: ToolContext) -> str:
        if self.layers and context.confine == self.layers[-1].confine:
            return "layer"
        return (
            "again"
            if isinstance(context.confine, Blocked)
            else "directly"
            if context.confine is bare
            else "?"
        )


class Table(Bench):
    """A bench with a bash that may be tried. `answers` are those of the user."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.desk = Desk()
        self.shell = Shell(self.desk)
        self.tools["bash"] = self.shell
        self.saved: list[str] = []
        inside = SandboxedCommands(there=True, closed=True, proposes=True)
        self.keeper = SessionGatekeeper(
            Rules(), self.mode, True, self.tool_context().workspace, asker=self._ask, inside=lambda: inside
        )

    async def _before(self, call: ToolUse) -> None:
        self.saved.append(str(call.input.get("command")))

    def executor(self) -> Executor:
        return Executor(
            self.session, self.tools, self.with_jobs, self.keeper, self._before, workbench=self.desk
        )

    def with_jobs(self, **how: bool) -> ToolContext:
        return replace(self.tool_context(**how), parts={"jobs": object()})

    async def round(self, *commands: str | dict[str, Any]) -> list[str]:
        """Run the commands as one round, and return what the model gets."""
        given = [one if isinstance(one, dict) else {"command": one} for one in commands]
        calls = [ToolUse(f"t{number}", "bash", one) for number, one in enumerate(given)]
        await self.executor().execute(calls)
        assert not self.desk.in_use.locked()
        assert not any(layer.is_open for layer in self.desk.layers)
        return [plain_text(one.content) for one in self.results]

    @property
    def results(self) -> list[ToolResult]:
        return [record.event for record in self.session.records if isinstance(record.event, ToolResult)]


def table(*answers: Answer, mode: str = "ask") -> Table:
    return Table(None, answers=list(answers), mode=mode)


async def test_a_command_that_changes_nothing_needs_no_question() -> None:
    t = table()
    assert await t.round("make", "npm test") == ["did make\n", "did npm test\n"]
    assert t.shell.ran == [("make", "layer"), ("npm test", "layer")]
    assert (t.asked, t.desk.applied, t.saved) == ([], [], [])


async def test_the_commands_of_a_round_share_a_layer_and_get_one_question() -> None:
    t = table(YES)
    assert await t.round("touch a", "ls", "touch b") == ["did touch a\n", "did ls\n", "did touch b\n"]
    (asked,) = t.asked
    assert asked.touches == Touches(runs=("touch a", "touch b"))
    assert (asked.reason, asked.again) == ("made 2 changes", False)
    assert asked.proposal is not None
    assert (len(t.desk.layers), t.desk.applied, t.saved) == (1, ["a", "b"], ["touch a"])
    assert [result.is_error for result in t.results] == [False] * 3


async def test_a_background_job_is_asked_about_before_it_starts() -> None:
    t = table(YES)
    await t.round({"command": "make", "background": True})
    assert t.asked[0].proposal is None
    assert t.shell.ran == [("make", "directly jobs")]


async def test_no_drops_the_changes_and_the_model_gets_the_output_with_the_reason() -> None:
    t = table(Answer("deny", "use black"))
    said = "[your changes were dropped: the user did not allow them. They said: use black]"
    assert await t.round("touch a") == [f"did touch a\n{said}"]
    assert t.desk.applied == []
    assert t.results[0].details["denied"]
    assert t.results[0].is_error


async def test_a_lasting_answer_lets_the_next_command_write_directly() -> None:
    t = table(Answer("always"))
    await t.round("touch a")
    await t.round("touch a")
    assert t.shell.ran == [("touch a", "layer"), ("touch a", "directly jobs")]
    assert len(t.asked) == 1


async def test_another_call_waits_until_the_changes_are_kept_or_dropped() -> None:
    t = table(YES, YES)
    calls = [ToolUse("t1", "bash", {"command": "touch a"}), ToolUse("t2", "change", {"words": "make"})]
    await t.executor().execute(calls)
    assert [asked.call.id for asked in t.asked] == ["t1", "t2"]
    assert t.change.ran == ["make"]
    assert t.desk.applied == ["a"]


async def test_a_wall_is_named_and_yes_runs_the_command_again_with_that_much_more() -> None:
    t = table(YES)
    assert await t.round("touch a; curl x") == ["did touch a; curl x\n"]
    (asked,) = t.asked
    assert (asked.reason, asked.again, asked.blocked, asked.rules) == (NETWORK.harm, True, NETWORK, ())
    assert t.shell.ran == [("touch a; curl x", "layer"), ("touch a; curl x", "again jobs")]
    assert (t.desk.granted, t.desk.applied) == ([NETWORK], [])


async def test_after_a_wall_the_rounds_other_commands_run_again_too_so_nothing_is_lost_or_done_twice() -> (
    None
):
    t = table(YES, YES)
    await t.round("touch a", "curl x", "touch b")
    assert [where for _, where in t.shell.ran] == ["layer", "layer", "directly jobs", "again jobs", "layer"]


async def test_after_no_to_a_wall_nothing_runs_again() -> None:
    t = table(Answer("deny", "offline, please"))
    (text,) = await t.round("touch a; curl x")
    assert "[not run again: the user did not allow it. They said: offline, please]" in text
    assert text.endswith("[your changes were dropped]")
    assert len(t.shell.ran) == 1
    assert t.desk.applied == []


async def test_after_no_to_a_wall_the_next_command_finds_nothing_of_what_was_dropped() -> None:
    t = table(NO, YES)
    await t.round("touch a; curl x", "touch b")
    assert (len(t.desk.layers), t.desk.applied) == (2, ["b"])


async def test_a_change_that_can_not_be_applied_is_asked_about_as_a_wall() -> None:
    t = table(YES)
    t.desk.refused = ((".git/hooks/x", "is a setting of the repository"),)
    await t.round("make")
    assert t.asked[0].reason == "changes .git/hooks/x, which is a setting of the repository"
    assert t.shell.ran[-1] == ("make", "again jobs")


async def test_changes_by_others_are_never_overwritten_and_the_commands_run_again() -> None:
    t = table(YES, YES, YES)
    t.desk.stale = [("a",)]
    await t.round("touch a")
    assert [asked.reason for asked in t.asked[1:2]] == ["nothing was applied: a changed meanwhile"]
    assert (len(t.desk.layers), t.desk.applied) == (2, ["a"])


async def test_after_no_to_running_again_the_model_is_told_what_was_dropped() -> None:
    t = table(YES, NO)
    t.desk.stale = [("a", "b")]
    (text,) = await t.round("touch a")
    assert "your changes were dropped, because a and 1 more file changed meanwhile" in text


@pytest.mark.parametrize("what", ["broken", "fails"])
async def test_changes_that_can_not_be_read_or_applied_are_dropped_with_the_reason(what: str) -> None:
    t = table(YES)
    setattr(t.desk, what, True)
    (text,) = await t.round("touch a")
    assert "[your changes were dropped: " in text
    assert t.desk.applied == []


async def test_plan_mode_throws_the_changes_away_and_says_so() -> None:
    t = table(mode="plan")
    assert await t.round("touch a", "make") == [
        "did touch a\n[plan mode: your changes were dropped]",
        "did make\n[plan mode: your changes were dropped]",
    ]
    assert (t.asked, t.desk.applied) == ([], [])
    assert not t.results[0].is_error


async def test_without_overlays_a_command_runs_with_the_workspace_read_only() -> None:
    t = table(YES)
    t.desk.overlays = False
    texts = await t.round("make", "curl x")
    assert texts == ["did make\n[ran with the workspace read-only]", "did curl x\n"]
    assert len(t.asked) == 1


async def test_where_no_layer_can_be_made_the_question_comes_first() -> None:
    t = table(YES)
    t.desk.none = True
    await t.round("make")
    assert t.asked[0].proposal is None
    assert t.shell.ran == [("make", "directly jobs")]


async def test_an_interrupted_round_drops_what_nobody_answered() -> None:
    t = table()
    calls = [ToolUse("t1", "bash", {"command": "touch a"}), ToolUse("t2", "bash", {"command": "wait"})]
    task = asyncio.ensure_future(t.executor().execute(calls))
    await asyncio.wait({task, asyncio.ensure_future(t.shell.waits.wait())}, return_when="FIRST_COMPLETED")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (text,) = [plain_text(one.content) for one in t.results]
    assert text.endswith("[interrupted before the user answered, so your changes were dropped]")
    assert not t.desk.layers[0].is_open
    assert not t.desk.in_use.locked()


async def test_a_change_by_another_agent_waits_for_the_answer() -> None:
    t = table(YES)
    async with t.desk.in_use:
        work = asyncio.ensure_future(t.executor().execute([ToolUse("t1", "change", {"words": "make"})]))
        await asyncio.wait({work}, timeout=0.05)
        assert t.change.ran == []
    await work
    assert t.change.ran == ["make"]


async def test_a_headless_run_drops_what_it_can_not_ask_about() -> None:
    t = table()
    t.keeper.asker = SessionGatekeeper(Rules(), "ask", True, t.tool_context().workspace).asker
    (text,) = await t.round("touch a")
    assert (
        "[your changes were dropped: the user did not allow them. They said: a headless run cannot ask;"
        in text
    )
