"""Keeping values: what `--save` and `config init` write, and what they leave alone."""

import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest

from prunecli.config.sample import init, sample
from prunecli.config.save import save
from prunecli.config.schema import Schema
from prunecli.util.bindings import ACTIONS
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.configuring import Desk, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


def test_a_saved_value_is_there_at_the_next_start(here):
    for key, text in [
        ("pi.prune_protect", "20000"),
        ("pruning.adaptive.soft_trim.max_chars", "7"),
        ("pruning.strategy", '["pi","adaptive"]'),
        ('models."a.b".context_window', "9"),
        ("model.name", 'a "quoted" \\ name'),
        ("tools.enabled", '["bash"]'),
        ("ui.mouse", "false"),
        ("pruning.engage_ratio", "1e-3"),
    ]:
        assert save(here.places, here.load(), key, text) == ""
        assert here.load().value(key) == here.load(f"{key}={text}").value(key)
        assert here.load().origin(key).startswith("~/.config/prunecli/settings.toml:")
    assert here.load().strategy_options("pi").prune_protect == 20_000


def test_the_file_is_private_whole_and_alone(here):
    save(here.places, here.load(), "ui.mouse", "false")
    assert stat.S_IMODE(here.places.settings_file.stat().st_mode) == 0o600
    fresh = Places.of({"HOME": str(here.root / "fresh")})
    save(fresh, here.load(), "ui.mouse", "false")
    assert stat.S_IMODE(fresh.config.stat().st_mode) == 0o700
    assert [path.name for path in here.places.config.iterdir() if path.is_file()] == ["settings.toml"]


def test_other_saved_values_and_the_hand_written_file_stay(here):
    path = here.user("# mine\n[ui]\nmouse = true\n")
    here.settings('[model]\nname = "opus"\n')
    save(here.places, here.load(), "ui.theme", "dusk")
    assert path.read_text() == "# mine\n[ui]\nmouse = true\n"
    assert tomllib.loads(here.places.settings_file.read_text()) == {
        "model": {"name": "opus"},
        "ui": {"theme": "dusk"},
    }


def test_a_value_that_is_set_elsewhere_is_saved_and_said_to_be_shadowed(here):
    here.project("[pruning.pi]\nprune_protect = 5\n")
    config = here.load(trusted=True, environ={"PRUNECLI_MODEL": "opus"})
    assert save(here.places, config, "pi.prune_protect", "6") == (
        f"but {here.cwd}/.prunecli/config.toml:2 also sets pruning.pi.prune_protect and takes precedence"
    )
    assert "but environment PRUNECLI_MODEL also sets model.name" in save(
        here.places, config, "model.name", "haiku"
    )
    assert here.load().model.name == "haiku"


def test_a_session_change_does_not_shadow_its_own_saving(here):
    config = here.load().with_value("pi.prune_protect", "6")
    assert save(here.places, config, "pi.prune_protect", "6") == ""


def test_an_optional_value_is_taken_out_again(here):
    save(here.places, here.load(), "model.max_tokens", "5")
    save(here.places, here.load(), "model.max_tokens", "null")
    assert here.load().model.max_tokens is None
    assert here.load().origin("model.max_tokens") == "default"


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("pi.prune_protect", "20k", "pruning.pi.prune_protect: expected an integer, got '20k'"),
        ("ui.thema", "x", "ui.thema: unknown key (did you mean ui.theme?)"),
        ("model.thinking", "1", "model.thinking: expected 0 or at least 1024, got 1"),
        ("pruning.adaptive.hard_clear_ratio", "0", "expected at least soft_trim_ratio"),
    ],
)
def test_what_would_not_load_is_not_saved(here, key, text, message):
    with pytest.raises(ConfigError) as failed:
        save(here.places, here.load(), key, text)
    assert message in failed.value.message
    assert not here.places.settings_file.exists()


def test_a_damaged_settings_file_is_not_overwritten(here):
    config = here.load()
    path = here.settings("[ui\n")
    with pytest.raises(ConfigError, match=r"settings\.toml: line 1"):
        save(here.places, config, "ui.mouse", "false")
    assert path.read_text() == "[ui\n"


def test_a_place_that_can_not_be_written_is_named(here):
    config = here.load()
    here.places.config.parent.rename(here.root / "away")
    here.places.config.parent.write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match=r"cannot use .*\.config/prunecli: (Not a directory|File exists)"):
        save(here.places, config, "ui.mouse", "false")


def test_a_linked_settings_file_stays_a_link(here):
    real = here.root / "dotfiles.toml"
    real.write_text("")
    here.places.config.mkdir(parents=True, exist_ok=True)
    here.places.settings_file.symlink_to(real)
    save(here.places, here.load(), "ui.mouse", "false")
    assert here.places.settings_file.is_symlink()
    assert "mouse" in real.read_text()


def test_of_two_that_save_at_once_none_undoes_the_other(here):
    config = here.load()
    given = [(f"ui.keys.{action.name}", f"ctrl+alt+{chr(97 + at)}") for at, action in enumerate(ACTIONS[:20])]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: save(here.places, config, *pair), given))
    assert len(here.load().ui.keys) == 20


def test_init_writes_the_sample_once(here):
    path = init(here.places)
    assert path.read_text() == sample(Schema())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ConfigError, match=r"~/\.config/prunecli/config\.toml already exists"):
        init(here.places)
