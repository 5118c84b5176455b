"""Sessions spread over a cluster: the same rows as in one process, and one line for what goes wrong."""

import json
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import distributed
import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.config.layer import Layer
from prunecli.features.replay.cluster import each_on_cluster, sent_layers, unusable
from prunecli.features.replay.replay import Stage
from prunecli.features.replay.subcommand import Asked, stage_of
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.launch_options import Launch
from tests.sessions import SESSIONS

SMALL = [path for path in SESSIONS if path.stat().st_size < 8_000]


def started(*, processes: bool) -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, dashboard_address="127.0.0.1:0"
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with started(processes=True) as found:
        yield found.scheduler_address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sessions of several agents, and files that are none."""
    for path in SMALL:
        shutil.copy(path, tmp_path)
    (tmp_path / "notes.json").write_text('{"title": "no session"}')
    (tmp_path / "damaged.jsonl.gz").write_bytes(b"no gzip file")
    return tmp_path


def replayed(folder: Path, *words: str) -> Any:
    home = folder.parent / "home"
    config = home / ".config" / "prunecli" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[pruning.pi]\nprune_minimum = 1\n")  # which the workers do not have
    runner = CliRunner(env={"HOME": str(home), "PRUNECLI_HOME": str(home / "data")})
    done = runner.invoke(app, ["replay", *words])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ("", ("--strategy", "auto,pi", "--json")),
        ("file://", ("--strategy", "pi", "-o", "pi.prune_protect=0", "--kept", "--gate", "always", "--json")),
        ("", ("--strategy", "auto", "--summaries", "4000", "--on-return", "auto", "--compactions", "--json")),
        ("file://", ("--fit",)),
    ],
    ids=["files", "urls", "summaries", "fit"],
)
def test_a_cluster_gives_the_rows_of_one_process(
    folder: Path, cluster: str, scheme: str, words: tuple[str, ...]
) -> None:
    here = replayed(folder, f"{scheme}{folder}", *words)
    there = replayed(folder, f"{scheme}{folder}", *words, "--cluster", cluster)
    assert there.stdout == here.stdout
    assert sorted(there.stderr.splitlines()) == sorted(here.stderr.splitlines())
    assert "damaged.jsonl.gz: not a gzip file" in there.stderr
    if "--json" in words:
        assert len({row["session"] for row in json.loads(there.stdout)["sessions"]}) == len(SMALL)


def test_workers_get_no_other_part_of_the_configuration() -> None:
    values = {("hooks", "token"): "secret", ("pruning", "pi", "prune_minimum"): 1}
    (sent,) = sent_layers((Layer("user", values, "config.toml", "~/config.toml", "token = 'secret'"),))
    assert (sent.values, sent.text) == ({("pruning", "pi", "prune_minimum"): 1}, "")


def test_a_defect_costs_only_its_session(cluster: str) -> None:
    stage = stage_of(Asked(Launch(), ("pi",)))
    found = list(each_on_cluster(cluster, SMALL[:2], stage, _defect))
    assert sorted(one.problem for one in found if one.problem) == [
        f"{SMALL[0]}: its worker failed: ValueError: a defect"
    ]
    assert [one.result for one in found if not one.problem] == [SMALL[1].name]


def _defect(stage: Stage, path: Path, read: object) -> str:
    if path == SMALL[0]:
        raise ValueError("a defect")
    return path.name


def test_a_lost_scheduler_is_one_error() -> None:
    with started(processes=False) as found:
        outcomes = each_on_cluster(
            found.scheduler_address, SMALL * 3, stage_of(Asked(Launch())), Stage.replay
        )
        assert next(outcomes).result is not None
    with pytest.raises(PrunecliError, match="lost the connection to the scheduler"):
        list(outcomes)


def test_an_address_without_a_scheduler_is_one_error() -> None:
    stage = stage_of(Asked(Launch(), ("pi",)))
    for address, why in (
        ("tcp://127.0.0.1:9", "Timed out"),
        ("here", "missing port number in address 'here'"),
    ):
        with pytest.raises(UsageError, match=rf"^--cluster {address}: {why}"):
            next(each_on_cluster(address, SMALL, stage, Stage.replay, seconds=0.1))


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({}, "it has no workers"),
        ({"tcp://a": "0.1.0"}, ""),
        ({"tcp://a": "0.1.0", "tcp://b": "9\n"}, "the worker tcp://b has prunecli 9␊, this is 0.1.0"),
        ({"tcp://a": PackageNotFoundError("prunecli")}, "the worker tcp://a has no prunecli"),
    ],
)
def test_workers_need_this_version(versions: dict[str, object], problem: str) -> None:
    assert unusable(versions) == problem
