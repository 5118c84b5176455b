"""web_search, run by the endpoint, with bound thinking: kept, paired, billed, shown, and gone where it is unknown."""

import json
from pathlib import Path

import pytest

from prunecli.agent.decide import Limits
from prunecli.front.presentation.entries import Output, ToolCall
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.model.messages import Usage
from prunecli.model.searches import SEARCHES
from tests.context.project import project
from tests.e2e.bound import OPUS, answers, dropped, session
from tests.endpoint import Call, Endpoint, Reply, Rules, Thinking
from tests.endpoint.searches import asks, cites, finds

ON = 'tools.enabled=["read", "recall", "web_search"]'
PAGES = (("Python 3.14", "https://docs.python.org/3.14/"), ("News", "https://example.com/news"))
SEARCHED = {"server_tool_use": {"web_search_requests": 1}}


def found(number: int = 1) -> Reply:
    return Reply(
        [
            Thinking("I search."),
            "Let me look.",
            asks("python release", number),
            finds(*PAGES, number=number),
            Thinking("I found it."),
            cites("Python 3.14 is out.", *PAGES[0]),
        ],
        usage=SEARCHED,
    )


def sent(endpoint: Endpoint) -> list[dict]:
    return [json.loads(request.body) for request in endpoint.requests if request.refusal is None]


async def test_a_search_is_sent_back_byte_for_byte_and_billed(tmp_path: Path) -> None:
    script = [found(), Reply([Thinking("More."), "Yes."])]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        await runtime.submit("which python is new?")
        await runtime.submit("sure?")
        assert answers(runtime)[0].usage.web_search_requests == 1
        cost = runtime.status().bill.cost
        plain = sum(runtime.choices.price(one.model, _without(one.usage)) for one in answers(runtime))
        assert cost == pytest.approx(plain + 0.01)
        assert runtime.session.context.messages() == project(runtime.session.records)
    first, second = sent(endpoint)
    assert endpoint.rejected == []
    assert dropped(endpoint) == [0, 0]
    assert first["tools"][-1]["type"] == "web_search_20250305"
    kinds = [block["type"] for block in second["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "server_tool_use", "web_search_tool_result", "thinking", "text"]
    returned = second["messages"][1]["content"]
    assert returned[3]["content"] == finds(*PAGES).start["content"]
    assert returned[5]["citations"] == cites("Python 3.14 is out.", *PAGES[0]).whole["citations"]


def _without(usage: Usage) -> Usage:
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    )


async def test_a_paused_search_continues_and_its_result_belongs_to_the_same_message(tmp_path: Path) -> None:
    paused = Reply([Thinking("I search."), asks("python")], stop_reason="pause_turn")
    rest = Reply([finds(*PAGES), Thinking("I read."), "Found it."], usage=SEARCHED)
    async with Endpoint([paused, rest, "Yes."]) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        await runtime.submit("search")
        await runtime.submit("again")
        assert runtime.session.context.messages() == project(runtime.session.records)
    assert endpoint.rejected == []
    assert sent(endpoint)[1]["messages"][-1]["role"] == "assistant"
    kinds = [block["type"] for block in sent(endpoint)[2]["messages"][1]["content"]]
    assert kinds == ["thinking", "server_tool_use", "web_search_tool_result", "thinking", "text"]


async def test_a_search_that_never_ended_is_sent_as_text(tmp_path: Path) -> None:
    paused = Reply([Thinking("I search."), asks("python")], stop_reason="pause_turn")
    script = [paused, "Yes.", "Once more."]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        runtime.run_limits = Limits(1)
        await runtime.submit("search")
        runtime.run_limits = Limits()
        await runtime.submit("never mind")
        await runtime.submit("and now")
        assert runtime.session.context.messages() == project(runtime.session.records)
    assert endpoint.rejected == []
    content = sent(endpoint)[1]["messages"][1]["content"]
    assert content[1] == {"type": "text", "text": "[searched the web: python] [the search did not finish]"}


async def test_a_failed_search_is_kept_too(tmp_path: Path) -> None:
    script = [Reply([asks("x"), finds(error="max_uses_exceeded"), "No luck."]), "Yes."]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        await runtime.submit("search")
        await runtime.submit("go on")
    assert endpoint.rejected == []


async def test_a_model_without_it_gets_neither_tool_nor_blocks_and_then_the_first_bytes_return(
    tmp_path: Path,
) -> None:
    script = [found(), "I am another.", Reply([Thinking("Ah."), "Me again."])]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        await runtime.submit("which python is new?")
        runtime.refusals.add("claude-opus-4-8", "web_search")
        runtime.set_model("claude-opus-4-8")
        await runtime.submit("sure?")
        assert runtime.session.context.messages() == project(runtime.session.records)
        runtime.set_model(OPUS)
        await runtime.submit("really?")
        assert runtime.session.context.messages() == project(runtime.session.records)
    assert endpoint.rejected == []
    first, other, again = sent(endpoint)
    assert [tool["name"] for tool in other["tools"]] == ["read", "recall"]
    content = other["messages"][1]["content"]
    texts = [block["text"] for block in content if block["type"] == "text"]
    assert "[searched the web: python release]" in texts
    assert any("https://docs.python.org/3.14/" in text for text in texts)
    assert not {"server_tool_use", "web_search_tool_result"} & {block["type"] for block in content}
    assert all("citations" not in block for block in content)
    assert again["tools"] == first["tools"]
    assert again["messages"][1]["content"][3]["content"] == finds(*PAGES).start["content"]
    assert dropped(endpoint)[-1] == 0


async def test_a_refused_search_is_left_out_and_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    rules = Rules(refused=("web_search",))
    script = ["Hello.", Reply([Thinking("x"), Call("read", {"path": "1.txt"})]), "Done."]
    async with Endpoint(script, rules=rules) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        runtime.session.subscribe(lambda event: said.append(str(event)))
        await runtime.submit("hello")
        await runtime.submit("read it")
        assert runtime.session.context.settings[SEARCHES] is False
    assert [request.refusal is None for request in endpoint.requests] == [False, True, True, True]
    for body in sent(endpoint):
        assert [tool["name"] for tool in body["tools"]] == ["read", "recall"]
    assert sum("web_search" in one and "Notice" in one for one in said) == 1


async def test_it_is_off_by_default(tmp_path: Path) -> None:
    async with Endpoint(["Hi."]) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("hello")
    assert "web_search" not in [tool["name"] for tool in sent(endpoint)[0]["tools"]]


async def test_a_search_is_a_call_with_titles_and_urls_in_the_transcript(tmp_path: Path) -> None:
    async with Endpoint([found()]) as endpoint, session(tmp_path, endpoint, ON) as runtime:
        await runtime.submit("which python is new?")
        calls = [
            one
            for one in present_all(Presenter(lambda *_: "", lambda _: None), runtime.session.records)
            if isinstance(one, ToolCall)
        ]
    assert [(one.name, one.argument, one.outcome) for one in calls] == [
        ("web_search", "python release", "2 results")
    ]
    assert isinstance(calls[0].body, Output)
    assert "https://example.com/news" in calls[0].body.text
