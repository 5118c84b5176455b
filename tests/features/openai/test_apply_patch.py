"""apply_patch: who has it, what a patch means, and that it asks and checks as edit does."""

from pathlib import Path

import pytest

from prunecli.features.openai import is_trained
from prunecli.features.openai.apply_patch import ApplyPatch, ApplyPatchInput
from prunecli.features.openai.patch import Hunk, parsed, patched
from prunecli.model.messages import ToolUse
from prunecli.model.requests import tool_names
from prunecli.util.errors import ToolError
from tests.scripted import calls, says
from tests.starting import result_events, results, start

PATCH = """*** Begin Patch
*** Update File: a.py
@@ def f():
-    return 1
+    return 2
*** Add File: new/b.py
+x = 1
*** Delete File: c.py
*** Update File: d.py
*** Move to: e.py
@@
 first
-second
+2nd
*** End Patch"""


def test_its_touches_are_what_is_read_and_changed() -> None:
    touches = ApplyPatch().touches(ApplyPatchInput(PATCH))
    assert touches.reads == ("a.py", "c.py", "d.py")
    assert touches.changes == ("a.py", "new/b.py", "c.py", "d.py", "e.py")


@pytest.mark.parametrize(
    ("text", "hunk", "expected"),
    [
        ("a\nb\nc\n", Hunk("", ("b",), ("B",), False), "a\nB\nc\n"),
        ("a\r\nb\r\n", Hunk("", ("b",), ("B",), False), "a\r\nB\r\n"),
        ("b\nx\nb\n", Hunk("x", ("b",), ("B",), False), "b\nx\nB\n"),
        ("b\nx\nb\n", Hunk("", ("b",), ("B",), True), "b\nx\nB\n"),
        ("  b  \n", Hunk("", ("b",), ("B",), False), "B\n"),
        ("a\n", Hunk("", (), ("z",), False), "a\nz\n"),
        ("a\nc\n", Hunk("a", (), ("b",), False), "a\nb\nc\n"),
        ("a", Hunk("", ("a",), ("b",), False), "b"),
    ],
)
def test_a_hunk_finds_its_place(text: str, hunk: Hunk, expected: str) -> None:
    assert patched(text, (hunk,), "f") == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing", "begins with"),
        ("*** Begin Patch\n*** End Patch", "Line 2"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "Line 3 of the patch: each line"),
        ("*** Begin Patch\n*** Update File: a\n@@\n!x\n*** End Patch", "Line 4 of the patch begins"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "has no changes"),
        ("*** Begin Patch\n*** Delete File: a\n*** Delete File: a\n*** End Patch", "same file twice"),
    ],
)
def test_a_wrong_patch_is_named_by_its_line(text: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        parsed(text)


@pytest.mark.parametrize(
    ("model", "has_it"),
    [
        ("gpt-5.5", True),
        ("openai/gpt-oss-120b", True),
        ("gpt-4o", False),
        ("claude-opus-5-5", False),
        ("glm-5", False),
    ],
)
def test_only_models_that_are_trained_on_it_have_it(model: str, has_it: bool) -> None:
    assert is_trained(model) is has_it


async def patched_by(folder: Path, patch: str, *more: str) -> tuple[list[str], bool]:
    """The results of a call with this patch, and whether it failed."""
    call = ToolUse("c1", "apply_patch", {"input": patch})
    sets = ["model.name=gpt-5.5", "permissions.mode=edits", *more]
    runtime = start(folder, [calls(call), says("Done.")], sets=sets)
    await runtime.submit("Patch it.")
    found = results(runtime), result_events(runtime)[0].is_error
    await runtime.close()
    return found


async def test_a_patch_changes_adds_deletes_and_moves(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("def g():\n    return 1\ndef f():\n    return 1\n")
    (work / "c.py").write_text("old\n")
    (work / "d.py").write_text("first\nsecond\n")
    told, failed = await patched_by(tmp_path, PATCH)
    assert (failed, told[0].splitlines()[0]) == (False, "Done.")
    assert (work / "a.py").read_text() == "def g():\n    return 1\ndef f():\n    return 2\n"
    assert (work / "new" / "b.py").read_text() == "x = 1\n"
    assert (work / "e.py").read_text() == "first\n2nd\n"
    assert sorted(path.name for path in work.iterdir()) == ["a.py", "e.py", "new"]


async def test_a_patch_of_a_notebook_is_one_of_its_cells(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    before = '{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "y = 2"]}], "nbformat": 4}\n'
    (work / "n.ipynb").write_text(before)
    patch = "*** Begin Patch\n*** Update File: n.ipynb\n@@\n x = 1\n-y = 2\n+y = 3\n*** End Patch"
    assert not (await patched_by(tmp_path, patch))[1]
    assert (work / "n.ipynb").read_text() == before.replace("y = 2", "y = 3")


async def test_where_one_file_does_not_fit_none_changes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("def f():\n    return 1\n")
    assert (await patched_by(tmp_path, PATCH))[1]
    assert (work / "a.py").read_text() == "def f():\n    return 1\n"
    assert not (work / "new").exists()


async def test_it_asks_and_obeys_rules_as_edit_does(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    outside = "*** Begin Patch\n*** Add File: ../out.txt\n+x\n*** End Patch"
    assert (await patched_by(tmp_path, outside))[1]
    assert not (tmp_path / "out.txt").exists()
    inside = "*** Begin Patch\n*** Add File: in.txt\n+x\n*** End Patch"
    assert (await patched_by(tmp_path, inside, 'permissions.deny=["edit(in.txt)"]'))[1]
    assert not (work / "in.txt").exists()


async def test_a_session_keeps_the_tools_that_it_began_with(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("One."), says("Two.")], sets=["model.name=claude-sonnet-4-6"])
    await runtime.submit("Begin.")
    runtime.set_model("gpt-5.5")
    await runtime.submit("Go on.")
    assert "apply_patch" not in tool_names(runtime.session.context.settings["request.preamble"])
    assert "apply_patch" not in runtime.tools
    runtime.new_session()
    runtime.set_model("gpt-5.5")
    runtime.prepare()
    assert "apply_patch" in runtime.tools
    await runtime.close()
