"""Rules that the user keeps for a directory: where they hold, where they don't, and how they are explained."""

import json
import os
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.safety.permissions.rules import covers, in_words
from prunecli.safety.permissions.verdict import Rules
from prunecli.safety.project_rules import ProjectRules
from prunecli.util.errors import ConfigError

RULE = "bash(make test)"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def rules(tmp_path: Path) -> ProjectRules:
    return ProjectRules(tmp_path / "data" / "rules.json")


def test_a_rule_is_kept_for_one_directory_by_its_real_path(
    tmp_path: Path, work: Path, rules: ProjectRules
) -> None:
    rules.keep(work, RULE)
    (tmp_path / "link").symlink_to(work)
    (work / "sub").mkdir()
    assert rules.of(work) == rules.of(tmp_path / "link") == (RULE,)
    assert rules.of(work / "sub") == rules.of(tmp_path) == ()
    assert os.stat(tmp_path / "data" / "rules.json").st_mode & 0o777 == 0o600


def test_it_can_be_removed(work: Path, rules: ProjectRules) -> None:
    rules.keep(work, RULE)
    rules.keep(work, "edit(src/**)")
    assert not rules.remove(work, "bash(make)")
    assert rules.remove(work, RULE)
    assert rules.of(work) == ("edit(src/**)",)


def test_what_is_no_rule_is_neither_kept_nor_obeyed(tmp_path: Path, work: Path, rules: ProjectRules) -> None:
    with pytest.raises(ConfigError):
        rules.keep(work, "bash((")
    rules.keep(work, RULE)
    store = tmp_path / "data" / "rules.json"
    known = json.loads(store.read_text())
    known["rules"][f"{work.resolve()}\nbash(("] = "allow"
    store.write_text(json.dumps(known))
    assert rules.of(work) == (RULE,)


@pytest.mark.parametrize(
    "spoil", [lambda p: p.chmod(0o622), lambda p: p.write_text("[]"), lambda p: p.write_bytes(b"\xff")]
)
def test_a_file_that_others_can_write_or_that_is_damaged_keeps_nothing(
    tmp_path: Path, work: Path, rules: ProjectRules, spoil
) -> None:
    rules.keep(work, RULE)
    spoil(tmp_path / "data" / "rules.json")
    assert rules.of(work) == ()
    assert "rules.json" in rules.problem


def test_a_file_in_the_directory_itself_keeps_nothing_for_it(work: Path) -> None:
    inside = ProjectRules(work / ".data" / "rules.json")
    with pytest.raises(ConfigError, match="is inside this directory"):
        inside.keep(work, RULE)
    (work / ".data").mkdir()
    (work / ".data" / "rules.json").write_text(
        json.dumps({"version": 1, "rules": {f"{work.resolve()}\n{RULE}": "allow"}})
    )
    assert inside.of(work) == ()


def keeper(
    work: Path, rules: ProjectRules, answer: str, *, trusted: bool = True, **given
) -> SessionGatekeeper:
    async def asker(_: Asked) -> Answer:
        return Answer(answer)  # type: ignore[arg-type]

    kept, keep = lambda: rules.of(work), lambda rule: rules.keep(work, rule)
    return SessionGatekeeper(Rules(**given), "ask", trusted, work, asker=asker, kept=kept, keep=keep)


def verdict(keeper: SessionGatekeeper) -> str:
    return keeper.judge("bash", Touches(runs=("make test",))).kind


@pytest.mark.parametrize(("answer", "later"), [("project", "allow"), ("always", "ask"), ("once", "ask")])
async def test_the_answer_for_the_project_holds_in_the_next_session(
    work: Path, rules: ProjectRules, answer: str, later: str
) -> None:
    first = keeper(work, rules, answer)
    call = ToolUse("t", "bash", {"command": "make test"})
    await first.ask(Asked(call, Touches(runs=("make test",)), "", (RULE,)))
    assert verdict(first) == ("ask" if answer == "once" else "allow")
    assert verdict(keeper(work, rules, "deny")) == later


def test_kept_rules_need_trust_and_give_way_to_deny_rules(work: Path, rules: ProjectRules) -> None:
    rules.keep(work, RULE)
    assert verdict(keeper(work, rules, "deny")) == "allow"
    assert verdict(keeper(work, rules, "deny", trusted=False)) == "deny"
    assert verdict(keeper(work, rules, "deny", deny=("bash(make *)",))) == "deny"
    assert verdict(keeper(work, rules, "deny", ask=("bash(make *)",))) == "ask"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("bash(make test)", ""),
        ("bash(python3 tests/*)", "any such file; not options that run or write other things"),
        (
            "bash(python3 tests/* *)",
            "any such file, any arguments; not options that run or write other things",
        ),
        ("bash(npm run *)", "any arguments; not options that run or write other things"),
        ("edit(src/**)", "every file below src, except secrets and protected files"),
        ("edit(./*)", "every file at the top of this folder, except secrets"),
        ("read(/etc/hosts)", "this file only"),
        ("unheard_of", "every call to unheard_of"),
    ],
)
def test_what_a_rule_covers_is_said_in_one_line(rule: str, said: str) -> None:
    assert covers((rule,)).startswith(said)
    assert "\n" not in covers((rule,))


def test_several_rules_are_read_as_one_line() -> None:
    rules = ("bash(git add *)", "bash(git commit *)", "edit(src/**)")
    assert in_words(rules) == "git add *, git commit *, edit(src/**)"
    assert covers(rules[:2]) == "any arguments; not options that run or write other things"
