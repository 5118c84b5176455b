"""/copy: what goes on the clipboard."""

from pathlib import Path

import pytest

from prunecli.commands.command import Copy, Say, run_line
from prunecli.commands.copy import code_blocks
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from tests.scripted import calls, says
from tests.starting import start

ANSWER = "Two ways:\n\n```python\nprint(1)\n```\n\nor\n\n~~~sh\necho 2\necho ``` 3\n~~~\n"


async def answered(folder: Path) -> Runtime:
    runtime = start(
        folder,
        [calls(ToolUse("t1", "ls", {"path": "."}), text="I look."), says(ANSWER)],
        sets=["permissions.mode=auto"],
    )
    await runtime.submit("how?")
    return runtime


async def test_the_last_answer_is_copied_as_it_was_written(tmp_path: Path) -> None:
    assert run_line(await answered(tmp_path), "/copy") == [Copy(ANSWER.strip(), "the last answer")]


async def test_a_code_block_of_it_is_copied_without_its_fence(tmp_path: Path) -> None:
    runtime = await answered(tmp_path)
    assert run_line(runtime, "/copy code") == [Copy("echo 2\necho ``` 3", "code block 2 of 2")]
    assert run_line(runtime, "/copy code 1") == [Copy("print(1)", "code block 1 of 2")]


@pytest.mark.parametrize("which", ["0", "3", "x", "-1"])
async def test_a_code_block_that_is_not_there_is_said(tmp_path: Path, which: str) -> None:
    said = run_line(await answered(tmp_path), f"/copy code {which}")
    assert isinstance(said[0], Say)
    assert said[0].level == "error"
    assert "from 1 to 2" in said[0].text


async def test_one_code_block_is_copied_at_a_time(tmp_path: Path) -> None:
    assert run_line(await answered(tmp_path), "/copy code 1 2") == [
        Say("/copy 2: unknown argument\n/copy takes code and the number of one block", "error")
    ]


async def test_entries_are_copied_by_their_numbers(tmp_path: Path) -> None:
    runtime = await answered(tmp_path)
    first = next(iter(runtime.session.context.entries.values()))
    assert run_line(runtime, f"/copy {first.seq}") == [Copy("how?", f"entry {first.seq}")]
    said = run_line(runtime, "/copy 9999")[0]
    assert isinstance(said, Say)
    assert "9999 is not an entry" in said.text


async def test_entries_without_text_are_left_out(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ToolUse("t1", "ls", {"path": "."})), says("Empty.")])
    await runtime.submit("how?")
    call, _, answer = list(runtime.session.context.entries)[-3:]
    assert run_line(runtime, f"/copy {call}") == [
        Say(f"no text in entry {call}\na call has none; copy its result", "error")
    ]
    assert run_line(runtime, f"/copy {call} {answer}") == [Copy("Empty.", f"entries {call}, {answer}")]


def test_before_the_first_answer_there_is_nothing_to_copy(tmp_path: Path) -> None:
    said = run_line(start(tmp_path), "/copy")[0]
    assert isinstance(said, Say)
    assert "no answer" in said.text


async def test_an_answer_without_code_says_so(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("no code, `inline` alone")])
    await runtime.submit("?")
    assert run_line(runtime, "/copy code") == [Say("The last answer has no code block.")]


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("", []),
        ("```\na\n", ["a\n"]),
        ("````\n```\na\n```\n````", ["```\na\n```"]),
        ("   ```\n  a\n```", ["  a"]),
        ("    ```\nno\n", []),
        ("```a`b\nno\n", []),
        ("```\n```", [""]),
    ],
)
def test_fences_are_read_as_commonmark_reads_them(markdown: str, blocks: list[str]) -> None:
    assert code_blocks(markdown) == blocks
