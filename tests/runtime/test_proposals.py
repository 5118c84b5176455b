"""Commands of a runtime that run before the user is asked, in the sandbox of this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import run_line
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.model.events import ToolResult
from prunecli.model.messages import ToolUse, plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.sandbox_rules import make_sandbox
from prunecli.runtime.user_shell import shell
from tests.proposals.laying import chosen_here
from tests.scripted import Scripted, calls, says
from tests.session.snapshotting import files, repository
from tests.starting import start


def begun(
    folder: Path, *commands: str, answers: tuple[str, ...] = (), sets: tuple[str, ...] = ()
) -> tuple[Runtime, list[Asked]]:
    """A runtime in ask mode whose model runs the commands one after another, and the questions so far."""
    if not chosen_here(folder / "tried").overlays:
        pytest.skip("needs bubblewrap and overlays")
    repository(folder / "work")
    script: list[Scripted] = [
        calls(ToolUse(f"b{at}", "bash", {"command": one})) for at, one in enumerate(commands)
    ]
    base = start(folder, [*script, says("Done.")], sets=("permissions.mode=ask", *sets))
    parts = base.setup.places, base.setup.cwd, base.setup.child_env
    setup = replace(base.setup, walls=lambda config, rules: make_sandbox(config, *parts, rules))
    runtime, asked, left = (
        Runtime(setup, base.connections.provider_for, base.connections.info_of),
        list[Asked](),
        list(answers),
    )

    async def answer(question: Asked) -> Answer:
        asked.append(question)
        return Answer("once" if left.pop(0) == "yes" else "deny")

    runtime.asker = answer
    return runtime, asked


def results(runtime: Runtime) -> list[str]:
    return [
        plain_text(one.event.content) for one in runtime.session.records if isinstance(one.event, ToolResult)
    ]


async def test_what_was_applied_can_be_rewound(tmp_path: Path) -> None:
    runtime, asked = begun(tmp_path, "echo new > made; rm b.txt; ls", answers=("yes",))
    before = files(tmp_path / "work")
    await runtime.submit("go")
    assert [one.proposal is not None for one in asked] == [True]
    assert (tmp_path / "work" / "made").read_text() == "new\n"
    assert not (tmp_path / "work" / "b.txt").exists()
    assert asked[0].wall == "bubblewrap, network off"
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    assert files(tmp_path / "work") == before
    await runtime.close()


async def test_a_run_without_changes_asks_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    runtime, asked = begun(tmp_path, "python3 -c 'print(40 + 2)'", "sh -c 'cat a.txt > /dev/null'")
    await runtime.submit("go")
    assert results(runtime)[0] == "42\n"
    assert asked == []
    assert list(runtime.setup.places.layers.iterdir()) == []
    assert await shell(runtime, "echo mine", show_model=False) == "mine\n"
    await runtime.close()


async def test_after_a_wall_yes_opens_that_much_more(tmp_path: Path) -> None:
    runtime, asked = begun(tmp_path, "sh -c 'echo x > made; cat .env'", answers=("yes",))
    (tmp_path / "work" / ".env").write_text("KEY=1\n")
    await runtime.submit("go")
    assert asked[0].reason == "reads .env, which may contain secrets"
    assert results(runtime) == ["KEY=1\n"]
    assert (tmp_path / "work" / "made").exists()
    await runtime.close()


async def test_switched_off_the_question_comes_first(tmp_path: Path) -> None:
    runtime, asked = begun(tmp_path, "echo x > made", answers=("no",), sets=("sandbox.proposals=false",))
    await runtime.submit("go")
    assert (asked[0].proposal, asked[0].again) == (None, False)
    assert results(runtime) == ["The user did not allow this."]
    await runtime.close()


async def test_plan_mode_drops_what_a_command_changed(tmp_path: Path) -> None:
    runtime, asked = begun(tmp_path, "echo x > made; cat made")
    runtime.gatekeeper.mode = "plan"
    await runtime.submit("go")
    assert results(runtime) == ["x\n[plan mode: your changes were dropped]"]
    assert not (tmp_path / "work" / "made").exists()
    assert asked == []
    await runtime.close()


async def test_permissions_says_what_runs_on_a_layer(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path)
    said = "\n".join(str(effect) for effect in run_line(runtime, "/permissions"))
    assert "run on a layer over the workspace" in said
    await runtime.close()
