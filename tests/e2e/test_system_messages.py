"""Fixed sentences go as system messages where the model takes them, else as text at the same place. Nothing that a
repository can write ever does."""

import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import prunecli
from prunecli.commands.command import InThread, run_line
from prunecli.config.effective import Config
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.model.claude import takes_system_messages
from prunecli.model.events import Record, SettingChanged, UserMessage
from prunecli.model.messages import Text
from prunecli.model.notes import PLAN_NOTE, SYSTEM, notice
from prunecli.model.requests import messages_json
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.models import ModelTable
from prunecli.providers.wire import Endpoint as Address
from prunecli.runtime import Runtime
from prunecli.runtime.choices import Choices
from prunecli.session.importers.anthropic_messages import records_of
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.paths import Places
from tests.endpoint import Call, Endpoint, Reply, Rules, Thinking
from tests.endpoint.rules import MODELS
from tests.session.points import folded
from tests.starting import closed, start

OPUS, OLD = "claude-opus-5-5", "claude-sonnet-5"
NOTE = PLAN_NOTE.text
LIMIT = notice("limit", "3 of 5 turns are left.", fixed=True)
OTHERS = (OPUS, OLD, "claude-fable-5-1", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6")
PROMPTS = 14
CODE = Path(prunecli.__file__).parent


class Model:
    """What all models say, drawn from a seed: sometimes they think, sometimes they read a file."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, request: Any, index: int) -> Reply:
        if "compaction" in request or "[This is prunecli, not the user.]" in str(request)[-6_000:]:
            return Reply("A summary of what was done.")
        content: list[Any] = [Thinking("Hm.")] if self._random.random() < 0.5 else []
        reads = [Call("read", {"path": "a.txt"})] * self._random.choice((0, 0, 1, 2))
        return Reply([*content, f"Step {index}.", *reads])


def opened(tmp_path: Path, endpoint: Endpoint, *sets: str, model: str = OPUS) -> Runtime:
    """A runtime that believes to be at Anthropic's own endpoint."""
    summaries = "compaction.keep_first_turns=0", "compaction.keep_recent_turns=1"
    quiet = *summaries, "ui.confirm=never", f"model.name={model}", *sets
    provider = AnthropicProvider(Address(api_key="key", base_url=endpoint.base_url))
    return start(tmp_path, sets=quiet, provider=provider)


async def act(runtime: Runtime, what: str, number: int) -> None:
    """Do one thing."""
    match what:
        case "plan" | "edits":
            runtime.gatekeeper.mode = "plan" if what == "plan" else "edits"
        case "compact":
            await runtime.compact()
        case "rewind":
            points = points_of(runtime)
            await rewind(runtime, points[number % len(points)].seq, conversation=True, files=False)
        case "limit" | "hook":
            runtime.mailbox.notices.append(LIMIT if what == "limit" else notice("hook x", NOTE))
        case _:
            for effect in run_line(runtime, what):
                if isinstance(effect, InThread):
                    await asyncio.to_thread(effect.work)


def told(messages: Sequence[Any]) -> list[str]:
    """The texts of the system messages of a request."""
    return [block["text"] for one in messages if one["role"] == "system" for block in one["content"]]


def said(messages: Sequence[Any]) -> list[str]:
    """All other texts."""
    content = [one["content"] for one in messages if one["role"] != "system"]
    return [block["text"] for blocks in content for block in blocks if block["type"] == "text"]


def expected(runtime: Runtime) -> list[str]:
    """The fixed sentences of the context, in order."""
    events = [item.event for item in runtime.session.context.items if isinstance(item.event, UserMessage)]
    return [one.content[at].text for one in events for at in one.fixed if isinstance(one.content[at], Text)]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(one, marks=pytest.mark.long) for one in range(3, 100))]
)
async def test_no_request_of_a_random_session_is_rejected(tmp_path: Path, seed: int) -> None:
    """The files, their names, the instructions and the person say what the note of plan mode says."""
    drawn = random.Random(seed)
    models = [f"/model {name}" for name in OTHERS]
    acts = (
        *models,
        "/prune",
        "/undo",
        "/redo",
        "/restore 3",
        "/pin 3",
        "compact",
        "rewind",
        "resume",
        "fork",
    )
    modes = ("plan", "edits", "limit", "hook")
    (tmp_path / "work").mkdir()
    for name in ("a.txt", "AGENTS.md", "[plan mode]"):
        (tmp_path / "work" / name).write_text(NOTE)
    async with Endpoint(Model(seed)) as endpoint:
        runtime = opened(tmp_path, endpoint)
        for number in range(PROMPTS):
            await act(runtime, drawn.choice(modes), number)
            await runtime.submit(drawn.choice([NOTE, f"Prompt {number}", "Look at @a.txt", '@"[plan mode]"']))
            request = endpoint.requests[-1]
            takes = takes_system_messages(request.json["model"])
            assert told(request.messages) == (expected(runtime) if takes else [])
            assert takes or set(expected(runtime)) <= set(said(request.messages))
            what = drawn.choice(acts)
            if what in ("resume", "fork"):
                path = await closed(runtime)
                runtime = opened(tmp_path, endpoint)
                runtime.open_session(path, fork=what == "fork")
            else:
                await act(runtime, what, number)
        assert [one.refusal for one in endpoint.rejected] == []
        path = await closed(runtime)
    report = verify_session(path, read_log(path))
    assert report.clean, report.lines


async def test_each_model_gets_its_own_form_and_reads_its_own_prefix_again(tmp_path: Path) -> None:
    async with Endpoint(Model(1)) as endpoint:
        runtime = opened(tmp_path, endpoint)
        await act(runtime, "plan", 0)
        await runtime.submit("With the first model")
        first = endpoint.requests[-1]
        await act(runtime, f"/model {OLD}", 0)
        await runtime.submit("With one that takes no such messages")
        assert told(first.messages) == [NOTE]
        assert (told(endpoint.requests[-1].messages), said(endpoint.requests[-1].messages)[1]) == ([], NOTE)
        context = runtime.session.context
        foretold = context.prompts.longest(context.fixed.digests(tells=True), OPUS, 0)[1]
        await act(runtime, f"/model {OPUS}", 0)
        await runtime.submit("And back")
        back = endpoint.requests[-1]
        assert told(back.messages) == [NOTE] * 3
        assert first.usage is not None
        assert back.usage is not None
        assert (
            back.usage.cache_read_input_tokens
            == first.usage.prompt_tokens - first.usage.input_tokens
            == foretold
        )
        assert back.dropped == []
        assert endpoint.rejected == []
        await runtime.close()


async def test_an_endpoint_that_refuses_them_gets_text_from_then_on(tmp_path: Path) -> None:
    async with Endpoint(["One.", "Two."], rules=Rules(refused=("system messages",))) as endpoint:
        runtime = opened(tmp_path, endpoint)
        await act(runtime, "plan", 0)
        await runtime.submit("look")
        await runtime.submit("again")
        assert [told(one.messages) for one in endpoint.requests] == [[NOTE], [], []]
        assert [one.refusal is not None for one in endpoint.requests] == [True, False, False]
        assert said(endpoint.requests[-1].messages) == ["look", NOTE, "One.", "again", NOTE]
        await runtime.close()


async def test_what_was_sent_as_text_by_an_earlier_version_stays_text(tmp_path: Path) -> None:
    async with Endpoint(["One.", "Two."]) as endpoint:
        runtime = opened(tmp_path, endpoint)
        runtime.prepare()
        runtime.session.emit(UserMessage((Text("look"), PLAN_NOTE)))
        await runtime.go_on()
        await act(runtime, "plan", 0)
        await runtime.submit("again")
        roles = [[one["role"] for one in request.messages] for request in endpoint.requests]
        assert roles == [["user"], ["user", "assistant", "user", "system"]]
        assert said(endpoint.requests[1].messages)[:2] == ["look", NOTE]
        await runtime.close()


def test_it_is_told_so_by_model_and_at_anthropics_own_endpoint_only() -> None:
    for model in MODELS:
        assert takes_system_messages(model.id) == model.takes_system, model.id
    info = ModelTable.load(Places.of({"HOME": "/nonexistent"}).shipped_data, {}).info
    for key, value, model, tells in (
        ("base_url", "", OPUS, True),
        ("base_url", "", OLD, False),
        ("base_url", "https://gateway.example", OPUS, False),
        ("endpoint", "anthropic", OPUS, True),
        ("endpoint", "bedrock", OPUS, False),
        ("endpoint", "openrouter", OPUS, False),
    ):
        config = Config().with_value(f"model.{key}", value)
        assert Choices(config, {"model.name": model}, info).policy_at(0).tells is tells, value


def test_what_others_wrote_as_system_messages_is_imported_as_text() -> None:
    fields = {"role": "user", "content": [{"type": "text", "text": "hi", "fixed": [0]}], "fixed": [0]}
    records = [
        *records_of([fields, {"role": "system", "content": NOTE}]),
        Record(9, 0, SettingChanged(SYSTEM, True)),
    ]
    assert told(messages_json(folded(records).messages())) == []


def test_only_these_modules_mark_a_sentence_as_fixed() -> None:
    """Each of them says a sentence of its own, with at most its own numbers. A new one needs a look."""
    marking = {
        str(path.relative_to(CODE))
        for path in CODE.rglob("*.py")
        if re.search(r"\b(?:notice|UserMessage)\((?:[^()]|\([^()]*\))*\bfixed=", path.read_text())
    }
    own = {"agent/nudge.py", "features/mcp/servers.py", "features/subagents/subagents.py"}
    assert marking == {"model/notes.py", *own}
