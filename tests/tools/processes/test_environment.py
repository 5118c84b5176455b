"""Which environment children get, and how ours is hidden from them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.processes.environment import child_environment, secret_names

ROOT = str(Path(__file__).parents[3])
KEY = "sk-ant-api03-0123456789abcdef"


def test_credentials_of_ours_and_copies_of_them_are_left_out() -> None:
    environ = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": KEY,
        "anthropic_auth_token": "gateway-token",
        "ANTHROPIC_BASE_URL": "https://gateway",
        "PRUNECLI_API_KEY": "another-one",
        "MY_KEY": f"Bearer {KEY}",
        "COPY": "gateway-token",
        "GATEWAY": "https://gateway",
        "GITHUB_TOKEN": "ghp_x",
        "PRUNECLI_HOME": "/home/p",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer x",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key=x",
        "OTEL_SERVICE_NAME": "theirs",
    }
    assert child_environment(environ) == {
        "PATH": "/bin",
        "GATEWAY": "https://gateway",
        "GITHUB_TOKEN": "ghp_x",
        "PRUNECLI_HOME": "/home/p",
        "OTEL_SERVICE_NAME": "theirs",
    }


def test_a_short_value_is_not_taken_for_a_copy() -> None:
    assert secret_names({"ANTHROPIC_API_KEY": "1", "N": "1"}) == {"ANTHROPIC_API_KEY"}
    assert secret_names({"ANTHROPIC_API_KEY": "", "N": ""}) == {"ANTHROPIC_API_KEY"}


names = st.text("ANTHROPIC_KEYxyz", min_size=1, max_size=20)


@given(st.dictionaries(names, st.text(max_size=30)), st.text("abc123", min_size=8, max_size=20))
def test_no_key_reaches_a_child_under_any_name(environ: dict[str, str], key: str) -> None:
    environ = {**environ, "ANTHROPIC_API_KEY": key, "OTHER": key}
    given = child_environment(environ)
    assert key not in given.values()
    assert all(environ[name] == value for name, value in given.items())


HIDER = """
import json, os, subprocess, sys
sys.path.insert(0, {root!r})
from prunecli.tools.processes.environment import hide_environment
hide_environment()
def look(what):
    done = subprocess.run(["sh", "-c", what], capture_output=True, env={{"PATH": os.environ["PATH"]}})
    return done.stdout.decode("utf-8", "replace")
me = os.getpid()
print(json.dumps({{
    "environ": look(f"cat /proc/{{me}}/environ"),
    "descriptors": look(f"ls /proc/{{me}}/fd"),
    "ours": os.environ["ANTHROPIC_API_KEY"],
    "inherited": subprocess.run(["sh", "-c", "echo $ANTHROPIC_API_KEY"], capture_output=True).stdout.decode(),
    "args": look(f"cat /proc/{{me}}/cmdline"),
    "own": sorted(os.listdir("/proc/self/fd"))[:3],
}}))
"""


def hidden(*wrapper: str) -> dict[str, str]:
    """What a child of a process that hid its environment can read of it."""
    environ = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": KEY, "COPY": KEY, "KEPT": "visible-value"}
    program = "/usr/bin/python3" if wrapper and Path("/usr/bin/python3").exists() else sys.executable
    source = HIDER.format(root=ROOT)
    done = subprocess.run(
        [*wrapper, program, "-c", source], env=environ, capture_output=True, check=True, cwd="/"
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@needs_proc
def test_a_child_cannot_read_the_key_from_its_parent() -> None:
    """Root can read the file, but the value is not in it any more."""
    seen = hidden()
    assert KEY not in seen["environ"] + seen["args"] + seen["inherited"]
    assert seen["ours"] == KEY
    if os.geteuid() == 0:
        assert "visible-value" in seen["environ"]
    else:
        assert seen["environ"] == ""


@needs_proc
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root can")
def test_without_root_nothing_of_the_parent_can_be_read(tmp_path: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    if not os.access(ROOT, os.R_OK) or not all(part.stat().st_mode & 1 for part in Path(ROOT).parents):
        pytest.skip("the package is not readable by other users here")
    seen = hidden("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    assert seen["environ"] == ""
    assert seen["descriptors"] == ""
    assert seen["ours"] == KEY
    assert seen["own"] == ["0", "1", "2"]


@needs_proc
def test_a_debugger_that_started_the_process_still_works() -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    assert hidden("strace", "-f", "-o", "/dev/null")["ours"] == KEY
