"""Which model goes on with a session that is resumed."""

import os
from pathlib import Path
from typing import Any

import pytest

from prunecli.context.economics import cold
from prunecli.model.events import Event, SessionStarted, SettingChanged, UserMessage
from prunecli.model.messages import Text, Usage
from prunecli.providers.optional_fields import CACHE_CONTROL
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.tui.widgets.status import cache_words
from prunecli.util.launch_options import Launch
from tests.scripted import Scripted, says
from tests.session.written import answer, lines, prompt
from tests.starting import start

OPUS, SONNET, HAIKU = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"


def made(tmp_path: Path, *, key: str = "sk-ant-x", **asked: Any) -> Runtime:
    """What the command line makes; nothing is sent."""
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": key}
    (tmp_path / "work").mkdir(exist_ok=True)
    return make_runtime(Launch(trust=True, cwd=tmp_path / "work", **asked), environ)


async def kept(tmp_path: Path, model: str, *events: Event) -> str:
    """The id of a session that was begun with this model."""
    runtime = start(tmp_path, [says("One.")], sets=(f"model.name={model}",))
    await runtime.submit("first")
    for event in events:
        runtime.emit(event)
    await runtime.close()
    return runtime.session.id


@pytest.mark.parametrize("how", ["last", "by id"])
async def test_a_session_goes_on_with_the_model_that_it_was_begun_with(tmp_path: Path, how: str) -> None:
    name = await kept(tmp_path, "opus")
    asked = {"continue_last": True} if how == "last" else {"resume": name}
    runtime = made(tmp_path, **asked)
    assert runtime.model_name == OPUS
    runtime.new_session()
    assert runtime.model_name == SONNET, "a new one has the configured model"
    await runtime.close()


async def test_the_command_line_wins_and_what_it_names_is_kept(tmp_path: Path) -> None:
    await kept(tmp_path, "opus", SettingChanged("model.name", "sonnet"))
    runtime = made(tmp_path, continue_last=True, flags={"--model": "haiku"})
    assert runtime.model_name == HAIKU
    runtime.prepare()
    await runtime.close()
    again = made(tmp_path, continue_last=True)
    assert again.model_name == HAIKU
    assert again.set_model("opus").name == OPUS
    await again.close()


async def test_a_flag_that_names_the_sessions_own_model_records_nothing(tmp_path: Path) -> None:
    await kept(tmp_path, "opus")
    runtime = made(tmp_path, continue_last=True, flags={"--model": OPUS})
    before = [record for record in runtime.session.records if isinstance(record.event, SettingChanged)]
    runtime.prepare()
    await runtime.close()
    settings = [
        record.event for record in runtime.session.records if isinstance(record.event, SettingChanged)
    ]
    assert [one.key for one in settings[len(before) :]] in ([], ["request.preamble"])


def imported(runtime: Runtime, started: str, answered: str) -> Path:
    """The file of a session that another program began."""
    path = runtime.store.new_path(runtime.setup.cwd, "20260101-000000-aaaaaa")
    path.parent.mkdir(parents=True)
    begun = SessionStarted("20260101-000000-aaaaaa", str(runtime.setup.cwd), started)
    path.write_bytes(lines([begun, prompt("hi"), answer(model=answered)]))
    return path


@pytest.mark.parametrize(
    ("started", "answered"), [(OPUS, OPUS), ("", OPUS), ("opus", "claude-opus-5-5-20260101")]
)
async def test_an_imported_session_goes_on_with_its_model(
    tmp_path: Path, started: str, answered: str
) -> None:
    runtime = made(tmp_path)
    session = runtime.open_session(imported(runtime, started, answered))
    assert runtime.model_name == OPUS
    assert session.notices == []
    await runtime.close()


async def test_a_model_that_nothing_is_known_of_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    runtime = made(tmp_path)
    session = runtime.open_session(imported(runtime, "gpt-9-codex", "gpt-9-codex"))
    assert runtime.model_name == SONNET
    assert session.notices == [
        f"This session used gpt-9-codex, which is unknown here: it continues with {SONNET}"
    ]
    await runtime.close()
    own = made(tmp_path, continue_last=True, sets=("model.base_url=http://127.0.0.1:1",))
    assert own.model_name == "gpt-9-codex", "the user's own endpoint may have it"
    await own.close()


async def test_the_demo_model_stands_in_and_is_not_kept(tmp_path: Path) -> None:
    await kept(tmp_path, "demo")
    assert made(tmp_path, continue_last=True).model_name == SONNET


async def test_without_a_key_the_demo_model_answers_in_any_session(tmp_path: Path) -> None:
    await kept(tmp_path, "opus")
    assert made(tmp_path, key="", continue_last=True).model_name == "demo"


async def test_another_model_finds_no_cache_and_nothing_says_that_it_does(tmp_path: Path) -> None:
    def answered(words: str) -> Scripted:
        return Scripted((Text(words),), usage=Usage(10, 5, 900, 90))

    runtime = start(tmp_path, [answered("One."), answered("Two."), answered("Three.")])
    now = runtime.setup.clock
    await runtime.submit("first")
    assert cache_words(runtime.status(), 3_600_000, now()) not in ("", "cache cold")
    runtime.set_model("opus")
    assert cache_words(runtime.status(), 3_600_000, now()) == "cache cold"
    assert cold(runtime.session.context, runtime.policy.market) == "the model changed: its cache is cold"
    await runtime.submit("second")
    assert cache_words(runtime.status(), 3_600_000, now()) not in ("", "cache cold")
    assert cold(runtime.session.context, runtime.policy.market) == ""


def test_a_model_newer_than_the_table_says_at_the_start_what_is_assumed_of_it(tmp_path: Path) -> None:
    assert made(tmp_path, flags={"--model": "claude-opus-6"}).notices == [
        "claude-opus-6 is newer than this version: window of claude-opus-5-5 assumed, price unknown."
    ]
    assert made(tmp_path, flags={"--model": "opus"}).notices == []


async def test_settings_are_computed_again_only_if_something_changed_them(tmp_path: Path) -> None:
    runtime = made(tmp_path)
    seen = [runtime.choices]
    runtime.emit(UserMessage((Text("hello"),)))
    assert runtime.choices is seen[0]
    runtime.emit(SettingChanged("pruning.enabled", value=False))
    seen.append(runtime.choices)
    runtime.set_model("opus")
    seen.append(runtime.choices)
    runtime.refusals.add(OPUS, CACHE_CONTROL)
    seen.append(runtime.choices)
    runtime.use_config(runtime.config.with_value("pruning.strategy", "pi"))
    seen.append(runtime.choices)
    policies = [one.policy_at(None) for one in seen]
    assert [one.enabled for one in policies] == [True, False, False, False, False]
    assert [one.market.model for one in policies] == [SONNET, SONNET, OPUS, OPUS, OPUS]
    assert [one.model_settings.cache_ttl for one in seen] == ["5m", "5m", "5m", None, None]
    assert [one.chosen[0].name for one in policies] == ["auto", "auto", "auto", "auto", "pi"]
    await runtime.close()
