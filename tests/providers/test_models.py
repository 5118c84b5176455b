"""What is known about a model: names and their variants, overrides, costs, the factor of its tokens."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from prunecli.model.claude import is_bound
from prunecli.model.messages import Usage
from prunecli.providers import models
from prunecli.providers.models import ALIASES, ModelInfo, ModelTable, Prices, cost, token_factor
from prunecli.session.digest import LONG_PROMPTS
from prunecli.util.errors import ConfigError
from tests.endpoint import MODELS

DATA = Path(models.__file__).parent.parent / "data"


@dataclass(frozen=True)
class Facts:
    context_window: int | None = None
    prices: Prices = Prices()


@pytest.fixture(scope="module")
def table() -> ModelTable:
    return ModelTable.load(DATA)


@pytest.mark.parametrize("alias", ["opus", "sonnet", "haiku", "Opus", " haiku "])
def test_an_alias_is_a_model_of_the_table(table: ModelTable, alias: str):
    name = table.resolve(alias)
    assert name == ALIASES[alias.strip().lower()]
    info = table.info(alias)
    assert (info.name, info.context_window) == (name, 1_000_000)
    assert None not in (
        info.prices.input,
        info.prices.output,
        info.prices.cache_read,
        info.prices.cache_write_1h,
    )


def test_the_aliases_are_the_newest_of_their_families(table: ModelTable):
    for alias, name in ALIASES.items():
        family = [
            models.claude_version(other) or (0, 0) for other in table.names() if f"claude-{alias}-" in other
        ]
        assert alias == "demo" or models.claude_version(name) == max(family)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-opus-4-6-20260205", "claude-opus-4-6"),
        ("claude-opus-5-5-20270131", "claude-opus-5-5"),
        ("claude-sonnet-5-5@20261001", "claude-sonnet-5-5"),
        ("claude-sonnet-5-latest", "claude-sonnet-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("openrouter/anthropic/claude-haiku-5-5", "claude-haiku-5-5"),
        ("Claude-Opus-5-5", "claude-opus-5-5"),
        ("glm-5", "zai/glm-5"),
        ("GLM-5.1", "zai/glm-5.1"),
        ("kimi-k3", "moonshot/kimi-k3"),
        ("deepseek/deepseek-chat", "deepseek/deepseek-chat"),
    ],
)
def test_a_model_is_found_under_its_other_names(table: ModelTable, name: str, row: str):
    expected = table.info(row)
    found = table.info(name)
    assert found.name == name
    assert (found.context_window, found.prices) == (expected.context_window, expected.prices)
    assert found.context_window > 0


@pytest.mark.parametrize(
    "name", ["claude-opus-4-1", "claude-quill-6", "gpt-x", "", "claude-", "claude-opus-5-5-mini"]
)
def test_a_model_that_only_begins_like_a_known_one_is_unknown(table: ModelTable, name: str):
    assert table.info(name) == ModelInfo(name)
    assert (ModelInfo(name).context_window, ModelInfo(name).prices.input) == (0, None)


def test_the_longest_name_decides_for_a_dated_one():
    rows = {name: ModelInfo(name, window) for name, window in [("m", 1), ("m-v2", 2), ("m-v2-20250101", 3)]}
    table = ModelTable(rows)
    found = {
        name: table.info(name).context_window for name in ("m-20240101", "m-v2-20240101", "m-v2-20250101")
    }
    assert found == {"m-20240101": 1, "m-v2-20240101": 2, "m-v2-20250101": 3}


def test_the_demo_costs_nothing(table: ModelTable):
    info = table.info("demo")
    assert info.context_window > 0
    assert cost(Usage(10**6, 10**6, 10**6, 10**6), info, "5m") == 0.0


def test_what_the_user_says_of_a_model_goes_before_the_table():
    overrides = {
        "opus": Facts(context_window=500_000),
        "claude-haiku-5-5": Facts(prices=Prices(output=9.0)),
        "my-local-model": Facts(32_768, Prices(0.0, 0.0)),
    }
    table = ModelTable.load(DATA, overrides)
    assert table.info("opus").context_window == 500_000
    assert table.info("claude-opus-5-5").context_window == 1_000_000
    assert table.info("haiku").prices == Prices(0.1, 9.0, 0.01, 0.125, 0.2)
    assert table.info("my-local-model") == ModelInfo("my-local-model", 32_768, prices=Prices(0.0, 0.0))
    assert {"claude-opus-5-5", "my-local-model"} <= set(table.names())


def test_a_request_costs_what_its_four_kinds_of_tokens_cost():
    info = ModelInfo("m", prices=Prices(3.0, 15.0, 0.3, 3.75, 6.0))
    usage = Usage(1_000_000, 100_000, 2_000_000, 400_000)
    assert cost(usage, info, "5m") == pytest.approx(3.0 + 1.5 + 0.6 + 1.5)
    assert cost(usage, info, "1h") == pytest.approx(3.0 + 1.5 + 0.6 + 2.4)
    assert cost(Usage(1_000_000, 0), info, "5m") == pytest.approx(3.0)


def test_what_is_written_to_the_cache_costs_by_the_lifetime_that_the_endpoint_reports():
    info = ModelInfo("m", prices=Prices(3.0, 15.0, 0.3, 3.75, 6.0))
    for asked in ("5m", "1h"):
        written = [Usage(0, 0, 0, 400_000, cache_1h_input_tokens=hour) for hour in (0, 100_000, 400_000)]
        assert [cost(usage, info, asked) for usage in written] == pytest.approx([1.5, 1.725, 2.4])


def test_cached_tokens_cost_as_much_as_others_where_they_have_no_price():
    info = ModelInfo("m", prices=Prices(2.0, 4.0))
    assert cost(Usage(500_000, 0, 250_000, 250_000), info, "1h") == pytest.approx(2.0)


def test_a_price_that_is_not_known_is_no_zero():
    assert cost(Usage(1, 1), ModelInfo("m"), "5m") is None
    assert cost(Usage(0, 1), ModelInfo("m", prices=Prices(input=1.0)), "5m") is None
    assert cost(Usage(0, 0), ModelInfo("m"), "5m") == 0.0


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("claude-opus-4-6-20260205", 1.23),
        ("claude-haiku-4-5", 1.23),
        ("claude-sonnet-4-20250514", 1.23),
        ("claude-3-5-sonnet-20241022", 1.23),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 1.23),
        ("claude-opus-4-7", 1.6),
        ("opus", 1.6),
        ("haiku", 1.6),
        ("claude-fable-5", 1.6),
        ("claude-mythos-preview", 1.6),
        ("anthropic/claude-sonnet-5.5", 1.6),
        ("demo", 1.6),
        ("glm-5", 1.0),
        ("", 1.0),
    ],
)
def test_the_factor_of_a_model_s_tokens_follows_its_generation(name: str, factor: float):
    assert token_factor(name) == factor


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"m": 1}', b'{"m": {}}', b'{"m": {"context_window": "x"}}', b"\xff"]
)
def test_a_damaged_table_is_an_error_that_names_the_file(tmp_path: Path, content: bytes):
    (tmp_path / "models.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"models\.json"):
        ModelTable.load(tmp_path)


def test_every_row_of_the_table_is_read_as_it_stands(table: ModelTable):
    rows = json.loads((DATA / "models.json").read_bytes())
    for name, row in rows.items():
        info = table.info(name)
        assert (info.context_window, info.max_output) == (row["context_window"], row["max_output"])
        assert (info.prices.input, info.prices.cache_write_1h) == (row["input"], row.get("cache_write_1h"))


def test_every_model_that_the_sdk_lists_is_in_the_table(table: ModelTable):
    from anthropic.types.model import Model as Listed

    literal = next(part for part in get_args(Listed) if get_args(part))
    assert set(get_args(literal)) - set(table.names()) - RETIRED == set()


RETIRED: set[str] = set()
"""Claude models that the installed SDK lists and nobody answers for any more."""


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("claude-opus-6", "claude-opus-5-5"),
        ("claude-opus-5-6", "claude-opus-5-5"),
        ("claude-sonnet-5-7", "claude-sonnet-5-5"),
        ("claude-haiku-6-20270101", "claude-haiku-5-5"),
        ("us.anthropic.claude-fable-6-v1:0", "claude-fable-5-2"),
    ],
)
def test_a_newer_model_of_a_known_family_has_its_limits_and_no_price(table: ModelTable, name: str, like: str):
    found, known = table.info(name), table.info(like)
    assert (found.name, found.assumed) == (name, like)
    assert (found.context_window, found.max_output) == (known.context_window, known.max_output)
    assert (found.prices, found.bands) == (Prices(), ())
    assert found.binding
    assert cost(Usage(1, 1), found, "5m") is None


def test_the_table_says_what_each_claude_model_takes_as_the_endpoint_does(table: ModelTable):
    for model in MODELS:
        info = table.info(model.id)
        assert info.name in table.names()
        assert set(info.thinking_types or ()) == set(model.thinking), model.id
        assert info.efforts == model.efforts, model.id
        bound = "account" if model.of_account else "conversation" if model.preserved else ""
        assert info.binding == bound == (info.binding if is_bound(model.id) else ""), model.id
        assert (info.context_window, info.max_output) == (model.window, model.max_output), model.id


HAIKU_LONG = Prices(0.5, 2.5, 0.05, 0.625, 1.0)


@pytest.mark.parametrize(
    ("tokens", "prices"), [(0, None), (100_000, None), (100_001, HAIKU_LONG), (900_000, HAIKU_LONG)]
)
def test_prices_depend_on_the_length_of_the_prompt_where_they_do(
    table: ModelTable, tokens: int, prices: Prices | None
):
    haiku, opus = table.info("haiku"), table.info("opus")
    assert haiku.prices_for(tokens) == (prices or haiku.prices)
    assert opus.prices_for(tokens) == opus.prices


def test_a_request_costs_by_the_band_of_its_whole_prompt(table: ModelTable):
    haiku = table.info("haiku")
    short = Usage(1_000, 1_000, 90_000, 9_000)
    assert cost(short, haiku, "5m") == pytest.approx((100 + 500 + 900 + 1_125) / 1e6)
    long = Usage(1_000, 1_000, 90_000, 9_001)
    assert cost(long, haiku, "5m") == pytest.approx((500 + 2_500 + 4_500 + 9_001 * 0.625) / 1e6)
    assert cost(short, haiku, "1h", 200_000) == pytest.approx((500 + 2_500 + 4_500 + 9_000) / 1e6)


def test_every_band_begins_where_session_lists_part_their_sums(table: ModelTable):
    assert {above for name in table.names() for above, _ in table.info(name).bands} == set(LONG_PROMPTS)


def test_the_user_s_prices_hold_in_every_band():
    table = ModelTable.load(DATA, {"haiku": Facts(prices=Prices(output=9.0))})
    assert table.info("haiku").prices_for(200_000) == Prices(0.5, 9.0, 0.05, 0.625, 1.0)
