"""The known endpoints: what `[model] endpoint` selects, and the table in the documentation."""

from pathlib import Path

import pytest

from prunecli.config.credentials import connection_for, keys_of, lacks_key, save_key
from prunecli.config.effective import Config
from prunecli.config.sources import load
from prunecli.providers.endpoints import FEATURES, KNOWN, markdown
from prunecli.providers.registry import Connection
from prunecli.util.errors import ConfigError
from prunecli.util.paths import PACKAGE, Places

KEY = "or-0123456789"


def loaded(folder: Path, *sets: str, toml: str = "", **environ: str) -> tuple[Config, Connection]:
    """The configuration of a home with this config.toml, and the connection of its model."""
    given = {"HOME": str(folder), **environ}
    places = Places.of(given)
    places.config.mkdir(parents=True, exist_ok=True)
    places.config_file.write_text(toml)
    config = load(places, folder, given, sets=sets)
    return config, connection_for("x", config, given, places)[1]


def test_an_endpoint_is_an_address_with_its_own_key_and_header(tmp_path: Path) -> None:
    environ = {
        "OPENROUTER_API_KEY": KEY,
        "ANTHROPIC_API_KEY": "sk-ant-not-for-them",
        "DEEPSEEK_API_KEY": "ds-1",
    }
    _, router = loaded(tmp_path, toml='[model]\nendpoint = "openrouter"\n', **environ)
    assert router.base_url == "https://openrouter.ai/api"
    assert (router.credentials.auth_token, router.credentials.api_key) == (KEY, None)
    _, deepseek = loaded(tmp_path, "model.endpoint=deepseek", **environ)
    assert deepseek.base_url == "https://api.deepseek.com/anthropic"
    assert (deepseek.credentials.auth_token, deepseek.credentials.api_key) == (None, "ds-1")


def test_the_key_of_an_account_never_goes_to_another_endpoint(tmp_path: Path) -> None:
    config, router = loaded(tmp_path, "model.endpoint=openrouter", ANTHROPIC_API_KEY="sk-ant-not-for-them")
    assert not router.credentials
    assert lacks_key(config, "", router.credentials)
    toml = '[model]\nendpoint = "openrouter"\n'
    elsewhere = {"OPENROUTER_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://other.example"}
    config, other = loaded(tmp_path, toml=toml, **elsewhere)
    assert (other.base_url, config.service().endpoint) == ("https://other.example", None)
    assert not other.credentials


def test_the_higher_source_decides_and_beside_each_other_both_count(tmp_path: Path) -> None:
    toml = '[model]\nbase_url = "https://mine.example"\n'
    config, _ = loaded(tmp_path, "model.endpoint=zai", toml=toml)
    assert config.model.base_url == "https://api.z.ai/api/anthropic"
    assert config.origin("model.base_url") == "endpoint zai"
    both = '[model]\nendpoint = "bedrock"\nbase_url = "https://bedrock.mine.example"\n'
    config, aws = loaded(tmp_path, toml=both, AWS_BEARER_TOKEN_BEDROCK=KEY)
    assert (aws.base_url, aws.credentials.auth_token) == ("https://bedrock.mine.example", KEY)
    config, own = loaded(tmp_path, "model.endpoint=anthropic", toml=toml, ANTHROPIC_API_KEY="sk-ant-mine")
    assert (own.base_url, own.credentials.api_key, config.service().endpoint) == ("", "sk-ant-mine", None)


def test_a_part_of_an_address_comes_from_the_environment_and_only_as_a_host_name(tmp_path: Path) -> None:
    _, aws = loaded(tmp_path, "model.endpoint=bedrock", AWS_REGION="eu-west-1", AWS_BEARER_TOKEN_BEDROCK=KEY)
    assert aws.base_url == "https://bedrock-mantle.eu-west-1.api.aws/anthropic"
    with pytest.raises(ConfigError, match="AWS_REGION is not set") as missing:
        loaded(tmp_path, "model.endpoint=bedrock")
    assert "model.base_url" in missing.value.hint
    with pytest.raises(ConfigError, match=r"ANTHROPIC_FOUNDRY_RESOURCE is 'evil\.example/'"):
        loaded(tmp_path, "model.endpoint=foundry", ANTHROPIC_FOUNDRY_RESOURCE="evil.example/")


def test_an_unknown_endpoint_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"model\.endpoint: expected one of anthropic, llamacpp.*'opnrouter'"
    ):
        loaded(tmp_path, toml='[model]\nendpoint = "opnrouter"\n')


def test_a_saved_key_belongs_to_its_endpoint(tmp_path: Path) -> None:
    config, _ = loaded(tmp_path, "model.endpoint=zai")
    places = Places.of({"HOME": str(tmp_path)})
    assert save_key(places, KEY, keys_of(config)) == "~/.config/prunecli/zai.key"
    assert loaded(tmp_path, "model.endpoint=zai")[1].credentials.auth_token == KEY
    assert not loaded(tmp_path, "model.endpoint=moonshot")[1].credentials
    assert not loaded(tmp_path)[1].credentials


def test_a_local_server_needs_no_key(tmp_path: Path) -> None:
    config, local = loaded(tmp_path, "model.endpoint=ollama")
    assert local.base_url == "http://127.0.0.1:11434"
    assert not lacks_key(config, "anthropic", local.credentials)


def test_each_endpoint_answers_every_question_and_no_two_share_a_key(tmp_path: Path) -> None:
    assert all(len(one.answers) == len(FEATURES) for one in KNOWN.values())
    assert len({one.key_variable for one in KNOWN.values()}) == len(KNOWN)
    assert len({one.keys.file for one in KNOWN.values()}) == len(KNOWN)


def test_the_documentation_shows_this_table() -> None:
    assert markdown() in (PACKAGE.parent / "docs" / "models.md").read_text()
