"""A session of 100,000 records in a real terminal: usable at once, read behind the prompt, one prompt said once."""

from pathlib import Path

import pytest

from prunecli.model.events import UserMessage
from prunecli.model.messages import plain_text
from prunecli.session.log import read_log
from tests.benchmarks.long_sessions import session_file
from tests.e2e.terminal import HAS_TMUX, ROOT, Terminal

pytestmark = [
    pytest.mark.long,
    pytest.mark.terminal,
    pytest.mark.skipif(not HAS_TMUX, reason="needs tmux"),
]


def at_the_top(terminal: Terminal, screen: str) -> bool:
    """Whether the very first prompt is in view; else goes up once more, for more may stand above by now."""
    if "Prompt 0: make rule 0" in screen:
        return True
    terminal.press("C-Home")
    return False


def test_a_hundred_thousand_records_are_usable_at_once(tmp_path: Path) -> None:
    work, data = tmp_path / "work", tmp_path / "data"
    work.mkdir()
    path = session_file(data, work, entries=48_900, result_bytes=3_200)
    environ = {
        "HOME": str(tmp_path),
        "PRUNECLI_HOME": str(data),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
    }
    with Terminal(["--trust", "--continue", "--model", "demo"], work, environ, 100, 30) as t:
        t.wait_for("That was the last one.")
        t.wait_for("Reading the session")
        t.say("what is this about?")
        t.wait_for("↳ what is this about?")
        t.press("PageUp")
        t.wait_until(lambda screen: "↳" not in screen, "the prompt to be heard", 120)
        t.wait_until(lambda screen: "Reading the session" not in screen, "the end of reading", 120)
        t.wait_until(lambda screen: at_the_top(t, screen), "the beginning, put above what is shown", 60)
        t.press("C-c")
        t.press("C-c")
        t.wait_until(lambda _: t.exit_code is not None, "the end", 60)
        assert t.exit_code == 0
    said = [record.event for record in read_log(path).records if isinstance(record.event, UserMessage)]
    assert [plain_text(event.content) for event in said].count("what is this about?") == 1
