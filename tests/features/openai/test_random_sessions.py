"""Random sessions over both vendors: prompts with calls, prunes, undos, rewinds, summaries, resumes and other models.
Neither endpoint rejects any request."""

import asyncio
import random
from pathlib import Path

import pytest

from prunecli.commands.command import InThread, run_line
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.runtime import Runtime
from tests.endpoint.script import Call, Reply
from tests.endpoint.script import Thinking as Thought
from tests.endpoint.server import Endpoint
from tests.features.openai.test_vendors import RULES, opened
from tests.openai_endpoint.server import OpenAiEndpoint
from tests.starting import closed

SUMMARY = "[This is prunecli, not the user.]"
STEPS = 12


class Model:
    """What both models say, drawn from a seed: sometimes they think, sometimes they call."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, request: object, index: int) -> Reply:
        if SUMMARY in str(request)[-6_000:]:
            return Reply("A summary of what was done.")
        content: list[object] = [Thought("Hm.")] if self._random.random() < 0.5 else []
        count = self._random.choice((0, 0, 1, 2))
        content += [
            f"Step {index}.",
            *(Call("read", {"path": "a.txt", "offset": at + 1}) for at in range(count)),
        ]
        return Reply(content)  # type: ignore[arg-type]


async def step(runtime: Runtime, what: str, number: int) -> None:
    """Do one thing."""
    if what == "prompt":
        await runtime.submit(f"Prompt {number}: go on.")
    elif what == "compact":
        await runtime.compact()
    elif what == "rewind":
        points = points_of(runtime)
        await rewind(runtime, points[number % len(points)].seq, conversation=True, files=False)
    else:
        for effect in run_line(runtime, what):
            if isinstance(effect, InThread):
                await asyncio.to_thread(effect.work)


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(one, marks=pytest.mark.long) for one in range(3, 150))]
)
async def test_no_request_is_rejected(tmp_path: Path, wire: str, seed: int) -> None:
    drawn = random.Random(seed)
    others = (
        "/prune",
        "/undo",
        "/model gpt-5.5",
        "/model claude-sonnet-4-6",
        "compact",
        "/restore 3",
        "/pin 3",
        "rewind",
        "resume",
    )
    async with Endpoint(Model(seed)) as claude, OpenAiEndpoint(Model(seed + 1), rules=RULES) as gpt:
        runtime = opened(tmp_path, claude, gpt, wire)
        for number in range(STEPS):
            await step(runtime, "prompt", number)
            if (what := drawn.choice(others)) != "resume":
                await step(runtime, what, number)
                continue
            path = await closed(runtime)
            runtime = opened(tmp_path, claude, gpt, wire)
            runtime.open_session(path)
        await step(runtime, "prompt", STEPS)
        assert [one.refusal for one in (*claude.rejected, *gpt.rejected)] == []
        assert len(claude.requests) + len(gpt.requests) > STEPS
        await runtime.close()
