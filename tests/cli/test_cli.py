"""The command line: subcommand or prompt, flags, errors as one line and one hint."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prunecli import __version__
from prunecli.cli.app import app
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.session.session import Session
from prunecli.util.errors import SessionReadOnly
from tests import preloaded
from tests.cli.running import kept_session, prunecli, with_endpoint, work_of
from tests.endpoint import Reply, serve


def test_the_version_is_shown(environ: dict[str, str]) -> None:
    assert prunecli(environ, "--version").stdout == f"prunecli {__version__}\n"


def test_help_names_flags_and_subcommands(environ: dict[str, str]) -> None:
    done = prunecli(environ, "--help")
    for word in (
        "--print",
        "--continue",
        "--resume",
        "--permission-mode",
        "sessions",
        "config",
        "trust",
        "login",
    ):
        assert word in done.stdout, word


def test_without_a_terminal_the_hint_names_the_way_out(environ: dict[str, str]) -> None:
    for words in ((), ("hello",)):
        done = prunecli(environ, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "-p" in done.stderr
        assert len(done.stderr.splitlines()) == 2


def test_without_a_key_print_fails_with_a_hint(environ: dict[str, str]) -> None:
    done = prunecli(environ, "-p", "hello")
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_the_demo_model_needs_no_key(environ: dict[str, str]) -> None:
    done = prunecli(environ, "-p", "--model", "demo", "--trust", "hello")
    assert done.returncode == 0, done.stderr
    assert "not a language model" in done.stdout


@pytest.mark.parametrize("more", [(), ("-c",)])
def test_a_blank_prompt_is_refused_in_one_line_and_a_hint(
    environ: dict[str, str], more: tuple[str, ...]
) -> None:
    assert prunecli(environ, "-p", "--model", "demo", "hello").returncode == 0
    done = prunecli(environ, "-p", "--model", "demo", *more, " ")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "prunecli: the prompt is empty"
    assert len(done.stderr.splitlines()) == 2


def test_blank_content_of_stream_json_is_refused_in_one_line(environ: dict[str, str]) -> None:
    line = '{"type":"user","message":{"role":"user","content":" "}}'
    done = prunecli(environ, "-p", "--model", "demo", "--input-format", "stream-json", given=line)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "prunecli: standard input: line 1: the message is empty"


def test_piped_input_is_appended_to_the_prompt(environ: dict[str, str]) -> None:
    with serve([Reply("Ok.")]) as endpoint:
        done = prunecli(with_endpoint(environ, endpoint), "-p", "explain this:", given="the input\n")
        assert done.stdout == "Ok.\n", done.stderr
        assert b"explain this:\\n\\nthe input" in endpoint.requests[0].body


def test_a_prompt_starts_without_the_input_that_never_comes(environ: dict[str, str]) -> None:
    running: list[Any] = []

    def answer(_: Any, __: int) -> Reply:
        running[0].stdin.write(b"too late")
        return Reply("Ok.")

    with serve(answer) as endpoint:
        words = ["-p", "hello", "--output-format", "json"]
        env = with_endpoint(environ, endpoint)
        with preloaded.piped(words, cwd=work_of(environ), env=env) as program:
            running.append(program)
            assert program.wait(60) == 0
            result = json.loads(program.stdout.read())
            line = program.stderr.readline().decode()
    assert line.startswith("prunecli: No input came; starting without it; use < /dev/null")
    assert result["result"] == "Ok."
    assert result["notices"][-1] == "Standard input that came after the start was left out"


def test_input_that_does_not_end_is_refused_at_the_size_of_a_request(environ: dict[str, str]) -> None:
    with preloaded.piped(["-p", "hi", "--model", "demo"], cwd=work_of(environ), env=environ) as program:
        with contextlib.suppress(BrokenPipeError):
            while True:
                program.stdin.write(b"y\n" * 100_000)
        assert program.wait(60) == 2
        assert program.stderr.read().decode().splitlines() == [
            "prunecli: standard input is over the limit of 24.0 MB",
            "save it to a file and name the file, or send only the relevant part",
        ]


def test_options_may_follow_the_prompt_and_a_subcommand_after_dashes_is_a_prompt(
    environ: dict[str, str],
) -> None:
    with serve([Reply("One."), Reply("Two.")]) as endpoint:
        env = with_endpoint(environ, endpoint)
        assert prunecli(env, "sum it up", "-p", "--output-format", "json").returncode == 0
        assert prunecli(env, "-p", "--", "sessions").stdout == "Two.\n"
        assert b'"sessions"' in endpoint.requests[1].body


def test_the_last_session_is_continued_and_a_fork_leaves_it_alone(environ: dict[str, str]) -> None:
    with serve([Reply("One."), Reply("Two."), Reply("Three.")]) as endpoint:
        env = with_endpoint(environ, endpoint)
        prunecli(env, "-p", "first")
        assert prunecli(env, "-p", "-c", "second").stdout == "Two.\n"
        assert prunecli(env, "-p", "-c", "--fork", "third").stdout == "Three.\n"
        assert endpoint.rejected == []
        assert b"first" in endpoint.requests[2].body
        listed = json.loads(prunecli(env, "sessions", "list", "--json").stdout)
    assert len(listed) == 2
    for one in listed:
        verified = prunecli(env, "sessions", "verify", one["id"])
        assert (verified.returncode, "all good" in verified.stdout) == (0, True), verified.stdout


def test_no_session_keeps_none(environ: dict[str, str]) -> None:
    with serve([Reply("One.")]) as endpoint:
        env = with_endpoint(environ, endpoint)
        assert prunecli(env, "-p", "--no-session", "first").returncode == 0
        assert prunecli(env, "sessions", "list").stdout == "no sessions yet\n"


def test_max_turns_is_a_limit_with_its_own_exit_code(environ: dict[str, str]) -> None:
    from tests.endpoint import Call

    with serve([Reply([Call("ls")]), Reply([Call("ls")])]) as endpoint:
        done = prunecli(with_endpoint(environ, endpoint), "-p", "--max-turns", "1", "go")
        assert done.returncode == 3
        assert "--max-turns" in done.stderr


def test_an_unknown_session_is_exit_code_4(environ: dict[str, str]) -> None:
    done = prunecli({**environ, "ANTHROPIC_API_KEY": "sk-ant-x"}, "-p", "-r", "2020", "go")
    assert done.returncode == 4
    assert "sessions list" in done.stderr


def test_a_wrong_option_names_its_key(environ: dict[str, str]) -> None:
    done = prunecli(environ, "-p", "--set", "pruning.pi.prune_minimum=20k", "go")
    assert done.returncode == 2
    assert "pruning.pi.prune_minimum: expected an integer" in done.stderr


def test_the_rules_of_flags_reach_the_judge(environ: dict[str, str]) -> None:
    from tests.endpoint import Call

    script = [Reply([Call("bash", {"command": "touch made"})]), Reply("Ok.")]
    with serve(script) as endpoint:
        words = ("-p", "--trust", "--allowed-tools", "bash(touch made),bash(ls)", "go")
        assert prunecli(with_endpoint(environ, endpoint), *words).returncode == 0
    assert (Path(environ["PRUNECLI_HOME"]).parent / "work" / "made").exists()


def test_trust_is_kept_and_taken_back(environ: dict[str, str]) -> None:
    assert "is trusted" in prunecli(environ, "trust").stdout
    assert "no longer" in prunecli(environ, "trust", "--remove").stdout


def test_no_control_byte_of_an_argument_is_echoed(environ: dict[str, str]) -> None:
    """A title sequence in a name would rename the terminal's window."""
    name = "x\x1b]0;y\x07"
    (work_of(environ) / name).mkdir()
    for words in (
        ("trust", name),
        ("trust", "missing" + name),
        ("trust", "one", name),
        ("--" + name,),
        ("sessions", "show", name),
        ("-p", "--model", name, "hello"),
    ):
        done = prunecli(environ, *words)
        shown = done.stdout + done.stderr
        assert "]0;y" in shown, words
        assert all(character == "\n" or character.isprintable() for character in shown), words


def test_the_help_begins_with_examples_then_commands_then_flags(environ: dict[str, str]) -> None:
    text = prunecli(environ, "--help").stdout
    assert text.index("Examples:") < text.index("Commands:") < text.index("Options:")
    assert text.count("Commands:") == 1


def test_config_is_shown_checked_and_made(environ: dict[str, str]) -> None:
    assert "pruning.strategy" in prunecli(environ, "config", "show", "--all").stdout
    differs = prunecli(environ, "--set", "pruning.strategy=pi", "config", "show").stdout.splitlines()
    assert "config.toml" in differs[0]
    assert differs[2] == 'pruning.strategy = "pi"    (flag --set)'
    assert re.fullmatch(r"\d+ values as built in: --all shows them", differs[-1])
    assert "does not exist" in prunecli(environ, "config", "path").stdout
    assert prunecli(environ, "config", "init").returncode == 0
    assert "no errors" in prunecli(environ, "config", "check").stdout
    path = Path(prunecli(environ, "config", "path").stdout.split("\n")[0])
    path.write_text("[pruning]\nstratgy = 'pi'\n")
    done = prunecli(environ, "config", "check")
    assert done.returncode == 2
    assert "strategy" in done.stderr


def test_login_keeps_the_key_in_a_file_of_the_users_own(environ: dict[str, str]) -> None:
    done = prunecli(environ, "login", given="sk-ant-secret-1\n")
    assert done.returncode == 0
    assert "sk-ant" not in done.stdout
    key = next(Path(environ["HOME"]).rglob("key"))
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_session_that_is_shown_is_not_called_read_only_each_time(environ: dict[str, str]) -> None:
    path = kept_session(environ)
    session = Session.load(path, Context(Chars4()), writable=False)
    assert session.read_only == "read-only: opened to view"
    with pytest.raises(SessionReadOnly, match="mine is read-only: opened to view") as refused:
        session.emit(UserMessage((Text("more"),)))
    assert "--fork" in refused.value.hint
    done = prunecli(environ, "sessions", "show", "mine")
    assert (done.returncode, done.stderr) == (0, "")
    assert "read-only" not in done.stdout


def test_tasks_are_listed_below_their_session_and_removed_with_it(environ: dict[str, str]) -> None:
    path = kept_session(environ)
    for number in (1, 2):
        parent = {"id": "mine", "seq": 1, "tool_use_id": f"call{number}"}
        name = f"mine-t{number}"
        started = SessionStarted(name, str(work_of(environ)), "m", parent=parent)
        task = Session(started, Context(Chars4()), path=path.with_name(f"{name}.jsonl"))
        task.emit(UserMessage((Text(f"look at part {number}"),)))
        task.close()
    kept_session(environ, "mine-too", said="something else")
    runner = CliRunner(env=environ)

    def lines(*words: str) -> list[str]:
        return runner.invoke(app, ["sessions", *words]).output.splitlines()

    assert sorted(line.split()[0] for line in lines("list")) == ["mine", "mine-too"]
    tree = [line for line in lines("list", "--tree") if "mine-too" not in line]
    assert [line.split("  ")[0] for line in tree] == ["mine", "├ mine-t1", "└ mine-t2"]
    assert "task: Look at part 1" in tree[1]
    rows = json.loads(runner.invoke(app, ["sessions", "list", "--json"]).output)
    parents = {row["id"]: row["parent"] for row in rows}
    assert parents["mine-t2"] == {"id": "mine", "seq": 1, "tool_use_id": "call2"}
    assert parents["mine"] is None
    asked = runner.invoke(app, ["sessions", "rm", "mine"], input="n\n")
    assert "and its 2 tasks?" in asked.output
    assert path.exists()
    assert lines("rm", "mine", "-y") == ["deleted mine and its 2 tasks"]
    assert sorted(one.name for one in path.parent.glob("*.jsonl")) == ["mine-too.jsonl"]


def test_sessions_can_be_read_in_the_typer_runner(environ: dict[str, str]) -> None:
    path = kept_session(environ)
    runner = CliRunner(env=environ)
    assert "what was said" in runner.invoke(app, ["sessions", "show", "mine"]).output
    audited = runner.invoke(app, ["sessions", "audit", "mine"])
    assert (audited.exit_code, "no answer" in audited.output) == (0, True), audited.output
    summary = json.loads(runner.invoke(app, ["sessions", "audit", "mine", "--json"]).output)["summary"]
    assert (summary["requests"], summary["not_proved"]) == (1, 1)
    assert "mine" in runner.invoke(app, ["sessions", "list", "--tree"]).output
    assert json.loads(runner.invoke(app, ["sessions", "list", "--json"]).output)[0]["parent"] is None
    verified = runner.invoke(app, ["sessions", "verify", str(path)])
    assert (verified.exit_code, "does not match" in verified.output) == (4, True)
    assert runner.invoke(app, ["sessions", "rm", "mine", "-y"]).exit_code == 0
    assert not path.exists()
    assert runner.invoke(app, ["sessions", "show", "mine"]).exit_code == 4
