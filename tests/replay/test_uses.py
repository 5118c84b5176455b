"""What answers use of earlier texts, and whether each stands in the context, or a handle to it."""

from dataclasses import replace

import pytest

from prunecli.agent.policy import Policy
from prunecli.context.cuts import call_shown, cut
from prunecli.context.inputs import long_texts
from prunecli.context.strategies import keep_last_n_steps
from prunecli.context.strategy import Chosen, Proposal
from prunecli.context.view import View
from prunecli.features.replay.rows import KINDS
from prunecli.features.replay.uses import find_uses
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from tests.replay.test_play import LINE, NONE, Session, part, played

RESULT = (
    f"src/app/model.py:7: def read_settings_file(): {LINE}\nFAILED tests/app/test_model.py::test_it_reads\n"
)
ANSWER = f"In src/app/model.py, read_settings_file says {LINE}. tests/app/test_model.py::test_it_reads fails"
PATHS = "src/app/model.py, tests/app/test_model.py"
SHORT = "[gone]", "[gone | recall {seq}]", "[gone | recall 1{seq}]", f"{PATHS} [gone | recall {{seq}}]"


def says(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


def used(*events: Event) -> list[tuple[str, str]]:
    return sorted((use.kind, use.text) for use in find_uses(enumerate(events)).get(len(events) - 1, ()))


def test_an_answer_uses_the_names_that_stand_in_an_earlier_message() -> None:
    result = ToolResult("a", "bash", (Text(RESULT),))
    named = [("failed tests", "test_it_reads"), ("paths", "src/app/model.py")]
    named += [("paths", "tests/app/test_model.py"), ("symbols", "read_settings_file")]
    assert used(result, says(ANSWER)) == named
    call = AssistantMessage((ToolUse("b", "read", {"path": "src/app/model.py"}),))
    assert used(result, call) == [("paths", "src/app/model.py")]
    assert used(says("nothing of it"), says(ANSWER)) == []
    assert used(result, CompactionApplied("see src/app/model.py", 0, 1), says(ANSWER)) == [
        ("paths", "src/app/model.py")
    ]


def test_each_answer_that_ends_a_turn_has_to_obey_what_the_user_demanded() -> None:
    user = UserMessage((Text("Add a flag. Never touch the tests!\nIt is red."),), "prompt")
    assert used(user, says("done")) == [("constraints", "Never touch the tests!")]
    assert used(user, AssistantMessage((ToolUse("b", "bash", {"command": "ls"}),))) == []
    assert used(replace(user, origin="command"), says("done")) == []


class Shortens:
    """A strategy that replaces each result by a text."""

    Options = str

    @staticmethod
    def propose(view: View, text: str) -> Proposal:
        entries = [entry for entry in view.results if not view.locked(entry)]
        edits = [view.replaced("clear", entry, text.format(seq=entry.seq)) for entry in entries]
        return Proposal(tuple(edit for edit in edits if edit))


def reading() -> Session:
    session = Session()
    session.user("Read it. Never touch the tests!")
    session.calls_(RESULT + "filler " * 500)
    for text in ("done", ANSWER):
        session.says(text)
        session.user("again?")
    return session


@pytest.mark.parametrize(
    ("chosen", "visible", "kept"),
    [
        (None, {*KINDS}, {*KINDS}),
        (Chosen("shortens", Shortens, SHORT[0]), {"constraints"}, {"constraints"}),
        (Chosen("shortens", Shortens, SHORT[1]), {"constraints"}, {*KINDS}),
        (Chosen("shortens", Shortens, SHORT[2]), {"constraints"}, {"constraints"}),
        (Chosen("shortens", Shortens, SHORT[3]), {"constraints", "paths"}, {*KINDS}),
        (Chosen("last", keep_last_n_steps, keep_last_n_steps.Options(n=0)), {"constraints"}, {"constraints"}),
    ],
    ids=["whole", "cleared", "with a handle", "with another's handle", "with its paths", "dropped"],
)
def test_what_stands_in_the_context_is_visible_and_what_its_own_handle_brings_back_is_kept(
    chosen: Chosen | None, visible: set[str], kept: set[str]
) -> None:
    row = played(reading(), replace(part(Policy((chosen,))) if chosen else NONE, judges=True))
    assert {kind for kind in KINDS if row.uses[kind, "all"]} == {*KINDS}
    assert {kind for kind in KINDS if row.used("visible", [kind]) == 1} == visible
    assert {kind for kind in KINDS if row.used("kept", [kind]) == 1} == kept
    found = row.to_json()
    assert found["kept_visible"] == row.used("visible") <= found["kept"] == row.used("kept") <= 1


class Cuts:
    """A strategy that cuts the input of each call."""

    Options = object

    @staticmethod
    def propose(view: View, options: object) -> Proposal:
        heads = [one.head for one in view.exchanges if one.calls and not view.locked(one.head)]
        calls = [(head, call_shown(view, head, call)) for head in heads for call in head.exchange.calls]
        edits = [cut(view, head, call, texts) for head, call in calls if (texts := long_texts(call))]
        return Proposal(tuple(edit for edit in edits if edit))


@pytest.mark.parametrize(("recall", "kept"), [(True, True), (False, False)])
def test_an_input_that_was_cut_is_not_visible_but_its_handle_keeps_it(recall: bool, kept: bool) -> None:
    session = Session()
    session.user()
    session.calls_("written", "write", path="a", content=RESULT * 5)
    for text in ("done", ANSWER):
        session.says(text)
        session.user("again?")
    row = played(session, replace(part(Policy((Chosen("cuts", Cuts, None),), recall=recall)), judges=True))
    assert row.used("visible", ["quotes", "paths", "symbols"]) == 0
    assert (row.used("kept") == 1) == kept


def test_only_a_judged_play_has_shares() -> None:
    assert "kept" not in played(reading(), NONE).to_json()
