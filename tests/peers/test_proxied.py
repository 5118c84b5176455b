"""Thirty turns of installed programs behind the proxy are those without it."""

from collections import Counter
from pathlib import Path

import pytest

from tests.peers.driven import BOUND, UNBOUND
from tests.peers.programs import PEERS, Peer
from tests.peers.proxied import DRIVEN, played


@pytest.mark.long
@pytest.mark.parametrize(("model", "mode"), [(UNBOUND, "proxied"), (BOUND, "proxied"), (BOUND, "bound")])
@pytest.mark.parametrize(
    "peer", [peer for peer in PEERS if peer.program in DRIVEN], ids=lambda one: one.program
)
def test_thirty_turns_behind_the_proxy_are_those_without_it(
    tmp_path: Path, peer: Peer, model: str, mode: str
) -> None:
    if peer.binary() is None:
        pytest.skip(f"{peer.program} is not installed below $PRUNECLI_PEERS")
    direct, found = (played(peer, model, how, tmp_path / how[:5]) for how in ("direct", mode))
    assert not Counter(found.rejected) - Counter(direct.rejected)
    assert Counter(said for said, _ in found.logged) == Counter(said for said, _ in direct.logged)
    assert (found.unreported, found.ours) == (0, 0)
    assert all(line.endswith("all good") for line in found.proved)
