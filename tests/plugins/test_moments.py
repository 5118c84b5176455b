"""What the functions of a plugin may do at each moment; a broken one is named, and the session goes on."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.notes import notice_parts
from prunecli.runtime import Runtime
from prunecli.util.errors import PromptBlocked
from tests.plugins.written import OPTIONS, TOOL, began, configure, plugin
from tests.runtime.test_preprune import PRUNES, reads
from tests.scripted import calls, says

VALUES = "from prunecli.plugins.values import Ask, Refuse\nseen = []\n"
RUNS = ("permissions.mode=auto",)


def shout(words: str) -> list[Any]:
    return [calls(ToolUse("t1", "shout", {"words": words})), says("Done.")]


def on(folder: Path, moment: str, *lines: str) -> None:
    """Write a plugin with one function for a moment, and the tool `shout`."""
    body = "\n    ".join(lines)
    before = f"{dedent(TOOL)}\n{VALUES}\ndef act(now, *given):\n    {body}\n"
    plugin(folder, "mine", f'app.tool(Shout)\n    app.on("{moment}", act)', before)


def results(runtime: Runtime) -> list[tuple[str, bool]]:
    found = (record.event for record in runtime.session.records)
    return [(plain_text(one.content), one.is_error) for one in found if isinstance(one, ToolResult)]


def notices(runtime: Runtime) -> list[tuple[str, str]]:
    found = (record.event for record in runtime.session.records)
    parts = (notice_parts(one) for one in found if isinstance(one, UserMessage))
    return [one for one in parts if one]


@pytest.mark.parametrize("moment", ["session", "prompt"])
async def test_what_a_session_or_a_prompt_brings_is_told_to_the_model(tmp_path: Path, moment: str) -> None:
    on(tmp_path, moment, 'return f"{now.cwd.name} {now.mode} {now.tokens > 0} {now.cost}"')
    runtime, said = began(tmp_path, [says("Yes."), says("Yes.")])
    await runtime.submit("go")
    assert notices(runtime) == [("plugin mine", "work ask True 0.0")]
    await runtime.submit("on")
    assert len(notices(runtime)) == (1 if moment == "session" else 2)
    assert said == []


async def test_a_coroutine_is_awaited(tmp_path: Path) -> None:
    before = 'import asyncio\nasync def act(now, words):\n    await asyncio.sleep(0)\n    return "later"\n'
    plugin(tmp_path, "mine", 'app.on("prompt", act)', before)
    runtime, _ = began(tmp_path, [says("Yes.")])
    await runtime.submit("go")
    assert notices(runtime) == [("plugin mine", "later")]


async def test_a_prompt_that_is_refused_is_not_sent(tmp_path: Path) -> None:
    on(tmp_path, "prompt", 'return Refuse("no " + given[0]) if given[0] == "go" else None')
    runtime, _ = began(tmp_path, [says("Yes.")])
    with pytest.raises(PromptBlocked, match="plugin mine refuses the prompt: no go"):
        await runtime.submit("go")
    await runtime.submit("come")


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("return None", ("LOUD", False)),
        ('return Refuse("too loud")', ("plugin mine: too loud", True)),
        ('return {"words": given[0].input["words"] + "er"}', ("LOUDER", False)),
        ('return f"{given[0].tool} is near"', ("LOUD\n[plugin mine] shout is near", False)),
    ],
)
async def test_before_a_call_it_may_be_refused_changed_or_noted(
    tmp_path: Path, line: str, result: tuple[str, bool]
) -> None:
    on(tmp_path, "before_call", line)
    runtime, said = began(tmp_path, shout("loud"), sets=RUNS)
    await runtime.submit("go")
    ((text, is_error),) = results(runtime)
    assert is_error == result[1]
    assert result[0] in text
    assert said == []


async def test_before_a_call_the_user_may_be_asked(tmp_path: Path) -> None:
    on(tmp_path, "before_call", 'return Ask("it is late")')
    runtime, _ = began(tmp_path, shout("loud"), sets=RUNS)
    asked = list[str]()

    async def answer(question: Any) -> Any:
        asked.append(str(question))
        return type(await nobody(question))(False)

    nobody = runtime.asker
    runtime.asker = answer
    await runtime.submit("go")
    assert "it is late" in asked[0]


async def test_after_a_call_its_result_may_be_noted(tmp_path: Path) -> None:
    on(tmp_path, "after_call", 'return f"{given[0].tool}: {given[1].text}, {given[1].is_error}"')
    runtime, _ = began(tmp_path, shout("loud"), sets=RUNS)
    await runtime.submit("go")
    assert results(runtime) == [("LOUD\n[plugin mine] shout: LOUD, False", False)]


@pytest.mark.parametrize(
    ("answer", "prunes", "pins", "said"),
    [
        ("None", True, False, []),
        (
            "seen.append(1) or [given[0][0].entry] if not seen else None",
            True,
            True,
            ["Plugin mine keeps 1 entry that would be pruned; it is pinned now"],
        ),
        ('Refuse("mine")', False, False, ["A prune was not made: kept by plugin mine: mine"]),
    ],
)
async def test_before_a_prune_entries_may_be_kept_or_everything(
    tmp_path: Path, answer: str, prunes: bool, pins: bool, said: list[str]
) -> None:
    on(tmp_path, "before_prune", f"return {answer}")
    runtime, lines = began(tmp_path, reads(6), sets=PRUNES)
    for number in range(6):
        (tmp_path / "work" / f"{number}.txt").write_text(f"line of file {number}\n" * 200)
    await runtime.submit("go")
    context = runtime.session.context
    assert any(context.edits_of(seq) for seq in context.entries) == prunes
    assert bool(context.pinned) == pins
    assert lines == said


async def test_before_a_compaction_it_may_be_refused(tmp_path: Path) -> None:
    on(tmp_path, "before_compaction", "return Refuse(f'{given[0]} {given[1]}')")
    runtime, said = began(tmp_path, [says("Yes.")] * 9, sets=["compaction.keep_recent_turns=1"])
    for number in range(8):
        await runtime.submit(f"go {number} " + "far and wide " * 900)
    assert not await runtime.compact("this")
    assert said == ["Plugin mine refuses the compaction: manual this"]


async def test_before_the_agent_stops_it_may_be_sent_on(tmp_path: Path) -> None:
    on(tmp_path, "stop", "seen.append(1)", 'return "and the tests?" if len(seen) < 2 else None')
    runtime, _ = began(tmp_path, [says("Done."), says("They pass.")])
    await runtime.submit("go")
    assert notices(runtime) == [("stop hook mine", "and the tests?")]


async def test_a_session_that_was_used_is_closed(tmp_path: Path) -> None:
    on(tmp_path, "close", '(now.cwd / "closed").write_text("yes")')
    runtime, _ = began(tmp_path, [says("Yes.")])
    await runtime.submit("go")
    await runtime.close()
    assert (tmp_path / "work" / "closed").read_text() == "yes"


async def test_a_notice_is_told_before_the_next_request_and_once(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", "app.tool(Shout)\n    app.notices(lambda now: 'rain is near')", TOOL)
    runtime, _ = began(tmp_path, [*shout("loud"), says("Yes.")], sets=RUNS)
    await runtime.submit("go")
    await runtime.submit("on")
    assert notices(runtime) == [("plugin mine", "rain is near")]


def test_a_segment_of_the_status_bar_has_the_options_of_its_plugin(tmp_path: Path) -> None:
    before = f"{dedent(OPTIONS)}\ndef words(now):\n    return now.options['hello'].word + ' you'\n"
    plugin(tmp_path, "mine", 'app.options("hello", Options)\n    app.status(words)', before)
    configure(tmp_path, '[hello]\nword = "ho"')
    runtime, said = began(tmp_path)
    assert runtime.status().more == ("ho you",)
    assert said == []


@pytest.mark.parametrize(
    ("moment", "line", "said"),
    [
        ("prompt", "1 / 0", "Plugin mine, prompt: ZeroDivisionError: division by zero (mine.py, line "),
        ("prompt", "raise SystemExit", "Plugin mine, prompt: SystemExit: "),
        ("prompt", "return 3", "Plugin mine, prompt: answered int, which has no meaning there."),
        ("session", "return 3", "Plugin mine, session: answered int, which has no meaning there."),
        ("before_call", "return 3", "Plugin mine, before_call: answered int"),
        ("after_call", "return 3", "Plugin mine, after_call: answered int"),
        ("stop", "return 3", "Plugin mine, stop: answered int"),
        ("close", "1 / 0", "Plugin mine, close: ZeroDivisionError"),
    ],
)
async def test_a_broken_function_is_named_once_and_the_session_goes_on(
    tmp_path: Path, moment: str, line: str, said: str
) -> None:
    on(tmp_path, moment, line)
    runtime, lines = began(tmp_path, [*shout("a"), *shout("b")], sets=RUNS)
    await runtime.submit("go")
    await runtime.submit("on")
    await runtime.close()
    assert [one[: len(said)] for one in lines] == [said]
    assert results(runtime) == [("A", False), ("B", False)]


def test_a_broken_segment_is_named_once(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", "app.status(lambda now: 1 / 0)\n    app.status(lambda now: 3)")
    runtime, said = began(tmp_path)
    for _ in range(2):
        assert runtime.status().more == ()
    assert [line.partition(" (")[0] for line in said] == [
        "Plugin mine, status: ZeroDivisionError: division by zero",
        "Plugin mine, status: answered int, which has no meaning there.",
    ]


def test_a_segment_that_hangs_is_off(tmp_path: Path) -> None:
    plugin(tmp_path, "mine", "app.status(lambda now: Event().wait())", "from threading import Event")
    runtime, said = began(tmp_path)
    for _ in range(2):
        assert runtime.status().more == ()
    assert said == ["Plugin mine, status: took longer than 0.1 s. It is off."]
