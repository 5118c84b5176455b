"""How the program counts with the four kinds of prompt cache: for a price, by itself, both, or none."""

from pathlib import Path

import pytest

import prunecli
from prunecli.config.effective import Config
from prunecli.context.cache import learned_ms
from prunecli.context.economics import cold
from prunecli.model.messages import Text, Usage
from prunecli.providers.models import AUTOMATIC_MS, ModelTable
from prunecli.runtime.choices import Choices
from tests.scripted import Scripted
from tests.starting import start

TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")
MINUTE = 60_000
KINDS = {
    "claude-sonnet-4-6": ("breakpoints", 5 * MINUTE, 0.3, 3.75),
    "gpt-5.5": ("automatic", AUTOMATIC_MS, 0.5, 5.0),
    "gemini-3.8-flash": ("automatic", AUTOMATIC_MS, 0.075, 0.75),
    "deepseek-v4-pro": ("automatic", AUTOMATIC_MS, 0.044, 1.32),
    "glm-5": ("automatic", AUTOMATIC_MS, 0.2, 1.0),
    "gpt-6-sol": ("paid", 30 * MINUTE, 0.2, 2.5),
    "gpt-5-pro": ("none", 5 * MINUTE, 15.0, 15.0),
    "nobody-knows": ("", 5 * MINUTE, None, None),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_its_lifetime_and_its_prices(name: str) -> None:
    kind, lifetime, read, write = KINDS[name]
    choices = Choices(Config(), {"model.name": name}, TABLE.info)
    market = choices.policy_at(None).market
    assert TABLE.info(name).cache == kind
    assert (choices.ttl_ms, market.read, market.write) == (lifetime, read, write)


@pytest.mark.parametrize(
    ("pauses", "reads", "expected"),
    [
        ([1, 60], [9_900, 10_000], 60),
        ([1, 20], [9_900, 0], 10),
        ([7], [0], 7),
        ([2], [0], 10),
        ([30, 20], [9_900, 0], 20),
    ],
    ids=["outlived", "gone after longer than assumed", "gone sooner", "missed by chance", "gone after all"],
)
async def test_the_lifetime_of_an_automatic_cache_is_learned(
    tmp_path: Path, pauses: list[int], reads: list[int], expected: int
) -> None:
    now = [1_700_000_000_000]
    script = [Scripted((Text("One."),), usage=Usage(10_000, 10, 0))]
    script += [Scripted((Text("More."),), usage=Usage(10_100 - read, 10, read)) for read in reads]
    runtime = start(tmp_path, script, sets=["model.name=gpt-5.5"], clock=lambda: now[0])
    await runtime.submit("Begin.")
    for pause in pauses:
        now[0] += pause * MINUTE
        await runtime.submit("Go on.")
    assert round(runtime.choices.ttl_ms / MINUTE) == expected
    await runtime.close()


def test_the_shortest_pause_that_lost_the_prefix_wins_over_the_longest_that_kept_it() -> None:
    assert learned_ms(10, 0, 0) == 10
    assert learned_ms(10, 60, 20) == 20


async def test_where_nothing_is_cached_every_moment_is_cold(tmp_path: Path) -> None:
    runtime = start(
        tmp_path, [Scripted((Text("One."),), usage=Usage(10_000, 10))], sets=["model.name=gpt-5-pro"]
    )
    await runtime.submit("Begin.")
    assert cold(runtime.session.context, runtime.policy.market) == "this endpoint caches nothing"
    await runtime.close()
