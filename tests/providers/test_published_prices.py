"""The prices of the model table agree with a price list that others publish (the package genai-prices)."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price

import prunecli
from prunecli.model.messages import Usage
from prunecli.providers.models import ModelTable, cost

TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")
WHEN = datetime(2026, 11, 28, 7, tzinfo=UTC)
"""An hour at which DeepSeek asks its full price, as the table has it."""
PROVIDERS = {
    "openai": "openai", "google": "google", "xai": "x-ai", "anthropic": "anthropic", "zai": "zai",
    "deepseek": "deepseek", "moonshot": "moonshotai",
}  # fmt: skip
LISTED = [name for name in TABLE.names() if TABLE.info(name).provider in PROVIDERS]
ELSEWHERE = {
    "gpt-5.1-codex-max": "listed there as gpt-5.1",
    "claude-mythos-5-2": "not listed yet",
    "zai/glm-4.5-flash": "free",
    "zai/glm-4.7-flash": "free",
    "zai/glm-5-code": "a subscription's",
    "moonshot/moonshot-v1-auto": "one of three, by the length of the prompt",
}
OLDER = {name for name in LISTED if re.search("deepseek-(chat|coder|reasoner|r1|v3)", name)}
"""Models that DeepSeek no longer offers; the list has other prices of their last months."""


def published(name: str, usage: Usage) -> Decimal | None:
    """What the published list asks for a request; None if it does not know the model."""
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    tokens = Tokens(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.output_tokens,
    )
    provider = PROVIDERS[TABLE.info(name).provider]
    try:
        return calc_price(
            tokens, name.partition("/")[2] or name, provider_id=provider, genai_request_timestamp=WHEN
        ).total_price
    except LookupError:
        return None


@pytest.mark.parametrize("name", sorted(set(LISTED) - OLDER))
def test_a_request_costs_what_the_published_list_asks(name: str) -> None:
    info = TABLE.info(name)
    reads = 20_000 if info.prices.cache_read is not None else 0
    for longer in (0, *(above for above, _ in info.bands)):
        usage = Usage(1_000 + longer, 500, reads, 5_000)
        asked = published(name, usage)
        if asked is None:
            assert name in ELSEWHERE or info.provider == "anthropic"
            return
        assert cost(usage, info, "5m") == pytest.approx(float(asked))
