"""The two status lines."""

from dataclasses import replace
from typing import Any

import pytest

from prunecli.agent.policy import Waiting
from prunecli.context.bill import Bill
from prunecli.context.ledger import Ledger
from prunecli.runtime import Status
from prunecli.tui.widgets.status import COLD, bar, cache_words, level, pruning_line, session_line

LEDGER = Ledger(45_200, 25_000, 8, 9_000, 76_000, 200_000)
BILL = Bill(
    3,
    400,
    100,
    9_600,
    0,
    0.42,
    model="claude-sonnet-5-5",
    model_read=960,
    model_prompt=1_000,
)
WARM = Waiting("31.0K to prune", "cache warm for 3m12s; pruning now costs ~$0.41", 31_000)
FIELDS: dict[str, Any] = {
    "ledger": LEDGER,
    "prunes": None,
    "bill": BILL,
    "model": "claude-sonnet-5-5",
    "mode": "ask",
    "pruning": True,
    "running": False,
    "estimated": False,
    "trusted": True,
    "cached_at": 1_000_000,
}


def status(**changes: Any) -> Status:
    return Status(**{**FIELDS, **changes})


def test_the_first_line_says_what_pruning_does_and_how_full_the_context_is() -> None:
    line = pruning_line(status(), 78).plain
    assert line.startswith("🔪 ~45.2K tool tokens scanned | pruned ~25.0K | 8 protected ")
    assert line.endswith(" ctx 38% ▓▓░░░░")


def test_it_shows_zeros_before_there_is_anything() -> None:
    line = pruning_line(None, 70).plain
    assert line.startswith("🔪 0 tool tokens scanned | pruned 0 | 0 protected ")
    assert line.endswith(" ctx 0% ░░░░░░")


def test_nothing_scanned_is_no_estimate() -> None:
    none = replace(LEDGER, scanned_tokens=0)
    assert pruning_line(status(ledger=none), 78).plain.startswith("🔪 0 tool tokens scanned | ")


def test_results_that_a_compaction_kept_are_named() -> None:
    kept = replace(LEDGER, kept_results=3)
    assert "| 8 protected + 3 kept by a compaction " in pruning_line(status(ledger=kept), 110).plain
    narrow = pruning_line(status(ledger=replace(kept, scanned_tokens=0)), 78).plain
    assert " ".join(narrow.split()).endswith("8 protected + 3 kept ctx 38% ▓▓░░░░")


def test_pruning_that_is_off_says_so() -> None:
    assert pruning_line(status(pruning=False), 40).plain.startswith("🔪 off  ")


def test_what_the_gate_holds_back_is_said_where_there_is_room() -> None:
    line = pruning_line(status(prunes=WARM), 150).plain
    assert "| 31.0K to prune when the cache is cold" in line
    assert "3m12s" not in line, "a figure that no tick changes"
    assert "| 31.0K to prune when cold  " in pruning_line(status(prunes=WARM), 102).plain
    narrow = "🔪 ~45.2K | pruned ~25.0K | 8 protected | 31.0K more when cold ctx 38% ▓▓░░░░"
    assert " ".join(pruning_line(status(prunes=WARM), 78).plain.split()) == narrow
    assert "| 31.0K to prune with the next request  " in pruning_line(status(prunes=WARM), 150, COLD).plain
    due = Waiting("31.0K to prune with the next request", "", 31_000)
    assert f"| {due.words}  " in pruning_line(status(prunes=due), 150).plain
    assert "| 31.0K more next  " in pruning_line(status(prunes=due), 78).plain
    asked = Waiting("prunes wait until your next prompt", "an edit now would drop thinking")
    assert "| prunes wait until your next prompt  " in pruning_line(status(prunes=asked), 150).plain


def test_an_estimate_carries_a_tilde_and_a_measured_figure_does_not() -> None:
    assert "ctx ~38%" in pruning_line(status(estimated=True), 78).plain
    assert "ctx 38%" in pruning_line(status(), 78).plain


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (60, "🔪 ~45.2K tool tokens scanned | pruned ~25.0K | 8 protected"),
        (50, "🔪 ~45.2K scanned | pruned ~25.0K | 8 protected"),
        (40, "🔪 ~45.2K | pruned ~25.0K | 8 protected"),
        (34, "🔪 ~45.2K | ~25.0K | 8 protected"),
        (24, "🔪 ~45.2K | ~25.0K | 8"),
    ],
)
def test_a_narrow_terminal_gets_the_figures_without_the_words(width: int, line: str) -> None:
    assert pruning_line(status(), width + 8).plain.startswith(line)


def test_the_second_line_says_mode_model_cache_and_cost() -> None:
    line = session_line(status(), "cache warm 3m12s", 78).plain
    assert line.startswith("ask · claude-sonnet-5-5 ")
    assert line.endswith(" cache warm 3m12s · hit 96% · $0.42")


def test_an_endpoint_without_a_cache_shows_no_share_of_it() -> None:
    bill = BILL._replace(cache_read=0)
    assert session_line(status(bill=bill), "", 60).plain.endswith("   $0.42")


def test_a_directory_that_is_not_trusted_says_so_as_long_as_there_is_room() -> None:
    assert "untrusted: read-only, /trust" in session_line(status(trusted=False), "", 78).plain
    assert "read-only" in session_line(status(trusted=False), "cache cold", 30).plain


def test_a_hostile_model_name_is_shown_and_not_obeyed() -> None:
    """Neither control sequences nor markup."""
    line = session_line(status(model="[red]m\x1b]0;x\x07"), "", 78)
    assert "[red]m␛]0;x␇" in line.plain


def test_the_cache_is_warm_for_as_long_as_the_endpoint_keeps_it() -> None:
    assert cache_words(status(), 300_000, 1_000_000) == "cache warm 5m00s"
    assert cache_words(status(), 300_000, 1_292_999) == "cache warm 7s"
    assert cache_words(status(), 300_000, 1_108_500) == "cache warm 3m11s"
    assert cache_words(status(), 3_600_000, 1_108_000) == "cache warm 58m12s"
    assert cache_words(status(), 300_000, 1_300_000) == "cache cold"
    assert cache_words(status(bill=BILL._replace(cache_read=0)), 300_000, 1_000_000) == ""
    assert cache_words(None, 300_000, 0) == ""


def test_what_another_model_has_cached_is_neither_warm_nor_a_hit() -> None:
    other = status(model="claude-opus-5-5", cached_at=0)
    assert cache_words(other, 300_000, 1_000_000) == "cache cold"
    assert session_line(other, "cache cold", 78).plain.endswith(" cache cold · $0.42")


def test_nothing_is_said_of_the_cache_before_something_was_sent_from_here() -> None:
    imported = status(bill=BILL._replace(model="", model_read=0, model_prompt=0))
    assert cache_words(imported, 300_000, 1_000_000) == ""
    assert session_line(imported, "", 78).plain.endswith("   $0.42")


def test_the_bar_fills_and_its_color_warns() -> None:
    assert [bar(part) for part in (0.0, 0.38, 1.0, 1.7)] == ["░░░░░░", "▓▓░░░░", "▓▓▓▓▓▓", "▓▓▓▓▓▓"]
    assert [level(part) for part in (0.5, 0.8, 0.95)] == ["$muted", "$warning", "bold $error"]


@pytest.mark.parametrize("width", range(80))
def test_no_word_of_a_status_line_is_cut(width: int) -> None:
    full = status(
        prunes=WARM, trusted=False, sandbox="no sandbox", ledger=replace(LEDGER, cleared_tokens=9_000)
    )
    wide = f"{pruning_line(full, 300)} {session_line(full, 'cache warm 3m12s', 300)}".split()
    for line in (pruning_line(full, width), session_line(full, "cache warm 3m12s", width)):
        assert line.cell_length <= width
        assert set(line.plain.split()) <= {
            *wide,
            "31.0K",
            "to",
            "prune",
            "more",
            "~25.0K",
            "8",
            "38%",
            "sonnet-5-5",
            "read-only",
        }
