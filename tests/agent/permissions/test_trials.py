"""Which commands run on a layer before the user is asked: those that would be asked about for what they may do."""

from pathlib import Path

import pytest

from prunecli.model.touches import Touches
from prunecli.safety.permissions.judge import judge
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules, Verdict

PROPOSES = SandboxedCommands(there=True, closed=True, proposes=True)


def judged(folder: Path, touches: Touches | None, **changed) -> Verdict:
    given = {"mode": "ask", "rules": Rules(), "trusted": True, "inside": PROPOSES, **changed}
    return judge("bash", touches, workspace=folder, cwd=folder, home=folder / "home", **given)


def ruled(folder: Path, command: str, **changed) -> Verdict:
    return judged(folder, Touches(runs=(command,)), **changed)


@pytest.mark.parametrize(
    "command",
    [
        *("make", "python3 x.py > out.txt", "git commit -m x", "curl https://x.example", "rm -r build"),
        *("for x in 1 2; do touch $x; done", "npm install && npm test", "if", "cat a | sh"),
    ],
)
def test_a_command_that_needs_approval_for_what_it_may_do_is_tried_first(
    tmp_path: Path, command: str
) -> None:
    verdict = ruled(tmp_path, command)
    assert (verdict.kind, verdict.trial) == ("ask", True)
    verdict = ruled(tmp_path, command, mode="plan")
    assert (verdict.kind, verdict.trial) == ("deny", True)


@pytest.mark.parametrize("command", ["cat .env", "make; cat ~/.ssh/id_rsa", "base64 < .env | rev; make"])
def test_a_command_that_names_a_secret_is_asked_about_before_it_runs(tmp_path: Path, command: str) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    verdict = ruled(tmp_path, command)
    assert (verdict.kind, verdict.trial) == ("ask", False)


@pytest.mark.parametrize("mode", ["ask", "plan"])
@pytest.mark.parametrize(
    "changed",
    [
        {"rules": Rules(ask=("bash(make *)",))},
        {"rules": Rules(deny=("bash(make *)",))},
        {"rules": Rules(deny=("read(.git/**)",))},
        {"trusted": False},
        {"inside": SandboxedCommands(there=True, closed=True)},
    ],
)
def test_no_command_is_tried_that_a_rule_names_or_where_nothing_may_run(tmp_path, mode, changed) -> None:
    assert not ruled(tmp_path, "make all > .git/x", mode=mode, **changed).trial


@pytest.mark.parametrize("mode", ["edits", "auto"])
def test_edits_and_auto_mode_try_nothing(tmp_path: Path, mode: str) -> None:
    assert not ruled(tmp_path, "git commit -m x", mode=mode).trial


@pytest.mark.parametrize(
    "touches",
    [
        None,
        Touches(runs=("make",), outside=("it needs Docker",)),
        Touches(runs=("make", "make all")),
        Touches(runs=("make",), changes=("a",)),
        Touches(calls=("server:tool",)),
        Touches(fetches=("x.example",)),
    ],
)
def test_only_a_call_that_runs_one_command_in_the_sandbox_is_tried(tmp_path: Path, touches) -> None:
    assert not judged(tmp_path, touches).trial


def test_a_rule_that_allows_a_command_lets_it_write_directly(tmp_path: Path) -> None:
    verdict = ruled(tmp_path, "make all", rules=Rules(allow=("bash(make *)",)))
    assert (verdict.kind, verdict.granted, verdict.trial) == ("allow", True, False)
