"""Which key does what."""

import pytest

from prunecli.tui.keys import ACTIONS, Keys, shown


def test_every_action_has_a_key_and_no_key_has_two() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys))
    assert all(action.keys for action in ACTIONS)


def test_the_users_own_keys_take_the_place_of_the_given_ones() -> None:
    keys = Keys({"submit": "ctrl+s, F5"})
    assert [keys.action(key) for key in ("ctrl+s", "f5", "enter")] == ["submit", "submit", ""]
    assert list(keys.of("submit")) == ["ctrl+s", "f5"]


def test_a_key_that_is_taken_for_another_action_no_longer_does_what_it_did() -> None:
    keys = Keys({"newline": "enter", "submit": "ctrl+s"})
    assert (keys.action("enter"), keys.action("ctrl+s")) == ("newline", "submit")
    assert list(Keys({"newline": "enter"}).of("submit")) == []


def test_unknown_actions_and_empty_keys_are_said_and_change_nothing() -> None:
    keys = Keys({"submitt": "x", "quit": " , "})
    assert keys.problems == [
        "ui.keys.submitt: unknown action, the nearest is submit",
        "ui.keys.quit: expected a key such as ctrl+s",
    ]
    assert keys.action("ctrl+c") == "quit"


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
    assert Keys({"newline": "enter"}).hint("submit") == ""
