"""On a model with bound thinking no strategy edits inside an open tool round, unless the window forces it."""

from prunecli.agent.policy import Policy, Waiting
from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.model.events import AssistantMessage, UserMessage
from prunecli.model.messages import Text
from tests.context.thinking import OPUS, Talk

PI = Config().with_value("pi.prune_minimum", "0").with_value("pi.prune_protect", "0")
ALL = chosen(PI.with_value("pi.protected_turns", "0"), "pi")
BOUND = Policy((ALL,), window=1_000_000, max_tokens=1_000, binds=True)


def test_what_is_due_waits_for_the_next_prompt_and_comes_in_one_batch() -> None:
    talk = Talk(4)
    assert BOUND.prunes(talk.context) == []
    assert BOUND.decided(talk.context)[1] == Waiting(
        "prunes wait until your next prompt", "an edit now would drop thinking"
    )
    talk.emit(UserMessage((Text("hurry"),), "steering"))
    assert BOUND.prunes(talk.context) == []
    talk.emit(AssistantMessage((Text("Done."),), OPUS))
    talk.emit(UserMessage((Text("and now"),)))
    (prune,) = BOUND.prunes(talk.context)
    assert len(prune.edits) == 4
    assert prune.reason.endswith("drops 3 thinking blocks (~90 tokens)")


def test_a_window_that_is_nearly_full_forces_it_and_its_price_is_said() -> None:
    talk = Talk(4)
    tight = BOUND._replace(window=600)
    (prune,) = tight.prunes(talk.context)
    assert "drops 3 thinking blocks (~90 tokens)" in prune.reason
    (relief,) = tight._replace(chosen=()).relief(talk.context)
    assert relief.strategy == "pressure"
    assert "drops 3 thinking blocks (~90 tokens)" in relief.reason


def test_a_model_that_does_not_bind_its_thinking_is_pruned_inside_a_round_as_ever() -> None:
    talk = Talk(4)
    (prune,) = BOUND._replace(binds=False).prunes(talk.context)
    assert prune.edits
    assert "thinking" not in prune.reason
