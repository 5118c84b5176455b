"""Runs edits in the engine and in vim itself."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from prunecli.tui.vim.changes import Register
from prunecli.tui.vim.engine import Mode, Vim

KEYS = {"\x1b": "escape", "\x12": "ctrl+r", "\x08": "backspace"}
"""The keys that are no characters, as a terminal sends them."""

NAMES = "abcdefghijklmnopqrstuvwxyz123456789-0"
"""The registers, each of which holds a word at the beginning."""

_SCRIPT = """
set encoding=utf-8 backspace=indent,eol,start shiftwidth=4 tabstop=4 expandtab clipboard= viminfo=
let results = []
for [text, keys] in json_decode(join(readfile($CASES), ''))
  enew!
  for name in split($NAMES, '\\zs')
    call setreg(name, {'regcontents': ['R' .. name], 'regtype': 'v', 'isunnamed': v:true})
  endfor
  call setcharsearch({'char': ''})
  call setline(1, text)
  let old = &undolevels
  set undolevels=-1
  execute "normal! a \\<BS>\\<Esc>"
  let &undolevels = old
  call cursor(1, 1)
  silent! call feedkeys(keys, 'tx')
  call add(results, join(getline(1, '$'), "\\n"))
endfor
call writefile([json_encode(results)], $RESULTS)
qall!
"""


def by_engine(text: str, keys: str) -> str:
    """Return the text that the engine makes."""
    vim = edited(text, keys)
    vim.escape()
    return vim.text


def edited(text: str, keys: str) -> Vim:
    """Press the keys on a text with the cursor at its start, as the prompt does."""
    vim = Vim()
    vim.registers = {name: Register(f"R{name}") for name in NAMES}
    vim.registers['"'] = vim.registers["0"]
    vim.reset(text, 0)
    vim.escape()
    for char in keys:
        key = KEYS.get(char, char)
        if key == "escape":
            vim.escape()
        elif vim.mode == Mode.INSERT:
            end = vim.at if key != "backspace" else max(0, vim.at - 1)
            typed = "" if key == "backspace" else key
            vim.take(vim.text[:end] + typed + vim.text[vim.at :], end + len(typed))
        else:
            vim.press(key)
    return vim


def by_vim(cases: Sequence[tuple[str, str]], folder: Path) -> list[str]:
    """Return the texts that one run of vim makes of them."""
    script, given, results = folder / "script.vim", folder / "cases", folder / "results"
    script.write_text(_SCRIPT)
    given.write_text(json.dumps([[text.split("\n"), keys] for text, keys in cases]))
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    environ |= {"NAMES": NAMES, "CASES": str(given), "RESULTS": str(results)}
    subprocess.run(
        ["vim", "-u", "NONE", "-N", "-i", "NONE", "-n", "-es", "-S", str(script)],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    made: list[str] = json.loads(results.read_text("utf-8"))
    return made
