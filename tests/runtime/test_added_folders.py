"""Folders beside the working directory: what holds there, what the model hears, what a resume brings back."""

import json
from pathlib import Path

import pytest

from prunecli.commands.command import Choose, Say, Table, run_line
from prunecli.features.rewind.rewinding import outlook_of, points_of, rewind
from prunecli.model.events import SettingChanged
from prunecli.model.messages import ToolUse, plain_text
from prunecli.model.requests import PREAMBLE
from prunecli.runtime import Runtime
from prunecli.runtime.added_folders import real_folder
from prunecli.runtime.notices import session_notices
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.errors import UsageError
from tests.scripted import Scripted, calls, says
from tests.session.snapshotting import repository
from tests.starting import result_events, start

AUTO = ("permissions.mode=auto",)
EDITS = ("permissions.mode=edits",)


def lib_of(tmp_path: Path) -> Path:
    """A folder beside the working directory, with a file, a secret and instructions."""
    lib = repository(tmp_path / "lib")
    (lib / "x.txt").write_text("old words\n")
    (lib / ".env").write_text("KEY=hush\n")
    (lib / "AGENTS.md").write_text("Use tabs in lib.\n")
    return lib


def begun(tmp_path: Path, script: list[Scripted], *, sets: tuple[str, ...] = EDITS) -> Runtime:
    runtime = start(tmp_path, script, sets=sets)
    runtime.folders.add(lib_of(tmp_path))
    return runtime


def one(name: str, **given: object) -> list[Scripted]:
    return [calls(ToolUse("t", name, given)), says("done")]


def sent(runtime: Runtime) -> str:
    return json.dumps(
        [json.loads(block) for one in runtime.session.context.messages() for block in one.blocks]
    )


def system(runtime: Runtime) -> list[str]:
    preamble = runtime.session.context.settings[PREAMBLE]
    assert isinstance(preamble, dict)
    return list(preamble["system"])


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("write", {"path": "../lib/made.txt", "content": "new"}, "made.txt"),
        ("edit", {"path": "../lib/x.txt", "old_string": "old", "new_string": "new"}, "x.txt"),
        ("read", {"path": "../lib/x.txt"}, "old words"),
        ("grep", {"pattern": "words", "path": "../lib"}, "old words"),
        ("find", {"pattern": "*.txt", "path": "../lib"}, "x.txt"),
        ("ls", {"path": "../lib"}, "x.txt"),
        ("bash", {"command": "cat ../lib/x.txt"}, "old words"),
        ("bash", {"command": "cd ../lib && cat x.txt"}, "old words"),
    ],
)
async def test_tools_work_there_as_in_the_working_directory(
    tmp_path: Path, name: str, given: dict[str, str], expected: str
) -> None:
    runtime = begun(tmp_path, one(name, **given))
    await runtime.submit("go")
    (result,) = result_events(runtime)
    assert not result.is_error, plain_text(result.content)
    assert expected in plain_text(result.content)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("read", {"path": "../lib/.env"}),
        ("edit", {"path": "../lib/AGENTS.md", "old_string": "Use", "new_string": "obey"}),
        ("write", {"path": "../lib/.git/hooks/pre-commit", "content": "obey"}),
        ("bash", {"command": "cat ../lib/.env"}),
        ("bash", {"command": "cd ../lib && cat .env"}),
        ("bash", {"command": "cat ../else/x"}),
    ],
)
async def test_its_secrets_what_programs_obey_there_and_other_folders_are_asked_about(
    tmp_path: Path, name: str, given: dict[str, str]
) -> None:
    runtime = begun(tmp_path, one(name, **given))
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "x").write_text("x")
    await runtime.submit("go")
    (result,) = result_events(runtime)
    assert result.details.get("denied"), plain_text(result.content)


async def test_a_folder_beside_both_is_outside(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    runtime = begun(tmp_path, one("write", path="../else/new.txt", content="new"))
    await runtime.submit("go")
    assert "is outside the workspace" in plain_text(result_events(runtime)[0].content)
    assert not (tmp_path / "else" / "new.txt").exists()


@pytest.mark.parametrize(
    ("rules", "given", "denied"),
    [
        (('permissions.deny=["read(notes/**)"]',), "../lib/notes/a.txt", True),
        (('permissions.deny=["read(*.txt)"]',), "../lib/notes/a.txt", True),
        (('permissions.deny=["read(other/**)"]',), "../lib/notes/a.txt", False),
        (('permissions.ask=["read(notes/**)"]',), "../lib/notes/a.txt", True),
    ],
)
async def test_rules_start_at_each_folder(
    tmp_path: Path, rules: tuple[str, ...], given: str, denied: bool
) -> None:
    runtime = begun(tmp_path, one("read", path=given), sets=rules)
    (tmp_path / "lib" / "notes").mkdir()
    (tmp_path / "lib" / "notes" / "a.txt").write_text("a")
    await runtime.submit("go")
    assert bool(result_events(runtime)[0].details.get("denied")) == denied


async def test_an_allow_rule_covers_it_and_a_rule_is_offered_for_it(tmp_path: Path) -> None:
    sets = ('permissions.allow=["edit(src/**)"]',)
    runtime = begun(tmp_path, one("write", path="../lib/src/a.txt", content="a"), sets=sets)
    await runtime.submit("go")
    assert (tmp_path / "lib" / "src" / "a.txt").read_text() == "a"
    touches = runtime.tools["write"].touches(  # type: ignore[attr-defined]
        runtime.tools["write"].Input(str(tmp_path / "lib" / "b.txt"), "b")
    )
    rule = f"edit({tmp_path}/lib/**)"
    is_short = len(rule) <= 200  # a longer one is not offered
    assert runtime.gatekeeper.judge("write", touches).rules == ((rule,) if is_short else ())


async def test_links_out_of_it_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    runtime = begun(tmp_path, one("write", path="../lib/out/a.txt", content="a"), sets=AUTO)
    (tmp_path / "lib" / "out").symlink_to(tmp_path / "else")
    await runtime.submit("go")
    assert "outside the workspace" in plain_text(result_events(runtime)[0].content)
    assert not (tmp_path / "else" / "a.txt").exists()


async def test_a_folder_that_is_gone_holds_up_nothing(tmp_path: Path) -> None:
    runtime = begun(tmp_path, one("write", path="a.txt", content="a"), sets=AUTO)
    (gone := tmp_path / "gone").mkdir()
    runtime.folders.add(gone)
    gone.rmdir()
    await runtime.submit("go")
    assert (tmp_path / "work" / "a.txt").read_text() == "a"


async def test_a_session_that_begins_names_them_and_does_not_load_their_instructions(tmp_path: Path) -> None:
    runtime = begun(tmp_path, [says("hi")])
    await runtime.submit("go")
    assert f"\nAdditional directories: {tmp_path}/lib\n" in system(runtime)[0]
    assert "Use tabs in lib" not in "".join(system(runtime))
    assert "[notice]" not in sent(runtime)


async def test_the_model_hears_once_of_a_later_one_and_of_its_end(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says(str(number)) for number in range(5)], sets=EDITS)
    await runtime.submit("one")
    before = runtime.session.context.preamble
    lib = lib_of(tmp_path)
    runtime.folders.add(lib)
    await runtime.submit("two")
    await runtime.submit("three")
    assert sent(runtime).count(f"Additional directories: {lib}") == 1
    runtime.setup.added.paths = ()
    await runtime.submit("four")
    await runtime.submit("five")
    assert sent(runtime).count("Additional directories: none") == 1
    assert runtime.session.context.preamble == before
    await runtime.close()
    assert runtime.session.path is not None
    assert verify_session(runtime.session.path, read_log(runtime.session.path)).clean


async def test_a_resumed_session_gets_back_those_that_are_trusted(tmp_path: Path) -> None:
    first = begun(tmp_path, [says("hi")])
    (other := tmp_path / "other").mkdir()
    first.folders.add(other)
    await first.submit("go")
    await first.close()
    assert first.session.path is not None
    again = start(tmp_path, [says("more"), says("new")])
    again.setup.trust_store.trust(tmp_path / "lib")
    session = again.open_session(first.session.path)
    assert again.setup.added.paths == (tmp_path / "lib",)
    said = "\n".join(session_notices(again, session))
    assert f"Also works in {tmp_path}/lib." in said
    assert f"No longer added: {other} is not trusted." in said
    await again.submit("more")
    assert sent(again).count("[notice] directories") == 1, "the model hears what is missing"
    plain = start(tmp_path, [says("x")])
    await plain.submit("in a session without any")
    await plain.close()
    assert plain.session.path is not None
    again.open_session(plain.session.path)
    assert again.setup.added.paths == ()
    assert not [
        one
        for one in plain.session.records
        if isinstance(one.event, SettingChanged) and one.event.key == "workspace.added"
    ]


async def test_files_there_go_back_too(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    both = "echo new > ../lib/x.txt; echo new > a.txt; touch ../lib/made"
    runtime = begun(tmp_path, [calls(ToolUse("b", "bash", {"command": both})), says("done")], sets=AUTO)
    before = (tmp_path / "work" / "a.txt").read_text()
    await runtime.submit("go")
    (point,) = points_of(runtime)
    (outlook,) = outlook_of(runtime, [point.seq])
    lib = tmp_path / "lib"
    assert [change.path for change in outlook.changes] == ["a.txt", f"{lib}/made", f"{lib}/x.txt"]
    restored = await rewind(runtime, point.seq, conversation=True, files=True)
    assert (len(restored.paths), len(restored.deleted)) == (2, 1)
    assert (tmp_path / "work" / "a.txt").read_text() == before
    assert (lib / "x.txt").read_text() == "old words\n"
    assert not (lib / "made").exists()


async def test_a_folder_around_the_working_directory_shows_no_file_twice(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    runtime = start(
        tmp_path, [calls(ToolUse("b", "bash", {"command": "echo new > a.txt"})), says("x")], sets=AUTO
    )
    runtime.folders.add(tmp_path)
    await runtime.submit("go")
    (outlook,) = outlook_of(runtime, [points_of(runtime)[0].seq])
    assert [change.path for change in outlook.changes] == ["a.txt"]


async def test_tasks_work_there_too(tmp_path: Path) -> None:
    script = [
        calls(ToolUse("t", "task", {"prompt": "look", "description": "look", "agent": "explore"})),
        calls(ToolUse("r", "read", {"path": "../lib/x.txt"})),
        says("I saw it."),
        says("done"),
    ]
    runtime = begun(tmp_path, script)
    systems: list[str] = []
    runtime.on_task.append(lambda child: systems.append(child.host.setup.added.paths and "shared"))  # type: ignore[arg-type]
    await runtime.submit("go")
    assert systems == ["shared"]
    assert "I saw it." in plain_text(result_events(runtime)[0].content)


def test_a_folder_may_stand_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "my lib").mkdir()
    (question,) = run_line(start(tmp_path), '/add-dir "../my lib"')
    assert isinstance(question, Choose)
    assert question.about == str(tmp_path / "my lib")


# The command --------------------------------------------------------------------------------------------------


def said(runtime: Runtime, line: str) -> str:
    return "\n".join(effect.text for effect in run_line(runtime, line) if isinstance(effect, Say))


def test_the_command_asks_for_trust_then_adds_and_lists(tmp_path: Path) -> None:
    runtime, lib = start(tmp_path), lib_of(tmp_path)
    (question,) = run_line(runtime, "/add-dir ../lib")
    assert isinstance(question, Choose)
    assert question.about == str(lib)
    assert "Not added" in said(runtime, f"/add-dir {question.choices[1].value}")
    assert runtime.setup.added.paths == ()
    assert "Also works in" in said(runtime, f"/add-dir {question.choices[0].value}")
    assert runtime.setup.added.paths == (lib,)
    assert runtime.setup.trust_store.may_act(lib)
    assert "Already" in said(runtime, "/add-dir ../lib/")
    assert str(lib) in said(runtime, "/add-dir")
    assert said(runtime, '/add-dir ""') == said(runtime, "/add-dir")
    (table,) = run_line(runtime, "/status")
    assert isinstance(table, Table)
    assert str(lib) in dict(table.rows)["also in"]
    assert f"Also works in {lib}, with the same rules" in said(runtime, "/permissions")
    assert "also in" not in dict(run_line(start(tmp_path / "2"), "/status")[0].rows)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("nope", "no such directory"),
        ("a.txt", "not a directory"),
        (".", "already part of the working directory"),
        ("sub", "already part of the working directory"),
        ("inside", "already part of the working directory"),
        ("/", "too large to work in"),
        ("~", "too large to work in"),
        ("~/.ssh", "may hold credentials"),
        ("~nobody", "no such directory"),
        ("loop", "Too many levels"),
        ("a\0b", "not a path"),
    ],
)
def test_what_cannot_be_added_is_refused_in_a_line(tmp_path: Path, given: str, problem: str) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (work / "sub").mkdir(parents=True)
    (home / ".ssh").mkdir(parents=True)
    (work / "a.txt").write_text("a")
    (work / "loop").symlink_to("loop")
    (work / "inside").symlink_to("sub")
    with pytest.raises(UsageError, match=problem):
        real_folder(given, work, home)


def test_a_path_is_followed_to_where_it_leads(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (home / "lib").mkdir(parents=True)
    work.mkdir()
    (work / "link").symlink_to(home / "lib")
    assert {
        real_folder(given, work, home) for given in ("link", "~/lib", "../home/lib/", str(home / "lib"))
    } == {home / "lib"}
