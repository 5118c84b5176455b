"""Files that can't be used: every one is a named error, none a traceback, none takes long."""

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prunecli.config.files import MAX_BYTES, line_of, lines, parse_toml, read
from prunecli.util.errors import ConfigError
from tests.configuring import Desk, complaint, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[model\n", "line 1, column 7: "),
        (b"x = 1\ny = [1,\n", "end of document: "),
        (b"\n\nname = 'a'\nname = 'b'\n", "line 4, column 11: Cannot overwrite a value"),
        (b"name = 'a\xff'", "line 1: not UTF-8"),
        (b"\n\nname = '\xc3'", "line 3: not UTF-8"),
        (b"\xef\xbb\xbf[model]\n", "line 1: starts with a byte order mark"),
        ("name = 'a'".encode("utf-16"), "line 1: not UTF-8"),
        (b"a" * (MAX_BYTES + 1), "larger than 1,000,000 bytes"),
        (b"a = " + b"[" * 50_000, "nested too deeply"),
        (b"a = " + b"{a = " * 50_000, "nested too deeply"),
        (b"\n" + b"a." * 400_000 + b"a = 1", "line 2: a key has more than 16 parts"),
        (b"[" + b'"a" . ' * 100 + b"a]", "line 1: a key has more than 16 parts"),
        (b"a = " + b"9" * 5000, "Exceeds the limit (4300 digits) for integer string conversion"),
        (b"a = 2020-02-30", "line 1, column 5: Invalid date or datetime"),
        (b"a = '\x1b[31m'", "line 1, column 6: Found invalid character '\\x1b'"),
        (b"\0", "line 1, column 1: "),
    ],
)
def test_a_file_that_is_no_toml_is_answered_with_its_line(here, data, message):
    here.user(data)
    with pytest.raises(ConfigError) as failed:
        here.load()
    assert failed.value.message.startswith(f"config.toml: {message}")
    assert str(here.places.config_file) in failed.value.hint


def test_a_directory_a_pipe_and_a_socket_are_no_files(here):
    target = here.places.config_file
    target.mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"config\.toml: not a regular file"):
        here.load()
    target.rmdir()
    os.mkfifo(target)
    with pytest.raises(ConfigError, match=r"config\.toml: not a regular file"):
        here.load()
    target.unlink()
    target.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match=r"config\.toml: not a regular file"):
        here.load()
    target.unlink()
    target.symlink_to(target)
    with pytest.raises(ConfigError, match=r"cannot read config\.toml: Too many levels of symbolic links"):
        here.load()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_named(here):
    here.user("").chmod(0)
    with pytest.raises(ConfigError, match=r"cannot read config\.toml: Permission denied"):
        here.load()


def test_a_file_that_is_missing_is_no_error(here):
    assert read(here.root / "absent.toml", "absent") is None
    assert read(here.user("") / "below", "below a file") is None


def test_dots_in_a_value_are_no_long_key():
    text = f'a = \'{"x." * 90}\'\nb = "{"y." * 90}" # {"z." * 90}\nc = """{"w." * 90}"""\n'
    assert len(parse_toml(text, "x", Path("x"))) == 3


@given(st.text(max_size=300) | st.text(alphabet="a.=[]{}\"'\\\n #1,-\t", max_size=80))
@example('a = """"""\nb = 1')
def test_any_text_is_a_table_or_a_named_error(text):
    said = complaint(parse_toml, text, "config.toml", Path("config.toml"))
    assert said.startswith("config.toml: ") or not said
    if not said:
        table = parse_toml(text, "config.toml", Path("config.toml"))
        assert set(lines(text)) >= {(name,) for name in table if not isinstance(table[name], dict | list)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_a_named_error(here, data):
    here.user(data)
    said = complaint(here.load)
    assert said.startswith("config.toml: ") or not said


KEYS = st.sampled_from(["a", "b-1", '"q . x"', "'l#[]'", '"\\u0041\\""', "c_2"])
VALUES = st.sampled_from(
    ["1", "'s # ['", '"x\\"]#"', "[1, [2, '3]'], # c\n  4\n]", "{ x = 1, y = [2] }", '"""\nm\\"""\n= [\n""""',
     "'''\n[t]\nk = 1'''", "true # [c]", "1979-05-27T07:32:00Z", '""', "''''''", "1.5e3"]
)  # fmt: skip


@given(
    st.lists(st.tuples(st.booleans(), st.lists(KEYS, min_size=1, max_size=3), VALUES), max_size=12), st.data()
)
def test_the_line_of_every_key_is_the_one_on_which_it_is_written(statements, data):
    text, where, table = "", {}, ()
    for number, (is_table, parts, value) in enumerate(statements):
        blank = data.draw(st.sampled_from(["", "\n", "# [x]\n", "  \t\n"]))
        text += blank
        line = text.count("\n") + 1
        names = tuple(
            tomllib.loads(f"k = {part if part[0] in QUOTES else repr(part)}")["k"] for part in parts
        )
        unique = f"n{number}"
        if is_table:
            table = (unique, *names)
            text += f"[ {unique} . {' . '.join(parts)} ]\n"
            where[table] = line
        else:
            where[(*table, unique, *names)] = line
            text += f"  {unique}.{'.'.join(parts)} = {value}\n"
    tomllib.loads(text)
    assert lines(text) == where


QUOTES = "\"'"


def test_a_key_inside_an_inline_table_stands_on_the_line_of_the_table():
    text = "a = 1\nb = { c = { d = 1 } }\n"
    assert line_of(text, ("b", "c", "d")) == 2
    assert line_of(text, ("z",)) is None
