"""What is known about a model: names and their variants, overrides, costs, the factor of its tokens."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from prunecli.errors import ConfigError
from prunecli.model.messages import Usage
from prunecli.providers import models
from prunecli.providers.models import ALIASES, ModelInfo, ModelTable, Prices, cost, token_factor

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
    assert (info.name, info.context_window, info.vision) == (name, 1_000_000, True)
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
    "name", ["claude-opus-5-6", "claude-opus-55", "gpt-x", "", "claude-", "claude-opus-5-5-mini"]
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
        ("demo", 1.0),
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


def test_a_missing_table_is_an_error_that_names_the_file(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"models\.json"):
        ModelTable.load(tmp_path)


def test_every_row_of_the_table_is_read_as_it_stands(table: ModelTable):
    rows = json.loads((DATA / "models.json").read_bytes())
    for name, row in rows.items():
        info = table.info(name)
        assert (info.context_window, info.max_output) == (row["context_window"], row["max_output"])
        assert (info.prices.input, info.prices.cache_write_1h) == (row["input"], row.get("cache_write_1h"))
