"""What the demo model understands, and that it does not guess at the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.providers.demo_asked import MAX_CHARS, asked
from prunecli.providers.demo_phrases import EVERYTHING, MAX_BESIDE
from prunecli.tools.registry import load
from prunecli.tools.tool import parse

UNDERSTOOD: list[tuple[str, list[list[tuple[str, dict[str, Any]]]]]] = [
    ("read a.py", [[("read", {"path": "a.py"})]]),
    ("Please read the file src/a.py.", [[("read", {"path": "src/a.py"})]]),
    ("can you show me @a.py?", [[("read", {"path": "a.py"})]]),
    ("open ..", [[("read", {"path": ".."})]]),
    ('read "my notes.txt"', [[("read", {"path": "my notes.txt"})]]),
    ("read a.py lines 3-9", [[("read", {"path": "a.py", "offset": 3, "limit": 7})]]),
    ("read a, b and c", [[("read", {"path": "a"}), ("read", {"path": "b"}), ("read", {"path": "c"})]]),
    ("list", [[("ls", {"path": "."})]]),
    ("ls src", [[("ls", {"path": "src"})]]),
    ("list all the files in src", [[("ls", {"path": "src"})]]),
    ("search for foo bar in src", [[("grep", {"pattern": "foo bar", "path": "src"})]]),
    ("search src for TODO", [[("grep", {"pattern": "TODO", "path": "src"})]]),
    ("grep 'a b'", [[("grep", {"pattern": "a b"})]]),
    ("look for (", [[("grep", {"pattern": r"\("})]]),
    ("find files *.py", [[("find", {"pattern": "*.py"})]]),
    ("find parser in src", [[("find", {"pattern": "*parser*", "path": "src"})]]),
    ("run git status", [[("bash", {"command": "git status"})]]),
    ("run `cd x; ls -la`", [[("bash", {"command": "cd x; ls -la"})]]),
    ("!ls -la", [[("bash", {"command": "ls -la"})]]),
    ("! ls", [[("bash", {"command": "ls"})]]),
    (
        "edit a.py: x = 1 -> x = 2",
        [
            [("read", {"path": "a.py"})],
            [("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})],
        ],
    ),
    (
        'replace "a b" with c in f.py',
        [[("read", {"path": "f.py"})], [("edit", {"path": "f.py", "old_string": "a b", "new_string": "c"})]],
    ),
    (
        "edit a.py: gone ->",
        [[("read", {"path": "a.py"})], [("edit", {"path": "a.py", "old_string": "gone", "new_string": ""})]],
    ),
    ("write n.txt: one\ntwo", [[("write", {"path": "n.txt", "content": "one\ntwo\n"})]]),
    ("prune 2,000 tokens", [[("prun", {"tokens": 2000})]]),
    ("prun 1.5k", [[("prun", {"tokens": 1500})]]),
    ("prune", [[("prun", {"tokens": 1})]]),
    ("prune 0", [[("prun", {"tokens": 0})]]),
    ("prune 500 and remember that x is 1", [[("prun_with_memo", {"tokens": 500, "memo": "x is 1"})]]),
    ("forget that, but remember x", [[("prun_with_memo", {"tokens": 1, "memo": "x"})]]),
    ("forget everything", [[("prun_with_memo", {"tokens": EVERYTHING, "memo": ""})]]),
    ("recall 17", [[("recall", {"entry": 17})]]),
]


@pytest.mark.parametrize(("words", "moves"), UNDERSTOOD)
def test_a_phrase_becomes_calls(words: str, moves: list[list[tuple[str, dict[str, Any]]]]) -> None:
    found = asked(words)
    assert found.kind == "work"
    assert [[(call.name, dict(call.input)) for call in move] for move in found.moves] == moves


@pytest.mark.parametrize("words", [words for words, _ in UNDERSTOOD])
def test_every_call_has_the_input_that_its_tool_takes(words: str) -> None:
    for move in asked(words).moves:
        for call in move:
            taken = load(call.name).Input
            assert isinstance(parse(taken, call.input), taken)


@pytest.mark.parametrize(
    "words",
    [
        "fix the failing test",
        "read",
        "read a and explain it",
        "read the documentation of asyncio",
        "run the tests",
        "run",
        "ls -la",
        "edit a.py",
        "edit a.py: x",
        "write n.txt:",
        "grep -rn foo",
        "find every place where foo is used",
        "read a; dance",
        "prune the roses",
        "forget about lunch",
        "recall me",
        "x" * (MAX_CHARS + 1),
    ],
)
def test_what_is_not_wholly_a_phrase_is_not_guessed_at(words: str) -> None:
    assert asked(words).kind == "unknown"
    assert asked(words).moves == ()


@pytest.mark.parametrize(
    "words", ["tour", "Demo", "show me", "show me the tour!", "start the demo", " tour\n"]
)
def test_the_tour_is_asked_for(words: str) -> None:
    assert asked(words).kind == "tour"


@pytest.mark.parametrize("words", ["", "   ", "!", "help", "Hello!", "?", "what can you do?"])
def test_help_is_asked_for(words: str) -> None:
    assert asked(words).kind == "help"


def named(words: str) -> list[list[str]]:
    return [[call.name for call in move] for move in asked(words).moves]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("read a and then search for b; ls", [["read", "grep", "ls"]]),
        ("read a; run b; read c, then read d", [["read"], ["bash"], ["read", "read"]]),
        ("read a; prune 5; read b", [["read"], ["prun"], ["read"]]),
        ("read b; edit a: x -> y", [["read", "read"], ["edit"]]),
        ("read a" + " and then read a" * MAX_BESIDE, [["read"] * MAX_BESIDE, ["read"]]),
    ],
)
def test_phrases_are_joined_and_looks_go_in_one_message(words: str, names: list[list[str]]) -> None:
    assert named(words) == names


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("run a; b", "a; b"),
        ("run make and then celebrate", "make and then celebrate"),
        ('run echo "x; read y"', 'echo "x; read y"'),
    ],
)
def test_a_join_inside_of_a_command_belongs_to_it(words: str, command: str) -> None:
    assert [dict(call.input) for move in asked(words).moves for call in move] == [{"command": command}]


PIECES = [
    "read",
    "run",
    "edit",
    "a.py",
    ":",
    "->",
    ";",
    " and then ",
    "prune",
    "9" * 30,
    '"',
    "`",
    " ",
    "\n",
    "in",
    "é",
    "(",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join))
def test_nothing_that_is_typed_breaks_it_and_what_is_called_can_be_called(words: str) -> None:
    for move in asked(words).moves:
        assert 1 <= len(move) <= MAX_BESIDE
        for call in move:
            parse(load(call.name).Input, call.input)
