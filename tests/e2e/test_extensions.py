"""Skills, commands and instructions of subfolders where thinking is bound: by keys, headless and through the API.

Nothing that appears in the middle of a session changes a byte of its system prompt or tools, and no thinking is lost.
"""

import json
import os
from pathlib import Path

import pytest

from prunecli.model.signals import Notice
from prunecli.providers.tokenizer import SHIPPED
from tests import preloaded
from tests.e2e.bound import OPUS, dropped, environment, session, turn
from tests.e2e.terminal import HAS_TMUX, ROOT, Terminal
from tests.endpoint import Call, Endpoint, Reply, serve
from tests.files import put

PROMPT = "Ask, or / for commands"

PUBLIC_SKILL = """\
---
name: report-maker
description: Makes quarterly reports from CSV files: use it when the user asks for figures, tables or a "report".
license: Complete terms in LICENSE.txt
compatibility: Python 3
allowed-tools: Bash(python3 *) Read
metadata:
  author: example-org
  version: "1.0"
---

# Report maker

Run `python3 scripts/total.py FILE`. See [the layout](references/layout.md).
"""


def public_skill(root: Path) -> Path:
    """A skill with the parts that published ones have."""
    folder = root / "report-maker"
    put(folder / "LICENSE.txt", "Free.")
    put(folder / "scripts/total.py", "print('total 42')\n")
    put(folder / "references/layout.md", "One table.")
    put(folder / "assets/logo.svg", "<svg/>")
    return put(folder / "SKILL.md", PUBLIC_SKILL)


async def test_a_commands_model_is_ignored_where_it_would_lose_thinking(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1)]) as endpoint, session(tmp_path, endpoint) as runtime:
        told: list[str] = []
        runtime.session.subscribe(
            lambda event: told.append(event.text) if isinstance(event, Notice) else None
        )
        put(runtime.setup.cwd / ".claude/commands/quick.md", "---\nmodel: haiku\n---\nQuick.")
        await runtime.submit("look")
        await runtime.submit("/quick")
    assert {request.json["model"] for request in endpoint.requests} == {OPUS}
    assert set(dropped(endpoint)) == {0}
    assert [text for text in told if "/quick asks for the model haiku" in text and "thinking" in text]


async def test_the_base_prompt_stays_below_two_thousand_tokens_with_everything_on(tmp_path: Path) -> None:
    async with Endpoint(turn(0)) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("look")
        preamble = runtime.session.context.preamble
    assert SHIPPED.count(b"".join([*preamble.system, *preamble.tools]).decode()) < 2_000


def test_headless_runs_a_command_with_its_shell_output_and_a_public_skill(tmp_path: Path) -> None:
    work = tmp_path / "work"
    script = public_skill(tmp_path / "home/.claude/skills").parent / "scripts/total.py"
    read = Reply([Call("read", {"path": str(script.parent.parent / "SKILL.md")})])
    run = Reply([Call("bash", {"command": f"python3 {script}"})])
    put(
        work / ".claude/commands/figures.md",
        f"---\nallowed-tools: Bash(python3 {script})\n---\nFiles:\n!`echo listed: $1`\nUse them.",
    )
    with serve([read, run, Reply("The total is 42.")]) as endpoint:
        environ = environment(tmp_path, endpoint) | {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        done = preloaded.run(["-p", "--trust", "--sandbox", "off", "/figures all"], cwd=work, env=environ)
        bodies = [request.json for request in endpoint.requests]
    assert done.returncode == 0, done.stderr
    assert "The total is 42." in done.stdout
    assert "Files:\\nlisted: all" in json.dumps(bodies[0]["messages"])
    assert "- report-maker: Makes quarterly reports" in json.dumps(bodies[0]["system"])
    assert "# Report maker" in json.dumps(bodies[1]["messages"]), "read without a question"
    assert "total 42" in json.dumps(bodies[2]["messages"])


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(160, 48, marks=pytest.mark.long)])
def test_skills_and_commands_by_keys(tmp_path: Path, columns: int, rows: int) -> None:
    work = tmp_path / "work"
    public_skill(tmp_path / "home/.claude/skills")
    put(
        work / ".claude/commands/git/note.md",
        "---\ndescription: Note \x1b[31mit\n---\nNote $1.\n!`touch made`",
    )
    put(work / ".claude/skills/bad/SKILL.md", "---\nname: bad\n---\n")
    with serve([Reply("Noted."), Reply("Reported.")]) as endpoint:
        environ = environment(tmp_path, endpoint) | {"PATH": os.environ["PATH"]}
        with Terminal(["--trust"], work, environ, columns, rows) as terminal:
            terminal.wait_for(PROMPT)
            terminal.type("/git")
            terminal.wait_for("/git:note Note ")
            terminal.wait_for("(project)")
            terminal.press("Tab")
            terminal.type("now")
            terminal.press("Enter")
            terminal.wait_for("SKILL.md: description is missing")
            terminal.answer("Run this command?", "y", "touch made")
            terminal.wait_for("Noted.")
            assert (work / "made").exists()
            put(work / ".claude/commands/later.md", "Later.")
            terminal.type("/late")
            terminal.wait_for("/later")
            terminal.press("Escape")
            terminal.press("C-u")
            terminal.say("/skills")
            terminal.wait_for("/report-maker")
            terminal.wait_for("tokens: of a description")
            terminal.press("Escape")
            terminal.wait_for(PROMPT)
            terminal.type("/report-maker ")
            terminal.type("for May")
            terminal.press("Enter")
            terminal.wait_for("✓ sent   3 lines")
            terminal.wait_for("Reported.")
            terminal.say("/quit")
            terminal.wait_until(lambda _: terminal.exit_code is not None, "the program to end")
            assert terminal.exit_code == 0
        bodies = [request.json for request in endpoint.requests]
    assert "Note now." in json.dumps(bodies[0]["messages"])
