"""A filter under the guard: it ends by itself, or once it wrote more than is read."""

import os
from pathlib import Path

import pytest

from prunecli.tools.processes.guarded import filtered


@pytest.mark.parametrize("to", ["", ">&2"])
async def test_a_filter_that_writes_without_end_is_ended_at_the_limit(tmp_path: Path, to: str) -> None:
    line = ["sh", "-c", f"exec yes {to}"]
    made = await filtered(line, b"", cwd=tmp_path, env={"PATH": os.environ["PATH"]}, most=100_000)
    assert made.exit_code is None
    assert 100_000 <= max(len(made.output), len(made.errors)) < 200_000


async def test_a_filter_that_reads_and_writes_all_tells_its_exit_code(tmp_path: Path) -> None:
    line = ["sh", "-c", "cat; echo no >&2; exit 3"]
    made = await filtered(line, b"x" * 90_000, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, most=100_000)
    assert (made.exit_code, made.output, made.errors) == (3, b"x" * 90_000, b"no\n")
