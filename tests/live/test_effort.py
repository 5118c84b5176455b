"""Does the service take the efforts that the model table names, and keep thinking valid when they change?"""

from pathlib import Path

import pytest

import prunecli
from prunecli.providers.models import ModelTable
from prunecli.providers.optional_fields import EFFORT, refused_fields
from prunecli.providers.thinking import EFFORTS
from tests.live.api import Api, Talk

TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")
MODELS = (
    *("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-6", "claude-opus-4-5"),
    "claude-haiku-4-5",
)
HELLO = [{"role": "user", "content": "Say only: ok"}]


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("model", MODELS)
def test_the_table_names_the_efforts_that_are_taken(api: Api, model: str, effort: str) -> None:
    info = TABLE.info(model)
    answer = api.post(HELLO, model=model, thinking=None, output_config={"effort": effort})
    assert (answer.status == 200) == (effort in (info.efforts or ())), answer.error
    if answer.status != 200:
        named = refused_fields(answer.error)
        assert named[:1] == (() if info.efforts else (EFFORT,)), answer.error


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-5"])
def test_without_thinking_effort_ends_at_high(api: Api, model: str) -> None:
    for effort, status in (("high", 200), ("max", 400)):
        thinking = {"type": "disabled"}
        answer = api.post(HELLO, model=model, thinking=thinking, output_config={"effort": effort})
        assert answer.status == status, answer.error
    assert refused_fields(answer.error) == (), "a wrong value, not an unknown field"


def test_another_effort_keeps_thinking_valid(api: Api) -> None:
    talk = Talk(api)
    talk.turn()
    assert talk.ask(output_config={"effort": "low"}).dropped == []
