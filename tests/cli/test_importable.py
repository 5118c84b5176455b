"""`prunecli sessions import` without a file: the sessions of other agents in this directory, to choose from."""

import json
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from prunecli.cli.app import app
from prunecli.features.import_sessions.importable import Importable
from tests.session.importers import stores

NAMES = ("codex.jsonl", "gemini.jsonl", "claude.jsonl", "pi.jsonl", "opencode.json")


def run(tmp_path: Path, *words: str, names: tuple[str, ...] = NAMES) -> Result:
    """The command in the directory of these sessions."""
    return called(tmp_path, "sessions", "import", *words, names=names)


def called(tmp_path: Path, *words: str, names: tuple[str, ...] = NAMES) -> Result:
    if not (tmp_path / "work").exists():
        stores.environment(tmp_path, *names, recorded=stores.HANDOFF)
    environ = {"HOME": str(tmp_path / "home"), "PRUNECLI_HOME": str(tmp_path / "data")}
    with chdir(tmp_path / "work" / "demo"):
        return CliRunner(env=environ).invoke(app, words)


def test_one_session_of_an_agent_can_be_inspected_and_replayed(tmp_path: Path) -> None:
    done = called(tmp_path, "context", "@codex:last", "--json")
    assert done.exit_code == 0, done.stderr
    assert "Read the notes." in done.stdout
    done = called(tmp_path, "replay", "@pi:last", "@codex:last", "--json", "--strategy", "no_pruning")
    assert done.exit_code == 0, done.stderr
    assert {row["agent"] for row in json.loads(done.stdout)["sessions"]} == {"pi", "codex"}
    for command in ("context", "replay"):
        done = called(tmp_path, command, "@codex:nothing-like-it")
        assert done.exit_code == 4
        assert "no session of Codex with id or name 'nothing-like-it'" in done.stderr
    assert not (tmp_path / "data").exists(), "nothing is imported"


def test_without_a_file_and_a_terminal_the_sessions_of_all_agents_are_listed(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split(":")[0].split("  ")[-1] for line in lines[:-1:2]] == [
        "OpenCode",
        "pi",
        "Claude Code",
        "Gemini CLI",
        "Codex",
    ], "newest first"
    assert all("3 prompts · " in line for line in lines[:-1:2])
    assert [line.split(":")[0].strip() for line in lines[1:-1:2]] == [
        "@opencode",
        "@pi",
        "@claude",
        "@gemini",
        "@codex",
    ]
    assert lines[-1] == "import one with: prunecli sessions import @AGENT:ID"
    rows = json.loads(run(tmp_path, "--json", "@pi").stdout)
    assert [(row["agent"], row["prompts"], row["first_prompt"]) for row in rows] == [
        ("@pi", 3, "Read the notes.")
    ]
    assert not (tmp_path / "data").exists(), "nothing is imported"
    named = lines[3].strip()
    done = run(tmp_path, named)
    assert "pi: 3 prompts, 6 responses, 3 results" in done.stdout


def test_a_listed_session_is_imported_by_id_or_as_the_last(tmp_path: Path) -> None:
    first = run(tmp_path, "--json", "@codex:last")
    [row] = json.loads(first.stdout)
    assert row["new"]
    done = run(tmp_path, f"@codex:{row['source']['id'][:12]}")
    assert "already imported" in done.stdout
    assert row["id"] in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["@vim"], 2, "no agent named '@vim'"),
        (["@vim:last"], 2, "no agent named '@vim'"),
        (["@claude:zzz"], 4, "no session of Claude Code with id or name 'zzz'"),
        (["@claude", "file.jsonl"], 2, "@claude: no session given"),
        (["missing.jsonl"], 4, "cannot read missing.jsonl"),
    ],
)
def test_what_cannot_be_found_is_said(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    done = run(tmp_path, *words)
    assert done.exit_code == code
    assert said in done.stderr


def test_no_sessions_and_damaged_files_are_said(tmp_path: Path) -> None:
    done = run(tmp_path, "@claude", names=("pi.jsonl",))
    assert done.stdout == f"no sessions of Claude Code in {tmp_path}/work/demo\n"
    done = run(tmp_path, "@claude:last", names=("pi.jsonl",))
    assert done.stderr.split() == f"prunecli: no session of Claude Code in {tmp_path}/work/demo".split()
    stores.put(tmp_path / "home/.claude/projects/x/odd.jsonl", b"not json\n")
    done = run(tmp_path)
    assert "odd.jsonl: no JSON in its first lines" in done.stderr
    assert "pi: Read the notes" in done.stdout


def test_in_a_terminal_numbers_choose_and_words_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ, cwd = stores.environment(tmp_path, *NAMES[:3], recorded=stores.HANDOFF)
    typed = iter(["4", "COLOR teal", "nowhere", "3, 1", ""])

    def ask(question: str) -> str:
        assert question == "numbers to import, words to search for, or Enter to cancel: "
        return next(typed)

    offered = Importable(environ, cwd)
    assert offered.paths_of([]) is None
    chosen = offered.choose(as_json=False, ask=ask)
    assert [path.name for path in chosen] == ["codex.jsonl", "claude.jsonl"]
    printed = capsys.readouterr().out
    assert "not a number from 1 to 3: 4" in printed
    found = printed.partition("not a number from 1 to 3: 4")[2].splitlines()
    assert [line.split(":")[0].strip() for line in found if "notes" in line] == [
        "1  Claude Code",
        "read",
        "2  Gemini CLI",
        "read",
        "3  Codex",
        "bash",
    ]
    assert "no matches" in printed
    assert offered.choose(as_json=False, ask=ask) == []

    def end(_: str) -> str:
        raise EOFError

    assert offered.choose(as_json=False, ask=end) == []
