"""/login: a key, kept and used at once."""

import stat
from pathlib import Path

import pytest

from prunecli.commands.command import AskSecret, Say, run_line
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.util.errors import ConfigError
from prunecli.util.launch_options import Launch

KEY = "sk-ant-0123456789"


def keyless(folder: Path, **more: str) -> Runtime:
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **more}
    return make_runtime(Launch(cwd=folder, trust=True), environ)


def asked(runtime: Runtime) -> AskSecret:
    effect = run_line(runtime, "/login")[0]
    assert isinstance(effect, AskSecret)
    return effect


def test_the_key_is_kept_for_its_owner_alone_and_the_real_model_answers(tmp_path: Path) -> None:
    runtime = keyless(tmp_path)
    assert runtime.model_name == "demo"
    before = runtime.provider
    said = asked(runtime).then(KEY)
    file = runtime.setup.places.key_file
    assert file.read_text().strip() == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert runtime.model_name.startswith("claude-sonnet")
    assert runtime.provider is not before
    assert isinstance(said[-1], Say)
    assert "~/.config/prunecli/key" in said[-1].text
    assert KEY not in repr(said)


def test_a_key_in_the_environment_counts_more_and_that_is_said(tmp_path: Path) -> None:
    runtime = keyless(tmp_path, ANTHROPIC_API_KEY="sk-ant-of-the-environment")
    said = asked(runtime).then(KEY)
    assert isinstance(said[-1], Say)
    assert "ANTHROPIC_API_KEY is set and takes precedence" in said[-1].text


def test_nothing_entered_changes_nothing(tmp_path: Path) -> None:
    runtime = keyless(tmp_path)
    asked(runtime).then("  ")
    assert not runtime.setup.places.key_file.exists()


def test_what_can_be_no_key_is_refused_without_being_quoted(tmp_path: Path) -> None:
    runtime = keyless(tmp_path)
    with pytest.raises(ConfigError) as raised:
        asked(runtime).then("two words")
    assert "two words" not in str(raised.value)
    assert not runtime.setup.places.key_file.exists()


def test_a_key_on_the_line_is_refused(tmp_path: Path) -> None:
    said = run_line(keyless(tmp_path), f"/login {KEY}")[0]
    assert isinstance(said, Say)
    assert said.level == "error"
    assert KEY not in said.text
