"""Model servers on this machine: each is known by its answers, and nothing else is."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Choose, Effect, InThread, Say, run_line
from prunecli.providers.models import Offer
from prunecli.runtime import Runtime
from prunecli.runtime.local_servers import (
    PORTS_VARIABLE,
    LocalServer,
    find,
    invitation,
    invitation_within,
    ports,
)
from prunecli.runtime.make import make_runtime
from prunecli.util.launch_options import Launch
from tests.serving import HTML, JSON, Answer, as_json, nothing, serving

LLAMA = {"/v1/models": {"data": [{"id": "/m/smol.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}]}}
VLLM = {"/v1/models": {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 32768}]}}
SGLANG = {"/v1/models": {"data": [{"id": "qwen", "owned_by": "sglang", "max_model_len": 40960}]}}
OLLAMA = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen3:8b", "object": "model", "owned_by": "library"}]},
    "/api/version": {"version": "0.40.12"},
}
STUDIO = {
    "/v1/models": {"data": [{"id": "openai/gpt-oss-20b", "owned_by": "organization_owner"}, {"id": "embed"}]},
    "/api/v0/models": {
        "data": [
            {"id": "openai/gpt-oss-20b", "type": "llm", "state": "loaded", "loaded_context_length": 4096},
            {"id": "embed", "type": "embeddings", "state": "not-loaded"},
        ]
    },
}
LITELLM = {
    "/v1/models": {"data": [{"id": "smol", "owned_by": "openai", "max_input_tokens": 8192}]},
    "/health/liveliness": "I'm alive!",
}


def saying(pages: Mapping[str, Any]) -> Callable[[str, str, bytes], Answer]:
    def answer(method: str, path: str, body: bytes) -> Answer:
        page = pages.get(path.partition("?")[0])
        return nothing(method, path, body) if page is None else as_json(page)

    return answer


@pytest.mark.parametrize(
    ("pages", "title", "models"),
    [
        (LLAMA, "llama.cpp", (("smol.gguf", 8192),)),
        (VLLM, "vLLM", (("qwen", 32768),)),
        (SGLANG, "SGLang", (("qwen", 40960),)),
        (OLLAMA, "Ollama", (("qwen3:8b", 0),)),
        (STUDIO, "LM Studio", (("openai/gpt-oss-20b", 4096),)),
        (LITELLM, "LiteLLM proxy", (("smol", 8192),)),
    ],
)
def test_each_server_is_known_by_its_answers_to_requests_that_change_nothing(
    pages: Mapping[str, Any], title: str, models: Any
) -> None:
    with serving(saying(pages)) as served:
        (found,) = find([served.port])
    assert found == LocalServer(title, served.address, tuple(Offer(*one) for one in models))
    assert {method for method, _, _ in served.requests} == {"GET"}
    assert all("authorization" not in one and "x-api-key" not in one for one in served.headers)
    assert invitation([found]) == f"{title} runs on this machine (1 model). /local to use it"


@pytest.mark.parametrize(
    "answer",
    [
        nothing,
        lambda *_: (200, HTML, b"<html><title>My site</title></html>"),
        lambda *_: (200, JSON, b"[" * 50_000),
        lambda *_: (200, JSON, b'{"data": [3, null, {"id": 7, "owned_by": 3}]}'),
        lambda *_: as_json({"data": [{"id": "x", "owned_by": "me"}]}),
        lambda *_: as_json({"version": "latest"}),
        lambda *_: (500, "text/plain", b"Internal Server Error"),
        lambda *_: (302, HTML, b""),
    ],
)
def test_any_other_web_server_is_not_taken_for_one(answer: Callable[..., Answer]) -> None:
    with serving(answer) as served:
        assert find([served.port]) == []


def test_a_port_where_nobody_listens_or_nobody_answers_is_passed_over() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent, serving(saying(VLLM)) as served:
        found = find([silent.getsockname()[1], served.port], seconds=0.2)
    assert [one.title for one in found] == ["vLLM"]
    assert find([served.port]) == []
    assert find([]) == []


@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        ({**OLLAMA, "/api/version": {"version": "0.12.3"}}, "is too old (0.12): the Messages API needs 0.14"),
        ({**OLLAMA, "/v1/models": {"data": []}}, "has no model"),
        ({"/health/liveliness": "I'm alive!"}, "needs a key"),
    ],
)
def test_a_server_that_can_t_be_used_says_why_and_is_not_offered(pages: Any, problem: str) -> None:
    with serving(saying(pages)) as served:
        (found,) = find([served.port])
    assert problem in found.problem
    assert invitation([found]) == ""


def test_two_servers_are_offered_in_one_line() -> None:
    two = [
        LocalServer("llama.cpp", "http://a", (Offer("m"),)),
        LocalServer("Ollama", "http://b", (Offer("n"),)),
    ]
    assert invitation(two) == "llama.cpp and Ollama run on this machine. /local to use one"


def test_a_slow_answer_does_not_hold_up_the_first_prompt() -> None:
    assert invitation_within([], 0.0) == ""
    with serving(saying(VLLM)) as served:
        assert "vLLM" in invitation_within([served.port], 30.0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("none", ()),
        ("8080, 1", (8080, 1)),
        ("0,70000,x,٣,-1,99999999999", ()),
        ("", (8080, 11434, 1234, 8000, 30000, 4000)),
    ],
)
def test_the_ports_are_the_usual_ones_or_those_of_the_environment(given: str, expected: Any) -> None:
    assert ports({PORTS_VARIABLE: given}) == expected


# On a start without a key ------------------------------------------------------------------------------------


def started(folder: Path, port: int, *words: str, **environ: str) -> Runtime:
    given = {"HOME": str(folder), "PATH": "/usr/bin:/bin", PORTS_VARIABLE: str(port), **environ}
    (folder / "work").mkdir(exist_ok=True)
    flags = dict([words]) if words else {}
    return make_runtime(Launch(trust=True, cwd=folder / "work", flags=flags), given)


def effects_of(runtime: Runtime, line: str) -> list[Effect]:
    found = list(run_line(runtime, line))
    return [one for effect in found for one in (effect.work() if isinstance(effect, InThread) else [effect])]


def test_only_a_start_without_a_key_looks_for_servers(tmp_path: Path) -> None:
    assert started(tmp_path, 5).setup.local_ports == (5,)
    assert started(tmp_path, 5, ANTHROPIC_API_KEY="sk-ant-test-0123456789").setup.local_ports == ()
    assert started(tmp_path, 5, ANTHROPIC_BASE_URL="http://127.0.0.1:9").setup.local_ports == ()
    assert started(tmp_path, 5, "--model", "demo").setup.local_ports == ()


def test_choosing_a_server_saves_it_and_uses_it_at_once(tmp_path: Path) -> None:
    with serving(saying(LLAMA)) as served:
        runtime = started(tmp_path, served.port)
        assert runtime.model_name == "demo"
        (choose,) = effects_of(runtime, "/local")
        assert isinstance(choose, Choose)
        assert [(one.label, one.detail) for one in choose.choices] == [
            ("smol.gguf", "llama.cpp · 8.2K tokens")
        ]
        (said,) = effects_of(runtime, f"/local {choose.choices[0].value}")
        assert isinstance(said, Say)
        assert f"Using smol.gguf at {served.address}" in said.text
        assert (runtime.model_name, runtime.choices.window) == ("smol.gguf", 8192)
        again = started(tmp_path, served.port)
        assert (again.model_name, again.config.model.base_url) == ("smol.gguf", served.address)
        assert again.choices.window == 8192
        assert (again.setup.local_ports, again.notices) == ((), [])


def test_a_choice_wins_over_a_model_of_the_command_line_and_says_so(tmp_path: Path) -> None:
    runtime = started(tmp_path, 5, "--model", "opus")
    said = effects_of(runtime, "/local http://127.0.0.1:8080 my model")
    assert "flag --model also sets model.name" in "".join(one.text for one in said if isinstance(one, Say))
    assert runtime.model_name == "my model"


@pytest.mark.parametrize("line", ["/local http://example.com:80 m", "/local x", "/local http://127.0.0.1:80"])
def test_no_other_address_is_taken(tmp_path: Path, line: str) -> None:
    runtime = started(tmp_path, 5)
    (said,) = effects_of(runtime, line)
    assert isinstance(said, Say)
    assert said.level == "error"
    assert not runtime.setup.places.settings_file.exists()


def test_where_no_server_answers_it_says_where_it_looked(tmp_path: Path) -> None:
    (said,) = effects_of(started(tmp_path, 1), "/local")
    assert isinstance(said, Say)
    assert "ports 1" in said.text
    assert "model.base_url" in said.text
