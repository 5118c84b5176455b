"""A copy or an import that is killed on its way: there is no half session, and the next try makes a whole one."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prunecli.session.log import read_log
from prunecli.session.store import Store
from tests.faults.playing import Play, played
from tests.sessions import COMPLETE

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
ROOT = Path(__file__).parents[2]
IMPORTS = ROOT / "tests" / "imports"
COPYING = """
import sys
from pathlib import Path
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.session.session import Session
from prunecli.session.store import Store
path = Path(sys.argv[1])
original = Session.load(path, Context(Chars4()), writable=False)
original.forked(Context(Chars4()), Store(path.parent.parent), path.parent).close()
"""
IMPORTING = """
import sys
from pathlib import Path
from prunecli.session.importers.source import read_source
from prunecli.session.importers.store_import import save
from prunecli.session.store import Store
save(read_source(Path(sys.argv[1])), Store(Path(sys.argv[2])), Path("/"))
"""


def killed(folder: Path, words: tuple[str, ...], call: str, number: int) -> bool:
    """Runs python with these words and kills it at the n-th such call; False where it ended before."""
    inject = f"inject={call}:signal=KILL:when={number}"
    done = subprocess.run(
        [
            *["strace", "-f", "-qq", "-o", "/dev/null"],
            "-e",
            f"trace={call}",
            "-e",
            inject,
            sys.executable,
            *words,
        ],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        | dict.fromkeys(("HOME", "PRUNECLI_HOME"), str(folder)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL, 128 + signal.SIGKILL), done.stderr
    return done.returncode != 0


def kills(folder: Path, words: tuple[str, ...], step: int) -> Iterator[bool]:
    """Kills it at every step-th write, and at every sync and renaming; False after each kind: it came through."""
    for call in ("write", "fdatasync", "fsync", "rename"):
        number = 1
        while killed(folder, words, call, number):
            yield True
            number += step if call == "write" else 1
        yield False


def copies_are_whole(folder: Path, step: int) -> int:
    store = Store(folder / "sessions")
    path = store.new_path(folder, "s")
    path.parent.mkdir(parents=True)
    one = played(path.parent, Play(1, 0))
    asyncio.run(one.go_on())
    one.session.close()
    records = read_log(path).records
    count = 0
    for died in kills(folder, ("-c", COPYING, str(path)), step):
        count += died
        for listed in store.list():
            assert read_log(listed.path).records[1 : len(records)] == records[1:], "half a copy"
    assert len(store.list()) >= 1 + 4
    return count


def imports_are_whole(folder: Path, name: str, step: int) -> int:
    store, count = Store(folder / "sessions"), 0
    sizes: set[int] = set()
    for died in kills(folder, ("-c", IMPORTING, str(IMPORTS / name), str(store.root)), step):
        count += died
        assert died or store.list(), "it came through and nothing was imported"
        for listed in store.list():
            sizes.add(len(read_log(listed.path).records))
            listed.path.unlink()
    assert len(sizes) == 1, f"half an import: {sizes}"
    return count


def test_a_copy_that_is_killed_is_whole_or_not_there(tmp_path: Path) -> None:
    """The short dose."""
    assert copies_are_whole(tmp_path, 40) >= 4


def test_an_import_that_is_killed_is_whole_or_not_there_and_can_be_done_again(tmp_path: Path) -> None:
    """The short dose."""
    assert imports_are_whole(tmp_path, "pi-1.jsonl.gz", 90) >= 4


@pytest.mark.long
@pytest.mark.skipif(not COMPLETE, reason="the larger session is not in a source distribution")
def test_copies_and_imports_that_are_killed_anywhere_are_whole_or_not_there(tmp_path: Path) -> None:
    """At every write, sync and renaming."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "imports").mkdir()
    assert copies_are_whole(tmp_path / "copies", 1) >= 25
    assert imports_are_whole(tmp_path / "imports", "pi-2.jsonl.gz", 1) >= 60
