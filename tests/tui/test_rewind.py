"""/rewind, /fork and /tree on the screen, from the key to the files."""

import asyncio
from pathlib import Path

from prunecli.model.events import Rewound
from prunecli.model.messages import Text, ToolUse
from prunecli.tui.screens.choose import ChooseScreen
from tests.scripted import Scripted, calls, says
from tests.session.snapshotting import files, of_git, repository
from tests.tui.showing_app import Shown, shown

AUTO = ("permissions.mode=auto",)


def script() -> list[Scripted]:
    return [
        calls(ToolUse("b", "bash", {"command": "echo new > a.txt; echo 1 > made.txt"})),
        says("Made it."),
        says("Hello to you."),
        says("Otherwise."),
    ]


async def two_prompts(s: Shown) -> None:
    await s.type("make it", "enter")
    await s.idle()
    await s.type("say hello", "enter")
    await s.idle()
    await s.until_shown("Hello to you.")


async def picker(s: Shown) -> None:
    await s.until(lambda: isinstance(s.app.screen, ChooseScreen))


async def test_esc_esc_goes_back_with_the_files_and_the_prompt_can_be_said_anew(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    before, git = files(work), of_git(work)
    async with shown(tmp_path, script(), sets=AUTO, size=(100, 30)) as s:
        await two_prompts(s)
        await s.pilot.press("escape", "escape")
        await picker(s)
        await s.until_shown("Rewind to before", "say hello", "make it", "2 files +2 −1")
        await s.pilot.press("down", "enter")
        await s.until_shown(
            "Rewind to before: make it", "Conversation and files", "a.txt, made.txt (deleted)"
        )
        assert files(work) != before
        await s.pilot.press("enter")
        await s.until(lambda: s.frame.prompt.typed == "make it")
        await s.idle()
        await s.until_shown("Rewound.", "1 file restored, 1 deleted; /rewind can undo that.")
        assert "Hello to you." not in s.screen_text()
        assert files(work) == before
        assert of_git(work) == git
        await s.pilot.press("ctrl+u")
        await s.type("another way", "enter")
        await s.idle()
        await s.until_shown("❯ another way", "Otherwise.")


async def test_the_way_back_is_offered_too(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    async with shown(tmp_path, script(), sets=AUTO, size=(100, 30)) as s:
        await two_prompts(s)
        after, messages = files(work), s.runtime.session.context.messages()
        await s.type("/rewind", "enter")
        await picker(s)
        await s.pilot.press("down", "enter")
        await s.until_shown("Conversation and files")
        await s.pilot.press("enter")
        await s.until(lambda: s.frame.prompt.typed == "make it")
        await s.idle()
        await s.pilot.press("ctrl+u")
        await s.type("/rewind", "enter")
        await picker(s)
        await s.until_shown("↷ forward to: say hello", "2 prompts undone by a rewind")
        await s.pilot.press("enter")
        await s.until_shown("Forward to: say hello")
        await s.pilot.press("enter")
        await s.until_shown("Hello to you.")
        await s.idle()
        assert files(work) == after
        assert s.runtime.session.context.messages() == messages
        assert s.frame.prompt.is_empty


async def test_files_only_and_what_would_change_in_them(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    before = files(work)
    async with shown(tmp_path, script(), sets=AUTO, size=(100, 30)) as s:
        await two_prompts(s)
        await s.type("/rewind", "enter")
        await picker(s)
        await s.pilot.press("down", "enter")
        await s.until_shown("Show the file changes")
        await s.pilot.press("up", "enter")
        await s.until_shown("File changes", "made.txt", "deletes it", "+1 −0")
        await s.pilot.press("escape")
        await s.until_shown("Files only")
        await s.pilot.press("down", "down", "enter")
        await s.until_shown("1 file restored, 1 deleted")
        await s.idle()
        assert files(work) == before
        assert s.frame.prompt.is_empty
        assert not any(isinstance(record.event, Rewound) for record in s.runtime.session.records)
        await s.until_shown("Hello to you.")


async def test_leaving_the_picker_changes_nothing(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    async with shown(tmp_path, script(), sets=AUTO) as s:
        await two_prompts(s)
        count, then = len(s.runtime.session.records), files(work)
        for keys in ([], ["down", "enter"]):
            await s.type("/rewind", "enter")
            await picker(s)
            await s.pilot.press(*keys)
            await s.until(lambda keys=keys: "Files only" in s.screen_text() or not keys)
            await s.pilot.press("escape")
            await s.until(lambda: s.app.screen is s.frame)
        assert files(work) == then
        assert len(s.runtime.session.records) == count


async def test_a_working_agent_is_not_rewound_and_a_refused_line_stays_in_the_prompt(tmp_path: Path) -> None:
    event = asyncio.Event()
    async with shown(tmp_path, [Scripted((Text("I begin"),), after=1, until=event)]) as s:
        await s.type("go", "enter")
        await s.until_shown("I")
        await s.type("/rewind", "enter")
        await s.until_shown("The agent is working")
        assert s.frame.prompt.typed == "/rewind"
        await s.pilot.press("ctrl+u")
        await s.type("!ls src", "enter")
        await s.until(lambda: s.frame.prompt.typed == "!ls src")
        event.set()
        await s.idle()
        assert not any(isinstance(record.event, Rewound) for record in s.runtime.session.records)
        assert [item.texts for item in s.runtime.session.context.items] == [["go"], ["I begin"]]


async def test_fork_shows_the_copy_with_the_prompt_and_tree_leads_back(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("one"), says("two")], size=(100, 30)) as s:
        for words in ("first", "second"):
            await s.type(words, "enter")
            await s.idle()
        original = s.runtime.session
        prompt = [e.seq for e in original.context.items if e.kind == "user"][-1]
        await s.type(f"/fork {prompt}", "enter")
        await s.until(lambda: s.frame.prompt.typed == "second")
        await s.until_shown("❯ first", "Forked. /tree to switch back.")
        assert "❯ second" not in s.screen_text().split("first")[1].split("Forked.")[0]
        assert s.runtime.session.id != original.id
        await s.pilot.press("ctrl+u")
        await s.type("/tree", "enter")
        await picker(s)
        await s.until_shown("└ first", "fork at")
        await s.pilot.press("up", "enter")
        await s.until(lambda: s.runtime.session.id == original.id)
        await s.until_shown("❯ second")
