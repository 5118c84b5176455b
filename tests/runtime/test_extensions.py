"""Skills, custom commands and instructions of subfolders in a running session."""

import asyncio
import os
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import InThread, Say, Submit, Table, all_commands, offered, run_line
from prunecli.model.events import CompactionApplied, Rewound, SettingChanged, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.notes import notice_parts, typed
from prunecli.model.requests import PREAMBLE
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime, reconfiguring
from prunecli.tools.registry import load
from prunecli.util.errors import UsageError
from tests.files import put
from tests.scripted import Scripted, calls, says
from tests.starting import start

SKILL = "---\nname: {}\ndescription: {}\n---\n\nDo it well.\n"


def skill(root: Path, name: str, description: str = "Does it.") -> Path:
    return put(root / name / "SKILL.md", SKILL.format(name, description))


def said(runtime: Runtime) -> list[str]:
    """What was said to the model as the user or by notices, the first texts."""
    events = [item.event for item in runtime.session.context.items]
    return [typed(one) for one in events if isinstance(one, UserMessage)]


def notices(runtime: Runtime) -> list[tuple[str, str]]:
    events = [item.event for item in runtime.session.context.items]
    return [parts for one in events if isinstance(one, UserMessage) and (parts := notice_parts(one))]


def system(runtime: Runtime) -> str:
    value = runtime.session.context.settings[PREAMBLE]
    assert isinstance(value, dict)
    return "\n".join(value["system"])


def asking(runtime: Runtime, kind: str = "once") -> list[Asked]:
    asked: list[Asked] = []

    async def answer(one: Asked) -> Answer:
        asked.append(one)
        return Answer(kind)  # type: ignore[arg-type]

    runtime.asker = answer
    return asked


# Skills ------------------------------------------------------------------------------------------------------


async def test_without_extensions_a_request_is_what_it_was_and_nothing_is_imported(
    tmp_path: Path,
) -> None:
    runtime = start(tmp_path, [says("Hi.")])
    await runtime.submit("hello")
    assert [runtime.parts[name].absent for name in ("skills_and_memory", "subagents")] == [True, True]
    assert not {"skills", "_nested"} & vars(runtime.parts["skills_and_memory"]).keys()
    assert "subagents" not in vars(runtime)
    assert "skill" not in system(runtime).lower()
    assert notices(runtime) == []


async def test_a_session_that_is_opened_later_is_not_taken_for_one_without_skills(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hi.")])
    await runtime.submit("hello")
    assert runtime.parts["skills_and_memory"].absent
    runtime.new_session()
    assert not runtime.parts["skills_and_memory"].absent


async def test_a_skill_that_comes_after_the_first_prompt_is_told_with_the_next(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hi."), says("I see.")])
    await runtime.submit("hello")
    skill(tmp_path / "home/.claude/skills", "pdf", "Reads PDFs.")
    await runtime.submit("and now?")
    assert any("pdf: Reads PDFs." in text for _, text in notices(runtime))


async def test_skills_of_project_and_user_are_in_the_system_prompt_and_read_without_a_question(
    tmp_path: Path,
) -> None:
    at = skill(tmp_path / "home/.claude/skills", "pdf", "Reads PDFs.")
    read = [ToolUse("t1", "read", {"path": str(at)}), ToolUse("t2", "bash", {"command": f"cat {at}"})]
    runtime = start(tmp_path, [calls(read[0]), calls(read[1]), says("Done.")])
    skill(runtime.setup.cwd / ".prunecli/skills", "docx", "Writes letters.")
    asked = asking(runtime)
    await runtime.submit("go")
    assert f"In {tmp_path}/home/.claude/skills:\n- pdf: Reads PDFs." in system(runtime)
    assert "- docx: Writes letters." in system(runtime)
    results = [item.whole for one in runtime.session.context.exchanges for item in one.results]
    assert all("Do it well." in text for text in results)
    assert len(results) == 2
    assert asked == []


async def test_what_lies_beside_a_skill_or_is_secret_in_it_is_asked_about(tmp_path: Path) -> None:
    at = skill(tmp_path / "home/.claude/skills", "pdf")
    put(tmp_path / "home/.claude/other.md", "x")
    put(at.parent / ".env", "KEY=1")
    (at.parent / "link").symlink_to(tmp_path / "home/.claude/other.md")
    runtime = start(tmp_path, [says("Hi.")], sets=('permissions.deny=["read(~/.claude/skills/pdf/no.md)"]',))
    await runtime.submit("hello")

    def verdict(path: Path) -> str:
        tool = load("read")
        return runtime.gatekeeper.judge("read", tool.touches(tool.Input(path=str(path)))).kind

    assert verdict(at) == "allow"
    assert verdict(at.parent / "scripts/x.py") == "allow"
    assert verdict(tmp_path / "home/.claude/other.md") == "ask"
    assert verdict(at.parent / ".env") == "ask"
    assert verdict(at.parent / "link") == "ask"
    assert verdict(at.parent / "no.md") == "deny"


async def test_a_script_of_a_skill_runs_under_the_usual_permissions(tmp_path: Path) -> None:
    at = skill(tmp_path / "home/.claude/skills", "pdf")
    script = put(at.parent / "scripts/run.sh", "echo ran")
    call = ToolUse("t1", "bash", {"command": f"sh {script}"})
    runtime = start(tmp_path, [calls(call), says("Done.")])
    asked = asking(runtime)
    await runtime.submit("go")
    assert [one.call for one in asked] == [call]


async def test_an_untrusted_project_has_no_skills_and_trust_announces_them(tmp_path: Path) -> None:
    skill(tmp_path / "work/.claude/skills", "evil")
    skill(tmp_path / "home/.claude/skills", "mine")
    runtime = start(tmp_path, [says("Hi."), says("Hi.")], trusted=False)
    await runtime.submit("hello")
    assert "- mine: " in system(runtime)
    assert "evil" not in system(runtime)
    reconfiguring.trust(runtime)
    await runtime.submit("again")
    assert [title for title, _ in notices(runtime)] == ["skills"]
    assert "- evil: Does it." in notices(runtime)[0][1]


async def test_a_skill_that_comes_changes_and_goes_is_announced_once_and_the_system_prompt_stays(
    tmp_path: Path,
) -> None:
    runtime = start(tmp_path, [says(str(n)) for n in range(8)])
    folder = runtime.setup.cwd / ".claude/skills"
    await runtime.submit("one")
    before = system(runtime)
    at = skill(folder, "pdf")
    await runtime.submit("two")
    await runtime.submit("three")
    assert [text for _, text in notices(runtime)] == [
        "Skills are folders of instructions for certain tasks. When a task fits one, read its SKILL.md first and "
        "follow it. Paths in it start at its folder.\nNew or changed skills:\n"
        f"In {folder}:\n- pdf: Does it."
    ]
    put(at, SKILL.format("pdf", "Does much more."))
    await runtime.submit("four")
    assert "- pdf: Does much more." in notices(runtime)[-1][1]
    at.unlink()
    await runtime.submit("five")
    assert notices(runtime)[-1] == ("skills", "Skills no longer there: pdf")
    assert len(notices(runtime)) == 3
    assert system(runtime) == before


async def test_a_rewind_that_takes_the_notice_out_brings_it_again(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says(str(n)) for n in range(8)])
    await runtime.submit("one")
    end = runtime.session.records[-1].seq
    skill(runtime.setup.cwd / ".claude/skills", "pdf")
    await runtime.submit("two")
    assert len(notices(runtime)) == 1
    runtime.emit(Rewound(end))
    assert notices(runtime) == []
    await runtime.submit("two again")
    assert len(notices(runtime)) == 1


async def test_skills_lists_them_with_tokens_origin_and_problems(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    (asked,) = run_line(runtime, "/skills")
    assert isinstance(asked, InThread)
    (nothing,) = asked.work()
    assert isinstance(nothing, Say)
    assert "No skills" in nothing.text
    skill(tmp_path / "home/.claude/skills", "pdf", "Reads \\e PDFs.")
    skill(runtime.setup.cwd / ".claude/skills", "pdf", "Mine.")
    put(runtime.setup.cwd / ".claude/skills/bad/SKILL.md", "---\nname: [\n  x\n---\n")
    put(runtime.setup.cwd / ".claude/commands/a b.md", "x")
    said, table = asked.work()
    assert isinstance(said, Say)
    lines = said.text.split("\n")
    assert len(lines) == 3
    assert "bad/SKILL.md: line 3" in lines[0]
    assert "has the same name" in lines[1]
    assert "a b.md: invalid command name" in lines[2]
    assert isinstance(table, Table)
    assert [(row[0], row[4]) for row in table.rows] == [("/pdf", "Mine.")]
    assert "The whole list takes" in table.note


async def test_problems_are_told_once(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("a"), says("b")])
    for number in range(9):
        put(runtime.setup.cwd / f".claude/skills/s{number}/SKILL.md", "# Only a heading")
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    await runtime.submit("one")
    await runtime.submit("two")
    assert len(told) == 6
    assert told[-1] == "4 more files are not used; /skills lists them."


@pytest.mark.parametrize("words", ["one", "/one"])
async def test_an_agent_with_an_error_is_told(tmp_path: Path, words: str) -> None:
    runtime = start(tmp_path, [says("a")])
    put(runtime.setup.cwd / ".claude/agents/bad.md", "---\nname: [\n---\nDo it.")
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    await runtime.submit(words)
    assert len(told) == 1
    assert ".claude/agents/bad.md: name: invalid name" in told[0]


async def test_a_skill_is_called_by_its_name(tmp_path: Path) -> None:
    at = skill(tmp_path / "home/.claude/skills", "pdf")
    runtime = start(tmp_path, [says("Done.")])
    assert list(run_line(runtime, "/pdf page 2")) == [Submit("/pdf page 2")]
    await runtime.submit("/pdf page 2")
    assert said(runtime) == [f"Use the skill pdf: read {at} and follow it.\n\npage 2"]


@pytest.mark.parametrize(
    ("body", "arguments", "prompt"),
    [
        ("Fix $ARGUMENTS.", "12 'a b'", "Fix 12 'a b'."),
        ("From $0 to $ARGUMENTS[1], $2, $10.", "a 'b c'", "From a to b c, $2, $10."),
        ("Fix $issue on $issue-branch, $other, $HOME.", "12", "Fix 12 on , $other, $HOME."),
        ("It costs \\$1.00 or \\\\$0.", "5", "It costs $1.00 or \\\\5."),
        ("Run {dir}/x.py.", "now", "Run {folder}/x.py.\n\nARGUMENTS: now"),
        ("State: !`echo $0 in`", "'two three'", "State: two three in"),
    ],
)
async def test_a_skill_gets_its_arguments_as_in_claude_code(
    tmp_path: Path, body: str, arguments: str, prompt: str
) -> None:
    runtime = start(tmp_path, [says("Done.")])
    folder = tmp_path / "home/.claude/skills/fix"
    head = "---\nname: fix\ndescription: Fixes.\narguments: [issue, issue-branch]\n---\n"
    put(folder / "SKILL.md", head + body.replace("{dir}", "${CLAUDE_SKILL_DIR}"))
    await runtime.submit(f"/fix {arguments}")
    assert said(runtime) == [
        f"Follow the skill fix, whose folder is {folder}:\n\n" + prompt.replace("{folder}", str(folder))
    ]


# Commands ----------------------------------------------------------------------------------------------------


async def test_a_command_is_offered_with_its_origin_and_becomes_a_prompt(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")])
    put(
        tmp_path / "home/.config/prunecli/commands/git/fix.md",
        "---\nargument-hint: [issue]\n---\nFix $1 as in @notes.md.",
    )
    put(runtime.setup.cwd / "notes.md", "x")
    rows = {name: text for name, text, _ in offered(runtime)}
    assert rows["git:fix"] == "[issue] · Fix $1 as in @notes.md. (user)"
    assert list(run_line(runtime, "/git:fix 12")) == [Submit("/git:fix 12")]
    await runtime.submit("/git:fix 12")
    assert said(runtime) == ["Fix 12 as in @notes.md.", "[attached: notes.md]"]


async def test_a_command_that_comes_to_nothing_is_refused_like_a_blank_prompt(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("never")])
    put(tmp_path / "home/.config/prunecli/commands/say.md", "$ARGUMENTS")
    with pytest.raises(UsageError, match="blank"):
        await runtime.submit("/say")
    assert runtime.session.records == []


async def test_a_new_command_appears_and_none_shadows_one_of_prunecli(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")])
    folder = runtime.setup.cwd / ".prunecli/commands"
    (unknown,) = run_line(runtime, "/mine")
    assert isinstance(unknown, Say)
    for name in ("mine", "model", "review", "exit"):
        put(folder / f"{name}.md", "Own text.")
    assert list(run_line(runtime, "/mine")) == [Submit("/mine")]
    names = [name for name, _, _ in offered(runtime)]
    assert names.count("model") == names.count("review") == 1
    assert {name for name, _, _ in offered(runtime)} >= {command.name for command in all_commands()}
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    await runtime.submit("/review")
    assert "Own text" not in said(runtime)[0]
    rename = "is prunecli's own command; rename this one to call it"
    assert told == [f"{folder}/review.md: /review {rename}"]
    skill(runtime.setup.cwd / ".prunecli/skills", "cost")
    *lines, table = run_line(runtime, "/help")
    assert isinstance(table, Table)
    exit_, model, cost = (folder / "exit.md", folder / "model.md", folder.parent / "skills/cost/SKILL.md")
    expected = [
        f"{path}: /{name} {rename}" for path, name in ((exit_, "exit"), (model, "model"), (cost, "cost"))
    ]
    assert [one.text for one in lines if isinstance(one, Say)] == expected
    (asked,) = run_line(runtime, "/skills")
    assert isinstance(asked, InThread)
    listed = asked.work()[0]
    assert isinstance(listed, Say)
    assert listed.text.split("\n") == [*told, *expected]


async def test_a_projects_command_says_once_what_it_allows_and_whom_it_replaces(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done."), says("Done.")])
    ours, mine = runtime.setup.cwd / ".claude/commands/ship.md", tmp_path / "home/.claude/commands/ship.md"
    put(ours, "---\nallowed-tools: Bash(*), Edit\n---\nShip it.")
    put(mine, "Ship mine.")
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    for _ in range(2):
        await runtime.submit("/ship")
    assert told == [
        f"{mine}: {ours} has the same name",
        "/ship of this project lets these run without asking until it is done: bash(*), edit",
    ]


async def test_while_the_agent_works_no_command_starts(tmp_path: Path) -> None:
    gate = asyncio.Event()
    runtime = start(tmp_path, [Scripted((Text("Done."),), until=gate)])
    put(runtime.setup.cwd / ".claude/commands/x.md", "Go.")
    running = asyncio.create_task(runtime.submit("work"))
    while not runtime.running:
        await asyncio.sleep(0)
    for line in ("/x", "/init", "/review"):
        (answer,) = run_line(runtime, line)
        assert isinstance(answer, Say)
        assert "The agent is working" in answer.text
    gate.set()
    await running


async def test_words_that_are_no_command_stay_a_prompt(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done."), says("Done.")])
    await runtime.submit("/etc/passwd is what?")
    await runtime.submit("/nope")
    assert said(runtime) == ["/etc/passwd is what?", "/nope"]


async def test_a_shell_command_of_a_prompt_asks_and_its_output_is_inserted(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")])
    put(runtime.setup.cwd / ".claude/commands/x.md", "Before\n!`touch made; echo $1 out`\nafter")
    asked = asking(runtime)
    await runtime.submit("/x my")
    assert [one.call.input["command"] for one in asked] == ["touch made; echo my out"]
    assert said(runtime) == ["Before\nmy out\n\nafter"] or said(runtime) == ["Before\nmy out\nafter"]
    assert (runtime.setup.cwd / "made").exists()


async def test_a_harmless_command_runs_without_a_question_and_its_output_is_bounded(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")])
    put(runtime.setup.cwd / "long.txt", "x" * 100_000)
    put(runtime.setup.cwd / ".claude/commands/x.md", "!`cat long.txt`")
    asked = asking(runtime)
    await runtime.submit("/x")
    assert asked == []
    assert 20_000 < len(said(runtime)[0]) < 40_000


async def test_a_denied_shell_command_sends_nothing(tmp_path: Path) -> None:
    runtime = start(tmp_path, [])
    put(runtime.setup.cwd / ".claude/commands/x.md", "!`touch made`")
    with pytest.raises(UsageError, match=r"/x: denied: touch made \(a headless run cannot ask"):
        await runtime.submit("/x")
    assert said(runtime) == []
    assert not (runtime.setup.cwd / "made").exists()


@pytest.mark.parametrize("kind", ["plan", "untrusted", "deny", "ask"])
async def test_allowed_tools_overrule_no_deny_rule_no_plan_mode_and_no_missing_trust(
    tmp_path: Path, kind: str
) -> None:
    sets = {"deny": ('permissions.deny=["bash(touch:*)"]',), "ask": ('permissions.ask=["bash(touch:*)"]',)}
    runtime = start(tmp_path, [], sets=sets.get(kind, ()), trusted=kind != "untrusted")
    put(
        tmp_path / "home/.claude/commands/x.md",
        "---\nallowed-tools: Bash(touch:*), Edit\n---\n!`touch made`",
    )
    if kind == "plan":
        runtime.gatekeeper.mode = "plan"
    with pytest.raises(UsageError, match="denied"):
        await runtime.submit("/x")
    assert not (runtime.setup.cwd / "made").exists()


async def test_allowed_tools_hold_for_the_run_of_the_prompt_only(tmp_path: Path) -> None:
    touch = [ToolUse(f"t{n}", "bash", {"command": f"touch made{n}"}) for n in range(2)]
    runtime = start(tmp_path, [calls(touch[0]), says("Done."), calls(touch[1]), says("Done.")])
    put(runtime.setup.cwd / ".claude/commands/x.md", "---\nallowed-tools: Bash(touch:*), Nope(x)\n---\nGo.")
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    asked = asking(runtime, "deny")
    await runtime.submit("/x")
    assert asked == []
    assert any(("allowed-tools" in text and "Nope" in text) or "nope" in text for text in told)
    await runtime.submit("go on")
    assert [one.call for one in asked] == [touch[1]]
    assert sorted(os.listdir(runtime.setup.cwd)) == [".claude", "made0"]


async def test_a_skills_allowed_tools_hold_for_the_prompt_that_calls_it_only(tmp_path: Path) -> None:
    touch = [ToolUse(f"t{n}", "bash", {"command": f"touch made{n}"}) for n in range(3)]
    script = [step for one in touch for step in (calls(one), says("Done."))]
    runtime = start(tmp_path, script)
    text = "---\nname: maker\ndescription: Makes.\nallowed-tools: Bash(touch:*) Read\n---\nTouch it."
    put(runtime.setup.cwd / ".claude/skills/maker/SKILL.md", text)
    asked = asking(runtime, "deny")
    await runtime.submit("use the skill maker")
    assert [one.call for one in asked] == [touch[0]], "the model's own use of it grants nothing"
    await runtime.submit("/maker please")
    assert len(asked) == 1
    await runtime.submit("go on")
    assert [one.call for one in asked] == [touch[0], touch[2]]
    assert sorted(os.listdir(runtime.setup.cwd)) == [".claude", "made1"]


async def test_listed_tools_that_are_not_enabled_are_named_once(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done.")], sets=['tools.enabled=["read","task"]'])
    here = runtime.setup.cwd / ".claude"
    fields = "description: Looks.\nTOOLS: WebFetch(domain:python.org), web_search, Read, mcp__x__y, Skill\n---\nLook."
    put(here / "agents/looker.md", f"---\nname: looker\n{fields.replace('TOOLS', 'tools')}")
    put(here / "commands/look.md", f"---\n{fields.replace('TOOLS', 'allowed-tools')}")
    (table,) = [one for one in run_line(runtime, "/agents") if isinstance(one, Table)]
    assert "looker: not enabled in [tools]: web_fetch, web_search, mcp" in table.note.split("\n")
    told: list[str] = []
    runtime.session.subscribe(lambda event: told.append(event.text) if isinstance(event, Notice) else None)
    await runtime.submit("/look")
    assert told[0].startswith("/look of this project lets these run")
    assert told[1:] == ["/look: allowed-tools: not enabled in [tools]: web_fetch, web_search, mcp."]


@pytest.mark.parametrize("kind", ["deny", "plan"])
async def test_a_skills_allowed_tools_overrule_no_deny_rule_and_no_plan_mode(
    tmp_path: Path, kind: str
) -> None:
    sets = ('permissions.deny=["bash(touch *)"]',) if kind == "deny" else ()
    touch = ToolUse("t", "bash", {"command": "touch made"})
    runtime = start(tmp_path, [calls(touch), says("Done.")], sets=sets)
    text = "---\nname: maker\ndescription: Makes.\nallowed-tools: Bash(touch:*)\n---\nTouch it."
    put(runtime.setup.cwd / ".claude/skills/maker/SKILL.md", text)
    runtime.gatekeeper.mode = "plan" if kind == "plan" else "ask"
    await runtime.submit("/maker")
    assert not (runtime.setup.cwd / "made").exists()


async def test_a_commands_model_answers_its_run_and_then_the_sessions_again(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Done."), says("Done.")])
    before = runtime.model_name
    put(runtime.setup.cwd / ".claude/commands/x.md", "---\nmodel: claude-haiku-4-5\n---\nGo.")
    await runtime.submit("/x")
    changes = [
        record.event.value
        for record in runtime.session.records
        if isinstance(record.event, SettingChanged) and record.event.key == "model.name"
    ]
    assert changes == ["claude-haiku-4-5", before]
    assert runtime.model_name == before


# Instructions of subfolders ----------------------------------------------------------------------------------


def reading(*paths: str) -> list[object]:
    return [*(calls(ToolUse(f"t{n}", "read", {"path": path})) for n, path in enumerate(paths)), says("Done.")]


async def test_instructions_of_a_subfolder_are_given_once_when_a_file_there_is_read(tmp_path: Path) -> None:
    runtime = start(tmp_path, [*reading("a/b/x.txt", "a/b/y.txt"), *reading("a/b/x.txt")])
    work = runtime.setup.cwd
    for name in ("a/b/x.txt", "a/b/y.txt"):
        put(work / name, "text")
    put(work / "a/AGENTS.md", "Outer. See @more.md and @none.md.")
    put(work / "a/more.md", "Imported.")
    put(work / "a/b/CLAUDE.md", "Inner.")
    said = list[str]()
    runtime.session.subscribe(lambda event: said.append(event.text) if isinstance(event, Notice) else None)
    await runtime.submit("go")
    await runtime.submit("again")
    assert said == [f"{work}/a/AGENTS.md: @none.md was not imported: it does not exist."]
    assert notices(runtime) == [
        (
            "instructions of a",
            f'<instructions file="{work}/a/AGENTS.md">\nOuter. See @more.md and @none.md.\n</instructions>\n'
            f'<instructions file="{work}/a/more.md">\nImported.\n</instructions>',
        ),
        ("instructions of a/b", f'<instructions file="{work}/a/b/CLAUDE.md">\nInner.\n</instructions>'),
    ]


async def test_a_file_that_is_a_link_gets_the_instructions_of_the_folder_it_is_in(tmp_path: Path) -> None:
    runtime = start(tmp_path, reading("links/x.txt"))
    put(runtime.setup.cwd / "a/x.txt", "text")
    put(runtime.setup.cwd / "a/AGENTS.md", "Rule.")
    put(runtime.setup.cwd / "links/AGENTS.md", "Not for that file.")
    (runtime.setup.cwd / "links/x.txt").symlink_to("../a/x.txt")
    await runtime.submit("go")
    assert [title for title, _ in notices(runtime)] == ["instructions of a"]


async def test_a_rule_is_given_once_when_a_file_that_it_is_for_is_read(tmp_path: Path) -> None:
    read = reading("src/a.ts", "src/b.tsx", "readme.md", "src/c.ts", "pkg/lib/x.py", "pkg/x.py")
    runtime = start(tmp_path, read)
    work = runtime.setup.cwd
    for name in ("src/a.ts", "src/b.tsx", "readme.md", "src/c.ts", "pkg/lib/x.py", "pkg/x.py"):
        put(work / name, "text")
    put(work / ".claude/rules/ts.md", "---\npaths: src/**/*.{ts,tsx}, *.vue\n---\nUse types. @more.md")
    put(work / ".claude/rules/more.md", "---\npaths:\n  - '**/*.go'\n---\nMore.")
    put(work / "pkg/.claude/rules/lib.md", "---\npaths: lib/*.py\n---\nLibrary.")
    put(tmp_path / "home/.claude/rules/docs.md", "---\npaths: ['*.md']\n---\nShort lines.")
    await runtime.submit("go")
    given = dict(notices(runtime))
    assert len(given) == len(notices(runtime))
    ours = ("instructions of .claude/rules/ts.md", "instructions of pkg/.claude/rules/lib.md")
    mine = f"instructions of {tmp_path}/home/.claude/rules/docs.md"
    assert given.keys() == {*ours, mine}
    assert f'file="{work}/.claude/rules/ts.md">\nUse types. @more.md\n</instructions>' in given[ours[0]]
    assert "Library." in given[ours[1]]
    assert "Short lines." in given[mine]
    table = next(one for one in run_line(runtime, "/memory") if isinstance(one, Table))
    assert ".claude/rules/ts.md (used here)" in [row[0] for row in table.rows]


async def test_changed_instructions_are_given_again_on_the_next_read_there(tmp_path: Path) -> None:
    runtime = start(tmp_path, [*reading("a/x.txt"), says("Nothing read."), *reading("a/x.txt")])
    put(runtime.setup.cwd / "a/x.txt", "text")
    at = put(runtime.setup.cwd / "a/AGENTS.md", "Old.")
    await runtime.submit("go")
    put(at, "New.")
    await runtime.submit("talk")
    assert len(notices(runtime)) == 1
    await runtime.submit("read")
    assert "New." in notices(runtime)[-1][1]
    assert len(notices(runtime)) == 2


async def test_after_a_rewind_instructions_are_given_with_the_next_read(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hi."), *reading("a/x.txt"), says("Nothing read."), *reading("a/x.txt")])
    put(runtime.setup.cwd / "a/x.txt", "text")
    put(runtime.setup.cwd / "a/AGENTS.md", "Rule.")
    await runtime.submit("hello")
    end = runtime.session.records[-1].seq
    await runtime.submit("go")
    assert len(notices(runtime)) == 1
    runtime.emit(Rewound(end))
    await runtime.submit("talk")
    assert notices(runtime) == []
    await runtime.submit("read")
    assert len(notices(runtime)) == 1


async def test_after_a_compaction_instructions_are_given_with_the_next_read(tmp_path: Path) -> None:
    long = says("A long answer, word for word. " * 300)
    script = [says("One."), *reading("a/x.txt")[:-1], long, long, says("Not one."), says("A summary.")]
    script += reading("a/x.txt")
    sets = ("compaction.keep_recent_turns=1", "compaction.keep_first_turns=1")
    runtime = start(tmp_path, script, sets=sets)
    put(runtime.setup.cwd / "a/x.txt", "text of a file\n" * 400)
    put(runtime.setup.cwd / "a/AGENTS.md", "Rule.")
    await runtime.submit("hello")
    await runtime.submit("go")
    assert len(notices(runtime)) == 1
    await runtime.submit("two")
    assert await runtime.compact()
    assert any(isinstance(record.event, CompactionApplied) for record in runtime.session.records)
    before = len(notices(runtime))
    await runtime.submit("read again")
    assert (before, len(notices(runtime))) == (0, 1)


async def test_no_instructions_are_given_untrusted_from_outside_or_for_a_failed_call(tmp_path: Path) -> None:
    runtime = start(tmp_path, reading("a/x.txt"), trusted=False)
    put(runtime.setup.cwd / "a/x.txt", "text")
    put(runtime.setup.cwd / "a/AGENTS.md", "Rule.")
    await runtime.submit("go")
    assert notices(runtime) == []
    other = start(tmp_path, reading("a/none.txt", "link/x.txt", "../beside/x.txt", "b/x.txt"), work="other")
    put(tmp_path / "beside/x.txt", "text")
    put(tmp_path / "beside/AGENTS.md", "Rule.")
    put(other.setup.cwd / "a/AGENTS.md", "Rule.")
    put(other.setup.cwd / "b/x.txt", "text")
    (other.setup.cwd / "b/AGENTS.md").symlink_to(tmp_path / "beside/AGENTS.md")
    (other.setup.cwd / "link").symlink_to(tmp_path / "beside")
    asking(other)
    await other.submit("go")
    assert notices(other) == []
