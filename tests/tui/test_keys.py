"""Which key does what."""

from pathlib import Path

import pytest

from prunecli.config.sources import load
from prunecli.util.bindings import ACTIONS, Keys, is_key, problem, shown
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places


def test_every_action_has_a_key_and_no_key_has_two() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys))
    assert all(action.keys for action in ACTIONS)
    assert all(is_key(key) for key in keys)
    assert problem({}) is None


def test_the_users_own_keys_take_the_place_of_the_given_ones() -> None:
    keys = Keys({"submit": "ctrl+s, F5"})
    assert [keys.action(key) for key in ("ctrl+s", "f5", "enter")] == ["submit", "submit", ""]
    assert list(keys.of("submit")) == ["ctrl+s", "f5"]


def test_a_key_that_is_taken_for_another_action_no_longer_does_what_it_did() -> None:
    keys = Keys({"newline": "enter", "submit": "ctrl+s"})
    assert (keys.action("enter"), keys.action("ctrl+s")) == ("newline", "submit")


def test_an_action_can_be_left_without_a_key() -> None:
    keys = Keys({"browse": "none"})
    assert (list(keys.of("browse")), keys.hint("browse"), keys.action("ctrl+t")) == ([], "", "")
    assert problem({"browse": "none"}) is None


@pytest.mark.parametrize(
    ("own", "name", "said"),
    [
        ({"submitt": "ctrl+s"}, "submitt", "unknown action (did you mean submit?)"),
        ({"quit": " , "}, "quit", "expected a key"),
        ({"submit": "none"}, "submit", "expected a key"),
        ({"edit": "ctlr+s"}, "edit", "got 'ctlr+s'"),
        ({"edit": "x"}, "edit", "got 'x'"),
        ({"edit": "shift+x"}, "edit", "got 'shift+x'"),
        ({"edit": "ctrl+"}, "edit", "got 'ctrl+'"),
        ({"edit": "ctrl+s", "find": "f5,ctrl+s"}, "find", "ctrl+s is already bound to edit"),
        ({"newline": "enter"}, "newline", "takes the only key of submit"),
    ],
)
def test_what_cannot_be_a_key_is_said_with_its_action(own: dict[str, str], name: str, said: str) -> None:
    wrong = problem(own)
    assert wrong is not None
    assert wrong[0] == name
    assert said in wrong[1]


def test_a_wrong_key_is_an_error_of_the_configuration_that_names_file_and_key(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    places = Places.of(environ)
    places.config.mkdir(parents=True)
    places.config_file.write_text('[ui.keys]\nsubmit = "ctrl+s"\nedit = "ctrl+s"\n')
    with pytest.raises(
        ConfigError, match=r"config\.toml: ui\.keys\.submit: ctrl\+s is already bound to edit"
    ):
        load(places, tmp_path, environ)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ctrl+g", "Ctrl+G"),
        ("shift+enter", "Shift+Enter"),
        ("f1", "F1"),
        ("pageup", "PgUp"),
        ("escape", "Esc"),
    ],
)
def test_keys_are_written_as_people_write_them(key: str, text: str) -> None:
    assert shown(key) == text


def test_the_hint_of_an_action_is_its_first_key_that_works() -> None:
    assert Keys().hint("newline") == "Shift+Enter"
    assert Keys({"newline": "f9"}).hint("newline") == "F9"
