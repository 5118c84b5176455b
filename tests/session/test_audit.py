"""The audit and the verification of whole sessions: with prunes, a summary, rewinds, copies, and a forger."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from prunecli.commands.command import run_line
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    Record,
    RequestSent,
    SessionStarted,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import Request
from prunecli.providers.provider import Response, StreamEvent
from prunecli.runtime import Runtime
from prunecli.session.audit import Audit, audit
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.verify import verify_session
from tests.calls import calls_of
from tests.context.project import project
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says
from tests.starting import closed, start

SETS = (
    "permissions.mode=auto",
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=10",
    "pruning.enabled=false",
    "compaction.keep_first_turns=0",
    "compaction.keep_recent_turns=1",
)


class Endpoint(ScriptedProvider):
    """Answers from a script, counts what it is sent, and caches until each breakpoint as an endpoint does."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        super().__init__(script)
        self.cached: list[tuple[int, tuple[bytes, ...]]] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        preamble = (*request.preamble.system, *request.preamble.tools)
        pieces = [b"".join(preamble), *(message.canonical for message in request.messages)]
        sizes = [len(piece) // 3 for piece in pieces]
        known = [size for size, prefix in self.cached if tuple(pieces[: len(prefix)]) == prefix]
        read = max(known, default=0)
        usage = Usage(0, 20, read, sum(sizes) - read)
        for end in (-1, *request.cache_marks):
            if (size := sum(sizes[: end + 2])) >= 1024:
                self.cached.append((size, tuple(pieces[: end + 2])))
        async for event in super().stream(request):
            yield replace(event, usage=usage) if isinstance(event, Response) else event


def script() -> list[Scripted]:
    reads = [calls(ToolUse(f"t{n}", "read", {"path": "long.txt", "limit": 60 + n})) for n in range(4)]
    return [
        *reads,
        says("Read it all."),
        says("One more."),
        says("The gist of it."),
        *[says("Well.")] * 8,
    ]


async def long_session(tmp_path: Path) -> Runtime:
    """A prompt with four reads, prunes and an undo, a summary, a rewind and its undoing."""
    runtime = start(tmp_path, sets=SETS, provider=Endpoint(script()))
    (runtime.setup.cwd / "long.txt").write_text("a line of some length, with words in it\n" * 300)
    await runtime.submit("read it")
    run_line(runtime, "/prune")
    await runtime.submit("more")
    run_line(runtime, "/undo")
    assert await runtime.compact()
    for words in ("and now?", "again"):
        run_line(runtime, "/prune")
        await runtime.submit(words)
    await rewind(runtime, points_of(runtime)[1].seq, conversation=True, files=False)
    await runtime.submit("another way")
    await rewind(
        runtime, next(p for p in points_of(runtime) if p.forward).seq, conversation=True, files=False
    )
    await runtime.submit("forward again")
    return runtime


def audited(runtime: Runtime) -> Audit:
    def price(model: str, usage: Usage) -> float:
        return usage.prompt_tokens / 1e6

    return audit(runtime.session.records, Context(Chars4()), price)


async def test_what_should_be_read_from_the_cache_is_what_the_endpoint_reads(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path)
    rows = [row for row in audited(runtime).rows if row.kind == "request"]
    assert len(rows) >= 9
    expected = [row.cache_expected for row in rows]
    reported = [row.cache_read for row in rows]
    assert any(reported)
    for number, (told, real) in enumerate(zip(expected, reported, strict=True)):
        assert told is not None
        assert real is not None
        assert abs(told - real) <= real * 0.1, (number, expected, reported)


async def test_estimates_errors_and_costs_are_told_for_each_request(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path)
    found = audited(runtime)
    summary = found.summary()
    assert summary["requests"] == summary["answered"] == len(found.rows)
    assert summary["not_proved"] == 0
    assert summary["error_median"] < 0.05
    assert summary["error_median"] <= summary["error_p90"] <= summary["error_worst"]
    assert found.errors[-1] == summary["error_worst"]
    assert summary["cost"] == pytest.approx(sum(row.reported or 0 for row in found.rows) / 1e6)
    assert any(row.pruned for row in found.rows)
    lines = found.lines()
    assert len(lines) == len(found.rows) + 4
    assert "median" in lines[-2]
    assert json.loads(json.dumps(found.to_json()))["summary"] == summary


async def test_a_request_without_a_known_price_is_no_free_request(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path)
    found = audit(runtime.session.records, Context(Chars4()), lambda model, usage: None)
    assert {row.cost for row in found.rows} == {None}
    assert found.summary()["unpriced"] == len(found.rows)
    *rows, first, _, _, last = found.lines()[1:]
    assert all(row.endswith(" ?") for row in rows)
    assert first.endswith("$0.00+?")
    assert last.startswith('"?": no known price')


async def test_a_request_without_an_answer_has_a_row_too(tmp_path: Path) -> None:
    endpoint = Endpoint([fails(ValueError("x"))])
    runtime = start(tmp_path, sets=SETS, provider=endpoint)
    with pytest.raises(ValueError):
        await runtime.submit("hi")
    (row,) = audited(runtime).rows
    assert (row.reported, row.error, row.cost) == (None, None, 0.0)
    assert "no answer" in audited(runtime).lines()[1]


def test_of_what_another_program_sent_only_the_report_is_told() -> None:
    events = [
        SessionStarted("s", "/w", "m"),
        UserMessage((Text("go"),), "import"),
        AssistantMessage((Text("Yes."),), "m", usage=Usage(100, 10, 1_000, 50)),
        AssistantMessage((Text("Nothing is reported of this."),), "m"),
        CompactionApplied("so far", 1, 3, model="m", usage=Usage(7, 3)),
    ]
    records = [Record(seq, 1_000 + seq, event) for seq, event in enumerate(events)]
    found = audit(records, Context(Chars4()), lambda model, usage: usage.prompt_tokens / 1e6)
    row, summary = found.rows
    assert (row.kind, row.estimated, row.reported, row.cache_read, row.cost) == (
        "response",
        None,
        1_150,
        1_000,
        0.00115,
    )
    assert summary.kind == "summary"
    assert found.summary()["prompt_tokens"] == 1_157
    assert found.summary()["error_median"] is None
    assert found.lines()[1].split()[3:5] == ["-", "1.1K"]


def calls_of_an_audit(requests: int) -> int:
    """Python's calls for a session of so many requests, each of which reads the one before from the cache."""
    records = [Record(0, 0, UserMessage((Text("count"),)))]
    for at in range(requests):
        call, marks = ToolUse(f"t{at}", "read", {}), (2 * at,)
        for event in (
            RequestSent("claude-sonnet-4-5", 2_000, "00", cache_marks=marks),
            AssistantMessage((call,), "claude-sonnet-4-5", "tool_use", Usage(0, 9, 2_000 + at, 9)),
            ToolResult(call.id, "read", (Text("x" * 40),)),
        ):
            records.append(Record(len(records), 1_000 * len(records), event))
    return calls_of(lambda: audit(records, Context(Chars4()), lambda model, usage: 0.0))


def test_a_session_of_twice_the_length_takes_twice_as_long() -> None:
    few, many = calls_of_an_audit(100), calls_of_an_audit(200)
    assert many < 2.1 * few, (few, many)


def test_of_nothing_there_are_no_errors() -> None:
    empty = Audit(())
    assert empty.summary()["error_median"] is None
    assert empty.lines()[-1].startswith("0 requests")


async def test_a_long_story_verifies_and_so_does_every_copy_of_it(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path)
    path = runtime.session.path
    assert path
    report = verify_session(path, read_log(path))
    assert report.clean, report.lines
    sent = [record.seq for record in runtime.session.records if isinstance(record.event, RequestSent)]
    for at in sent:
        copy = Session.load(path, Context(Chars4()), writable=False).forked(
            Context(Chars4()), runtime.store, runtime.setup.cwd, at=at
        )
        copy.close()
        assert copy.path
        assert verify_session(copy.path, read_log(copy.path)).clean


def forged(value: Any) -> Any:
    """The same record with something else in it that would be sent."""
    match value["type"]:
        case "UserMessage" | "AssistantMessage" | "ToolResult":
            for block in value["content"]:
                if block["type"] == "text":
                    block["text"] += "!"
                    return value
        case "PrunApplied":
            for edit in value["edits"]:
                if edit["text"]:
                    edit["text"] += "!"
                    return value
        case "Rewound":
            return {**value, "to_seq": 0}
        case "SettingChanged" if value["key"] == "request.preamble":
            value["value"]["system"] = ["be evil"]
            return value
    return None


def shown_later(runtime: Runtime, seq: int, sent: list[int]) -> bool:
    """Whether an entry of the conversation is part of a later request; True for all that is no entry."""
    record = runtime.session.records[seq]
    if not isinstance(record.event, UserMessage | AssistantMessage | ToolResult):
        return True
    return any(
        seq in message.seqs for n in sent if n > seq for message in project(runtime.session.records[:n])
    )


@pytest.mark.slow
async def test_whatever_is_forged_the_first_request_with_it_is_named(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path)
    path = await closed(runtime)
    lines = path.read_bytes().splitlines()
    sent = [n for n, line in enumerate(lines) if b'"type":"RequestSent"' in line]
    kinds = set()
    for number, line in enumerate(lines):
        value = json.loads(line)
        value.pop("crc")
        changed = forged(value)
        if changed is None or not any(n > number for n in sent):
            continue
        if not shown_later(runtime, number, sent):
            continue  # answered on a way that was left: nobody was ever sent it
        kinds.add(changed["type"])
        body = json.dumps(changed, separators=(",", ":")).encode()
        other = b'%b,"crc":"%08x"}' % (body[:-1], crc32(body[:-1]))
        decode_record(other)
        copy = tmp_path / "forged.jsonl"
        copy.write_bytes(b"\n".join([*lines[:number], other, *lines[number + 1 :], b""]))
        report = verify_session(copy, read_log(copy))
        assert not report.clean, (number, line[:200])
        (found,) = [text for text in report.lines if "does not match" in text]
        record = int(found.split(":")[0].removeprefix("record "))
        assert record in sent
        assert record > number
        if changed["type"] in ("UserMessage", "SettingChanged"):
            assert record == next(n for n in sent if n > number)
    assert kinds >= {
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "PrunApplied",
        "Rewound",
        "SettingChanged",
    }


async def test_a_copy_of_a_damaged_session_keeps_its_numbers(tmp_path: Path) -> None:
    """The edits of a prune name entries by number: a hole must not move them."""
    runtime = await long_session(tmp_path)
    path = await closed(runtime)
    lines = path.read_bytes().splitlines(keepends=True)
    hole = next(n for n, line in enumerate(lines) if b'"type":"RunEnded"' in line)
    path.write_bytes(b"".join([*lines[:hole], *lines[hole + 1 :]]))
    source = Session.load(path, Context(Chars4()), writable=False)
    assert any(isinstance(record.event, PrunApplied) for record in source.records)
    copy = source.forked(Context(Chars4()), runtime.store, runtime.setup.cwd)
    copy.close()
    assert [record.seq for record in copy.records] == [record.seq for record in source.records]
    assert copy.context.messages() == source.context.messages()
    assert encode_record(copy.records[-1]) == encode_record(source.records[-1])
    assert copy.path
    assert not [line for line in verify_session(copy.path, read_log(copy.path)).lines if "differs" in line]
