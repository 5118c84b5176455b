"""What commands answer with, on the screen."""

import asyncio
from pathlib import Path

import pytest

from prunecli.commands.command import Choice, Choose, Confirm, EditFile, Quit, Say, SetTheme, Submit, Table
from prunecli.front.presentation.entries import Level, Notice, Output, Prompt, ToolCall
from prunecli.front.presentation.presenter import present_all, presenter_of
from prunecli.model.messages import ToolUse
from prunecli.session.digest import Titled
from prunecli.tui.effects import Effects
from prunecli.tui.screens.choose import ChooseScreen
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.widgets.editor import Field
from tests.scripted import calls, says
from tests.starting import start
from tests.tui.showing_app import Shown, joined, shown
from tests.waiting import DEADLINE


def effects(running: Shown) -> Effects:
    return running.conversation.effects


async def test_words_are_shown_as_notices_of_their_level(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        effects(s).carry_out([Say("fine"), Say("[b]careful[/]", "warning")])
        assert s.entries == [Notice("fine"), Notice("[b]careful[/]", Level.WARNING)]
        await s.until_shown("[b]careful[/]")


async def test_what_a_command_did_stands_above_what_it_says_of_it(tmp_path: Path) -> None:
    use = ToolUse("t1", "read", {"path": "a.txt"})
    sets = ("pruning.pi.prune_protect=0", "pruning.pi.protected_turns=0")
    async with shown(tmp_path, [calls(use), says("read"), says("more")], sets=sets) as s:
        (s.runtime.setup.cwd / "a.txt").write_text("words of a file\n" * 400)
        for words in ("go", "on"):
            await s.type(words, "enter")
            await s.idle()
        s.conversation.command("/prune")
        said = [entry.text for entry in s.entries if isinstance(entry, Notice)]
        assert [text[:6] for text in said] == ["✂ prun", "Pruned"]


async def test_what_changes_behind_a_screen_in_a_batch_is_painted_while_it_is_open(tmp_path: Path) -> None:
    """As on a busy machine, where a change falls into the batch in which Textual opens the screen."""
    async with shown(tmp_path, [says("Hello.")]) as s:
        await s.type("hi", "enter")
        await s.idle()
        await s.type("/theme", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.until_shown("prune-light")
        top, behind = s.app.screen, s.frame
        async with asyncio.timeout(DEADLINE):  # `until` would wake the screen behind
            while behind._dirty_widgets or behind._update_timer._active.is_set():
                await asyncio.sleep(0.01)
            with s.app.batch_update():
                s.conversation.say("said behind it")
                while behind.transcript not in behind._dirty_widgets:
                    await asyncio.sleep(0.01)
                for _ in range(
                    100
                ):  # turns of the loop, in which the screen behind finds that it may not paint
                    await asyncio.sleep(0)
            while not any("said behind it" in row.text for row in top.render_lines(top.size.region)):
                await asyncio.sleep(0.01)


async def test_a_table_is_shown_aligned_and_closed_with_esc(tmp_path: Path) -> None:
    rows = tuple((str(n), f"[red]row[/] {n}\x1b", "x" * n) for n in range(40))
    async with shown(tmp_path) as s:
        effects(s).carry_out([Table("Things", ("n", "name", "what"), rows, (0,), "a note")])
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.until_shown("Things", " 9  [red]row[/] 9␛", "a note")
        await s.pilot.press("pagedown", "pagedown", "pagedown")
        await s.until_shown("39  [red]row[/] 39␛")
        assert " n  name" in s.screen_text()
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)


async def test_the_note_below_a_table_leaves_most_of_a_low_screen_to_the_rows(tmp_path: Path) -> None:
    rows = tuple((str(n), f"row {n}") for n in range(40))
    note = "\n".join(f"note {n}" for n in range(4))
    async with shown(tmp_path, size=(60, 15)) as s:
        effects(s).carry_out([Table("Things", ("n", "what"), rows, (0,), note)])
        await s.until_shown("Things", "row 7")
        assert "note" not in s.screen_text()
        await s.pilot.press("end")
        await s.until_shown("row 39", "note 0", "note 3")


async def test_choosing_runs_the_command_with_what_was_chosen(tmp_path: Path) -> None:
    choices = tuple(Choice(f"m{n}", f"Model {n}", f"{n} tokens", current=n == 3) for n in range(30))
    async with shown(tmp_path) as s:
        effects(s).carry_out([Choose("Name it", "rename", choices)])
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.until_shown("Name it", "● Model 3", "3 tokens", "4 of 30")
        await s.pilot.press("end")
        await s.until_shown("Model 29", "30 of 30")
        await s.pilot.press("home")
        await s.until_shown("Model 0 ", "1 of 30")
        await s.type("del 17")
        await s.until_shown("Model 17")
        await s.pilot.press("enter")
        await s.until_shown("Session renamed to m17.")
        assert s.runtime.session.name == "m17"
        await s.until(lambda: s.screen_text().split("\n")[0].endswith("m17"))


async def test_leaving_a_choice_changes_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        effects(s).carry_out([Choose("Name it", "rename", tuple(Choice(name, name) for name in "abcd"))])
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.type("zzz")
        await s.until_shown("No matches")
        await s.pilot.press("enter", "escape")
        await s.until(lambda: s.app.screen is s.frame)
        assert s.runtime.session.name == ""


async def test_a_confirmation_takes_a_digit_and_ignores_other_text(tmp_path: Path) -> None:
    done = list[str]()
    async with shown(tmp_path) as s:
        for keys, count in (("b 9 2", 0), ("b 1", 1), ("z enter", 2)):
            effects(s).carry_out([Confirm("It costs $1.", "Do it", lambda: done.append("done") or ())])
            await s.until_shown("It costs $1.", "1 Do it", "2 Cancel", "Enter or a digit")
            await s.pilot.press(*keys.split())
            await s.until(lambda: s.app.screen is s.frame)
            assert len(done) == count


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("/context", "q q"),
        ("/context", "escape p l e a s e"),
        ("/theme", "enter enter"),
        ("/status", "enter enter"),
    ],
)
async def test_keys_behind_the_one_that_closes_a_screen_never_reach_it(
    tmp_path: Path, command: str, keys: str
) -> None:
    async with shown(tmp_path, [says("hello")]) as s:
        await s.type("hi", "enter")
        await s.idle()
        await s.type(command, "enter")
        await s.until(lambda: s.app.screen is not s.frame)
        await s.pilot.pause()
        s.press_at_once(keys.split())
        await s.until(lambda: s.app.screen is s.frame)
        await s.pilot.pause()
        await s.type("on it goes")
        await s.until(lambda: s.frame.prompt.text.endswith("on it goes"))
        assert s.app.defect is None


async def test_letters_right_behind_the_esc_that_closes_a_field_are_the_next_prompt(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        look = s.app.theme
        for command in ("/theme", "/model", "/login"):
            await s.type(command, "enter")
            await s.until(lambda: s.app.screen.query(Field))
            await s.pilot.pause()
            s.press_at_once(["d", "escape", *"please"])
            await s.until(lambda: s.app.screen is s.frame and s.frame.prompt.text == "please")
            await s.pilot.press("ctrl+u")
            assert s.app.theme == look, command
            assert s.app.defect is None, command


async def test_letters_right_behind_the_enter_that_chooses_are_the_next_prompt(tmp_path: Path) -> None:
    """They neither change the choice, nor go to the screen that it opens."""
    choices = tuple(Choice(name, name) for name in ("alpha", "beta", "gamma", "gamma two"))
    async with shown(tmp_path) as s:
        effects(s).carry_out([Choose("Name it", "rename", choices)])
        await s.until(lambda: s.app.screen.query(Field))
        await s.pilot.pause()
        s.press_at_once([*"gam", "down", "enter", *"please"])
        await s.until(lambda: s.app.screen is s.frame and s.frame.prompt.text == "please")
        await s.until_shown("Session renamed to gamma two.")
        await s.pilot.press("ctrl+u")
        effects(s).carry_out([Choose("Which theme", "theme", (Choice("", "all of them"),))])
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.pilot.pause()
        s.press_at_once(["enter", *"please"])
        await s.until(lambda: s.frame.prompt.text == "please")
        await s.until(lambda: s.app.screen is not s.frame)
        assert s.app.screen.query_one(Field).value == ""


async def test_a_prompt_typed_over_a_table_is_sent_by_its_enter(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("hello")]) as s:
        await s.type("hi", "enter")
        await s.idle()
        for command, name in (("/cost", "alpha"), ("/status", "beta")):
            await s.type(command, "enter")
            await s.until(lambda: s.app.screen is not s.frame)
            await s.pilot.pause()
            s.press_at_once([*f"/rename {name}", "enter"])
            await s.until_shown(f"Session renamed to {name}.")


async def test_themes_are_tried_on_while_one_looks_through_them(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("hello")]) as s:
        await s.type("hi", "enter")
        await s.idle()
        before = s.frame.transcript.palette
        await s.type("/theme", "enter")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.type("parch")
        await s.until(lambda: s.app.theme == "parchment")
        assert s.frame.transcript.palette != before
        await s.pilot.press("escape")
        await s.until(lambda: s.app.theme == "prune-dark")
        assert s.frame.transcript.palette == before
        await s.type("/theme", "enter")
        await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
        await s.type("dusk", "enter")
        await s.until(lambda: s.app.theme == "dusk" and s.app.screen is s.frame)
        assert s.runtime.config.ui.theme == "dusk"


@pytest.mark.parametrize("way", ["/theme broken", "/theme broken --save", "/theme"])
async def test_a_theme_with_an_error_is_not_chosen(tmp_path: Path, way: str) -> None:
    async with shown(tmp_path, size=(120, 30)) as s:
        places = s.runtime.setup.places
        places.user_themes.mkdir(parents=True)
        (places.user_themes / "broken.toml").write_text('base = "prune-dark"\ncolors.accent = "blue"\n')
        await s.type("/theme fjord", "enter")
        await s.until_shown("Theme: fjord.")
        await s.type(way, "enter")
        if way == "/theme":
            await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
            await s.type("dusk")
            await s.until(lambda: s.app.theme == "dusk")
            await s.pilot.press("ctrl+u")
            await s.type("broken", "enter")
        await s.until_shown("broken.toml: colors.accent: expected a color")
        assert joined(s.screen_text()).count("expected a color") == 1
        assert "Theme: broken" not in s.screen_text()
        assert (s.app.theme, s.runtime.config.ui.theme) == ("fjord", "fjord")
        assert not places.settings_file.exists()


async def test_the_theme_of_the_last_time_is_in_the_first_frame_of_the_next(tmp_path: Path) -> None:
    async with shown(tmp_path, sets=["ui.theme=fjord"]):
        pass
    from prunecli.tui.app import PrunecliApp

    runtime = start(tmp_path)
    app = PrunecliApp(lambda: runtime, runtime.setup.places, runtime.setup.cwd, {})
    assert app.theme == "fjord"
    async with app.run_test() as pilot:
        await Shown(app, pilot, runtime).until(lambda: app.theme == "prune-dark" and app.conversation)
        await app.close()


async def test_a_theme_that_is_not_there_is_said_and_the_house_has_one(tmp_path: Path) -> None:
    async with shown(tmp_path, sets=["ui.theme=nosuch"]) as s:
        await s.until_shown("no theme named", "using prune-dark")
        effects(s).carry_out([SetTheme("neither")])
        await s.until_shown("neither")
        assert s.app.theme == "prune-dark"


async def test_a_command_can_speak_to_the_agent_and_let_it_go_on_and_quit(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("one")]) as s:
        effects(s).carry_out([Submit("say it")])
        await s.idle()
        await s.until_shown("❯ say it", "one")
        s.conversation.runs.go_on()
        await s.idle()
        assert [item.kind for item in s.runtime.session.context.items] == ["user", "assistant"]
        effects(s).carry_out([Quit()])
        await s.until(lambda: s.app._exit)
        assert s.app.return_value == 0


@pytest.mark.parametrize("mark", ["!", "!!"])
async def test_the_session_stays_while_a_command_of_the_user_runs(tmp_path: Path, mark: str) -> None:
    async with shown(tmp_path, [says("one")]) as s:
        await s.type("go", "enter")
        await s.idle()
        session = s.runtime.session
        await s.type(f"{mark}echo started; sleep 1000", "enter")
        await s.until_shown("│ started")
        for line in ("/new", "/fork", f"/resume {session.id}", "/tree"):
            s.conversation.command(line)
            await s.until(lambda line=line: s.frame.prompt.typed == line)
            assert s.app.screen is s.frame
            assert s.runtime.session is session
            s.frame.prompt.set_text("")
        await s.until_shown("The agent is working.")
        await s.pilot.press("escape")
        await s.idle()
        s.conversation.command("/new")
        assert s.runtime.session is not session


async def test_a_file_that_cannot_be_edited_here_is_said(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        effects(s).carry_out([EditFile(tmp_path / "config.toml", "reload")])
        await s.until_shown("this terminal cannot open an editor")
        assert not (tmp_path / "config.toml").exists()


async def test_a_click_on_the_bar_says_what_its_parts_mean(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(100, 48)) as s:
        await s.pilot.click(s.frame.status)
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.until_shown(
            "Limit 170K: summarized at 85% of compaction.max_context_tokens", "/cost lists them"
        )


async def test_f1_and_a_question_mark_show_the_keys(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(100, 48)) as s:
        await s.pilot.press("f1")
        await s.until_shown("The bar and the keys", "Shift+Enter Ctrl+J", "new line", "Ctrl+C")
        await s.until_shown("scanned", "answers and tool output so far", "no strategy prunes now")
        await s.pilot.press("escape")
        await s.until(lambda: s.app.screen is s.frame)
        await s.type("what")
        await s.pilot.press("question_mark")
        assert s.frame.prompt.typed == "what?"
        await s.pilot.press("ctrl+u", "question_mark")
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.pilot.press("q")
        await s.until(lambda: s.app.screen is s.frame)
        assert s.frame.prompt.is_empty


async def test_ctrl_f_searches_the_transcript_and_esc_gives_the_prompt_back(tmp_path: Path) -> None:
    text = "\n\n".join(f"paragraph {n} {'needle' if n in (3, 40) else ''}" for n in range(60))
    async with shown(tmp_path, [says(text)]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.pilot.press("ctrl+f")
        await s.type("needle")
        await s.until_shown("paragraph 40 needle")
        await s.pilot.press("enter")
        await s.until_shown("paragraph 3 needle")
        await s.type("x")
        await s.until_shown("No matches · Esc to close")
        await s.pilot.press("escape")
        await s.type("back")
        assert s.frame.prompt.typed == "back"
        assert s.frame.transcript.searching == ""


async def test_on_a_narrow_screen_the_search_line_shows_what_is_typed(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(40, 10)) as s:
        await s.pilot.press("ctrl+f")
        await s.type("needle in hay")
        await s.until_shown("find needle in hay", "No matches")
        await s.pilot.resize_terminal(80, 24)
        await s.until_shown("find needle in hay", "No matches · Esc to close")


async def test_the_transcript_is_paged_from_the_prompt_and_typing_goes_on_there(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("\n\n".join(f"line {n}" for n in range(100)))]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until_shown("line 99")
        await s.pilot.press("pageup")
        await s.until(lambda: "line 99" not in s.screen_text())
        await s.pilot.press("ctrl+home")
        await s.until_shown("❯ go")
        await s.pilot.press("ctrl+end")
        await s.until_shown("line 99")
        await s.pilot.press("ctrl+t", "up")
        assert s.frame.focused is s.frame.transcript
        await s.type("try or knit")  # r, k, n and space are keys of the transcript
        await s.until(lambda: s.frame.prompt.typed == "try or knit")
        assert s.frame.focused is s.frame.prompt


@pytest.mark.parametrize("key", ["f1", "ctrl+p"])
async def test_a_key_pressed_many_times_at_once_opens_one_screen(tmp_path: Path, key: str) -> None:
    async with shown(tmp_path) as s:
        s.press_at_once([key] * 40)
        await s.until(lambda: len(s.app.screen_stack) > 1)
        await s.pilot.pause()
        assert len(s.app.screen_stack) == 2


async def test_a_custom_command_shows_the_line_that_was_typed_and_folds_what_was_sent(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        await s.type("/review the last commit", "enter")
        await s.idle()
        typed, sent = s.entries[:2]
        assert typed == Prompt("/review the last commit")
        assert isinstance(sent, ToolCall)
        assert (sent.name, sent.folded) == ("sent", True)
        assert isinstance(sent.body, Output)
        assert sent.body.text.startswith("Review the uncommitted changes")
        again = present_all(presenter_of(s.runtime, None), s.runtime.session.records)
        assert again[0] == typed, "and it does after a resume"
        assert Titled().title(s.runtime.session.records) == "/review the last commit"
