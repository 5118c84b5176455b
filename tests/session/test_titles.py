"""Titles without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.model.events import Record, SessionStarted, SettingChanged, UserMessage
from prunecli.model.messages import Json, Text
from prunecli.model.notes import TYPED
from prunecli.session.digest import Digest
from prunecli.session.titles import TITLE, TITLE_CHARS, title_of


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (
            "can you please fix the failing test in parser.py, it began yesterday",
            "Fix the failing test in parser.py",
        ),
        (
            "hi! I'd like to add a --json flag to list so that scripts can read it",
            "Add a --json flag to list",
        ),
        ("look at @src/app.py and refactor it because it is long", "Look at src/app.py and refactor it"),
        ("fix https://github.com/foo/bar/issues/12?x=1 now", "Fix issues/12 now"),
        ("Implement the following plan:\n\n# Add caching to the API\n\nFirst …", "Add caching to the API"),
        ("<context>\nx\n</context>\nrun the tests.", "Run the tests"),
        ("<system-reminder>\nUse the tools.\n</system-reminder>\nRename it.", "Rename it"),
        ("Rename it.\n<ide-context file='a.py'>\nline 3\n</ide-context>", "Rename it"),
        ("Why does pytest hang?", "Why does pytest hang"),
        ("修复解析器的错误", "修复解析器的错误"),
        ("/review the last commit", "/review the last commit"),
        ("hello", ""),
        ("thanks!", ""),
        ("", ""),
    ],
)
def test_a_title_is_what_is_asked_for(prompt: str, title: str) -> None:
    assert title_of(prompt) == title


@given(st.text())
def test_a_title_is_one_short_line(prompt: str) -> None:
    title = title_of(prompt)
    assert len(title) <= TITLE_CHARS + 1
    assert title == " ".join(title.split())


def digest(*events: object, parent: dict[str, Json] | None = None) -> Digest:
    found = Digest()
    started = SessionStarted("20261128-120000-abcdef", "/w", "m", parent=parent)
    for seq, event in enumerate([started, *events]):
        found.take_record(Record(seq, seq, event))  # type: ignore[arg-type]
    return found


def said(text: str) -> UserMessage:
    return UserMessage((Text(text),), "prompt")


def test_a_session_has_the_title_of_its_first_prompt_that_asks_for_something_and_the_head_of_its_last() -> (
    None
):
    found = digest(said("hello"), said("please add a flag"), said("run the tests"))
    assert (found.title, found.head) == ("Add a flag", "Run the tests")
    assert digest(said("add a flag")).head == ""


def test_a_fork_is_titled_by_its_own_first_prompt() -> None:
    parent: dict[str, Json] = {"id": "20261128-110000-abcdef", "seq": 2}
    assert digest(said("add a flag"), said("test it all"), parent=parent).title == "Add a flag"
    fork = digest(
        said("add a flag"), said("test it all"), said("drop the flag"), said("again please"), parent=parent
    )
    assert (fork.title, fork.is_copy) == ("Drop the flag", True)


def test_a_models_title_comes_before_the_prompts_and_a_typed_command_before_what_it_sent() -> None:
    command = SettingChanged(TYPED, "/review the parser"), said("Review the uncommitted changes")
    assert digest(*command).title == "/review the parser"
    assert digest(*command, SettingChanged(TITLE, "Parser review")).title == "Parser review"
