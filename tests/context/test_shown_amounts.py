"""The amount of a prune for people: counted when it is made, and the same ever after."""

from dataclasses import replace

from prunecli.context.impact import with_forecast
from prunecli.context.labels import tokens_pruned_by
from prunecli.context.ledger import ledger, prun_applied
from prunecli.context.redo import undo
from prunecli.model.events import AssistantMessage, PrunApplied, RequestSent
from prunecli.model.messages import Text, Usage
from tests.context.talk import Talk, tokens


def pruned(talk: Talk, seq: int) -> int:
    """Clears a result as a session would record it; the seq of the record."""
    view = talk.view(100_000)
    entry = talk.context.entries[seq]
    edit = view.replaced("clear", entry, view.placeholder(entry, "gone"))
    assert edit is not None
    return talk.add(with_forecast(talk.context, prun_applied(view, "user", [edit])))


def reported(talk: Talk, prompt: int) -> None:
    """A request, and an answer with the endpoint's count of it."""
    talk.add(RequestSent("m", talk.context.counts.context_tokens, ""))
    talk.add(AssistantMessage((Text("seen"),), "m", "end_turn", Usage(prompt, 1)))


def shown(talk: Talk) -> int:
    return ledger(talk.view(100_000), []).pruned_tokens


def test_a_report_changes_no_amount_of_an_earlier_prune() -> None:
    talk = Talk()
    talk.user()
    seqs = [talk.step("read", tokens(4_000), path=name) for name in "ab"]
    reported(talk, 8_200)
    first = pruned(talk, seqs[0])
    said = tokens_pruned_by(talk.context, first)
    assert said
    assert said == shown(talk)
    talk.user()
    talk.step("read", tokens(8_000), path="c")
    reported(talk, 40_000)  # the endpoint counts far more than was estimated
    assert tokens_pruned_by(talk.context, first) == said == shown(talk)
    second = pruned(talk, seqs[1])
    later = tokens_pruned_by(talk.context, second)
    assert later
    assert later > said, "a prune of the same size at the new ratio"
    assert abs(shown(talk) - said - later) <= 1, "two roundings"


def test_an_undo_gives_back_what_the_prune_was_shown_as() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(4_000), path="a")
    talk.step("read", tokens(100), path="b")
    talk.seen()
    made = pruned(talk, seq)
    said = tokens_pruned_by(talk.context, made)
    reported(talk, 20_000)
    (event, *_) = undo(talk.context, [talk.records[made]])
    assert tokens_pruned_by(talk.context, talk.add(event)) == -(said or 0)
    assert shown(talk) == 0


def test_a_record_without_an_amount_is_counted_when_it_is_read() -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", tokens(4_000), path="a")
    talk.seen()
    view = talk.view(100_000)
    entry = talk.context.entries[seq]
    edit = view.replaced("clear", entry, view.placeholder(entry, "gone"))
    assert edit is not None
    event = with_forecast(talk.context, prun_applied(view, "user", [edit]))
    assert isinstance(event, PrunApplied)
    made = talk.add(replace(event, shown_tokens=None))
    assert tokens_pruned_by(talk.context, made) == event.shown_tokens
