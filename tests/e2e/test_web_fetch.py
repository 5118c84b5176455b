"""web_fetch in a session with bound thinking: asked by host, shortened, superseded, and nothing changes before it."""

import json
from dataclasses import replace
from pathlib import Path

from prunecli.context.strategies.superseded import superseded
from prunecli.model.events import ToolStarted
from prunecli.model.messages import plain_text
from prunecli.tools.web.access import Web
from tests.e2e.bound import clear, dropped, results, session
from tests.endpoint import Call, Endpoint, Reply, Thinking
from tests.tools.web.site import Site, answer, serving

DONE = Reply([Thinking("That is all."), "Done."])
LONG = "<h1>Guide</h1>" + "".join(
    f"<p>Paragraph number {number} of the guide.</p>" for number in range(2_000)
)


def fetch(url: str) -> Reply:
    return Reply([Thinking("I look it up."), Call("web_fetch", {"url": url})])


def allowing(site: Site, *more: str) -> tuple[str, ...]:
    here = f"localhost:{site.port}"
    return (f'tools.web.private=["{here}"]', f'permissions.allow=["web_fetch({here})"]', *more)


async def test_a_page_is_fetched_shortened_and_superseded_by_the_next_fetch(tmp_path: Path) -> None:
    async with serving({"/guide": answer(LONG, "text/html")}) as site:
        url = f"http://localhost:{site.port}/guide"
        script = [fetch(url), fetch(url), DONE, DONE]
        async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *allowing(site)) as runtime:
            await runtime.submit("read the guide")
            first, second = results(runtime)
            entry = runtime.session.context.entries[first]
            assert "untrusted content from localhost" in entry.text
            assert "Paragraph number 1 of" in entry.text
            view = runtime.policy.view(runtime.session.context)
            assert [(old.seq, by.seq) for old, by in superseded(view)] == [(first, second)]
            started = [one.event for one in runtime.session.records if isinstance(one.event, ToolStarted)]
            assert started[0].touches is not None
            assert started[0].touches.to_json() == {"fetches": [f"localhost:{site.port}"]}
            clear(runtime, second)
            await runtime.submit("go on")
    bodies = [json.loads(request.body) for request in endpoint.requests]
    assert endpoint.rejected == []
    assert "[pruned]" in json.dumps(bodies[-1])
    assert len({json.dumps([body["system"], body["tools"]]) for body in bodies}) == 1
    assert dropped(endpoint)[:3] == [0, 0, 0]


async def test_without_a_rule_a_headless_run_is_denied_and_the_model_hears_why(tmp_path: Path) -> None:
    async with serving({"/": answer("secret")}) as site:
        script = [fetch(f"http://localhost:{site.port}/"), fetch("http://user:pw@localhost/"), DONE]
        private = allowing(site)[0]
        async with Endpoint(script) as endpoint, session(tmp_path, endpoint, private) as runtime:
            await runtime.submit("fetch it")
            said = [
                plain_text(runtime.session.context.entries[seq].event.content) for seq in results(runtime)
            ]
    assert "a headless run cannot ask" in said[0]
    assert "user name or password" in said[1]
    assert site.heads == []
    assert endpoint.rejected == []


async def test_switched_off_it_is_not_in_the_tool_list_and_on_later_only_in_a_new_session(
    tmp_path: Path,
) -> None:
    without = 'tools.enabled=["read", "recall"]'
    async with Endpoint([DONE, DONE]) as endpoint, session(tmp_path, endpoint, without) as runtime:
        await runtime.submit("hello")
        config = runtime.config
        runtime.use_config(
            replace(config, tools=replace(config.tools, enabled=("read", "recall", "web_fetch")))
        )
        await runtime.submit("again")
    for request in endpoint.requests:
        assert [tool["name"] for tool in json.loads(request.body)["tools"]] == ["read", "recall"]


def test_an_access_allows_nothing_private_by_default() -> None:
    assert Web().private == ()
