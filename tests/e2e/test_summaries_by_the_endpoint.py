"""Compaction where the endpoint makes the summary: the thinking of the turns that stay is still valid."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.features.acp.updates import Updates
from prunecli.features.export.exporters.formats import exported
from prunecli.front.headless.run import run_headless
from prunecli.front.plain.reader import PlainReader
from prunecli.front.presentation.presenter import Presenter
from prunecli.library.events import EventsOf
from prunecli.model.events import AttemptBilled, CompactionApplied, PrunApplied, Rewound
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime
from prunecli.session.audit import audit
from prunecli.session.importers.source import read_source
from tests.e2e.bound import answers, dropped, predicted, session, turn, undo
from tests.endpoint import Call, Endpoint, HttpError, Reply, Rules, Thinking
from tests.endpoint.sse import error_json
from tests.session.points import sent

BOUND = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2")
BETA = "compact-2026-09-04"
GIST = Reply("The gist of the first turns.")


def refusals(endpoint: Endpoint) -> list[str]:
    return [request.refusal.message for request in endpoint.rejected if request.refusal]


def compactions(runtime: Runtime) -> list[CompactionApplied]:
    events = (record.event for record in runtime.session.records)
    return [event for event in events if isinstance(event, CompactionApplied)]


def notices(told: list[object]) -> list[str]:
    return [one.text for one in told if isinstance(one, Notice)]


def asked(endpoint: Endpoint) -> list[Any]:
    """What each request for a summary asked."""
    return [request.json["compaction"] for request in endpoint.requests if "compaction" in request.json]


def kinds(endpoint: Endpoint, number: int = -1) -> list[tuple[str, list[str]]]:
    """Roles and blocks of a request."""
    messages = endpoint.requests[number].messages
    return [(one["role"], [block["type"] for block in one["content"]]) for one in messages]


@pytest.mark.parametrize("old_account", [False, True])
@pytest.mark.parametrize("model", BOUND)
async def test_the_thinking_of_kept_turns_survives(tmp_path: Path, model: str, old_account: bool) -> None:
    script = [*turn(0), *turn(1), *turn(2), GIST, *turn(3), *turn(4), Reply("A second gist."), *turn(5)]
    async with Endpoint(script, rules=Rules(old_account=old_account)) as endpoint:
        async with session(tmp_path, endpoint, model=model) as runtime:
            thoughts = runtime.session.context.thoughts
            for words in ("first words", "second words", "third words"):
                await runtime.submit(words)
            assert await runtime.compact("the parser")
            assert thoughts.stale() == ()
            await runtime.submit("fourth words")
            await runtime.submit("fifth words")
            assert await runtime.compact()
            assert thoughts.stale() == ()
            await runtime.submit("sixth words")
            text = json.dumps(endpoint.requests[-1].messages)
        assert refusals(endpoint) == []
        assert dropped(endpoint) == [0] * len(endpoint.requests)
        assert [one.input_transformations for one in answers(runtime)] == [()] * len(answers(runtime))
        for words in ("first", "second", "third", "fourth", "fifth", "sixth"):
            assert f"{words} words" in text
        assert kinds(endpoint)[0] == ("assistant", ["compaction"])
        assert text.count('"type": "compaction"') == 1
        assert "the parser" in asked(endpoint)[0]["instructions"]
        assert [event.block is not None for event in compactions(runtime)] == [True, True]


async def compacted(runtime: Runtime) -> None:
    """Two turns, then a summary."""
    await runtime.submit("one")
    await runtime.submit("two")
    await runtime.compact()


async def test_each_request_with_the_summary_names_its_beta_and_no_other_does(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1), GIST, *turn(2)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await compacted(runtime)
            await runtime.submit("three")
        named = [BETA in request.headers.get("anthropic-beta", "") for request in endpoint.requests]
        assert named == [False] * 4 + [True] * 3
        assert len(asked(endpoint)) == 1
        assert kinds(endpoint, 4)[-1][0] == "assistant", "it ends with the last answer that it replaces"


async def test_it_reads_the_cache_and_what_it_took_is_counted(tmp_path: Path) -> None:
    async with Endpoint([*turn(0, 1, 2), *turn(3), GIST, *turn(4)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await compacted(runtime)
            records = runtime.session.records
            event = compactions(runtime)[0]
            cost = runtime.choices.price("claude-opus-5-5", event.usage)
        usage = endpoint.requests[-1].usage
        assert usage is not None
        assert event.usage.prompt_tokens == usage.prompt_tokens > 0
        assert event.usage.output_tokens == len("The gist of the first turns.") // 4 + 1
        assert (event.usage.cache_read_input_tokens or 0) > usage.prompt_tokens * 0.8
        assert cost > 0
        assert any(
            "summary" in line for line in audit(records, runtime.session.context, lambda *_: 0.0).lines()
        )


@pytest.mark.parametrize(
    "refusal",
    ["Extra inputs are not permitted", "compaction: Unknown parameter", "this model does not support it"],
)
async def test_an_endpoint_that_refuses_the_field_gets_our_own_question_and_is_remembered(
    tmp_path: Path, refusal: str
) -> None:
    rules = Rules(refused=("compaction",), refusal=refusal)
    async with Endpoint(
        [*turn(0), *turn(1), GIST, *turn(2), *turn(3), GIST, *turn(4)], rules=rules
    ) as endpoint:
        told: list[object] = []
        async with session(tmp_path, endpoint) as runtime:
            runtime.session.subscribe(told.append)
            await runtime.submit("one")
            await runtime.submit("two")
            assert await runtime.compact()
            await runtime.submit("three")
            assert predicted(notices(told)) == dropped(endpoint)[-1:] == [2]
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            runtime.session.subscribe(told.append)
            await runtime.submit("four")
            assert await runtime.compact()
            await runtime.submit("five")
            assert predicted(notices(told))[1:] == dropped(endpoint)[-1:]
        assert len(refusals(endpoint)) == 1
        assert [event.block for event in compactions(runtime)] == [None, None]
        assert notices(told)[0] == "This endpoint rejects `compaction`; later requests omit it"
        begin = ("In the turns that stay", "The endpoint dropped") * 2
        assert all(one.startswith(words) for one, words in zip(notices(told)[1:], begin, strict=True))


@pytest.mark.parametrize(
    ("rules", "replies"),
    [
        (Rules(summaries="unavailable"), []),
        (Rules(summaries="empty"), []),
        (Rules(), [Reply("Half a", stop_reason="max_tokens")]),
        (Rules(), [Reply([Call("read", {"path": "0.txt"})])]),
        (Rules(), [Reply("No.", stop_reason="refusal")]),
        (Rules(), [HttpError(400, "`compaction` cannot be combined with something")]),
        (
            Rules(),
            [
                HttpError(
                    400,
                    body=error_json(
                        "invalid_request_error", "nothing", code="compaction_nothing_to_summarize"
                    ).decode(),
                )
            ],
        ),
    ],
)
async def test_where_the_endpoint_makes_no_summary_the_model_writes_one(
    tmp_path: Path, rules: Rules, replies: list[Any]
) -> None:
    script = [*turn(0), *turn(1), *replies, Reply("Our own gist."), *turn(2)]
    async with Endpoint(script, rules=rules) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("one")
            await runtime.submit("two")
            told: list[object] = []
            runtime.session.subscribe(told.append)
            assert await runtime.compact()
            (count,) = predicted(notices(told))
            await runtime.submit("three")
            assert dropped(endpoint)[-2:] == [count, count]
        event = compactions(runtime)[0]
        assert event.block is None
        assert "Our own gist." in event.summary
        assert refusals(endpoint) == []
        assert event.usage.output_tokens >= 4


async def test_a_refused_summary_costs_what_was_asked_twice(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1), Reply("x" * 400, stop_reason="max_tokens"), GIST]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await compacted(runtime)
        both = [request.usage for request in endpoint.requests[-2:]]
        events = [record.event for record in runtime.session.records]
        (unused,) = (event for event in events if isinstance(event, AttemptBilled))
        paid = unused.usage.plus(compactions(runtime)[0].usage)
        assert paid.prompt_tokens == sum(one.prompt_tokens for one in both if one)
        assert paid.output_tokens == 100 + len("The gist of the first turns.") // 4 + 1


@pytest.mark.parametrize("key", ["content", "signature"])
async def test_a_summary_that_is_no_longer_what_was_signed_is_sent_as_text(tmp_path: Path, key: str) -> None:
    async with Endpoint([*turn(0), *turn(1), GIST, *turn(2), *turn(3)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await compacted(runtime)
            event = compactions(runtime)[0]
            assert event.block is not None
            at = next(r.seq for r in runtime.session.records if isinstance(r.event, CompactionApplied))
            runtime.emit(Rewound(at - 1))
            runtime.emit(replace(event, block={**event.block, key: "x" + str(event.block[key])[1:]}))
            assert (await runtime.submit("three")).reason == "finished"
            assert (await runtime.submit("four")).reason == "finished"
        assert len(refusals(endpoint)) == 1
        assert kinds(endpoint)[0][0] == "user"
        assert "The gist of the first turns." in json.dumps(endpoint.requests[-1].messages)
        edits = [r.event for r in runtime.session.records if isinstance(r.event, PrunApplied)]
        assert [edit.kind for event in edits for edit in event.edits] == ["repair"]


async def test_a_model_that_takes_no_summary_gets_it_as_text(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1), GIST, *turn(2), *turn(3), *turn(4), *turn(5)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await compacted(runtime)
            runtime.set_model("claude-opus-5")
            await runtime.submit("three")
            assert kinds(endpoint)[0] == ("assistant", ["compaction"]), "the block is for every newer model"
            runtime.set_model("claude-haiku-4-5")
            await runtime.submit("four")
            assert kinds(endpoint)[0][0] == "user"
            assert BETA not in endpoint.requests[-1].headers.get("anthropic-beta", "")
            runtime.set_model("claude-opus-5-5")
            await runtime.submit("five")
            assert kinds(endpoint)[0][0] == "user", "the choice stays"
            prune = next(r.seq for r in runtime.session.records if isinstance(r.event, PrunApplied))
            undo(runtime, prune)
            await runtime.submit("six")
            assert kinds(endpoint)[0] == ("assistant", ["compaction"])
        assert refusals(endpoint) == []
        text = json.dumps(endpoint.requests[-1].messages)
        assert text.count("The gist of the first turns.") == 1
        assert all(f'"{words}"' in text for words in ("two", "three", "four", "five"))


async def test_resume_rewind_and_fork_know_the_summary(tmp_path: Path) -> None:
    async with Endpoint(
        [*turn(0), *turn(1), *turn(2), GIST, *turn(3), *turn(4), *turn(5), *turn(6)]
    ) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            for words in ("one", "two", "three"):
                await runtime.submit(words)
            await runtime.compact()
            before = runtime.session.context.messages()
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            assert runtime.session.context.messages() == before
            await runtime.submit("four")
            at = next(r.seq for r in runtime.session.records if isinstance(r.event, CompactionApplied))
            runtime.emit(Rewound(at))
            assert runtime.session.context.messages() == before
            await runtime.submit("four again")
            runtime.emit(Rewound(at - 1))
            assert runtime.session.context.messages()[0].role == "user"
            await runtime.submit("as if nothing had been compacted")
        async with session(tmp_path, endpoint, continue_last=True, fork=True) as runtime:
            await runtime.submit("five")
        assert refusals(endpoint) == []
        assert sum(dropped(endpoint)) == 0


@pytest.mark.parametrize("format_", ["messages", "pi"])
async def test_an_exported_session_comes_back_equal(tmp_path: Path, format_: str) -> None:
    async with (
        Endpoint([*turn(0), *turn(1), GIST, *turn(2)]) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        await compacted(runtime)
        await runtime.submit("three")
        whole = [json.loads(one.canonical) for one in runtime.session.context.messages()]
        for name in ("markdown", "html"):
            assert "The gist of the first turns." in exported(runtime.session.records, name).text
        text = exported(runtime.session.records, format_, keep_secrets=True).text
    (tmp_path / "file").write_text(text)
    assert sent(read_source(tmp_path / "file").records) == whole


async def test_one_long_turn_is_summarized_by_our_own_question(tmp_path: Path) -> None:
    sets = ("compaction.max_context_tokens=2000", "compaction.compact_at_pct=0.5")
    async with Endpoint([*turn(0, 1, 2, 3, 4, 5)[:-1], Reply("Our own gist."), *turn(6)]) as endpoint:
        told: list[object] = []
        async with session(tmp_path, endpoint, *sets) as runtime:
            runtime.session.subscribe(told.append)
            await runtime.submit("one long turn")
            assert predicted(notices(told)) == dropped(endpoint)[-1:] == [1]
        assert asked(endpoint) == []
        assert refusals(endpoint) == []


async def test_it_happens_by_itself_before_a_request(tmp_path: Path) -> None:
    def answer(request: Any, _: int) -> Reply:
        return GIST if "compaction" in request else Reply([Thinking("hm"), "long answer " * 300])

    sets = ("compaction.max_context_tokens=8000", "compaction.keep_recent_turns=3")
    async with Endpoint(answer) as endpoint:
        async with session(tmp_path, endpoint, *sets) as runtime:
            for number in range(16):
                await runtime.submit(f"words number {number}.")
        assert len(asked(endpoint)) >= 2
        assert refusals(endpoint) == []
        assert sum(dropped(endpoint)) == 0
        text = json.dumps(endpoint.requests[-1].messages)
        assert [text.count(f"words number {number}.") for number in range(16)] == [1] * 16
        assert all(event.block for event in compactions(runtime))


async def test_each_front_end_says_once_and_beforehand_what_a_refused_summary_costs(tmp_path: Path) -> None:
    def answer(request: Any, _: int) -> Reply:
        asked = "The conversation is about to be shortened" in json.dumps(request["messages"][-1])
        return GIST if asked else Reply([Thinking("hm"), "long answer " * 300])

    sets = ("compaction.max_context_tokens=8000", "compaction.keep_recent_turns=2")
    shown = {name: list[str]() for name in ("headless", "plain", "screen", "library", "editor")}
    async with Endpoint(answer, rules=Rules(refused=("compaction",))) as endpoint:
        async with session(tmp_path, endpoint, *sets) as runtime:

            def follow(name: str, read: Callable[[Any], Iterable[object]]) -> None:
                runtime.session.subscribe(lambda event: shown[name].extend(map(str, read(event))))

            plain = PlainReader(Presenter(lambda *_: "", lambda _: None), shown["plain"].append)
            runtime.session.subscribe(plain.read)
            follow("screen", Presenter(lambda *_: "", lambda _: None).take)
            follow("library", EventsOf(runtime).of)
            follow("editor", Updates(runtime).of)
            words = [f"words number {number}." for number in range(7)]
            await run_headless(runtime, words, form="text", out=lambda _: None, err=shown["headless"].append)
        assert len(compactions(runtime)) == 1
        lost = next(filter(None, dropped(endpoint)))
    before, after = f"this drops {lost} thinking block", f"The endpoint dropped {lost} thinking block"
    for name, lines in shown.items():
        found = [words for line in lines for words in (before, after) if words in line]
        assert found == [before, after], name
