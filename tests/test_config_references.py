"""Functions that an option names: imported when they are called, and never able to kill a run."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prunecli.config.effective import Config
from prunecli.config.references import Reference, chosen
from prunecli.config.sources import load
from prunecli.context.strategy import FunctionFailed, Proposal
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.context.talk import Talk, seqs, tokens

CODE = """
def rank(view, exchange):
    return -exchange.seq

def broken(view, exchange):
    raise LookupError("no such thing")

class Own(Exception):
    pass

def own(view, exchange):
    raise Own("mine")

class Ranks:
    @staticmethod
    def newest(view, exchange):
        return exchange.seq

number = 3
"""


@pytest.fixture
def scores(tmp_path: Path) -> Iterator[str]:
    """An importable module; its name."""
    name = "scores_of_a_test"
    (tmp_path / f"{name}.py").write_text(CODE)
    sys.path.insert(0, str(tmp_path))
    yield name
    sys.path.remove(str(tmp_path))
    sys.modules.pop(name, None)


def test_a_named_function_scores(scores: str) -> None:
    config = Config().with_value("importance.function", f"{scores}:rank").with_value("importance.n", "1")
    talk = Talk()
    talk.user()
    heads = [talk.say(tokens(3)) for _ in range(3)]
    assert seqs(chosen(config, "importance").propose(talk.view())) == heads[1:]


def test_it_is_imported_when_it_is_called_and_not_before(scores: str) -> None:
    one = chosen(Config().with_value("importance.function", f"{scores}:Ranks.newest"), "importance")
    assert scores not in sys.modules
    talk = Talk()
    talk.user()
    heads = [talk.say() for _ in range(11)]
    assert seqs(one.propose(talk.view())) == heads[:1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}:broken", "LookupError: no such thing (scores_of_a_test.py, line 6)"),
        ("{}:own", "Own: mine"),
        ("{}:missing", "AttributeError: "),
        ("{}:number", "not a function"),
        ("no_such_module_at_all:rank", "ModuleNotFoundError: "),
    ],
)
def test_whatever_is_wrong_with_it_means_no_proposal_and_a_problem_that_names_the_key(
    scores: str, text: str, said: str
) -> None:
    one = chosen(Config().with_value("importance.function", text.format(scores)), "importance")
    talk = Talk()
    talk.user()
    for _ in range(11):
        talk.say()
    proposal = one.propose(talk.view())
    assert proposal.edits == ()
    assert proposal.problem.startswith(f"pruning.importance.function ({text.format(scores)}): {said}")


def test_an_empty_option_gives_no_function() -> None:
    assert dict(chosen(Config(), "importance").functions) == {}
    assert dict(chosen(Config(), "semantic").functions) == {}
    assert dict(chosen(Config(), "pi").functions) == {}
    named = chosen(Config().with_value("semantic.embedder", "a.b:c"), "semantic")
    assert list(named.functions) == ["embedder"]


def test_what_is_no_reference_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError) as failed:
        Config().with_value("importance.function", "scores.py")
    assert "pruning.importance.function" in failed.value.message
    assert 'expected "package.module:name"' in failed.value.message


def test_a_failure_says_the_way_out(scores: str) -> None:
    with pytest.raises(FunctionFailed) as failed:
        Reference(f"{scores}:broken", "pruning.importance.function")(None, None)
    assert failed.value.hint == "fix it, or clear pruning.importance.function"


# Strategies of the user's ----------------------------------------------------------------------------------------

STRATEGY = """
from dataclasses import dataclass
from prunecli.context.strategy import Proposal
from prunecli.model.edits import Edit

@dataclass(frozen=True, slots=True)
class Options:
    what: str = "clear"

def propose(view, options):
    first = next(iter(view.results), None)
    match options.what:
        case "raise":
            raise ZeroDivisionError("oh")
        case "nothing":
            return None
        case "absent":
            return Proposal((view.replaced("clear", first, "[gone]"), Edit("drop", 999)))
        case "user":
            return Proposal((Edit("clear", 0, None, "[gone]", 9, 1),))
        case "last":
            return Proposal((view.drop(view.exchanges[-1]),))
    return Proposal((view.replaced("clear", first, "[gone]"),))
"""


@pytest.fixture
def own(tmp_path: Path) -> Config:
    """A configuration with a strategy of the user's own, `mine`."""
    places = Places.of({"HOME": str(tmp_path)})
    places.user_strategies.mkdir(parents=True)
    (places.user_strategies / "mine.py").write_text(STRATEGY)
    (places.user_strategies / "bare.py").write_text("x = 1\n")
    (places.user_strategies / "fails.py").write_text("1 / 0\n")
    return load(places, tmp_path, {})


def asked(config: Config, what: str) -> Proposal:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(60), path="a")
    talk.say("and now")
    talk.step("read", tokens(60), path="b")
    return chosen(config.with_value("mine.what", what), "mine").propose(talk.view())


def test_a_strategy_of_the_users_proposes(own: Config) -> None:
    assert seqs(asked(own, "clear")) == [2]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("raise", "ZeroDivisionError: oh (mine.py, line 14)"),
        ("nothing", "returned NoneType, not Proposal"),
        ("absent", "cannot drop entry 999: a strategy cannot edit"),
        ("user", "cannot clear entry 0: a strategy cannot edit"),
        ("last", "cannot drop entry 4: in progress"),
    ],
)
def test_what_it_must_not_do_is_no_proposal_and_is_said(own: Config, what: str, said: str) -> None:
    proposal = asked(own, what)
    assert proposal.edits == ()
    assert proposal.problem.startswith("strategy mine: ")
    assert said in proposal.problem


@pytest.mark.parametrize(("name", "said"), [("bare", "no function propose"), ("fails", "division by zero")])
def test_a_file_that_is_no_strategy_is_an_error_that_names_it(own: Config, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        chosen(own, name)
    assert f"{name}.py" in caught.value.message


def test_what_was_wrong_before_code_of_theirs_ran_names_no_line() -> None:
    with pytest.raises(FunctionFailed) as failed:
        Reference("no_such_module_at_all:rank", "pruning.importance.function")(None, None)
    assert failed.value.message.endswith("No module named 'no_such_module_at_all'")
