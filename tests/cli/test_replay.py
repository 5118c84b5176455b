"""`prunecli replay`: sources, flags, output and errors."""

import gzip
import json
import os
import re
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.context.expectations import Expectations
from prunecli.features.replay.subcommand import _each
from prunecli.features.replay.working import each_session
from prunecli.model.events import AssistantMessage, Record, SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.model.record_codec import encode_record
from tests.files import put
from tests.session.importers.packing import compress
from tests.sessions import SESSIONS

SMALL = [path for path in SESSIONS if path.stat().st_size < 8_000]
KEYS = [
    "strategy",
    "gate",
    "requests",
    "tokens",
    "peak",
    "cache_read",
    "cache_write",
    "cost",
    "cost_with_rereads",
    "cache_breaks",
    "pruned_results",
    "spilled_results",
    "regret",
    "edit_regret",
    "thinking_breaks",
]


@pytest.fixture
def runner(tmp_path: Path) -> CliRunner:
    return CliRunner(env={"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data")})


def shown(runner: CliRunner, *words: str) -> dict[str, Any]:
    done = runner.invoke(app, ["replay", *map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(runner: CliRunner, *words: str) -> str:
    done = runner.invoke(app, ["replay", *map(str, words)])
    assert done.exit_code in (2, 4), done.output
    assert done.stdout == ""
    return done.stderr


def test_a_row_has_the_documented_figures(runner: CliRunner) -> None:
    found = shown(runner, SMALL[0], "--strategy", "auto,pi", "--strategy", "opencode")
    assert [row["strategy"] for row in found["totals"]] == ["no_pruning", "auto", "pi", "opencode"]
    for row in found["totals"]:
        assert [key for key in row if key in KEYS] == KEYS
    assert [row["spill"] for row in found["totals"]] == [False, True, False, False]
    assert {row["session"] for row in found["sessions"]} == {SMALL[0].name.removesuffix(".jsonl.gz")}
    assert found["validation"]["prompt_error_median"] < 0.01


def test_a_strategy_that_is_given_twice_is_played_once(runner: CliRunner) -> None:
    found = shown(runner, SMALL[0], "--strategy", "pi, no_pruning,pi", "--strategy", "pi", "--spill")
    rows = [(row["strategy"], row["spill"]) for row in found["totals"]]
    assert rows == [("no_pruning", False), ("pi", True), ("no_pruning", True)]
    assert len({row["requests"] for row in found["totals"]}) == 1


def test_all_strategies_that_edit_are_played_by_default(runner: CliRunner) -> None:
    names = [row["strategy"] for row in shown(runner, SMALL[0])["totals"]]
    assert names[:2] == ["no_pruning", "auto"]
    assert {"pi", "opencode", "adaptive", "aggressive", "superseded", "importance"} <= set(names)
    assert "server_clear" not in names


def test_a_recording_with_another_cache_lifetime_is_told(runner: CliRunner, tmp_path: Path) -> None:
    head, *rows = gzip.decompress(SMALL[0].read_bytes()).decode().splitlines()
    for name, hour in (("long", 30), ("short", 0)):
        said = [json.loads(row) for row in rows]
        for one in said:
            if one["role"] == "assistant":
                one["usage"] = {
                    "input_tokens": 1,
                    "cache_creation_input_tokens": 30,
                    "cache_creation_1h": hour,
                }
        (tmp_path / f"{name}.jsonl").write_text("\n".join([head, *map(json.dumps, said)]))

    def told(name: str, *more: str) -> bool:
        asked = ["replay", str(tmp_path / f"{name}.jsonl"), "--strategy", "no_pruning", *more]
        return "some sessions were recorded with a" in runner.invoke(app, asked).stderr

    assert told("long")
    assert not told("long", "--cache-ttl", "1h")
    assert not told("short")
    assert told("short", "--cache-ttl", "1h")


def test_a_recording_without_timestamps_is_told(runner: CliRunner, tmp_path: Path) -> None:
    head, *rows = gzip.decompress(SMALL[0].read_bytes()).decode().splitlines()
    said = [json.loads(row) for row in rows]
    for name, text in {"timed": rows, "untimed": [json.dumps({**one, "ts": None}) for one in said]}.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join([head, *text]))
    messages = [{"role": role, "content": "hello"} for role in ("user", "assistant") * 2]
    (tmp_path / "messages.json").write_text(json.dumps({"messages": messages}))

    def told(name: str) -> bool:
        asked = ["replay", str(tmp_path / name), "--strategy", "no_pruning"]
        return "some sessions have no timestamps" in runner.invoke(app, asked).stderr

    assert told("untimed.jsonl")
    assert told("messages.json")
    assert not told("timed.jsonl")


def test_folders_are_searched_and_the_same_file_counts_once(runner: CliRunner, tmp_path: Path) -> None:
    folder = tmp_path / "some" / "deep" / "folder"
    folder.mkdir(parents=True)
    for path in SMALL[:2]:
        shutil.copy(path, folder)
    (folder / "plain.jsonl").write_bytes(gzip.decompress(SMALL[0].read_bytes()))
    found = shown(runner, tmp_path / "some", folder, "--strategy", "no_pruning")
    assert len(found["sessions"]) == 3


def test_a_file_counts_once_however_it_is_named(
    runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(shutil.copy(SMALL[0], tmp_path / "one.jsonl.gz"))
    (tmp_path / "link.jsonl.gz").symlink_to(file)
    found = shown(runner, "one.jsonl.gz", "./one.jsonl.gz", file, tmp_path, "--strategy", "no_pruning")
    assert [row["session"] for row in found["sessions"]] == ["one"]


def test_a_file_that_is_packed_with_zstd_is_replayed_under_its_plain_name(
    runner: CliRunner, tmp_path: Path
) -> None:
    (tmp_path / "one.jsonl.zst").write_bytes(compress(gzip.decompress(SMALL[0].read_bytes())))
    [row] = shown(runner, tmp_path, "--strategy", "no_pruning")["sessions"]
    [same] = shown(runner, SMALL[0], "--strategy", "no_pruning")["sessions"]
    assert row == {**same, "session": "one"}
    (tmp_path / "one.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    assert "one.jsonl.zst: damaged zstd file: truncated" in refused(runner, tmp_path / "one.jsonl.zst")


def test_agents_without_sessions_are_named_while_others_are_replayed(
    runner: CliRunner, tmp_path: Path
) -> None:
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(gzip.decompress(SMALL[0].read_bytes()))
    (tmp_path / "empty").mkdir()
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    put(database, "damaged")
    sources = ("@claude", "@codex", "@opencode", str(tmp_path / "empty"))
    done = runner.invoke(app, ["replay", *sources, "--strategy", "no_pruning", "--json"])
    assert [row["session"] for row in json.loads(done.stdout)["sessions"]] == ["a"]
    assert done.stderr.startswith(
        f"prunecli: cannot read {database}: not an OpenCode database: file is not a database\n"
        "prunecli: @codex: no sessions of this agent on this machine\n"
        "prunecli: @opencode: no sessions of this agent on this machine\n"
        f"prunecli: no session files in {tmp_path}/empty\n"
    )
    assert "cannot read" in refused(runner, "@codex", "@opencode")


def test_several_processes_give_what_one_gives(runner: CliRunner) -> None:
    together = shown(runner, *SMALL, "--strategy", "auto")
    alone = [row for path in SMALL for row in shown(runner, path, "--strategy", "auto")["sessions"]]
    key = lambda row: (row["session"], row["strategy"] != "no_pruning")  # noqa: E731
    assert sorted(together["sessions"], key=key) == sorted(alone, key=key)


def test_prices_follow_the_flags(runner: CliRunner) -> None:
    base = (SMALL[0], "--strategy", "no_pruning", "--fixed-tokens", "5000")
    cheap = shown(runner, *base, "--model", "claude-sonnet-4-5", "--read-price", "0", "--write-price", "1")
    row = cheap["totals"][0]
    assert row["cost"] == pytest.approx(row["cache_write"] * 3 / 1e6)
    hour = shown(runner, *base, "--model", "claude-sonnet-4-5", "--cache-ttl", "1h")["totals"][0]
    assert hour["cost"] == pytest.approx((hour["cache_read"] * 0.3 + hour["cache_write"] * 6) / 1e6)
    assert shown(runner, *base[:3], "--fixed-tokens", "9000")["totals"][0]["peak"] > row["peak"]


def test_spill_can_be_chosen_apart_from_the_strategy(runner: CliRunner) -> None:
    rows = shown(runner, SMALL[0], "--strategy", "auto,no_pruning", "--spill")["totals"]
    assert [(row["strategy"], row["spill"]) for row in rows] == [
        ("no_pruning", False),
        ("auto", True),
        ("no_pruning", True),
    ]
    rows = shown(runner, SMALL[0], "--strategy", "auto", "--no-spill")["totals"]
    assert [row["spill"] for row in rows] == [False, False]


@pytest.mark.parametrize(
    ("words", "second"),
    [
        ("--strategy auto", "No strategy would have cost less than"),
        ("--strategy keep_last_n_steps -o keep_last_n_steps.n=2", "Would have saved"),
    ],
)
def test_the_table_answers_in_its_first_lines(runner: CliRunner, words: str, second: str) -> None:
    path = next(path for path in SMALL if path.name.startswith("opencode"))
    done = runner.invoke(app, ["replay", str(path), *words.split()])
    assert done.exit_code == 0
    cheapest, answer, risk = done.stdout.splitlines()[:3]
    assert cheapest.startswith("Cheapest: ")
    assert answer.startswith(second)
    assert risk.startswith("Risk: ")


def test_a_model_without_a_price_is_counted_at_that_of_the_configured_one(runner: CliRunner) -> None:
    path = next(path for path in SMALL if path.name.startswith("opencode"))
    done = runner.invoke(app, ["replay", str(path), "--strategy", "pi", "--json"])
    assert "no known price, using that of claude-sonnet-5-5" in done.stderr
    assert json.loads(done.stdout)["totals"][0]["cost"] > 0


def test_the_page_holds_the_plots_and_escapes_what_a_session_says(runner: CliRunner, tmp_path: Path) -> None:
    evil = tmp_path / "a<b>&'\" <script>alert(1).jsonl"
    evil.write_bytes(gzip.decompress(SMALL[0].read_bytes()))
    page = tmp_path / "page.html"
    done = runner.invoke(app, ["replay", str(evil), "--strategy", "auto", "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert "alert(1)" in text
    assert "<script>alert" not in text
    data = text.partition('id="data">')[2].partition("</script>")[0]
    plays = json.loads(data)["sessions"][0]["plays"]
    assert [play["name"] for play in plays] == ["no_pruning", "auto"]
    assert all(len(layer) == len(play["cost"]) for play in plays for layer in play["layers"])
    assert "Cost so far</h3><p class=dim>Without fetching removed content again." in text
    assert "5m cache · models and prices as recorded" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_the_fit_is_a_file_that_replay_and_the_program_take(runner: CliRunner, tmp_path: Path) -> None:
    to = tmp_path / "fit.json"
    done = runner.invoke(app, ["replay", *map(str, SMALL[:2]), "--fit", str(to)])
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    Expectations.of(json.loads(to.read_text()))
    printed = runner.invoke(app, ["replay", str(SMALL[0]), "--fit"])
    Expectations.of(json.loads(printed.stdout))
    shown(runner, SMALL[0], "--strategy", "auto", "--expectations", str(to))


def test_the_users_own_numbers_win(runner: CliRunner, tmp_path: Path) -> None:
    own = tmp_path / ".config" / "prunecli" / "expectations.json"
    put(own, "{}")
    said = refused(runner, SMALL[0], "--strategy", "auto")
    assert f"{own}: not a table of expectations: no 'quoted'" in said
    assert "prunecli replay --fit" in said
    for text, why in (
        ("null", "a value has the wrong type"),
        ("[" * 100_000, "nested more than"),
        ('{"quoted": {}, "least_held": 1e400}', "1e400 is too large"),
    ):
        own.write_text(text)
        assert why in refused(runner, SMALL[0], "--strategy", "auto")


def test_a_damaged_file_of_numbers_can_be_fitted_again(runner: CliRunner, tmp_path: Path) -> None:
    own = tmp_path / ".config" / "prunecli" / "expectations.json"
    put(own, "{")
    done = runner.invoke(app, ["replay", str(SMALL[0]), "--fit"])
    assert done.exit_code == 0, done.output
    Expectations.of(json.loads(done.stdout))


def test_a_fit_never_overwrites_a_session(runner: CliRunner, tmp_path: Path) -> None:
    session = tmp_path / "session.json"
    shutil.copy(SMALL[0], session)
    said = refused(runner, "--fit", str(session), SMALL[0])
    assert "this file exists and was not made by --fit" in said
    assert session.read_bytes() == SMALL[0].read_bytes()
    session.write_text("")
    for _ in range(2):
        done = runner.invoke(app, ["replay", str(SMALL[0]), "--fit", str(session)])
        assert done.exit_code == 0, done.output


def test_a_page_replaces_only_a_page(runner: CliRunner, tmp_path: Path) -> None:
    session, page, pipe = (tmp_path / name for name in ("session.jsonl", "page.html", "pipe"))
    shutil.copy(SMALL[0], session)
    assert f"{session} already exists, and is not an HTML page" in refused(
        runner, "--html", str(session), SMALL[0]
    )
    assert session.read_bytes() == SMALL[0].read_bytes()
    os.mkfifo(pipe)
    assert f"{pipe} is not a regular file" in refused(runner, "--html", str(pipe), SMALL[0])
    page.touch()
    for _ in range(2):
        done = runner.invoke(app, ["replay", str(SMALL[0]), "--strategy", "pi", "--html", str(page)])
        assert done.exit_code == 0, done.output


def test_outputs_are_checked_before_anything_is_replayed(runner: CliRunner, tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "none" / "page.html"):
        said = refused(runner, "nothing.jsonl", "--html", str(name))
        assert str(name) in said
        assert "no such file: nothing" not in said
    said = refused(runner, "nothing.jsonl", "--fit", str(tmp_path / "none" / "fit.json"))
    assert "none/fit.json: No such file" in said
    assert "--fit: cannot be used with --html" in refused(runner, "x", "--fit", "--html", "page.html")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.jsonl"], "no such file: nothing.jsonl"),
        (["nobody"], "nobody"),
        (["@nobody"], "use @claude, @codex, @pi, @gemini, @opencode"),
        (["@claude"], "@claude: no sessions of this agent on this machine"),
        (["@claude"], "name the files or folders of its sessions, if they are elsewhere"),
        (["SMALL", "--strategy", "nothing"], "nothing"),
        (["SMALL", "--strategy", " ,"], "--strategy: no strategy given"),
        (
            ["SMALL", "--strategy", "server_clear"],
            "server_clear: a replay can't show what the endpoint clears",
        ),
        (["SMALL", "--strategy", "pi+server_clear"], "server_clear: a replay can't show"),
        (["SMALL", "--gate", "sometimes"], "--gate: expected always or cache_aware, got 'sometimes'"),
        (["SMALL", "--cache-ttl", "1d"], "--cache-ttl: expected 5m or 1h, got '1d'"),
        (["SMALL", "--model", "gpt-unknown"], "--model gpt-unknown: no known prices"),
        (["SMALL", "--read-price", "-1"], "--read-price"),
        (["SMALL", "--read-price", "inf"], "--read-price: expected a number, got inf"),
        (["SMALL", "--write-price", "1e400"], "--write-price: expected a number, got inf"),
        (["SMALL", "-o", "n=1"], "-o: no strategy given"),
        (["SMALL", "--strategy", "pi", "-o", "pi.nothing=1"], "nothing"),
        (["SMALL", "--expectations", "no.json"], "--expectations: no such file: no.json"),
        (["SMALL", "--expectations", "DAMAGED"], "not a table of expectations"),
        (["SMALL", "--expectations", "DAMAGED"], "create one with --fit FILE"),
        (["SMALL", "--html", "-"], "--html -: a page can't go to standard output"),
        (["EMPTY"], "no session files in"),
        (["DAMAGED"], "no session could be replayed"),
        (["/dev/null"], "/dev/null: not a regular file"),
    ],
)
def test_what_cannot_be_replayed_is_said(
    runner: CliRunner, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.jsonl").write_text("not json\n")
    places = {"SMALL": SMALL[0], "EMPTY": tmp_path / "empty", "DAMAGED": tmp_path / "damaged.jsonl"}
    given = [str(places.get(word, word)) for word in words]
    assert said in refused(runner, *given)


def test_a_strategy_of_the_user_that_fails_is_told(runner: CliRunner, tmp_path: Path) -> None:
    own = tmp_path / ".config" / "prunecli" / "strategies" / "own.py"
    put(
        own,
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True, slots=True)\nclass Options:\n    pass\n\n\n"
        "def propose(view, options):\n    return 1 / 0\n",
    )
    done = runner.invoke(app, ["replay", str(SMALL[0]), "--strategy", "own"])
    assert done.exit_code == 0, done.output
    assert "prunecli: strategy own: ZeroDivisionError: division by zero (own.py, line 10)\n" in done.stderr


def test_a_damaged_session_costs_only_itself(runner: CliRunner, tmp_path: Path) -> None:
    whole = [Record(0, 1, SessionStarted("s", "/w", "m")), Record(1, 2, UserMessage((Text("hi"),)))]
    more = Record(2, 3, AssistantMessage((Text("hello"),), "m"))
    asked, answered = (b"".join(map(encode_record, one)) for one in (whole, [*whole, more]))
    files = {
        "damaged.jsonl": b"not json\n",
        "wrong.json": b"[1, 2]",
        "silent.jsonl": asked,
        "worn.jsonl": answered + b"{\n{\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / "gone.jsonl").symlink_to("nowhere")
    paths = [*(str(tmp_path / name) for name in files), str(tmp_path / "lost")]
    done = runner.invoke(app, ["replay", *paths, str(SMALL[0]), "--strategy", "pi", "--json"])
    assert done.exit_code == 0
    assert "damaged.jsonl: line 1" in done.stderr
    assert f"prunecli: {tmp_path}/lost/gone.jsonl: No such file or directory\n" in done.stderr
    assert "wrong.json: line 1: messages.0: not in the expected form" in done.stderr
    assert "left out 1 session without an answer: silent" in done.stderr
    assert re.search(rf"{tmp_path}/worn\.jsonl: line 4.*, and 1 more", done.stderr)
    report = json.loads(done.stdout)
    assert len(report["sessions"]) == 4
    assert done.stderr.splitlines() == [f"prunecli: {notice}" for notice in report["notices"]]

    found = json.loads(runner.invoke(app, ["context", str(tmp_path / "worn.jsonl"), "--json"]).stdout)
    assert "line 4" in " ".join(found["notices"])


def test_own_sessions_are_those_of_prunecli_and_the_table_says_what_it_assumes(
    runner: CliRunner, tmp_path: Path
) -> None:
    events = (
        SessionStarted("s", "/w", "m"),
        UserMessage((Text("hi"),)),
        AssistantMessage((Text("hello"),), "m"),
    )
    own = tmp_path / "own.jsonl"
    own.write_bytes(b"".join(encode_record(Record(seq, seq + 1, one)) for seq, one in enumerate(events)))
    words = (str(own), "--strategy", "auto", "--model", "opus", "--window", "100000", "--read-price", "0.05")
    assert {row["agent"] for row in shown(runner, *words)["sessions"]} == {"prunecli"}
    said = runner.invoke(app, ["replay", *words, "--fixed-tokens", "5000"]).stdout
    assert "gate cache_aware · 5m cache · model claude-opus-5-5 · read price 0.05 · window 100K" in said
    assert "· system prompt and tools 5.0K" in said


def test_foreign_files_of_a_folder_share_a_line(runner: CliRunner, tmp_path: Path) -> None:
    shutil.copy(SMALL[0], tmp_path)
    for number in range(6):
        (tmp_path / f"{number}.json").write_text('{\n  "name": "not a session"\n}\n')
    (tmp_path / "a.jsonl").write_text('{"type":"user","sessionId":"s","uuid":"u","message":{"role": "us\n')
    done = runner.invoke(app, ["replay", str(tmp_path), "--strategy", "no_pruning", "--cache-ttl", "1h"])
    assert done.stderr.splitlines()[-1] == (
        f"prunecli: left out 7 files in an unknown format, such as {tmp_path}/0.json"
    )
    (tmp_path / "5.json").unlink()
    (tmp_path / "4.json").unlink()
    done = runner.invoke(app, ["replay", str(tmp_path), "--strategy", "no_pruning", "--cache-ttl", "1h"])
    assert f"prunecli: {tmp_path}/0.json: line 1: unknown session format\n" in done.stderr
    assert (
        "a.jsonl: line 1: unknown session format (Unterminated string starting at column 62)" in done.stderr
    )


def test_a_fit_without_any_session_is_an_error(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "damaged.jsonl").write_text("not json\n")
    assert "no session could be replayed" in refused(runner, str(tmp_path), "--fit")


def kept(number: int, stage: Path, path: Path) -> Path:
    """A job that is suspended and never ends. The first one ends the program that started it."""
    (stage / f"{os.getpid()}.pid").touch()
    try:
        (stage / "sent").touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        os.kill(os.getppid(), number)
    os.kill(os.getpid(), signal.SIGSTOP)
    return path


@pytest.mark.parametrize("starting", [True, False])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_processes_at_once(
    number: signal.Signals, starting: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make = partial(kept, number, tmp_path, tmp_path) if starting else partial(Path, tmp_path)
    handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, handler)  # it is ignored if the tests run in the background
    try:
        with pytest.raises(typer.Exit) as stopped:
            _each(SMALL[:4], lambda files, job: each_session(files, make, job), partial(kept, number))
        assert signal.getsignal(number) == handler
    finally:
        signal.signal(number, before)
    assert stopped.value.exit_code == 128 + number
    assert capfd.readouterr().err == "prunecli: stopped after 0 of 4 sessions\n"
    started = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert started
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_signal_that_is_ignored_stays_ignored(runner: CliRunner) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as with nohup
    try:
        shown(runner, SMALL[0], "--strategy", "auto")
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
