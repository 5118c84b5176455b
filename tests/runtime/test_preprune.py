"""PrePrune: hooks see prunes before they are made, and keep what they name."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.policy import HELD, Waiting
from prunecli.commands.command import run_line
from prunecli.model.events import Pinned, PrunApplied, SettingChanged, ToolResult
from prunecli.model.messages import ToolUse, Usage
from tests.runtime.hooked import Hooked, closed, group, hooked, prints, special
from tests.scripted import Scripted, calls, says

WAITS = Waiting("prunes wait until your next prompt", "a hook holds them")
PRUNES = (
    "permissions.mode=auto",
    "pruning.strategy=pi",
    "pruning.gate=always",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=10",
    "pruning.pi.prune_minimum=1",
    "pruning.spill.enabled=false",
    "model.name=claude-opus-5",
)


def reads(count: int) -> list[Scripted]:
    """A turn that reads so many files."""
    return [*(calls(ToolUse(f"t{n}", "read", {"path": f"{n}.txt"})) for n in range(count)), says("Done.")]


def begin(folder: Path, script: Sequence[Scripted], hooks: dict[str, Any], **more: Any) -> Hooked:
    at = hooked(folder, script, hooks, sets=PRUNES, **more)
    for number in range(6):
        (folder / "work" / f"{number}.txt").write_text(f"line of file {number}\n" * 200)
    return at


def events(at: Hooked, kind: type) -> list[Any]:
    return [record.event for record in at.runtime.session.records if isinstance(record.event, kind)]


def results(at: Hooked) -> list[int]:
    return [record.seq for record in at.runtime.session.records if isinstance(record.event, ToolResult)]


async def test_a_hook_sees_the_edits_and_their_price(tmp_path: Path) -> None:
    kept = tmp_path / "given"
    priced = [replace(one, usage=Usage(100, 20, 1_000, 200)) for one in reads(4)]  # the endpoint has a cache
    at = begin(tmp_path, priced, {"PrePrune": [group(f"cat >> {kept}; echo >> {kept}")]})
    await at.runtime.submit("go")
    given = json.loads(kept.read_text().splitlines()[0])
    edit = given["edits"][0]
    assert edit["seq"] == results(at)[0]
    assert (edit["kind"], edit["tool_name"], edit["source"], edit["strategy"]) == (
        "clear",
        "Read",
        "strategy",
        "pi",
    )
    assert edit["tool_input"]["file_path"] == str(tmp_path / "work" / "0.txt")
    assert edit["tokens_before"] > edit["tokens_after"] > 0
    assert given["tokens_removed"] > 0
    assert isinstance(given["saved_usd_per_request"], float)
    assert events(at, PrunApplied), "a hook that says nothing lets the prune happen"
    await closed(at)


async def test_a_vetoed_entry_is_pinned_and_the_rest_is_pruned(tmp_path: Path) -> None:
    hook = (
        'python3 -c "import json,sys; given = json.load(sys.stdin); '
        "seqs = [e['seq'] for e in given['edits'] if e['tool_input']['file_path'].endswith('/0.txt')]; "
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PrePrune', 'veto': seqs}}))\""
    )
    at = begin(tmp_path, reads(5), {"PrePrune": [group(hook)]})
    await at.runtime.submit("go")
    first, second, *_ = results(at)
    assert events(at, Pinned) == [Pinned((first,))]
    pruned = {edit.seq for prune in events(at, PrunApplied) for edit in prune.edits}
    assert first not in pruned
    assert second in pruned
    assert any("A hook keeps 1 of" in line for line in at.said)
    at.runtime.emit(Pinned((first,), False))
    await closed(at)


@pytest.mark.parametrize("reply", ["echo 'not now' >&2; exit 2", prints(special("PrePrune", veto="all"))])
async def test_a_veto_of_everything_holds_until_the_next_message(tmp_path: Path, reply: str) -> None:
    count = tmp_path / "count"
    script = [*reads(4), *reads(1)]
    at = begin(tmp_path, script, {"PrePrune": [group(f"echo >> {count}; {reply}")]})
    await at.runtime.submit("go")
    assert len(count.read_text().splitlines()) == 1, "it is not asked again at each step"
    assert len(events(at, SettingChanged)) >= 1
    assert [one.key for one in events(at, SettingChanged)].count(HELD) == 1
    assert at.runtime.policy.decided(at.runtime.session.context)[1] == WAITS
    await at.runtime.submit("again")
    assert len(count.read_text().splitlines()) == 2
    assert events(at, PrunApplied) == []
    path = at.runtime.session.path
    await closed(at)
    assert path is not None
    again = begin(tmp_path, [says("Resumed.")], {})
    again.runtime.open_session(path)
    assert again.runtime.policy.decided(again.runtime.session.context)[1] == WAITS
    await again.runtime.close()


async def test_a_veto_of_the_models_own_prune_is_recorded_and_not_proposed_again(tmp_path: Path) -> None:
    script = [*reads(3), calls(ToolUse("p1", "prun", {"tokens": 1000})), says("Fine.")]
    at = begin(tmp_path, script, {"PrePrune": [group("echo 'I need it' >&2; exit 2")]})
    run_line(at.runtime, "/prune-toggle")
    await at.runtime.submit("go")
    await at.runtime.submit("free some tokens")
    (prune,) = events(at, PrunApplied)
    assert (prune.source, prune.edits, prune.tokens_removed) == ("model", (), 0)
    assert prune.reason == "kept by a hook: echo: I need it"
    await closed(at)


async def test_a_veto_of_one_exchange_leaves_the_rest_of_the_models_prune(tmp_path: Path) -> None:
    hook = (
        'python3 -c "import json,sys; given = json.load(sys.stdin); '
        "seq = min(e['seq'] for e in given['edits']); "
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PrePrune', 'veto': [seq]}}))\""
    )
    script = [*reads(3), calls(ToolUse("p1", "prun", {"tokens": 100_000})), says("Fine.")]
    at = begin(tmp_path, script, {"PrePrune": [group(hook)]})
    run_line(at.runtime, "/prune-toggle")
    await at.runtime.submit("go")
    await at.runtime.submit("free some tokens")
    (prune,) = events(at, PrunApplied)
    (pin,) = events(at, Pinned)
    assert prune.edits
    assert not {edit.seq for edit in prune.edits} & set(pin.seqs)
    await closed(at)


async def test_a_pin_keeps_an_entry_that_is_not_proposed_yet(tmp_path: Path) -> None:
    at = begin(tmp_path, reads(5), {})
    await at.runtime.submit("go")
    last = results(at)[-1]
    path = at.runtime.session.path
    await at.runtime.close()
    assert path is not None
    again = begin(tmp_path, reads(5), {"PrePrune": [group(prints(special("PrePrune", pin=[last, 999_999])))]})
    again.runtime.open_session(path)
    await again.runtime.submit("more")
    assert events(again, Pinned) == [Pinned((last,))]
    pruned = {edit.seq for prune in events(again, PrunApplied) for edit in prune.edits}
    assert last not in pruned
    assert max(pruned) > last
    await closed(again)


async def test_a_hook_that_fails_prunes_as_without_it(tmp_path: Path) -> None:
    at = begin(tmp_path, reads(4), {"PrePrune": [group("exit 7")]})
    await at.runtime.submit("go")
    assert events(at, PrunApplied)
    assert "PrePrune hook exit failed: exit code 7" in at.said
