"""What is said about a wrong configuration: the file, the key, what was expected and what was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.config.declared import declared, from_hint, is_mapping
from prunecli.config.keys import dotted, parse
from prunecli.config.options import Compaction, Model, Pruning
from prunecli.config.schema import Schema
from prunecli.config.typed import from_text, from_toml, in_toml
from prunecli.util.errors import ConfigError
from tests.configuring import Desk, complaint, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pruning.pi]\nprune_protect = '20k'", "pruning.pi.prune_protect: expected an integer, got '20k'"),
        ("[pruning.pi]\nprune_protect = 2.5", "pruning.pi.prune_protect: expected an integer, got 2.5"),
        ("[pruning.pi]\nprune_protect = true", "pruning.pi.prune_protect: expected an integer, got true"),
        (
            "[pruning.pi]\nprune_minimum = -1",
            "pruning.pi.prune_minimum: expected an integer of at least 0, got -1",
        ),
        (
            "[pruning.pi]\nprotected_tools = 'read'",
            "pruning.pi.protected_tools: expected a list of strings, got 'read'",
        ),
        (
            "[pruning.pi]\nprotected_tools = ['read', 3]",
            "pruning.pi.protected_tools: expected a list of strings, but one item is 3",
        ),
        ("[pruning]\ngate = 'never'", "pruning.gate: expected one of always, cache_aware, got 'never'"),
        ("[pruning]\ngate = ['always']", "pruning.gate: expected one of always, cache_aware, got a list"),
        ("[pruning]\nengage_ratio = 75", "pruning.engage_ratio: expected a number from 0 to 1, got 75.0"),
        ("[pruning]\nengage_ratio = nan", "pruning.engage_ratio: expected a number from 0 to 1, got nan"),
        ("[pruning]\nenabled = 'yes'", "pruning.enabled: expected true or false, got 'yes'"),
        ("[pruning]\nenabled = 1", "pruning.enabled: expected true or false, got 1"),
        ("[pruning]\npi = 3", "pruning.pi: expected a table, got 3"),
        ("pruning = []", "pruning: expected a table, got a list"),
        ("[[pruning]]", "pruning: expected a table, got a list"),
        ("[pruning]\nstrategy = 3", "pruning.strategy: expected a string or a list of strings, got 3"),
        ("[pruning]\nstrategy = 'pie'", "pruning.strategy: no strategy named 'pie' (did you mean 'pi'?)"),
        (
            "[pruning]\nstrategy = ['pi', 'importanse']",
            "pruning.strategy: no strategy named 'importanse' (did you mean 'importance'?)",
        ),
        (
            "[pruning]\nstrategy = []",
            "pruning.strategy: expected at least one name (no_pruning prunes nothing), got []",
        ),
        ("pruning.pie.x = 1", "pruning.pie: unknown key (did you mean pruning.pi?)"),
        ("[pruning.pie]", "pruning.pie: unknown key (did you mean pruning.pi?)"),
        (
            "[pruning.pi]\nprune_minimun = 1",
            "pruning.pi.prune_minimun: unknown key (did you mean pruning.pi.prune_minimum?)",
        ),
        ("[prunning]", "prunning: unknown key (did you mean pruning?)"),
        ("base_url = 'x'", "base_url: unknown key (did you mean model.base_url?)"),
        ("[model]\napi_key = 'sk'", "model.api_key: credentials do not belong in a configuration file"),
        ("[model]\nname = 2020-01-01", "model.name: expected a string, got 2020-01-01"),
        ("[model]\nname = ''", "model.name: expected a model name, got ''"),
        ("[model]\nthinking = 5", "model.thinking: expected 0 or at least 1024, got 5"),
        (
            "[model]\nmax_tokens = 2000\nthinking = 2000",
            "model.thinking: expected fewer than max_tokens (2000), got 2000",
        ),
        (
            "[model]\nbase_url = 'localhost'",
            "model.base_url: expected an http or https URL, got 'localhost'",
        ),
        (
            "[model]\nbase_url = 'http://['",
            "model.base_url: expected an http or https URL, got 'http://['",
        ),
        (
            "[model]\nbase_url = 'https://a:99999'",
            "model.base_url: expected an http or https URL, got 'https://a:99999'",
        ),
        (
            "[model]\nbase_url = 'http://a:b@c'",
            "model.base_url: expected an http or https URL, got 'http://***@c'",
        ),
        (
            "[pruning.adaptive]\nhard_clear_ratio = 0.1",
            "pruning.adaptive.hard_clear_ratio: expected at least soft_trim_ratio",
        ),
        ("[models.x.prices]\ninput = -1", "models.x.prices.input: expected a number of at least 0, got -1.0"),
        (
            "[models.x]\nprise = 1",
            "models.x.prise: unknown key (did you mean models.x.prices?)",
        ),
        ("[ui.keys]\nsubmit = 1", "ui.keys.submit: expected a string, got 1"),
        ("[model]\nmax_tokens = 99999999999999999999", "model.max_tokens: expected an integer of at least 1, got "
         "a number of more than 64 bits"),
        ('[ui]\ntheme = "a\\u202eb"\n"\\u001b[31m" = 1', 'ui."\\u001b[31m": unknown key (did you mean ui.theme?)'),
    ],
)  # fmt: skip
def test_a_wrong_file_is_answered_with_file_key_and_way_out(here, text, message):
    here.user(text)
    with pytest.raises(ConfigError) as failed:
        here.load()
    assert failed.value.message == f"config.toml: {message}"
    assert "~/.config/prunecli/config.toml" in failed.value.hint
    assert f"line {text.count(chr(10)) + 1} of" in failed.value.hint


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("pruning.pi.prune_protect=20k", "--set: pruning.pi.prune_protect: expected an integer, got '20k'"),
        ("pruning.pi.prune_protect=", "--set: pruning.pi.prune_protect: expected an integer, got ''"),
        ("pruning.pi.prune_protect=null", "--set: pruning.pi.prune_protect: expected an integer, got null"),
        ("pruning.engage_ratio=NaN", "--set: pruning.engage_ratio: expected a number from 0 to 1, got nan"),
        ("pruning.enabled=True", "--set: pruning.enabled: expected true or false, got 'True'"),
        ("tools.enabled=bash", "--set: tools.enabled: expected a list of strings, got 'bash'"),
        ("tools.enabled=" + "[" * 9999, "--set: tools.enabled: expected a list of strings, got"
         " '" + "[" * 37 + "...'"),
        ("pruning.context_tokens=" + "9" * 5000, "--set: pruning.context_tokens: expected an integer of at least 1,"
         " got '" + "9" * 37 + "...'"),
        ("pruning.pi=3", "--set: pruning.pi: is a table; expected a key inside it"),
        ("ui.keys={}", "--set: ui.keys: is a table; expected a key inside it"),
        ("pruning=3", "--set: pruning: is a table; expected a key inside it"),
        ("pruning.gaze=always", "--set: pruning.gaze: unknown key (did you mean pruning.gate?)"),
        ("model.name.x=1", "--set: model.name.x: unknown key"),
        ("models.x=1", "--set: models.x: is a table; expected a key inside it"),
        ("model..name=1", "--set: 'model..name' is not a dotted key"),
        ("=1", "--set: '' is not a dotted key"),
        ("pruning.gate", "--set: expected KEY=VALUE, got 'pruning.gate'"),
        ("ui.theme=\udcff", "--set: ui.theme: expected a string, got '\\udcff'"),
    ],
)  # fmt: skip
def test_a_wrong_set_is_answered_with_its_key(here, given, message):
    with pytest.raises(ConfigError) as failed:
        here.load(given)
    assert failed.value.message == message


def test_a_wrong_variable_or_flag_is_named(here):
    with pytest.raises(ConfigError, match=r"ANTHROPIC_BASE_URL: model\.base_url: expected an http"):
        here.load(environ={"ANTHROPIC_BASE_URL": "ftp://x"})
    with pytest.raises(
        ConfigError, match=r"--permission-mode: permissions\.mode: expected one of ask, edits"
    ):
        here.load(flags={"--permission-mode": "yolo"})


def test_every_declared_key_is_documented_and_its_default_is_valid():
    def check(owner):
        for item in declared(owner).values():
            assert item.doc.endswith("."), (owner, item.name)
            if hasattr(item.type, "__dataclass_fields__"):
                check(item.type)
            elif item.default is not None and not is_mapping(item.type):
                assert from_text(item, text_of(item.default)) == item.default

    def text_of(value):
        return value if isinstance(value, str) else in_toml(value)

    schema = Schema()
    for owner in (schema.member(None, name).type for name in schema.sections):
        check(owner if isinstance(owner, type) else owner.__args__[1])


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4).map(tuple))
def test_a_key_survives_being_written_and_read(key):
    key = tuple(part.encode("utf-8", "replace").decode() for part in key)
    assert parse(dotted(key)) == key


@given(st.text(max_size=60))
def test_any_text_is_a_value_or_a_named_fault(text):
    for owner in (Model, Pruning, Compaction):
        for item in declared(owner).values():
            said = complaint(from_text, item, text)
            assert said.startswith("expected ") or not said
            assert said.isprintable()
            if not said and (value := from_text(item, text)) is not None:
                assert from_toml(item, list(value) if isinstance(value, tuple) else value) == value


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
def test_any_toml_value_is_a_value_or_a_named_fault(value):
    for hint in (int, float, bool, str, tuple[str, ...], str | tuple[str, ...], int | None):
        said = complaint(from_toml, from_hint("key", hint), value)
        assert said.isprintable()
        assert said.startswith("expected ") or not said
