"""The sandbox of a runtime: when it is tried, what it says, and that the user's own commands run outside."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import Say, Table, run_line
from prunecli.config.effective import Config
from prunecli.front.headless.run import OutputFormat, Printer
from prunecli.model.events import AssistantMessage, Record, ToolResult
from prunecli.model.messages import Text, ToolUse, Usage, plain_text
from prunecli.runtime import Runtime
from prunecli.runtime.sandbox_rules import make_sandbox
from prunecli.runtime.user_shell import shell
from prunecli.safety.permissions.verdict import Rules
from prunecli.safety.sandbox.layout import layout_for
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.tools.processes.sandboxing import SandboxedCommand
from prunecli.util.errors import UsageError
from tests.scripted import Scripted, calls, says
from tests.starting import start

WORKING = Chosen("bubblewrap", "/bwrap")


class Marked(Sandbox):
    """A sandbox that only sets a variable, and counts how often it was tried."""

    def confine(self, *, granted: bool, reads: bool = False, online: bool = True):
        @asynccontextmanager
        async def confined(
            argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
        ) -> AsyncIterator[SandboxedCommand]:
            yield SandboxedCommand(argv, {**env, "INSIDE": "granted" if granted else "yes"})

        return confined


def walled(
    folder: Path, script: Sequence[Scripted] = (), *, chosen: Chosen = WORKING, **given
) -> tuple[Runtime, list[int]]:
    """A runtime with a sandbox of the test, and a list that grows each time one is tried."""
    tried = list[int]()

    def choose() -> Chosen:
        tried.append(1)
        return chosen

    base = start(folder, script, **given)

    def make(config: Config, rules: Callable[[], Rules]) -> Sandbox:
        real = make_sandbox(config, base.setup.places, base.setup.cwd, base.setup.child_env, rules)
        required = config.sandbox.mode == "require"
        return Marked(real.ground, choose, network=config.sandbox.network, required=required)

    setup = replace(base.setup, walls=make)
    return Runtime(setup, base.connections.provider_for, base.connections.info_of), tried


def bash(command: str, **more) -> list[Scripted]:
    """One call, then the end."""
    return [calls(ToolUse("a", "bash", {"command": command, **more})), says("done")]


async def result(runtime: Runtime) -> str:
    """What the call of the first prompt gave."""
    await runtime.submit("go")
    return next(
        plain_text(one.event.content) for one in runtime.session.records if isinstance(one.event, ToolResult)
    )


async def test_a_start_tries_nothing_and_an_untrusted_directory_never_does(tmp_path: Path) -> None:
    runtime, tried = walled(tmp_path, trusted=False)
    runtime.sandbox.begin()
    assert (runtime.sandbox.line(), runtime.sandbox.state(), runtime.status().sandbox) == (
        "",
        "untrusted",
        "",
    )
    assert tried == []


async def test_what_is_in_force_is_said(tmp_path: Path) -> None:
    runtime, tried = walled(tmp_path)
    assert runtime.status().sandbox == ""
    assert runtime.sandbox.line() == "Sandbox: bubblewrap, network off"
    assert tried == [1]
    assert runtime.status().sandbox == "sandbox bwrap"
    (table,) = run_line(runtime, "/status")
    assert isinstance(table, Table)
    assert dict(table.rows)["sandbox"] == "bubblewrap, network off"
    said = next(effect.text for effect in run_line(runtime, "/permissions") if isinstance(effect, Say))
    assert "In edits mode, other commands do too, except those that write with git" in said


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
async def test_a_headless_run_tries_the_sandbox_only_before_its_first_call(
    tmp_path: Path, form: OutputFormat
) -> None:
    """The first object of stream-json names it; otherwise the first request does not wait for it."""
    runtime, tried = walled(tmp_path, chosen=Chosen(None, why="bwrap: it is not installed"))
    told, told_at_once = list[str](), form == "stream-json"
    printer = Printer(runtime, form, lambda _: None, told.append)

    def hears() -> bool:
        return any("Sandbox: none, commands run with your permissions" in line for line in told)

    printer.init()
    assert (len(tried), hears()) == (int(told_at_once), told_at_once)
    answer = AssistantMessage((Text("Hi"),), "m", "end_turn", Usage())
    printer.read(Record(1, 1, answer))
    assert hears() is told_at_once
    printer.read(Record(2, 2, replace(answer, content=(ToolUse("a", "bash", {"command": "ls"}),))))
    assert (len(tried), hears()) == (1, True)


async def test_that_none_works_is_said(tmp_path: Path) -> None:
    runtime, _ = walled(tmp_path, chosen=Chosen(None, why="bwrap: it is not installed"))
    assert runtime.sandbox.line() == (
        "Sandbox: none, commands run with your permissions (bwrap: it is not installed)"
    )
    assert runtime.status().sandbox == "no sandbox"
    runtime.sandbox.check()


async def test_that_it_is_off_is_said(tmp_path: Path) -> None:
    runtime, tried = walled(tmp_path, sets=("sandbox.mode=off",))
    assert (runtime.sandbox.line(), runtime.status().sandbox) == (
        "Sandbox: off, commands run with your permissions",
        "sandbox off",
    )
    assert tried == []


async def test_required_and_missing_refuses_to_start(tmp_path: Path) -> None:
    runtime, _ = walled(
        tmp_path, chosen=Chosen(None, why="it is not installed"), sets=("sandbox.mode=require",)
    )
    with pytest.raises(UsageError, match="'require', but it is not installed"):
        runtime.sandbox.check()


async def test_a_commands_sandbox_knows_whether_a_rule_allowed_it(tmp_path: Path) -> None:
    runtime, _ = walled(tmp_path / "a", bash("echo $INSIDE"), sets=("permissions.mode=edits",))
    assert await result(runtime) == "yes\n"
    runtime, _ = walled(tmp_path / "b", bash("echo $INSIDE"), sets=("permissions.mode=auto",))
    assert await result(runtime) == "granted\n"


async def test_the_users_own_command_runs_outside(tmp_path: Path) -> None:
    runtime, _ = walled(tmp_path)
    assert await shell(runtime, "echo [$INSIDE]", show_model=False) == "[]\n"


async def test_one_command_runs_outside_after_the_user_said_so(tmp_path: Path) -> None:
    script = bash("echo [$INSIDE]", outside=True, reason="it needs the network")
    runtime, _ = walled(tmp_path, script, sets=("permissions.mode=auto",))
    asked = list[Asked]()

    async def asker(question: Asked) -> Answer:
        asked.append(question)
        return Answer("once")

    runtime.asker = asker
    assert await result(runtime) == "[]\n"
    assert [one.reason for one in asked] == ["runs outside the sandbox: it needs the network"]


async def test_nobody_to_ask_means_no(tmp_path: Path) -> None:
    runtime, _ = walled(tmp_path, bash("echo out", outside=True), sets=("permissions.mode=auto",))
    assert (await result(runtime)).startswith("The user did not allow this.")


async def test_bash_takes_the_argument_only_where_a_sandbox_is_wanted(tmp_path: Path) -> None:
    def fields(runtime: Runtime) -> set[str]:
        return set(runtime.tools["bash"].Input.__dataclass_fields__)

    bare = fields(start(tmp_path))
    assert {"command", "timeout"} <= bare
    assert fields(walled(tmp_path, sets=("sandbox.mode=off",))[0]) == bare
    assert fields(walled(tmp_path)[0]) == {*bare, "outside", "reason"}
    assert not bare & {"outside", "reason"}


async def test_rules_about_files_are_walls_too(tmp_path: Path) -> None:
    """A denied file is hidden, an allowed secret is not; a rule that the walls do not enforce keeps the questions."""
    sets = ('permissions.deny=["read(plans/**)"]', 'permissions.allow=["read(./.env)"]')
    runtime, _ = walled(tmp_path, sets=sets)
    work = runtime.setup.cwd
    (work / "plans").mkdir()
    for name in (".env", "other.env", "plans/a.txt"):
        (work / name).touch()
    walls = runtime.sandbox.walls
    assert walls is not None
    hidden = layout_for(walls.ground, git=False).hidden
    inside = {path.removeprefix(f"{work}/") for path in hidden if path.startswith(str(work))}
    assert inside == {"other.env", "plans"}
    assert runtime.sandbox.inside().closed
    runtime, _ = walled(tmp_path, sets=('permissions.deny=["edit(src/**)"]',))
    assert (runtime.sandbox.inside().there, runtime.sandbox.inside().closed) == (True, False)


async def test_the_users_configuration_opens_a_folder_of_the_home_folder_and_tokens_of_git_stay_hidden(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    (home / "shared").mkdir(parents=True)
    (home / ".gitconfig").write_text('[url "https://u:token@x/"]\n\tinsteadOf = https://x/\n')
    runtime, _ = walled(tmp_path, sets=['sandbox.readable=["~/shared"]'])
    assert runtime.sandbox.walls is not None
    layout = layout_for(replace(runtime.sandbox.walls.ground, workspace=str(home / "ws")), git=False)
    assert str(home / "shared") in layout.readable
    assert str(home / ".gitconfig") in layout.emptied


async def test_an_open_network_keeps_the_questions(tmp_path: Path) -> None:
    for network in ("true", '["pypi.org"]'):
        runtime, _ = walled(tmp_path, sets=(f"sandbox.network={network}",))
        assert not runtime.sandbox.inside().closed


async def test_before_trust_nothing_is_tried_even_if_one_is_required(tmp_path: Path) -> None:
    missing = Chosen(None, why="it is not installed")
    runtime, tried = walled(tmp_path, chosen=missing, sets=("sandbox.mode=require",), trusted=False)
    runtime.sandbox.check()
    runtime.sandbox.begin()
    assert runtime.sandbox.line() == ""
    assert tried == []
    runtime.gatekeeper.trusted = True
    assert runtime.sandbox.line() == "Sandbox: none, so no command runs (it is not installed)"
    assert tried == [1]
