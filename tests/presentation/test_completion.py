"""What can be completed, and what is offered for it."""

import pytest

from prunecli.front.presentation.completion import (
    Wanted,
    argument_offers,
    as_command,
    command_offers,
    file_offers,
    history_offers,
    is_command,
    last_mention,
    wanted,
)

COMMANDS = [("prune", "Prune now", ()), ("new", "Another session", ("clear",)), ("quit", "Leave", ("exit",))]


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("/", 1, Wanted("command", "", 0)),
        ("/prune-s", 8, Wanted("command", "prune-s", 0)),
        ("say /prune", 10, None),
        ("/usr/bin", 8, None),
        ("@", 1, Wanted("file", "", 0)),
        ("fix @src/pa", 11, Wanted("file", "src/pa", 4)),
        ("fix (@pa", 8, Wanted("file", "pa", 5)),
        ("me@example.org", 14, None),
        ("fix @a and", 10, None),
        ("", 0, None),
    ],
)
def test_a_command_is_completed_at_the_beginning_and_a_file_after_an_at(
    line: str, column: int, expected: Wanted | None
) -> None:
    assert wanted(line, column, alone=True) == expected


def test_a_slash_in_a_prompt_of_several_lines_is_no_command() -> None:
    assert wanted("/pr", 3, alone=False) is None


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("/prune", True),
        ("/prune-config x 1", True),
        ("/etc/hosts is wrong", False),
        ("//", False),
        ("/", False),
    ],
)
def test_a_path_is_no_command(text: str, yes: bool) -> None:
    assert is_command(text) is yes


def test_all_commands_are_offered_at_first_and_an_alias_leads_to_its_command() -> None:
    assert [offer.label for offer in command_offers("", COMMANDS)] == ["/prune", "/new", "/quit"]
    (offer,) = command_offers("clear", COMMANDS)
    assert (offer.value, offer.label, offer.detail) == ("/new ", "/new (clear)", "Another session")


def test_a_command_whose_name_and_alias_both_match_is_offered_once() -> None:
    assert [offer.value for offer in command_offers("e", COMMANDS)] == ["/quit ", "/new ", "/prune "]


def test_a_file_is_mentioned_and_a_folder_stays_open() -> None:
    offers = file_offers("a", ["src/", "a.py", "b.txt", "data/"])
    assert [offer.value for offer in offers] == ["@a.py ", "@data/"], "what is in it is offered next"


def test_before_anything_is_typed_the_top_level_is_offered_however_much_its_folders_hold() -> None:
    paths = ["a/", *(f"a/{number}" for number in range(100)), "b/", "b/x", "c.py"]
    assert [offer.label for offer in file_offers("", paths)] == ["a/", "b/", "c.py"]


def test_what_is_typed_in_full_is_not_offered_again() -> None:
    paths = ["src/", "src/app.py", "src.txt"]
    assert [offer.label for offer in file_offers("src/", paths)] == ["src/app.py"]
    assert file_offers("src/app.py", paths) == []


def test_a_path_with_a_space_goes_into_the_prompt_in_quotes() -> None:
    offers = file_offers("two", ["two words/", "two words/a.py"])
    assert [(offer.label, offer.value) for offer in offers] == [
        ("two words/", '@"two words/'),
        ("two words/a.py", '@"two words/a.py" '),
    ]


def test_the_history_is_searched_from_its_end_and_whole_words_come_first() -> None:
    entries = ["fix the parser", "f i x", "add a fixture\nfor tests", "other"]
    offers = history_offers("fix", entries)
    assert [offer.value for offer in offers] == ["add a fixture\nfor tests", "fix the parser", "f i x"]
    assert offers[0].label == "add a fixture for tests"


def test_an_agent_after_resume_is_not_a_file_such_as_its_folder() -> None:
    assert wanted("/resume @claude", 15, alone=True) == ("argument", "resume @claude", 8)
    assert last_mention("/resume @claude") is None
    assert last_mention("resume @claude") is not None


def test_an_argument_of_a_command_is_completed_at_its_last_word() -> None:
    assert wanted("/prune-config try ad", 20, alone=True) == ("argument", "prune-config try ad", 18)
    assert wanted("/prune-config ", 14, alone=True) == ("argument", "prune-config ", 14)
    assert wanted("/prune-config try @a", 20, alone=True) == ("file", "a", 18)
    assert wanted("/prune-config try ad", 20, alone=False) is None
    assert wanted("/usr/bin x", 10, alone=True) is None


def test_the_words_of_a_command_are_offered_in_its_order_or_by_what_was_typed() -> None:
    words = [("pi", "current"), ("adaptive", "")]
    assert [offer.value for offer in argument_offers("prune-config try ", words)] == ["pi", "adaptive"]
    (offer,) = argument_offers("prune-config try ad", words)
    assert (offer.value, offer.label, offer.marks) == ("adaptive", "adaptive", (0, 1))
    assert argument_offers("prune-config try xyz", words) == []


@pytest.mark.parametrize("line", ["exit", " quit ", ":q"])
def test_a_line_that_leaves_a_shell_leaves_the_program(line: str) -> None:
    assert as_command(line) == "/quit"
    assert as_command(f"{line} the loop") == ""
