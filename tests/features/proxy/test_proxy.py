"""A program behind the proxy: it gets every answer, its session is proved, and old output is pruned."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from prunecli.features.proxy.hosting import summary_of
from prunecli.features.proxy.server import checked_upstream
from prunecli.model.events import CompactionApplied, PrunApplied
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.errors import UsageError
from tests.endpoint import Call, Endpoint, HttpError, Reply
from tests.features.proxy.driving import KEY, Program, proxied

HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
KEEPS_LITTLE = "prune_old_observations"


def reads(count: int) -> list[Any]:
    return [
        reply for n in range(count) for reply in (Reply([Call("Read", {"file_path": f"{n}.py"})]), "Done.")
    ]


def proved(home: Path) -> list[str]:
    """What verify says of each session in a home folder."""
    paths = sorted(home.glob(".local/share/prunecli/sessions/*/*.jsonl"))
    return [verify_session(path, read_log(path)).lines[-1] for path in paths]


@pytest.mark.parametrize("stream", [True, False])
async def test_an_unpruned_conversation_passes_byte_for_byte(tmp_path: Path, stream: bool) -> None:
    said: list[str] = []
    async with Endpoint(reads(3)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, prunes=False) as running:
            program = Program(running.address, stream=stream)
            bodies = []
            for n in range(3):
                await program.turn(client, f"read {n}")
                bodies.append(program.answers[-1])
        sent = [request.json["messages"] for request in endpoint.requests]
    assert (endpoint.rejected, said) == ([], [])
    assert sent[-1] == program_messages(program, sent[-1])
    [line] = proved(tmp_path)
    assert line.endswith("6 requests: all good")


def program_messages(program: Program, sent: list[Any]) -> list[Any]:
    whole = program.body()["messages"][: len(sent)]
    last = whole[-1]["content"]
    if isinstance(last, str):
        whole[-1]["content"] = [{"type": "text", "text": last}]
    whole[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return whole


async def test_old_output_is_pruned_stably_and_every_request_is_accepted_and_proved(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(12)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(12):
                await program.turn(client, f"read {n}")
            [one] = running.conversations.all
            reasons = [e.reason for r in one.runtime.session.records if isinstance(e := r.event, PrunApplied)]
            row = summary_of(one)
        bodies = [str(request.json["messages"]) for request in endpoint.requests]
    assert (endpoint.rejected, said) == ([], [])
    assert row["pruned"] > 5_000
    assert not [reason for reason in reasons if "the model changed" in reason]
    assert len(bodies[-1]) < len(str(program.messages)) / 3
    [line] = proved(tmp_path)
    assert line.endswith("24 requests: all good")


async def test_a_program_that_goes_back_goes_on_in_the_same_session(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(6)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(4):
                await program.turn(client, f"read {n}")
            del program.messages[-8:]
            for n in range(2):
                await program.turn(client, f"rather {n}")
    assert (endpoint.rejected, said) == ([], [])
    [line] = proved(tmp_path)
    assert line.endswith("12 requests: all good")


async def test_a_program_that_goes_back_between_two_proxies_goes_on_in_the_same_session(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    async with Endpoint(reads(6)) as endpoint, httpx2.AsyncClient() as client:
        program = Program("")
        for n in range(6):
            async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
                program.address = running.address
                del program.messages[4 * 3 if n == 5 else len(program.messages) :]
                await program.turn(client, f"read {n}")
    assert (endpoint.rejected, said) == ([], [])
    [line] = proved(tmp_path)
    assert line.endswith("12 requests: all good")


async def test_two_prompts_in_a_row_are_joined_as_the_endpoint_joins_them(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(["One.", "Two."]) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            program = Program(running.address)
            program.messages.append({"role": "user", "content": "never answered"})
            await program.turn(client, "so again")
            await program.turn(client, "and on")
        [first, second] = endpoint.requests
    assert (endpoint.rejected, said) == ([], [])
    assert [len(first.messages), len(second.messages)] == [2, 4]


async def test_a_conversation_goes_on_behind_the_next_proxy(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(9)) as endpoint, httpx2.AsyncClient() as client:
        program = Program("")
        for n in range(9):
            async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
                program.address = running.address
                await program.turn(client, f"read {n}")
    assert (endpoint.rejected, said) == ([], [])
    [line] = proved(tmp_path)
    assert line.endswith("18 requests: all good")
    assert len(endpoint.requests[-1].body) < len(str(program.messages)) / 2


async def test_what_the_endpoint_refuses_goes_through_unpruned_and_is_left_alone(tmp_path: Path) -> None:
    """A pruned request that is refused costs the program nothing but time."""
    said: list[str] = []
    script = [*reads(5), HttpError(400), *reads(2)]
    async with Endpoint(script) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(7):
                await program.turn(client, f"read {n}")
    assert said == ["No longer pruned: the endpoint refused a pruned request: Invalid request"]
    assert len(endpoint.requests[-1].body) > len(str(program.messages)) * 0.9


async def test_an_answer_of_the_endpoint_is_the_programs_whatever_it_is(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint([HttpError(529), "Done."]) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            program = Program(running.address)
            program.messages.append({"role": "user", "content": "hi"})
            refused = await program.ask(client)
            strange = await client.post(
                f"{running.address}/v1/messages", content=b"{", headers={"x-api-key": KEY}
            )
            other = await client.get(f"{running.address}/elsewhere?a=b", headers=HEADERS)
            await program.ask(client)
        direct = await client.post(
            f"{endpoint.base_url}/v1/messages", content=b"{", headers={"x-api-key": KEY}
        )
    assert (refused.status_code, refused.json()["error"]["type"]) == (529, "overloaded_error")
    assert (strange.status_code, strange.json()["error"]) == (direct.status_code, direct.json()["error"])
    assert other.status_code == 404
    assert said[0].startswith("A request passed unpruned: Expecting value")


async def test_only_who_knows_the_path_is_served_and_nothing_of_the_key_is_kept(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(["Done."]) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said) as running:
            program = Program(running.address)
            await program.turn(client, "hi")
            origin, _, secret = running.address.rpartition("/")
            without = await client.post(f"{origin}/v1/messages", json=program.body())
            rebound = await client.post(
                f"{running.address}/v1/messages", json=program.body(), headers={"host": "evil.example:80"}
            )
            assert (without.status_code, rebound.status_code) == (404, 404)
        [request] = endpoint.requests
    assert secret not in f"{request.path}{request.headers}"
    kept = written(tmp_path)
    assert KEY.encode() not in kept
    assert secret.encode() not in kept


def written(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


async def test_a_count_of_tokens_is_one_of_the_pruned_request(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(8)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(8):
                await program.turn(client, f"read {n}")
            body = {
                key: value for key, value in program.body().items() if key not in ("stream", "max_tokens")
            }
            body["messages"] = [*program.messages[:-1], {"role": "user", "content": "next"}]
            path = "v1/messages/count_tokens"
            through = await client.post(f"{running.address}/{path}", json=body, headers=HEADERS)
            direct = await client.post(f"{endpoint.base_url}/{path}", json=body, headers=HEADERS)
    assert through.json()["input_tokens"] < direct.json()["input_tokens"] / 2


async def test_a_model_that_binds_its_thinking_is_only_recorded(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(8)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address, "claude-opus-5-5")
            for n in range(8):
                await program.turn(client, f"read {n}")
            [row] = [summary_of(one) for one in running.conversations.all]
    assert (endpoint.rejected, said, row["pruned"]) == ([], [], 0)


def test_an_address_without_encryption_is_refused() -> None:
    assert checked_upstream("https://x.example/") == "https://x.example"
    assert checked_upstream("http://127.0.0.1:1") == "http://127.0.0.1:1"
    for wrong in ("http://x.example", "ftp://x", "x", "https://x?key=1"):
        with pytest.raises(UsageError, match="--upstream"):
            checked_upstream(wrong)


@pytest.mark.parametrize(
    ("before", "begins"),
    [
        (
            ["<reminder>Be brief.</reminder>"],
            "This session is being continued from a previous conversation. Summary:\n",
        ),
        ([], "The conversation history before this point was compacted into the following summary:\n"),
    ],
)
async def test_a_programs_own_summary_goes_on_in_the_same_session(
    tmp_path: Path, before: list[str], begins: str
) -> None:
    said: list[str] = []
    words = "Three files were read."
    script = [*reads(3), f"<analysis>Long.</analysis><summary>\n{words}\n</summary>", *reads(4)]
    async with Endpoint(script) as endpoint, httpx2.AsyncClient() as client:
        program = Program("")
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program.address = running.address
            for n in range(3):
                await program.turn(client, f"read {n}")
            await program.turn(client, "Summarize this conversation.")
            first = [*before, f"{begins}{words}", "read 4"]
            program.messages = [
                {"role": "user", "content": [{"type": "text", "text": one} for one in first[:-1]]}
            ]
            await program.turn(client, first[-1])
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program.address = running.address
            for n in range(3):
                await program.turn(client, f"read {n}")
    assert (endpoint.rejected, said) == ([], [])
    found = [event for event in events(tmp_path) if isinstance(event, CompactionApplied)]
    assert [(one.summary, one.usage.output_tokens > 0) for one in found] == [(f"{begins}{words}", True)]
    [line] = proved(tmp_path)
    assert line.endswith("15 requests: all good")


def events(home: Path) -> list[Any]:
    paths = home.glob(".local/share/prunecli/sessions/*/*.jsonl")
    return [record.event for path in paths for record in read_log(path).records]


async def test_messages_of_the_system_stay_where_the_program_put_them(tmp_path: Path) -> None:
    said: list[str] = []
    async with Endpoint(reads(8), judge="off") as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said, strategy=KEEPS_LITTLE) as running:
            program = Program(running.address)
            for n in range(8):
                await program.turn(client, f"read {n}")
                program.messages.append({"role": "system", "content": f"Note {n}."})
        sent = endpoint.requests[-1].json["messages"]
    assert said == []
    assert len(str(sent)) < len(str(program.messages)) / 2
    roles = [message["role"] for message in program.messages[: len(sent)]]
    assert [message["role"] for message in sent] == roles
    assert [message["content"] for message in sent if message["role"] == "system"] == [
        f"Note {n}." for n in range(7)
    ]
    assert proved(tmp_path)[0].endswith("16 requests: all good")


async def test_a_subagent_has_a_session_of_its_own_and_side_requests_have_none(tmp_path: Path) -> None:
    said: list[str] = []
    async with (
        Endpoint([*reads(2), "A title", *reads(1), *reads(1)]) as endpoint,
        httpx2.AsyncClient() as client,
    ):
        async with proxied(endpoint, tmp_path, said) as running:
            program, side = Program(running.address), Program(running.address, tools=[])
            subagent = Program(running.address, system="You are a subagent.")
            for n in range(2):
                await program.turn(client, f"read {n}")
            await side.turn(client, "A title for it")
            await subagent.turn(client, "read 2")
            await program.turn(client, "read 3")
            sent = [len(one.runtime.session.context.messages()) for one in running.conversations.all]
    assert (endpoint.rejected, said) == ([], [])
    assert sent == [11, 3]
    assert sorted(line.rpartition(", ")[2] for line in proved(tmp_path)) == [
        "2 requests: all good",
        "6 requests: all good",
    ]
