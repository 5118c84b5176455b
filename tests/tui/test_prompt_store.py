"""What of the prompt outlives the program."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prunecli.front.presentation import prompt_history as history
from prunecli.tui.prompt_store import PromptStore
from prunecli.tui.prompting import draft as drafts
from prunecli.tui.prompting.draft import Draft
from tests.waiting import until


class Typing:
    """A prompt, and timers that the test lets run out."""

    def __init__(self, folder: Path) -> None:
        self.draft = Draft()
        self.timers: list[Callable[[], None]] = []
        self.complaints: list[str] = []
        self.file = folder / "data" / "history.jsonl"
        self.prompt_store = PromptStore(
            self.file,
            folder,
            lambda: self.draft,
            lambda _, call: self.timers.append(call),
            self.complaints.append,
        )
        self.drafts = drafts.folder_of(self.file, folder)

    def saved(self) -> Draft | None:
        return next(map(drafts.load, self.drafts.glob("*.json")), None)

    def type(self, text: str) -> None:
        self.draft = Draft(text)
        self.prompt_store.typed()


async def test_a_draft_is_written_once_for_many_keys(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    for text in ("h", "he", "hel"):
        typing.type(text)
    assert len(typing.timers) == 1
    typing.timers.pop()()
    await typing.prompt_store.close()
    assert typing.saved() == Draft("hel")


async def test_what_was_typed_last_is_written_when_the_program_ends(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    typing.type("unsent")
    await typing.prompt_store.close()
    assert typing.saved() == Draft("unsent")
    typing.type("")
    await typing.prompt_store.close()
    assert typing.saved() is None


async def test_draft_and_history_come_back_in_the_next_program(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    typing.prompt_store.sent("first", 1)
    await typing.prompt_store.close()
    typing.prompt_store.sent("second", 2)
    typing.type("half a thought")
    await typing.prompt_store.close()
    assert await Typing(tmp_path).prompt_store.load() == (["first", "second"], Draft("half a thought"))


async def test_a_disk_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    """Typing goes on."""
    (tmp_path / "data").write_text("a file in the way")
    typing = Typing(tmp_path)
    typing.prompt_store.sent("a", 1)
    typing.prompt_store.sent("b", 2)
    typing.type("c")
    await typing.prompt_store.close()
    assert len(typing.complaints) == 1
    assert "Cannot write the prompt history" in typing.complaints[0]


async def test_a_full_disk_is_said_with_its_place(tmp_path: Path) -> None:
    """An error of a write names no file."""
    complaints: list[str] = []
    keeping = PromptStore(Path("/dev/full"), tmp_path, Draft, lambda _, call: None, complaints.append)
    keeping.sent("a", 1)
    await keeping.close()
    assert complaints == ["Cannot write the prompt history: /dev: No space left on device"]


async def test_writing_waits_for_the_write_before_it(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    for number in range(5):
        typing.type(f"text {number}")
        for due in [*typing.timers]:
            typing.timers.remove(due)
            due()
        await asyncio.sleep(0)
    await typing.prompt_store.close()
    while typing.timers:
        typing.timers.pop()()
        await typing.prompt_store.close()
    assert typing.saved() == Draft("text 4")
    assert history.load(typing.file) == []


async def test_closing_ends_where_a_write_has_just_ended(tmp_path: Path) -> None:
    """Before anybody was told of it: waiting for what is over gives nobody a turn on Python 3.12 and later."""
    typing, others = Typing(tmp_path), asyncio.all_tasks()
    typing.prompt_store.sent("first", 1)
    (writing,) = asyncio.all_tasks() - others
    while not writing.done():
        await asyncio.sleep(0)
    await typing.prompt_store.close()
    assert history.load(typing.file) == ["first"]


async def test_prompts_are_written_in_the_order_in_which_they_were_sent(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    texts = [f"prompt {number}" for number in range(50)]
    for text in texts:
        typing.prompt_store.sent(text, 1)
    await typing.prompt_store.close()
    assert history.load(typing.file) == texts


async def test_a_draft_that_was_left_stays_where_something_is_typed_already(tmp_path: Path) -> None:
    left = Typing(tmp_path)
    left.type("left")
    await left.prompt_store.close()
    typing = Typing(tmp_path)
    typing.draft = Draft("typed at once")
    assert await typing.prompt_store.load() == ([], Draft())
    assert await Typing(tmp_path).prompt_store.load() == ([], Draft("left"))


async def test_an_unexpected_error_of_a_write_reaches_the_application(tmp_path: Path) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context.get("handle")))
    typing = Typing(tmp_path)
    typing.prompt_store.sent({"words"}, 1)  # type: ignore[arg-type]  # a defect: json can't write a set
    await until(lambda: told)
    assert told[0] is not None, "as from a callback, which the application reports"
