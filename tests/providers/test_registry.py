"""Providers: found by their file, made from their own options and credentials, checked by their own checkup."""

import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.config.credentials import connection_for, credentials, save_key
from prunecli.config.effective import Config
from prunecli.config.sample import sample
from prunecli.config.schema import Schema
from prunecli.config.sources import load
from prunecli.config.strategies import Strategies
from prunecli.features.doctor.checkup import Patient, checkup
from prunecli.plugins.foreign import import_file
from prunecli.providers.registry import Providers
from prunecli.tools.processes.environment import child_environment
from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.paths import Places

TOY = '''\
"""A provider of one file."""

from dataclasses import dataclass
from typing import Annotated

from prunecli.providers.registry import Finding, Keys

KEYS = Keys("TOY_API_KEY", "toy.key")


@dataclass(frozen=True)
class Options:
    region: Annotated[str, "Where it runs."] = "north"


def needs_key(base_url):
    return True


def make(connection):
    return connection


def check(connection, listed):
    return Finding("endpoint", "ok", f"toy in {connection.options.region}")
'''
OTHERS = {
    "anthropic": "from prunecli.providers.available.anthropic import *",
    "demo": "from prunecli.providers.available.demo import *",
}


@pytest.fixture
def providers(tmp_path: Path) -> Providers:
    """The providers of the program and `toy`."""
    folder = tmp_path / "available"
    folder.mkdir()
    (folder / "toy.py").write_text(TOY)
    for name, text in OTHERS.items():
        (folder / f"{name}.py").write_text(text)
    return Providers(folder, lambda name: import_file(folder / f"{name}.py"))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.of({"HOME": str(tmp_path)})


def configured(places: Places, providers: Providers, *sets: str, **given: str) -> Config:
    return load(places, places.home, given, sets=sets, providers=providers)


def test_a_file_in_the_folder_is_a_provider(places: Places, providers: Providers) -> None:
    assert providers.names() == ("anthropic", "demo", "toy")
    assert configured(places, providers, "model.provider=toy").model.provider == "toy"
    with pytest.raises(ConfigError, match="expected one of anthropic, demo, toy, openai, got 'other'"):
        configured(places, providers, "model.provider=other")


def test_a_model_of_a_providers_name_is_answered_by_it(places: Places, providers: Providers) -> None:
    assert configured(places, providers).service("demo").provider == "demo"
    toy = configured(places, providers, "model.provider=toy")
    assert toy.service("demo").provider == "demo"
    assert toy.service("claude-x").provider == "toy"


def test_its_options_are_keys_of_its_own_table(places: Places, providers: Providers) -> None:
    places.config.mkdir(parents=True)
    places.config_file.write_text('[model]\nprovider = "toy"\n[model.toy]\nregion = "south"\n')
    config = configured(places, providers)
    assert config.provider_options("toy").region == config.value("model.toy.region") == "south"
    assert config.origin("model.toy.region").endswith("config.toml:4")
    assert "model.toy.region" in [item.key for item in config.items()]
    assert config.with_value("model.toy.region", "east").provider_options("toy").region == "east"
    text = sample(Schema(Strategies(), providers))
    assert '[model.toy]\n# Where it runs.\n#region = "north"\n' in text
    with pytest.raises(ConfigError, match=r"unknown key \(did you mean model\.toy\.region"):
        configured(places, providers, "model.toy.regoin=x")


def test_a_project_cannot_set_the_options_of_a_provider(places: Places, providers: Providers) -> None:
    (places.home / ".prunecli").mkdir()
    (places.home / ".prunecli" / "config.toml").write_text('[model.toy]\nregion = "theirs"\n')
    with pytest.raises(
        ConfigError, match="not allowed in a project file: it decides where prompts and key go"
    ):
        load(places, places.home, {}, trusted=True, providers=providers)


def test_it_gets_its_own_credential_and_no_other(places: Places, providers: Providers) -> None:
    config = configured(places, providers, "model.provider=toy")
    environ = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "ANTHROPIC_AUTH_TOKEN": "token"}
    save_key(places, "sk-ant-file", providers.keys("anthropic"))
    assert not connection_for("m", config, environ, places)[1].credentials
    assert save_key(places, "toy-file", providers.keys("toy")) == "~/.config/prunecli/toy.key"
    assert connection_for("m", config, environ, places)[1].credentials.api_key == "toy-file"
    _, connection = connection_for("m", config, {**environ, "TOY_API_KEY": "toy-env"}, places)
    assert (connection.credentials.api_key, connection.options.region) == ("toy-env", "north")
    assert credentials(environ, places, providers.keys("anthropic")).auth_token == "token"


def test_its_key_is_kept_from_commands() -> None:
    environ = {"TOY_API_KEY": "toy-0123456789", "COPY": "toy-0123456789", "GITHUB_TOKEN": "theirs"}
    assert child_environment(environ, ("TOY_API_KEY",)) == {"GITHUB_TOKEN": "theirs"}


def test_its_checkup_is_the_endpoint_of_the_doctor(places: Places, providers: Providers) -> None:
    config = configured(places, providers, "model.provider=toy", "model.toy.region=west")

    def no_provider(_: Config) -> None:
        raise PrunecliError("not asked")

    patient = Patient(places, places.home, {}, lambda: config, no_provider, None)
    found = {one.name: one for one in checkup(patient)}
    assert found["endpoint"].said == "toy in west"
    assert (found["credentials"].state, "TOY_API_KEY" in found["credentials"].hint) == ("problem", True)


@pytest.mark.parametrize("name", Providers().names())
def test_the_file_of_a_provider_brings_no_sdk(name: str) -> None:
    code = f"import sys, prunecli.providers.available.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"anthropic", "httpx2", "pydantic", "asyncio"} - ({"asyncio"} if name == "demo" else set())
    assert heavy & set(done.stdout.split()) == set()
