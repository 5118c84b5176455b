"""The welcome names the sessions of other agents in this directory, and what pruning would have saved on them."""

import json
from pathlib import Path

import pytest

from prunecli.features.replay.invitation import Invitation, invitation, replayed, sessions_here
from prunecli.runtime import Runtime
from prunecli.runtime.importers import titles
from prunecli.runtime.make import make_runtime
from prunecli.util.launch_options import Launch
from tests.session.importers import stores
from tests.tui.showing_app import shown
from tests.waiting import until


def started(tmp_path: Path, *names: str) -> Runtime:
    environ, cwd = stores.environment(tmp_path, *names)
    environ |= {"PRUNECLI_HOME": str(tmp_path / "data"), "PRUNECLI_SANDBOX": "off"}
    return make_runtime(Launch(trust=True, cwd=cwd, flags={"--model": "demo"}), environ)


async def test_the_welcome_offers_them_and_enter_opens_the_picker(tmp_path: Path) -> None:
    runtime = started(tmp_path, "pi.jsonl", "codex.jsonl")
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown(
            "1 Codex session and 1 pi session here", "prunecli -r @codex", "Enter: /resume @codex"
        )
        await s.pilot.press("enter")
        await s.until_shown("Codex sessions in this directory")
        await s.pilot.press("escape")


async def test_a_session_that_has_begun_is_not_greeted(tmp_path: Path) -> None:
    runtime = started(tmp_path, "pi.jsonl")
    greetings: list[tuple[str, str]] = []
    await runtime.submit("hello")
    await Invitation(runtime, None).shown(lambda text, line: greetings.append((text, line)))
    assert greetings == []
    await runtime.close()


async def test_without_sessions_nothing_is_said(tmp_path: Path) -> None:
    runtime = started(tmp_path)
    assert sessions_here(runtime.config.installed, runtime.setup.environ, runtime.setup.cwd) == []
    await runtime.close()


@pytest.mark.parametrize(
    ("sums", "said"), [((4.9, 1.84), "about $1.84 of $4.90 on the last 2"), ((4.9, 0.0), "")]
)
async def test_the_estimate_is_kept_until_a_session_changes_and_said_from_a_cent_on(
    tmp_path: Path, sums: tuple[float, float], said: str
) -> None:
    runtime = started(tmp_path, "pi.jsonl", "codex.jsonl")
    setup = runtime.setup
    found = sessions_here(runtime.config.installed, setup.environ, setup.cwd)
    assert invitation(found, titles(runtime.config.installed)).startswith(
        "1 Codex session and 1 pi session here"
    )
    key = "\n".join(sorted(f"{agent}:{one.id}:{one.changed}" for agent, one in found))
    kept = setup.places.data / "invitation.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key, "cost": sums[0], "saved": sums[1]}))
    greetings: list[str] = []
    part = Invitation(runtime, None)
    await part.shown(lambda text, _: greetings.append(text))
    await until(lambda: len(greetings) == 2) if said else await part._work.finish()
    assert said in greetings[-1]
    assert len(greetings) == 1 + bool(said)
    await part.close()
    await runtime.close()


async def test_a_replay_in_a_process_of_its_own_gives_cost_and_saving(tmp_path: Path) -> None:
    runtime = started(tmp_path, "codex.jsonl")
    setup = runtime.setup
    ((agent, one),) = sessions_here(runtime.config.installed, setup.environ, setup.cwd)
    cost, saved = await replayed([f"{agent}:{one.id}"], setup.environ, setup.cwd)
    assert cost > 0
    assert saved <= cost
    assert await replayed(["@codex:none"], setup.environ, setup.cwd) == (0.0, 0.0)
    await runtime.close()
