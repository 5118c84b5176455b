"""The two status lines."""

from dataclasses import replace
from typing import Any

import pytest

from prunecli.agent.policy import Waiting
from prunecli.context.bill import Bill
from prunecli.context.ledger import Ledger
from prunecli.context.spending import Pruning
from prunecli.runtime import Status
from prunecli.tui.widgets.bar_words import bar_rows
from prunecli.tui.widgets.status import COLD, cache_words, level, pruning_line, session_line

LEDGER = Ledger(45_200, 25_000, 8, 9_000, 76_000, 200_000, limit=170_000)
BILL = Bill(
    3,
    400,
    100,
    9_600,
    0,
    0.42,
    model="claude-sonnet-5-5",
)
WARM = Waiting("31.0K to prune", "cache warm for 3m12s; pruning now costs ~$0.41", 31_000, 0.12)
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


def line(width: int = 120, **changes: Any) -> str:
    return pruning_line(status(**changes), width).plain.rstrip()


FULL = "ctx 76K/170K 45% · scanned 45.2K · pruned 25.0K · protected 9.0K · saved $0.24"


def test_the_first_line_says_how_full_the_context_is_and_what_pruning_did() -> None:
    assert line(saved=0.24) == FULL
    assert line(saved=-0.12).endswith(" · saved -$0.12")
    assert line(saved=None).endswith(" · protected 9.0K"), "without prices"


def test_nothing_is_said_to_be_saved_before_anything_was_pruned() -> None:
    untouched = replace(LEDGER, pruned_tokens=0)
    assert "saved" not in line(ledger=untouched, saved=0.0)
    assert line(ledger=untouched, saved=0.02).endswith(" · saved $0.0200"), "long results that were shortened"
    assert line(saved=0.0).endswith(" · saved $0.00")


def test_each_part_of_the_bar_is_explained_with_its_number() -> None:
    whole = status(saved=0.24, sandbox="sandbox bwrap", prunes=WARM)
    rows = dict(bar_rows(whole, "cache 3m12s", Pruning(90_000, 0, 9_000, 0.40, 0.12, 0.04)))
    bar = f"{pruning_line(whole, 200).plain} · {session_line(whole, 'cache 3m12s', 200).plain}"
    assert all(
        any(part.strip().startswith(name) or name in part for part in bar.split(" · ")) for name in rows
    )
    assert "76.0K tokens" in rows["ctx"]
    assert rows["saved"].startswith("$0.24 so far: $0.40 for tokens not sent, less $0.16")
    assert "31.0K to prune" in rows["waits"]
    off = dict(
        bar_rows(status(pruning=False, trusted=False, sandbox="no sandbox"), COLD, Pruning(0, 0, 0, 0, 0, 0))
    )
    assert {"pruning off", "untrusted", "no sandbox"} <= off.keys()
    assert "saved" not in off
    assert off["cache"].startswith("cold")


def test_it_shows_zeros_before_there_is_anything() -> None:
    assert pruning_line(None, 80).plain.rstrip() == "ctx 0% · scanned 0 · pruned 0 · protected 0"


def test_pruning_that_is_off_says_so_in_place_of_the_saving() -> None:
    assert line(pruning=False, saved=0.24).endswith(" · protected 9.0K · pruning off")


def test_a_part_that_does_not_fit_is_left_out_whole_and_the_saving_first() -> None:
    parts = FULL.split(" · ")
    for width in range(len(parts[0]), 100):
        shown = line(width, saved=0.24).split(" · ")
        assert set(shown) <= set(parts)
        assert shown == [one for one in parts if one in shown]
    assert line(78, saved=0.24) == FULL, "a screen of 80 columns has room for it"
    assert line(77, saved=0.24) == " · ".join(parts[:4])
    assert line(50, saved=0.24) == "ctx 76K/170K 45% · scanned 45.2K · pruned 25.0K"


def test_the_second_line_says_mode_model_cache_and_cost() -> None:
    words = session_line(status(sandbox="sandbox bwrap"), "cache 3m12s", 78).plain
    assert words.startswith("ask · sonnet-5-5 · bwrap  ")
    assert words.endswith("  cache 3m12s · $0.42")


@pytest.mark.parametrize(
    ("prunes", "cache", "hint"),
    [
        (WARM, "cache 3m12s", "31.0K waits for a cold cache"),
        (WARM, COLD, "31.0K is pruned with the next request"),
        (WARM._replace(why=""), "cache 3m12s", "31.0K is pruned with the next request"),
        (WARM._replace(gain=0.009), "cache 3m12s", ""),
        (Waiting("prunes wait until your next prompt", "why"), "", "prunes wait until your next prompt"),
    ],
)
def test_what_waits_is_named_if_it_is_worth_a_cent(prunes: Waiting, cache: str, hint: str) -> None:
    said = session_line(status(prunes=prunes), cache, 100).plain.split("   ")[-1].strip()
    assert said == " · ".join(filter(None, [hint, cache, "$0.42"]))


def test_what_does_not_fit_beside_it_goes_in_a_fixed_order() -> None:
    full = status(prunes=WARM, sandbox="sandbox bwrap")
    left: list[str] = []
    for width in range(100, 5, -1):
        words = session_line(full, "cache 3m12s", width).plain
        parts = ("waits for", "bwrap", "cache 3m12s", "sonnet-5-5", "$0.42")
        left += [one for one in parts if one not in words and one not in left]
    assert left == ["waits for", "bwrap", "cache 3m12s", "sonnet-5-5", "$0.42"]


def test_a_directory_that_is_not_trusted_says_so_as_long_as_there_is_room() -> None:
    assert "untrusted: read-only, /trust" in session_line(status(trusted=False), "", 78).plain
    assert "read-only" in session_line(status(trusted=False), "cache cold", 30).plain


def test_a_hostile_model_name_is_shown_and_not_obeyed() -> None:
    """Neither control sequences nor markup."""
    line = session_line(status(model="[red]m\x1b]0;x\x07"), "", 78)
    assert "[red]m␛]0;x␇" in line.plain


def test_the_cache_is_warm_for_as_long_as_the_endpoint_keeps_it() -> None:
    assert cache_words(status(), 300_000, 1_000_000) == "cache 5m00s"
    assert cache_words(status(), 300_000, 1_292_999) == "cache 7s"
    assert cache_words(status(), 300_000, 1_108_500) == "cache 3m11s"
    assert cache_words(status(), 3_600_000, 1_108_000) == "cache 58m12s"
    assert cache_words(status(), 300_000, 1_300_000) == "cache cold"
    assert cache_words(status(bill=BILL._replace(cache_read=0)), 300_000, 1_000_000) == ""
    assert cache_words(None, 300_000, 0) == ""


def test_what_another_model_has_cached_is_not_warm() -> None:
    other = status(model="claude-opus-5-5", cached_at=0)
    assert cache_words(other, 300_000, 1_000_000) == "cache cold"
    assert session_line(other, "cache cold", 78).plain.endswith(" cache cold · $0.42")


def test_nothing_is_said_of_the_cache_before_something_was_sent_from_here() -> None:
    imported = status(bill=BILL._replace(model=""))
    assert cache_words(imported, 300_000, 1_000_000) == ""
    assert session_line(imported, "", 78).plain.endswith("   $0.42")


def test_its_color_warns_near_the_limit() -> None:
    assert [level(part) for part in (0.5, 0.8, 0.95)] == ["$muted", "$warning", "bold $error"]


@pytest.mark.parametrize("width", range(80))
def test_no_word_of_a_status_line_is_cut(width: int) -> None:
    full = status(
        prunes=WARM, trusted=False, sandbox="no sandbox", ledger=replace(LEDGER, cleared_tokens=9_000)
    )
    for made in (pruning_line(full, width), session_line(full, "cache 3m12s", width)):
        assert made.cell_length <= width
