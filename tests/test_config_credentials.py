"""Credentials: where they come from, and that nothing shows them."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.config.credentials import credentials, save_key
from prunecli.providers.available.anthropic import KEYS
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.configuring import Desk, complaint, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


def test_without_any_there_are_none(here):
    found = credentials({"ANTHROPIC_API_KEY": " "}, here.places, KEYS)
    assert not found
    assert (found.api_key, found.auth_token, found.source) == (None, None, "none")


def test_only_one_is_sent_the_token_before_the_key_before_the_file(here):
    save_key(here.places, "sk-file\n", KEYS)
    found = credentials({}, here.places, KEYS)
    assert (found.api_key, found.auth_token, found.source) == ("sk-file", None, "~/.config/prunecli/key")
    found = credentials({"ANTHROPIC_API_KEY": "sk-env\n"}, here.places, KEYS)
    assert (found.api_key, found.auth_token, found.source) == ("sk-env", None, "ANTHROPIC_API_KEY")
    found = credentials({"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_AUTH_TOKEN": "tok"}, here.places, KEYS)
    assert (found.api_key, found.auth_token, found.source) == (None, "tok", "ANTHROPIC_AUTH_TOKEN")


def test_a_credential_is_not_in_its_repr(here):
    assert "sk-env" not in repr(credentials({"ANTHROPIC_API_KEY": "sk-env"}, here.places, KEYS))


def test_the_key_file_is_private_even_over_a_public_one(here):
    path = here.places.key_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("old")
    path.chmod(0o644)
    save_key(here.places, "sk-new", KEYS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert credentials({}, here.places, KEYS).api_key == "sk-new"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644, 0o666])
def test_a_key_file_that_others_can_read_is_refused_with_the_way_out(here, mode):
    save_key(here.places, "sk-file", KEYS)
    here.places.key_file.chmod(mode)
    with pytest.raises(ConfigError) as failed:
        credentials({}, here.places, KEYS)
    assert failed.value.message == f"~/.config/prunecli/key: other users can read the key (mode {mode:04o})"
    assert failed.value.hint == "run `chmod 600 ~/.config/prunecli/key`"
    assert credentials({"ANTHROPIC_API_KEY": "sk-env"}, here.places, KEYS)


@pytest.mark.parametrize("data", [b"", b"\n", b"two words", b"a\nb", b"\xff", b"sk-\x1b[31m", b"x" * 5000])
def test_what_can_not_be_a_key_is_refused_and_not_quoted(here, data):
    save_key(here.places, "sk-file", KEYS)
    here.places.key_file.write_bytes(data)
    with pytest.raises(ConfigError) as failed:
        credentials({}, here.places, KEYS)
    assert failed.value.message == "~/.config/prunecli/key: not an API key"


@given(st.text(min_size=1, max_size=20))
def test_a_variable_holds_a_key_or_is_named_without_being_quoted(text):
    places, environ = Places.of({"HOME": "/nonexistent"}), {"ANTHROPIC_API_KEY": text}
    said = complaint(credentials, environ, places, KEYS)
    assert said in ("", "ANTHROPIC_API_KEY: not an API key")
    if not said:
        key = credentials(environ, places, KEYS).api_key or ""
        assert key.isprintable()
        assert key.isascii()


def test_a_directory_or_a_pipe_is_no_key_file(here):
    here.places.key_file.mkdir(parents=True)
    with pytest.raises(ConfigError, match="not a regular file"):
        credentials({}, here.places, KEYS)
    here.places.key_file.rmdir()
    os.mkfifo(here.places.key_file, 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        credentials({}, here.places, KEYS)
