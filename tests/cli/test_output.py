"""Closed and full standard streams: every subcommand ends like other Unix tools, and the session stays valid."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from prunecli.cli.app import app
from prunecli.cli.flags import commands
from prunecli.features.plugin_list.adding import fetched, install
from prunecli.util.paths import Places
from tests.cli.running import kept_session, prunecli, with_endpoint, work_of
from tests.endpoint import Reply, serve

WRITING = [
    "--version",
    "--help",
    "config show",
    "config path",
    "config init",
    "config check",
    "sessions list",
    "sessions list --json",
    "sessions list --tree",
    "sessions stats",
    "sessions stats --json",
    "sessions search said",
    "sessions show mine",
    "sessions show mine --json",
    "sessions verify mine",
    "sessions audit mine",
    "sessions export mine",
    "sessions export mine --format html",
    "sessions import told.json --again",
    "context mine",
    "context mine --json",
    "replay told.json --strategy pi",
    "plugins list",
    "plugins list --json",
    "plugins add plugin --yes",
    "plugins update plugin",
    "plugins remove plugin",
    "replay told.json --strategy pi --json",
    "doctor",
    "mcp add files -- true",
    'mcp add-json more {"command":"true"}',
    "mcp list",
    "mcp get files",
    "mcp remove files",
    "proxy --status",
    "proxy release mine",
    "trust",
    "sessions rm mine --yes",
]
"""Every subcommand that ends by itself, in each of its forms."""

WAITING = {"login", "demo", "acp", "wrap", "attach", "mcp serve", "resume", "update"}
"""The subcommands that wait for a person, an editor, a program or the network."""


DRIVE = """
import json, os, sys
from prunecli.__main__ import run
from prunecli.cli.streams import hold_standard_streams
codes = {}
for line in json.loads(sys.argv[1]):
    hold_standard_streams()
    codes[line] = run(line.split(), os.environ)
with open(sys.argv[2], "w") as file:
    json.dump(codes, file)
"""
"""Many command lines in one process, each with standard streams of its own."""


def shell(environ: Mapping[str, str], words: list[str], output: str) -> "subprocess.CompletedProcess[str]":
    """Runs Python with standard streams as a shell makes them; `| gone` is a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    command = f'exec "$0" "$@" {output.replace("| gone", "")}'
    try:
        return subprocess.run(
            ["sh", "-c", command, sys.executable, *words],
            cwd=work_of(environ),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=writing if output == "| gone" else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)


def run(environ: Mapping[str, str], line: str, output: str) -> "subprocess.CompletedProcess[str]":
    """Runs the program."""
    return shell(environ, ["-m", "prunecli", *line.split()], output)


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
FULL = pytest.param(">/dev/full", 1, "cannot write output: No space left on device", marks=needs_full)


def test_no_subcommand_is_forgotten() -> None:
    group: Any = typer.main.get_command(app)
    found = {name: group.get_command(None, name) for name in commands()}
    below = {
        name: [f"{name} {sub}" for sub in one.list_commands(None)]
        if hasattr(one, "list_commands")
        else [name]
        for name, one in found.items()
    }
    for line in {line for name in found.keys() - WAITING for line in below[name]} - WAITING:
        assert any(f"{written} ".startswith(f"{line} ") for written in WRITING), line


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [("| gone", 141, ""), FULL, (">&-", 1, "cannot write output: Bad file descriptor")],
)
def test_every_subcommand_ends_like_other_tools(
    environ: dict[str, str], tmp_path: Path, output: str, code: int, said: str
) -> None:
    kept_session(environ)
    told = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    (work_of(environ) / "told.json").write_text(json.dumps(told))
    (work_of(environ) / "plugin" / "commands").mkdir(parents=True)
    (work_of(environ) / "plugin" / "commands" / "hi.md").write_text("Say hi.")
    with fetched(str(work_of(environ) / "plugin")) as plugin:
        install(Places.of(environ), plugin)
    codes = tmp_path / "codes.json"
    done = shell(environ, ["-c", DRIVE, json.dumps(WRITING), str(codes)], output)
    assert json.loads(codes.read_text()) == dict.fromkeys(WRITING, code), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count(said) == len(WRITING) or not said


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [("| gone", 141, ""), FULL, (">&-", 1, "cannot write output: Bad file descriptor")],
)
def test_nothing_more_goes_wrong_at_exit(environ: dict[str, str], output: str, code: int, said: str) -> None:
    done = run(environ, "config show", output)
    assert (done.returncode, done.stderr) == (code, f"prunecli: {said}\n" if said else "")


@pytest.mark.parametrize("output", ["2>&-", pytest.param("2>/dev/full", marks=needs_full), "<&-", "<&- 2>&-"])
def test_other_closed_streams_change_nothing(environ: dict[str, str], output: str) -> None:
    kept_session(environ)
    done = run(environ, "sessions show mine", output)
    assert done.returncode == 0
    assert "what was said" in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_run_whose_reader_has_gone_leaves_a_valid_session(environ: dict[str, str], form: str) -> None:
    with serve([Reply("One."), Reply("Two.")]) as endpoint:
        env = with_endpoint(environ, endpoint)
        done = run(env, f"-p --output-format {form} first", "| gone")
        assert (done.returncode, done.stderr) == (141, "")
        answered = len(endpoint.requests)
    assert answered == (0 if form == "stream-json" else 1), "nobody reads on, so nothing more is asked for"
    for one in json.loads(prunecli(environ, "sessions", "list", "--json").stdout):
        assert prunecli(environ, "sessions", "verify", one["id"]).returncode == 0


def test_the_process_ends_with_its_code_while_a_thread_still_works() -> None:
    script = (
        "import atexit, threading; from prunecli.__main__ import end\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "atexit.register(print, 'bye'); print('done'); end(3)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "done\nbye\n", "")


@needs_full
def test_a_run_whose_output_is_full_says_so_and_keeps_the_answer(environ: dict[str, str]) -> None:
    with serve([Reply("One.")]) as endpoint:
        done = run(with_endpoint(environ, endpoint), "-p first", ">/dev/full")
    assert done.returncode == 1
    assert done.stderr == "prunecli: cannot write output: No space left on device\n"
    listed = json.loads(prunecli(environ, "sessions", "list", "--json").stdout)
    assert "One." in prunecli(environ, "sessions", "show", listed[0]["id"]).stdout
