"""The flags that shape a session, against the strict endpoint with bound thinking."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prunecli.runtime import Runtime
from prunecli.runtime.launch_flags import NO_EFFECT
from prunecli.runtime.make import make_runtime
from prunecli.runtime.notices import opening_notices
from prunecli.session.store import Store
from prunecli.util.errors import SessionError, UsageError
from prunecli.util.launch_options import Launch
from tests import preloaded
from tests.e2e.bound import OPUS, environment, session
from tests.e2e.test_twenty_turns import DEADLINE
from tests.endpoint import Call, Endpoint, Reply, Thinking, serve
from tests.sandbox.confining import needs_bubblewrap

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def program(tmp_path: Path, endpoint: Endpoint, *words: str) -> Any:
    """The program in the folder `work`; every request must be accepted."""
    (tmp_path / "work").mkdir(exist_ok=True)
    done = preloaded.run(
        ["-p", "--trust", "--model", OPUS, *words],
        cwd=tmp_path / "work",
        env={"PATH": "/usr/bin:/bin", **environment(tmp_path, endpoint)},
        timeout=DEADLINE,
    )
    assert [refused.refusal for refused in endpoint.rejected] == []
    assert not any(request.dropped for request in endpoint.requests)
    return done


def objects(done: Any) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def texts(endpoint: Endpoint, number: int) -> list[str]:
    """The texts of the last message of a request."""
    content = endpoint.requests[number].json["messages"][-1]["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content if "text" in block]


# A JSON schema -----------------------------------------------------------------------------------------------


def test_an_answer_under_a_schema_is_asked_for_after_the_prompt_and_printed_as_json(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "s.json").write_text(json.dumps(SCHEMA))
    with serve([Reply([Thinking("Well."), '{"n":\n 4}'])]) as endpoint:
        done = program(tmp_path, endpoint, "--json-schema", "s.json", "how many?")
        assert (done.returncode, done.stdout) == (0, '{"n": 4}\n')
        prompt, note = texts(endpoint, 0)
        assert prompt == "how many?"
        assert note.startswith("[notice] answer format\n")
        assert json.loads(note.rpartition("\n")[2]) == SCHEMA


def test_an_invalid_answer_is_asked_for_once_more_with_what_is_wrong(tmp_path: Path) -> None:
    with serve(
        [Reply([Thinking("Hm."), "Four."]), Reply([Thinking("Ah."), '```json\n{"n": 4}\n```'])]
    ) as endpoint:
        words = "--output-format", "json", "--json-schema", json.dumps(SCHEMA), "how many?"
        done = program(tmp_path, endpoint, *words)
        assert done.returncode == 0, done.stderr
        (result,) = objects(done)
        assert result["structured_output"] == {"n": 4}
        assert (result["subtype"], result["num_turns"]) == ("success", 2)
        assert "asking once more" in done.stderr
        assert "it is not JSON" in texts(endpoint, 1)[0]
        assert endpoint.requests[0].json["system"] == endpoint.requests[1].json["system"]


def test_after_two_invalid_answers_the_run_fails_and_says_why(tmp_path: Path) -> None:
    with serve([Reply('{"n": "four"}'), Reply('{"m": 4}')]) as endpoint:
        words = "--output-format", "stream-json", "--json-schema", json.dumps(SCHEMA), "how many?"
        done = program(tmp_path, endpoint, *words)
        result = objects(done)[-1]
        assert done.returncode == 1
        assert (result["subtype"], result["is_error"], result["result"]) == ("error", True, '{"m": 4}')
        assert "structured_output" not in result
        assert "'n' is a required property" in result["note"]
        assert "$.n: 'four' is not of type 'integer'" in texts(endpoint, 1)[0]
        assert "Traceback" not in done.stderr


def test_a_resumed_session_answers_under_a_schema_and_the_next_run_does_without(tmp_path: Path) -> None:
    with serve([Reply("Hi."), Reply('{"n": 1}'), Reply("Bye.")]) as endpoint:
        assert program(tmp_path, endpoint, "hello").returncode == 0
        done = program(tmp_path, endpoint, "-c", "--json-schema", json.dumps(SCHEMA), "how many?")
        assert done.stdout == '{"n": 1}\n'
        assert program(tmp_path, endpoint, "-c", "bye").stdout == "Bye.\n"
        assert texts(endpoint, 2) == ["bye"]
        assert len({json.dumps(one.json["system"]) for one in endpoint.requests}) == 1


def test_a_schema_without_a_prompt_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with serve([Reply("Hi.")]) as endpoint:
        program(tmp_path, endpoint, "hello")
        done = program(tmp_path, endpoint, "-c", "--json-schema", "{}")
        assert (done.returncode, len(endpoint.requests)) == (2, 1)
        assert "--json-schema: no prompt to answer" in done.stderr


# Partial messages --------------------------------------------------------------------------------------------


def message_ids(found: list[Any]) -> tuple[list[str], list[str]]:
    """The ids of the messages that began, and of those that are complete."""
    events = [one["event"] for one in found if one["type"] == "stream_event"]
    begun = [one["message"]["id"] for one in events if one["type"] == "message_start"]
    return begun, [one["message"]["id"] for one in found if one["type"] == "assistant"]


def test_partial_messages_are_the_events_of_the_api_in_order(tmp_path: Path) -> None:
    replies = [
        Reply([Thinking("I think so."), "Let me look.", Call("ls", {"path": "."})]),
        Reply("Nothing there."),
        Reply("Still nothing."),
    ]
    with serve(replies) as endpoint:
        words = "--output-format", "stream-json", "--include-partial-messages", "look"
        done = program(tmp_path, endpoint, *words)
        again = objects(program(tmp_path, endpoint, "-c", *words))
    found = objects(done)
    ids = [message_ids(objects) for objects in (found, again)]
    assert all(begun == complete for begun, complete in ids)
    assert len({one for begun, _ in ids for one in begun}) == 3, "also unique in a resumed session"
    events = [one["event"] for one in found if one["type"] == "stream_event"]
    assert {one["session_id"] for one in found if one["type"] == "stream_event"} == {found[0]["session_id"]}
    assert all(
        one["uuid"] and one["parent_tool_use_id"] is None for one in found if one["type"] == "stream_event"
    )
    first = events[: next(at for at, one in enumerate(events) if one["type"] == "message_stop") + 1]
    kinds = [one["type"] for one in first]
    assert [kind for kind in kinds if kind != "content_block_delta"] == [
        "message_start",
        *["content_block_start", "content_block_stop"] * 3,
        "message_delta",
        "message_stop",
    ]
    blocks = [one["content_block"]["type"] for one in first if one["type"] == "content_block_start"]
    assert blocks == ["thinking", "text", "tool_use"]
    assert first[0]["message"]["role"] == "assistant"
    assert first[-2]["delta"]["stop_reason"] == "tool_use"
    assert first[-2]["usage"]["output_tokens"] > 0
    deltas = [one["delta"] for one in first if one["type"] == "content_block_delta"]
    assert "".join(one.get("thinking", "") for one in deltas) == "I think so."
    assert "".join(one.get("text", "") for one in deltas) == "Let me look."
    assert json.loads("".join(one.get("partial_json", "") for one in deltas)) == {"path": "."}
    order = [one["type"] for one in found]
    assert order.index("assistant") > order.index("stream_event")
    assert [one["type"] for one in events].count("message_stop") == 2


def test_without_the_flag_there_are_none(tmp_path: Path) -> None:
    with serve([Reply("Hi.")]) as endpoint:
        done = program(tmp_path, endpoint, "--output-format", "stream-json", "hello")
    assert "stream_event" not in {one["type"] for one in objects(done)}


# The system prompt, ids and names ----------------------------------------------------------------------------


async def test_an_appended_text_is_recorded_and_a_resume_keeps_it(tmp_path: Path) -> None:
    with serve([Reply("Hi."), Reply("More."), Reply("Same.")]) as endpoint:
        async with session(tmp_path, endpoint, append_prompt="Say moo.") as runtime:
            await runtime.submit("hello")
        async with session(tmp_path, endpoint, continue_last=True, append_prompt="Say oink.") as runtime:
            assert NO_EFFECT in opening_notices(runtime)
            await runtime.submit("more")
        async with session(tmp_path, endpoint, continue_last=True, append_prompt="Say moo.") as runtime:
            assert NO_EFFECT not in opening_notices(runtime)
            await runtime.submit("same")
        systems = [one.json["system"] for one in endpoint.requests]
        assert [one[-1]["text"] for one in systems] == ["Say moo."] * 3
        assert not endpoint.rejected


def test_a_text_can_come_from_a_file_and_a_bad_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "p.txt").write_text("Say moo.\nTwice.\n")
    (tmp_path / "work" / "blank").write_text(" \n")
    (tmp_path / "work" / "bytes").write_bytes(b"\xff\xfe")
    with serve([Reply("Hi.")]) as endpoint:
        assert program(tmp_path, endpoint, "--append-system-prompt-file", "p.txt", "hello").returncode == 0
        assert endpoint.requests[0].json["system"][-1]["text"] == "Say moo.\nTwice.\n"
        for name, why in (
            ("none", "No such file"),
            (".", "directory"),
            ("blank", "empty"),
            ("bytes", "UTF-8"),
        ):
            done = program(tmp_path, endpoint, "--append-system-prompt-file", name, "hello")
            assert done.returncode == 2
            assert why in done.stderr


def made(tmp_path: Path, **fields: Any) -> Runtime:
    (work := tmp_path / "work").mkdir(exist_ok=True)
    environ = {
        "HOME": str(tmp_path / "home"),
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "PATH": "/usr/bin:/bin",
    }
    return make_runtime(Launch(cwd=work, trust=True, flags={"--model": "demo"}, **fields), environ)


async def test_a_session_gets_its_id_and_its_name_with_the_first_prompt(tmp_path: Path) -> None:
    first = made(tmp_path, session_id="3f2a-B", name="my work")
    assert first.session.id == "3f2a-B"
    assert Store(first.setup.places.sessions).list() == [], "nothing is kept before the first prompt"
    await first.submit("hello")
    (listed,) = Store(first.setup.places.sessions).list()
    assert (listed.id, listed.name) == ("3f2a-B", "my work")
    first.new_session()
    await first.submit("another")
    assert (first.session.id != "3f2a-B", first.session.name) == (True, "")
    await first.close()
    for taken in ("3f2a-B", "3F2A-b"):
        with pytest.raises(UsageError, match="already exists"):
            made(tmp_path, session_id=taken)
    again = made(tmp_path, resume="3f2a-B", name="other")
    await again.submit("more")
    assert (again.session.id, again.session.name) == ("3f2a-B", "other")
    await again.close()


@pytest.mark.parametrize("how", [{"continue_last": True}, {"resume": "one"}, {"resume": "one@last"}])
async def test_a_copy_gets_the_id(tmp_path: Path, how: dict[str, Any]) -> None:
    first = made(tmp_path, session_id="one", name="work")
    await first.submit("hello")
    await first.close()
    last = first.session.records[-1].seq
    how = {
        key: value.replace("last", str(last)) if isinstance(value, str) else value
        for key, value in how.items()
    }
    copy = made(tmp_path, **how, fork=True, session_id="two", name="copied")
    assert copy.session.id == "two"
    assert copy.session.path is not None
    assert copy.session.path.name == "two.jsonl"
    await copy.submit("more")
    assert copy.session.name == "copied"
    await copy.close()
    with pytest.raises(SessionError):
        made(tmp_path, resume="three")


# Added folders -----------------------------------------------------------------------------------------------


def test_commands_in_the_sandbox_write_to_an_added_folder_but_see_no_secret_of_it(tmp_path: Path) -> None:
    needs_bubblewrap()
    (lib := tmp_path / "lib").mkdir()
    (lib / ".env").write_text("KEY=hush\n")
    (lib / "AGENTS.md").write_text("Use tabs.\n")
    commands = [
        "echo in > ../lib/in.txt; cat ../lib/in.txt",
        "cat ../lib/.env",
        "echo obey > ../lib/AGENTS.md",
        "mkdir -p ../lib/.prunecli",
    ]
    replies = [
        *(Reply([Thinking("So."), Call("bash", {"command": one})]) for one in commands),
        Reply("Done."),
    ]
    with serve(replies) as endpoint:
        words: Sequence[str] = ("--permission-mode", "edits", "--sandbox", "require", "--add-dir", "../lib")
        done = program(tmp_path, endpoint, *words, "--output-format", "stream-json", "go")
        assert done.returncode == 0, done.stderr
        assert f"Additional directories: {lib.resolve()}" in endpoint.requests[0].json["system"][0]["text"]
    messages = [one for one in objects(done) if one["type"] == "user"]
    blocks = [
        block for one in messages for block in one["message"]["content"] if block["type"] == "tool_result"
    ]
    results = [str(block["content"]) for block in blocks]
    assert "in" in results[0]
    assert (lib / "in.txt").read_text() == "in\n"
    assert "hush" not in results[1]
    assert (lib / "AGENTS.md").read_text() == "Use tabs.\n"
    assert not (lib / ".prunecli").exists()


def test_a_folder_that_is_not_trusted_is_asked_about_or_refused_headless(tmp_path: Path) -> None:
    for name in ("work", "lib", "home"):
        (tmp_path / name).mkdir()
    environ = {"HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "sk-ant-test-0", "PATH": "/usr/bin:/bin"}
    asked = Launch(cwd=tmp_path / "work", flags={}, add_dirs=("../lib", "../lib/"))
    runtime = make_runtime(asked, environ)
    assert runtime.opening == ["/trust", f"/add-dir {tmp_path}/lib"]
    assert runtime.setup.added.paths == ()
    with pytest.raises(UsageError, match="lib is not trusted"):
        make_runtime(Launch(cwd=tmp_path / "work", headless=True, add_dirs=("../lib",)), environ)
    with pytest.raises(UsageError, match="--add-dir: nope: no such directory"):
        make_runtime(Launch(cwd=tmp_path / "work", add_dirs=("nope",)), environ)
    runtime.setup.trust_store.trust(tmp_path / "lib")
    assert make_runtime(asked, environ).setup.added.paths == (tmp_path / "lib",)
