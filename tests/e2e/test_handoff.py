"""Sessions of other agents, recorded from their current versions, continued here; some thinking is bound elsewhere.

Prompts, calls, results and images are equal in the log and on the wire, and the endpoint accepts the first request.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.runtime.make import make_runtime
from prunecli.util.errors import SessionLocked, SessionNotFound, UsageError
from prunecli.util.launch_options import Launch
from tests.endpoint import Endpoint, Reply, Rules, Thinking
from tests.peers.handing import NEXT, environment, handed_over, imported_part
from tests.peers.scene import PROMPTS, check_equal, picture_data
from tests.session.importers import stores

RECORDED = ("claude.jsonl", "codex.jsonl", "pi.jsonl", "gemini.jsonl", "opencode.json")
AGENTS = [f"@{name.partition('.')[0]}" for name in RECORDED]


def blocks(body: Any, kind: str) -> list[Any]:
    """All blocks of a kind in a request, those in results too."""
    found = []
    for message in body["messages"]:
        inner = [block for block in message["content"] if isinstance(block, dict)]
        for block in inner:
            content = block.get("content") if block.get("type") == "tool_result" else None
            inner += [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        found += [block for block in inner if block["type"] == kind]
    return found


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize(
    "rules", [Rules(), Rules(refused=("thinking.block_binding",))], ids=["service", "gateway"]
)
@pytest.mark.parametrize("model", ["", "claude-opus-5-5"])
async def test_a_session_is_continued_whole_and_the_first_request_is_accepted(
    tmp_path: Path, name: str, rules: Rules, model: str
) -> None:
    environ, cwd = stores.environment(tmp_path, name, recorded=stores.HANDOFF)
    agent, home = f"@{name.partition('.')[0]}", Path(environ["HOME"])
    script = [Reply([Thinking("So that is it."), "Now this."])]
    async with Endpoint(script, rules=rules) as endpoint:
        runtime, _ = await handed_over(endpoint, agent, home, cwd, model=model)
    taken = [request for request in endpoint.requests if request.refusal is None]
    refusals = [request.refusal.message for request in endpoint.rejected if request.refusal]
    assert all("block_binding" in message for message in refusals), refusals
    assert len(refusals) <= (1 if rules.refused else 0), refusals
    check_equal(imported_part(runtime.session.records), str(cwd))
    body = json.loads(taken[-1].body)
    said = "\n".join(block["text"] for block in blocks(body, "text"))
    assert all(prompt in said for prompt in (*PROMPTS, NEXT))
    assert len(blocks(body, "tool_use")) == len(blocks(body, "tool_result")) == 3
    images = blocks(body, "image")
    assert images
    assert all(image["source"]["data"] == picture_data() for image in images)
    ours = model or {
        "@claude": "claude-opus-5-5",
        "@pi": "claude-sonnet-4-5",
        "@opencode": "claude-sonnet-4-5",
    }.get(agent, "claude-sonnet-5-5")
    assert body["model"] == ours
    left = [notice for notice in runtime.session.notices if "which needs an endpoint that has it" in notice]
    assert len(left) == (0 if model or ours != "claude-sonnet-5-5" else 1)
    assert any(notice.startswith("From ") for notice in runtime.notices)


async def test_signatures_that_the_endpoint_did_not_write_are_left_out_after_one_refusal(
    tmp_path: Path,
) -> None:
    environ, cwd = stores.environment(tmp_path, "pi.jsonl", recorded=stores.HANDOFF)
    path = Path(environ["HOME"]) / ".pi/agent/sessions/--home-me-demo--/pi.jsonl"
    path.write_text(path.read_text().replace('"thinkingSignature":"', '"thinkingSignature":"XXXX'))
    async with Endpoint() as endpoint:
        runtime, _ = await handed_over(endpoint, "@pi", Path(environ["HOME"]), cwd)
    assert [request.refusal is None for request in endpoint.requests] == [False, True]
    check_equal(imported_part(runtime.session.records), str(cwd))


async def test_a_second_handoff_opens_the_first_import_with_what_was_done_since(tmp_path: Path) -> None:
    environ, cwd = stores.environment(tmp_path, "pi.jsonl", recorded=stores.HANDOFF)
    home = Path(environ["HOME"])
    async with Endpoint() as endpoint:
        first, _ = await handed_over(endpoint, "@pi", home, cwd)
        second, _ = await handed_over(endpoint, "@pi:last", home, cwd)
        assert second.session.id == first.session.id
        assert "it has not changed in pi since" in second.notices[-1]
        typed = [block["text"] for block in blocks(json.loads(endpoint.requests[-1].body), "text")]
        assert typed.count(NEXT) == 2
        assert endpoint.rejected == []


async def test_what_is_typed_wrongly_or_is_open_elsewhere_is_said(tmp_path: Path) -> None:
    environ, cwd = stores.environment(tmp_path, "pi.jsonl", recorded=stores.HANDOFF)
    async with Endpoint() as endpoint:
        environ = environment(endpoint, Path(environ["HOME"]))

        def start(resume: str, **more: Any) -> Any:
            return make_runtime(Launch(trust=True, cwd=cwd, resume=resume, **more), environ)

        with pytest.raises(UsageError, match="no agent and no session named '@vim'") as unknown:
            start("@vim", headless=True)
        assert "@opencode" in unknown.value.hint
        with pytest.raises(SessionNotFound, match="no session of Codex in "):
            start("@codex")
        with pytest.raises(SessionNotFound, match="no session of pi with id or name 'zzz'"):
            start("@pi:zzz")
        runtime = start("@pi", headless=True)
        with pytest.raises(SessionLocked):
            start("@pi", headless=True)
        offered = start("@pi:last")
        assert offered.opening == [f"/resume {runtime.session.id}"], "a copy is offered"
        forked = start("@pi:last", headless=True, fork=True)
        assert forked.session.id != runtime.session.id
        assert start("@pi").opening == ["/resume @pi"]
        for one in (runtime, offered, forked):
            await one.close()
