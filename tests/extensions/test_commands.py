"""Command files: their fields, and the pieces of the prompts that they make."""

import subprocess
from pathlib import Path

import pytest

from prunecli.features.skills_and_memory.command_files import CustomCommand, Shell, command_of, rule_of
from prunecli.runtime.definition_folders import Folder, Found
from prunecli.util.errors import ConfigError


def made(tmp_path: Path, text: str, name: str = "x.md") -> CustomCommand:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return command_of(Found(path, Folder(tmp_path, "project"), (0, 0, 0)))


def test_a_command_in_the_documented_form(tmp_path: Path) -> None:
    command = made(
        tmp_path,
        "---\nallowed-tools: Bash(git add:*), Bash(git status:*), Read, mcp__github__get_issue\n"
        "argument-hint: [message] [scope]\ndescription: Create a commit\nmodel: haiku\n---\n\nCommit: $1 in $2\n",
        "git/commit.md",
    )
    assert command.name == "git:commit"
    assert (command.help, command.hint, command.model) == ("Create a commit", "[message] [scope]", "haiku")
    assert command.rules == ("bash(git add:*)", "bash(git status:*)", "read", "mcp(github:get_issue)")
    assert list(command.pieces("'fix it' all")) == ["Commit: fix it in all"]


def test_without_front_matter_the_first_line_is_the_help(tmp_path: Path) -> None:
    assert made(tmp_path, "# Fix \x1b[31mthe issue\nmore").help == "Fix ␛[31mthe issue"


@pytest.mark.parametrize(
    ("body", "arguments", "prompt"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$1-$2-$3", "a 'b c'", "a-b c-"),
        ("$1", "it's", "it's"),
        ("$ARGUMENTS[1], $ARGUMENTS[0], $ARGUMENTS[7].", "a 'b c'", "b c, a, ."),
        ("$10 $0 $x $ARGUMENTSX", "a", "$10 $0 $x $ARGUMENTSX\n\nArguments: a"),
        ("Do it", "quickly", "Do it\n\nArguments: quickly"),
        ("Do it", "", "Do it"),
        ("$ARGUMENTS", "$1 $ARGUMENTS \\1", "$1 $ARGUMENTS \\1"),
    ],
)
def test_arguments_are_filled_in(tmp_path: Path, body: str, arguments: str, prompt: str) -> None:
    assert "".join(str(one) for one in made(tmp_path, body).pieces(arguments)) == prompt


def test_shell_commands_are_pieces_and_an_argument_cannot_become_one(tmp_path: Path) -> None:
    command = made(tmp_path, "Status: !`git status`\n!`git log $1`\nText `!`x`` a!`b` $ARGUMENTS")
    pieces = list(command.pieces("!`rm x` y"))
    assert [one for one in pieces if isinstance(one, Shell)] == [Shell("git status"), Shell("git log '!`rm'")]
    assert pieces[-1] == "\nText `!`x`` a!`b` !`rm x` y"
    assert list(made(tmp_path, "!`git log $1`").pieces("x"))[-1] == "", "named in a command only"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("$ARGUMENTS", ["don't", "try", "this;", "$(x)", "*"]),
        ("$1 --a=$2 $9", ["don't", "--a=try"]),
        ('"$ARGUMENTS" $1', ["don't try this; $(x) *", "don't"]),
        ("'<$ARGUMENTS>'", ["<don't try this; $(x) *>"]),
        ('"it\\"s $1" "$(printf %s $2)" \'a\'$1', ["it\"s don't", "try", "adon't"]),
        ("\"$(printf '%s' '$1')\" $( (printf %s '$1') )", ["don't", "don't"]),
    ],
)
def test_arguments_arrive_in_a_shell_command_as_words(tmp_path: Path, command: str, words: list[str]) -> None:
    _, shell, *_ = made(tmp_path, f"!`printf '%s\\n' {command}`").pieces("don't try this; $(x) *")
    assert isinstance(shell, Shell)
    assert subprocess.check_output(["bash", "-c", shell.command], text=True).splitlines() == words


@pytest.mark.parametrize("name", ["a b.md", "1x.md", "x.y.md", "a\x1b.md", "-x.md", "ok/a b.md"])
def test_a_name_that_cannot_be_typed_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="invalid command name") as error:
        made(tmp_path, "x", name)
    assert error.value.message.isprintable()


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no text"):
        made(tmp_path, "---\ndescription: x\n---\n\n")


def test_tools_of_claude_code_become_rules() -> None:
    given = ("Bash", "Edit(src/**)", "MultiEdit", "Glob", "mcp__x", "Bash(npm run test:*)")
    rules = ["bash", "edit(src/**)", "edit", "find", "mcp(x:*)", "bash(npm run test:*)"]
    given += ("WebFetch(domain:python.org)", "WebSearch", "TodoWrite")
    rules += ["web_fetch(python.org)", "web_search", "todo"]
    assert [rule_of(one) for one in given] == rules
