"""The inspector of /context, key by key."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

from prunecli.context.labels import Key
from prunecli.features.inspector.details import DiffScreen, TextScreen
from prunecli.features.inspector.inspecting import ORDERS
from prunecli.features.inspector.screen import ContextScreen
from prunecli.model.events import (
    AssistantMessage,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.notes import notice
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.transcript.palette import inks
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.long_question import choice
from prunecli.tui.widgets.permission import PermissionPanel
from prunecli.util.figures import short
from tests.scripted import calls, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown
from tests.tui.snapshots.conversation import conversation


def work() -> list[Event]:
    """Three long reads, each an exchange, an answer, thanks."""
    events: list[Event] = [UserMessage((Text("read them"),))]
    for number in range(3):
        use = ToolUse(f"t{number}", "read", {"path": f"file{number}.py"})
        usage = Usage(100, 50, 900 * number, 1_000)
        events.append(
            AssistantMessage((Text(f"Reading number {number}."), use), "scripted", "tool_use", usage)
        )
        events.append(ToolResult(use.id, "read", (Text(f"line {number}\n" * 500),)))
    events.append(AssistantMessage((Text("I have read them."),), "scripted"))
    return [*events, UserMessage((Text("thanks"),)), AssistantMessage((Text("Yes."),), "scripted")]


@asynccontextmanager
async def inspected(
    folder: Path,
    events: Iterable[Event] | None = None,
    *,
    size: tuple[int, int] = (120, 40),
    first: bool = False,
) -> AsyncIterator[Shown]:
    """The inspector, opened on a session of these events: its first view, or the tree behind it."""
    runtime = start(folder)
    for event in conversation() if events is None else events:
        runtime.emit(event)
    async with shown(folder, size=size, runtime=runtime) as s:
        await s.type("/context", "escape", "enter")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await s.until(lambda: screen(s).inspecting.is_measured and not screen(s)._between.is_busy)
        if not first:
            await s.pilot.press("tab")
        yield s


def screen(s: Shown) -> ContextScreen:
    found = next(one for one in s.app.screen_stack if isinstance(one, ContextScreen))
    assert isinstance(found, ContextScreen)
    return found


def keys(s: Shown) -> list[Key]:
    return [row.key for row in screen(s).tree_rows.rows]


def marked(s: Shown) -> Key:
    row = screen(s).tree_rows.marked
    assert row is not None
    return row.key


async def mark(s: Shown, kind: str, seq: int) -> None:
    """Unfolds everything and marks a node."""
    if not any(key[:2] == (kind, seq) for key in keys(s)):
        await s.pilot.press("E")
    at = next(at for at, key in enumerate(keys(s)) if key[:2] == (kind, seq))
    screen(s).tree_rows.move(at)
    await s.pilot.pause()


def last(s: Shown) -> Event:
    return s.runtime.session.records[-1].event


def result(s: Shown, tool: str, number: int = 0) -> int:
    """The seq of a tool's result."""
    found = [e.seq for e in s.runtime.session.context.entries.values() if e.kind == "result"]
    return [seq for seq in found if s.runtime.session.context.entries[seq].tool_name == tool][number]


def exchange(s: Shown, seq: int) -> int:
    """The seq of the exchange that a result belongs to."""
    found = s.runtime.session.context.entries[seq].exchange
    assert found is not None
    return found.seq


def reads(count: int) -> list[Event]:
    """Reads of files that get shorter and shorter, and an answer."""
    events: list[Event] = [UserMessage((Text("read them"),))]
    for number in range(count):
        use = ToolUse(f"t{number}", "read", {"path": f"file{number}.py"})
        events.append(AssistantMessage((use,), "claude-sonnet-4-5", "tool_use", Usage(0, 9, 0, 9_000)))
        events.append(ToolResult(use.id, "read", (Text("a line of it\n" * (600 - 20 * number)),)))
    return [*events, AssistantMessage((Text("Done."),), "claude-sonnet-4-5", usage=Usage(0, 9, 9_000, 9))]


async def test_it_opens_on_the_ten_largest_results_that_can_be_pruned_with_what_they_cost(
    tmp_path: Path,
) -> None:
    async with inspected(tmp_path, reads(12), first=True) as s:
        await s.until_shown("what you can prune", "cost so far", "  1  read file0.py", "  0  read file9.py")
        found = [result(s, "read", number) for number in range(10)]
        assert keys(s) == [Key("result", seq) for seq in found]
        assert marked(s) == Key("result", found[0])
        node = screen(s).inspecting.node(marked(s))
        assert node is not None
        cost = screen(s).inspecting.cost(node)
        once, rest = min(node.original, node.carried), node.carried - node.original
        assert cost is not None
        assert round(cost, 8) == round((once * 3.75 + rest * 0.3) / 1e6, 8)


async def test_the_digit_of_a_row_prunes_it_and_the_next_result_takes_its_place(tmp_path: Path) -> None:
    async with inspected(tmp_path, reads(12), first=True) as s:
        s.runtime.use_config(s.runtime.config.with_value("ui.confirm", "never"))
        third, next_one = result(s, "read", 2), result(s, "read", 10)
        await s.pilot.press("3")
        event = last(s)
        assert isinstance(event, PrunApplied)
        assert event.edits[0].seq == third
        await s.until(lambda: Key("result", next_one) in keys(s) and Key("result", third) not in keys(s))
        await s.until_shown(f"Pruned {short(event.shown_tokens or 0)}", "u to undo")
        await s.pilot.press("u")
        await s.until(lambda: Key("result", third) in keys(s))


async def test_a_key_asks_before_an_act_that_costs_and_esc_leaves_everything_as_it_was(
    tmp_path: Path,
) -> None:
    async with inspected(tmp_path, reads(12), first=True) as s:
        s.runtime.use_config(s.runtime.config.with_value("ui.confirm", "always"))
        there = len(s.runtime.session.records)
        await s.pilot.press("3")
        await s.until_shown("Frees ", "Enter")
        await s.pilot.press("escape")
        assert len(s.runtime.session.records) == there
        await s.pilot.press("3")
        await s.pilot.press("enter")
        assert isinstance(last(s), PrunApplied)


async def test_tab_leads_to_the_tree_with_the_same_result_marked_and_back(tmp_path: Path) -> None:
    async with inspected(tmp_path, work(), first=True) as s:
        await s.pilot.press("down", "tab")
        await s.until_shown("entry", "❯ thanks", "p  clear this result")
        assert marked(s) == Key("result", result(s, "read", 1))
        assert "size" not in s.screen_text().split("entry")[1].split("\n")[0]
        await s.pilot.press("p")
        await s.until(lambda: "size" in s.screen_text().split("entry")[1].split("\n")[0])
        await s.pilot.press("tab")
        await s.until_shown("what you can prune")
        for key in ("E", "s", "slash"):
            await s.pilot.press(key)
            await s.until(lambda: "what you can prune" not in s.screen_text())
            await s.pilot.press(*(["escape"] if key == "slash" else []), "tab")
            await s.until_shown("what you can prune")


async def test_notices_belong_to_the_turn_they_came_in(tmp_path: Path) -> None:
    events = [*work()[:-2], notice("skills", "more " * 90), *work()[-2:]]
    async with inspected(tmp_path, events) as s:
        assert [
            one.label for one in map(screen(s).inspecting.node, keys(s)) if one and one.key.kind == "turn"
        ] == [
            "read them",
            "thanks",
        ]


async def test_without_anything_to_prune_it_opens_on_the_newest_turn(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        assert marked(s) == Key("turn", keys(s)[-2].seq)
        await s.until_shown("Context", "R results", "A answers", "free", "entry", "carried", "❯ thank you!")
        assert "p prune" in s.screen_text()


async def test_the_share_is_the_same_figure_in_the_bar_the_inspector_and_the_stats(tmp_path: Path) -> None:
    events = [UserMessage((Text("x" * 400_000),)), *conversation()]
    async with inspected(tmp_path, events) as s:
        used = screen(s).inspecting.map.used
        assert used == s.runtime.status().ledger.context_tokens
        shown_share = f"~{round(screen(s).inspecting.map.share * 100)}%"
        await s.until_shown(f"Context {shown_share}")
        await s.pilot.press("q")
        await s.until_shown(f"170K {shown_share.removeprefix('~')}")
        await s.type("/prune-stats", "escape", "enter")
        await s.until_shown(f"tokens ({shown_share.removeprefix('~')})")


async def test_esc_and_q_lead_back(tmp_path: Path) -> None:
    for key in ("escape", "q"):
        async with inspected(tmp_path / key) as s:
            opened = len(s.app.screen_stack)
            await s.pilot.press(key)
            await s.until(lambda s=s: s.app.screen is s.frame)
            assert len(s.app.screen_stack) == opened - 1


async def test_arrows_letters_and_ends_move_and_space_folds(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await s.pilot.press("home")
        assert marked(s) == keys(s)[0]
        await s.pilot.press("j", "j", "k")
        assert marked(s) == keys(s)[1]
        await s.pilot.press("end")
        assert marked(s) == keys(s)[-1]
        await s.pilot.press("E")
        await mark(s, "turn", 1)
        before = len(keys(s))
        await s.pilot.press("left")
        assert len(keys(s)) < before
        await s.pilot.press("right")
        assert len(keys(s)) == before
        await s.pilot.press("space")
        assert len(keys(s)) < before
        await s.pilot.press("G")
        await s.pilot.press("left")
        assert marked(s).kind == "turn"


async def test_p_clears_a_result_as_the_preview_said_and_u_takes_it_back(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await mark(s, "result", result(s, "read"))
        before = s.runtime.session.context.messages()
        await s.until_shown("p  clear this result · Frees ")
        inspecting = screen(s).inspecting
        foreseen = inspecting.impact(inspecting.plan("prune", marked(s)))
        await s.pilot.press("p")
        event = last(s)
        assert isinstance(event, PrunApplied)
        assert (event.source, event.reason) == ("user", "by hand")
        assert [edit.kind for edit in event.edits] == ["clear"]
        assert s.runtime.session.context.counts.context_tokens == foreseen.after
        await s.until_shown(f"Pruned {short(event.shown_tokens or 0)} · u to undo", "cleared: by you")
        count = len(s.runtime.session.records)
        await s.pilot.press("p")
        await s.until_shown("Already pruned")
        assert len(s.runtime.session.records) == count
        await s.pilot.press("u")
        assert isinstance(last(s), PrunReverted)
        assert s.runtime.session.context.messages() == before


async def test_p_drops_an_exchange_and_r_restores_and_pins_it(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        home = s.runtime.session.context.exchanges[1].seq
        await mark(s, "exchange", home)
        await s.until_shown("p  drop this exchange with 1 result")
        await s.pilot.press("p")
        assert s.runtime.session.context.dropped(s.runtime.session.context.exchanges[1])
        await s.until_shown("r  show entry", "R  restore and pin entry", "dropped")
        await s.pilot.press("R")
        assert last(s) == PrunReverted((home,))
        assert home in s.runtime.session.context.pinned
        await s.pilot.press("R")
        await s.until_shown("Nothing pruned here")


async def test_v_begins_a_range_that_p_prunes_at_once(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        first, _, third, *_ = s.runtime.session.context.exchanges
        await mark(s, "exchange", first.seq)
        await s.pilot.press("v")
        await s.until_shown("Range: move to its other end")
        await mark(s, "exchange", third.seq)
        await s.until_shown("p  drop 3 exchanges with 3 results")
        await s.pilot.press("p")
        event = last(s)
        assert isinstance(event, PrunApplied)
        assert [edit.kind for edit in event.edits] == ["drop"] * 3
        await s.pilot.press("v", "escape")
        assert isinstance(s.app.screen, ContextScreen), "Esc ends the range first"
        await s.until_shown("p  ")


async def test_what_was_done_is_shown_whole_until_the_next_key(tmp_path: Path) -> None:
    async with inspected(tmp_path, work(), size=(80, 24)) as s:
        await mark(s, "exchange", s.runtime.session.context.exchanges[1].seq)
        await s.until_shown("p  drop this exchange with 1 result")
        await s.pilot.press("p")
        await s.until_shown("Pruned ")
        hint = next(row for row in s.screen_text().split("\n") if "Pruned " in row)
        assert "…" not in hint
        await s.pilot.press("s")
        await s.until_shown("Enter  d  s  t  /")
        assert "Pruned " not in s.screen_text()


async def test_r_shows_a_pruned_result_again_at_the_end_and_the_state_says_where(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        seq = result(s, "read", 1)
        await mark(s, "result", seq)
        await s.pilot.press("p")
        before = s.runtime.session.context.messages()
        await s.until_shown("r  show entry", "Adds ", "R  restore and pin entry")
        await s.pilot.press("r")
        event = last(s)
        assert isinstance(event, UserMessage)
        assert event.restores == (seq,)
        assert s.runtime.session.context.messages()[: len(before)] == before
        at = s.runtime.session.records[-1].seq
        await s.until_shown(f"cleared, shown again at {at}")
        await s.pilot.press("r")
        await s.until_shown("Already shown again")
        await s.pilot.press("R")
        await s.until_shown(f"lready shown again in entry {at}: prune that one first")
        assert last(s) is event


async def test_p_and_u_on_a_turn_leave_it_as_it_was_and_p_prunes_it_again(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await mark(s, "turn", 1)
        await s.pilot.press("p")
        first = last(s)
        assert isinstance(first, PrunApplied)
        await s.pilot.press("u")
        await s.until_shown("3 of 3 results restored", "p  clear 3 of 3 results")
        await s.pilot.press("p")
        assert last(s) == first


def dim_keys(s: Shown) -> set[str]:
    """The keys in the last line that do not stand out."""
    strip = s.app.screen._compositor.render_strips()[-1]
    keys = [(segment.text.strip(), segment.style) for segment in strip]
    return {text for text, style in keys if len(text) == 1 and style is not None and not style.bold}


async def test_keys_that_can_do_nothing_are_dim_and_only_what_can_be_done_is_told(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await mark(s, "turn", keys(s)[-2].seq)
        await s.until(lambda: dim_keys(s) == {"p", "m", "r", "R", "u"})
        await mark(s, "result", result(s, "read"))
        await s.until_shown("p  clear this result")
        assert dim_keys(s) == {"r", "R", "u"}
        assert "no:" not in s.screen_text()
        await s.pilot.press("r")
        await s.until_shown("Nothing pruned here")


async def test_s_sorts_by_one_figure_after_the_other_and_ends_at_the_tree(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        tree = keys(s)
        for by, figure in (
            ("tokens", "tokens"),
            ("size", "original"),
            ("age", "age"),
            ("carried", "carried"),
        ):
            await s.pilot.press("s")
            await s.until_shown(f"{by}▾", f"s sort: {by}")
            assert marked(s) == keys(s)[0]
            figures = [getattr(screen(s).inspecting.node(key), figure) for key in keys(s)]
            assert figures == sorted(figures, reverse=True)
            assert {key.kind for key in keys(s)} >= {"prompt", "result", "calls", "text", "thinking"}
        await s.pilot.press("E", "s")
        await s.until(lambda: set(tree) <= set(keys(s)))
        assert "▾ tokens" not in s.screen_text()


async def test_a_sorted_list_is_filtered_too_and_p_works_in_it(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await s.pilot.press("s", "slash", *"file2", "enter")
        await s.until(lambda: [key.kind for key in keys(s)] == ["result"])
        await s.pilot.press("p")
        event = last(s)
        assert isinstance(event, PrunApplied)
        assert event.edits[0].seq == marked(s).seq


async def test_t_shows_what_the_results_of_each_tool_take(tmp_path: Path) -> None:
    async with inspected(tmp_path, size=(160, 48)) as s:
        await s.until_shown("By tool", "bash ~")
        await s.pilot.press("t")
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.until_shown("Tool results", "bash        2", "read        1       1")


async def test_the_tree_stands_right_below_the_map_and_has_room_on_a_small_screen(tmp_path: Path) -> None:
    async with inspected(tmp_path, work(), size=(50, 15)) as s:
        await s.until(lambda: marked(s).kind == "result")
        for size in ((50, 15), (80, 24), (160, 48), (80, 24), (50, 15)):
            await s.pilot.resize_terminal(*size)
            await s.until_shown("p  clear this result", "R results", "read file")
            await s.until(lambda height=size[1]: len(s.screen_text().split("\n")) == height)
            rows = s.screen_text().split("\n")
            heading = next(at for at, row in enumerate(rows) if "what" in row and "tokens" in row)
            assert all(rows[: heading + 1])
            assert screen(s).tree_rows.page >= 7
            assert rows[-1].split()[0] == "p"


async def test_m_asks_for_words_and_puts_them_in_the_place_of_the_exchange(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        home = s.runtime.session.context.exchanges[0].seq
        await mark(s, "exchange", home)
        await s.pilot.press("m")
        await s.until_shown("memo to replace exchange")
        await s.type("the <lexer> is fine", "enter")
        event = last(s)
        assert isinstance(event, PrunApplied)
        assert event.memo == "the <lexer> is fine"
        assert 'by="user"' in (event.edits[0].text or "")
        assert "the &lt;lexer&gt; is fine" in (event.edits[0].text or "")
        assert any(key.kind == "memo" for key in keys(s))
        assert marked(s) == Key("exchange", home)
        await s.until_shown("Replaced ", " by a memo")
        await s.pilot.press("x")
        await s.until(lambda: "Replaced " not in s.screen_text())
        prun = s.runtime.session.records[-1].seq
        await mark(s, "memo", home)
        await s.until_shown("memo: the &lt;lexer")
        await s.pilot.press("p")
        assert not any(key.kind == "memo" for key in keys(s))
        assert s.runtime.session.context.dropped(s.runtime.session.context.exchanges[0])
        assert prun not in s.runtime.session.context.pruns


async def test_a_memo_without_words_or_with_esc_does_nothing(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        count = len(s.runtime.session.records)
        await mark(s, "exchange", s.runtime.session.context.exchanges[0].seq)
        await s.pilot.press("m", "enter")
        await s.until_shown("No memo written: the text was empty")
        await s.pilot.press("m", "x", "escape")
        assert s.app.screen is screen(s)
        assert len(s.runtime.session.records) == count


async def test_while_words_are_typed_the_last_line_has_the_keys_of_the_field(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await mark(s, "exchange", s.runtime.session.context.exchanges[0].seq)
        await s.pilot.press("m")
        await s.until_shown("Enter to replace · Esc to cancel")
        await s.pilot.press("escape", "slash")
        await s.until_shown("Enter to keep the filter · Up/Down to move · Esc to clear it")
        await s.pilot.press("enter")
        await s.until_shown("p prune m memo")


async def test_esc_clears_the_filter_and_marks_what_contains_the_found_row(tmp_path: Path) -> None:
    async with inspected(tmp_path, work()) as s:
        await s.type("/file1", "enter")
        await s.until(lambda: len(keys(s)) < 4)
        screen(s).tree_rows.move(len(keys(s)))
        found = marked(s)
        assert found.kind != "exchange"
        await s.pilot.press("escape")
        await s.until(lambda: len(keys(s)) > 4)
        assert found not in keys(s)
        assert marked(s) == Key("exchange", s.runtime.session.context.exchanges[1].seq)


async def test_shift_p_pins_and_unpins(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        seq = result(s, "bash")
        await mark(s, "result", seq)
        await s.pilot.press("P")
        assert last(s) == Pinned((seq,))
        await s.until_shown("pinned", "unpin entry")
        await s.pilot.press("P")
        assert last(s) == Pinned((seq,), pinned=False)


async def test_c_asks_whether_more_of_such_results_is_sent_from_now_on(tmp_path: Path) -> None:
    events = work()
    part = ToolResult("t0", "read", (Text("line\n" * 500),), spilled=Spilled(400, "line\n[held back]"))
    async with inspected(tmp_path, [*events[:2], part, *events[3:]]) as s:
        s.runtime.use_config(s.runtime.config.with_value("spill.read", "5000"))
        whole, cut = result(s, "read", 1), result(s, "read")
        sent = s.runtime.session.context.sha256()
        await mark(s, "result", whole)
        await s.pilot.press("c")
        await s.until_shown("Only for a result of which a part was sent")
        await mark(s, "result", cut)
        await s.until_shown("┊ shortened ~", "not sent (c to send more from now on)")
        await s.pilot.press("c")
        await s.until_shown("Send more of outputs like this from now on? Up to 10K tokens of each file")
        await s.pilot.press("escape")
        await s.until_shown("p prune")
        assert s.runtime.choices.caps.of("read") == 5_000
        await s.pilot.press("c", "enter")
        await s.until_shown("From now on up to 10K tokens of each file are sent (this session)")
        assert s.runtime.choices.caps.of("read") == 10_000
        assert s.runtime.session.context.sha256() == sent
        s.runtime.use_config(s.runtime.config.with_value("spill.enabled", "false"))
        await s.pilot.press("c")
        await s.until_shown("already sent whole")


async def test_enter_shows_the_original_and_what_the_model_sees(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await mark(s, "result", result(s, "read"))
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, TextScreen))
        await s.until_shown("the model sees this (cleared)", "the original", "def rule_0")
        assert s.screen_text().count("[read lexer.py was pruned]") == 1
        await s.pilot.press("escape")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await mark(s, "exchange", exchange(s, result(s, "read")))
        await s.pilot.press("enter")
        await s.until_shown("the model sees a part of this", "cleared", "def rule_0")


async def test_enter_on_an_exchange_marks_results_that_the_model_sees_in_part(tmp_path: Path) -> None:
    events = work()
    part = ToolResult(
        "t0",
        "read",
        (Text("shown\nrest\n"),),
        spilled=Spilled(40, "shown\n[1 of 2 lines held back | recall 3 lines 2]"),
    )
    async with inspected(tmp_path, [*events[:2], part, *events[3:]]) as s:
        await mark(s, "exchange", exchange(s, result(s, "read")))
        await s.pilot.press("enter")
        await s.until_shown("the model sees a part of this", "sent in part", "│ shown", "┊ rest")


async def test_the_text_of_a_failed_result_has_the_mark_of_a_failure(tmp_path: Path) -> None:
    events = work()
    failed = ToolResult("t0", "read", (Text("no such file"),), is_error=True)
    async with inspected(tmp_path, [*events[:2], failed, *events[3:]]) as s:
        await mark(s, "result", result(s, "read"))
        await s.pilot.press("enter")
        await s.until_shown("the model sees the original", "✗ read")
        await s.pilot.press("escape")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        await mark(s, "exchange", exchange(s, result(s, "read")))
        await s.pilot.press("enter")
        await s.until_shown("✗ result of read")


async def test_d_shows_what_two_requests_differ_in(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await s.pilot.press("d")
        await s.until(lambda: isinstance(s.app.screen, DiffScreen))
        await s.until_shown("Request 4 → 5", "cache intact", "+ added")
        await s.pilot.press("left", "left")
        await s.until_shown("Request 2 → 3", "cache broken at entry", "~ replaced", "read lexer.py")
        await s.pilot.press("4", "enter")
        await s.until_shown("Request 4 → 5")
        await s.pilot.press("9", "9", "enter")
        assert "Request 4 → 5" in s.screen_text(), "there is no request 99"
        await s.pilot.press("escape")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))


async def test_a_slash_shows_only_what_holds_the_words_and_esc_everything(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        every = keys(s)
        await s.pilot.press("slash")
        await s.type("lexer")
        await s.until(lambda: any(key.kind == "result" for key in keys(s)))
        assert all("lexer" in screen(s).inspecting.outline.label(k) for k in keys(s) if k.kind == "result")
        await s.pilot.press("enter", "end")
        assert marked(s).kind in ("result", "exchange", "calls", "text")
        await s.pilot.press("escape")
        assert keys(s) == every
        await s.pilot.press("slash")
        await s.type("zzzz")
        await s.until_shown("No matches")
        await s.pilot.press("escape")
        assert keys(s) == every


async def test_a_question_mark_explains(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await s.pilot.press("question_mark")
        await s.until(lambda: isinstance(s.app.screen, TableScreen))
        await s.until_shown("undo the last prune", "carried")
        await s.pilot.press("escape")
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        assert "undo the last prune" not in s.screen_text()


async def test_what_the_agent_does_meanwhile_is_shown(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        count = len(keys(s))
        s.runtime.emit(UserMessage((Text("something new"),)))
        await s.until_shown("something new")
        assert len(keys(s)) > count


async def test_a_turn_of_many_results_is_priced_when_the_mark_rests(tmp_path: Path) -> None:
    events: list[Event] = [UserMessage((Text("read them all"),))]
    for number in range(310):
        use = ToolUse(f"t{number}", "read", {"path": f"file{number}.py"})
        events.append(AssistantMessage((use,), "scripted", "tool_use"))
        events.append(ToolResult(use.id, "read", (Text("a line of it\n" * 20),)))
    async with inspected(tmp_path, [*events, AssistantMessage((Text("Done."),), "scripted")]) as s:
        await s.until(lambda: marked(s).kind == "result")
        await mark(s, "turn", 1)
        await s.until_shown("p  clear 310 of 310 results")
        await s.pilot.press("down")
        await s.until_shown("p  drop this exchange with 1 result")
        await s.pilot.press("up")
        await s.until_shown("p  clear 310 of 310 results")
        assert marked(s).kind == "turn"


async def test_an_empty_session_and_tiny_screens_are_no_accident(tmp_path: Path) -> None:
    async with inspected(tmp_path, []) as s:
        await s.until_shown("No messages yet")
        await s.pilot.press(*"pmrPudst", "escape", "enter", "space", "E", "end", "down")
        for size in ((20, 6), (1, 1), (300, 60)):
            await s.pilot.resize_terminal(*size)
            await s.pilot.pause()
            rows = s.screen_text().split("\n")
            assert len(rows) == size[1]
        assert s.runtime.session.context.pruns == {}


async def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    events: Sequence[Event] = [UserMessage((Text("[red]\x1b[2J漢字\u202e 👩‍👧\nsecond"),))]
    async with inspected(tmp_path, events) as s:
        await s.until_shown("❯ [red]␛[2J漢字")
        assert not {"\x1b", "\u202e"} & set(s.screen_text())


async def test_the_system_prompt_of_another_programs_session_is_a_row_without_a_text(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await s.pilot.press("home", "enter")
        await s.until_shown("No system prompt or tools in this log")


async def test_another_theme_reaches_an_open_inspector_and_its_texts(tmp_path: Path) -> None:
    async with inspected(tmp_path) as s:
        await s.pilot.press("home", "enter")
        await s.until(lambda: isinstance(s.app.screen, TextScreen))
        s.app.use_theme("prune-light")
        light = s.app.palette
        transcript = s.app.screen.query_one(Transcript)
        await s.until(
            lambda: screen(s).tree_rows._inks == inks(light) == transcript.document.layout.sheet.inks
        )
        assert light.background != "#101418"


async def test_a_question_of_the_agent_is_told_and_waits_behind_the_inspector(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ToolUse("t1", "bash", {"command": "touch made"})), says("Denied.")])
    async with shown(tmp_path, size=(120, 40), runtime=runtime) as s:
        s.conversation.frame.screen.call_later(
            s.app.push_screen,
            ContextScreen(runtime),
        )
        await s.until(lambda: isinstance(s.app.screen, ContextScreen))
        s.conversation.runs.submit("go")
        await s.until_shown("answer needed · Esc to return")
        await s.pilot.press("y", "a", "1", "escape")
        await s.until(lambda: s.app.screen is s.frame)
        await s.until_shown("Run this command?")
        await s.until(lambda: s.frame.query_one(PermissionPanel).answering.is_ready(monotonic()))
        await s.pilot.press("escape")
        await s.until_shown("Denied.")
    assert not (tmp_path / "work" / "made").exists()


async def test_a_question_that_comes_after_the_last_record_is_told_too(tmp_path: Path) -> None:
    async with inspected(tmp_path, [UserMessage((Text("hello"),))]) as s:
        await s.until_shown("hello")
        asked = choice("Really?", (("Yes", ""), ("No", "")), lambda _: None, leave=1)
        s.conversation.frame.ask(asked)
        await s.until_shown("answer needed · Esc to return")
        s.conversation.frame.answered(asked)
        await s.until(lambda: "answer needed" not in s.screen_text())


async def test_long_sessions_are_unfolded_and_filtered_completely(tmp_path: Path) -> None:
    events: list[Event] = [UserMessage((Text("read them"),))]
    for number in range(300):
        use = ToolUse(f"t{number}", "read", {"path": f"file{number}.py"})
        events.append(AssistantMessage((Text(f"Number {number}."), use), "scripted", "tool_use"))
        events.append(ToolResult(use.id, "read", (Text("line"),)))
    async with inspected(tmp_path, events) as s:
        turn, folded = marked(s), len(keys(s))
        await s.pilot.press("E")
        await s.until(lambda: len(keys(s)) == folded + 3 * 300)
        assert marked(s) == turn
        await s.pilot.press("slash", *"file299")
        await s.until(lambda: [key.kind for key in keys(s)] == ["turn", "exchange", "result"])
        await s.pilot.press("escape", "E")
        await s.until(lambda: len(keys(s)) < folded)


async def test_attachments_stand_below_their_prompt_and_the_answer_beside_them(tmp_path: Path) -> None:
    files = [
        UserMessage((Text(f"[attached: {name}]"), Text("line\n" * 500)), "attachment")
        for name in ("a.py", "b.py")
    ]
    events = [UserMessage((Text("read @a.py @b.py"),)), *files, AssistantMessage((Text("Read."),), "m")]
    async with inspected(tmp_path, events) as s:
        prompt = s.runtime.session.context.items[0].seq
        below = [Key("prompt", prompt + 1), Key("prompt", prompt + 2), Key("exchange", prompt + 3)]
        await s.until(lambda: keys(s)[-4:] == [Key("turn", prompt), *below])
        await mark(s, "prompt", prompt + 2)
        await s.pilot.press("p")
        await s.until(lambda: s.runtime.session.context.text_edit(prompt + 2) is not None)
        for _ in ORDERS:
            await s.pilot.press("s")
        await s.until(lambda: keys(s)[-4:] == [Key("turn", prompt), *below])
        assert marked(s) in below[:2]
