"""Standard input of a headless run: read to its end, unless nothing comes."""

import os
import threading
from pathlib import Path

import pytest

from prunecli.cli.piped_input import came_late, read_input
from prunecli.util.errors import UsageError

MOST = 100_000


def test_a_pipe_that_stays_open_without_a_byte_is_not_waited_for_and_what_comes_later_is_noticed() -> None:
    source, target = os.pipe()
    assert read_input(source, MOST, 0.01) is None
    assert not came_late(source)
    os.write(target, b"late")
    assert came_late(source)
    os.close(target)
    os.close(source)


@pytest.mark.parametrize("closed", [True, False])
def test_the_end_of_input_is_not_late_input(closed: bool) -> None:
    source, target = os.pipe()
    if closed:
        os.close(target)
    assert not came_late(source)
    os.close(source)
    if not closed:
        os.close(target)


def test_once_a_byte_came_all_is_read_however_long_it_takes() -> None:
    source, target = os.pipe()
    os.set_blocking(source, False)  # as some parents leave it
    os.write(target, b"first")

    def rest() -> None:
        for _ in range(50):
            os.write(target, b" more" * 1_000)
        os.close(target)

    writer = threading.Timer(0.05, rest)  # later than the wait for the first byte
    writer.start()
    assert read_input(source, 10 * MOST, 0.01) == b"first" + b" more" * 50_000
    writer.join()
    os.close(source)


def test_a_file_and_an_empty_input_are_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"words")
    for path, expected in ((tmp_path / "file", b"words"), (Path(os.devnull), b"")):
        with path.open("rb") as file:
            assert read_input(file.fileno(), MOST, 0.0) == expected


def test_what_cannot_be_read_or_is_too_much_is_refused(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(UsageError, match="standard input cannot be read: Is a directory"):
        read_input(folder, MOST, 1.0)
    os.close(folder)
    with Path("/dev/zero").open("rb") as file, pytest.raises(UsageError, match=r"over the limit of 0\.1 MB"):
        read_input(file.fileno(), MOST, 1.0)
