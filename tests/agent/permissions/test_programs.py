"""Which program a command starts: none of the workspace passes without a question."""

import os
import subprocess
from pathlib import Path

import pytest

from prunecli.features.rewind.own_git import OwnGit
from prunecli.safety.command_env import ReadingEnvironment, unattended_environment
from prunecli.safety.permissions.verdict import Rules
from prunecli.util.programs import find_outside, outside_path, program_doubt
from tests.agent.judged import Scene


def payload(path: Path) -> Path:
    """A program that leaves a mark beside the workspace."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\ntouch ../hacked\n")
    path.chmod(0o755)
    return path


def beside(folder: Path | str) -> str:
    return f"{folder}:/usr/bin:/bin"


def test_a_program_of_the_workspace_is_asked_about(here: Scene) -> None:
    """The issue's case: node_modules/.bin/which is a link to a file that an edit may change."""
    payload(here.workspace / "node_modules/which/bin/which")
    links = here.workspace / "node_modules/.bin"
    links.mkdir()
    os.symlink("../which/bin/which", links / "which")
    path = beside(links)
    for line in ("which git", "ls | which git", "which -a git"):
        verdict = here.bash(line, search_path=path)
        assert verdict.kind == "ask", line
        assert "comes from the workspace" in verdict.reason
    assert here.bash("ls", search_path=path).kind == "allow"
    assert here.bash("which git", search_path="/usr/bin:/bin").kind == "allow"


@pytest.mark.parametrize("program", ["git", "rg", "cat", "find", "egrep"])
def test_any_listed_program_is_looked_up(here: Scene, program: str) -> None:
    payload(here.workspace / ".venv/bin" / program)
    lines = {"git": "git status", "rg": "rg x src", "find": "find .", "egrep": "egrep x src/a.py"}
    line = lines.get(program, f"{program} README.md")
    assert here.bash(line, search_path=beside(here.workspace / ".venv/bin")).kind == "ask"
    rules = Rules(allow=(f"bash({program} *)",))
    assert here.bash(line, search_path=beside(here.workspace / ".venv/bin"), rules=rules).kind == "ask"


def test_a_program_that_a_link_leads_into_the_workspace_is_asked_about(here: Scene) -> None:
    """A folder of the PATH that is a link, a program that is one, and a link on the way there."""
    payload(here.workspace / "tools/cat")
    os.symlink(here.workspace / "tools", here.outside / "bin")
    (here.outside / "bin2").mkdir()
    os.symlink(here.workspace / "tools/cat", here.outside / "bin2/cat")
    os.symlink("/bin", here.workspace / "system")
    for folder in (here.outside / "bin", here.outside / "bin2", here.workspace / "system"):
        assert here.bash("cat README.md", search_path=beside(folder)).kind == "ask", folder


def test_a_lookup_tells_what_the_users_own_shell_would_find(here: Scene) -> None:
    """`which python3` in an activated environment: asked about, never answered wrongly."""
    payload(here.workspace / ".venv/bin/python3")
    path = beside(here.workspace / ".venv/bin")
    for line in ("which python3", "command -v python3", "type python3"):
        assert here.bash(line, search_path=path).kind == "ask", line
        assert here.bash(line.replace("python3", "ls"), search_path=path).kind == "allow", line


def test_a_shim_is_asked_about_because_a_file_of_the_workspace_chooses(here: Scene) -> None:
    shims = here.home / ".pyenv/shims"
    payload(shims / "python3")
    assert "version manager" in here.bash("python3 --version", search_path=beside(shims)).reason
    (here.home / "bin").mkdir()
    payload(here.home / "bin/mise")
    os.symlink("mise", here.home / "bin/jq")
    assert here.bash("jq . package.json", search_path=beside(here.home / "bin")).kind == "ask"


def test_a_program_beside_rustup_or_of_corepack_is_a_shim(here: Scene) -> None:
    """rustup starts what rust-toolchain.toml names; its other names may be hard links or copies."""
    folder = here.home / ".cargo/bin"
    payload(folder / "rustc")
    assert here.bash("rustc --version", search_path=str(folder)).kind == "allow"
    payload(folder / "rustup")
    assert "version manager" in here.bash("rustc --version", search_path=str(folder)).reason
    payload(here.home / "lib/corepack/dist/tsc.js")
    (here.home / "bin").mkdir()
    os.symlink("../lib/corepack/dist/tsc.js", here.home / "bin/tsc")
    assert here.bash("tsc --version", search_path=str(here.home / "bin")).kind == "ask"


def test_a_reading_command_loads_no_code_of_the_workspace(here: Scene) -> None:
    lib = here.workspace / "lib"
    env = {
        "PATH": "/usr/bin",
        "LD_PRELOAD": "./x.so",
        "NODE_OPTIONS": "-r ./x",
        "JAVA_TOOL_OPTIONS": "-javaagent:x",
    }
    env |= {"LD_LIBRARY_PATH": f"{lib}:/opt/lib::.", "PYTHONPATH": f"{lib}", "HOME": str(here.home)}
    reading = ReadingEnvironment(unattended_environment(env), here.workspace)
    assert not reading.keys() & {"LD_PRELOAD", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS"}
    assert (reading["LD_LIBRARY_PATH"], reading["PYTHONPATH"]) == ("/opt/lib", "")
    assert (reading["GOTOOLCHAIN"], reading["PIP_DISABLE_PIP_VERSION_CHECK"]) == ("local", "1")


def test_a_program_of_the_repository_around_the_workspace_counts_too(tmp_path: Path) -> None:
    package = tmp_path / "repo/packages/a"
    package.mkdir(parents=True)
    (tmp_path / "repo/.git").mkdir()
    payload(tmp_path / "repo/node_modules/.bin/cat")
    path = beside(tmp_path / "repo/node_modules/.bin")
    assert program_doubt(path, "cat", str(package))
    assert outside_path(path, str(package)) == "/usr/bin:/bin"


def test_a_reading_command_runs_with_a_path_without_the_workspace(here: Scene) -> None:
    """What is written after the judgement is not found either; egrep starts grep by its name."""
    folder = here.workspace / "bin"
    payload(folder / "grep")
    env = {"PATH": f"{folder}::.:bin:{here.home}/.asdf/shims:/usr/bin:/bin", "HOME": str(here.home)}
    reading = ReadingEnvironment(unattended_environment(env), here.workspace)
    assert reading["PATH"] == "/usr/bin:/bin"
    subprocess.run(["/bin/bash", "-c", "egrep x src/a.py"], cwd=here.workspace, env=reading, check=False)
    assert not (here.workspace.parent / "hacked").exists()


def test_our_own_git_is_never_that_of_the_workspace(here: Scene) -> None:
    payload(here.workspace / "bin/git")
    environ = {"PATH": f"{here.workspace}/bin:{os.environ['PATH']}", "HOME": str(here.home)}
    own = OwnGit(here.home / "snapshots", here.workspace, environ)
    own.git(here.workspace, float("inf"), "version")
    assert not (here.workspace.parent / "hacked").exists()
    assert find_outside(f"{here.workspace}/bin", "git", str(here.workspace)) is None
