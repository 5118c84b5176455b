"""The tour: real tools, a real bug, a real prune, and sensible words where something does not go as planned."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer
from prunecli.model.messages import plain_text
from prunecli.providers.demo_tour import (
    BUG,
    FIXED,
    FOLDER,
    GUIDE,
    MEMO,
    PARSER,
    STEP_BY_STEP,
)
from prunecli.util.errors import ToolError
from tests.providers.demo_bench import TOOLS, Bench

WHOLE = [
    ["write", "write"],
    ["ls", "grep"],
    ["read", "read"],
    ["bash"],
    ["edit"],
    ["bash"],
    ["prun_with_memo"],
]


def parser(workspace: Path) -> Path:
    return workspace / FOLDER / "parser.py"


async def test_the_tour_fixes_a_bug_and_prunes_what_it_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    last = await bench.talk("tour")
    assert bench.names() == WHOLE
    assert parser(tmp_path).read_text() == PARSER.replace(BUG, FIXED)
    assert [result.is_error for result in bench.results("bash")] == [True, False]
    assert "FAILED" in plain_text(bench.results("bash")[0].content)
    (prune,) = bench.prunes()
    assert (prune.source, prune.memo) == ("model", MEMO)
    assert prune.tokens_removed > 0
    promised = re.search(r"~[\d,]+ tokens", plain_text(bench.results("prun_with_memo")[0].content))
    assert promised
    assert promised[0] in last
    assert f"> {MEMO}" in last
    for command in ("/prune-stats", "/context", "/undo"):
        assert command in last


async def test_step_by_step_it_waits_for_the_person(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert GUIDE[0] == STEP_BY_STEP
    assert "**Enter** to continue" in await bench.talk(GUIDE[0])
    assert bench.names() == WHOLE[:3]
    assert "**Enter** to look at the context" in await bench.talk(GUIDE[1])
    assert bench.names() == WHOLE[:6]
    assert GUIDE[2] == "/context"
    last = await bench.talk(GUIDE[3])
    assert bench.names() == WHOLE
    assert bench.prunes()[0].memo == MEMO
    for command in GUIDE[4:]:
        assert f"`{command}`" in last


async def test_going_on_where_nothing_waits_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert "not paused" in await bench.talk(GUIDE[1])
    assert bench.names() == []


@pytest.mark.parametrize("folder", ["", "deep/" * 100], ids=["short path", "long path"])
async def test_after_the_prune_the_request_holds_the_memo_and_not_what_the_test_printed(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    bench = Bench(tmp_path / folder)
    await bench.talk("tour")
    asked, _ = bench.provider.exchanged[-1]
    body = b"".join(message.canonical for message in asked.messages)
    assert MEMO.encode() in body
    assert b"FAILED parse('1m5s')" not in body
    assert b"passed, 0 failed" not in body


async def test_the_tour_can_be_taken_twice_in_one_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.talk("tour")
    await bench.talk("tour")
    assert bench.names() == WHOLE * 2
    assert len(bench.prunes()) == 2


async def test_a_later_session_reads_the_files_of_the_tour_before_it_writes_them_anew(tmp_path: Path) -> None:
    await Bench(tmp_path).talk("tour")
    later = Bench(tmp_path)
    await later.talk("tour")
    assert later.names() == [["write", "write"], ["read", "read"], *WHOLE]
    assert [result.is_error for result in later.results("write")] == [True, True, False, False]


async def test_a_file_of_the_user_is_left_alone(tmp_path: Path) -> None:
    parser(tmp_path).parent.mkdir()
    parser(tmp_path).write_text("mine\n")
    bench = Bench(tmp_path)
    last = await bench.talk("tour")
    assert parser(tmp_path).read_text() == "mine\n"
    assert "not a file of the tour" in last
    assert "stop" in last


async def test_a_folder_that_cannot_be_made_stops_the_tour(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file is in the way")
    bench = Bench(tmp_path)
    last = await bench.talk("tour")
    assert bench.names() == [["write", "write"], ["read", "read"]]
    assert last.startswith(f"I could not read `{FOLDER}/parser.py`")
    assert "I'll stop here" in last


@pytest.mark.parametrize(
    ("allowed", "wanted"), [(0, "write"), (2, "run `python3"), (3, "edit"), (4, "run `python3")]
)
async def test_a_denied_step_stops_the_tour(tmp_path: Path, allowed: int, wanted: str) -> None:
    bench = Bench(tmp_path, mode="ask", answers=[Answer("once")] * allowed)
    last = await bench.talk("tour")
    assert last.startswith(f"You did not allow me to {wanted}")
    assert "I'll stop here" in last
    assert "not today" in last
    assert not bench.prunes()


async def test_plan_mode_is_answered_with_its_reason(tmp_path: Path) -> None:
    last = await Bench(tmp_path, mode="plan").talk("tour")
    assert last.startswith(f"I am not allowed to write `{FOLDER}/parser.py`: plan mode is read-only")
    assert not (tmp_path / FOLDER).exists()


async def test_without_python_the_bug_is_fixed_and_the_missing_test_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, path="/nonexistent")
    last = await bench.talk("tour")
    assert bench.names() == [*WHOLE[:5], WHOLE[6]]
    assert parser(tmp_path).read_text() == PARSER.replace(BUG, FIXED)
    said = " ".join(plain_text(event.content) for event in bench.answered())
    assert "The test cannot run here" in said
    assert "It passes" not in said
    assert "/prune-stats" in last


async def test_a_tour_without_its_tools_says_which_are_missing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tools=("read", "write"))
    assert "`edit`, `bash`" in await bench.talk("tour")
    assert bench.names() == []


async def test_tools_that_only_help_are_left_out_where_they_are_not_enabled(tmp_path: Path) -> None:
    needed = Bench(tmp_path / "a", tools=("read", "write", "edit", "bash"))
    needed.workspace.mkdir()
    assert "nothing is pruned" in await needed.talk("tour")
    assert needed.names() == [["write", "write"], ["read", "read"], ["bash"], ["edit"], ["bash"]]
    no_grep = Bench(tmp_path / "b", tools=tuple(tool for tool in TOOLS if tool != "grep"))
    no_grep.workspace.mkdir()
    await no_grep.talk("tour")
    assert no_grep.names() == [["write", "write"], ["ls"], *WHOLE[2:]]


async def test_a_bug_that_someone_else_fixed_is_noticed(tmp_path: Path) -> None:
    class Meddling(Bench):
        async def _ask(self, asked):
            if asked.call.name == "bash":
                parser(tmp_path).write_text(PARSER.replace(BUG, FIXED))
            return Answer("once")

    bench = Meddling(tmp_path, mode="ask")
    assert "someone else fixed the bug" in await bench.talk("tour")
    assert bench.names() == WHOLE[:4]


async def test_an_edit_that_fails_stops_the_tour_with_its_reason(tmp_path: Path) -> None:
    class Meddling(Bench):
        async def _ask(self, asked):
            if asked.call.name == "edit":
                parser(tmp_path).write_text("other\n")
            return Answer("once")

    last = await Meddling(tmp_path, mode="ask").talk("tour")
    assert last.startswith(f"I could not edit `{FOLDER}/parser.py`")
    assert "has changed since you read it" in last


async def test_a_prune_that_removes_nothing_is_not_praised(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def refuse(tokens: int, memo: str | None) -> None:
        raise ToolError("prun is not available here")

    whole = bench._context
    bench.executor.context = lambda **_: replace(whole(), plan_prun=refuse)
    last = await bench.talk("tour")
    assert last.startswith("I could not prune: prun is not available here")
    assert "only the memo" not in last
    assert "/context" in last
