"""Prepare an outside, run the probes inside a sandbox, and print what happened, seen from both sides, as JSON.

A program of its own, so that it can be run as another user: `python -m tests.sandbox.probe FOLDER [KIND]`.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, chdir
from pathlib import Path

from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.layout import Ground
from prunecli.safety.sandbox.sandbox import Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.command import run

MARK = "PRUNECLI_PROBE_MARK"


async def probed(folder: Path, kind: str) -> dict[str, object]:
    """The outcomes: "" for what worked, else the error; and what the outside looks like afterwards."""
    home, work = folder / "home", folder / "home" / "ws"
    for path in (home / ".ssh", work / ".git" / "hooks", work / "sub"):
        path.mkdir(parents=True)
    for path in (home / ".ssh" / "id_rsa", work / ".env", home / "outside.txt", work / "sub" / "a"):
        path.write_text("hush\n")
    (work / ".git" / "config").write_text("[core]\n")
    os.link(work / ".env", work / "innocent")
    probe = Path(__file__).with_name("inside_probe.py").read_text()
    (work / "probe.py").write_text(probe)
    os.utime(home / "outside.txt", (1_600_000_000, 1_600_000_000))
    root = str(work.resolve())
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    ground = Ground(root, str(home.resolve()), (), (), SecretScan(root, looks_secret), env)
    chosen = choose(root, {"PATH": os.environ.get("PATH", "")}, only=kind)
    if chosen.kind is None:
        return {"skip": chosen.why}
    output = bytearray()
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        path = stack.enter_context(socket.socket(socket.AF_UNIX))
        address = str(home / "agent.sock")
        with chdir(home):  # an address has at most 107 bytes; a longer one nobody can connect to
            path.bind(address if len(address) < 108 else "agent.sock")
        path.listen()
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"prunecli-probe-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        victim = subprocess.Popen(["sleep", "600"], env={MARK: MARK})  # noqa: ASYNC220  # waits for nothing
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        walls = Sandbox(ground, lambda: chosen)
        stack.callback(walls.close)
        given = {
            "outside": str(home / "outside.txt"),
            "home": str(home),
            "tcp": tcp.getsockname()[1],
            "socket": str(home / "agent.sock"),
            "abstract": name,
            "pid": victim.pid,
            "mark": MARK,
        }
        words = ["/usr/bin/python3", "probe.py", json.dumps(given)]

        def take(data: bytes) -> bool:
            output.extend(data)
            return True

        async with walls.confine(granted=False)(words, cwd=root, env=env, command="python3 probe.py") as box:
            await run(box.argv, cwd=work, env=box.env, take=take, time_limit=60, descriptors=box.descriptors)
        tcp.setblocking(False)
        after = {
            "outside": (home / "outside.txt").read_text() if (home / "outside.txt").exists() else None,
            "time": (home / "outside.txt").stat().st_mtime if (home / "outside.txt").exists() else 0,
            "mode": (home / "outside.txt").stat().st_mode & 0o777 if (home / "outside.txt").exists() else 0,
            "config": (work / ".git" / "config").read_text() if (work / ".git" / "config").exists() else None,
            "hooks": sorted(os.listdir(work / ".git" / "hooks"))
            if (work / ".git" / "hooks").exists()
            else None,
            "victim": victim.poll(),
            "made": sorted({*os.listdir(work)} - {"link", "hard", "moved"}),
            "home": sorted(os.listdir(home)),
        }
    try:
        inside = json.loads(output)
    except ValueError:
        inside = {"output": output.decode("utf-8", "replace")}
    return {"inside": inside, "after": after}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(probed(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))))
