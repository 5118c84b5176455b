"""Questions of the model: without a user, by tasks, one at a time, and in plan mode; answers are never pruned."""

import asyncio
import json
from pathlib import Path
from typing import Any

from prunecli.agent.asking import Answer, Asked
from prunecli.context.view import View
from prunecli.front.headless.run import run_headless
from prunecli.model.messages import ToolUse
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.tools.asking import Inquiry, Reply
from tests.runtime.hooked import group, hooked
from tests.scripted import calls, says
from tests.starting import results, start
from tests.waiting import until

OPTIONS = [{"label": "tabs"}, {"label": "spaces"}]


def ask(call_id: str = "a1", question: str = "Which?", **more: Any) -> ToolUse:
    return ToolUse(call_id, "ask", {"question": question, "options": OPTIONS, **more})


async def test_a_headless_run_uses_the_default_or_says_that_nobody_answers(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ask(default="spaces"), ask("a2")), says("Ok.")])
    await run_headless(runtime, ["go"], form="text", out=lambda _: None, err=lambda _: None)
    first, second = results(runtime)
    assert first.endswith("Your default applies: spaces")
    assert second.startswith("No one is available to answer. Decide yourself")
    await runtime.close()


async def test_plan_mode_and_an_untrusted_directory_allow_it(tmp_path: Path) -> None:
    for name, trusted in (("one", True), ("two", False)):
        runtime = start(tmp_path / name, [calls(ask()), says("Ok.")], trusted=trusted)
        runtime.gatekeeper.mode = "plan"

        async def choose(_: Inquiry) -> Reply:
            return Reply((0,))

        runtime.inquiries.asker = choose
        await runtime.submit("go")
        assert results(runtime) == ["The user chose: tabs"]
        await runtime.close()


async def test_questions_of_one_message_and_of_tasks_come_one_at_a_time_and_say_who_asks(
    tmp_path: Path,
) -> None:
    given = {"prompt": "look", "description": "look"}
    asks = [calls(ask(f"a{n}"), ToolUse(f"b{n}", "bash", {"command": "touch x"})) for n in range(2)]
    script = [calls(ToolUse("t1", "task", given), ToolUse("t2", "task", given)), *asks, *[says("Done.")] * 3]
    runtime = start(tmp_path, script)
    who: list[str] = []
    open_questions = 0

    async def one_at_a_time(name: str) -> None:
        nonlocal open_questions
        open_questions += 1
        assert open_questions == 1
        who.append(name)
        await asyncio.sleep(0)
        open_questions -= 1

    async def choose(inquiry: Inquiry) -> Reply:
        await one_at_a_time(f"asks {inquiry.who}")
        return Reply((1,))

    async def permit(asked: Asked) -> Answer:
        await one_at_a_time(f"permission {asked.who}")
        return Answer("once")

    runtime.inquiries.asker, runtime.asker = choose, permit
    await runtime.submit("go")
    assert sorted(who) == ["asks task 1", "asks task 2", "permission task 1", "permission task 2"]
    await runtime.close()


async def test_esc_while_it_asks_ends_the_run_and_leaves_a_valid_session(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ask()), says("Ok.")])

    async def never(_: Inquiry) -> Reply:
        runtime.interrupt()
        await asyncio.Event().wait()
        raise AssertionError

    runtime.inquiries.asker = never
    assert (await runtime.submit("go")).reason == "interrupted"
    assert not runtime.questions.locked()
    assert (await runtime.submit("again")).reason == "finished"
    await runtime.close()
    assert runtime.session.path
    assert verify_session(runtime.session.path, read_log(runtime.session.path)).clean


async def test_an_answer_is_never_pruned(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ask()), calls(ToolUse("l1", "ls", {})), says("Ok.")])

    async def words(_: Inquiry) -> Reply:
        return Reply((), "tabs, but never in Makefiles")

    runtime.inquiries.asker = words
    await runtime.submit("go")
    context = runtime.session.context
    view = View(context, 1_000)
    locked = {entry.call.name: view.locked(entry) for entry in view.results if entry.call}
    assert locked == {"ask": "your answer", "ls": ""}
    await runtime.close()


async def test_a_question_fires_the_notification_hook_while_it_waits(tmp_path: Path) -> None:
    kept = tmp_path / "given"

    async def choose(_: Inquiry) -> Reply:
        await until(lambda: kept.exists() and kept.read_text().endswith("\n"))
        return Reply((0,))

    hooks = {"Notification": [group(f"cat > {kept}; echo >> {kept}", "permission_prompt")]}
    question = "Which one,\n\x1b[31mtabs?"
    at = hooked(tmp_path, [calls(ask(question=question)), says("Ok.")], hooks, sets=("permissions.mode=ask",))
    at.runtime.inquiries.asker = choose
    await at.runtime.submit("go")
    given = json.loads(kept.read_text())
    assert given["notification_type"] == "permission_prompt"
    assert given["title"] == "Question"
    assert given["message"] == "prunecli has a question for you: Which one,␊␛[31mtabs?"
    await at.runtime.close()


async def test_a_question_that_nobody_can_answer_notifies_nobody(tmp_path: Path) -> None:
    hooks = {"Notification": [group(f"touch {tmp_path}/told")]}
    at = hooked(tmp_path, [calls(ask()), says("Ok.")], hooks)
    await at.runtime.submit("go")
    await at.runtime.close()
    assert not (tmp_path / "told").exists()
