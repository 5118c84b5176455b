"""Definitions of subagents in Claude Code's form and in ours, good and bad."""

from pathlib import Path

import pytest

from prunecli.features.subagents.definitions import EXPLORE, Definition, chosen, listing, parse
from prunecli.runtime.definition_folders import Folder, Shelf

CLAUDE = """---
name: code-reviewer
description: Reviews code. Use it proactively after edits.
tools: Read, Grep, Glob, Bash(git diff:*), WebFetch, TodoWrite, Skill, mcp__github__get_issue
disallowedTools: Write
model: sonnet
maxTurns: 12
color: purple
permissionMode: plan
---

You are a senior reviewer.

1. Run git diff.
"""


def looked(folder: Path, **files: str) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    shelved = Shelf(parse).look([Folder(folder, "user")])
    return shelved.definitions, shelved.problems


def test_a_definition_in_claude_codes_form_is_read_unchanged(tmp_path: Path) -> None:
    (found,), problems = looked(tmp_path, reviewer=CLAUDE)
    assert problems == ()
    assert (found.name, found.model, found.max_turns) == ("code-reviewer", "sonnet", 12)
    assert found.tools == ("read", "grep", "find", "bash", "web_fetch", "todo", "mcp")
    assert found.takes("bash")
    assert not found.takes("write")
    assert found.body == "You are a senior reviewer.\n\n1. Run git diff."
    assert found.notes == ("ignored: permissionMode", "no such tools here: Skill")
    assert found.origin == str(tmp_path / "reviewer.md")


def test_without_tools_it_has_all_but_those_denied(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: d\ndisallowedTools: [Bash]\n---\nx"
    (found,), _ = looked(tmp_path, a=text)
    assert found.tools is None
    assert found.takes("edit")
    assert not found.takes("bash")
    (none,), _ = looked(tmp_path, a="---\nname: a\ndescription: |\n  d\n  e\ntools: Task\n---\nx")
    assert (none.tools, none.description) == ((), "d e")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: a\n---\nx", "description: missing"),
        ("---\nname: a\ndescription: d\n---\n", "no system prompt below"),
        ("---\nname: a b\ndescription: d\n---\nx", "invalid name 'a b'"),
        ('---\nname: "a\\u001b[2J"\ndescription: d\n---\nx', "name: "),
        (
            "---\nname: a\ndescription: d\nmaxTurns: 0\n---\nx",
            "maxTurns: expected an integer of at least 1, got '0'",
        ),
        (
            "---\nname: a\ndescription: d\nmaxTurns: many\n---\nx",
            "maxTurns: expected an integer of at least 1, got 'many'",
        ),
        ("---\nname: a\ndescription: d\nmodel: two words\n---\nx", "model: 'two words'"),
        ("---\nname: {a\ndescription: d\n---\nx", "name: "),
        ("just text", "description: missing"),
    ],
)
def test_a_malformed_file_is_one_line_and_the_others_work(tmp_path: Path, text: str, said: str) -> None:
    found, (problem,) = looked(tmp_path, bad=text, good="---\nname: good\ndescription: d\n---\nx")
    assert [one.name for one in found] == ["good"]
    assert problem.startswith(str(tmp_path / "bad.md"))
    assert said in problem
    assert problem.isprintable()


def test_the_first_of_a_name_wins_and_the_built_in_one_can_be_replaced() -> None:
    mine, other = Definition("explore", "mine", "x"), Definition("explore", "other", "y")
    assert chosen([mine, other]) == {"explore": mine}
    assert chosen([]) == {"explore": EXPLORE}


def test_the_model_reads_nothing_of_the_built_in_one_and_a_bounded_list_of_others() -> None:
    assert listing(chosen([])) == ""
    assert listing(chosen([Definition("a", "does a", "x")])) == "Agents for task:\n- a: does a"
    many = chosen([Definition(f"agent{n}", "word " * 200, "x") for n in range(500)])
    text = listing(many)
    assert len(text) < 8_000
    assert "more: agent" in text.splitlines()[-1]
