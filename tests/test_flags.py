"""The main command's flags, read without a parser: starts, prompts, subcommands, and what is refused."""

import json
from pathlib import Path

import pytest

from prunecli.cli.flags import FLAGS, INSTANT, CommandLine, commands, read
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import PICKER, Launch


def launch(**fields: object) -> Launch:
    return Launch(**{"flags": {}, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], launch()),
        (["-c"], launch(continue_last=True)),
        (["--continue"], launch(continue_last=True)),
        (["-r"], launch(resume=PICKER)),
        (["--resume", "--fork"], launch(resume=PICKER, fork=True)),
        (["-r", "2026@17"], launch(resume="2026@17")),
        (["-r2026"], launch(resume="2026")),
        (["--resume", "a name"], launch(resume="a name")),
        (["-r", "id", "go", "on"], launch(resume="id", prompt="go on")),
        (["fix it"], launch(prompt="fix it")),
        (["fix", "it", "-p", "--max-turns", "3"], launch(prompt="fix it", headless=True, max_turns=3)),
        (
            ["-cp", "--max-cost=0.5", "more"],
            launch(continue_last=True, headless=True, max_cost=0.5, prompt="more"),
        ),
        (["--", "sessions", "-p"], launch(prompt="sessions -p")),
        (["-p", "-"], launch(headless=True, prompt="-")),
        (["tell me about sessions"], launch(prompt="tell me about sessions")),
        (["the", "sessions"], launch(prompt="the sessions")),
        (["--model", "opus", "--model", "haiku"], launch(flags={"--model": "haiku"})),
        (["--set", "a=1", "--set=b=2"], launch(sets=("a=1", "b=2"))),
        (["--config", "x.toml", "--theme="], launch(config_file=Path("x.toml"), flags={"--theme": ""})),
        (
            ["--output-format", "json", "--input-format", "stream-json"],
            launch(output_format="json", input_format="stream-json"),
        ),
        (
            ["--add-dir", "a", "--add-dir=b", "-n", " my\n work ", "--session-id", "3F-a_2"],
            launch(add_dirs=("a", "b"), name="my work", session_id="3F-a_2"),
        ),
        (
            ["-p", "--json-schema", "{}", "--append-system-prompt", "be brief", "x"],
            launch(headless=True, json_schema="{}", append_prompt="be brief", prompt="x"),
        ),
        (
            ["--append-system-prompt-file", "a/b.md", "-c", "--fork", "--session-id", "x"],
            launch(append_prompt_file=Path("a/b.md"), continue_last=True, fork=True, session_id="x"),
        ),
        (
            ["-p", "--output-format", "stream-json", "--include-partial-messages", "x"],
            launch(headless=True, output_format="stream-json", partial_messages=True, prompt="x"),
        ),
        (
            ["--no-session", "--trust", "--inline", "--plain"],
            launch(no_session=True, trust=True, inline=True, plain=True),
        ),
    ],
)
def test_flags_and_prompt_are_read_in_any_order(words: list[str], asked: Launch) -> None:
    assert read(words) == CommandLine(asked)


def test_rules_are_separated_by_commas_outside_of_brackets() -> None:
    flags = (
        read(["--allowed-tools", "bash(git add a,b), edit,", "--disallowed-tools", "bash"]).launch.flags or {}
    )
    assert json.loads(flags["--allowed-tools"]) == ["bash(git add a,b)", "edit"]
    assert json.loads(flags["--disallowed-tools"]) == ["bash"]


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (["--zzzz"], "--zzzz: no such flag", "--help"),
        (["--modell", "x"], "--modell: no such flag", "--model?"),
        (["-px"], "-x: no such flag", ""),
        (["--mod", "opus"], "--mod: no such flag", "--model?"),
        (["--model"], "--model: missing NAME", ""),
        (["--print=yes"], "--print: takes no value, got 'yes'", ""),
        (["--session-id", "../x"], "--session-id: expected a UUID, or 1 to 64 letters, digits, - and _", ""),
        (["--session-id", "a" * 65], "--session-id: expected", ""),
        (["--session-id", ""], "--session-id: expected", ""),
        (["--session-id", "x-t3"], "--session-id: x-t3: ids that end like -t1 are reserved for tasks", ""),
        (["--session-id", "x", "-c"], "--session-id: a resumed session keeps its id", "--fork"),
        (["--session-id", "x", "-r", "y"], "--session-id: a resumed session keeps its id", "--fork"),
        (["--session-id", "x", "-r", "--fork"], "--session-id: needs the session to copy", "--resume ID"),
        (["--name", " \n"], "--name: expected some text", ""),
        (["--add-dir", ""], "--add-dir: expected some text", ""),
        (["--resume", ""], "--resume: expected some text", ""),
        (["--append-system-prompt", " "], "--append-system-prompt: expected some text", ""),
        (
            ["--append-system-prompt", "a", "--append-system-prompt-file", "b"],
            "--append-system-prompt and --append-system-prompt-file: only one can be given",
            "",
        ),
        (["--json-schema", "{}", "x"], "--json-schema: needs -p", ""),
        (["--include-partial-messages", "-p", "x"], "--include-partial-messages: needs -p and", ""),
        (
            ["--include-partial-messages", "--output-format", "stream-json", "x"],
            "--include-partial-messages: needs -p and",
            "",
        ),
        (["--add-dir", "x", "doctor"], "--add-dir: has no effect on `prunecli doctor`", ""),
        (["--max-turns", "0"], "--max-turns: expected an integer of at least 1, got '0'", ""),
        (["--max-turns", "9" * 5000], "--max-turns: expected an integer", ""),
        (["--max-cost", "nan"], "--max-cost: expected a number of at least 0, got 'nan'", ""),
        (["--max-cost", "-1"], "--max-cost: expected a number of at least 0, got '-1'", ""),
        (
            ["--output-format", "xml"],
            "--output-format: expected one of text, json, stream-json, got 'xml'",
            "",
        ),
        (["--dangerously-skip-permissions"], "no such flag", "--permission-mode auto"),
        (["--yolo"], "no such flag", "--permission-mode auto"),
        (["--mode", "auto"], "no such flag", "--permission-mode"),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(words: list[str], problem: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(words)
    assert problem in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize("name", commands())
def test_a_first_word_that_is_a_subcommand_keeps_its_words(name: str) -> None:
    assert read([name, "--json", "-p"]).command == (name, "--json", "-p")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--set", "X=zz", "config", "check"], launch(sets=("X=zz",))),
        (["--config", "x", "config", "show"], launch(config_file=Path("x"))),
        (["--set", "a=1", "sessions", "stats"], launch(sets=("a=1",))),
        (["--model", "opus", "context", "id"], launch(flags={"--model": "opus"})),
        (["--plain", "demo"], launch(plain=True)),
        (["--trust", "doctor"], launch(trust=True)),
    ],
)
def test_flags_before_a_subcommand_are_kept_where_it_heeds_them(words: list[str], asked: Launch) -> None:
    line = read(words)
    assert line.launch == asked
    assert line.command


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--set", "a=1", "login"], "--set: has no effect on `prunecli login`"),
        (["-p", "config", "check"], "--print: has no effect on `prunecli config check`"),
        (["--config", "x", "sessions", "list"], "--config: has no effect on `prunecli sessions list`"),
        (["--config", "x", "config", "init"], "--config: has no effect on `prunecli config init`"),
        (["--model", "opus", "demo"], "--model: has no effect on `prunecli demo`"),
        (["-c", "context", "id"], "--continue: has no effect on `prunecli context`"),
        (["--model", "opus", "sessions", "stats"], "--model: has no effect on `prunecli sessions stats`"),
        (["--effort", "high", "doctor"], "--effort: has no effect on `prunecli doctor`"),
        (["--theme", "day", "acp"], "--theme: has no effect on `prunecli acp`"),
    ],
)
def test_flags_before_a_subcommand_that_would_do_nothing_are_refused(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(words)
    assert refused.value.message == problem


@pytest.mark.parametrize("name", INSTANT)
def test_some_flags_are_answered_whatever_else_is_asked_for(name: str) -> None:
    assert read(["-p", name, "--nope"]).at_once == name


def test_help_is_a_word_too_but_only_alone_or_before_a_subcommand() -> None:
    assert read(["help"]).at_once == "--help"
    assert read(["help", "sessions", "list"]).command == ("sessions", "list", "--help")
    for words, prompt in ((["help", "me"], "help me"), (["--", "help"], "help"), (["-p", "help"], "help")):
        assert read(words).launch.prompt == prompt


def test_each_flag_sets_something_that_a_start_knows() -> None:
    fields = set(Launch.__dataclass_fields__)
    assert {flag.field for flag in FLAGS if flag.field} <= fields


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("lsit", "prunecli sessions list"),
        ("sesions", "prunecli sessions"),
        ("doctro", "prunecli doctor"),
        ("upgrade", "prunecli update"),
        ("resme", "prunecli resume"),
    ],
)
def test_a_mistyped_command_or_one_of_other_agents_is_not_sent_to_a_model(word: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"No command '{word}'. Did you mean {meant}") as raised:
        read([word])
    assert raised.value.hint == f"to send it as a prompt: prunecli -- {word}"


@pytest.mark.parametrize(
    ("words", "resumed", "prompt"),
    [
        (["resume"], PICKER, ""),
        (["resume", "abc"], "abc", ""),
        (["--plain", "resume", "abc"], "abc", ""),
        (["resume", "--plain"], PICKER, ""),
        (["resume", "the", "work"], None, "resume the work"),
        (["-p", "resume"], None, "resume"),
        (["--", "resume"], None, "resume"),
        (["fix", "resume"], None, "fix resume"),
    ],
)
def test_resume_is_a_command_with_at_most_one_word(
    words: list[str], resumed: str | None, prompt: str
) -> None:
    launch = read(words).launch
    assert (launch.resume, launch.prompt) == (resumed, prompt)


@pytest.mark.parametrize(
    "words",
    [
        ["test"],
        ["fix"],
        ["hello"],
        ["explain"],
        ["lsit", "it"],
        ["-p", "lsit"],
        ["--", "lsit"],
        ["sesions list"],
    ],
)
def test_other_words_are_prompts(words: list[str]) -> None:
    assert read(words).launch.prompt == " ".join(word for word in words if not word.startswith("-"))
