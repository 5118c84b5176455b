"""What is held back of a long result: kinds, where it is cut, and what the text says."""

import json
from pathlib import Path

import pytest

from prunecli.context.expectations import Caps
from prunecli.context.pages import Lines
from prunecli.context.spill import held_part, held_words, kind_of, spill
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record, Spilled, ToolResult
from prunecli.model.messages import Image, Json, Text, ToolUse
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.touches import Touches, named
from prunecli.providers.models import load_expectations
from prunecli.util.errors import ConfigError
from prunecli.util.paths import PACKAGE

CAPS = Caps(bash=100, print=400, read=800, search=100, other=200, least=10)
READ, BASH = Touches(reads=("a.py",)), Touches(runs=("make",))


def use(name: str, **given: Json) -> ToolUse:
    return ToolUse("t1", name, given)


def result(text: str, *, failed: bool = False, details: dict[str, Json] | None = None) -> ToolResult:
    return ToolResult("t1", "x", (Text(text),), failed, details or {})


def shown(
    text: str,
    touches: Touches | None = BASH,
    *,
    call: ToolUse | None = None,
    caps: Caps = CAPS,
    recall: bool = True,
    failed: bool = False,
    details: dict[str, Json] | None = None,
) -> str | None:
    whole = result(text, failed=failed, details=details)
    cut = spill(whole, call or use("x"), touches, 17, caps, Chars4(), recall=recall)
    assert cut.content == whole.content
    return None if cut.spilled is None else cut.spilled.shown


def lines(count: int, width: int = 20) -> str:
    return "".join(f"line {number}".ljust(width - 1, ".") + "\n" for number in range(1, count + 1))


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("bash", {"command": "make test"}, "bash"),
        ("bash", {"command": "cat a.py"}, "print"),
        ("bash", {"command": "cd src && sed -n '1,200p' a.py | head -50; echo; nl b.py"}, "print"),
        ("bash", {"command": "sed s/a/b/ a.py"}, "bash"),
        ("bash", {"command": "cat a.py | grep x"}, "bash"),
        ("bash", {"command": "cat $FILE"}, "bash"),
        ("bash", {"command": "echo a"}, "bash"),
        ("bash", {"command": "make | tail -5"}, "bash"),
        ("read", {"path": "a.py"}, "read"),
        ("read", {"path": "a.py", "offset": None, "limit": None}, "read"),
        ("read", {"path": "a.py", "offset": 1}, None),
        ("read", {"path": "a.py", "limit": 5000}, None),
        ("grep", {"pattern": "x"}, "search"),
        ("ls", {}, "search"),
        ("edit", {"path": "a.py"}, "other"),
        ("recall", {"entry": 4}, None),
        ("prun", {"tokens": 4}, None),
        ("mcp__web__fetch", {"url": "x"}, "other"),
    ],
)
def test_each_call_has_a_kind(name: str, given: dict[str, Json], kind: str | None) -> None:
    assert kind_of(use(name, **given), named(name, given)) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("task", "other"), ("lookup", "other"), ("jobs", "bash")]
    + [(name, None) for name in ("recall", "prun", "prun_with_memo", "mcp_search", "todo", "ask")],
)
def test_a_tool_that_touches_nothing_is_cut_unless_its_result_is_about_the_context(
    name: str, kind: str | None
) -> None:
    assert kind_of(use(name), Touches()) == kind


def test_a_result_within_its_cap_is_sent_whole() -> None:
    assert shown(lines(20)) is None  # 100 tokens
    assert shown(lines(21)) is None  # so little is not worth a line


def test_a_cap_of_zero_holds_nothing_back() -> None:
    assert shown(lines(5000), caps=Caps()) is None


def test_a_command_keeps_its_head_and_its_tail_in_whole_lines() -> None:
    found = shown(lines(500))
    assert found == lines(10) + "[480 of 500 lines held back | recall 17 lines 11-490]\n" + "".join(
        lines(500).splitlines(keepends=True)[-10:]
    )


def test_a_printed_file_that_the_tool_cut_off_keeps_the_line_that_says_so() -> None:
    text = lines(500) + "[OUTPUT TRUNCATED]"
    cat = Touches(runs=("cat a.py",))
    found = shown(text, cat, details={"truncated": True}) or ""
    note = "[421 of 501 lines held back | recall 17 lines 80-500]"
    assert found == f"{lines(79)}{note}\n[OUTPUT TRUNCATED]"
    assert "TRUNCATED" not in (shown(text, cat) or "")


def test_a_search_that_was_cut_off_keeps_the_line_that_says_so() -> None:
    last = "[the first 200 matches; narrow pattern, path or glob]"
    found = shown(lines(500) + last, Touches(searches=(".",)), details={"truncated": True}) or ""
    assert found.endswith(f" held back | recall 17 lines 18-500]\n{last}")


def test_a_read_keeps_a_page_from_its_head_and_says_where_to_continue() -> None:
    found = shown(lines(500), READ)
    assert found == lines(160) + "[340 of 500 lines held back | continue with offset=161]"


def test_a_page_of_a_longer_file_counts_the_lines_of_the_file() -> None:
    note = "[lines 1-2000 of 5000; continue with offset=2001]"
    details: dict[str, Json] = {"first_line": 1, "last_line": 2000, "lines": 5000}
    found = shown(lines(2000) + note, READ, details=details)
    assert found == lines(160) + "[4,840 of 5,000 lines held back | continue with offset=161]"


def test_a_search_keeps_its_head() -> None:
    found = shown(lines(500), Touches(searches=(".",)))
    assert found == lines(20) + "[480 of 500 lines held back | recall 17 lines 21-500]"


def test_without_recall_no_tool_is_named_that_is_not_there() -> None:
    assert "| narrow the command to see them]" in (shown(lines(500), recall=False) or "")
    assert "| ask for less]" in (shown(lines(500), None, recall=False) or "")
    assert "| continue with offset=161]" in (shown(lines(500), READ, recall=False) or "")
    assert "| print them with a command]" in (shown("x" * 8_000, READ, recall=False) or "")


def test_a_failure_keeps_its_end_whatever_its_kind() -> None:
    found = shown(lines(500) + "[exit code 2]", Touches(searches=(".",)), failed=True)
    assert found is not None
    assert found.endswith("[exit code 2]")


@pytest.mark.parametrize(
    "start",
    [
        "=========== short test summary info ============",
        "\x1b[36m\x1b[1m=========== short test summary info ============\x1b[0m",
        "\x1b[2m⎯⎯⎯\x1b[22m\x1b[41m\x1b[30m Failed Tests 11 \x1b[39m\x1b[49m⎯⎯⎯",
        "Summary of all failing tests",
        "failures:\r",
    ],
)
def test_the_list_of_failing_tests_stays_in_the_tail(start: str) -> None:
    summary = f"{start}\n{lines(11)}=== 11 failed ===\n[exit code 1]"  # longer than half of the cap
    found = shown(lines(500) + summary, failed=True)
    assert found is not None
    assert found.endswith(f"\n{summary}")


def test_a_line_is_cut_only_if_it_alone_is_too_long() -> None:
    found = shown("short\n" + "x" * 4000 + "\nend\n")
    assert found is not None
    head, note, tail = found.split("\n", 1)[1].split("\n", 2)
    assert set(head) == {"x"}
    assert (
        note
        == f"[{4001 - len(head) - tail.index(chr(10)) - 1:,} of 4,001 characters of line 2 held back | "
        + (f"recall 17 lines 2:{len(head) + 1}-2:{4000 - tail.index(chr(10))}]")
    )
    assert tail.endswith("x\nend\n")


def test_parts_of_several_lines_are_counted_in_characters() -> None:
    whole = "x" * 4000 + "\n[OUTPUT TRUNCATED]\n"
    found = shown(whole, Touches(searches=(".",)), call=use("grep")) or ""
    head, _, note = found.partition("\n")
    assert (
        note
        == f"[{len(whole) - len(head):,} of 4,020 characters held back | recall 17 lines 1:{len(head) + 1}-2]"
    )
    assert held_words(found) == f"{len(whole) - len(head):,} of 4,020 characters"
    assert held_part(whole, found) == (len(head), len(whole))


@pytest.mark.parametrize(
    "unit",
    [
        "e\u0301",
        "\U0001f468\u200d\U0001f469",
        "\U0001f1e9\U0001f1ea",
        "1\ufe0f\u20e3",
        "\u0915\u093e",
        "\x1b[38;5;196mx",
        "\x1b]8;;https://example.org\x1b\\x",
    ],
)
def test_no_character_and_no_escape_sequence_is_split(unit: str) -> None:
    for moved in range(len(unit)):
        margin = "y" * moved
        found = shown(f"{margin}{unit * 3000}{margin}")
        assert found is not None
        head, _, tail = found.split("\n")
        assert head.removeprefix(margin + unit * head.count(unit)) in ("", unit.removesuffix("x"))
        assert tail.removeprefix("x") == unit * tail.count(unit) + margin


def test_json_ends_behind_an_element() -> None:
    rows = [{"id": number, "name": "x" * 30} for number in range(100)]
    found = shown(json.dumps(rows), None)
    assert found is not None
    head = found.split("\n")[0]
    assert len(head) / 4 > 100
    assert head.endswith("},")
    assert json.loads(f"{head.removesuffix(',')}]") == rows[: head.count("id")]


def test_json_of_many_lines_ends_behind_an_element() -> None:
    rows = [{"id": number, "names": {"first": ["x" * 10] * 3}} for number in range(100)]
    found = shown(json.dumps(rows, indent=2), None)
    assert found is not None
    head = found[: found.index("\n[")]
    assert json.loads(f"{head.removesuffix(',')}]") == rows[: head.count("id")]


def test_json_of_one_long_element_is_sent_whole() -> None:
    assert shown(json.dumps({"page": "x" * 4000}), None) is None
    assert shown(json.dumps([1, "x" * 1200, 2, "x" * 4000]), None) is not None  # within twice the cap


def test_json_lines_stay_whole() -> None:
    row = json.dumps({"text": "x" * 300}) + "\n"
    found = shown(row * 40, None)
    assert found is not None
    for line in found.splitlines():
        assert line.startswith("[") or json.loads(line)


ROWS = [{"id": number, "name": 'a, {b} and "c"'} for number in range(1000)]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS)[:20_000] + "\n[OUTPUT TRUNCATED]",
        json.dumps(ROWS)[:20_000] + "\n[… 2,345 bytes left out …]\n" + json.dumps(ROWS)[-20_000:],
        json.dumps(ROWS)[:20_000]
        + "\n[… 2,345 bytes left out …]\n"
        + json.dumps(ROWS)[-20_010:]
        + "\n[exit 1]",
        json.dumps([*ROWS, float("nan")]),
    ],
)
def test_json_that_was_cut_off_or_is_not_strict_is_cut_at_elements(text: str) -> None:
    found = shown(text) or ""
    head, _, tail = found.partition("\n[")
    assert head.endswith("},")
    assert json.loads(f"{head[:-1]}]")
    rest = tail.split("\n", 1)[1] if "\n" in tail else ""
    assert not rest or rest.startswith(' {"id": ')


@pytest.mark.parametrize("indent", [None, 2])
def test_a_failure_in_json_keeps_its_last_elements(indent: int | None) -> None:
    error = {"error": "the database is locked", "code": 5}
    found = shown(json.dumps({"frames": ROWS, **error}, indent=indent), None, failed=True) or ""
    head, _, rest = found.partition("\n[")
    tail = rest.partition("\n")[2]
    assert head.endswith("},")
    assert json.loads(f'{{"frames": [{tail}') == {"frames": ROWS[-tail.count("id") :], **error}


@pytest.mark.parametrize("between", ["\n", "", "\n\n"])
def test_several_values_of_json_are_cut_between_two_of_them(between: str) -> None:
    found = shown(between.join(json.dumps(row, indent=2) for row in ROWS), Touches(searches=(".",))) or ""
    head = found.partition("\n[")[0]
    assert head.endswith("\n}")
    assert head.count("{\n") == head.count("\n}") > 3


@pytest.mark.parametrize(
    "item",
    [
        "- id: 12\n  name: a name\n  note: |\n    some words\n",
        "def function(a):\n    if a:\n        return 1\n    return a + 1\n\n\n",
        "a header\n\tits first line\n\tand a second\n",
    ],
)
def test_a_head_ends_before_an_item_that_begins_near(item: str) -> None:
    for cap in range(100, 115):
        found = shown(item * 200, Touches(searches=(".",)), caps=Caps(search=cap, least=10)) or ""
        head = found.partition("[")[0]
        assert head.rstrip() == (item * head.count(item.rstrip())).rstrip()
        assert len(head) / 4 > cap * 0.6


def test_images_are_never_cut() -> None:
    picture = Image("image/png", "AAAA", 100, 100)
    whole = ToolResult("t1", "x", (picture, Text(lines(500)), Text("end")), False)
    cut = spill(whole, use("x"), BASH, 17, CAPS, Chars4(), recall=True)
    assert cut.spilled is not None
    assert cut.sent == (Text(cut.spilled.shown), picture)
    assert cut.spilled.shown.endswith("\nend")
    alone = ToolResult("t1", "x", (picture,), False)
    assert spill(alone, use("x"), BASH, 17, CAPS, Chars4(), recall=True) is alone


def test_names_of_parts_are_read_back() -> None:
    text = "a\r\nbcd\n\ne"
    whole = Lines(text)
    assert whole.count == 4
    for start in range(len(text)):
        for stop in range(start + 1, len(text) + 1):
            assert whole.part(whole.name(start, stop)) == (start, stop)
    assert whole.part("2-") == (3, len(text))
    assert whole.part("2,3") == whole.part("2:3") == whole.part("lines 2-3")


@pytest.mark.parametrize("name", ["", "x", "0-2", "5-6", "3-2", "-4", "1-2-3", "9" * 40])
def test_a_name_that_is_no_part_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="lines"):
        Lines("a\nb\nc\nd").part(name)


def test_a_record_keeps_what_was_sent_and_older_ones_have_nothing() -> None:
    event = ToolResult("t1", "x", (Text("whole"),), tokens=3, spilled=Spilled(40, "shown"))
    line = encode_record(Record(4, 5, event))
    assert b'"spilled":{"tokens":40,"shown":"shown"}' in line
    assert decode_record(line).event == event
    assert b"spilled" not in encode_record(Record(4, 5, result("whole")))


def test_the_shipped_expectations_are_read_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    found = load_expectations(PACKAGE / "data")
    assert found.caps["normal"].of("bash") == 1000
    assert found.ages[0] == 2
    assert [found.quoted[group][0] for group in ("read", "bash", "other")] == [0.41, 0.21, 0.30]
    assert [found.further(requests) for requests in (0, 30, 500)] == [5, 30, 100]
    for damage in ("", "{}", json.dumps({"caps": []})):
        (tmp_path / "expectations.json").write_text(damage)
        with pytest.raises(ConfigError, match="not a table of expectations"):
            load_expectations(tmp_path)
