"""What /prune-config try says that the configured strategy costs is what /cost says."""

from pathlib import Path

import pytest

from prunecli.commands.command import run_line
from prunecli.features.replay.replay import Setting
from prunecli.features.replay.trying import trial_of
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.runtime import Runtime
from prunecli.session.importers.source import read_source
from tests.replay.playable import playable
from tests.replay.through import lived, sets_of
from tests.sessions import SESSIONS

AUTO = Setting("auto", "cache_aware", spill=True)
NAMES = ("ce2a993dea", "1df4a590bc", "10bdf1bbf8", "43966bcfab")


async def billed(name: str, folder: Path, setting: Setting = AUTO) -> Runtime:
    """The program after a recorded session, at an endpoint that counts a third more than the estimator."""
    records = playable(read_source(next(path for path in SESSIONS if name in path.name)).records)
    assert records
    _, runtime = await lived(records, folder, sets_of(setting), chars_per_token=3)
    return runtime


def tried(runtime: Runtime, *wanted: str) -> dict[str, float]:
    """USD by strategy, and as billed."""
    trial = trial_of(runtime, *wanted)
    costs = {row.strategy: row.cost for row in trial.rows()}
    assert trial.bill.cost is not None
    assert trial.bill.cost == pytest.approx(runtime.bill.cost)
    return {**costs, "billed": trial.bill.cost}


@pytest.mark.parametrize("name", NAMES)
async def test_the_configured_strategy_costs_what_was_billed(name: str, tmp_path: Path) -> None:
    costs = tried(await billed(name, tmp_path), "pi")
    assert costs["auto"] == pytest.approx(costs["billed"], rel=0.03)


async def test_the_strategy_of_the_configuration_is_tried_even_while_pruning_is_off(tmp_path: Path) -> None:
    runtime = await billed(NAMES[0], tmp_path, Setting("aggressive", "always", spill=True))
    run_line(runtime, "/prune-toggle")
    assert not runtime.choices.pruning
    costs = tried(runtime, "pi")
    assert costs["aggressive"] == pytest.approx(costs["billed"], rel=0.03)


async def test_a_prune_by_hand_is_in_the_bill_but_in_no_strategy(tmp_path: Path) -> None:
    runtime = await billed(NAMES[1], tmp_path, Setting("no_pruning", "always", spill=False))
    before = tried(runtime)
    seq = runtime.session.context.live_results[0].seq
    runtime.emit(PrunApplied("user", (Edit("clear", seq, None, "x", 10, 0),), tokens_removed=10))
    assert tried(runtime) == before, "no request lacked it yet"
