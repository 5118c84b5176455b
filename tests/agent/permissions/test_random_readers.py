"""Random lines of listed commands: whatever passes without a question is run, shows no secret and changes nothing."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from prunecli.safety.command_env import ReadingEnvironment, unattended_environment
from prunecli.safety.permissions.git import GIT_FORMS
from prunecli.safety.permissions.harmless_commands import FORMS, Form
from tests.agent.judged import Scene, scene
from tests.agent.permissions.test_corpora import HUSKY, committed

CANARY = "CANARY-77c1"
PROGRAMS = [*["rg"] * 6, *["grep"] * 5, *["git"] * 9, *(name for name in FORMS if name != "<")]
OPERANDS = (
    *("src", ".", "README.md", "src/a.py", "*.md", ".e*", "deploy", "..", "../ws", "HEAD", "HEAD:README.md"),
    *(
        "HEAD:src",
        "HEAD:deploy",
        "main",
        ".hid",
        "src/*",
        "-",
        "key",
        "out",
        "--",
        "x",
        ".env",
        "'*'",
        "'.e*'",
    ),
    *("@", "./src/../src", "src/.hid", "{src,.env}", "deploy/*", "1,5p", "'s/a/b/'", "CANARY", '""'),
)
VALUES = ("'*'", "'*.py'", "'.*'", ".env", "1", "py", "all", "x", '""', "'!*.md'", "deploy", "%s", "name")


def workspace(folder: Path, kind: int) -> Scene:
    """Secrets that are tracked (0), ignored (1), or ignored and hidden (2)."""
    here = scene(folder)
    top = here.workspace
    (top / "src/.hid").mkdir()
    secrets = (top / ".env", top / "deploy/server.pem", top / "deploy/id_rsa", top / "src/.hid/.env.local")
    for path in (*secrets, here.home / ".ssh/id_rsa", here.outside / "x"):
        path.write_text(f"{CANARY}\n")
    if kind == 2:
        shutil.rmtree(top / "deploy")
    (top / ".gitignore").write_text(".env*\ndeploy\nout\nkey\nloop\n" if kind else "out\nkey\nloop\n")
    committed(here, HUSKY)
    (top / "README.md").write_text("changed\n")
    return here


def option(choose: random.Random, form: Form) -> list[str]:
    long, letters = form.long.split(), form.flags + form.values + form.attached
    value = [choose.choice(VALUES)] * (choose.random() < 0.5)
    if long and choose.random() < 0.5:
        name = choose.choice(long)
        word = "--" + name.rstrip("=?")
        return ["=".join([word, *value])] if choose.random() < 0.6 else [word, *value]
    cluster = "".join(choose.choices(letters, k=choose.choice((1, 1, 1, 2, 3)))) if letters else ""
    return [f"-{cluster}", *value] if cluster else []


def line(choose: random.Random) -> str:
    name = choose.choice(PROGRAMS)
    command = choose.choice(list(GIT_FORMS)) if name == "git" else name
    form = GIT_FORMS[command] if name == "git" else FORMS[name]
    words = [name, command] if name == "git" else [name]
    for _ in range(choose.choice((0, 1, 1, 2, 3))):
        words += option(choose, form)
    if form.operands == "text first" and choose.random() < 0.8:
        words.append(choose.choice(("CANARY", '""', "'.'", "p", "'{print}'", ".")))
    words += choose.choices(OPERANDS, k=choose.choice((0, 0, 1, 1, 2)))
    start = choose.choice(("cd src && ", "cd src; ")) if choose.random() < 0.1 else ""
    return start + " ".join(words) + (f" | {line(choose)}" if choose.random() < 0.15 else "")


def state(top: Path) -> list[tuple[str, int, int]]:
    found = (path for path in top.rglob("*") if ".git" not in path.parts)
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in found)


@pytest.mark.skipif(not shutil.which("rg") or not shutil.which("git"), reason="needs ripgrep and git")
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["tracked", "ignored", "hidden"])
@pytest.mark.parametrize("count", [40, pytest.param(3000, marks=pytest.mark.long)])
def test_what_passes_shows_no_secret_and_changes_nothing(tmp_path: Path, kind: int, count: int) -> None:
    here, choose, ran = workspace(tmp_path, kind), random.Random(kind), 0
    plain = unattended_environment({"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(here.home)})
    env, before = dict(ReadingEnvironment(plain, here.workspace)), state(here.workspace)
    while ran < count:
        text = line(choose)
        if here.bash(text, search_path=env["PATH"]).kind != "allow":
            continue
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=here.workspace,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        ran += 1
        assert CANARY.encode() not in done.stdout + done.stderr, text
        assert state(here.workspace) == before, text
