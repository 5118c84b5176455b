"""How long the endpoint keeps what it cached, by its own reports: prices, waiting for a cold cache, and lists."""

from pathlib import Path

import pytest

from prunecli.model.messages import Usage
from prunecli.providers.models import cost
from prunecli.runtime import Runtime
from prunecli.runtime.sessions import Costs
from prunecli.session.store import Store
from tests.e2e.bound import answers, clear, results, session, turn
from tests.endpoint import Endpoint, Rules

HOUR = "model.cache_ttl=1h"


def by_hand(runtime: Runtime) -> float:
    """The cost of all answers, each by its own lifetimes."""
    info = runtime.choices.model
    total = 0.0
    for one in answers(runtime):
        written, hour = one.usage.cache_creation_input_tokens or 0, one.usage.cache_1h_input_tokens or 0
        short = Usage(one.usage.input_tokens, one.usage.output_tokens, one.usage.cache_read_input_tokens, 0)
        for part, ttl in (
            (short, "5m"),
            (Usage(0, 0, 0, written - hour), "5m"),
            (Usage(0, 0, 0, hour), "1h"),
        ):
            total += cost(part, info, "1h" if ttl == "1h" else "5m", one.usage.prompt_tokens) or 0.0
    return total


def listed(runtime: Runtime) -> float:
    """The cost that a list of the sessions shows."""
    (one,) = Store(runtime.setup.places.sessions).list()
    return Costs.of(runtime.setup.places).of_session(one.digest)


@pytest.mark.parametrize("an_hour", [True, False])
async def test_a_session_costs_by_the_lifetime_that_its_endpoint_reports(
    tmp_path: Path, an_hour: bool
) -> None:
    async with Endpoint([*turn(0), *turn(1)], rules=Rules(caches_an_hour=an_hour)) as endpoint:
        async with session(tmp_path, endpoint, HOUR) as runtime:
            await runtime.submit("look")
            assert runtime.choices.cache_ttl == ("1h" if an_hour else "5m")
            assert runtime.policy.market.ttl_ms == (3_600_000 if an_hour else 300_000)
            await runtime.submit("again")
            written = [one.usage.cache_creation_input_tokens or 0 for one in answers(runtime)]
            assert all(written)
            assert [one.usage.cache_1h_input_tokens for one in answers(runtime)] == [
                tokens * an_hour for tokens in written
            ]
            assert runtime.bill.cost == pytest.approx(by_hand(runtime))
        assert listed(runtime) == pytest.approx(by_hand(runtime))
        assert all(b'"ttl":"1h"' in request.body for request in endpoint.requests), "it is still asked for"


async def test_another_configured_lifetime_does_not_change_what_a_session_has_cost(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1), *turn(2)]) as endpoint:
        async with session(tmp_path, endpoint, HOUR) as runtime:
            await runtime.submit("look")
            clear(runtime, results(runtime)[0])
            await runtime.submit("again")
            spent, saved = runtime.bill.cost, runtime.balance.now
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            assert runtime.bill.cost == pytest.approx(spent)
            assert runtime.balance.now == saved
            assert runtime.choices.cache_ttl == "1h", "what is cached by now"
            await runtime.submit("go on")
            assert runtime.choices.cache_ttl == "5m"
            assert runtime.bill.cost == pytest.approx(by_hand(runtime))
