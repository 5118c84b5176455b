"""The read tool: pages, pictures, and what is refused."""

import base64
import os
import socket
from contextlib import chdir
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.model.messages import Image
from prunecli.tools.files import reading
from prunecli.tools.files.mentions import mentions
from tests.tools.calling import Caller
from tests.tools.files.pdfs import pdf
from tests.tools.files.test_image import gif, jpeg, png, webp


async def test_a_short_file_is_shown_exactly_and_alone(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_bytes("\tdef f():\r\n  é 😀\n\n".encode())
    assert await tools.text("read", path="f") == "\tdef f():\r\n  é 😀\n\n"


async def test_an_empty_file_is_said_to_be_empty(tools: Caller, workspace: Path) -> None:
    (workspace / "f").touch()
    assert await tools.text("read", path="f") == "[empty file]"


async def test_white_space_is_shown_and_named(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_bytes(b" \n\n")
    assert await tools.text("read", path="f") == " \n\n[only white space]"
    assert await tools.text("read", path="f", offset=2) == "\n[lines 2-2 of 2]"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"limit": 2}, "1\n2\n[lines 1-2 of 5; continue with offset=3]"),
        ({"offset": 3, "limit": 2}, "3\n4\n[lines 3-4 of 5; continue with offset=5]"),
        ({"offset": 4}, "4\n5\n[lines 4-5 of 5]"),
        ({"offset": 5, "limit": 1}, "5\n[lines 5-5 of 5]"),
        ({"limit": 5}, "1\n2\n3\n4\n5"),
        ({"limit": 5_000_000}, "1\n2\n3\n4\n5"),
    ],
)
async def test_a_page_says_which_lines_it_is(
    tools: Caller, workspace: Path, given: dict[str, int], shown: str
) -> None:
    (workspace / "f").write_text("1\n2\n3\n4\n5")
    assert await tools.text("read", path="f", **given) == shown


async def test_the_default_page_has_two_thousand_lines(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("".join(f"{n}\n" for n in range(1, 5_322)))
    text = await tools.text("read", path="f")
    assert text.endswith("2000\n[lines 1-2000 of 5321; continue with offset=2001]")


@pytest.mark.slow
async def test_the_text_of_a_long_pdf_comes_in_pages_too(tools: Caller, workspace: Path) -> None:
    (workspace / "f.pdf").write_bytes(pdf(*(f"words of {number}" for number in range(1, 801))))
    text = await tools.text("read", path="f.pdf")
    assert text.startswith("[page 1]\nwords of 1\n")
    assert text.endswith("\n[lines 1-2000 of 2399; continue with offset=2001]")
    rest = await tools.text("read", path="f.pdf", offset=2001)
    assert rest.endswith("\nwords of 800\n[lines 2001-2399 of 2399]")


@pytest.mark.parametrize("given", [{"offset": 0}, {"offset": -3}, {"limit": 0}, {"limit": -1}])
async def test_lines_are_counted_from_one(tools: Caller, workspace: Path, given: dict[str, int]) -> None:
    (workspace / "f").write_text("x")
    assert "at least 1" in await tools.error("read", path="f", **given)


async def test_an_offset_after_the_end_says_where_the_end_is(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("1\n2\n")
    assert "has 2 lines" in await tools.error("read", path="f", offset=3)
    (workspace / "f").write_text("")
    assert "has 0 lines" in await tools.error("read", path="f", offset=2)


lines = st.lists(st.text(st.sampled_from("ab é"), max_size=5).map("L".__add__), min_size=1, max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines, st.integers(1, 8), st.booleans())
async def test_all_pages_together_are_the_file(
    tmp_path: Path, content: list[str], limit: int, newline: bool
) -> None:
    text = "\n".join(content) + "\n" * newline
    (tmp_path / "f").write_text(text)
    tools, offset, seen = Caller(tmp_path), 1, ""
    while offset:
        page = await tools.text("read", path="f", offset=offset, limit=limit)
        body, found, note = page.rpartition("[lines ")
        seen += body if found else page
        offset = int(note.rpartition("=")[2].rstrip("]")) if "continue with" in note else 0
    assert seen.removesuffix("\n") == text.removesuffix("\n")


async def test_a_page_ends_at_a_whole_line_within_the_limit_of_bytes(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("é" * 30 + "\n" + "".join(f"{n:09}\n" for n in range(1_000)))
    text = await tools.limited(1_000).text("read", path="f")
    assert len(text.encode()) <= 1_000
    body, _, note = text.partition("\n[OUTPUT TRUNCATED]\n")
    last = body.count("\n") + 1
    assert note == f"[lines 1-{last} of 1001; continue with offset={last + 1}]"
    assert body.splitlines()[-1] == f"{last - 2:09}"


async def test_a_line_longer_than_the_limit_is_cut_and_said_to_be(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("é" * 100_000)
    text = await tools.limited(2_000).text("read", path="f")
    assert len(text.encode()) <= 2_000
    assert "[OUTPUT TRUNCATED]" in text
    assert "too long to show in full" in text
    assert text.startswith("é" * 500)


async def test_bytes_that_are_no_text_are_visible_and_kept(tools: Caller, workspace: Path) -> None:
    damaged = "é日本".encode() + b" caf\xe9 ok\n"
    (workspace / "f").write_bytes(damaged)
    output = await tools.output("read", path="f")
    assert output.raw == damaged
    text = await tools.text("read", path="f")
    assert text == "é日本 caf\ufffd ok\n[\ufffd stands for bytes that are not UTF-8]"


async def test_marks_and_utf_16_are_read(tools: Caller, workspace: Path) -> None:
    (workspace / "mark").write_bytes(b"\xef\xbb\xbfabc")
    (workspace / "wide").write_bytes("é\r\n".encode("utf-16"))
    assert await tools.text("read", path="mark") == "abc"
    assert await tools.text("read", path="wide") == "é\r\n[the file is utf-16-le]"
    await tools.text("edit", path="wide", old_string="é", new_string="è")
    assert (workspace / "wide").read_bytes() == "è\r\n".encode("utf-16")


# What is refused


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\x02\0\0\0", "an ELF program (8 bytes)"),
        (b"PK\x03\x04\0", "a ZIP archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"text and \0", "binary data"),
    ],
)
async def test_a_binary_is_refused_with_its_kind_and_size(
    tools: Caller, workspace: Path, data: bytes, kind: str
) -> None:
    (workspace / "f").write_bytes(data)
    assert kind in await tools.error("read", path="f")


async def test_what_is_no_regular_file_is_refused_at_once(tools: Caller, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    server = socket.socket(socket.AF_UNIX)
    with chdir(workspace):  # a long path is no valid address
        server.bind("socket")
    server.close()
    (workspace / "link").symlink_to("pipe")
    assert "named pipe" in await tools.error("read", path="pipe")
    assert "named pipe" in await tools.error("read", path="link")
    assert "socket" in await tools.error("read", path="socket")
    assert "device" in await tools.error("read", path="/dev/zero")
    assert "device" in await tools.error("read", path="/dev/tty")
    for path in ("", "a\0b", "missing", "x" * 5000, "pipe/x"):
        assert await tools.error("read", path=path)


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="needs /proc")
async def test_files_of_the_kernel_are_read_or_refused_but_never_waited_for(tools: Caller) -> None:
    assert "read" in await tools.error("read", path="/proc/kmsg")
    assert "Name:" in await tools.text("read", path="/proc/self/status")
    assert await tools.error("read", path="/proc/self/mem")


async def test_a_folder_is_refused_with_what_it_holds(tools: Caller, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "a\nb").touch()
    assert "It contains: a\\x0ab  sub/" in await tools.error("read", path=".")
    assert "It is empty." in await tools.error("read", path="sub")


async def test_a_missing_file_is_said_with_the_nearest_name(tools: Caller, workspace: Path) -> None:
    (workspace / "settings.py").touch()
    assert "Did you mean" in await tools.error("read", path="setings.py")


# Large files


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _mostly_a_hole(path: Path) -> int:
    """A file of 200,000 lines, a hole and one more line; its size."""
    with open(path, "wb") as big:
        big.write(b"line\n" * 200_000)
        big.seek(300 * 1024 * 1024)
        big.write(b"\nend\n")
        return big.tell()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
async def test_a_large_file_is_paged_without_loading_it(tools: Caller, workspace: Path) -> None:
    """The figure of 10 GB is measured by hand; here 300 MB, mostly a hole."""
    size = _mostly_a_hole(workspace / "big")
    await tools.text("read", path="big", limit=5)
    before = _resident()
    text = await tools.text("read", path="big", offset=100_000, limit=2)
    note = f"[lines 100000-100001; the file has {size:,} bytes; continue with offset=100002]"
    assert text == f"line\nline\n{note}"
    assert "more than 256 MB into the file" in await tools.error("read", path="big", offset=200_002)
    assert _resident() - before < 20_000_000


async def test_a_sparse_terabyte_is_refused(tools: Caller, workspace: Path) -> None:
    (workspace / "sparse").touch()
    try:
        os.truncate(workspace / "sparse", 1 << 40)
    except OSError:
        pytest.skip("this file system has no such files")
    assert "binary data (1,099,511,627,776 bytes)" in await tools.error("read", path="sparse")


async def test_a_file_too_large_to_compare_is_not_noted_as_seen(tools: Caller, workspace: Path) -> None:
    (workspace / "big").write_bytes(b"line\n" * (reading.MAX_BYTES // 5 + 1_000))
    await tools.text("read", path="big", limit=1)
    assert "too large" in await tools.error("write", path="big", content="x")


# Pictures


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(64, 48), "image/png"),
        (jpeg(64, 48), "image/jpeg"),
        (gif(64, 48), "image/gif"),
        (webp(b"VP8X", 64, 48), "image/webp"),
    ],
)
async def test_a_picture_is_shown_whatever_its_name(
    tools: Caller, workspace: Path, data: bytes, media_type: str
) -> None:
    (workspace / "picture.txt").write_bytes(data)
    output = await tools.output("read", path="picture.txt")
    assert output.content == (Image(media_type, base64.b64encode(data).decode(), 64, 48),)


async def test_a_picture_that_the_endpoint_would_refuse_is_refused(tools: Caller, workspace: Path) -> None:
    large = png(10, 10) + bytes(65 * 1024 * 1024)
    for data, hint in ((png(10, 10)[:-20], "cut short"), (large, "bytes are too many")):
        (workspace / "f.png").write_bytes(data)
        assert hint in await tools.error("read", path="f.png")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"path": "a.py"}, "a.py"),
        ({"path": "a.py", "offset": 10, "limit": 5}, "a.py 10-14"),
        ({"path": "a.py", "limit": 5}, "a.py 1-5"),
        ({"path": "a.py", "offset": 10}, "a.py 10-"),
        ({"path": ["x"], "offset": "y"}, "['x']"),
        ({}, ""),
    ],
)
def test_the_summary_takes_any_input(given: dict[str, object], shown: str) -> None:
    from prunecli.tools.read import Read

    assert Read().summary(given) == shown


@pytest.mark.parametrize(("on_disk", "typed"), [("NFD", "NFC"), ("NFC", "NFD")])
async def test_a_name_is_found_in_either_form_of_its_accents(
    tools: Caller, workspace: Path, on_disk: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    folder, name = normalize(on_disk, "Größe"), normalize(on_disk, "é.md")
    (workspace / folder).mkdir()
    (workspace / folder / name).write_text("one")
    path = normalize(typed, "Größe/é.md")
    assert await tools.text("read", path=path) == "one"
    assert await tools.text("find", pattern=normalize(typed, "Grö*/é*")) == f"{folder}/{name}"
    assert await tools.text("grep", pattern="one", glob=normalize(typed, "*é.md")) == f"{folder}/{name}:1:one"
    assert [one.path for one in mentions(f"see @{path}", str(workspace))] == [f"{folder}/{name}"]
    await tools.text("edit", path=path, old_string="one", new_string="two")
    await tools.text("write", path=normalize(typed, "Größe/ö.md"), content="new")
    assert (workspace / folder / name).read_text() == "two"
    assert sorted(map(len, os.listdir(workspace / folder))) == sorted(
        (len(name), len(normalize(typed, "ö.md")))
    )


async def test_a_link_or_two_files_are_not_taken_for_a_name_in_another_form(
    tools: Caller, workspace: Path
) -> None:
    (workspace / "secret").write_text("s")
    (workspace / "e\u0301").symlink_to("secret")
    assert "does not exist" in await tools.error("read", path="\u00e9")
    for name in ("\u1e9b\u0323", "\u017f\u0307\u0323"):
        (workspace / name).write_text(name)
    assert "does not exist" in await tools.error("read", path="\u017f\u0323\u0307")
