"""`prunecli sessions stats`: all sessions by day, project and model, in lines, JSON and as a page."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.context.spending import balance
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.money.usage import Pricing, SessionUsage, usage_of
from prunecli.features.money.usage_store import NAME, UsageStore, report_of
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    Event,
    PrunApplied,
    RequestSent,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.providers.models import ModelTable, cost, token_factor
from prunecli.providers.tokenizer import counter
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.util.paths import Places

MODEL = "claude-sonnet-4-5"
USAGE = Usage(1_000, 100, 8_000, 1_000)
DAY = 86_400_000


class Home:
    """Sessions in a folder of their own, and the command on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions = folder / "data" / "sessions"
        self.runner = CliRunner(
            env={"HOME": str(folder), "PRUNECLI_HOME": str(folder / "data"), "TZ": "UTC", "NO_COLOR": "1"}
        )

    def session(
        self,
        name: str,
        *events: Event,
        cwd: str = "/src/app",
        days_ago: int = 0,
        parent: dict[str, Any] | None = None,
    ) -> Path:
        noon = datetime.now(UTC).astimezone().replace(hour=12)  # days begin at the machine's midnight
        times = count(int(noon.timestamp() * 1000) - days_ago * DAY, 1_000)
        path = self.sessions / "x" / f"{name}.jsonl"
        started = SessionStarted(name, cwd, MODEL, parent=parent)
        session = Session(started, Context(Chars4()), path=path, clock=lambda: next(times))
        for event in events:
            session.emit(event)
        session.close()
        return path

    def run(self, *words: str, code: int = 0) -> Any:
        done = self.runner.invoke(app, ["sessions", "stats", *words])
        assert done.exit_code == code, done.output
        return done

    def json(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*words, "--json").stdout)
        return found


def asked(model: str = MODEL, usage: Usage = USAGE) -> tuple[Event, ...]:
    """A prompt and its answer."""
    return (
        UserMessage((Text("go"),)),
        RequestSent(model, 1, "00"),
        AssistantMessage((Text("ok"),), model, usage=usage),
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def figures(found: dict[str, Any], part: str) -> dict[str, int]:
    return {one["name"]: one["requests"] for one in found[part]}


def test_without_sessions_it_says_so(home: Home) -> None:
    assert home.run().stdout == "no sessions yet\n"
    assert home.json()["total"]["requests"] == 0


def test_the_figures_by_day_project_and_model(home: Home) -> None:
    home.session("one", *asked(), *asked())
    home.session("two", *asked("claude-opus-5-5"), cwd="/src/other", days_ago=1)
    home.session("three", *asked("mystery"), days_ago=40)
    found = home.json()
    assert found["total"]["requests"] == 4
    assert found["total"]["cache_hit"] == 0.8
    assert found["total"]["unpriced"] == 1
    assert sorted(figures(found, "days").values()) == [1, 1, 2]
    assert figures(found, "projects") == {"/src/app": 3, "/src/other": 1}
    assert figures(found, "models") == {MODEL: 2, "claude-opus-5-5": 1, "mystery": 1}
    for part in ("days", "projects", "models"):
        for key in ("requests", "input", "output", "cache_read", "cache_write", "prunes"):
            assert sum(one[key] for one in found[part]) == found["total"][key]
        assert sum(one["cost"] for one in found[part]) == pytest.approx(found["total"]["cost"])
    assert found["total"]["cost"] == pytest.approx(sum(one["cost"] for one in found["sessions"]))


def test_days_and_this_directory_limit_it(home: Home, tmp_path: Path) -> None:
    home.session("one", *asked(), days_ago=0)
    home.session("two", *asked(), days_ago=3)
    home.session("here", *asked(), cwd=str(Path.cwd()))
    assert home.json("--days", "2")["total"]["requests"] == 2
    assert home.json("--days", "4")["total"]["requests"] == 3
    assert home.json("--project")["total"]["requests"] == 1
    assert home.json("--all")["total"]["requests"] == 3
    assert "Invalid value" in home.run("--days", "0", code=2).stderr


def test_the_lines_fit_80_columns_and_name_everything(home: Home) -> None:
    long = Usage(999_999, 999_999, 999_999_999, 99_999_999)
    home.session(
        "one", *asked("a-model-with-a-name-longer-than-its-column", long), cwd="/a/very/long/" + "x" * 90
    )
    for at in range(25):
        home.session(f"day{at}", *asked(), days_ago=at)
    text = home.run().stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "… 5 earlier: --json or --html" in text
    assert "26 sessions · 2 projects" in text
    assert "[models." in text


def test_a_task_is_on_its_sessions_bill_and_counts_once(home: Home) -> None:
    home.session("one", *asked(), AttemptBilled(MODEL, USAGE, "task"))
    parent = {"id": "one", "seq": 2, "tool_use_id": "t1"}
    home.session("one-t1", *asked(), parent=parent)
    found = home.json()
    assert (found["total"]["requests"], found["tasks"]) == (2, 1)
    assert "1 task of subagents" in home.run().stdout
    (home.sessions / "x" / "one.jsonl").unlink()
    assert (home.json()["total"]["requests"], home.json()["tasks"]) == (1, 0)


def test_what_a_copy_copied_counts_once(home: Home) -> None:
    home.session("one", *asked(), *asked())
    home.session("copy", *asked(), *asked(), *asked(), parent={"id": "one", "seq": 6})
    found = home.json()
    assert found["total"]["requests"] == 3
    assert {one["id"]: one["requests"] for one in found["sessions"]} == {"one": 2, "copy": 3}
    (home.sessions / "x" / "one.jsonl").unlink()
    assert home.json()["total"]["requests"] == 3


def test_imported_requests_stand_apart(home: Home) -> None:
    answer = AssistantMessage((Text("ok"),), MODEL, usage=USAGE)
    home.session("one", UserMessage((Text("go"),), "import"), answer, *asked())
    found = home.json()
    assert (found["total"]["requests"], found["imported"]["requests"]) == (1, 1)
    text = home.run().stdout
    assert "other agents" in text
    assert "at our prices; not included above" in text


def test_damaged_sessions_are_counted_and_named(home: Home) -> None:
    home.session("good", *asked())
    path = home.session("hurt", *asked(), *asked())
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*rows[:3], b'{"seq":3,"broken\n', *rows[4:]]))
    (path.parent / "junk.jsonl").write_bytes(b"\x00\x01nothing\n")
    text = home.run().stdout
    assert "2 damaged sessions:" in text
    assert re.search(r"hurt: \d+ lines? skipped", text)
    assert "junk: no readable line" in text
    names = [one["id"] for one in home.json()["damaged"]]
    assert names == ["hurt", "junk"]


def pruned(model: str = MODEL) -> tuple[Event, ...]:
    """A session in which a prune pays: 40,000 tokens leave, three more requests follow."""
    after = Usage(0, 100, 10_000, 500)
    return (
        UserMessage((Text("hello"),)),
        RequestSent(model, 1, "00"),
        AssistantMessage((ToolUse("t1", "read", {}),), model, "tool_use", Usage(0, 100, 0, 10_000)),
        ToolResult("t1", "read", (Text("word " * 40_000),)),
        RequestSent(model, 1, "00"),
        AssistantMessage((Text("b"),), model, usage=Usage(0, 100, 10_000, 40_000)),
        UserMessage((Text("on"),)),
        PrunApplied("user", (Edit("clear", 4, None, "x", 40_000, 1),), "pi", tokens_removed=39_999),
        *(event for _ in range(6) for event in (*asked(model, usage=after),)),
    )


def test_prunes_and_what_they_saved_are_there(home: Home) -> None:
    home.session("one", *pruned())
    total = home.json()["total"]
    assert (total["prunes"], total["pruned"]) == (1, 39_999)
    assert total["withheld"] > 30_000
    assert total["saved"] > 0
    assert "without pruning, ~" in home.run().stdout


def test_prices_that_the_session_recorded_count_where_no_table_has_one(home: Home) -> None:
    prices = {"mine": [1.0, 2.0, 0.1, 1.25, None], MODEL: [0.0, 0.0, 0.0, 0.0, 0.0], "damaged": "?"}
    home.session("one", SettingChanged("model.prices", prices), *asked("mine"), *asked())
    found = home.json()
    own = {one["name"]: one["cost"] for one in found["models"]}
    assert own["mine"] == pytest.approx((1_000 + 2 * 100 + 0.1 * 8_000 + 1.25 * 1_000) / 1e6)
    assert own[MODEL] > own["mine"]
    audited = json.loads(home.runner.invoke(app, ["sessions", "audit", "one", "--json"]).stdout)["summary"]
    assert (audited["unpriced"], found["total"]["unpriced"]) == (0, 0)
    assert audited["cost"] == pytest.approx(found["total"]["cost"])


def test_without_prices_nothing_is_said_to_be_saved(home: Home) -> None:
    home.session("one", *pruned("my-model"))
    text = home.run().stdout
    assert re.search(r"^\$ \?; without pruning, ~\S+ tokens more sent$", text, re.MULTILINE)
    assert "$0.00" not in text


def test_the_page_is_self_contained_and_escapes_everything(home: Home, tmp_path: Path) -> None:
    home.session("one", *pruned(), cwd="/src/<script>alert(1)</script>")
    home.session("two", *asked('m"&<b>'), days_ago=3)
    home.session("old", *asked(), days_ago=200)
    page = tmp_path / "page.html"
    done = home.run("--html", str(page))
    assert f"wrote {page}" in done.stderr
    text = page.read_text("utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "script-src 'none'" in text
    assert not re.search(r"(src|href)=|url\(|@import", text)
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") == 2
    assert text.count("<g><title>") == 2 * 92
    assert page.stat().st_mode & 0o077 == 0


def test_the_page_of_one_day_has_a_narrow_bar_and_counts_in_the_singular(home: Home, tmp_path: Path) -> None:
    home.session("one", *asked())
    page = tmp_path / "page.html"
    home.run("--html", str(page))
    text = page.read_text("utf-8")
    assert "1 session: " in text
    assert max(float(one) for one in re.findall(r'<rect [^>]*width="([\d.]+)"', text)) < 60


def test_a_page_without_sessions_and_one_that_cannot_be_written(home: Home, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    home.run("--html", str(page))
    assert "<svg" not in page.read_text("utf-8")
    done = home.run("--html", str(tmp_path / "nowhere" / "page.html"), code=2)
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


# The cache ---------------------------------------------------------------------------------------------------


class Counted:
    """A store whose folds are counted by the context they begin with."""

    def __init__(self, folder: Path, key: str = "k") -> None:
        self.folds = 0
        pricing = Pricing(lambda _, usage, __: usage.prompt_tokens / 1e6, self._context, UTC)
        self.store = UsageStore(folder, pricing, key)

    def _context(self) -> Context:
        self.folds += 1
        return Context(Chars4())

    def each(self, *paths: Path) -> list[SessionUsage | None]:
        return [found for _, found in self.store.each(paths)]


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(home: Home) -> None:
    path = home.session("one", *pruned())
    first = Counted(home.sessions)
    before = first.each(path)
    again = Counted(home.sessions)
    assert again.each(path) == before
    assert (first.folds, again.folds) == (1, 0)
    session = Session.load(path, Context(Chars4()), writable=True)
    session.emit(SettingChanged("session.name", "mine"))
    session.close()
    (found,) = again.each(path)
    assert found is not None
    assert (found.name, again.folds) == ("mine", 1)
    other = Counted(home.sessions, "other prices")
    other.each(path)
    assert other.folds == 1


@pytest.mark.parametrize("damage", [b"not a database", b""])
def test_a_damaged_or_useless_cache_costs_only_time(home: Home, damage: bytes) -> None:
    path = home.session("one", *pruned())
    (home.sessions / NAME).write_bytes(damage)
    assert Counted(home.sessions).each(path)[0] is not None
    (home.sessions / NAME).unlink()
    (home.sessions / NAME).mkdir()
    assert Counted(home.sessions).each(path)[0] is not None


def test_a_run_that_is_stopped_keeps_what_it_read(home: Home) -> None:
    paths = [home.session(f"s{at}", *pruned()) for at in range(4)]

    def stopped() -> Iterator[Path]:
        yield from paths[:3]
        raise KeyboardInterrupt

    first = Counted(home.sessions)
    with pytest.raises(KeyboardInterrupt):
        report_of(first.store.each(stopped()))
    again = Counted(home.sessions)
    again.each(*paths)
    assert (first.folds, again.folds) == (3, 1)


def test_a_session_without_prunes_is_not_folded(home: Home) -> None:
    path = home.session("one", *asked())
    store = Counted(home.sessions)
    (found,) = store.each(path)
    assert store.folds == 0
    assert found is not None
    assert found.rows[0].sums.requests == 1
    assert store.each(path.with_name("gone.jsonl")) == [None]


def test_days_are_those_of_the_zone(home: Home) -> None:
    records = read_log(home.session("one", *asked())).records
    asked_at = records[-1].timestamp / 1000
    days = set[str]()
    for zone in (timezone(timedelta(hours=hours)) for hours in (-23, 0, 23)):
        [row] = usage_of(records, Pricing(lambda *_: 0.0, lambda: Context(Chars4()), zone)).rows
        assert row.day == datetime.fromtimestamp(asked_at, zone).date().isoformat()
        days.add(row.day)
    assert len(days) >= 2


def test_the_figures_of_a_file_are_those_of_cost_and_audit(home: Home) -> None:
    path = home.session("one", *pruned())
    (found,) = home.json()["sessions"]
    table = ModelTable.load(Places.of({"HOME": "/nonexistent"}).shipped_data, {})

    def price(model: str, usage: Usage) -> float | None:
        return cost(usage, table.info(model), "5m")

    session = Session.load(path, Context(counter("tiktoken"), token_factor), writable=False)
    books = balance(session.records, session.context, price)
    assert found["saved"] == pytest.approx(books.balance)
    assert found["withheld"] == books.withheld
    done = home.runner.invoke(app, ["sessions", "audit", "one", "--json"])
    audited = json.loads(done.stdout)["summary"]
    assert found["cost"] == pytest.approx(audited["cost"])
    assert found["input"] + found["cache_read"] + found["cache_write"] == audited["prompt_tokens"]
