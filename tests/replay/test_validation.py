"""Predicted prompts and cache reads of prunecli's own sessions, held against an exact endpoint."""

import random
from collections.abc import Iterable, Sequence

import pytest

from prunecli.context.ledger import prun_applied
from prunecli.context.view import View
from prunecli.features.replay.prefix import together, validated
from prunecli.model.events import Record, RequestSent
from prunecli.providers.models import token_factor
from prunecli.providers.tokenizer import SHIPPED
from prunecli.session.importers.source import read_source
from tests.golden.requests import SESSIONS
from tests.laws.exact import Played, play
from tests.laws.test_prices import PI
from tests.sessions import COMPLETE

PATHS = [path for path in SESSIONS if path.stat().st_size < 60_000][::6]


def recorded(at: int) -> list[Record]:
    """Records a session with prunes and attempts without an answer."""
    chance = random.Random(at)

    def prune(played: Played) -> None:
        view = View(played.context, 200_000)
        if chance.random() < 0.3 and (edits := PI.propose(view).edits):
            played.add(prun_applied(view, "strategy", edits))

    def cut(played: Played) -> None:
        if chance.random() < 0.1:
            played.attempt("cut")

    records = read_source(PATHS[at]).records
    return play(records, "claude-opus-4-5", 1.4, token_factor, 300_000, prune, cut, SHIPPED).records


def are_predicted(sessions: Iterable[Sequence[Record]]) -> None:
    found = together(validated(records, SHIPPED) for records in sessions)
    assert len(found.errors) > 50
    assert (found.at(0.5) or 0) < 0.01
    assert (found.at(0.95) or 0) < 0.05
    assert abs(found.predicted / found.reported - 1) < 0.05
    known = (
        token_factor("claude-opus-4-5") / 1.4
    )  # a prompt is a fixed part that was reported, and what is counted
    assert all(known - 1 < drift < 0 for drift in found.drifts), "no later report corrects the sum"


@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
def test_prompts_and_cache_reads_of_pruned_sessions_are_predicted() -> None:
    are_predicted(recorded(at) for at in range(len(PATHS)))


@pytest.mark.skipif(not COMPLETE, reason="the large sessions are not in a source distribution")
def test_a_session_may_begin_with_requests_that_were_not_recorded() -> None:
    """Another agent made them before the session was imported and continued."""
    sessions = [recorded(at) for at in range(len(PATHS))]
    are_predicted(
        [one for one in records if not (isinstance(one.event, RequestSent) and one.seq < len(records) // 2)]
        for records in sessions
    )
