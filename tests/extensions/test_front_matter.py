"""Front matter: the forms that people's files have, and files that mean harm."""

import os
import time
from pathlib import Path

import pytest

from prunecli.agent.front_matter import MAX_FRONT_BYTES, flag, items, parse, read, read_beginning, text
from prunecli.util.errors import ConfigError

HERE = Path("a.md")


def test_a_file_is_its_fields_and_its_body() -> None:
    page = parse("---\nname: pdf\nmetadata:\n  version: 1.0\n---\n\nDo it.\n---\nMore.\n", HERE)
    assert page.fields == {"name": "pdf", "metadata": {"version": "1.0"}}
    assert page.body == "Do it.\n---\nMore."
    assert parse("\ufeff---\r\nname: x\r\n---\r\nbody\r\n".removeprefix("\ufeff"), HERE).body == "body"


@pytest.mark.parametrize(
    "whole", ["", "Just words.", "-- -\nx", "text\n---\nname: x\n---\n", "---\n---\nbody", "---\n# note\n---"]
)
def test_a_file_without_front_matter_has_no_fields(whole: str) -> None:
    assert parse(whole, HERE).fields == {}


def test_every_scalar_is_a_text() -> None:
    fields = parse("---\nname: 123\nmodel: yes\nat: 2024-01-01\nnone: ~\nempty:\n---\n", HERE).fields
    assert fields == {"name": "123", "model": "yes", "at": "2024-01-01", "none": "~", "empty": ""}
    assert flag(fields, "model")
    assert not flag(fields, "name")


def test_duplicate_and_unknown_keys_do_no_harm_and_the_last_one_holds() -> None:
    assert parse("---\na: 1\na: 2\nwhatever: {b: [c]}\n---\n", HERE).fields == {
        "a": "2",
        "whatever": {"b": ["c"]},
    }


def test_lines_that_other_agents_accept_are_quoted() -> None:
    fields = parse(
        "---\nargument-hint: [file] [words]\ndescription: Use so: now\nallowed-tools: Bash(git add:*), Read\n---\n",
        HERE,
    ).fields
    assert text(fields, "argument-hint") == "[file] [words]"
    assert text(fields, "description") == "Use so: now"
    assert items(fields, "allowed-tools") == ("Bash(git add:*)", "Read")
    assert text(parse("---\nargument-hint: [file]\n---\n", HERE).fields, "argument-hint") == "[file]"
    assert text(parse("---\ndescription: >\n  One\n  two.\n---\n", HERE).fields, "description") == "One two."


def test_items_are_a_list_or_words() -> None:
    assert items({"t": ["Read", " Bash(a, b) ", ""]}, "t") == ("Read", "Bash(a, b)")
    assert items({"t": "Read Grep,Bash(git commit -m:*)"}, "t") == ("Read", "Grep", "Bash(git commit -m:*)")
    assert items({}, "t") == ()


BOMB = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n"


@pytest.mark.parametrize(
    ("front", "line", "why"),
    [
        ("a: 1\nb: [\n  x", 4, "expected key"),
        (BOMB, 3, "aliases such as *a"),
        ("a: &a [*a]\n", 2, "aliases"),
        ("a: " + "[" * 5_000 + "]" * 5_000, 2, "nested too deeply"),
        ("a: 1\nb: " + "[a, " * 5_000 + "]" * 5_000, 3, "nested too deeply"),
        ("a: 1\n" + "".join("  " * n + "k:\n" for n in range(40)), 0, ""),
        ("- a\n- b\n", 2, "not a list of `key: value`"),
        ("just words\n", 2, "not a list"),
        ("- \x07\n", 0, "characters are not allowed"),
        ("{a: b}: c\n", 2, "key"),
        ("a: !!python/object/apply:os.system [exit]\n", 0, None),
    ],
    ids=range(11),
)
def test_what_is_malformed_is_named_with_file_and_line(front: str, line: int, why: str | None) -> None:
    whole = f"---\n{front}\n---\nbody"
    if why is None:
        assert parse(whole, HERE).fields == {"a": ["exit"]}, "tags make nothing"
        return
    with pytest.raises(ConfigError) as error:
        parse(whole, HERE)
    assert error.value.message.startswith(f"a.md: line {line}: " if line else "a.md: ")
    assert why in error.value.message
    assert error.value.message.isprintable()


def test_front_matter_without_end_and_too_long_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"line 1: the front matter has no closing ---"):
        parse("---\nname: x\nbody", HERE)
    with pytest.raises(ConfigError, match="too long"):
        parse("---\nname: " + "x" * MAX_FRONT_BYTES + "\n---\nbody", HERE)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    with pytest.raises(ConfigError, match=r"x\.md: No such file"):
        read(path)
    path.write_bytes(b"---\nname: x\n---\n\xff\xfe")
    with pytest.raises(ConfigError, match=r"x\.md: line 4: not UTF-8"):
        read(path)
    assert read_beginning(path).fields == {"name": "x"}
    path.write_text("x" * 101)
    with pytest.raises(ConfigError, match="larger than"):
        read(path, 100)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        read(path)


def test_the_fields_of_a_huge_file_are_read_without_its_body(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: big\n---\n" + "x" * 10_000_000)
    begun = time.process_time()
    assert read_beginning(path).fields == {"name": "big"}
    assert time.process_time() - begun < 0.5
