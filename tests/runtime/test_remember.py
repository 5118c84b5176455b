"""remember: the model proposes a line for later sessions, and a person decides, in every mode."""

from pathlib import Path

import pytest

from prunecli.features.skills_and_memory.remember_tool import DECLINED, FOREIGN, NOBODY, read_foreign
from prunecli.model.events import AssistantMessage, Event, ToolStarted, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.touches import Touches
from prunecli.runtime import Runtime
from prunecli.tools.asking import Inquiry, Reply
from tests.scripted import calls, says
from tests.starting import results, start

SETS = ['tools.enabled=["remember", "read"]']


def _ready(folder: Path, line: str = "Use tabs", *more: str, trusted: bool = True) -> Runtime:
    script = [calls(ToolUse("r1", "remember", {"line": line})), says("ok")]
    return start(folder, script, sets=[*SETS, *more], trusted=trusted)


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize(
    ("reply", "said", "project", "own"),
    [
        (Reply((0,)), "Added to ", "- Use tabs\n", None),
        (Reply((1,)), "Added to ", None, "- Use tabs\n"),
        (Reply((2,)), DECLINED, None, None),
        (Reply(), DECLINED, None, None),
        (Reply((0,), "say why"), f"{DECLINED}\nThe user added: say why", None, None),
        (None, NOBODY, None, None),
    ],
)
async def test_a_line_is_written_only_where_a_person_chose(
    tmp_path: Path, mode: str, reply: Reply | None, said: str, project: str | None, own: str | None
) -> None:
    runtime, asked = _ready(tmp_path, "Use tabs", f"permissions.mode={mode}"), list[Inquiry]()

    async def answer(inquiry: Inquiry) -> Reply | None:
        asked.append(inquiry)
        return reply

    runtime.inquiries.asker = answer
    await runtime.submit("I always want tabs")
    (text,) = results(runtime)
    files = (runtime.setup.cwd / "AGENTS.md", runtime.setup.places.config / "AGENTS.md")
    await runtime.close()
    assert text.startswith(said)
    assert [file.read_text() if file.exists() else None for file in files] == [project, own]
    assert asked[0].question == "Remember this line?\n- Use tabs"
    assert asked[0].default == 2


async def test_without_anybody_nothing_is_written(tmp_path: Path) -> None:
    runtime = _ready(tmp_path)
    await runtime.submit("I always want tabs")
    assert results(runtime) == [NOBODY]
    await runtime.close()


@pytest.mark.parametrize("line", ["", "one\ntwo", "x" * 3_000, "\x1b[2J hidden"])
async def test_what_is_no_line_is_an_error_and_asks_nobody(tmp_path: Path, line: str) -> None:
    runtime = _ready(tmp_path, line)

    async def never(_: Inquiry) -> Reply | None:
        raise AssertionError

    runtime.inquiries.asker = never
    await runtime.submit("remember")
    assert "remember" in results(runtime)[0]
    await runtime.close()


async def test_a_task_cannot_remember(tmp_path: Path) -> None:
    runtime = _ready(tmp_path)
    child = runtime.child(runtime.setup, "task 1", "")
    await child.submit("remember tabs")
    assert results(child) == ["A task cannot remember; name the line in your report."]
    await runtime.close()


async def test_it_is_off_by_default(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert "remember" not in runtime.tools
    await runtime.close()


PROMPT = UserMessage((Text("go"),))
FETCH = ToolStarted("1", "web_fetch", {}, Touches(fetches=("x.org",)))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([FETCH, PROMPT, ToolStarted("2", "read", {}, Touches(reads=("a",)))], False),
        ([PROMPT, FETCH], True),
        ([PROMPT, ToolStarted("2", "mcp", {}, Touches(calls=("a:b",)))], True),
        ([PROMPT, ToolStarted("2", "plugin", {}, None)], True),
        ([PROMPT, AssistantMessage((), usage=Usage(1, 1, web_search_requests=1))], True),
        ([FETCH, PROMPT, UserMessage((Text("more"),), "steering")], False),
    ],
)
def test_the_question_warns_where_the_turn_read_what_others_wrote(
    events: list[Event], expected: bool
) -> None:
    assert read_foreign(reversed(events)) is expected
    assert "web" in FOREIGN
