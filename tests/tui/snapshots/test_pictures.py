"""Each screen at two sizes and in a light theme, as it was looked at and kept."""

from pathlib import Path

import pytest

from prunecli.commands.command import Table
from prunecli.model.messages import ToolUse
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.widgets.permission import PermissionPanel
from tests.scripted import calls
from tests.tui.proposing import ask, proposal
from tests.tui.snapshots.conversation import conversation, with_a_todo_list
from tests.tui.snapshots.picture import LOOKS, Look, difference, pictured

every_look = pytest.mark.parametrize("look", LOOKS, ids=str)


@every_look
async def test_the_welcome(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look) as s:
        assert not await difference(s, "welcome", look)


@every_look
async def test_a_conversation_at_its_end(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.until_shown("You're welcome.")
        assert not await difference(s, "conversation", look)


@every_look
async def test_tools_a_diff_thinking_and_what_was_pruned(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.until_shown("You're welcome.")
        transcript = s.frame.transcript
        thought = next(item for item in transcript.document.items(0) if item.can_fold)
        transcript.toggle(thought.key)
        transcript.home()
        await s.until_shown("fix the failing check")
        assert not await difference(s, "tools", look)


@every_look
async def test_a_search(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.until_shown("You're welcome.")
        await s.pilot.press("ctrl+f")
        await s.type("advance")
        await s.until(lambda: s.frame.transcript._hit)
        assert not await difference(s, "search", look)


@every_look
async def test_the_question_before_an_edit(tmp_path: Path, look: Look) -> None:
    edit = ToolUse("t9", "edit", {"path": "parser.py", "old_string": "(tokens)", "new_string": "(tok)"})
    async with pictured(tmp_path, look, [calls(edit)], events=conversation()) as s:
        (s.runtime.setup.cwd / "parser.py").write_text(
            "def advance(tokens):\n    tok = 1\n    return tokens\n"
        )
        await s.type("go", "enter")
        await s.until_shown("Change this file?")
        await s.until(lambda: not s.frame.query_one(PermissionPanel).has_class("-early"))
        s.frame.activity.end()
        assert not await difference(s, "permission", look)


@every_look
async def test_a_to_do_list_unfolded(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=with_a_todo_list()) as s:
        await s.until_shown("Two items are left.")
        await s.pilot.press("alt+t")
        await s.until_shown("☐ Update the docs")
        assert not await difference(s, "todo", look)


@every_look
async def test_the_keys(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.pilot.press("f1")
        await s.until_shown("The bar and the keys")
        assert not await difference(s, "keys", look)


@every_look
async def test_the_themes_to_choose_from(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/theme", "enter")
        await s.until_shown("type to filter")
        assert not await difference(s, "themes", look)


@every_look
async def test_a_table(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        rows = tuple((str(seq), f"src/parser_{seq}.py", f"{seq * 137:,}") for seq in range(1, 30))
        note = "What was read most often stands first."
        s.app.push_screen(
            TableScreen(Table("Files", ("no.", "file", "tokens"), rows, note=note, right=(0, 2)))
        )
        await s.until_shown("Esc to close")
        assert not await difference(s, "table", look)


@every_look
async def test_commands_that_begin_like_what_was_typed(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        await s.type("/comp")
        await s.until_shown("Summarize the older part")
        assert not await difference(s, "menu", look)


@every_look
async def test_the_question_about_what_commands_changed(tmp_path: Path, look: Look) -> None:
    async with pictured(tmp_path, look, events=conversation()) as s:
        answer = ask(s, "pytest -q", "git commit -qam x", proposal=proposal())
        await s.until_shown("2 commands changed 3 files and the repository")
        await s.until(lambda: not s.frame.query_one(PermissionPanel).has_class("-early"))
        s.frame.activity.end()
        assert not await difference(s, "proposal", look)
        await s.pilot.press("escape")
        await answer
