"""`prunecli context`: what the model would see, for sessions, agent-session files and plain messages."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.session.session import Session
from tests.endpoint.rules import Rules
from tests.endpoint.sample import verdict
from tests.test_library import messages

SESSIONS = sorted((Path(__file__).parents[1] / "sessions").glob("*.gz"))


@pytest.fixture
def runner(tmp_path: Path) -> CliRunner:
    return CliRunner(env={"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data")})


def shown(runner: CliRunner, *words: str) -> dict[str, Any]:
    done = runner.invoke(app, ["context", *words, "--json", "--estimator", "chars4"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def plain(tmp_path: Path) -> str:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps({"messages": messages()}))
    return str(path)


def test_plain_messages_are_shown_as_a_strategy_would_send_them(runner: CliRunner, plain: str) -> None:
    found = shown(runner, plain, "--strategy", "keep_last_n_steps", "-o", "n=2")
    assert set(found) == {"messages", "edits", "ledger", "thinking"}
    assert found["thinking"] == {"blocks": 0, "tokens": 0, "dropped_blocks": 0, "dropped_tokens": 0}
    edits = found["edits"]
    assert isinstance(edits, list)
    assert [(edit["kind"], edit["seq"]) for edit in edits] == [("drop", seq) for seq in (1, 3, 5, 7)]
    assert set(edits[0]) == {"kind", "seq", "tool_use_id", "text", "tokens_before", "tokens_after"}
    assert set(found["ledger"]) == {
        "scanned_tokens",
        "pruned_tokens",
        "cleared_tokens",
        "cleared_tool_uses",
        "held_results",
        "held_tokens",
        "protected_results",
        "protected_tokens",
        "context_tokens",
        "window",
    }


def test_text_options_are_taken_as_they_stand(runner: CliRunner, plain: str) -> None:
    words = ("--strategy", "aggressive", "-o", "hard_clear.placeholder=[gone]", "-o", 'tools.deny=["grep"]')
    found = shown(runner, plain, *words, "--no-recall")
    edits = found["edits"]
    assert isinstance(edits, list)
    assert {edit["text"] for edit in edits} == {"[gone]"}
    assert "recall" in str(shown(runner, plain, *words))


def test_at_shows_an_earlier_moment(runner: CliRunner, plain: str) -> None:
    assert len(shown(runner, plain, "--strategy", "no_pruning", "--at", "4")["messages"]) == 5


@pytest.mark.parametrize("source", ["missing.json", "/nowhere/at/all", "no-such-session", "."])
def test_a_source_that_is_not_there_is_said_in_one_line(runner: CliRunner, source: str) -> None:
    done = runner.invoke(app, ["context", source, "--json"])
    assert (done.exit_code, done.stdout) == (4, "")
    assert done.stderr.startswith(("prunecli: no such file", "prunecli: no session"))
    assert source in done.stderr


def test_a_function_that_fails_is_said_beside_the_answer(runner: CliRunner, plain: str) -> None:
    words = ["--strategy", "importance", "-o", "function=no_such_module:score"]
    done = runner.invoke(app, ["context", plain, *words, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["edits"] == []
    assert "no_such_module:score" in done.stderr


def native(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "sessions" / "w" / "mine.jsonl"
    session = Session(SessionStarted("mine", "/w", "m"), Context(Chars4()), path=path)
    session.emit(UserMessage((Text("go"),)))
    session.emit(AssistantMessage((ToolUse("t", "read", {"path": "x"}),)))
    session.emit(ToolResult("t", "read", (Text("long " * 400),)))
    session.emit(AssistantMessage((Text("done"),)))
    session.emit(PrunApplied("user", (Edit("clear", 3, "t", "[was long]", 500, 3),)))
    session.close()
    return path


def test_a_session_shows_its_recorded_edits_and_with_a_strategy_ignores_them(
    runner: CliRunner, tmp_path: Path
) -> None:
    native(tmp_path)
    assert "[was long]" in str(shown(runner, "mine")["messages"])
    assert "[was long]" not in str(shown(runner, "mine", "--strategy", "no_pruning")["messages"])


def test_the_window_is_that_of_the_model_in_use(runner: CliRunner, tmp_path: Path) -> None:
    path = native(tmp_path)
    session = Session.load(path, Context(Chars4()), writable=True)
    changed = session.emit(SettingChanged("model.name", "claude-haiku-4-5")).seq
    session.emit(SettingChanged("model.name", "claude-opus-5-5"))
    session.close()
    assert shown(runner, "mine")["ledger"]["window"] == 1_000_000
    assert shown(runner, "mine", "--at", str(changed))["ledger"]["window"] == 200_000


SHORTENING = ("pi", "aggressive", "keep_last_n_steps", "superseded")
NO_BOUND = Rules(window=10**9, max_images=10**6)
"""Some of the sessions were longer than any window when they were compacted."""


def taken(runner: CliRunner, path: Path, strategy: str) -> str:
    """What the strict endpoint says to the request, "" for nothing."""
    sent = shown(runner, str(path), "--strategy", strategy)["messages"]
    assert isinstance(sent, list)
    if sent[-1]["role"] == "assistant":
        sent = [*sent, {"role": "user", "content": "go on"}]
    return verdict({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": sent}, NO_BOUND)


@pytest.mark.parametrize(
    ("path", "strategy"),
    [(path, SHORTENING[at % len(SHORTENING)]) for at, path in enumerate(SESSIONS)],
    ids=lambda part: part if isinstance(part, str) else part.name.split(".")[0],
)
def test_real_sessions_give_requests_that_the_endpoint_takes(
    runner: CliRunner, path: Path, strategy: str
) -> None:
    assert taken(runner, path, strategy) == ""


@pytest.mark.long
@pytest.mark.parametrize("strategy", SHORTENING)
def test_each_of_them_does_under_each_strategy(runner: CliRunner, strategy: str) -> None:
    assert {path.name: said for path in SESSIONS if (said := taken(runner, path, strategy))} == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"nonsense\n", "line 1"),
        (b'{"messages":[{"role":"user"}]}', "messages.0"),
        (b'{"format":"agent-session/1"}\n{"role":"elf","content":[]}', "line 2"),
        (b"\x1f\x8b not really", "gzip"),
        (gzip.compress(b'{"messages":[{"role":"x","content":"y"}]}', mtime=0), "messages.0"),
    ],
)
def test_what_is_no_source_is_a_clear_error(
    runner: CliRunner, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "source").write_bytes(content)
    done = runner.invoke(app, ["context", str(tmp_path / "source"), "--json"])
    assert done.exit_code == 4
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [("-o", "n=1"), ("--strategy", "magic"), ("--strategy", "pi", "-o", "x"), ("--estimator", "abacus")],
)
def test_wrong_flags_are_exit_code_2(runner: CliRunner, plain: str, words: tuple[str, ...]) -> None:
    assert runner.invoke(app, ["context", plain, *words]).exit_code == 2


def test_an_option_belongs_to_the_strategy_that_it_names_or_to_each_that_has_it(
    runner: CliRunner, plain: str
) -> None:
    for option in ("pi.prune_minimum=1", "prune_minimum=1"):
        words = [plain, "--strategy", "superseded,pi", "-o", option, "-o", "pi.prune_protect=1"]
        assert shown(runner, *words, "-o", "pi.protected_turns=0")["edits"], option
    done = runner.invoke(app, ["context", plain, "--strategy", "auto", "-o", "pi.prune_minimum=1"])
    assert (done.exit_code, "unknown key" in done.output) == (2, True)
    done = runner.invoke(app, ["context", plain, "--strategy", "superseded,pi", "-o", "nope=1"])
    assert (done.exit_code, "unknown key" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("strategy", "option"),
    [
        ("pi", "prune_minimum"),
        ("pi", "prune_protect"),
        ("opencode", "protected_turns"),
        ("token_aware", "max_tokens"),
        ("semantic", "max_tokens"),
        ("adaptive", "min_prunable_tool_chars"),
        ("adaptive", "soft_trim.max_chars"),
        ("prune_old_observations", "max_length"),
    ],
)
def test_no_option_counts_fewer_than_nothing(
    runner: CliRunner, plain: str, strategy: str, option: str
) -> None:
    done = runner.invoke(app, ["context", plain, "--strategy", strategy, "-o", f"{option}=-1"])
    assert done.exit_code == 2
    assert f"pruning.{strategy}.{option}: expected an integer of at least 0, got -1" in done.output


def test_server_clear_leaves_it_to_the_endpoint(runner: CliRunner, plain: str) -> None:
    done = runner.invoke(app, ["context", plain, "--strategy", "server_clear", "-o", "keep=1"])
    assert "server_clear: the endpoint chooses which results it clears" in done.stdout
    assert shown(runner, plain, "--strategy", "server_clear")["edits"] == []


def test_what_fills_it_comes_first_and_the_rows_of_a_proposal_add_up(
    runner: CliRunner, tmp_path: Path
) -> None:
    """The endpoint counts 0.7 tokens for each of ours."""
    session = Session(
        SessionStarted("mine", "/w", "m"),
        Context(Chars4()),
        path=tmp_path / "data" / "sessions" / "w" / "mine.jsonl",
    )
    session.emit(UserMessage((Text("go"),)))
    for number in range(6):
        usage = Usage(700 + 1_400 * number, 10)
        session.emit(AssistantMessage((ToolUse(f"t{number}", "read", {}),), "m", "tool_use", usage))
        session.emit(ToolResult(f"t{number}", "read", (Text("long " * 1_600),)))
    session.close()
    words = ["context", "mine", "--estimator", "chars4", "--strategy", "prune_old_observations", "-o"]
    lines = runner.invoke(app, [*words, "keep_last_n=2"]).stdout.splitlines()
    rows = [re.match(r"\w+ +entry \d+ +~([\d.]+)K → ~(\d+) ", line) for line in lines]
    saved = sum(1_000 * float(row[1]) - float(row[2]) for row in rows if row)
    assert re.fullmatch(r" *[\d.]+K +\d+%  tool results \(read [\d.]+K\)", lines[0])
    shares = [int(row[1]) for line in lines if (row := re.match(r" *[\d.]+K? +(\d+)%  \w", line))]
    assert sum(shares) == pytest.approx(100, abs=3)
    (pruned,) = re.findall(r"pruned ~([\d.]+)K", lines[-1])
    assert saved == pytest.approx(1_000 * float(pruned), abs=250)
    assert 5_000 < saved < 6_000
