"""What a session cost, from the sums that a list keeps of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prunecli
from prunecli.commands.command import Table, run_line
from prunecli.context.bill import Bill
from prunecli.front.headless.run import run_headless
from prunecli.front.presentation.entry_text import status_line
from prunecli.model.events import AssistantMessage, Record, SettingChanged
from prunecli.model.messages import Text, Usage
from prunecli.model.record_codec import encode_record
from prunecli.model.requests import Request
from prunecli.providers.models import ModelTable, cost
from prunecli.providers.provider import Begun, Response, StreamEvent, TextDelta
from prunecli.runtime.balance import billed
from prunecli.runtime.offered_models import PRICES
from prunecli.runtime.sessions import Costs
from prunecli.session.digest import Digest
from prunecli.session.store import Store
from tests.scripted import Scripted, ScriptedProvider
from tests.starting import start
from tests.waiting import DEADLINE

TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-5-5", "gpt-5.5", "gemini-2.5-pro"])
def test_short_and_long_prompts_are_priced_apart(model: str) -> None:
    usages = [Usage(100, 50, 60_000, 2_000), Usage(5, 70, 99_000, 995), Usage(9, 30, 100_000, 4_000)]
    usages += [Usage(9, 30, 199_000, 991), Usage(9, 30, 200_000, 4_000), Usage(1, 40, 300_000)]
    digest = Digest()
    for seq, usage in enumerate(usages):
        assert digest.take(
            encode_record(Record(seq, seq + 1, AssistantMessage((Text("x"),), model, usage=usage)))
        )
    expected = sum(cost(usage, TABLE.info(model), "5m") or 0.0 for usage in usages)
    assert Costs(TABLE).of_session(digest) == pytest.approx(expected)


async def test_prices_that_a_session_recorded_apply_without_its_endpoint(tmp_path: Path) -> None:
    runtime = start(
        tmp_path, [Scripted((Text("Done."),), usage=Usage(1_000_000, 0))], sets=["model.name=far"]
    )
    runtime.session.emit(SettingChanged(PRICES, {"far": [3.0, 4.0]}))
    await runtime.submit("hello")
    assert runtime.bill.cost == pytest.approx(3.0)
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    assert "$3.00" in str(table)
    assert "No known price" not in str(table)
    await runtime.close()
    (listed,) = Store(runtime.setup.places.sessions).list()
    assert Costs(TABLE).of_session(listed.digest) == pytest.approx(3.0)


@pytest.mark.parametrize("how", ["a new one", "a copy"])
async def test_each_request_of_a_later_session_is_billed_once(tmp_path: Path, how: str) -> None:
    runtime = start(tmp_path, [Scripted((Text("Done."),), usage=Usage(100, 50))] * 2)
    await runtime.submit("first")
    path = runtime.session.path
    assert path is not None
    if how == "a new one":
        runtime.new_session()
    else:
        runtime.open_session(path, fork=True)
    await runtime.submit("second")
    assert runtime.bill == runtime.billed(Bill(), runtime.session.records, runtime.session.context)
    await runtime.close()


async def test_a_copy_counts_its_own_cost_beside_its_original_s(tmp_path: Path) -> None:
    usages = [Usage(1_000_000, 0), Usage(2_000_000, 0)]
    runtime = start(
        tmp_path, [Scripted((Text("Done."),), usage=one) for one in usages], sets=["model.name=far"]
    )
    runtime.session.emit(SettingChanged(PRICES, {"far": [3.0, 4.0]}))
    await runtime.submit("first")
    original = runtime.session.path
    assert original is not None
    runtime.open_session(original, fork=True)
    await runtime.submit("second")
    assert (runtime.bill.cost, runtime.bill.copied) == pytest.approx((6.0, 3.0))
    assert runtime.bill.requests == 1
    assert "$6.00" in status_line(runtime.status())
    said = "This copy cost $6.00; the session that it was copied from, $3.00."
    assert said in str(run_line(runtime, "/cost")[0])
    assert "$6.00, and $3.00 before the copy" in str(run_line(runtime, "/status")[0])
    runtime.open_session(original)
    assert (runtime.bill.cost, runtime.bill.copied) == pytest.approx((3.0, 0.0))
    await runtime.close()


class Stopped(ScriptedProvider):
    """Tells what the response costs and some words of it, and no more."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        yield Begun(Usage(3, 1, 1_000, 200))
        yield TextDelta("I was about to explain")
        await asyncio.Event().wait()


async def test_an_answer_that_is_stopped_is_billed_as_far_as_it_is_known(tmp_path: Path) -> None:
    runtime = start(tmp_path, provider=Stopped([]))
    said = asyncio.Event()
    runtime.session.subscribe(lambda told: said.set() if isinstance(told, TextDelta) else None)
    working = asyncio.create_task(runtime.submit("go"))
    await asyncio.wait_for(said.wait(), DEADLINE)
    runtime.interrupt()
    await working
    answer = runtime.session.context.items[-1].event
    assert isinstance(answer, AssistantMessage)
    assert (answer.stop_reason, answer.usage) == ("interrupted", Usage(3, 10, 1_000, 200))
    table = run_line(runtime, "/cost")[0]
    assert isinstance(table, Table)
    assert table.rows[0][6] == "~10"
    assert runtime.bill.requests == 1
    assert runtime.bill.prompt_tokens == 1_203
    await runtime.close()


class Renaming(ScriptedProvider):
    """An endpoint that reports another name than it was asked for."""

    def __init__(self, script: list[Scripted], reported: str) -> None:
        super().__init__(script)
        self._reported = reported

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async for event in super().stream(request):
            yield replace(event, model=self._reported) if isinstance(event, Response) else event


@pytest.mark.parametrize(
    ("reported", "billed"),
    [
        ("/models/smol.gguf", "mine"),  # llama.cpp reports its file
        ("", "mine"),
        ("deepseek-flash", "deepseek-flash"),  # DeepSeek maps other names to its own
    ],
)
async def test_an_answer_under_a_name_that_says_nothing_is_billed_as_the_model_asked_for(
    tmp_path: Path, reported: str, billed: str
) -> None:
    provider = Renaming([Scripted((Text("Done."),), usage=Usage(1_000_000, 0))], reported)
    runtime = start(tmp_path, provider=provider, sets=["model.name=mine", "models.mine.prices.input=3"])
    await runtime.submit("hello")
    (message,) = [
        record.event for record in runtime.session.records if isinstance(record.event, AssistantMessage)
    ]
    assert message.model == billed
    expected = 3.0 if billed == "mine" else cost(Usage(1_000_000, 0), TABLE.info(billed), "5m")
    assert runtime.bill.cost == pytest.approx(expected)
    await runtime.close()


async def test_each_run_reports_its_own_cost_and_a_copy_does_not_count_its_original_again(
    tmp_path: Path,
) -> None:
    usages = [Usage(1_000, 50), Usage(2_000, 60), Usage(4_000, 70), Usage(8_000, 80)]
    script = [Scripted((Text("Done."),), usage=usage) for usage in usages]
    runtime = start(tmp_path, script, sets=["model.name=claude-opus-5-5"])
    results: list[dict[str, Any]] = []
    for number in range(4):
        path = runtime.session.path
        if number and path:
            runtime.session.close()
            runtime.open_session(path, fork=number == 3)
        out: list[str] = []
        await run_headless(runtime, ["go"], form="json", out=out.append, err=lambda _: None)
        results.append(json.loads(out[-1]))
    expected = [cost(usage, TABLE.info("claude-opus-5-5"), "5m") for usage in usages]
    assert [one["total_cost_usd"] for one in results] == pytest.approx(expected)
    assert [one["usage"]["input_tokens"] for one in results] == [1_000, 2_000, 4_000, 8_000]
    listed = {one.id: Costs(TABLE).of_session(one.digest) for one in runtime.store.list()}
    copy = runtime.session.id
    assert listed == {
        copy: pytest.approx(expected[3]),
        results[0]["session_id"]: pytest.approx(sum(filter(None, expected[:3]))),
    }
    await runtime.close()


def test_the_bar_and_cost_price_alike_what_an_endpoint_stores_without_saying_how_long(tmp_path: Path) -> None:
    runtime, model = start(tmp_path), "claude-opus-4-6"
    hour = Usage(0, 9, 0, 50_000, cache_1h_input_tokens=50_000)
    for usage in (hour, Usage(0, 9, 10_000, 40_000)):
        runtime.emit(AssistantMessage((Text("x"),), model, usage=usage))
    shown = sum(one.cost or 0.0 for one in billed(runtime.session, runtime.choices))
    assert runtime.bill.cost == pytest.approx(shown)
