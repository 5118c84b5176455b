"""The prompt: typing, history, completion, pastes."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from prunecli.commands.command import offered
from prunecli.front.presentation.completion import command_offers
from prunecli.front.presentation.entries import Notice, Prompt
from prunecli.model.messages import Text
from prunecli.tui.terminal_input import Burst
from prunecli.tui.widgets.editor import Field
from prunecli.tui.widgets.prompt import PLACEHOLDERS
from tests.scripted import Scripted, says
from tests.tools.files.test_image import png
from tests.tui.showing_app import Shown, shown
from tests.waiting import until


async def paste(running: Shown, text: str) -> None:
    running.frame.prompt.post_message(events.Paste(text))
    await running.pilot.pause()


async def test_enter_sends_and_the_other_keys_make_a_new_line(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        prompt = s.frame.prompt
        await s.type("one", "shift+enter")
        await s.type("two", "ctrl+j")
        await s.type("three\\", "enter")
        await s.type("four")
        assert prompt.typed == "one\ntwo\nthree\nfour"
        assert prompt.size.height == 4
        await s.pilot.press("enter")
        await s.idle()
        assert prompt.is_empty
        assert s.runtime.session.context.items[0].texts == ["one\ntwo\nthree\nfour"]


async def test_up_and_down_walk_through_the_history_at_the_edges_only(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("a"), says("b")]) as s:
        prompt = s.frame.prompt
        for text in ("first", "second"):
            await s.type(text, "enter")
            await s.idle()
        await s.type("two", "shift+enter")
        await s.type("rows", "up")
        assert prompt.typed == "two\nrows"
        await s.pilot.press("up")
        assert prompt.typed == "second"
        await s.pilot.press("up", "down", "down")
        assert prompt.typed == "two\nrows"


async def test_ctrl_r_searches_the_history_and_esc_brings_back_what_stood_there(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.frame.prompt.past.preload(["fix the parser", "write docs", "fix the lexer"])
        await s.type("draft", "ctrl+r")
        await s.type("fix")
        await s.until_shown("fix the lexer", "fix the parser")
        await s.pilot.press("down", "enter")
        assert s.frame.prompt.typed == "fix the parser"
        await s.pilot.press("ctrl+r", "escape")
        assert s.frame.prompt.typed == "fix the parser"
        assert not s.frame.menu.is_open


async def test_the_command_menu_filters_shows_help_and_runs_with_enter(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/prune-st")
        await s.until_shown("/prune-stats")
        assert s.frame.menu.chosen is not None
        assert s.frame.menu.chosen.detail
        await s.pilot.press("enter")
        await s.until(lambda: s.app.screen is not s.frame or s.entries)
        assert s.frame.prompt.is_empty


async def test_enter_runs_no_command_that_only_has_the_letters_of_the_word(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/ps")  # of another agent
        await s.until_shown("/plugins")
        await s.pilot.press("enter")
        await s.until_shown("Type /jobs")


async def test_tab_completes_a_command_and_esc_closes_the_menu_until_something_else_is_typed(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path) as s:
        await s.type("/rena")
        await s.until(lambda: s.frame.menu.is_open)
        await s.pilot.press("escape")
        assert not s.frame.menu.is_open
        await s.type("m")
        assert not s.frame.menu.is_open
        await s.pilot.press("ctrl+u")
        await s.type("/rena")
        await s.until(lambda: s.frame.menu.is_open)
        await s.pilot.press("tab")
        assert s.frame.prompt.text == "/rename "
        assert not s.frame.menu.is_open


async def test_an_at_offers_files_and_mentions_the_chosen_one(tmp_path: Path) -> None:
    for name in ("src/parser.py", "src/lexer.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    async with shown(tmp_path, [says("ok")]) as s:
        await s.type("fix @pars")
        await s.until(lambda: s.frame.menu.chosen)
        await s.pilot.press("tab")
        assert s.frame.prompt.text == "fix @src/parser.py "
        await s.type("@nosuch")
        await s.until_shown("No matches; ignored files are left out")
        await s.pilot.press("enter")
        await s.until(lambda: s.runtime.session.records)


async def test_enter_after_a_folder_sends_the_folder_and_takes_no_file_in_it(tmp_path: Path) -> None:
    path = tmp_path / "work" / "src" / "parser.py"
    path.parent.mkdir(parents=True)
    path.write_text("")
    async with shown(tmp_path, [says("ok")]) as s:
        await s.type("look at @src/")
        await s.until(lambda: s.frame.menu.chosen)
        await s.pilot.press("enter")
        await s.until(lambda: s.entries)
        assert s.entries[0] == Prompt("look at @src/")


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("fix @pars", "fix @src/parser.py"),
        ("(look at @src/le", "(look at @src/lexer.py"),
        ("ask @zzz", "ask @zzz"),
    ],
)
async def test_a_mention_that_enter_sends_before_files_are_listed_becomes_the_whole_path_too(
    tmp_path: Path, typed: str, sent: str
) -> None:
    for name in ("src/parser.py", "src/lexer.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    async with shown(tmp_path, [says("ok")]) as s:
        s.press_at_once([*typed, "enter"])
        await s.until(lambda: s.runtime.session.context.items)
        await s.idle()
        assert s.runtime.session.context.items[0].texts == [sent]
        assert "Listing files" not in s.screen_text()


@pytest.mark.parametrize("listed", [True, False])
async def test_a_path_typed_in_full_is_sent_as_it_is_though_it_is_part_of_another(
    tmp_path: Path, listed: bool
) -> None:
    for name in ("README.md", "docs/README.md"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hello\n")
    async with shown(tmp_path, [says("ok")]) as s:
        if listed:
            await s.type("read @README.md")
            await s.until(lambda: s.frame.menu.chosen)
            await s.pilot.press("enter")
        else:
            s.press_at_once([*"read @README.md", "enter"])
        await s.until(lambda: s.runtime.session.context.items)
        assert s.runtime.session.context.items[0].texts == ["read @README.md"]


async def test_a_mention_sent_to_the_working_agent_before_files_are_listed_becomes_the_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "parser.py").write_text("")
    gate = tmp_path / "gate"
    async with shown(tmp_path, [says("ok"), says("steered")]) as s:
        await s.type(f"!until [ -e {gate} ]; do sleep 0.05; done", "enter")
        await s.until(lambda: s.conversation.runs.busy)
        s.press_at_once([*"look at @pars", "enter"])
        await s.until_shown("↳ look at @parser.py")
        gate.write_text("")
        await s.until_shown("ok")
        await s.idle()


async def test_a_large_paste_is_a_mark_that_is_deleted_whole_and_sent_whole(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}\t\x1b[31m" for n in range(412))
    async with shown(tmp_path, [says("ok")]) as s:
        prompt = s.frame.prompt
        await paste(s, text)
        assert prompt.text == "[Pasted #1, 412 lines]"
        await s.pilot.press("backspace")
        assert prompt.is_empty
        await paste(s, text.replace("\n", "\r"))
        await s.until(lambda: prompt.text)
        assert prompt.typed == text
        prompt._burst_until = 0.0
        await s.pilot.press("enter")
        await s.idle()
        assert s.runtime.session.context.items[0].texts == [text]


async def test_a_dropped_image_is_attached_and_shown_in_one_line(tmp_path: Path) -> None:
    picture = tmp_path / "work/my shot.png"
    picture.parent.mkdir()
    picture.write_bytes(png(1024, 768))
    async with shown(tmp_path, [says("a window")]) as s:
        await paste(s, str(picture).replace(" ", "\\ "))
        prompt = s.frame.prompt
        assert prompt.text == '@"my shot.png" '
        prompt._burst_until = 0.0
        await s.type("what is it?", "enter")
        await s.idle()
        await s.until_shown("attached", "my shot.png", "1024x768")
        assert [item.kind for item in s.runtime.session.context.items] == ["user", "command", "assistant"]


async def test_an_image_that_cannot_be_attached_gives_the_prompt_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/cut.png").write_bytes(png(10, 10)[:-20])
    async with shown(tmp_path, [says("never")]) as s:
        await s.type("what is in @cut.png ?", "enter")
        await s.until_shown("cut.png was not attached: this image can't be shown: ", "cut short")
        await s.until(lambda: s.frame.prompt.typed == "what is in @cut.png ?")
        assert not s.runtime.session.context.items


async def test_a_key_attaches_the_image_in_the_clipboard(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png(64, 48))
    program = tmp_path / "bin/wl-paste"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/shot.png\n")
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0"}
    async with shown(tmp_path, [says("a dot")], environ=environ) as s:
        prompt = s.frame.prompt
        await s.type("what is ", "ctrl+v")
        await s.until(lambda: prompt.text == "what is [Image #1, 64x48] ")
        await s.type("here?", "enter")
        await s.idle()
        kept = s.runtime.setup.places.clipped
        said, attached, _ = s.runtime.session.context.items
        assert said.text == f'what is @"{next(kept.iterdir())}" here?'
        assert attached.images == 1
        await paste(s, "")  # what some terminals send for a clipboard with an image
        await s.until(lambda: prompt.text == "[Image #1, 64x48] ")
        await s.pilot.press("backspace", "backspace")
        assert prompt.is_empty


async def test_without_an_image_the_key_says_so_or_pastes_what_was_copied(tmp_path: Path) -> None:
    program = tmp_path / "bin/xclip"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "DISPLAY": ":0"}
    async with shown(tmp_path, environ=environ) as s:
        await s.pilot.press("ctrl+v")
        await s.until_shown("No image in the clipboard")
        s.app.copy_to_clipboard("words")
        await s.pilot.press("ctrl+v")
        await s.until(lambda: s.frame.prompt.text == "words")


async def test_enter_that_comes_with_a_paste_sends_nothing(tmp_path: Path) -> None:
    """0 early submits."""
    async with shown(tmp_path) as s:
        prompt = s.frame.prompt
        await paste(s, "rm -rf build")
        enter = events.Key("enter", "\r")
        prompt._burst_until = enter.time + 1
        prompt.post_message(enter)
        await s.until(lambda: prompt.text == "rm -rf build\n")
        assert not s.runtime.session.records


async def test_nothing_that_is_typed_or_recalled_acts_on_the_terminal(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.frame.prompt.load_text("a\x1b[31mb[bold]c[/] [@click=app.quit]x\u202e")
        await s.until_shown("a␛[31mb[bold]c[/] [@click=app.quit]x�")
        assert not {"\x1b", "\u202e"} & set(s.screen_text())


async def test_a_shell_command_looks_like_one_while_it_is_typed(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("!ls")
        assert (s.frame.prompt.glyph, s.frame.prompt.has_class("-shell")) == ("$", True)
        await s.until_shown("shown to the model")
        await s.pilot.press("home")
        await s.type("!")
        await s.until_shown("not shown to the model")
        await s.pilot.press("ctrl+u", "delete", "delete", "delete")
        assert (s.frame.prompt.glyph, s.frame.prompt.has_class("-shell")) == ("❯", False)


async def test_ctrl_c_clears_and_the_history_keeps_what_was_cleared(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("a thought", "ctrl+c")
        assert s.frame.prompt.is_empty
        await s.pilot.press("up")
        assert s.frame.prompt.typed == "a thought"


async def test_characters_that_python_does_not_print_can_be_typed(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        for char in "全\u3000角\u200d":
            s.frame.prompt.post_message(events.Key(char, char))
        await s.until(lambda: len(s.frame.prompt.text) == 4)
        assert s.frame.prompt.text == "全\u3000角\u200d"


async def test_the_keys_of_a_shell_edit_the_prompt_and_alt_with_another_letter_types_nothing(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path) as s:
        prompt = s.frame.prompt
        await s.type("one two three", "home")
        for key, char in (("alt+f", "f"), ("alt+d", "d"), ("alt+x", "x"), ("alt+shift+x", "X")):
            prompt.post_message(events.Key(key, char))
        await s.until(lambda: prompt.text == "one three")
        prompt.post_message(events.Key("ctrl+underscore", "\x1f"))
        await s.until(lambda: prompt.text == "one two three")


async def test_ctrl_u_and_ctrl_k_delete_to_the_ends_of_a_wrapped_line(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(30, 20)) as s:
        prompt, long = s.frame.prompt, "a" * 70
        prompt.put_text(f"first\n{long}b{long}")
        prompt.move_cursor((1, 71))
        await s.pilot.press("ctrl+k")
        assert prompt.text == f"first\n{long}b"
        await s.pilot.press("left", "ctrl+u")
        assert (prompt.text, prompt.cursor_location) == ("first\nb", (1, 0))
        await s.pilot.press("ctrl+u")
        assert prompt.text == "firstb"


async def test_the_users_own_keys_work(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")], sets=["ui.keys.submit=ctrl+s", "ui.keys.newline=enter"]) as s:
        await s.type("a", "enter")
        await s.type("b", "ctrl+s")
        await s.idle()
        assert s.runtime.session.context.items[0].texts == ["a\nb"]


@pytest.mark.parametrize("line", ["/help", "/cost", "/clear", "/context"])
async def test_the_text_decides_what_is_run_however_fast_it_was_typed(tmp_path: Path, line: str) -> None:
    """A name, or another name, of a command; the menu may still offer what an earlier letter meant."""
    async with shown(tmp_path) as s:
        s.press_at_once([*line, "enter"])
        await s.until(lambda: s.frame.prompt.past.entries)
        assert s.frame.prompt.past.entries == [line]
        assert s.frame.prompt.is_empty


async def test_the_name_of_a_command_wins_over_the_row_that_is_marked_first(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        for at in range(1, len("/cost") + 1):
            await s.type("/cost"[at - 1])
            await s.until(lambda: s.conversation.completer.is_open)
        await s.pilot.press("enter")
        await s.until(lambda: s.frame.prompt.past.entries == ["/cost"])


async def test_a_row_that_was_marked_with_the_arrows_is_run(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.press_at_once([*"/co", "down", "enter"])
        await s.until(lambda: s.frame.prompt.past.entries)
        (line,) = s.frame.prompt.past.entries
        first, second = command_offers("co", offered(s.runtime))[:2]
        assert line == second.value.rstrip() != first.value.rstrip()


async def test_keys_take_effect_in_their_order_while_the_screen_is_busy(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        free = asyncio.Event()
        s.frame.call_later(free.wait)
        s.press_at_once([*"qz", "backspace", "backspace", *"read that", "ctrl+w", *"it"])
        await until(lambda: s.frame.prompt.text == "read it")
        free.set()
        await s.pilot.pause()
        assert s.frame.prompt.text == "read it"


async def test_keys_and_pastes_reach_the_prompt_while_nothing_has_the_focus(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.frame.set_focus(None)
        s.press_at_once([*"ab", "backspace"])
        s.app.post_message(events.Paste("pasted"))
        await s.until(lambda: s.frame.prompt.text == "apasted")
        s.press_at_once(["ctrl+u"])
        await s.until(lambda: s.frame.prompt.is_empty)


async def test_keys_and_pastes_count_in_a_terminal_that_says_it_is_not_looked_at(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.app.post_message(events.AppBlur())
        s.app.post_message(events.Paste("pasted"))
        await s.until(lambda: s.frame.prompt.text == "pasted")
        s.app.post_message(events.AppBlur())
        s.press_at_once(["ctrl+u"])
        await s.until(lambda: s.frame.prompt.is_empty)


async def test_esc_a_command_and_esc_are_not_esc_twice(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        await s.type("go", "enter")
        await s.idle()
        s.press_at_once(["escape", *"/permissions ask", "enter", "escape"])
        await s.until(lambda: s.frame.prompt.past.entries[-1] == "/permissions ask")
        await s.until_shown("again to go back")
        assert s.app.screen is s.frame
        s.conversation.actions.forget()
        s.press_at_once(["escape", "escape"])
        await s.until(lambda: s.app.screen is not s.frame)


@pytest.mark.slow
async def test_a_prompt_that_no_request_can_hold_is_refused_and_comes_back(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        await paste(s, "x" * 31_000_000)
        await s.until(lambda: s.frame.prompt.text)
        s.frame.prompt._burst_until = 0.0
        await s.pilot.press("enter")
        await s.until_shown("31.0 MB is over the limit", "Save it to a file")
        await s.idle()
        assert not s.runtime.session.context.items
        assert s.frame.prompt.text == "[Pasted #1, 31,000,000 characters]"
        s.frame.prompt.set_text("go")
        await s.pilot.press("enter")
        await s.until_shown("ok")


@pytest.mark.parametrize(
    ("reason", "said"), [("max_tokens", "Reply hit the length limit"), ("refusal", "The model refused")]
)
async def test_an_answer_that_ended_early_says_so_once(tmp_path: Path, reason: str, said: str) -> None:
    async with shown(tmp_path, [Scripted((Text("half an"),), reason)]) as s:
        await s.type("go", "enter")
        await s.until_shown(said)
        await s.idle()
        notices = [entry for entry in s.entries if isinstance(entry, Notice)]
        assert len(notices) == 1


async def test_the_empty_prompt_says_as_much_as_fits(tmp_path: Path) -> None:
    async with shown(tmp_path, size=(50, 20)) as s:
        assert s.frame.prompt.placeholder == "Ask, or / for commands, @ for files"
        await s.pilot.resize_terminal(100, 20)
        await s.until_shown(PLACEHOLDERS[0])
        await s.pilot.resize_terminal(len(PLACEHOLDERS[0]) + 3, 20)
        await s.until(lambda: s.frame.prompt.placeholder == PLACEHOLDERS[1])
        await s.pilot.resize_terminal(30, 20)
        await s.until_shown(PLACEHOLDERS[2])
        s.frame.prompt.offer("Enter: read every module of the package")
        assert s.frame.prompt.placeholder.endswith("…")


async def test_an_argument_of_a_command_is_completed_and_run(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/prune-config try ad")
        await s.until(lambda: s.conversation.completer.is_open)
        await s.pilot.press("tab")
        await s.until(lambda: s.frame.prompt.text == "/prune-config try adaptive")
        await s.pilot.press("enter")
        await s.until(lambda: s.frame.prompt.past.entries == ["/prune-config try adaptive"])


async def test_a_command_line_is_sent_as_typed_while_its_arguments_are_offered(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("/prune-config try ")
        await s.until(lambda: s.conversation.completer.is_open)
        await s.pilot.press("enter")
        await s.until(
            lambda: [line.rstrip() for line in s.frame.prompt.past.entries] == ["/prune-config try"]
        )


async def test_the_question_below_a_paste_can_be_read_and_changed_when_it_comes_back(tmp_path: Path) -> None:
    text = "line\n" * 200 + "what is this?"
    async with shown(tmp_path, [says("A log."), says("Still a log.")]) as s:
        s.frame.prompt.received("line\n" * 200)
        await s.type("what is this?", "enter")
        await s.idle()
        await s.until_shown("more lines · … what is this?")
        await s.pilot.press("up")
        assert s.frame.prompt.text == "[Pasted #1, 200 lines]what is this?"
        assert s.frame.prompt.typed == text
        s.frame.prompt.set_text("line\n" * 200 + "see [Pasted #1, 3 lines]")
        assert s.frame.prompt.typed == "line\n" * 200 + "see [Pasted #1, 3 lines]"
        s.frame.prompt.set_text("Why? ")
        s.frame.prompt.received("row\n" * 30 + "the end")
        text = s.frame.prompt.take()
        s.frame.prompt.set_text(text)
        assert s.frame.prompt.text == "Why? [Pasted #1, 31 lines]"
        assert s.frame.prompt.typed == text


@pytest.mark.parametrize("recalled", ["/copy", "look at @src/pa", "/comp"])
async def test_up_and_down_pass_a_recalled_prompt_that_could_be_completed(
    tmp_path: Path, recalled: str
) -> None:
    async with shown(tmp_path) as s:
        prompt = s.frame.prompt
        prompt.past.preload(["one", recalled, "two"])
        await s.type("a", "ctrl+j")
        await s.type("draft", "up", "up", "up")
        assert prompt.typed == recalled
        assert not s.frame.menu.is_open
        await s.pilot.press("up")
        assert prompt.typed == "one"
        await s.pilot.press("down", "down", "down")
        assert prompt.typed == "a\ndraft"
        await s.pilot.press("up", "up", "up", "backspace")
        await s.until(lambda: s.frame.menu.is_open)


async def test_alt_enter_starts_a_line_while_the_agent_is_idle(tmp_path: Path) -> None:
    """Terminals set up for Claude Code send it for Shift+Enter."""
    async with shown(tmp_path) as s:
        await s.type("one", "alt+enter")
        await s.type("two")
        assert s.frame.prompt.typed == "one\ntwo"
        assert not s.runtime.session.context.items


EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "👍🏽", "1️⃣", "❤️", "👁️"]


@pytest.mark.parametrize("emoji", EMOJI)
async def test_one_key_deletes_or_passes_an_emoji(tmp_path: Path, emoji: str) -> None:
    async with shown(tmp_path) as s:
        prompt = s.frame.prompt
        prompt.set_text(f"a{emoji}")
        await s.type("", "backspace")
        assert prompt.text == "a"
        prompt.set_text(f"x{emoji}{emoji}y")
        await s.type("", "left", "left", "M")
        assert prompt.text == f"x{emoji}M{emoji}y"
        await s.pilot.press("delete", "left", "left", "right", "N")
        assert prompt.text == f"x{emoji}NMy"


@pytest.mark.parametrize("word", ["กำ", "कि", "\u1112\u1161\u11ab", "e\u0301"])
async def test_one_key_deletes_one_combining_mark(tmp_path: Path, word: str) -> None:
    async with shown(tmp_path) as s:
        s.frame.prompt.set_text(word)
        await s.type("", "backspace")
        assert s.frame.prompt.text == word[:-1]


@pytest.mark.parametrize("emoji", EMOJI)
async def test_a_single_line_treats_an_emoji_as_one_too(tmp_path: Path, emoji: str) -> None:
    async with shown(tmp_path) as s:
        field = Field(f"a{emoji}b")
        await s.frame.mount(field)
        field.focus()
        await s.type("", "end", "left", "left", "x", "right", "backspace", "left", "right", "delete")
        assert field.value == "ax"


async def test_a_burst_of_lines_is_one_draft_and_a_line_is_sent(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        s.app.post_message(Burst("first\rsecond\r\rlast"))
        await s.until(lambda: s.frame.prompt.text == "first\nsecond\n\nlast")
        await s.type("", "ctrl+c")
        s.app.post_message(Burst("a line that comes at once"))
        s.app.post_message(events.Key("enter", "\r"))
        await s.until(lambda: s.runtime.session.context.items)
        assert s.runtime.session.context.items[0].texts == ["a line that comes at once"]


async def test_a_burst_without_a_text_field_is_keys(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.type("", "ctrl+t")
        s.app.post_message(Burst("words for the prompt"))
        await s.until(lambda: s.frame.prompt.text == "words for the prompt")
