"""Tasks on the strict endpoint with bound thinking: each in a session of its own, and only its answer comes back."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.agent.decide import Limits
from prunecli.features.subagents.subagents import MAX_TURNS, SIDE_BY_SIDE, Child
from prunecli.model.events import AssistantMessage, AttemptBilled, Record, RunEnded, ToolResult
from prunecli.model.messages import plain_text
from prunecli.model.signals import ToolProgress
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.e2e.bound import dropped, environment, project, session, step
from tests.e2e.tasking import again, cast, is_task, last, task
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.endpoint import Call, Endpoint, HttpError, Reply, Thinking, serve
from tests.starting import result_events
from tests.waiting import DEADLINE, until


def logs(runtime: Runtime) -> list[Path]:
    """The logs of the tasks."""
    path = runtime.session.path
    assert path is not None
    return sorted(path.parent.glob(f"{runtime.session.id}-t*.jsonl"))


async def test_a_task_runs_in_a_session_of_its_own_and_only_its_answer_comes_back(tmp_path: Path) -> None:
    main = [Reply([Thinking("Somebody should look."), task("alpha")]), last("Thanks."), last("And again.")]
    tasks = {"alpha": [step(0), step(1), last("Alpha is in 1.txt:3.")]}
    async with Endpoint(cast(main, tasks)) as endpoint:
        async with session(tmp_path, endpoint, model="claude-sonnet-5-5") as runtime:
            await runtime.submit("go")
            await runtime.submit("and?")
            (result,) = result_events(runtime)
            assert plain_text(result.content).startswith("Alpha is in 1.txt:3.\n[task 1")
            assert not any(
                "line of file" in plain_text(one.event.content)
                for one in runtime.session.records
                if isinstance(one.event, ToolResult | AssistantMessage)
            )
            (log,) = logs(runtime)
            found = result.details["task"]
            assert found["child"] == log.stem
            assert (found["requests"], found["calls"], found["ended"]) == (3, 2, "finished")
            records = read_log(log).records
            started = records[0].event
            assert started.parent["id"] == runtime.session.id
            assert started.parent["tool_use_id"] == result.tool_use_id
            assert verify_session(log, read_log(log)).clean
            billed = [one.event for one in runtime.session.records if isinstance(one.event, AttemptBilled)]
            answers = [one.event for one in records if isinstance(one.event, AssistantMessage)]
            assert [one.usage for one in billed] == [one.usage for one in answers]
            assert {one.model for one in billed} == {"claude-haiku-5-5"}
            assert found["cost_usd"] == pytest.approx(
                sum(runtime.choices.price(one.model, one.usage) for one in billed), abs=1e-6
            )
            assert runtime.bill.requests == 6
        assert endpoint.rejected == []
        assert sum(dropped(endpoint)) == 0
        of_task = [one.json for one in endpoint.requests if is_task(one.json)]
        assert len(of_task) == 3
        assert {tool["name"] for tool in of_task[0]["tools"]} == {
            *("read", "grep", "find", "ls", "prun", "prun_with_memo", "recall"),
        }


async def test_tasks_run_side_by_side_and_no_more_than_four(tmp_path: Path) -> None:
    words = ("one", "two", "three", "four", "five")
    main = [Reply([Thinking("Five."), *map(task, words)]), last("All five.")]
    tasks = {word: [step(0), last(f"{word} is done.")] for word in words}
    async with Endpoint(cast(main, tasks)) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            most, running = [0], set[str]()

            def follow(child: Child) -> None:
                running.add(child.session.id)
                most[0] = max(most[0], len(running))
                child.session.subscribe(
                    lambda told: running.discard(child.session.id) if "RunEnded" in repr(told) else None
                )

            runtime.on_task.append(follow)
            await runtime.submit("go")
            found = [plain_text(one.content).partition("\n")[0] for one in result_events(runtime)]
            assert found == [f"{word} is done." for word in words], "in the order of the calls"
            assert most == [SIDE_BY_SIDE]
            assert len(logs(runtime)) == 5
            for log in logs(runtime):
                assert verify_session(log, read_log(log)).clean
        assert endpoint.rejected == []
        assert sum(dropped(endpoint)) == 0


async def test_a_task_that_waits_for_an_earlier_one_is_shown_as_finished(tmp_path: Path) -> None:
    main = [Reply([Thinking("Two."), task("slow"), task("quick")]), last("Never.")]
    tasks = {"slow": [Reply("x", delay=600)], "quick": [last("Found it.")]}
    async with Endpoint(cast(main, tasks)) as endpoint, session(tmp_path, endpoint) as runtime:
        said: list[str] = []
        runtime.session.subscribe(
            lambda event: said.append(event.now) if isinstance(event, ToolProgress) else None
        )
        work = asyncio.ensure_future(runtime.submit("go"))
        await until(lambda: any(text.startswith("finished · 0 calls") for text in said))
        await until(lambda: "finished, 1 request," in runtime.parts["subagents"].subagents.lines()[-1])
        assert "running, 0 requests" in runtime.parts["subagents"].subagents.lines()[0]
        runtime.interrupt()
        await asyncio.wait_for(work, DEADLINE)


async def test_the_line_of_a_task_says_what_it_is_doing(tmp_path: Path) -> None:
    main = [Reply([Thinking("One."), task("one")]), last("Done.")]
    async with (
        Endpoint(cast(main, {"one": [step(0), last("Found it.")]})) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        said: list[str] = []
        runtime.session.subscribe(
            lambda event: said.append(event.now) if isinstance(event, ToolProgress) else None
        )
        await runtime.submit("go")
    told = [text.partition(" · ")[0] for text in said]
    once = ["thinking", "writing", "working"]
    assert told == ["starting", *once, "read 0.txt", *once, "finished"]


def ends(path: Path) -> list[str]:
    return [one.event.reason for one in read_log(path).records if isinstance(one.event, RunEnded)]


async def test_a_stop_while_five_run_ends_each_and_keeps_what_it_had_found(tmp_path: Path) -> None:
    words = ("one", "two", "three", "four", "five")
    main = [Reply([Thinking("Five."), *map(task, words)]), last("Never.")]
    tasks = {
        word: [
            Reply([Thinking("Hm."), f"Half of {word}.", Call("read", {"path": "0.txt"})]),
            Reply("x", delay=600),
        ]
        for word in words
    }
    async with Endpoint(cast(main, tasks)) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            work = asyncio.ensure_future(runtime.submit("go"))
            await until(lambda: len(endpoint.requests) == 1 + 2 * SIDE_BY_SIDE)
            runtime.interrupt()
            done = await asyncio.wait_for(work, DEADLINE)
            assert done.reason == "interrupted"
            found = result_events(runtime)
            assert [bool(one.details.get("interrupted")) for one in found] == [True] * 5
            texts = [plain_text(one.content) for one in found]
            assert all(f"Half of {word}." in text for word, text in zip(words[:4], texts, strict=False)), (
                texts
            )
            assert [ends(log) for log in logs(runtime)] == [["interrupted"]] * 4, "the fifth had not begun"
            answered = [
                one for one in read_log(logs(runtime)[0]).records if isinstance(one.event, AssistantMessage)
            ]
            assert len(answered) == 1
            billed = [
                one for one in read_log(logs(runtime)[0]).records if isinstance(one.event, AttemptBilled)
            ]
            assert found[0].details["task"]["requests"] == 1 + len(billed), "what was billed is counted"
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            assert runtime.session.started.parent is None, "-c never picks a task"
            await runtime.submit("and now?")
        assert endpoint.rejected == []


async def test_a_task_that_fails_is_one_line_and_the_session_goes_on(tmp_path: Path) -> None:
    main = [Reply([Thinking("Look."), task("alpha", None), task("beta", "nobody")]), last("I see.")]
    refused = HttpError(403, "not for you")
    async with (
        Endpoint(cast(main, {"alpha": [Reply("", faults=refused)]})) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        assert (await runtime.submit("go")).reason == "finished"
        failed, unknown = result_events(runtime)
        assert failed.is_error
        assert "[the task failed: " in plain_text(failed.content).partition("\n")[0]
        assert plain_text(unknown.content) == "There is no agent 'nobody'. Agents: explore, or none."


async def test_a_task_without_the_small_model_uses_the_sessions_own(tmp_path: Path) -> None:
    main = [Reply([Thinking("Look."), task("alpha")]), last("I see.")]
    missing = HttpError(404, "model: claude-haiku-5-5")
    tasks = {"alpha": [Reply("", faults=missing), step(0), last("Found.")]}
    async with Endpoint(cast(main, tasks)) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("go")
        (result,) = result_events(runtime)
        assert plain_text(result.content).startswith("Found.")
        assert result.details["task"]["model"] == runtime.model_name
        (log,) = logs(runtime)
        assert verify_session(log, read_log(log)).clean


async def test_a_task_at_its_limit_returns_what_it_has(tmp_path: Path) -> None:
    main = [Reply([Thinking("Look."), task("alpha")]), last("I see.")]
    async with (
        Endpoint(cast(main, {"alpha": [step(n % 9) for n in range(MAX_TURNS + 3)]})) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        await runtime.submit("go")
        (result,) = result_events(runtime)
        assert not result.is_error
        assert plain_text(result.content).startswith(
            f"[the task is not complete: stopped after {MAX_TURNS} turns]\nIts last message:\nStep "
        )


async def test_the_cost_limit_counts_tasks(tmp_path: Path) -> None:
    main = [Reply([Thinking("Look."), task("alpha", None)]), last("Too much.")]
    tasks = {"alpha": [step(n) for n in range(9)]}
    async with Endpoint(cast(main, tasks)) as endpoint, session(tmp_path, endpoint) as runtime:
        runtime.run_limits = Limits(max_cost=0.01)
        done = await runtime.submit("go")
        assert (done.reason, "--max-cost" in done.note) == ("limit", True)
        assert 0.01 <= runtime.bill.cost < 0.03, runtime.bill
        (result,) = result_events(runtime)
        assert "[the task is not complete: stopped at $" in plain_text(result.content)


async def test_killed_at_each_record_a_task_goes_on_and_its_answer_arrives_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    main = [Reply([Thinking("Look."), task("alpha")]), last("I see.")]
    script = again(main, {"alpha": [step(0), last("Alpha is in 1.txt:3.")]})
    async with Endpoint(script) as endpoint:
        order: list[tuple[str, int]] = []

        def note(log: str) -> Callable[[object], None]:
            return lambda told: order.append((log, told.seq)) if isinstance(told, Record) else None

        async with session(tmp_path, endpoint) as runtime:
            runtime.session.subscribe(note("parent"))
            runtime.on_task.append(lambda child: child.session.subscribe(note("child")) and None)
            await runtime.submit("go")
            (whole,) = result_events(runtime)
            parent, child = runtime.session.path, logs(runtime)[0]
            assert parent is not None
        lines = {"parent": parent.read_bytes().splitlines(True), "child": child.read_bytes().splitlines(True)}
        first = next(
            at for at, line in enumerate(lines["parent"]) if b'"ToolStarted"' in line
        )  # the call is on disk from here on
        end = next(at for at, line in enumerate(lines["parent"]) if b'"ToolResult"' in line)
        done = {"parent": first + 1, "child": 0}
        cuts = [dict(done)]
        for log, seq in order[order.index(("parent", first)) + 1 : order.index(("parent", end))]:
            done[log] = seq + 1
            cuts.append(dict(done))
        assert len(cuts) > 12
        folder = parent.parent
        for cut in (*cuts, {"parent": first + 1, "child": -1}):
            for log in folder.glob("*.jsonl"):
                log.unlink()
            parent.write_bytes(b"".join(lines["parent"][: cut["parent"]]))
            half = lines["child"][0][:40] if cut["child"] < 0 else b"".join(lines["child"][: cut["child"]])
            child.write_bytes(half)
            if not cut["child"]:
                child.unlink()
            async with session(tmp_path, endpoint, continue_last=True) as runtime:
                assert runtime.unfinished
                assert (await runtime.go_on()).reason == "finished"
                (result,) = result_events(runtime)
                assert result.content == whole.content, cut
                assert result.details["task"]["ended"] == "finished"
                (log,) = (one for one in logs(runtime) if one.stem == result.details["task"]["child"])
                assert verify_session(log, read_log(log)).clean
                answered = {
                    one.seq for one in read_log(log).records if isinstance(one.event, AssistantMessage)
                }
                told = [
                    one.event.child for one in runtime.session.records if isinstance(one.event, AttemptBilled)
                ]
                assert sorted(one["seq"] for one in told if one["id"] == log.stem) == sorted(answered), cut
        assert endpoint.rejected == []
        assert sum(dropped(endpoint)) == 0


async def test_a_prompt_after_a_crash_ends_the_open_task_and_keeps_what_it_had_found(tmp_path: Path) -> None:
    main = [Reply([Thinking("Look."), task("alpha")]), last("I see.")]
    script = again(main, {"alpha": [step(0), last("Alpha.")]})
    async with Endpoint(script) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("go")
            parent, (child,) = runtime.session.path, logs(runtime)
            assert parent is not None
        for path, upto in ((parent, b'"AttemptBilled"'), (child, b'"ToolStarted"')):
            lines = path.read_bytes().splitlines(True)
            at = next(at for at, line in enumerate(lines) if upto in line)
            path.write_bytes(b"".join(lines[: at + 1]))
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            await runtime.submit("something else")
            (result,) = result_events(runtime)
            assert result.details["interrupted"]
            assert "Its last message:\nStep 0." in plain_text(result.content)
        assert endpoint.rejected == []


async def test_recall_reads_the_entries_of_a_task_also_in_a_copy_of_the_session(tmp_path: Path) -> None:
    def recall(entry: int, number: int = 1) -> Call:
        return Call("recall", {"entry": entry, "task": number})

    main = [
        Reply([Thinking("Look."), task("alpha")]),
        Reply([Thinking("What was it?"), recall(0)]),
        last("I see."),
        Reply([Thinking("Again."), recall(5), recall(5, 7), recall(999)]),
        last("Yes."),
    ]
    async with Endpoint(cast(main, {"alpha": [step(0), last("Alpha.")]})) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("go")
            listed = plain_text(result_events(runtime)[1].content)
            seq = next(int(line.split()[0]) for line in listed.split("\n") if " read: line of file 0" in line)
            parent = runtime.session.path
            assert parent is not None
            before = len(logs(runtime))
            runtime.open_session(parent, fork=True)
            assert logs(runtime) == [], "a copy has no tasks of its own"
            blocks = runtime.parts["subagents"].subagents.original(1, seq)
            assert "line of file 0" in plain_text(blocks)
            await runtime.submit("again")
            found = [plain_text(one.content) for one in result_events(runtime)[2:]]
            assert found[1] == "The session of task 7 cannot be read" or "no task 7" in found[1]
            assert "999" in found[2]
            assert before == 1
        assert endpoint.rejected == []


MAKES = [Reply([Thinking("Hm."), Call("bash", {"command": "make alpha"})]), last("Alpha is made.")]


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_tasks_by_keys(tmp_path: Path) -> None:
    main = [Reply([Thinking("Go."), task("alpha", None)]), last("Thanks.")]
    with serve(cast(main, {"alpha": MAKES})) as endpoint:
        environ = environment(tmp_path, endpoint) | {"PATH": os.environ["PATH"]}
        with Terminal(["--trust"], project(tmp_path / "project"), environ) as terminal:
            terminal.wait_for("Ask, or / for commands")
            terminal.say("go")
            terminal.answer("task 1: Run this command?", "1")
            terminal.wait_for("Thanks.")
            terminal.say("/agents")
            terminal.wait_for("Task 1 (no agent, ")
            terminal.press("Escape")
            terminal.wait_for("Ask, or / for commands")
            terminal.say("/agents open 1")
            terminal.wait_for("-t1 · read-only")
            terminal.wait_for("Alpha is made.")
            terminal.press("q")
            terminal.wait_for("Ask, or / for commands")
            terminal.say("/quit")
            terminal.wait_until(lambda _: terminal.exit_code is not None, "the program to end")
        assert endpoint.rejected == []
