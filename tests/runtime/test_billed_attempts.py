"""What an attempt cost that was cut, or stopped before any text: the same figure everywhere, also after a resume."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import prunecli
from prunecli.commands.command import Table, run_line
from prunecli.context.bill import Bill
from prunecli.context.spending import paid
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.subagents.task_records import bill
from prunecli.front.headless.run import run_headless
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    Record,
    RequestSent,
    SessionStarted,
    SettingChanged,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import Request
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Begun, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.runtime import Runtime
from prunecli.runtime.offered_models import PRICES
from prunecli.runtime.sessions import Costs
from prunecli.session.audit import audit
from prunecli.session.digest import Digest
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.verify import verify_session
from prunecli.util.errors import ConnectionLost, Overloaded, ProviderError
from tests.scripted import Scripted, ScriptedProvider, calls, says
from tests.starting import closed, start
from tests.waiting import DEADLINE

OPUS = "claude-opus-5-5"
SETS = ("model.name=claude-opus-5-5", "permissions.mode=auto")
LOST = Usage(3, 9, 1_000, 20_000)
NEXT = Usage(5, 40, 21_000, 300)
TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")


class Endpoint(ScriptedProvider):
    """Each attempt of `begins` reports its usage, streams its deltas, then fails or never ends; then the script."""

    def __init__(
        self,
        begins: Sequence[tuple[Usage | None, Sequence[StreamEvent], ProviderError | None]],
        script: Sequence[Scripted] = (),
    ) -> None:
        super().__init__(script)
        self.begins = list(begins)
        self.waiting = asyncio.Event()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        if not self.begins:
            async for event in super().stream(request):
                yield event
            return
        usage, deltas, error = self.begins.pop(0)
        if usage:
            yield Begun(usage)
        for delta in deltas:
            yield delta
        if error:
            raise error
        self.waiting.set()
        await asyncio.Event().wait()


def billed(runtime: Runtime) -> list[AttemptBilled]:
    return [one.event for one in runtime.session.records if isinstance(one.event, AttemptBilled)]


async def stopped(runtime: Runtime, provider: Endpoint) -> None:
    """Submit a prompt and interrupt it while the endpoint keeps it waiting."""
    working = asyncio.ensure_future(runtime.submit("go"))
    await asyncio.wait_for(provider.waiting.wait(), DEADLINE)
    runtime.interrupt()
    await working


def everywhere(runtime: Runtime) -> dict[str, tuple[int, int]]:
    """Prompt and output tokens of the session as each place tells them."""
    path = runtime.session.path
    assert path is not None
    records = runtime.session.records
    digest = Digest()
    for line in path.read_bytes().splitlines(keepends=True):
        digest.take(line)
    usages = list(digest.usage().values())
    found = audit(records, Context(Chars4()), runtime.choices.price).summary()
    rows = paid(records, runtime.choices.known_price)
    return {
        "status": (runtime.bill.prompt_tokens, runtime.bill.output_tokens),
        "resumed": (
            runtime.billed(Bill(), list(read_log(path).records), runtime.session.context).prompt_tokens,
            runtime.billed(Bill(), list(read_log(path).records), runtime.session.context).output_tokens,
        ),
        "list": (sum(one.prompt_tokens for one in usages), sum(one.output_tokens for one in usages)),
        "audit": (found["prompt_tokens"], found["output_tokens"]),
        "cost": (sum(one.usage.prompt_tokens for one in rows), sum(one.usage.output_tokens for one in rows)),
    }


async def test_a_cut_stream_that_is_tried_again_is_billed_beside_the_answer(tmp_path: Path) -> None:
    answer = replace(says("Done."), usage=NEXT)
    provider = Endpoint([(LOST, [TextDelta("Half of")], ConnectionLost("gone"))], [answer])
    runtime = start(tmp_path, sets=(*SETS, "model.max_tokens=100"), provider=provider)
    await runtime.submit("go")
    assert billed(runtime) == [AttemptBilled(OPUS, LOST, "cut")]
    expected = LOST.prompt_tokens + NEXT.prompt_tokens, LOST.output_tokens + NEXT.output_tokens
    assert set(everywhere(runtime).values()) == {expected}
    price = runtime.choices.price
    assert runtime.bill.cost == pytest.approx(price(OPUS, LOST) + price(OPUS, NEXT))
    assert runtime.bill.cost > price(OPUS, NEXT)
    await runtime.close()


@pytest.mark.parametrize(
    "deltas", [(), (ThinkingDelta("Let me see"),), (ToolCallDelta("t", "read"), TextDelta(" \n"))]
)
async def test_an_answer_that_is_stopped_before_any_text_is_billed(
    tmp_path: Path, deltas: Sequence[StreamEvent]
) -> None:
    provider = Endpoint([(LOST, deltas, None)], [replace(says("Done."), usage=NEXT)])
    runtime = start(tmp_path, sets=SETS, provider=provider)
    await stopped(runtime, provider)
    assert billed(runtime) == [AttemptBilled(OPUS, LOST, "stopped")]
    assert set(everywhere(runtime).values()) == {(LOST.prompt_tokens, LOST.output_tokens)}
    await runtime.submit("again")
    expected = LOST.prompt_tokens + NEXT.prompt_tokens, LOST.output_tokens + NEXT.output_tokens
    assert set(everywhere(runtime).values()) == {expected}
    await runtime.close()


async def test_an_attempt_that_was_refused_before_it_began_costs_nothing(tmp_path: Path) -> None:
    provider = Endpoint([(None, [], Overloaded("busy")), (None, [], None)])
    runtime = start(tmp_path, sets=SETS, provider=provider)
    await stopped(runtime, provider)
    assert not billed(runtime)
    assert runtime.bill.requests == 0
    await runtime.close()


async def test_an_answer_is_billed_once_when_its_calls_are_interrupted(tmp_path: Path) -> None:
    answer = replace(calls(ToolUse("t", "bash", {"command": "sleep 600"})), usage=NEXT)
    provider = Endpoint([], [answer])
    runtime = start(tmp_path, sets=SETS, provider=provider)
    ran = asyncio.Event()
    runtime.session.subscribe(lambda told: ran.set() if "ToolStarted" in repr(told) else None)
    working = asyncio.ensure_future(runtime.submit("go"))
    await asyncio.wait_for(ran.wait(), DEADLINE)
    runtime.interrupt()
    await working
    assert not billed(runtime)
    assert runtime.bill.prompt_tokens == NEXT.prompt_tokens
    await runtime.close()


async def test_an_attempt_that_breaks_off_counts_toward_the_cost_limit(tmp_path: Path) -> None:
    gone = ConnectionLost("gone")
    answer = replace(calls(ToolUse("t", "ls", {})), usage=NEXT)
    provider = Endpoint([(LOST, [], gone)], [answer, says("Too much.")])
    runtime = start(tmp_path, sets=SETS, provider=provider)
    price = runtime.choices.price
    runtime.run_limits = replace(runtime.run_limits, max_cost=price(OPUS, NEXT) * 1.5)
    done = await runtime.submit("go")
    assert done.reason == "limit"
    assert provider.left == 1
    await runtime.close()


async def test_a_summary_that_is_not_used_is_billed(tmp_path: Path) -> None:
    long = "a longer answer " * 200
    no_block, no_gain = replace(says("no block"), usage=LOST), replace(says("gist " * 9_000), usage=NEXT)
    script = [*[replace(says(long), usage=Usage(9))] * 3, no_block, no_gain]
    runtime = start(
        tmp_path,
        sets=("permissions.mode=auto", "compaction.keep_first_turns=0", "compaction.keep_recent_turns=1"),
        provider=ScriptedProvider(script),
    )
    for words in ("one", "two", "three"):
        await runtime.submit(words)
    await runtime.compact("")
    assert [(one.usage, one.reason) for one in billed(runtime)] == [(LOST, "summary"), (NEXT, "summary")]
    assert set(everywhere(runtime).values()) == {(27 + 21_003 + 21_305, 49)}
    await runtime.close()


async def test_headless_counts_the_attempts_too(tmp_path: Path) -> None:
    provider = Endpoint(
        [(LOST, [TextDelta("Half")], ConnectionLost("gone"))], [replace(says("Done."), usage=NEXT)]
    )
    runtime = start(tmp_path, sets=SETS, provider=provider)
    price = runtime.choices.price
    expected = price(OPUS, LOST) + price(OPUS, NEXT)
    out: list[str] = []
    assert await run_headless(runtime, ("hi",), form="json", out=out.append, err=out.append) == 0
    result = json.loads(out[-1])
    assert result["total_cost_usd"] == pytest.approx(expected, abs=1e-6)
    assert result["usage"]["cache_creation_input_tokens"] == 20_300
    assert result["num_turns"] == 1


async def test_cost_and_audit_name_what_had_no_answer(tmp_path: Path) -> None:
    answer = replace(says("Done."), usage=NEXT)
    gone = ConnectionLost("gone")
    provider = Endpoint([(LOST, [], gone)], [answer])
    runtime = start(tmp_path, sets=SETS, provider=provider)
    await runtime.submit("go")
    provider.begins.append((LOST, [ThinkingDelta("hm")], None))
    await stopped(runtime, provider)
    table = run_line(runtime, "/cost all")[0]
    assert isinstance(table, Table)
    told = "\n".join(" ".join(row) for row in table.rows)
    assert " cut " in told
    assert " stopped " in told
    found = audit(runtime.session.records, Context(Chars4()), runtime.choices.price)
    assert [row.kind for row in found.rows] == ["cut", "request", "stopped"]
    assert found.summary()["answered"] == 1
    assert found.rows[2].estimated
    path = await closed(runtime)
    assert verify_session(path, read_log(path)).clean


def test_the_context_is_as_if_the_attempt_had_not_been() -> None:
    context = Context(Chars4())
    context.apply(Record(0, 1_000, RequestSent(OPUS, 1, "00")))
    context.apply(Record(1, 2_000, AssistantMessage((Text("x"),), OPUS, usage=Usage(0, 5, 0, 9_000))))
    before = context.sha256(), context.counts.context_tokens, context.requests
    context.apply(Record(2, 3_000, AttemptBilled(OPUS, LOST)))
    assert (context.sha256(), context.counts.context_tokens, context.requests) == before


def test_the_record_reads_back_and_an_older_log_needs_none() -> None:
    record = Record(7, 1_000, AttemptBilled(OPUS, LOST, "stopped"))
    assert decode_record(encode_record(record)) == record
    assert Costs(TABLE).of_session(Digest()) == 0


def test_the_prices_of_a_tasks_model_are_recorded_with_its_bill() -> None:
    own, its = {"mine": [1.0, 2.0, None, None, None]}, {"small": [0.1, 0.2, None, None, None]}
    parent, child = (
        Session(SessionStarted(name, "/src", "mine"), Context(Chars4()), path=None) for name in ("p", "c")
    )
    parent.emit(SettingChanged(PRICES, own))
    for _ in range(2):
        bill(parent, child, child.emit(SettingChanged(PRICES, its)))
    changes = [one.event.value for one in parent.records if isinstance(one.event, SettingChanged)]
    assert changes == [own, {**own, **its}]
