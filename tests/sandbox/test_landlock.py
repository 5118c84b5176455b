"""Landlock's grants, for real."""

import os
import subprocess
from pathlib import Path

import pytest

from prunecli.safety.sandbox import landlock
from prunecli.safety.sandbox.layout import Layout


@pytest.mark.parametrize("swapped", [False, True])
def test_a_folder_that_became_a_link_grants_nothing_elsewhere(tmp_path: Path, swapped: bool) -> None:
    if landlock.version() < landlock.NEEDED_VERSION:
        pytest.skip("needs Linux 6.12")
    root = tmp_path.resolve()
    for name in ("ws/a/b", "outside/b", "tmp"):
        (root / name).mkdir(parents=True)
    orders = landlock.orders_for(Layout((f"{root}/ws/a/b",)), f"{root}/tmp", network=False)
    if swapped:
        (root / "ws" / "a").rename(root / "ws" / "real")
        (root / "ws" / "a").symlink_to(root / "outside")
    descriptor = os.memfd_create("orders")
    os.write(descriptor, orders)
    os.lseek(descriptor, 0, os.SEEK_SET)
    words = landlock.words(descriptor, ["/bin/sh", "-c", f"echo x > {root}/ws/a/b/x"])
    subprocess.run(words, pass_fds=(descriptor,), check=False, capture_output=True)
    os.close(descriptor)
    assert (root / "outside" / "b" / "x").exists() is False
    assert (root / "ws" / "a" / "b" / "x").exists() is not swapped
