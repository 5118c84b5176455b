"""Servers that hang, die, flood or speak garbage: each is one clear line, in its time, and the others go on."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest

from prunecli.features.mcp import catalogue
from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.hub import Hub
from prunecli.features.mcp.server_state import Wanted
from prunecli.features.mcp.servers import TITLE, RemoteServers
from prunecli.front.headless.run import OutputFormat, run_headless
from prunecli.model.events import UserMessage
from prunecli.model.messages import plain_text
from prunecli.model.notes import newest_notice, notice_parts
from prunecli.util.errors import ToolError
from tests.mcp.running import hub_of, nothing, raw, sdk, server_of
from tests.scripted import says
from tests.starting import start
from tests.waiting import until, wait_until


async def called(hub: Hub, name: str) -> str:
    """What a call of the only tool gives, or the error."""
    try:
        return plain_text((await hub.ask(hub.call(name, "echo", {}, nothing))).content)
    except ToolError as error:
        return str(error)


def failed(hub: Hub, name: str) -> str:
    server = server_of(hub, name)
    assert server.state == "failed", server
    assert "\n" not in server.why
    return server.why


@pytest.mark.parametrize("message", range(4))
async def test_a_server_that_dies_at_a_message_of_the_start_says_so(tmp_path: Path, message: int) -> None:
    async with hub_of(tmp_path, raw(f"die={message}")) as hub:
        await until(lambda: server_of(hub, f"die-{message}").state != "starting")
        assert failed(hub, f"die-{message}") == "exited with code 3"
        await until(lambda: "dying" in server_of(hub, f"die-{message}").log)


SHELL_SERVERS = {
    "exec <&-; echo 'Error: no' >&2; sleep 0.1; exit 3": "exited with code 3: Error: no",
    "exec <&-; echo 'Error: no' >&2; sleep 600": "closed its standard input: Error: no",
    "exec >&-; echo 'Error: no' >&2; sleep 600": "closed its standard output: Error: no",
}


@pytest.mark.parametrize("script", SHELL_SERVERS)
async def test_a_server_that_takes_no_message_is_named_by_its_end(tmp_path: Path, script: str) -> None:
    async with hub_of(tmp_path, Definition("sh", command="/bin/sh", args=("-c", script))) as hub:
        assert server_of(hub, "sh").fault == SHELL_SERVERS[script]


async def test_the_model_hears_of_a_failed_server_while_another_still_starts(tmp_path: Path) -> None:
    late = "while [ ! -e go ]; do sleep 0.02; done; exit 3"
    definitions = raw("hang"), Definition("late", command="/bin/sh", args=("-c", late))
    runtime = start(tmp_path, [says("One."), says("Two."), says("Three.")])
    servers = runtime.parts.of(RemoteServers)
    servers.load = lambda: [Wanted(one) for one in definitions]
    servers.starting()
    await runtime.submit("one")
    (tmp_path / "work" / "go").touch()
    await until(lambda: any(one.state == "failed" for one in servers.servers))
    await runtime.submit("two")
    await runtime.submit("three")
    events = (record.event for record in runtime.session.records)
    said = (notice_parts(event) for event in events if isinstance(event, UserMessage))
    told = [parts[1] for parts in said if parts and parts[0] == TITLE]
    assert [text.splitlines()[:2] for text in told] == [
        ["hang: starting", "late: starting"],
        ["hang: starting", "late: failed (exited with code 3)"],
    ]
    await runtime.close()


DIES = "import sys; sys.stderr.write('Trace:\\nError: NO_URL is not set\\n  at line 3\\n'); sys.exit(1)"
BROKEN = (
    Definition("dies", command=sys.executable, args=("-c", DIES)),
    Definition("missing", command="no-such-program-77"),
    Definition("library", command=sys.executable, args=("-c", "import no_such_library_77")),
)
WORDS = {
    "dies": "exited with code 1: Error: NO_URL is not set",
    "library": "exited with code 1: ModuleNotFoundError: No module named 'no_such_library_77'",
    "missing": "there is no program no-such-program-77",
}


async def test_a_call_to_a_server_that_failed_gets_its_last_words(tmp_path: Path) -> None:
    async with hub_of(tmp_path, *BROKEN) as hub:
        for name, words in WORDS.items():
            assert await called(hub, name) == f"The server {name} is not available: {words}."


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
async def test_a_headless_run_names_the_servers_that_failed(tmp_path: Path, form: OutputFormat) -> None:
    runtime = start(tmp_path, [says("Ok.")])
    runtime.parts["mcp"].load = lambda: [Wanted(one) for one in BROKEN]
    runtime.parts["mcp"].patience = 60
    out: list[str] = []
    err: list[str] = []
    await run_headless(runtime, ["hi"], form=form, out=out.append, err=err.append)
    lines = [f"The MCP server {name} is not available: {words}" for name, words in WORDS.items()]
    assert sorted(err) == [f"prunecli: {line}" for line in lines]
    objects = [json.loads(line) for line in out] if form != "text" else []
    if form == "json":
        assert sorted(objects[-1]["notices"]) == lines
    if form == "stream-json":
        assert sorted(one["text"] for one in objects if one.get("subtype") == "notice") == lines
        listed = {one["name"]: (one["status"], one["error"]) for one in objects[0]["mcp_servers"]}
        assert listed == {name: ("failed", words) for name, words in WORDS.items()}
    told = newest_notice((item.event for item in runtime.session.context.items), TITLE)
    assert told is not None
    assert "starting" not in told
    assert told.count("failed") == len(WORDS)
    await runtime.close()


async def test_a_headless_run_waits_for_the_sdk_whose_import_takes_long(tmp_path: Path) -> None:
    over = threading.Event()

    def load() -> None:
        over.wait()
        raise ImportError

    runtime = start(tmp_path, [says("Ok.")])
    runtime.parts["mcp"].load = lambda: [Wanted(one) for one in BROKEN]
    runtime.parts["mcp"].patience, runtime.parts["mcp"].load_sdk = 0.01, load
    asyncio.get_running_loop().call_later(0.2, over.set)
    err: list[str] = []
    await run_headless(runtime, ["hi"], form="text", out=nothing, err=err.append)
    assert len([line for line in err if "the package mcp is missing" in line]) == len(BROKEN)
    assert ": starting" not in str(runtime.session.records)
    await runtime.close()


async def test_a_server_that_dies_at_a_call_is_started_again_by_the_next(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("die=4"), sdk()) as hub:
        assert server_of(hub, "die-4").state == "connected"
        first = await called(hub, "die-4")
        assert "die-4" in first
        assert "exited with code 3" in first
        await until(lambda: server_of(hub, "die-4").state == "failed")
        assert await hub.ask(hub.call("fake", "echo", {"text": "b"}, nothing))
        again = await called(hub, "die-4")
        assert "exited with code 3" in again, "it was started, and died at the call once more"


async def test_a_call_while_a_lost_connection_is_closed_starts_the_server_again(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("closes")) as hub:
        for _ in range(2):
            lost = "The connection to the server closes was lost: closed its standard output."
            assert await called(hub, "closes") == lost


async def test_an_answer_that_is_not_quite_json_is_read_and_another_fails_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with hub_of(tmp_path, raw("halves")) as hub:
        assert await called(hub, "halves") == "cut ?"
        assert await called(hub, "halves") == "halves: the answer is not a message of the protocol"
        assert server_of(hub, "halves").state == "connected"
    assert not caplog.records, "what the SDK logs would stand on the screen"


async def test_a_server_that_hangs_costs_its_time_limit_and_no_more(tmp_path: Path) -> None:
    begun = monotonic()
    async with hub_of(tmp_path, raw("hang", timeout=2.0)) as hub:
        assert failed(hub, "hang") == "no answer within 2 seconds"
    assert monotonic() - begun < 30


async def test_a_result_of_100_mb_ends_the_connection(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("flood")) as hub:
        for _ in range(2):
            assert "sent a message of more than 32 MB" in await called(hub, "flood")


async def test_a_byte_a_second_is_no_progress(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("drip", timeout=3.0)) as hub:
        assert await called(hub, "drip") == "The server drip did not answer within 3 seconds."


async def test_noise_goes_to_the_log_and_endless_noise_ends_the_connection(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("noise"), raw("only_noise")) as hub:
        assert await called(hub, "noise") == "well"
        log = server_of(hub, "noise").log
        assert any("Listening on port 0" in line for line in log)
        assert all(line.isprintable() for line in log)
        assert "something other than messages" in failed(hub, "only_noise")


async def test_a_schema_of_a_megabyte_is_cut_where_it_is_shown(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("schema")) as hub:
        found = catalogue.search("huge", catalogue.listed(hub.servers))
        text = catalogue.in_words(found, "")
        assert "schema:huge" in text
        assert len(text) <= catalogue.MAX_CHARS
        assert "the rest left out" in text
        assert await called(hub, "schema") == "well"


async def test_control_characters_reach_neither_names_nor_results(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("names")) as hub:
        server = server_of(hub, "names")
        assert [tool.name for tool in server.offer.tools] == ["fine", "echo"]
        assert server.why == "7 tools left out: unusable or repeated names"
        assert server.offer.tools[0].description.startswith("fine"), "a repeated name replaces nothing"
        assert all(tool.description.isprintable() for tool in server.offer.tools)
        assert await called(hub, "names") == "ared 2J\tb\nc"


async def test_a_tool_is_left_out_only_if_more_than_its_schema_is_invalid(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("invalid")) as hub:
        server = server_of(hub, "invalid")
        schemas = {tool.name: tool.schema for tool in server.offer.tools}
        assert list(schemas) == ["bad", "fine", "array", "union", "none", "out", "echo"]
        assert schemas["union"] == {"type": "object", "allOf": [{"anyOf": [{"type": "object"}, True]}]}
        assert schemas["none"] == {"type": "object"}
        assert server.why.startswith("tool unnamed left out: Input should be a valid dict")
        assert server.why.endswith("(and 1 more)")
        assert sum("left out: " in line for line in server.log) == 2
        assert await called(hub, "invalid") == "well"


async def test_results_that_are_no_results_are_errors(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("wrong")) as hub:
        said = await called(hub, "wrong")
        assert said == "wrong: not in the form of the protocol: content Input should be a valid list"
        assert server_of(hub, "wrong").state == "connected"


async def test_pages_without_an_end_are_read_to_a_limit(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("pages")) as hub:
        assert len(server_of(hub, "pages").offer.tools) == 50


async def test_a_server_that_ignores_the_end_is_ended(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("stubborn")) as hub:
        assert await called(hub, "stubborn") == "well"
    wait_until(lambda: not running("stubborn"))


async def test_a_process_that_a_server_left_behind_is_ended_with_it(tmp_path: Path) -> None:
    async with hub_of(tmp_path, raw("parent")) as hub:
        assert await called(hub, "parent") == "well"
        await until(lambda: running("stubborn"))
    wait_until(lambda: not running("stubborn"))


SESSION = """
import asyncio, os, sys
from pathlib import Path
from prunecli.features.mcp.stdio import stdio_transport

async def serve():
    argv = (sys.executable, *sys.argv[1:])
    async with stdio_transport(argv, cwd=Path.cwd(), env=os.environ, log=print, lost=print):
        print("started", flush=True)
        await asyncio.sleep(3600)

asyncio.run(serve())
"""


@pytest.mark.parametrize("fault", ["stubborn", "parent"])
def test_no_server_outlives_a_program_that_was_killed(fault: str) -> None:
    words = [sys.executable, "-c", SESSION, str(Path(__file__).with_name("raw_server.py")), fault]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "started\n"
        wait_until(lambda: running("stubborn"))
        session.kill()
    wait_until(lambda: not running(fault) and not running("stubborn"))


def running(word: str) -> bool:
    """Whether a raw server with this fault runs."""
    for number in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and any(part.endswith(b"raw_server.py") for part in words):
            return True
    return False
