"""Programs that run at the same time in one repository share no draft and no port."""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.bound import KEY
from tests.e2e.terminal import HAS_TMUX, ROOT, Terminal
from tests.session.snapshotting import repository


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_each_of_three_killed_programs_leaves_its_draft_to_the_next_in_its_folder(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    folder = repository(tmp_path / "app")
    starts = [["--trust"], ["--trust"], ["--trust", "--worktree", "fix"]]
    drafts = ["the first one", "the second one", "the one in the worktree"]

    def saved() -> set[str]:
        found = (tmp_path / "data" / "drafts").rglob("*.json")
        return {json.loads(path.read_text())["text"] for path in found}

    def opened(stack: ExitStack) -> list[Terminal]:
        terminals = [stack.enter_context(Terminal(words, folder, environ)) for words in starts]
        for terminal in terminals:
            terminal.wait_until(lambda screen: "ctx 0/" in screen, "the prompt")
        return terminals

    with ExitStack() as stack:
        terminals = opened(stack)
        for terminal, draft in zip(terminals, drafts, strict=True):
            terminal.type(draft)
            terminal.wait_for(draft)
        terminals[0].wait_until(lambda _: saved() == set(drafts), "the drafts to be saved")
        for terminal in terminals:
            os.kill(terminal.pid, signal.SIGKILL)
    with ExitStack() as stack:
        first, second, beside = opened(stack)
        beside.wait_for(drafts[2])
        seen = []
        for terminal in (first, second):
            screen = terminal.wait_until(lambda screen: any(draft in screen for draft in drafts), "a draft")
            seen += [draft for draft in drafts if draft in screen]
        assert sorted(seen) == sorted(drafts[:2])


def test_two_proxies_have_an_address_and_a_socket_each(tmp_path: Path, environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "prunecli", "proxy"]
    addresses = []
    with ExitStack() as stack:
        for _ in range(2):
            process = stack.enter_context(
                subprocess.Popen(
                    command, cwd=tmp_path, env=environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
                )
            )
            stack.callback(process.terminate)
            assert process.stdout is not None
            addresses.append(process.stdout.readline().decode().rpartition("/")[0])
        assert len(set(addresses)) == 2, addresses
        assert len(list((tmp_path / "data" / "proxies").glob("*.sock"))) == 2
