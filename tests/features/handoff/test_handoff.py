"""/handoff: a draft by the old session, edited by the user, sent in a new one below it in the tree."""

import json
from pathlib import Path

import pytest

from prunecli.commands.command import Effect, FillPrompt, Say, SwitchSession, Work
from prunecli.features.handoff.command import UNFINISHED, run
from prunecli.model.messages import Text, ToolUse
from prunecli.runtime import Runtime
from prunecli.session.session_tree import family
from prunecli.util.errors import UsageError
from tests.scripted import Scripted, calls, says
from tests.starting import start


async def _handed_off(runtime: Runtime, goal: str) -> list[Effect]:
    (work,) = run(runtime, goal)
    assert isinstance(work, Work)
    return list(await work.work())


async def test_the_draft_waits_in_the_prompt_of_a_new_session_below_the_old_one(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Fixed."), says("Continue in cart.py: …"), says("Done.")])
    await runtime.submit("fix the total of the cart")
    old = runtime.session
    effects = await _handed_off(runtime, "add a discount")
    assert [effect for effect in effects if isinstance(effect, FillPrompt)] == [
        FillPrompt("Continue in cart.py: …")
    ]
    assert any(isinstance(effect, SwitchSession) for effect in effects)
    assert runtime.session.id != old.id
    assert not runtime.session.context.exchanges
    asked = [record.event for record in old.records if "add a discount" in str(record.event)]
    assert asked, "the request is in the old session's log"
    await runtime.submit("Continue in cart.py: …")
    listed = runtime.store.list(runtime.setup.cwd)
    await runtime.close()
    assert [(member.session.id, member.lines.strip(), member.at) for member in family(listed)] == [
        (old.id, "", None),
        (runtime.session.id, "└", None),
    ]
    (digest,) = [one.digest for one in listed if one.id == runtime.session.id]
    assert (digest.is_handoff, digest.is_copy, digest.parent) == (True, False, old.id)
    first = json.loads(runtime.session.path.read_text().splitlines()[0]) if runtime.session.path else {}
    assert first["parent"] == {"id": old.id}


@pytest.mark.parametrize(
    "answer",
    [
        Scripted((Text("half a dra"),), "max_tokens"),
        Scripted((), "refusal"),
        Scripted((Text("  "),)),
    ],
)
async def test_a_draft_that_is_not_whole_opens_nothing(tmp_path: Path, answer: Scripted) -> None:
    runtime = start(tmp_path, [says("Fixed."), answer, answer, answer, answer])
    await runtime.submit("fix it")
    old = runtime.session
    assert await _handed_off(runtime, "go on") == [Say(UNFINISHED, "warning")]
    assert runtime.session is old
    await runtime.close()


async def test_calls_before_the_draft_do_no_harm(tmp_path: Path) -> None:
    script = [says("Fixed."), calls(ToolUse("l1", "ls", {"path": "."})), says("Go on in a.py.")]
    runtime = start(tmp_path, script)
    await runtime.submit("fix it")
    assert FillPrompt("Go on in a.py.") in await _handed_off(runtime, "go on")
    await runtime.close()


async def test_it_needs_a_goal_and_something_to_hand_off(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    with pytest.raises(UsageError, match="no goal given"):
        run(runtime, " ")
    assert run(runtime, "go on") == [Say("Nothing to hand off: this session is empty.", "warning")]
    await runtime.close()
