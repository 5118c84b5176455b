"""The tests of bash once more, inside the sandbox: output, time limits, the end of every process."""

from pathlib import Path

import pytest

from tests.sandbox.confining import Box
from tests.tools import test_bash, test_bash_endings

OTHERWISE = {
    "test_the_environment_is_the_given_one_and_the_fixed_words": "caches are moved to the private /tmp",
    "test_a_command_that_ends_its_supervisor_is_ended_too": "the supervisor can't be reached from inside",
    "test_a_failure_is_an_error_result_that_ends_with_how": "a signal is told as exit code 128 + signal",
}
"""Tests that the sandbox changes, with the reason."""

for _module in (test_bash, test_bash_endings):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in OTHERWISE:
            globals()[f"{_name}_inside"] = _test


@pytest.fixture
def tools(box: Box) -> Box:
    """The tools of those tests."""
    return box


@pytest.fixture
def workspace(box: Box) -> Path:
    """Their workspace."""
    return box.context.workspace


mark = test_bash_endings.mark
