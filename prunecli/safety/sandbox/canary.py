"""Chooses the sandbox by trying each: a command inside must work, and must fail to do three forbidden things.

Checking versions is not enough, because containers and kernels can prevent bubblewrap in many ways.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prunecli.safety.sandbox import landlock, seatbelt
from prunecli.safety.sandbox.layout import Ground, layout_for, lies_below, mounted
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.safety.sandbox.seccomp import MACHINES
from prunecli.tools.processes.command import HERE, INTERPRETER, start_words
from prunecli.util.errors import ToolError
from prunecli.util.private_file import make_private, make_temporary
from prunecli.util.programs import find_outside

SECONDS = 5.0
_TRIES = """
echo in > sub/in.txt || exit 10
(echo out > ../out.txt) 2>/dev/null
(cat secret.pem) 2>/dev/null | grep -q . && exit 12
(exec 3<>/dev/udp/192.0.2.1/9) 2>/dev/null && exit 13
exit 42
"""
"""192.0.2.1 is reserved for documentation; connecting a UDP socket sends nothing."""
_FAILED = {
    10: "the workspace is not writable inside",
    12: "it lets commands read secrets",
    13: "it lets commands reach the network",
}


def choose(
    workspace: str,
    env: Mapping[str, str],
    *,
    only: str = "",
    platform_name: str = sys.platform,
    layers: Path | None = None,
) -> Chosen:
    """Return the first working sandbox, or the reason that none works. Starts no program from the workspace.

    An overlay over the workspace is tried with its changes in `layers`, if that is given.
    """
    if platform_name == "darwin":
        found = Chosen("seatbelt", seatbelt.PROGRAM)
        why = _why_not(found, env) if os.access(seatbelt.PROGRAM, os.X_OK) else "it is not there"
        return Chosen(None, why=f"sandbox-exec: {why}") if why else found
    if not platform_name.startswith("linux"):
        return Chosen(None, why=f"no built-in sandbox for {platform_name}")
    if os.uname().machine not in MACHINES:
        return Chosen(None, why=f"no system call filter for {os.uname().machine}")
    reasons = list[str]()
    if only in ("", "bubblewrap"):
        program = find_outside(env.get("PATH", os.defpath), "bwrap", workspace)
        why = _why_not(Chosen("bubblewrap", program), env) if program else "it is not installed"
        if program and not why:
            overlays = layers is not None and _overlays(workspace, layers, program, env)
            return Chosen("bubblewrap", program, pins=_pins(program), overlays=overlays)
        reasons.append(f"bwrap: {why}")
    if only in ("", "landlock"):
        there = landlock.version()
        found = Chosen("landlock", INTERPRETER)
        why = _why_not(found, env) if there >= landlock.NEEDED_VERSION else "needs Linux 6.12"
        if not why:
            return found
        reasons.append(f"Landlock: {why}")
    return Chosen(None, why="; ".join(reasons))


def _overlays(workspace: str, layers: Path, program: str, env: Mapping[str, str]) -> bool:
    """Return whether bubblewrap runs with an overlay over the workspace, where nothing is written."""
    name, folder = f".prunecli-{os.urandom(6).hex()}", ""
    if lies_below(os.path.realpath(layers), (workspace,)):
        return False  # what an overlay does then is not defined
    if any(lies_below(mount, (workspace,)) and mount != workspace for mount in mounted()):
        return False  # an overlay would hide that
    try:
        make_private(layers)
        folder = tempfile.mkdtemp(dir=layers)
        upper, work = os.path.join(folder, "upper"), os.path.join(folder, "work")
        for path in (upper, work):
            os.mkdir(path)
        tries = f"echo in > {name} && mkdir {name}.d && mv {name}.d {name}.e && rmdir {name}.e"
        words = [program, "--unshare-user", "--unshare-pid", "--cap-drop", "ALL", "--bind", "/", "/"]
        words += ["--proc", "/proc", "--chdir", workspace, "--", "/bin/sh", "-c", f"{tries} && exit 42"]
        done = subprocess.run(
            [*start_words(HERE, "overlays"), "3", workspace, upper, work, *words],
            env=dict(env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        here, there = (os.path.lexists(os.path.join(at, name)) for at in (workspace, upper))
        return done.returncode == 42 and there and not here
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _pins(program: str) -> bool:
    """Return whether bubblewrap can mount an open folder."""
    words = [program, "--help"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    return b"--bind-fd" in done.stdout


def _why_not(chosen: Chosen, env: Mapping[str, str]) -> str:
    """Return why this sandbox does not work, or ""."""
    shell = "/bin/bash" if os.access("/bin/bash", os.X_OK) else shutil.which("bash", path=env.get("PATH"))
    if shell is None:
        return "bash was not found"
    folder, trial = "", None
    try:
        folder = make_temporary("prunecli-canary-")
        root = os.path.join(folder, "work")
        os.makedirs(os.path.join(root, "sub"))
        Path(root, "secret.pem").write_text("secret\n")
        ground = Ground(root, root, (), (), SecretScan(root, lambda path: path.endswith(".pem")), {})
        trial = Sandbox(replace(ground, unix_sockets=lambda _: ()), lambda: chosen)
        return _tried(trial, chosen, [shell, "-c", _TRIES], root, env)
    except OSError as error:
        return error.strerror or str(error)
    except (subprocess.SubprocessError, ToolError) as error:
        return str(error)
    finally:
        if trial:
            trial.close()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _tried(trial: Sandbox, chosen: Chosen, command: Sequence[str], root: str, env: Mapping[str, str]) -> str:
    layout = layout_for(trial.ground, git=False)
    with trial.prepared(chosen, layout, command, cwd=root) as (words, descriptors):
        done = subprocess.run(
            words,
            env=trial.environment(chosen, env),
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=descriptors,
            timeout=SECONDS,
            check=False,
        )
    if os.path.lexists(os.path.join(root, "..", "out.txt")):  # not a file in the private /tmp
        return "it lets commands write outside"
    if done.returncode == 42 and os.path.exists(os.path.join(root, "sub", "in.txt")):
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return _FAILED.get(done.returncode) or (said[-1] if said else f"exit code {done.returncode}")
