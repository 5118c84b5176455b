"""Calls that cannot succeed go back to the model without a question, and tell it nothing that one would guard."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.model.messages import ToolUse, plain_text
from tests.scripted import calls, says
from tests.starting import result_events, start


async def called(tmp_path: Path, name: str, *, sets: tuple[str, ...] = (), **given: Any) -> tuple[str, int]:
    """The result of a call that is denied if it is asked about, and how many questions there were."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("one\ntwo\ntwo\n")
    (work / ".env").write_text("KEY=hush\n")
    (work / "locked.py").write_text("x\n")
    (work / "locked.py").chmod(0o444)
    (work / "link").symlink_to(tmp_path / "beside")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "b.py").write_text("b\n")
    runtime = start(tmp_path, [calls(ToolUse("t", name, given)), says("done")], sets=sets)
    asked: list[Asked] = []

    async def ask(one: Asked) -> Answer:
        asked.append(one)
        return Answer("deny")

    runtime.asker = ask
    await runtime.submit("go")
    return plain_text(result_events(runtime)[0].content), len(asked)


EDIT = {"old_string": "one", "new_string": "1"}


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("edit", {**EDIT, "path": "a.py", "old_string": "gone"}, "old_string was not found"),
        ("edit", {**EDIT, "path": "a.py", "old_string": "two"}, "matches 2 places"),
        ("edit", {**EDIT, "path": "a.py", "new_string": "one"}, "nothing would change"),
        ("edit", {**EDIT, "path": "b.py"}, "b.py does not exist. Did you mean a.py?"),
        ("edit", {**EDIT, "path": "locked.py"}, "is read-only"),
        ("edit", {**EDIT, "path": "."}, "is a folder"),
        ("write", {"path": "a.py", "content": "x"}, "you have not read it"),
        ("write", {"path": "", "content": "x"}, "not a path"),
        ("edit", {**EDIT, "path": "../beside/b.py"}, "is outside the workspace"),
        ("write", {"path": "link/b.py", "content": "x"}, "is outside the workspace"),
    ],
)
async def test_a_call_that_must_fail_asks_nothing(
    tmp_path: Path, name: str, given: dict[str, Any], why: str
) -> None:
    text, questions = await called(tmp_path, name, **given)
    assert why in text
    assert questions == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("edit", {**EDIT, "path": "a.py"}),
        ("write", {"path": "new/deep.py", "content": "x"}),
        ("edit", {**EDIT, "path": ".env"}),
        ("edit", {**EDIT, "path": ".env", "old_string": "KEY=guess"}),
        ("write", {"path": ".env", "content": "x"}),
    ],
)
async def test_any_other_call_asks_and_so_does_one_that_only_a_secret_would_fail(
    tmp_path: Path, name: str, given: dict[str, Any]
) -> None:
    text, questions = await called(tmp_path, name, **given)
    assert (text, questions) == ("The user did not allow this.", 1)


@pytest.mark.parametrize("name", ["b.py", "c.py", "deep/er.py", "~/x", "/nowhere/x"])
async def test_an_edit_outside_fails_alike_whatever_is_there(tmp_path: Path, name: str) -> None:
    path = name if name[0] in "~/" else f"../beside/{name}"
    text, questions = await called(tmp_path, "edit", **{**EDIT, "path": path})
    assert (
        text == f"{path} is outside the workspace {tmp_path / 'work'}: files can only be changed inside it."
    )
    assert questions == 0


async def test_a_rule_for_reading_guards_what_a_file_holds(tmp_path: Path) -> None:
    sets = ('permissions.ask=["read(a.py)"]',)
    text, questions = await called(
        tmp_path, "edit", sets=sets, **{**EDIT, "path": "a.py", "old_string": "gone"}
    )
    assert (text, questions) == ("The user did not allow this.", 1)
