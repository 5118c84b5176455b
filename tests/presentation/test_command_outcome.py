"""What came of a shell command, in a few words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.front.presentation.command_outcome import outcome

PYTEST = "..F\n=== FAILURES ===\nE assert 1\nFAILED t.py::a\n=== 1 failed, 41 passed in 2.1s ==="
CARGO = "test result: ok. 12 passed; 0 failed; \n\nDoc-tests x\n\ntest result: ok. 0 passed; 0 failed;"
GO = "ok  \texample.com/a\t0.1s\nFAIL\texample.com/b\t0.2s\nok  \texample.com/c\t(cached)\nFAIL"
JEST = "PASS a.test.js\n\nTests:       2 failed, 5 passed, 7 total\nSnapshots:   0 total\nTime:        1.2 s"
UNITTEST = "F.\n----\nRan 2 tests in 0.001s\n\nFAILED (failures=1)"


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        ("pytest -q", PYTEST, "1 failed, 41 passed"),
        ("pytest -q; echo done", f"{PYTEST}\ndone", "1 failed, 41 passed"),
        ('pytest; echo "exit $?"', "43 passed in 1s\nexit 0", "43 passed"),
        ("cargo test", CARGO, "12 passed"),
        ("go test ./...", GO, "1 package failed, 2 packages ok"),
        ("npm test", JEST, "2 failed, 5 passed, 7 total"),
        ("npx mocha", "  5 passing (10ms)\n  1 failing\n\n  1) x\n     Error: no", "5 passing, 1 failing"),
        ("python -m unittest", UNITTEST, "2 tests FAILED (failures=1)"),
        (
            "ruff check",
            "a.py:1:1: F401\nFound 3 errors.\n[*] 2 fixable with the `--fix` option.",
            "Found 3 errors.",
        ),
        (
            "git commit -m x",
            "[main 1a2b] x\n 2 files changed, 3 insertions(+)",
            "2 files changed, 3 insertions(+)",
        ),
        ("ls src && cat a.py", "a.py\nx = 1\ny = 2", "3 lines"),
        ("ls a; echo ---; ls b", "1\n2\n---\n3", "3"),
        ("git status; echo '---'; git log --oneline", "M a\n---\n1a x\n2b y", "2 lines"),
        ("git status", "On branch x\n\nnothing to commit", "3 lines"),
        ("cd x && wc -l a.py", "42 a.py", "42 a.py"),
        ("make", "gcc -c a.c\nbuilt a.out", "built a.out"),
        ("echo hello", "hello", "hello"),
        ("true && echo one && echo two", "one\ntwo", "two"),
        ("ls", "", ""),
        ("", "a\nb", "b"),
    ],
)
def test_the_outcome_is_the_summary_else_what_the_last_meaningful_part_printed(
    command: str, text: str, said: str
) -> None:
    assert outcome(command, text) == said


def test_a_failed_command_shows_its_error() -> None:
    trace = "Traceback (most recent call last):\n  File\nValueError: no such unit\nsee the log at /tmp/log"
    assert outcome("python a.py", trace, is_failed=True) == "ValueError: no such unit"
    assert (
        outcome("ls nowhere x", "x\nls: cannot access 'nowhere'", is_failed=True)
        == "ls: cannot access 'nowhere'"
    )


@given(st.text(), st.text())
def test_any_command_and_output_have_an_outcome_of_one_line(command: str, text: str) -> None:
    assert "\n" not in outcome(command, text)
