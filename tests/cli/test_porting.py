"""`prunecli sessions import` and `export` on the command line: reports, exit codes, files."""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app

IMPORTS = sorted((Path(__file__).parents[1] / "imports").glob("*.gz"))


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[CliRunner]:
    with chdir(tmp_path):
        yield CliRunner(env={"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data")})


def imported(runner: CliRunner, *words: str) -> list[dict[str, object]]:
    done = runner.invoke(app, ["sessions", "import", "--json", *words])
    assert done.exit_code == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_every_sample_is_imported_listed_shown_and_verified(runner: CliRunner) -> None:
    rows = imported(runner, *map(str, IMPORTS))
    assert len({str(row["id"]) for row in rows}) == len(IMPORTS)
    listed = json.loads(runner.invoke(app, ["sessions", "list", "--json"]).stdout)
    assert {one["id"] for one in listed} == {row["id"] for row in rows}
    for row in rows:
        for command in ("show", "verify"):
            done = runner.invoke(app, ["sessions", command, str(row["id"])])
            assert done.exit_code == 0, done.stderr
    assert runner.invoke(app, ["context", str(rows[0]["id"]), "--json"]).exit_code == 0


def test_the_report_says_what_was_kept_what_was_not_and_how_to_go_on(
    runner: CliRunner, tmp_path: Path
) -> None:
    head = {"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    said = {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hi"}}
    other = {**said, "id": "2", "message": {"role": "user", "content": "else"}}
    label = {"type": "label", "id": "3", "parentId": "2", "targetId": "1", "label": "\x1b[2J"}
    lines = [json.dumps(one) for one in (head, said, other, label)]
    (tmp_path / "f").write_text("\n".join([*lines[:2], "{broken", *lines[2:]]))
    done = runner.invoke(app, ["sessions", "import", "f"])
    assert done.exit_code == 0
    assert "pi: 1 prompt, 0 responses, 0 results" in done.stdout
    assert "left out: 1 label" in done.stdout
    assert "skipped: line 3: " in done.stdout
    assert "1 other branches not imported" in done.stdout
    assert "continue with: prunecli --resume 20260101-000000-" in done.stdout
    again = runner.invoke(app, ["sessions", "import", "--branches", "f"])
    assert "already imported" in again.stdout
    assert "branch: 20260101-000000-" in again.stdout


def test_the_report_counts_what_programs_wrote_apart_and_names_files_of_subagents(runner: CliRunner) -> None:
    resumed = Path(__file__).parents[1] / "imports" / "resumed" / "claude-code-commands.jsonl.gz"
    done = runner.invoke(app, ["sessions", "import", str(resumed)])
    assert "claude-code: 4 prompts, 10 responses, 3 results, 3 commands and notices" in done.stdout
    assert "not imported: 1 subagent files (claude-code-commands/subagents;" in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"junk\n", "line 1: unknown session format"),
        (b'{"a":1}\n', "unknown session format"),
        (b"\x1f\x8b", "gzip"),
        (b'{"type":"session","cwd":1}', "no message"),
    ],
)
def test_a_file_that_is_no_session_is_exit_code_4_and_the_others_are_imported(
    runner: CliRunner, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "bad").write_bytes(content)
    done = runner.invoke(app, ["sessions", "import", "bad", str(IMPORTS[0])])
    assert done.exit_code == 4
    assert said in done.stderr
    assert "bad" in done.stderr
    assert "imported 2026" in done.stdout


def test_a_missing_file_and_a_folder_are_clear_errors(runner: CliRunner, tmp_path: Path) -> None:
    for name in ("missing", str(tmp_path)):
        done = runner.invoke(app, ["sessions", "import", name])
        assert done.exit_code == 4
        assert name in done.stderr


def test_a_session_is_exported_to_standard_output_or_a_new_file(runner: CliRunner, tmp_path: Path) -> None:
    [row] = imported(runner, str(IMPORTS[0]))
    plain = runner.invoke(app, ["sessions", "export", str(row["id"])])
    assert plain.stdout.startswith("# ")
    for name in ("html", "pi", "messages", "markdown"):
        done = runner.invoke(
            app, ["sessions", "export", str(row["id"]), "--format", name, "-o", f"out.{name}"]
        )
        assert done.exit_code == 0, done.stderr
        assert done.stdout == ""
        assert (tmp_path / f"out.{name}").stat().st_mode & 0o777 == 0o600
    refused = runner.invoke(app, ["sessions", "export", str(row["id"]), "-o", "out.html"])
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert (
        runner.invoke(app, ["sessions", "export", str(row["id"]), "-o", "out.html", "--force"]).exit_code == 0
    )


def test_a_file_of_another_agent_is_exported_without_being_imported(runner: CliRunner) -> None:
    done = runner.invoke(app, ["sessions", "export", str(IMPORTS[-1]), "-f", "messages"])
    assert json.loads(done.stdout)["messages"][0]["role"] == "user"
    assert json.loads(runner.invoke(app, ["sessions", "list", "--json"]).stdout) == []


def test_unknown_formats_and_sessions_are_clear_errors(runner: CliRunner) -> None:
    assert runner.invoke(app, ["sessions", "export", str(IMPORTS[0]), "-f", "docx"]).exit_code == 2
    assert runner.invoke(app, ["sessions", "export", "nothing"]).exit_code == 4
