"""What all tools share: what was seen of a file, bounds of an output."""

from prunecli.model.messages import Image, Text
from prunecli.tools.tool import FilesSeen, ToolOutput, bounded_output, in_one_line

ONE, TWO = (1, 1), (1, 2)


def test_a_file_is_seen_changed_or_unseen() -> None:
    seen = FilesSeen()
    assert seen.state(ONE, "/a", b"1") == "unseen"
    seen.note(ONE, b"1", "/a")
    assert seen.state(ONE, "/a", b"1") == "seen"
    assert seen.state(ONE, "/a", b"2") == "changed"


def test_a_file_saved_by_renaming_is_known_by_its_path() -> None:
    seen = FilesSeen()
    seen.note(ONE, b"1", "/a")
    assert seen.state(TWO, "/a", b"2") == "changed"
    assert seen.state(TWO, "/a", b"1") == "seen"


def test_a_moved_file_is_known_and_a_reused_inode_is_not_taken_for_it() -> None:
    seen = FilesSeen()
    seen.note(ONE, b"1", "/a")
    assert seen.state(ONE, "/b", b"1") == "seen"
    assert seen.state(ONE, "/b", b"2") == "unseen"


def test_bounding_an_output_keeps_its_pictures_and_its_bytes() -> None:
    image = Image("image/png", "AAAA")
    output = ToolOutput((Text("x" * 100), image, Text("y")), is_error=True, details={"a": 1}, raw=b"\xff")
    bounded = bounded_output(output, 50)
    assert bounded.content[0] == Text("x" * 50 + "\n[OUTPUT TRUNCATED]")
    assert bounded.content[1] is image
    assert (bounded.is_error, bounded.details, bounded.raw) == (True, {"a": 1}, b"\xff")


def test_a_summary_is_one_line() -> None:
    assert in_one_line("a\n  b\tc ") == "a b c"
    assert in_one_line(None) == ""
    assert in_one_line(3) == "3"
