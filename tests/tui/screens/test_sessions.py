"""The list of sessions: what it shows, and what its keys do."""

from pathlib import Path

from prunecli.session.store import Store
from prunecli.tui.screens.session_rows import age, rows_of
from prunecli.tui.screens.sessions import SessionsScreen
from prunecli.util.paths import Places
from tests.session.written import answer, named, prompt, session
from tests.tui.showing_app import Shown, shown


def store_of(folder: Path) -> Store:
    return Store(Places.of({"HOME": str(folder / "home")}).sessions)


def three(folder: Path) -> dict[str, Path]:
    """Two sessions of the test's directory and one of another."""
    store, cwd = store_of(folder), folder / "work"
    cwd.mkdir(exist_ok=True)
    return {
        "parser": session(
            store,
            cwd,
            "20260101-aa",
            [prompt("fix the parser"), answer("the lexer was wrong"), prompt("thanks")],
            changed=1_699_999_000,
        ),
        "docs": session(store, cwd, "20260102-bb", [prompt("write docs"), answer()], changed=1_699_990_000),
        "other": session(
            store, folder, "20260103-cc", [prompt("deploy it"), answer()], changed=1_699_000_000
        ),
    }


async def opened(s: Shown) -> SessionsScreen:
    await s.type("/resume", "enter")
    await s.until(lambda: isinstance(s.app.screen, SessionsScreen))
    await s.until_shown("of 2")
    screen = s.app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


async def test_it_lists_this_directory_with_figures_and_prompts(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.until_shown("Sessions in this directory", "2 of 2", "Fix the parser", "Write docs", "1.1K")
        await s.until_shown("first fix the parser", "last thanks", "20260101-aa", "claude-sonnet-5-5")
        assert "Deploy it" not in s.screen_text()


async def test_enter_opens_the_marked_session(tmp_path: Path) -> None:
    paths = three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "end", "home", "end", "enter")
        await s.until_shown("write docs")
        assert s.runtime.session.path == paths["docs"]


async def test_in_a_tiny_terminal_it_shows_sessions_and_keys(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path, size=(40, 10)) as s:
        await opened(s)
        await s.until_shown(
            "Fix the parser", "Write docs", "first fix", "Enter · ^N rename · ^X remove · Tab"
        )
        await s.pilot.press("ctrl+x")
        await s.until_shown("Remove it? y to move it to the trash")
        await s.pilot.press("escape", "tab")
        await s.until_shown("Deploy it")


async def test_letters_right_behind_esc_are_the_next_prompt(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        s.press_at_once(["d", "escape", *"please"])
        await s.until(lambda: s.app.screen is s.frame and s.frame.prompt.text == "please")
        assert s.app.defect is None


async def test_letters_right_behind_enter_are_the_next_prompt(tmp_path: Path) -> None:
    paths = three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        s.press_at_once([*"parser", "enter", *"please"])
        await s.until(lambda: s.app.screen is s.frame and s.frame.prompt.text == "please")
        await s.until(lambda: s.runtime.session.path == paths["parser"])


async def test_alt_enter_opens_a_copy(tmp_path: Path) -> None:
    paths = three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "alt+enter")
        await s.until(lambda: s.runtime.session.records)
        assert s.runtime.session.path != paths["parser"]
        parent = s.runtime.session.started.parent
        assert parent is not None
        assert parent["id"] == "20260101-aa"


async def test_tab_shows_all_directories_and_says_where_a_session_belongs(tmp_path: Path) -> None:
    paths = three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "tab")
        await s.until_shown("Sessions in all directories", "3 of 3", "Deploy it", tmp_path.name[:10])
        await s.type("deploy", "enter")
        await s.until_shown("belongs to")
        assert s.runtime.session.path == paths["other"]


async def test_typing_filters_by_name_directory_and_prompts_and_esc_leaves(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path) as s:
        before = s.runtime.session
        await opened(s)
        await s.type("thanks")
        await s.until_shown("1 of 2", "Fix the parser")
        assert "Write docs" not in s.screen_text()
        await s.type("", "escape")
        await s.until(lambda: s.app.screen is s.frame)
        assert s.runtime.session is before


async def test_the_words_of_all_messages_are_searched(tmp_path: Path) -> None:
    paths = three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "ctrl+f")
        await s.until_shown("type to search")
        await s.type("LEXER wrong")
        await s.until_shown("1 found", "model the lexer was wrong")
        before = s.runtime.session
        await s.type("", "enter")
        await s.until(lambda: s.runtime.session is not before)
        assert s.runtime.session.path == paths["parser"]


async def test_a_session_is_renamed_in_its_file(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "ctrl+n")
        await s.until_shown("Enter to rename")
        await s.type("big fix", "enter")
        await s.until_shown("big fix", "2 of 2")
        assert store_of(tmp_path).find("big fix").stem == "20260101-aa"


async def test_a_name_is_not_given_on_esc(tmp_path: Path) -> None:
    three(tmp_path)
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "ctrl+n")
        await s.type("nope", "escape")
        await s.until_shown("Enter open")
        assert {one.name for one in store_of(tmp_path).list()} == {""}


async def test_a_session_is_removed_only_after_a_yes_and_can_be_moved_back(tmp_path: Path) -> None:
    paths = three(tmp_path)
    data = paths["parser"].read_bytes()
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "ctrl+x")
        await s.until_shown("Remove “Fix the parser”?")
        await s.type("n")
        await s.until_shown("2 of 2", "Enter open", "^X remove")
        assert paths["parser"].exists()
        await s.type("", "ctrl+x")
        await s.until_shown("Remove “Fix the parser”?")
        s.press_at_once("y", before=1)
        await s.until_shown("2 of 2", "Enter open", "^X remove")
        assert paths["parser"].exists(), "pressed before it was asked"
        await s.type("", "ctrl+x")
        await s.until_shown("Remove “Fix the parser”?")
        s.press_at_once("y", before=-1)
        await s.until_shown("1 of 1")
        assert not paths["parser"].exists()
        (kept,) = (s.runtime.setup.places.data / "trash").rglob("*.jsonl")
        assert kept.read_bytes() == data


async def test_a_session_that_is_open_elsewhere_is_neither_renamed_nor_removed(tmp_path: Path) -> None:
    from prunecli.session.writer import LogWriter

    paths = three(tmp_path)
    log = LogWriter(paths["parser"])
    async with shown(tmp_path) as s:
        await opened(s)
        await s.type("", "ctrl+x")
        s.press_at_once("y", before=-1)
        await s.until_shown("process")
        assert paths["parser"].exists()
    log.close()


async def test_hostile_names_are_inert(tmp_path: Path) -> None:
    three(tmp_path)
    session(
        store_of(tmp_path), tmp_path / "work", "zz", [prompt("\x1b[31m[bold]red\u202e"), named("a\x07b[/x]")]
    )
    async with shown(tmp_path) as s:
        await s.type("/resume", "enter")
        await s.until_shown("of 3", "[/x]")
        assert not set(s.screen_text()) & {"\x1b", "\x07", "\u202e"}


def test_a_filter_keeps_the_order_of_the_list_and_shows_what_is_similar_where_nothing_fits(
    tmp_path: Path,
) -> None:
    three(tmp_path)
    listed = store_of(tmp_path).list()

    def labels(query: str) -> list[str]:
        return [row.listed.label for row in rows_of(listed, (), query, in_words=False)]

    assert labels("") == ["Fix the parser", "Write docs", "Deploy it"]
    assert labels("it") == ["Write docs", "Deploy it"]
    assert labels("wdoc") == ["Write docs"]
    assert labels("xyzzy") == []


def test_ages_are_short() -> None:
    now = 1_700_000_000_000
    ages = [age(now, now - seconds * 1000) for seconds in (-5, 3, 61, 7_300, 200_000)]
    assert ages == ["now", "now", "1m", "2h", "2d"]
    assert age(now, now - 90 * 86_400_000).startswith("2023-08-")
