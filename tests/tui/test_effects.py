"""What commands answer with: the clipboard, a secret, work in a thread, the palette, another configuration."""

import threading
from pathlib import Path
from time import monotonic

import pytest

from prunecli.commands.command import AskSecret, Choice, Choose, Confirm, Copy, InThread, Say
from prunecli.front.presentation.entries import Notice
from prunecli.runtime.guide import Guide
from prunecli.tui.effects import Effects
from prunecli.tui.messages import PromptSubmitted
from prunecli.tui.screens.choose import ChooseScreen, SecretScreen
from prunecli.tui.widgets.long_question import LongQuestion
from prunecli.tui.widgets.question import ARROWS_ANSWER, SOON, Question
from prunecli.util.errors import ConfigError
from tests.scripted import ScriptedProvider, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown


def effects(running: Shown) -> Effects:
    return running.conversation.effects


def holding(folder: Path, data: bytes) -> list[str]:
    """Where files that hold this lie: the names of the folders above their own."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.parents[1].name for path in files if data in path.read_bytes()]


async def test_copying_puts_the_text_on_the_clipboard_and_into_no_file(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("the *answer*")]) as s:
        await s.type("hi", "enter")
        await s.idle()
        await s.type("/copy", "escape", "enter")
        await s.until_shown("Sent the last answer to the terminal: 12 characters. It may not have put it")
        assert s.app.clipboard == "the *answer*"
        effects(s).carry_out([Copy("x", "entry 3")])
        await s.until_shown("Sent entry 3 to the terminal: 1 character.")
    assert holding(tmp_path, b"the *answer*") == ["sessions"]


async def test_a_secret_is_not_shown_and_not_kept(tmp_path: Path) -> None:
    given: list[str] = []

    def then(secret: str) -> list[Say]:
        given.append(secret)
        return [Say("kept")]

    async with shown(tmp_path) as s:
        effects(s).carry_out([AskSecret("API key", then)])
        await s.until(lambda: isinstance(s.app.screen, SecretScreen))
        await s.type("sk-secret")
        await s.until_shown("API key", "•••••••••")
        assert "sk-secret" not in s.screen_text()
        await s.pilot.press("enter")
        await s.until_shown("kept")
        assert given == ["sk-secret"]
        assert s.frame.prompt.is_empty
        effects(s).carry_out([AskSecret("API key", then)])
        await s.until(lambda: isinstance(s.app.screen, SecretScreen))
        await s.type("other", "escape")
        await s.until(lambda: s.app.screen is s.frame)
        assert given == ["sk-secret"]
    history = s.runtime.setup.places.history_file
    assert not history.exists() or "secret" not in history.read_text()


async def test_a_secret_that_is_refused_says_why(tmp_path: Path) -> None:
    def then(secret: str) -> list[Say]:
        raise ConfigError("that is no key", "a key is one word")

    async with shown(tmp_path) as s:
        effects(s).carry_out([AskSecret("API key", then)])
        await s.until(lambda: isinstance(s.app.screen, SecretScreen))
        await s.type("xyzzy", "enter")
        await s.until_shown("that is no key", "A key is one word")
        assert "xyzzy" not in s.screen_text()


async def test_long_work_is_said_and_the_keyboard_goes_on(tmp_path: Path) -> None:
    gate = threading.Event()

    def work() -> list[Say]:
        gate.wait(10)
        return [Say("checked")]

    async with shown(tmp_path) as s:
        effects(s).carry_out([InThread("Checking", work)])
        await s.until_shown("Checking …")
        await s.type("typed meanwhile")
        assert s.frame.prompt.typed == "typed meanwhile"
        gate.set()
        await s.until_shown("checked")
        await s.until(lambda: "Checking …" not in s.screen_text())


async def test_esc_leaves_long_work_alone_and_nothing_comes_of_it(tmp_path: Path) -> None:
    gate, ended = threading.Event(), threading.Event()

    def work() -> list[Say]:
        gate.wait(10)
        ended.set()
        return [Say("too late")]

    async with shown(tmp_path) as s:
        effects(s).carry_out([InThread("Checking", work)])
        await s.until_shown("Checking …")
        await s.pilot.press("escape")
        await s.until_shown("stopped")
        gate.set()
        await s.until(ended.is_set)
        await s.pilot.pause()
        assert s.entries == []


async def test_what_was_typed_before_a_grave_question_is_no_answer(tmp_path: Path) -> None:
    """Trusting a directory is never an accident."""
    async with shown(tmp_path, trusted=False) as s:
        s.conversation.command("/trust")
        await s.until(lambda: s.frame.query(Question))
        question = s.frame.query_one(Question)
        await s.until(lambda: question.answering.is_ready(monotonic()))
        question.appear()
        s.press_at_once([*"ye", "backspace", "backspace", "enter"], before=-0.2)
        await s.until_shown(SOON)
        assert not s.runtime.gatekeeper.trusted
        s.press_at_once("yo")
        await s.until(lambda: question.answering.is_ready(monotonic()))
        await s.pilot.press("enter")
        await s.until_shown(ARROWS_ANSWER)
        assert not s.runtime.gatekeeper.trusted
        await s.pilot.press("down", "up", "enter")
        await s.until(lambda: s.runtime.gatekeeper.trusted)
        assert s.frame.prompt.text == "yo"
        assert not s.frame.query(Question)


@pytest.mark.parametrize("size", [(80, 24), (50, 15)])
async def test_whoever_trusts_a_directory_can_read_its_whole_path(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    parts = [f"folder-{number:02}-of-a-deep-tree" for number in range(14)]
    async with shown(tmp_path, trusted=False, work="/".join(parts), size=size) as s:
        s.conversation.command("/trust")
        await s.until(lambda: s.frame.query(Question))
        question = s.frame.query_one(LongQuestion)
        await s.until_shown("Do you trust this folder?", "Yes", "No")
        await s.pilot.press("question_mark")
        await s.until_shown("The bar and the keys")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)
        assert s.frame.prompt.is_empty, "it is not typed"
        assert await s.read_through(question) == str(s.runtime.setup.cwd)
        await s.until_shown("Yes", "No")


async def test_questions_that_grant_something_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """Two panels at once would not show which one a key answers."""
    async with shown(tmp_path, trusted=False) as s:
        for title in ("First?", "Second?"):
            choices = Choice("no", title.removesuffix("?")), Choice("no", "Leave")
            effects(s).carry_out([Choose(title, "trust", choices, grave=True)])
        for title in ("First?", "Second?"):
            await s.until_shown(title)
            question = s.frame.query_one(Question)  # the only one
            await s.until(lambda shown=question: shown.answering.is_ready(monotonic()))
            await s.pilot.press("escape")
        await s.until(lambda: not s.frame.query(Question))


async def test_esc_leaves_a_directory_untrusted(tmp_path: Path) -> None:
    async with shown(tmp_path, trusted=False) as s:
        s.conversation.command("/trust")
        await s.until(lambda: s.frame.query(Question))
        question = s.frame.query_one(Question)
        await s.until(lambda: question.answering.is_ready(monotonic()))
        await s.pilot.press("escape")
        await s.until_shown("Read-only")
        assert not s.runtime.gatekeeper.trusted


async def test_the_palette_runs_commands_and_actions(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("ctrl+p")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.until_shown("Commands", "/compact")
        await s.type("prune-tog", "enter")
        await s.until_shown("Automatic pruning is off")
        await s.pilot.press("ctrl+p")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.type("cycle", "enter")
        await s.until(lambda: s.runtime.gatekeeper.mode == "edits")
        await s.pilot.press("ctrl+p")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.type("search your prompts", "enter")
        await s.until(lambda: s.frame.prompt.searching)
        assert not s.runtime.choices.pruning


async def test_the_palette_finds_by_what_a_command_does(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("ctrl+p")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        assert "/compact" in s.screen_text()
        await s.type("API key")
        await s.until_shown("/login")
        assert "/compact" not in s.screen_text()


async def test_reloading_takes_the_keys_and_the_theme_of_the_file(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        file = s.runtime.setup.places.config_file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('[ui]\ntheme = "fjord"\n[ui.keys]\nsubmit = "ctrl+s"\n')
        await s.type("/reload", "escape", "enter")
        await s.until_shown("Configuration reloaded")
        assert s.app.theme == "fjord"
        await s.type("hi", "ctrl+s")
        await s.idle()
        assert s.runtime.session.context.items[0].texts == ["hi"]
        file.write_text('[ui.keys]\nsubmitt = "ctrl+x"\n')
        await s.type("/reload", "escape", "ctrl+s")
        await s.until_shown("ui.keys.submitt: unknown action (did you mean submit?)")
        assert s.frame.keys.action("ctrl+s") == "submit"


async def test_the_mouse_can_be_left_to_the_terminal(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/mouse off", "escape", "enter")
        await s.until_shown("Mouse off: the terminal selects text as usual")
        assert not s.runtime.config.ui.mouse
        await s.type("/mouse --save", "enter")
        await s.until_shown("Saved")
        assert "mouse = true" in s.runtime.setup.places.settings_file.read_text()
        await s.type("/mouse sideways", "enter")
        await s.until_shown("takes on or off")


async def test_init_has_the_agent_write_instructions_where_it_may(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("written"), says("improved")]) as s:
        await s.type("/init", "escape", "enter")
        await s.idle()
        first = s.runtime.session.context.items[0].texts[0]
        assert first.startswith("Write AGENTS.md in this directory")
        (tmp_path / "work" / "CLAUDE.md").write_text("old")
        await s.type("/init mind the tests", "escape", "enter")
        await s.idle()
        words = s.runtime.session.context.items[2].texts[0]
        assert "AGENTS.md or CLAUDE.md already" in words
        assert words.endswith("mind the tests")
    async with shown(tmp_path, trusted=False) as s:
        await s.type("/init", "escape", "enter")
        await s.until_shown("read-only until you trust it")


async def test_what_a_shell_command_says_is_seen_while_it_runs(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with shown(tmp_path) as s:
        await s.type(f"!echo first; until [ -e {gate} ]; do sleep 0.05; done; echo last", "enter")
        await s.until_shown("│ first", "Esc stops")
        assert "last" not in s.screen_text().split("│ first")[1]
        gate.write_text("")
        await s.idle()
        await s.until_shown("│ last")
        assert s.screen_text().count("│ first") == 1


async def test_what_was_said_to_a_shell_command_is_heard_when_it_ends(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with shown(tmp_path, [says("heard")]) as s:
        await s.type(f"!until [ -e {gate} ]; do sleep 0.05; done", "enter")
        await s.until(lambda: s.conversation.runs.busy)
        await s.type("and then?", "enter")
        await s.until_shown("↳ and then?")
        provider = s.runtime.provider
        assert isinstance(provider, ScriptedProvider)
        assert provider.requests == []
        gate.write_text("")
        await s.until_shown("heard")
        await s.idle()
        assert s.runtime.session.context.items[-2].texts == ["and then?"]


@pytest.mark.parametrize(("answer", "instructed"), [("yes", True), ("no", False)])
async def test_a_prompt_waits_until_the_folder_is_trusted_or_not(
    tmp_path: Path, answer: str, instructed: bool
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Use tabs.")
    runtime = start(tmp_path, [says("heard")], trusted=False)
    runtime.opening = ["/trust"]
    async with shown(tmp_path, runtime=runtime) as s:
        s.conversation.handle(PromptSubmitted("hello there"))
        await s.until_shown("Do you trust", "↳ hello there")
        assert not runtime.session.context.items
        s.conversation.command(f"/trust {answer}")
        await s.until_shown("❯ hello there", "heard")
        await s.idle()
        assert s.runtime.session.context.items[0].texts == ["hello there"]
        assert (b"Use tabs." in b"".join(runtime.session.context.preamble.system)) is instructed


async def test_a_guide_says_its_lines_with_enter_alone(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("one")]) as s:
        s.runtime.guide = Guide(["first", "/undo"])
        s.conversation.show_guide()
        await s.until_shown("Enter: first")
        await s.pilot.press("enter")
        await s.until_shown("❯ first", "one", "Enter: /undo")
        await s.pilot.press("enter")
        await s.until_shown("Nothing to undo", "Ask, or / for commands")
        await s.pilot.press("enter")
        assert [e.text for e in s.entries if isinstance(e, Notice)] == [
            "Nothing to undo: no prune and no summary is in effect."
        ]


@pytest.mark.parametrize(("key", "done"), [("enter", True), ("escape", False)])
async def test_an_act_that_costs_shows_its_line_first(tmp_path: Path, key: str, done: bool) -> None:
    acted: list[str] = []

    def act() -> list[Say]:
        acted.append("done")
        return [Say("Pruned 46.5K.")]

    async with shown(tmp_path) as s:
        line = "Frees 46.5K (7% → 2%) · about $0.04 now, pays back after 9 requests"
        effects(s).carry_out([Confirm(line, "Prune", act)])
        await s.until_shown(line, "Prune", "Cancel")
        await s.pilot.press(key)
        await s.until(lambda: not isinstance(s.app.screen, ChooseScreen))
        await s.pilot.pause()
        assert bool(acted) is done
