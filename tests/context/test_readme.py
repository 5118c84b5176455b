"""The strategy that docs/strategies.md shows works as it says."""

from pathlib import Path
from typing import Any

from prunecli.plugins.foreign import import_file
from tests.context.talk import Talk, seqs, texts, tokens

PAGE = Path(__file__).parents[2] / "docs" / "strategies.md"


def example(folder: Path) -> Any:
    code = PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    path = folder / "old_results.py"
    path.write_text(code, "utf-8")
    return import_file(path)


def test_the_example_is_a_strategy_that_keeps_the_laws(tmp_path: Path) -> None:
    module = example(tmp_path)
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.step("read", tokens(60), path="b", error=True)
    talk.user()
    talk.step("read", tokens(60), path="c")
    talk.seen()
    proposal = module.propose(talk.view(), module.Options(keep_turns=1))
    assert seqs(proposal) == [old]
    assert texts(proposal) == ['[old | read path="a"]']
    assert module.propose(talk.view(), module.Options()).edits == ()
    talk.apply(proposal, "old_results")
    assert module.propose(talk.view(), module.Options(keep_turns=1)).edits == ()
