"""Which tools there are, under which names, and how much their definitions cost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.model.touches import named
from prunecli.tools.inputs import definition, parse, schema
from prunecli.tools.registry import ALIASES, canonical, load, names
from prunecli.tools.tool import touches_of
from prunecli.util.errors import ToolError

GIVEN = {
    "path": "src/a",
    "command": "ls",
    "content": "x",
    "old_string": "x",
    "new_string": "y",
    "pattern": "x",
    "tokens": 5,
    "memo": "x",
    "entry": 3,
}
SEVEN = ("bash", "edit", "find", "grep", "ls", "read", "write")
ROOT = Path(__file__).parents[2]


def test_every_tool_is_listed_under_its_files_name() -> None:
    assert set(SEVEN) <= set(names())
    assert not {"tool", "registry", "__init__"} & set(names())
    for name in names():
        assert load(name).name == name


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_the_originals_names_work(alias: str, name: str) -> None:
    assert canonical(alias) == name
    assert load(alias) is load(name)


@pytest.mark.parametrize("name", ["", "tool", "registry", "../evil", "os", "__init__", "Bash", "bash.py"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ToolError, match="no tool"):
        load(name)


def test_a_misspelled_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ToolError, match="did you mean grep"):
        load("gerp")


def test_listing_imports_no_tool() -> None:
    code = (
        "import sys; from prunecli.tools.registry import names; names();"
        "print(*[m for m in sys.modules if m.startswith('prunecli.tools.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["prunecli.tools.registry"]


@pytest.mark.parametrize("name", [*SEVEN, "prun", "prun_with_memo", "recall"])
def test_a_record_without_touches_is_given_what_its_tool_declares(name: str) -> None:
    tool = load(name)
    assert named(name, GIVEN) == touches_of(tool, parse(tool.Input, GIVEN))


def test_the_definitions_are_small() -> None:
    """System prompt and all schemas together stay below 2,000 tokens; a token is at least 3.5 bytes here."""
    size = sum(len(json.dumps(definition(load(name)), separators=(",", ":"))) for name in SEVEN)
    assert size / 3.5 < 900


@pytest.mark.parametrize("name", SEVEN)
def test_a_tool_says_what_it_can_change(name: str) -> None:
    tool = load(name)
    changes = name in ("bash", "edit", "write")
    touches = touches_of(tool, parse(tool.Input, GIVEN))
    assert touches is not None
    assert bool(touches.changes or touches.runs) == changes
    assert tool.parallel != changes
    assert tool.description.endswith(".")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(SEVEN), st.data())
def test_any_input_is_a_value_or_an_error_result(name: str, data: st.DataObject) -> None:
    tool = load(name)
    fields = schema(tool.Input)["properties"]
    raw = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys([*fields, "extra"], values)))
    assert isinstance(tool.summary(raw), str)
    assert "\n" not in tool.summary(raw)
    try:
        value = parse(tool.Input, raw)
    except ToolError as error:
        message = str(error)
        named = [key for key in fields if key in message]
        assert named
        return
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool}
    for key, field in fields.items():
        if raw.get(key) is not None:
            assert type(getattr(value, key)) is kinds[field["type"]]


def test_null_stands_for_an_optional_input_that_was_not_given() -> None:
    tool = load("grep")
    assert parse(tool.Input, {"pattern": "x", "path": None, "context": None}) == parse(
        tool.Input, {"pattern": "x"}
    )
    with pytest.raises(ToolError, match="pattern"):
        parse(tool.Input, {"pattern": None})
