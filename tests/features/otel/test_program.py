"""The whole program, headless on the strict endpoint, with a real receiver of OTLP."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.sdk")

from prunecli.model.events import AssistantMessage, AttemptBilled, CompactionApplied
from prunecli.model.messages import Usage
from prunecli.session.log import read_log
from tests import preloaded
from tests.e2e.bound import project
from tests.e2e.tasking import cast, last, task
from tests.e2e.test_twenty_turns import environment
from tests.endpoint import Call, Endpoint, HttpError, Reply, Thinking, serve
from tests.features.otel.collector import Collector, collecting

SECRET = "s3cr3t"
"""Stands in everything that somebody wrote: prompts, answers, paths, commands, contents, errors, names."""
PAGE = Path(__file__).parents[3] / "docs" / "telemetry.md"
CONTENT = {"gen_ai.input.messages", "gen_ai.tool.call.arguments"}
SETS = ("--set", 'permissions.deny=["write(denied.txt)"]', "--set", "otel.enabled=true")

SUMMARIZE = ("--set", "compaction.keep_first_turns=0", "--set", "compaction.keep_recent_turns=1")


def main() -> list[Reply]:
    """An agent that edits, fails, is refused, makes a tool up, starts a task and has results pruned."""
    one = Thinking(f"{SECRET} thoughts.")
    write = Call("write", {"path": f"{SECRET}.txt", "content": f"{SECRET} a\n"})
    return [
        Reply([one, write, Call("edit", {"path": f"{SECRET}.txt", "old_string": " a", "new_string": " b"})]),
        Reply([one, Call("bash", {"command": f"echo {SECRET}; exit 3"})]),
        Reply([one, Call("write", {"path": "denied.txt", "content": SECRET})]),
        Reply([one, Call(f"{SECRET}_tool", {"a": SECRET})]),
        Reply([one, task(f"{SECRET} alpha")]),
        Reply([one, Call("read", {"path": "0.txt"})]),
        Reply([one, Call("prun_with_memo", {"tokens": 10, "memo": f"{SECRET} memo"})]),
        Reply([one, f"{SECRET} done."]),
    ]


def run(
    folder: Path, endpoint: Endpoint, collector: str, words: Sequence[str]
) -> "subprocess.CompletedProcess[str]":
    env = environment(folder, endpoint.base_url) | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=web",
        "OTEL_RESOURCE_ATTRIBUTES": "team.id=web",
    }
    more = ["-p", "--trust", "--permission-mode", "auto", *SETS, *words]
    return preloaded.run(more, cwd=project(folder / "project"), env=env, timeout=120)


def documented() -> set[str]:
    """The names in the tables of the page."""
    rows = [re.sub(r"\([^)]*\)", "", line) for line in PAGE.read_text().splitlines() if line.startswith("|")]
    words = {word for row in rows for word in re.findall(r"`([^`]+)`", row)}
    return {word for word in words if not set(" /") & set(word) and word != "prune"} | {"session.id"}


def seen(collector: Collector) -> set[str]:
    spans = {one.key for span in collector.spans.values() for one in span.attributes}
    points = collector.points
    return spans | {name for name, _, _ in points} | {key for _, _, told in points for key in told}


def test_a_session_arrives_whole_and_without_anything_that_was_written(tmp_path: Path) -> None:
    folder = tmp_path / SECRET
    with collecting() as collector, serve(cast(main(), {"alpha": [last(f"{SECRET} found.")]})) as endpoint:
        done = run(folder, endpoint, collector.url, ["--name", SECRET, f"{SECRET}?"])
        assert (done.returncode, done.stdout) == (0, f"{SECRET} done.\n"), done.stderr
        assert endpoint.rejected == []
        first = collector.points
    with collecting() as failing, serve([HttpError(400, message=f"{SECRET} is wrong")]) as endpoint:
        assert run(folder, endpoint, failing.url, ["-c", "again"]).returncode == 1
    all_of_it = [*SUMMARIZE, "-c", "/compact"]
    with collecting() as summary, serve([f"{SECRET} summary"], default=f"{SECRET} summary") as endpoint:
        assert run(folder, endpoint, summary.url, all_of_it).returncode == 0
    arrived = collector.raw + failing.raw + summary.raw
    assert [body for _, body in arrived if SECRET.encode() in body] == []
    assert collector.headers["x-team"] == "web"
    assert {(one["service.name"], one["team.id"]) for one in collector.resources} == {("prunecli", "web")}
    run_ = "invoke_agent prunecli"
    assert {pair for pair in collector.parents() if "chat" not in pair[0]} == {
        (run_, ""),
        ("invoke_agent explore", "execute_tool task"),
        ("prune", run_),
        *(
            (f"execute_tool {name}", run_)
            for name in ("bash", "edit", "prun_with_memo", "read", "task", "write", "_OTHER")
        ),
    }
    assert {one["gen_ai.provider.name"] for one in collector.chats} == {"anthropic"}
    (bad,) = failing.chats
    assert bad["error.type"] == "BadRequest"
    billed = [told["query_source"] for name, _, told in first if name == "prunecli.token.usage"]
    assert set(billed) == {"main", "subagent"}
    assert {told["query_source"] for _, _, told in summary.points if "query_source" in told} == {"auxiliary"}
    assert summary.parents() == {(f"chat {summary.chats[0]['gen_ai.request.model']}", "")}
    assert tokens(first + summary.points) == logged(folder)
    decisions = {(told["tool_name"], told["decision"]): n for name, n, told in first if "decision" in told}
    assert decisions == {("write", "accept"): 1, ("edit", "accept"): 1, ("write", "reject"): 1}
    starts = [
        told["start_type"] for name, _, told in first + failing.points if name == "prunecli.session.count"
    ]
    assert starts == ["fresh", "resume"]
    assert seen(collector) | seen(failing) == documented() - CONTENT


def tokens(points: list[tuple[str, float, dict[str, str]]]) -> dict[str, float]:
    kinds: dict[str, float] = {}
    for name, amount, told in points:
        if name == "prunecli.token.usage":
            kinds[told["type"]] = kinds.get(told["type"], 0) + amount
    return kinds


def logged(folder: Path) -> dict[str, float]:
    """The tokens that the session and its task were billed for, by their logs."""
    total = Usage(0, 0, 0, 0)
    for path in (folder / "data" / "sessions").rglob("*.jsonl"):
        for record in read_log(path).records:
            match record.event:
                case AttemptBilled(reason="task"):
                    pass
                case (
                    AssistantMessage(usage=usage)
                    | AttemptBilled(usage=usage)
                    | CompactionApplied(usage=usage)
                ):
                    total = total.plus(usage)
    found = {
        "input": total.input_tokens,
        "output": total.output_tokens,
        "cacheRead": total.cache_read_input_tokens,
        "cacheCreation": total.cache_creation_input_tokens,
    }
    return {kind: tokens for kind, tokens in found.items() if tokens}


def test_content_is_the_prompt_and_the_inputs_of_tools_alone(tmp_path: Path) -> None:
    folder = tmp_path / SECRET
    words = ["--set", "otel.content=true", "--name", SECRET, f"{SECRET}?"]
    with collecting() as collector, serve(cast(main(), {"alpha": [last(f"{SECRET} found.")]})) as endpoint:
        assert run(folder, endpoint, collector.url, words).returncode == 0
    secret = {
        one.key: one.value.string_value
        for span in collector.spans.values()
        for one in span.attributes
        if SECRET in str(one.value)
    }
    assert set(secret) == CONTENT
    assert not any(word in text for text in secret.values() for word in ("thoughts", "found.", "done."))


def test_a_collector_that_does_not_answer_costs_a_line(tmp_path: Path) -> None:
    with serve(["Hello."]) as endpoint:
        done = run(tmp_path, endpoint, "http://me:pw@127.0.0.1:1", ["hi"])
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert done.stderr.splitlines() == [
        "prunecli: Telemetry could not be sent to http://***@127.0.0.1:1: ConnectionError."
    ]


def test_a_collector_without_spans_gets_the_metrics(tmp_path: Path) -> None:
    with collecting("/v1/traces") as collector, serve(["Hello."]) as endpoint:
        done = run(tmp_path, endpoint, collector.url, ["hi"])
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert "prunecli.session.count" in {name for name, _, _ in collector.points}
    assert done.stderr.splitlines() == [
        f"prunecli: Telemetry could not be sent to {collector.url}: "
        "Failed to export spans batch code: 404, reason: Not Found."
    ]


RUN = """import os, sys
{before}
from prunecli.__main__ import run
code = run(["-p", "--model", "demo", {words} "list"], dict(os.environ))
print(code, *sorted(one for one in sys.modules if one.startswith(("opentelemetry", "google.protobuf"))))
"""


@pytest.mark.parametrize(
    ("before", "words", "said"),
    [
        ("", "", ""),
        ("", "'--set', 'plugins.disabled=[\"otel\"]',", ""),
        (
            "sys.modules['opentelemetry'] = None",
            "'--set', 'otel.enabled=true',",
            "prunecli: [otel] enabled, but the library is missing: pip install 'prunecli[otel]'. Nothing is sent.\n",
        ),
    ],
)
def test_unless_it_is_on_nothing_of_it_is_imported_and_without_it_the_run_goes_on(
    before: str, words: str, said: str, tmp_path: Path
) -> None:
    script = RUN.format(before=before, words=words)
    env = environment(tmp_path, "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    expected = "0 opentelemetry" if before else "0"
    assert (done.stdout.splitlines()[-1], done.stderr) == (expected, said)
