"""Two vendors in one session: where requests go, whose key goes with them, and what the other cannot read."""

from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import Say, run_line
from prunecli.config.credentials import connection_for, provider_for
from prunecli.config.sources import load
from prunecli.features.openai.endpoints import KNOWN
from prunecli.model.events import AssistantMessage, AttemptBilled
from prunecli.model.messages import Thinking
from prunecli.providers.models import ModelTable
from prunecli.runtime import Runtime, Setup
from prunecli.runtime.make import make_runtime
from prunecli.safety.command_env import unattended_environment
from prunecli.safety.trust import TrustStore
from prunecli.session.completing import Clock, system_clock
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import ConfigError
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places
from tests.endpoint.script import Call, Reply
from tests.endpoint.script import Thinking as Thought
from tests.endpoint.server import Endpoint
from tests.openai_endpoint.rules import OpenAiRules
from tests.openai_endpoint.server import OpenAiEndpoint

KEYS = {
    "OPENAI_API_KEY": "sk-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
    "GROQ_API_KEY": "gsk-0123456789",
}

RULES = OpenAiRules(key=KEYS["OPENAI_API_KEY"], lenient=True)


def loaded(folder: Path, *sets: str, toml: str = "", **environ: str) -> Any:
    """The configuration of these settings."""
    places = Places.of({"HOME": str(folder)})
    if toml:
        places.config_file.parent.mkdir(parents=True, exist_ok=True)
        places.config_file.write_text(toml)
    config = load(places, folder, environ, sets=sets)
    return config, lambda name: connection_for(name, config, {"HOME": str(folder), **environ}, places)[1]


@pytest.mark.parametrize(
    ("toml", "model", "address", "key"),
    [
        ("", "gpt-5.5", "https://api.openai.com/v1", "sk-openai-0123456789"),
        ("", "gemini-3.8-flash", "https://generativelanguage.googleapis.com/v1beta/openai", None),
        ("", "claude-sonnet-5", "", "sk-ant-0123456789"),
        ('[model]\nprovider = "openai"\n', "anything", "https://api.openai.com/v1", "sk-openai-0123456789"),
        ('[model]\nendpoint = "groq"\n', "openai/gpt-oss-120b", "https://api.groq.com/openai/v1", "gsk-0123456789"),
        ('[model]\nendpoint = "openrouter"\n', "gpt-5.5", "https://openrouter.ai/api", None),
        ('[model]\nprovider = "openai"\nendpoint = "openrouter"\n', "gpt-5.5", "https://openrouter.ai/api/v1", None),
        ('[models.x]\nendpoint = "groq"\n', "x", "https://api.groq.com/openai/v1", "gsk-0123456789"),
        ('[models.x]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n', "x", "http://127.0.0.1:9/v1",
         "sk-openai-0123456789"),
        ('[model]\nbase_url = "https://mine.example"\n', "gpt-5.5", "https://mine.example", "sk-ant-0123456789"),
    ],
)  # fmt: skip
def test_each_model_goes_to_its_endpoint_with_its_key(
    tmp_path: Path, toml: str, model: str, address: str, key: str | None
) -> None:
    _, connection = loaded(tmp_path, toml=toml, **KEYS)
    found = connection(model)
    assert found.base_url == address
    assert (found.credentials.auth_token or found.credentials.api_key) == key


def test_the_address_in_the_environment_is_not_for_another_protocol(tmp_path: Path) -> None:
    elsewhere = {**KEYS, "ANTHROPIC_BASE_URL": "https://gateway.example"}
    _, connection = loaded(tmp_path, toml='[model]\nprovider = "openai"\n', **elsewhere)
    assert connection("gpt-5.5").base_url == "https://api.openai.com/v1"
    _, connection = loaded(tmp_path, toml='[model]\nname = "opus"\n', **elsewhere)
    assert connection("claude-opus-5-5").base_url == "https://gateway.example"


@pytest.mark.parametrize(
    ("toml", "what"),
    [
        ('[models.x]\nprovider = "opnai"\n', "models.x.provider: expected one of anthropic, demo, openai"),
        ('[models.x]\nendpoint = "grok"\n', "models.x.endpoint: expected one of"),
        ('[models.x]\nbase_url = "http://far.example"\n', "unencrypted"),
        ('[model.openai]\nwire = "smoke"\n', "wire"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, toml: str, what: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, toml=toml)
    assert what in f"{raised.value.message} {raised.value.hint}"


def test_a_wrong_wire_of_a_model_is_an_error_where_it_is_used(tmp_path: Path) -> None:
    config, _ = loaded(tmp_path, toml='[models.x]\nendpoint = "groq"\nwire = "smoke"\n', **KEYS)
    with pytest.raises(ConfigError, match="expected one of responses, chat"):
        provider_for("x", config, KEYS, Places.of({"HOME": str(tmp_path)}))


@pytest.fixture
async def both() -> AsyncIterator[tuple[Endpoint, OpenAiEndpoint]]:
    """An endpoint of either vendor."""
    async with Endpoint() as claude, OpenAiEndpoint(rules=RULES) as gpt:
        yield claude, gpt


def opened(
    folder: Path, claude: Endpoint, gpt: OpenAiEndpoint, wire: str, *more: str, clock: Clock = system_clock
) -> Runtime:
    """A runtime on both; `more` are settings."""
    environ = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", **KEYS}
    places, cwd = Places.of(environ), folder / "work"
    cwd.mkdir(parents=True, exist_ok=True)
    (cwd / "a.txt").write_text("some words\n" * 400)
    sets = (
        f"model.base_url={claude.base_url}", "model.name=claude-sonnet-4-6", "model.thinking=2000",
        "ui.confirm=never", "models.far.endpoint=xai", f'models."gpt-5.5".base_url={gpt.api}',
        'models."gpt-5.5".provider=openai', f'models."gpt-5.5".wire={wire}', *more,
    )  # fmt: skip

    def load_config(trusted: bool) -> Any:
        return load(places, cwd, environ, sets=sets, trusted=trusted)

    config = load_config(True)
    plain = unattended_environment(child_environment(environ, config.key_variables))
    setup = Setup(
        places, cwd, config, plain, plain, True, "linux, /bin/sh", load_config=load_config,
        trust_store=TrustStore(places.trust_store), zone=UTC, environ=environ, clock=clock,
    )  # fmt: skip
    table = ModelTable.load(places.shipped_data, config.models)
    runtime: Runtime = Runtime(
        setup, lambda name: provider_for(name, runtime.config, environ, places), table.info
    )
    return runtime


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_from_claude_to_gpt_and_back_only_thinking_stays_behind(
    tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint], wire: str
) -> None:
    claude, gpt = both
    call = Call("read", {"path": "a.txt"})
    say = [Reply([Thought("Let me see."), "I read.", call]), Reply([Thought("ok"), "Done."])]
    claude._service._player._script = (*say, *say)
    gpt._service._player._script = tuple(say)
    runtime = opened(tmp_path, claude, gpt, wire)
    await runtime.submit("Read a.txt.")
    first = claude.requests[-1].json["messages"]
    told = " ".join(one.text for one in run_line(runtime, "/model gpt-5.5") if isinstance(one, Say))
    assert "cold cache" in told
    assert "2 thinking blocks" in told
    assert "return if you switch back" in told
    await runtime.submit("Again.")
    run_line(runtime, "/model claude-sonnet-4-6")
    await runtime.submit("And again.")
    assert (claude.rejected, gpt.rejected) == ([], [])
    assert [one.path for one in gpt.requests] == ["/chat/completions" if wire == "chat" else "/responses"] * 2
    body = gpt.requests[0].body.decode()
    assert "Let me see." not in body
    assert body.count("Again.") == 1
    assert "some words" in body
    last = claude.requests[-2].json["messages"]
    plain = [strip_marks(message) for message in first]
    assert [strip_marks(message) for message in last[: len(first)]] == plain, (
        "Claude's own prefix is the same again"
    )
    assert "wire:" not in claude.requests[-1].body.decode()
    assert "gpt-5.5" in {answer.model for answer in answers(runtime)}
    await runtime.close()


def answers(runtime: Runtime) -> list[AssistantMessage]:
    """The answers so far."""
    return [one.event for one in runtime.session.records if isinstance(one.event, AssistantMessage)]


def strip_marks(message: Any) -> Any:
    """A message without its cache breakpoints."""
    blocks = [
        {key: one for key, one in block.items() if key != "cache_control"} for block in message["content"]
    ]
    return {**message, "content": blocks}


async def test_thinking_of_gpt_is_kept_for_gpt(tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint]) -> None:
    claude, gpt = both
    gpt._service._player._script = (Reply([Thought("Mine."), "One."]), "Two.", "Three.")
    runtime = opened(tmp_path, claude, gpt, "responses")
    run_line(runtime, "/model gpt-5.5")
    await runtime.submit("Hello.")
    run_line(runtime, "/model claude-sonnet-4-6")
    assert runtime.session.context.unseen.dropped
    await runtime.submit("Hello again.")
    run_line(runtime, "/model gpt-5.5")
    await runtime.submit("And once more.")
    kinds = [item["type"] for item in gpt.requests[-1].json["input"]]
    assert kinds == ["message", "reasoning", "message", "message", "message", "message"]
    assert (claude.rejected, gpt.rejected) == ([], [])
    assert isinstance(answers(runtime)[0].content[0], Thinking)
    await runtime.close()


def test_a_server_of_the_users_own_needs_no_key_and_openai_does(tmp_path: Path) -> None:
    def names(*sets: str) -> str:
        asked = Launch(cwd=tmp_path, sets=("model.provider=openai", "model.name=smol", *sets))
        return make_runtime(asked, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}).model_name

    assert names("model.base_url=http://127.0.0.1:9/v1") == "smol"
    assert names() == "demo"


def test_a_command_gets_no_key_of_any_endpoint(tmp_path: Path) -> None:
    given = {one.key_variable: f"secret-of-{one.name}" for one in KNOWN.values()}
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-1", **given}
    runtime = make_runtime(Launch(cwd=tmp_path), {**environ, "COPY": "secret-of-groq", "MINE": "kept"})
    for env in (runtime.setup.child_env, runtime.setup.approved_env):
        assert "secret-of" not in "".join(env.values())
        assert env["MINE"] == "kept"


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_a_key_is_sent_to_its_own_endpoint_and_nowhere_else(
    tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint], wire: str
) -> None:
    claude, gpt = both
    call = Call("bash", {"command": "env"})
    claude._service._player._script = gpt._service._player._script = (Reply([call]), "Done.")
    runtime = opened(tmp_path, claude, gpt, wire)
    runtime.gatekeeper.mode = "auto"
    await runtime.submit("Say what is in the environment.")
    assert "SHELL=/bin/sh" in claude.requests[-1].body.decode()
    run_line(runtime, "/model gpt-5.5")
    await runtime.submit("And you.")
    for model in ("claude-sonnet-4-6", "gpt-5.5"):
        await runtime.connections.of(model).models()
    for endpoint, own in ((claude, "ANTHROPIC_API_KEY"), (gpt, "OPENAI_API_KEY")):
        asked = [*endpoint.requests, *endpoint._service.others]
        assert {name for name, key in KEYS.items() for one in asked if key in str(one.headers)} == {own}
        assert not [key for key in KEYS.values() for one in asked if key in one.body.decode()]
    assert runtime.session.path is not None
    assert not [key for key in KEYS.values() if key in runtime.session.path.read_text()]
    await runtime.close()


async def test_a_model_without_a_key_says_so(tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint]) -> None:
    runtime = opened(tmp_path, *both, "chat")
    said = " ".join(one.text for one in run_line(runtime, "/model far") if isinstance(one, Say))
    assert "No API key. /login to add one" in said
    await runtime.close()


def agent(runtime: Runtime, model: str) -> Call:
    """A call of a subagent that uses this model."""
    folder = runtime.setup.cwd / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "far.md").write_text(f"---\nname: far\ndescription: d\nmodel: {model}\n---\nYou look.")
    return Call("task", {"prompt": "Look at a.txt.", "description": "look", "agent": "far"})


@pytest.mark.parametrize("wire", ["responses", "chat"])
@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "gpt-5.5"])
async def test_a_subagent_uses_the_other_vendor(
    tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint], wire: str, model: str
) -> None:
    claude, gpt = both
    other = "gpt-5.5" if model.startswith("claude") else "claude-sonnet-4-6"
    runtime = opened(tmp_path, claude, gpt, wire)
    run_line(runtime, f"/model {model}")
    host, far = (claude, gpt) if model.startswith("claude") else (gpt, claude)
    host._service._player._script = (Reply([agent(runtime, other)]), "Done.")
    look = Call("read", {"path": "a.txt"})
    far._service._player._script = (
        Reply([Thought("Let me see."), look]),
        Reply([Thought("So."), "Some words."]),
    )
    done = await runtime.submit("Start a task.")
    assert (done.reason, claude.rejected, gpt.rejected) == ("finished", [], [])
    assert "Some words." in host.requests[-1].body.decode()
    assert "Let me see." not in host.requests[-1].body.decode()
    assert "You look." in far.requests[0].body.decode()
    has_patch = [b'"apply_patch"' in one.requests[0].body for one in (claude, gpt)]
    assert has_patch == [False, True], "each session has the tools of the model that it began with"
    bills = [one.event for one in runtime.session.records if isinstance(one.event, AttemptBilled)]
    assert [(one.model, one.reason) for one in bills] == [(other, "task")] * 2
    assert runtime.session.path is not None
    for path in sorted(runtime.session.path.parent.glob("*.jsonl")):
        report = verify_session(path, read_log(path))
        assert report.clean, report.lines
    await runtime.close()


async def test_a_subagent_whose_vendor_has_no_key_says_so_to_the_model(
    tmp_path: Path, both: tuple[Endpoint, OpenAiEndpoint]
) -> None:
    claude, gpt = both
    runtime = opened(tmp_path, claude, gpt, "chat")
    claude._service._player._script = (Reply([agent(runtime, "far")]), "I do it myself.")
    done = await runtime.submit("Start a task.")
    assert done.reason == "finished"
    assert "The task could not begin: far needs a key (XAI_API_KEY)" in claude.requests[-1].body.decode()
    await runtime.close()
