"""Sessions of the current versions of other agents, run here for three turns and handed off."""

from pathlib import Path

import pytest

from prunecli.session.importers.source import read_source
from tests.endpoint import Endpoint
from tests.peers.handing import handed_over, imported_part
from tests.peers.programs import PEERS, Peer
from tests.peers.scene import check_equal


@pytest.mark.long
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.program)
async def test_three_turns_of_a_current_program_are_handed_off_whole(tmp_path: Path, peer: Peer) -> None:
    if peer.binary() is None:
        pytest.skip(f"{peer.program} is not installed below $PRUNECLI_PEERS")
    home, cwd = tmp_path / "home", tmp_path / "demo"
    peer.run(home, cwd)
    async with Endpoint() as endpoint:
        runtime, source = await handed_over(endpoint, f"{peer.agent}:last", home, cwd)
    assert endpoint.rejected == []
    check_equal(read_source(source).records, str(cwd))
    check_equal(imported_part(runtime.session.records), str(cwd))
