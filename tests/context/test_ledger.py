"""The ledger: what was scanned, withheld and spared, each token once."""

from typing import Any

from prunecli.context.ledger import ledger, prun_applied
from prunecli.context.strategy import Chosen
from tests.context.talk import PICTURE, Talk, strategy, talk_of, tokens


def one(name: str, **options: Any) -> Chosen:
    module = strategy(name)
    return Chosen(name, module, module.Options(**options))


def said(talk: Talk) -> int:
    """The tokens of the shown answers, with the inputs of their calls."""
    context = talk.context
    return sum(context.counts.tokens(item) for item in context.items if item.kind == "assistant")


def test_what_only_the_minimum_holds_back_is_not_protected() -> None:
    talk, (_, second) = talk_of(60, 60)
    told = ledger(talk.view(), [one("pi", prune_protect=60, protected_turns=0)])
    assert (told.scanned_tokens - said(talk), told.pruned_tokens) == (120, 0)
    assert (told.protected_results, told.protected_tokens) == (1, 60)
    assert dict(told.spared) == {second: "within prune_protect (60 tokens)"}


def test_pruned_is_net_of_placeholders_and_scanned_counts_originals() -> None:
    talk, (first, _) = talk_of(60, 60)
    talk.apply(talk.ask("pi", prune_minimum=0, prune_protect=60, protected_turns=0), "pi")
    told = ledger(talk.view(), [one("pi")])
    edit = talk.context.text_edit(first)
    assert edit is not None
    placeholder = len(edit.text or "")
    assert (told.scanned_tokens - said(talk), told.pruned_tokens) == (120, 60 - -(-placeholder // 4))
    assert (told.protected_results, told.protected_tokens) == (1, 60)


def test_results_in_an_exchange_that_would_be_dropped_are_not_protected() -> None:
    talk, (_, second) = talk_of(60, 60)
    told = ledger(talk.view(), [one("keep_last_n_steps", n=2)])
    assert dict(told.spared) == {second: "in the last 2 exchanges"}
    assert (told.protected_results, told.protected_tokens) == (1, 60)


def test_of_a_list_what_any_of_them_would_touch_is_not_protected_and_the_last_ones_reason_is_told() -> None:
    talk, (first, second, third) = talk_of(60, 60, 60)
    chosen = [
        one("prune_old_observations", keep_last_n=3),
        one("pi", prune_protect=60, protected_turns=0),
    ]
    told = ledger(talk.view(), chosen)
    assert dict(told.spared) == {third: "within prune_protect (60 tokens)"}
    assert (first in told.spared, second in told.spared, third in told.spared) == (False, False, True)


def test_what_locks_a_result_is_its_first_reason() -> None:
    talk, (first, _) = talk_of(60, 60)
    talk.pin(first)
    told = ledger(talk.view(), [one("pi", prune_protect=60, protected_turns=0)])
    assert told.spared[first] == "pinned"


def test_without_a_strategy_every_live_result_is_protected() -> None:
    talk, found = talk_of(60, 60)
    told = ledger(talk.view(), [])
    assert (told.protected_results, told.protected_tokens) == (2, 120)
    assert dict(told.spared) == dict.fromkeys(found, "")


def test_what_a_summary_kept_is_scanned_but_not_protected() -> None:
    talk, found = talk_of(60, 60)
    talk.compact(0, found[1] - 1)
    talk.step("read", tokens(30), path="c")
    told = ledger(talk.view(), [])
    assert (told.protected_results, told.protected_tokens) == (1, 30)
    assert told.scanned_tokens - said(talk) == 90
    assert told.protected_words == "~30 tokens in 1 result, besides ~60 tokens in 1 result kept by a summary"


def test_the_figures_go_out_under_their_names() -> None:
    talk, _ = talk_of(60)
    assert ledger(talk.view(500), []).to_json() == {
        "scanned_tokens": 60 + said(talk),
        "pruned_tokens": 0,
        "cleared_tokens": 0,
        "cleared_tool_uses": 0,
        "held_tokens": 0,
        "held_results": 0,
        "protected_results": 1,
        "protected_tokens": 60,
        "context_tokens": talk.context.counts.context_tokens,
        "window": 500,
    }


def test_an_image_counts_in_scanned_and_is_withheld_with_its_result() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "x", PICTURE, path="a")
    talk.seen()
    talk.apply(talk.ask("aggressive", keep_last_assistants=1), "aggressive")
    assert talk.context.counts.pruned.raw == 0  # a result with an image is no candidate of aggressive's
    talk.apply(talk.ask("pi", prune_minimum=0, prune_protect=0, protected_turns=0), "pi")
    told = ledger(talk.view(), [])
    assert told.scanned_tokens - said(talk) == 1_601
    assert told.pruned_tokens == 1_601 - 12  # the placeholder's tokens


def test_a_prune_names_every_message_it_hides_or_replaces_and_its_net_tokens() -> None:
    talk, (first, second) = talk_of(60, 60)
    dropped = talk.ask("keep_last_n_steps", n=2)
    event = prun_applied(talk.view(), "strategy", dropped.edits, strategy="keep_last_n_steps")
    assert event.messages_removed == 2
    assert event.pruned_timestamps == tuple(talk.entry(seq).timestamp for seq in (first - 1, first))
    assert event.tokens_removed == talk.view().shown_tokens(talk.exchange(first))
    cleared = talk.ask("pi", prune_minimum=0, prune_protect=60, protected_turns=0)
    event = prun_applied(talk.view(), "strategy", cleared.edits)
    assert (event.messages_removed, event.pruned_timestamps) == (1, (talk.entry(first).timestamp,))
    assert second
