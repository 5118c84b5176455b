"""A headless run in a sandbox against the strict endpoint: what is sent, what is blocked, what is said."""

import json
import subprocess
import sys
from pathlib import Path

from tests.e2e.test_twenty_turns import DEADLINE, environment
from tests.endpoint import Call, Reply, serve
from tests.sandbox.confining import needs_bubblewrap


def test_a_headless_run_says_its_sandbox_and_what_that_blocked(tmp_path: Path) -> None:
    needs_bubblewrap()
    work = tmp_path / "project"
    work.mkdir()
    (work / ".env").write_text("KEY=hush\n")
    outside = Path("/etc/prunecli-outside.txt")
    replies = [
        Reply([Call("bash", {"command": f"echo in > in.txt; echo out > {outside}"})]),
        Reply([Call("bash", {"command": "cat .env"})]),
        Reply([Call("bash", {"command": f"touch {outside}", "outside": True, "reason": "must"})]),
        Reply("Done."),
    ]
    with serve(replies) as endpoint:
        words = ["-p", "go", "--trust", "--permission-mode", "auto", "--output-format", "stream-json"]
        done = subprocess.run(
            [sys.executable, "-m", "prunecli", *words, "--sandbox", "require"],
            cwd=work,
            env=environment(tmp_path, endpoint.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert [refused.refusal for refused in endpoint.rejected] == []
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert objects[0]["sandbox"] == "bubblewrap"
    results = [block for one in objects if one["type"] == "user" for block in one["message"]["content"]]
    said = [str(block["content"]) for block in results if block["type"] == "tool_result"]
    assert "[blocked by the sandbox: " in said[0]
    assert "hush" not in said[1]
    assert "The user did not allow this." in said[2]
    assert (work / "in.txt").read_text() == "in\n"
    assert not outside.exists()
    assert sorted(path.name for path in work.iterdir()) == [".env", "in.txt"]
