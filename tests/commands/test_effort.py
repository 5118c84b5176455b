"""/effort, and what becomes of an effort that a model does not take."""

from pathlib import Path

import pytest

from prunecli.commands.command import Choose, Say, run_line
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.util.errors import ConfigError
from prunecli.util.launch_options import Launch
from tests.e2e.bound import session, turn
from tests.endpoint import Endpoint, Rules


def say(effects: object) -> str:
    assert isinstance(effects, list)
    return "\n".join(effect.text for effect in effects if isinstance(effect, Say))


def efforts(endpoint: Endpoint) -> list[str | None]:
    """The effort that each request that was taken asked for."""
    taken = (request.json for request in endpoint.requests if request.refusal is None)
    return [(body.get("output_config") or {}).get("effort") for body in taken]


def made(tmp_path: Path, **more: object) -> Runtime:
    environ = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    return make_runtime(Launch(cwd=tmp_path, no_session=True, **more), environ)  # type: ignore[arg-type]


async def test_it_is_sent_from_the_next_request_on_and_kept_with_the_session(tmp_path: Path) -> None:
    async with Endpoint([*turn(), *turn(), *turn(), *turn()]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("one")
            said = say(run_line(runtime, "/effort high"))
            assert said.startswith("Effort: high. Earlier thinking stays valid; the next request caches")
            await runtime.submit("two")
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            await runtime.submit("three")
            assert say(run_line(runtime, "/effort default")).startswith("Effort: default.")
            await runtime.submit("four")
        assert efforts(endpoint) == [None, "high", "high", None]
        assert [len(request.dropped) for request in endpoint.requests] == [0, 0, 0, 0]
        assert endpoint.rejected == []


def test_without_a_level_it_offers_what_the_model_takes(tmp_path: Path) -> None:
    runtime = made(tmp_path, flags={"--model": "claude-opus-4-6", "--effort": "max"})
    (offered,) = run_line(runtime, "/effort")
    assert isinstance(offered, Choose)
    assert [choice.value for choice in offered.choices] == ["default", "low", "medium", "high", "max"]
    assert [choice.value for choice in offered.choices if choice.current] == ["max"]


@pytest.mark.parametrize(
    ("model", "level", "said"),
    [
        (
            "claude-opus-4-6",
            "xhigh",
            "No effort level 'xhigh': choose low, medium, high, max or default.",
        ),
        ("claude-haiku-4-5", "low", "claude-haiku-4-5 has no effort setting."),
        ("claude-haiku-5-5", "max", "No effort level 'max': choose low, medium, high or default."),
    ],
)
def test_a_level_that_the_model_does_not_take_is_refused_with_those_that_it_does(
    tmp_path: Path, model: str, level: str, said: str
) -> None:
    runtime = made(tmp_path, flags={"--model": model})
    assert say(run_line(runtime, f"/effort {level}")) == said
    assert runtime.choices.effort == ""


def test_a_flag_that_the_model_does_not_take_is_refused_with_those_that_it_does(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        made(tmp_path, flags={"--model": "claude-sonnet-4-6", "--effort": "xhigh"})
    assert "--effort" in caught.value.message
    assert caught.value.hint == "claude-sonnet-4-6 accepts low, medium, high, max"


def test_another_model_that_does_not_take_it_uses_its_own_and_says_so(tmp_path: Path) -> None:
    runtime = made(tmp_path, flags={"--model": "opus", "--effort": "max"})
    assert runtime.choices.effort == "max"
    said = say(run_line(runtime, "/model claude-opus-4-5"))
    assert (
        "claude-opus-4-5 does not support effort max: it accepts low, medium, high. Using its default."
        in said
    )
    assert runtime.choices.effort == ""


async def test_an_endpoint_that_knows_no_effort_gets_requests_without_it(tmp_path: Path) -> None:
    async with Endpoint([*turn(), *turn()], rules=Rules(refused=("output_config",))) as endpoint:
        for words in ("one", "two"):
            async with session(tmp_path, endpoint, "model.effort=high") as runtime:
                assert (await runtime.submit(words)).reason == "finished"
            assert say(run_line(runtime, "/effort low")) == "This endpoint rejected the effort setting."
        assert len(endpoint.rejected) == 1
        assert efforts(endpoint) == [None, None]


@pytest.mark.parametrize(
    ("model", "budget", "note"),
    [
        (
            "claude-opus-5-5",
            2048,
            "model.thinking has no effect on claude-opus-5-5; use effort",
        ),
        (
            "claude-opus-5-5",
            0,
            "model.thinking = 0 has no effect on claude-opus-5-5, which always thinks; lower its effort",
        ),
        (
            "claude-haiku-5-5",
            2048,
            "model.thinking only switches thinking on for claude-haiku-5-5; use effort for how much",
        ),
        ("claude-haiku-5-5", 0, ""),
        ("claude-sonnet-4-5", 2048, ""),
        ("a-local-model", 2048, ""),
    ],
)
def test_a_budget_that_does_nothing_is_said_once(tmp_path: Path, model: str, budget: int, note: str) -> None:
    runtime = made(tmp_path, flags={"--model": model}, sets=(f"model.thinking={budget}",))
    found = [notice for notice in runtime.notices if "think" in notice]
    assert [note in notice for notice in found] == ([True] if note else [])


def test_a_budget_that_nobody_set_says_nothing(tmp_path: Path) -> None:
    assert [notice for notice in made(tmp_path).notices if "think" in notice] == []
