"""What a prompt attaches, through to the strict endpoint: files, folders, images, PDF, with bound thinking."""

import json
from pathlib import Path
from typing import Any

from prunecli.model.events import UserMessage
from prunecli.runtime import Runtime
from tests.e2e.bound import dropped, session
from tests.endpoint import Endpoint, Reply, Thinking


def done() -> Reply:
    return Reply([Thinking("I see."), "Done."])


def attached(runtime: Runtime) -> list[UserMessage]:
    events = [record.event for record in runtime.session.records]
    return [one for one in events if isinstance(one, UserMessage) and one.origin == "attachment"]


def sent(endpoint: Endpoint, number: int = -1) -> list[dict[str, Any]]:
    """The blocks of the last message of a request."""
    return json.loads(endpoint.requests[number].body)["messages"][-1]["content"]


async def test_a_file_is_attached_as_a_result_after_the_words(tmp_path: Path) -> None:
    async with Endpoint([done(), done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("compare @1.txt, and @2.txt#L2-3. Not @nothing.txt")
        blocks = [block["text"] for block in sent(endpoint)]
        assert blocks[0] == "compare @1.txt, and @2.txt#L2-3. Not @nothing.txt"
        assert blocks[1:3] == ["[attached: 1.txt]", "line of file 1\n" * 40]
        assert blocks[3].startswith("[attached: 2.txt 2-3]")
        assert blocks[4].startswith("line of file 2\nline of file 2\n[lines 2-3 of 40")
        await runtime.submit("go on")
        assert not endpoint.rejected
        assert not any(dropped(runtime))
