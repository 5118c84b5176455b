"""Hooks that are posted to an address: what they send, what counts as an answer, and where they never go."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from prunecli.features.hooks.replies import Ran, reply_of
from prunecli.features.hooks.requests import MAX_ANSWER, post_hook
from prunecli.features.hooks.settings import Hook, parse
from prunecli.tools.web.access import Web
from tests.tools.web.site import Answer, Site, answer

ENV = {"TOKEN": "t0ken", "OTHER": "secret", "ODD": "a\r\nb"}


@dataclass
class Listener:
    """A server that reads whole requests. `site` reaches it under public names."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)

    @property
    def site(self) -> Site:
        return Site(self.port)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@asynccontextmanager
async def listening(answers: Mapping[str, Answer]) -> AsyncIterator[Listener]:
    found = Listener()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = next(
                int(x.split(":")[1]) for x in head.split("\r\n") if x.lower().startswith("content-length")
            )
            found.heads.append(head)
            found.bodies.append(json.loads(await reader.readexactly(size)))
            said = answers.get(head.split(" ")[1], answer("no", status="404 Not Found"))
            if isinstance(said, bytes):
                writer.write(said)
            else:
                await said(writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()


def hook(url: str, timeout: float = 30.0, **more: Any) -> Hook:
    (found,), problems = parse(
        {"PreToolUse": [{"hooks": [{"type": "http", "url": url, "timeout": timeout, **more}]}]}
    )
    assert problems == ()
    return found


async def post(one: Hook, web: Web | None = None, given: Mapping[str, Any] | None = None) -> Ran:
    return await post_hook(one, given or {"tool_name": "Bash"}, env=ENV, web=web or Web())


async def test_the_input_is_posted_as_json_with_its_headers() -> None:
    async with listening(
        {"/check": answer('{"decision": "block", "reason": "no"}', "application/json")}
    ) as at:
        headers = {
            "Authorization": "Bearer $TOKEN",
            "X-Two": "${TOKEN}-$OTHER-$$",
            "Content-Type": "application/x",
        }
        one = hook(at.url("/check"), headers=headers, allowedEnvVars=["TOKEN"])
        given = {"tool_name": "Bash", "text": "ä\ud800", "long": "x" * 300_000}
        ran = await post(one, given=given)
        assert at.bodies == [given]
        lines = {
            name.lower(): value for name, _, value in (x.partition(": ") for x in at.heads[0].split("\r\n"))
        }
        assert at.heads[0].startswith("POST /check HTTP/1.1")
        assert (lines["authorization"], lines["x-two"]) == ("Bearer t0ken", "t0ken--$$")
        assert lines["content-type"] == "application/x"
        assert "secret" not in at.heads[0]
        reply = reply_of(one, ran)
        assert (reply.decision, reply.reason, ran.exit_code) == ("deny", "no", 0)


async def test_an_empty_answer_lets_everything_pass_and_a_text_is_context_where_output_is() -> None:
    async with listening({"/empty": answer("", ""), "/text": answer("Be careful.")}) as at:
        assert reply_of(hook(at.url("/empty")), await post(hook(at.url("/empty")))).failure == ""
        ran = await post(hook(at.url("/text")))
        assert reply_of(Hook("UserPromptSubmit", "x"), ran).context == "Be careful."


async def _hang(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
    await asyncio.sleep(600)


async def _cut(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer("no", status="500 Oops"), "HTTP status 500"),
        (answer("", "", "302 Found", "Location: http://127.0.0.1:9/"), "HTTP status 302"),
        (answer("x" * (MAX_ANSWER + 1)), f"its answer is longer than {MAX_ANSWER:,} bytes"),
        (_hang, "no answer within 0.5 s, so it was stopped"),
        (_cut, ""),
        (b"garbage\r\n\r\n", ""),
    ],
)
async def test_any_other_answer_is_one_line_and_decides_nothing(
    said: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]], why: str
) -> None:
    async with listening({"/": said}) as at:
        one = hook(at.url(), timeout=0.5 if said is _hang else 30.0)
        ran = await post(one)
    reply = reply_of(one, ran)
    assert reply.decision == ""
    assert reply.failure.startswith(why)
    assert reply.failure
    assert "\n" not in reply.failure


async def test_a_decision_in_broken_json_is_a_failure() -> None:
    async with listening({"/": answer('{"decision": "bl')}) as at:
        assert reply_of(hook(at.url()), await post(hook(at.url()))).failure.startswith(
            "its output is not valid JSON"
        )


async def test_a_port_where_nobody_listens_is_a_failure() -> None:
    ran = await post(hook("http://127.0.0.1:9/"))
    assert ran.exit_code is None
    assert ran.problem


async def test_a_value_that_no_header_can_hold_is_not_sent() -> None:
    async with listening({"/": answer("")}) as at:
        one = hook(at.url(), headers={"X": "$ODD"}, allowedEnvVars=["ODD"])
        assert (await post(one)).problem == "the header x would contain invalid characters"
        assert at.heads == []


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("169.254.169.254", ()),
        ("10.0.0.5", ()),
        ("intranet", ("93.184.216.34",)),
        ("inside.example", ("10.0.0.5", "169.254.169.254", "fd00::1")),
        ("moves.example", ("127.0.0.1",)),
    ],
)
async def test_a_host_of_the_users_network_is_refused(host: str, addresses: Sequence[str]) -> None:
    async with listening({}) as at:
        ran = await post(hook(f"https://{host}/"), at.site.web({host: list(addresses)}))
        assert "is not on the public internet" in ran.problem
        assert at.heads == []


async def test_a_public_host_and_one_that_the_user_lists_are_reached() -> None:
    async with listening({"/": answer("")}) as at:
        site = at.site
        names = {"public.example": ["93.184.216.34"], "inside.example": ["10.0.0.5"]}
        assert (await post(hook("https://public.example/"), site.web(names))).problem == ""
        allowed = site.web(names, private=("inside.example",))
        assert (await post(hook("https://inside.example/"), allowed)).problem == ""
        assert site.connected == ["https://93.184.216.34/", "https://10.0.0.5/"]


async def test_a_proxy_is_used_but_not_for_this_machine() -> None:
    asked: list[str] = []

    def route(url: str) -> tuple[str, str]:
        asked.append(url)
        return "", ""

    async with listening({"/": answer("")}) as at:
        assert (await post(hook(at.url()), Web(route=route))).problem == ""
        assert asked == []
        await post(hook("https://public.example/"), at.site.web(route=route))
        assert asked == ["https://public.example/"]


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080/x",
        "http://localhost/",
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "https://a.example/?b=c",
    ],
)
def test_addresses_that_are_taken(url: str) -> None:
    one = hook(url)
    assert (one.command, one.url) == (f"POST {url}", url)


@pytest.mark.parametrize(
    ("given", "key", "why"),
    [
        *(
            ({"url": url}, "url", "expected an")
            for url in (
                None,
                5,
                "",
                "x",
                "ftp://a.example",
                "file:///etc/passwd",
                "https://u:p@a.example",
                "https://a b",
            )
        ),
        ({"url": "http://a.example/"}, "url", "http:// to another machine is unencrypted; use https"),
        ({"url": "http://a.example:8080/"}, "url", "http:// to another machine is unencrypted; use https"),
        ({"headers": ["x"]}, "headers", "expected header names and texts"),
        ({"headers": {"X Y": "z"}}, "headers", "expected header names and texts"),
        ({"headers": {"X": "a\r\nHost: b"}}, "headers", "expected header names and texts"),
        ({"headers": {"X": 5}}, "headers", "expected header names and texts"),
        ({"headers": {"HOST": "b"}}, "headers", "expected header names and texts"),
        ({"allowedEnvVars": "TOKEN"}, "allowedEnvVars", "expected a list of variable names"),
        ({"allowedEnvVars": ["A B"]}, "allowedEnvVars", "expected a list of variable names"),
        ({"allowedEnvVars": [5]}, "allowedEnvVars", "expected a list of variable names"),
        ({"timeout": 0}, "timeout", "expected seconds"),
        ({"if": "Bash(rm *)"}, "if", "prunecli does not know this key"),
    ],
)
def test_a_malformed_address_is_left_out_and_named(given: dict[str, Any], key: str, why: str) -> None:
    one = {"type": "http", "url": "https://a.example/", **given}
    good = {"type": "command", "command": "x"}
    hooks, (problem,) = parse({"Stop": [{"hooks": [one, good]}]})
    assert [hook.command for hook in hooks] == ["x"], "the other one still runs"
    assert problem.startswith(f"hooks.Stop[0].hooks[0].{key}: {why}")


def test_the_variables_that_an_address_gets_stand_in_the_question() -> None:
    one = hook("https://a.example/", allowedEnvVars=["TOKEN", "KEY"])
    assert one.command == "POST https://a.example/ (sends $TOKEN, $KEY)"
    assert one.name == "a.example"
