"""/model: what the endpoint offers, what is known of it, and what happens where there is no list."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Choice, Choose, Confirm, Effect, InThread, Say, run_line
from prunecli.model.events import AssistantMessage, RequestSent, SettingChanged, UserMessage
from prunecli.model.messages import Text, Usage
from prunecli.providers.models import Prices
from prunecli.runtime import Runtime
from prunecli.runtime.offered_models import FRESH_MS, PRICES, recorded_prices
from prunecli.tui.widgets.status import cache_words
from tests.serving import HTML, Answer, as_json, nothing, serving
from tests.starting import start

MODELS = {"data": [{"id": "claude-opus-5"}, {"id": "qwen3:8b", "context_length": 32768}, {"id": "plain"}]}


def at(folder: Path, address: str, *sets: str) -> Runtime:
    return start(folder, sets=[f"model.base_url={address}", "model.name=plain", *sets])


def effects_of(runtime: Runtime, line: str = "/model") -> Sequence[Effect]:
    """The effects of a line, with its slow work done."""
    found = list(run_line(runtime, line))
    return [one for effect in found for one in (effect.work() if isinstance(effect, InThread) else [effect])]


def choices_of(effects: Sequence[Effect]) -> list[Choice]:
    (choose,) = [one for one in effects if isinstance(one, Choose)]
    assert choose.command == "model"
    return list(choose.choices)


def said(effects: Sequence[Effect]) -> str:
    return "\n".join(one.text for one in effects if isinstance(one, Say))


def test_it_lists_what_the_endpoint_offers_with_what_is_known_of_each(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(
            tmp_path, served.address, "models.mine.context_window=9000", "models.mine.prices.input=1"
        )
        found = {one.value: one for one in choices_of(effects_of(runtime))}
    assert list(found) == ["claude-opus-5", "qwen3:8b", "plain", "mine", "demo"]
    assert found["claude-opus-5"].detail == "1.0M tokens · $5/$25 per M"
    assert found["qwen3:8b"].detail == "32.8K tokens · price not known here"
    assert found["plain"].detail == "not known here"
    assert found["mine"].detail == "9.0K tokens · price not known here"
    assert [one for one, choice in found.items() if choice.current] == ["plain"]


OF_VLLM = {"data": [{**row, "owned_by": "vllm"} for row in MODELS["data"]]}
"""A server that is asked for its list alone."""


def test_the_endpoint_is_asked_once_in_a_while_and_anew_on_demand(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(OF_VLLM)) as served:
        runtime = at(tmp_path, served.address)
        first = choices_of(effects_of(runtime))
        (shown,) = run_line(runtime, "/model")
        assert isinstance(shown, Choose)  # at once
        assert list(shown.choices) == first
        assert len(served.requests) == 1
        effects_of(runtime, "/model --refresh")
        assert len(served.requests) == 2
        later = start(
            tmp_path,
            sets=[f"model.base_url={served.address}"],
            clock=lambda: 1_900_000_000_000 + FRESH_MS,
        )
        effects_of(later)
        assert len(served.requests) == 3


def test_a_name_may_stand_in_quotes_and_an_empty_one_lists_the_models(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(OF_VLLM)) as served:
        runtime = at(tmp_path, served.address)
        assert choices_of(effects_of(runtime, '/model ""'))
        assert "Model: qwen3:8b (" in said(effects_of(runtime, '/model "qwen3:8b"'))


def test_the_window_that_an_endpoint_told_holds_for_its_model(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(tmp_path, served.address)
        assert runtime.choices.window == 200_000  # assumed
        effects_of(runtime)
        assert "Model: qwen3:8b (32.8K tokens). The next" in said(effects_of(runtime, "/model qwen3:8b"))
        assert said(effects_of(runtime, "/model qwen3:8b")) == "Model: qwen3:8b (32.8K tokens)."
        assert runtime.choices.window == 32_768
        again = start(tmp_path, sets=[f"model.base_url={served.address}", "model.name=qwen3:8b"])
        assert again.choices.window == 32_768
        elsewhere = start(tmp_path, sets=["model.base_url=http://127.0.0.1:9", "model.name=qwen3:8b"])
        assert elsewhere.choices.window == 200_000


PRICED = {
    "id": "free/thinker",
    "context_length": 32768,
    "pricing": {
        "prompt": "0.0000025",
        "completion": "0.00001",
        "input_cache_read": "0.00000025",
        "input_cache_write": "0.000003125",
        "request": "0",
        "image": "0.01",
    },
}


def test_the_prices_that_an_endpoint_lists_are_shown_and_used_where_no_table_has_any(tmp_path: Path) -> None:
    free = {"id": "any:free", "pricing": {"prompt": "0", "completion": 0}}
    opus = {"id": "claude-opus-5", "pricing": PRICED["pricing"]}
    newer = {"id": "claude-opus-99", "pricing": PRICED["pricing"]}
    mine = {"id": "mine", "pricing": PRICED["pricing"]}
    with serving(lambda *_: as_json({"data": [PRICED, free, opus, newer, mine]})) as served:
        runtime = at(tmp_path, served.address, "models.mine.prices.input=1")
        usage = Usage(1_000_000, 100_000, 1_000_000, 1_000_000)
        assert runtime.choices.price("free/thinker", usage) == 0.0, "unknown before the list"
        found = {one.value: one.detail for one in choices_of(effects_of(runtime))}
        assert found["free/thinker"] == "32.8K tokens · $2.5/$10 per M by the endpoint"
        assert found["any:free"] == "window not known here · $0/$0 per M by the endpoint"
        assert found["claude-opus-5"] == "1.0M tokens · $5/$25 per M"
        assert found["claude-opus-99"].endswith(" · $2.5/$10 per M by the endpoint")
        assert found["mine"] == "not known here", "the user's own price stays as it is"
        assert runtime.choices.price("free/thinker", usage) == pytest.approx(2.5 + 1.0 + 0.25 + 3.125)
        told = said(effects_of(runtime, "/model free/thinker"))
        assert "Model: free/thinker (32.8K tokens, $2.5/$10 per M by the endpoint)." in told
        told = said(effects_of(runtime, "/model claude-opus-99"))
        assert "assumed." in told
        assert "price unknown" not in told
        again = start(tmp_path, sets=[f"model.base_url={served.address}", "model.name=free/thinker"])
        assert again.choices.price("free/thinker", usage) > 0
        elsewhere = start(tmp_path, sets=["model.base_url=http://127.0.0.1:9", "model.name=free/thinker"])
        assert elsewhere.choices.price("free/thinker", usage) == 0.0


def test_prices_that_litellm_tells_apart_from_its_list_are_read(tmp_path: Path) -> None:
    priced = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    cached = {"cache_read_input_token_cost": 1e-7, "max_input_tokens": 9_000}
    tiered = {**priced, "input_cost_per_token_above_200k_tokens": 2e-6}
    deployments = [
        ("mine", {**priced, **cached}),
        ("mine", {**priced, **cached, "max_input_tokens": 8_000}),
        ("differs", priced),
        ("differs", {**priced, "input_cost_per_token": 9e-6}),
        ("tiered", tiered),
        ("claude-opus-5", priced),
        ("hidden", priced),
    ]
    told = [{"model_name": name, "model_info": info} for name, info in deployments]
    names = ("mine", "differs", "tiered", "claude-opus-5")
    answers = {
        "/v1/models": {"data": [{"id": name, "type": "model"} for name in names]},
        "/v1/model/info": {"data": [*told, {"model_name": "mine"}, 3]},
    }
    with serving(lambda _, path, __: as_json(answers[path.partition("?")[0]])) as served:
        runtime = at(tmp_path, served.address)
        found = {one.value: one.detail for one in choices_of(effects_of(runtime))}
        assert found["mine"] == "8.0K tokens · $1/$2 per M by the endpoint"
        assert found["differs"] == found["tiered"] == "not known here"
        assert found["claude-opus-5"] == "1.0M tokens · $5/$25 per M"
        assert "hidden" not in found
        assert runtime.choices.price("mine", Usage(1_000_000, 0, 1_000_000)) == pytest.approx(1.1)


def test_prices_of_the_endpoint_are_recorded_once_in_the_session(tmp_path: Path) -> None:
    priced = {"id": "plain", "pricing": {"prompt": "0.000001", "completion": "0.000002"}}
    rows = {"data": [priced, {**priced, "id": "other"}, {**priced, "id": "claude-opus-5"}]}
    with serving(lambda *_: as_json(rows)) as served:
        runtime = at(tmp_path, served.address)
        runtime.prepare()
        assert recorded_prices(runtime.session.records) == {}
        effects_of(runtime)
        for _ in range(2):
            runtime.prepare()
        for name in ("other", "claude-opus-5"):
            effects_of(runtime, f"/model {name}")
        runtime.prepare()
    expected = Prices(1.0, 2.0)
    assert recorded_prices(runtime.session.records) == {"plain": expected, "other": expected}
    changes = [one.event for one in runtime.session.records if isinstance(one.event, SettingChanged)]
    assert [change.key for change in changes].count(PRICES) == 2


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_list_counts_without_its_details_and_others_are_not_asked(tmp_path: Path, status: int) -> None:
    rows = {"data": [{"id": "mine", "owned_by": "openai"}]}
    with serving(lambda _, path, __: as_json(rows, 200 if "models" in path else status)) as served:
        assert "mine" in {one.value for one in choices_of(effects_of(at(tmp_path, served.address)))}
        assert [path for _, path, _ in served.requests] == ["/v1/models?limit=1000", "/v1/model/info"]
    rows["data"][0]["owned_by"] = "vllm"
    with serving(lambda _, path, __: as_json(rows)) as served:
        effects_of(at(tmp_path, served.address))
        assert [path for _, path, _ in served.requests] == ["/v1/models?limit=1000"]


@pytest.mark.parametrize(
    "pricing",
    [
        None,
        "0.1",
        [],
        {},
        {"prompt": "0.1"},
        {"completion": "0.1"},
        *(
            {"prompt": wrong, "completion": "0.00001"}
            for wrong in ("-1", -1, "nan", "inf", "1e400", "free", "", None, True, [], {}, 10**400, 5, "2.5")
        ),
        {"prompt": "0.1", "completion": float("nan")},
        {"prompt": "0.1", "completion": "0.1", "request": "0.5"},
        {"prompt": "0.1", "completion": "0.1", "request": "?"},
    ],
)
def test_a_senseless_price_is_none_and_spares_the_window(tmp_path: Path, pricing: Any) -> None:
    row = {"id": "odd", "context_length": 32768, "pricing": pricing}
    with serving(lambda *_: as_json({"data": [row]})) as served:
        found = {one.value: one.detail for one in choices_of(effects_of(at(tmp_path, served.address)))}
    assert found["odd"] == "32.8K tokens · price not known here"


@pytest.mark.parametrize("wrong", ["-1", "nan", True, 10**400, {}, "2"])
def test_a_senseless_cache_price_is_left_out(tmp_path: Path, wrong: Any) -> None:
    pricing = {
        "prompt": "0.000001",
        "completion": "0.000001",
        "input_cache_read": wrong,
        "input_cache_write": wrong,
    }
    with serving(lambda *_: as_json({"data": [{"id": "odd", "pricing": pricing}]})) as served:
        runtime = at(tmp_path, served.address)
        effects_of(runtime)
        assert runtime.choices.price("odd", Usage(0, 0, 1_000_000, 1_000_000)) == 2.0, "as input"


@pytest.mark.parametrize("prices", ["[-1, 5]", "[NaN, 1]", '["1", 1]', "[1]", "[true, 1]", "{}", "[1e99, 1]"])
def test_a_damaged_price_that_was_kept_is_none(tmp_path: Path, prices: str) -> None:
    with serving(lambda *_: as_json({"data": [PRICED]})) as served:
        runtime = at(tmp_path, served.address)
        effects_of(runtime)
        path = runtime.setup.places.endpoints_file
        kept = json.loads(path.read_text())
        (entry,) = kept["models"].values()
        entry["rows"][0][2] = "HERE"
        path.write_text(json.dumps(kept).replace('"HERE"', prices))
        found = {one.value: one.detail for one in choices_of(effects_of(at(tmp_path, served.address)))}
    assert found["free/thinker"] == "32.8K tokens · price not known here"


def test_page_after_page_is_asked_for(tmp_path: Path) -> None:
    def paged(method: str, path: str, body: bytes) -> Answer:
        start_at = int(path.partition("after_id=m")[2] or -1) + 1
        rows = [{"id": f"m{number}"} for number in range(start_at, start_at + 3)]
        return as_json({"data": rows, "has_more": start_at < 6, "last_id": rows[-1]["id"]})

    with serving(paged) as served:
        found = [one.value for one in choices_of(effects_of(at(tmp_path, served.address, "model.name=m0")))]
    assert found == [*(f"m{number}" for number in range(9)), "demo"]


def test_a_list_that_never_ends_is_left(tmp_path: Path) -> None:
    same = {"data": [{"id": "m", "owned_by": "vllm"}], "has_more": True, "last_id": "m"}
    with serving(lambda *_: as_json(same)) as served:
        effects_of(at(tmp_path, served.address))
    assert len(served.requests) == 2


@pytest.mark.parametrize(
    "answer", [nothing, lambda *_: as_json({"data": []}), lambda *_: (200, HTML, b"<html>")]
)
def test_where_there_is_no_list_the_known_models_are_shown_with_one_line(tmp_path: Path, answer) -> None:
    with serving(answer) as served:
        effects = effects_of(at(tmp_path, served.address))
    assert said(effects) == (
        "The endpoint lists no models; these are the known ones. /model NAME takes any other."
    )
    found = [one.value for one in choices_of(effects)]
    assert {"opus", "claude-sonnet-5", "plain"} <= set(found)


def test_an_endpoint_that_does_not_answer_is_said_and_the_known_models_are_shown(tmp_path: Path) -> None:
    effects = effects_of(at(tmp_path, "http://127.0.0.1:9"))
    assert "connection refused" in said(effects)
    assert len(said(effects).splitlines()) == 1
    assert "claude-sonnet-5" in [one.value for one in choices_of(effects)]


def test_without_a_key_nobody_is_asked(tmp_path: Path) -> None:
    (shown,) = run_line(start(tmp_path), "/model")
    assert isinstance(shown, Choose)
    named = start(tmp_path, sets=["model.endpoint=openrouter"])
    assert isinstance(run_line(named, "/model")[0], Choose)


def test_names_that_a_terminal_can_t_show_are_left_out(tmp_path: Path) -> None:
    hostile = ["\x1b]0;x\x07", "a\nb", "\u202egnp.exe", " ", "x" * 201, 7, None, "", " lead", "good/one:1"]
    with serving(lambda *_: as_json({"data": [{"id": one} for one in hostile]})) as served:
        found = [one.value for one in choices_of(effects_of(at(tmp_path, served.address)))]
    assert found == ["plain", "good/one:1", "demo"]


def test_a_file_that_remembers_nonsense_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(tmp_path, served.address)
        path = runtime.setup.places.endpoints_file
        path.parent.mkdir(parents=True, exist_ok=True)
        key = served.address
        for junk in (
            "[",
            '{"models": 3}',
            f'{{"models": {{"{key}": {{"when": "x"}}}}}}',
            f'{{"models": {{"{key}": {{"when": 99999999999999, "rows": 3}}}}}}',
        ):
            path.write_text(junk)
            assert isinstance(run_line(runtime, "/model")[0], InThread)


def test_going_back_to_a_model_whose_cache_is_warm_says_nothing_of_a_cold_one(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=["model.name=claude-sonnet-5"])

    def answered(model: str) -> None:
        runtime.emit(UserMessage((Text("hello"),)))
        runtime.emit(RequestSent(model, 2000, "", (len(runtime.session.context.messages()) - 1,)))
        runtime.emit(AssistantMessage((Text("hi"),), model, usage=Usage(10, 5, 0, 2000)))

    answered("claude-sonnet-5")
    assert "cold cache" in said(run_line(runtime, "/model claude-haiku-4-5"))
    assert "cold cache" not in said(run_line(runtime, "/model claude-sonnet-5"))
    run_line(runtime, "/model claude-haiku-4-5")
    answered("claude-haiku-4-5")
    assert cache_words(runtime.status(), 300_000, runtime.setup.clock()) not in ("", "cache cold")
    assert "cold cache" not in said(run_line(runtime, "/model claude-sonnet-5"))
    assert cache_words(runtime.status(), 300_000, runtime.setup.clock()) not in ("", "cache cold")


def test_another_model_says_first_what_it_costs_while_the_cache_is_warm(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=["model.name=claude-sonnet-5", "ui.confirm=always"])
    assert "Model: claude-haiku-4-5" in said(run_line(runtime, "/model claude-haiku-4-5")), (
        "nothing is cached"
    )
    run_line(runtime, "/model claude-sonnet-5")
    runtime.emit(UserMessage((Text("hello " * 9_000),)))
    runtime.emit(RequestSent("claude-sonnet-5", 20_000, "", (0,)))
    runtime.emit(AssistantMessage((Text("hi"),), "claude-sonnet-5", usage=Usage(10, 5, 0, 20_000)))
    (asked,) = run_line(runtime, "/model claude-opus-5")
    assert isinstance(asked, Confirm)
    tokens, now = runtime.session.context.counts.context_tokens, runtime.setup.clock()
    before, written = runtime.policy.market, tokens * 6.25 / 1e6
    assert before.read is not None
    assert runtime.model_name == "claude-sonnet-5", "nothing happens before the answer"
    usd = float(asked.line.partition("about $")[2].partition(" ")[0])
    assert usd == pytest.approx(written - tokens * 0.5 / 1e6, rel=0.05), now
    assert "a request" in asked.line
    assert "Model: claude-opus-5" in said(asked.then())
