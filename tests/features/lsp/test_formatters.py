"""Formatters after an edit: the file, what the model is told, and what it may do next."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from tests.scripted import Scripted, calls, says
from tests.starting import result_events, results, start

SPACED = "import re, sys; sys.stdout.write(re.sub(' *= *', ' = ', sys.stdin.read()))"


def begun(folder: Path, script: Sequence[Scripted], code: str) -> Runtime:
    sets = [
        f"format.toy.command={json.dumps([sys.executable, '-c', code, '$FILE'])}",
        *('format.toy.files=["*.toy"]', 'permissions.allow=["edit(**)", "write(**)"]'),
    ]
    return start(folder, script, sets=sets)


def write(text: str, id_: str = "one") -> Scripted:
    return calls(ToolUse(id_, "write", {"path": "a.toy", "content": text}))


async def test_the_model_is_told_what_a_formatter_changed_and_may_go_on_from_that(tmp_path: Path) -> None:
    change = {"path": "a.toy", "old_string": "a = 1", "new_string": "a=2"}
    script = [write("a=1\n"), calls(ToolUse("two", "edit", change)), write("b = 1\n", "three"), says("Done.")]
    runtime = begun(tmp_path, script, SPACED)
    await runtime.submit("go")
    await runtime.close()
    first, second, third = results(runtime)
    assert first.endswith("toy formatted the file:\n@@ -1,1 +1,1 @@\n-a=1\n+a = 1")
    assert second.endswith("-a=2\n+a = 2")
    assert third == "Wrote a.toy (+1 −1 lines)."
    shown = result_events(runtime)[1].details["diff"]
    assert shown == "@@ -1,1 +1,1 @@\n-a = 1\n+a = 2"
    assert (tmp_path / "work/a.toy").read_text() == "b = 1\n"


async def test_after_many_changes_the_file_must_be_read_again(tmp_path: Path) -> None:
    long = "".join(f"a{at}=1\n" for at in range(1_000))
    runtime = begun(tmp_path, [write(long), write("b", "two"), says("Done.")], SPACED)
    await runtime.submit("go")
    await runtime.close()
    first, second = results(runtime)
    assert first.endswith("toy formatted the file; read it again before you edit it.")
    assert second.startswith("a.toy has changed since you read it")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit('line 1: no')", "toy failed: line 1: no"),
        ("pass", "toy failed: exit code 0"),
        ("import os, sys; sys.stdout.write('x'); sys.stdout.flush(); os.abort()", "toy failed: exit code -6"),
    ],
)
async def test_a_formatter_that_fails_leaves_the_file_alone_and_says_why(
    tmp_path: Path, code: str, why: str
) -> None:
    runtime = begun(tmp_path, [write("a=1\n"), says("Done.")], code)
    await runtime.submit("go")
    await runtime.close()
    assert results(runtime)[0].endswith(f"Not formatted: {why}")
    assert (tmp_path / "work/a.toy").read_text() == "a=1\n"
