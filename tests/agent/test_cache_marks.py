"""Where the breakpoints of a request are, after prunes."""

from prunecli.agent.assemble import ModelSettings
from prunecli.context.ledger import prun_applied
from prunecli.model.edits import Edit
from prunecli.model.events import ToolResult
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.wire import Endpoint as Address
from tests.agent.running import Bench
from tests.endpoint import Call, Endpoint, Reply
from tests.scripted import ScriptedProvider


async def test_a_prefix_that_was_stored_before_an_edit_is_marked_though_no_request_ended_there() -> None:
    calls = [Reply([Call("echo", {"words": f"a{number}", "times": 3_000})]) for number in range(8)]
    async with Endpoint([*calls, *["Done."] * 4]) as endpoint:
        bench = Bench(ScriptedProvider([]), model=ModelSettings("claude-sonnet-4-5", 8_000))
        bench.provider = AnthropicProvider(Address(api_key="key", base_url=endpoint.base_url))
        await bench.talk("look")
        results = [one.seq for one in bench.session.records if isinstance(one.event, ToolResult)]
        for number in (0, 4, 6):
            view = bench.policy.view(bench.session.context)
            edit = Edit("clear", results[number], text="[pruned]")
            bench.session.emit(prun_applied(view, "user", [edit]))
            await bench.talk("go on")
        await bench.provider.close()
    marks = [
        [number for number, message in enumerate(request.json["messages"]) if "cache_control" in str(message)]
        for request in endpoint.requests[-3:]
    ]
    # Messages 2, 10 and 14 are edited one after the other; the second request stores 8, the third can read it.
    assert marks == [[0, 18], [0, 8, 20], [8, 12, 22]]
