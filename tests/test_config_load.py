"""Layers: which source counts more, what a value's origin is, what a change for the session does."""

import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.config.effective import Config
from prunecli.config.options import Pruning
from prunecli.config.sources import VARIABLES, assignment
from prunecli.util.errors import ConfigError
from tests.configuring import Desk, desk


@pytest.fixture
def here(tmp_path) -> Desk:
    return desk(tmp_path)


def test_without_any_file_the_defaults_are_those_of_the_specification(here):
    config = here.load()
    assert config.pruning == Pruning(
        enabled=True, strategy="auto", gate="cache_aware", engage_ratio=0.75, estimator="tiktoken"
    )
    assert (config.pruning.order, config.pruning.memo) == ("newest", "once")
    assert config.tools.enabled == (
        "bash",
        "read",
        "write",
        "edit",
        "grep",
        "find",
        "ls",
        "prun",
        "recall",
        "task",
        "todo",
        "ask",
        "jobs",
        "web_fetch",
        "mcp",
    )
    assert (config.tools.max_output_bytes, config.tools.bash_timeout) == (100_000, 120)
    assert (config.permissions.mode, config.sandbox.mode, config.model.cache_ttl) == ("ask", "auto", "5m")
    assert (config.compaction.max_context_tokens, config.compaction.compact_at_pct) == (200_000, 0.85)
    assert (config.compaction.keep_first_turns, config.compaction.keep_recent_turns) == (2, 4)
    assert config.notices == ()


def test_each_source_counts_more_than_the_one_before(here):
    steps = []
    here.user('[ui]\ntheme = "user"\n')
    steps.append((here.load().ui.theme, here.load().origin("ui.theme")))
    here.settings('[ui]\ntheme = "settings"\n')
    steps.append((here.load().ui.theme, here.load().origin("ui.theme")))
    here.project('[ui]\ntheme = "root"\n', here.cwd.parent)
    here.project('[ui]\ntheme = "nearest"\n')
    for more in (
        {"trusted": True},
        {"trusted": True, "environ": {"PRUNECLI_THEME": "variable"}},
        {"trusted": True, "environ": {"PRUNECLI_THEME": "variable"}, "flags": {"--theme": "flag"}},
    ):
        config = here.load(**more)
        steps.append((config.ui.theme, config.origin("ui.theme")))
    config = here.load("ui.theme=first", "ui.theme=set", flags={"--theme": "flag"}, trusted=True)
    steps.append((config.ui.theme, config.origin("ui.theme")))
    config = config.with_value("ui.theme", "session")
    steps.append((config.ui.theme, config.origin("ui.theme")))
    assert steps == [
        ("user", "~/.config/prunecli/config.toml:2"),
        ("settings", "~/.config/prunecli/settings.toml:2"),
        ("nearest", f"{here.cwd}/.prunecli/config.toml:2"),
        ("variable", "environment PRUNECLI_THEME"),
        ("flag", "flag --theme"),
        ("set", "flag --set"),
        ("session", "session"),
    ]


def test_an_origin_is_the_line_of_the_key_or_of_the_table_around_it(here):
    here.user(
        '# a comment\n[ui]\ntheme = """\ndusk"""\n\n[pruning.pi] # table\nprune_protect = 1\n'
        '[pruning]\nadaptive = { soft_trim = { max_chars = 3 } }\nimportance."n" = 2\n'
        '[models."claude x.1"]\ncontext_window = 5\n'
    )
    config = here.load()
    place = "~/.config/prunecli/config.toml"
    assert config.origin("ui.theme") == f"{place}:3"
    assert config.origin("pi.prune_protect") == f"{place}:7"
    assert config.origin("importance.n") == f"{place}:10"
    assert config.origin("pruning.adaptive.soft_trim.max_chars") == f"{place}:9"
    assert config.origin('models."claude x.1".context_window') == f"{place}:12"
    assert config.origin("pruning.gate") == "default"


def test_the_options_of_a_strategy_are_its_own_class_with_the_values_in_effect(here):
    here.user("[pruning.adaptive]\nsoft_trim_ratio = 0\nsoft_trim.max_chars = 10\n")
    options = here.load("pruning.adaptive.budget=7").strategy_options("adaptive")
    assert type(options).__name__ == "Options"
    assert (options.soft_trim_ratio, options.hard_clear_ratio, options.budget) == (0.0, 0.5, 7)
    assert (options.soft_trim.max_chars, options.soft_trim.head_chars) == (10, 1500)


def test_a_strategy_is_imported_only_when_its_options_are_needed(here):
    marker = here.root / "imported"
    module = here.strategies.folders[1].path / "mine.py"
    module.write_text(f"open({str(marker)!r}, 'w').close()\n\n\ndef propose(view, options): ...\n")
    here.user('[pruning]\nstrategy = ["pi", "mine"]\n[pruning.mine]\n')
    config = here.load()
    assert config.pruning.strategies == ("pi", "mine")
    assert not marker.exists()
    config.strategy_options("mine")
    assert marker.exists()


def test_a_strategy_that_can_not_be_imported_is_named_with_its_file(here):
    (here.strategies.folders[1].path / "mine.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(ConfigError, match=r"cannot import .*mine\.py: .*No module named"):
        here.load("pruning.mine.n=1")


def test_a_change_for_the_session_is_validated_and_leaves_the_old_value_alone(here):
    before = here.load()
    after = before.with_value("pi.prune_protect", "20000")
    assert after.strategy_options("pi").prune_protect == 20_000
    assert after.origin("pruning.pi.prune_protect") == "session"
    assert before.strategy_options("pi").prune_protect == 40_000
    with pytest.raises(ConfigError) as failed:
        after.with_value("pi.prune_minimum", "20k")
    assert failed.value.message == "pruning.pi.prune_minimum: expected an integer of at least 0, got '20k'"


def test_a_value_is_found_by_its_dotted_key(here):
    here.user('[models.x]\nprices.input = 3\n[ui.keys]\nsubmit = "ctrl+s"\n')
    config = here.load()
    assert config.value("pruning.gate") == "cache_aware"
    assert config.value("pi.prune_protect") == 40_000
    assert config.value("models.x.prices.input") == 3.0
    assert config.value("models.y.prices.input") is None
    assert config.value("ui.keys.submit") == "ctrl+s"
    with pytest.raises(ConfigError, match=r"pruning\.gates: unknown key \(did you mean pruning\.gate\?\)"):
        config.value("pruning.gates")


def test_every_value_is_listed_with_its_origin(here):
    here.user('[ui.keys]\nsubmit = "ctrl+s"\n[pruning.adaptive]\nbudget = 1\n')
    items = {item.key: (item.value, item.origin) for item in here.load("pruning.strategy=pi").items()}
    assert items["pruning.strategy"] == ("pi", "flag --set")
    assert items["pruning.pi.prune_protect"] == (40_000, "default")
    assert items["pruning.adaptive.budget"] == (1, "~/.config/prunecli/config.toml:4")
    assert items["ui.keys.submit"] == ("ctrl+s", "~/.config/prunecli/config.toml:2")
    assert items["model.max_tokens"] == (None, "default")
    assert not any(key.startswith("pruning.importance") for key in items)
    assert "pruning.importance.n" in {item.key for item in here.load().items(["importance"])}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ('model.name=a=b [c] "d"', 'a=b [c] "d"'),
        ("model.name=null", "null"),
        ("pruning.strategy=pi", "pi"),
        ('pruning.strategy=["pi","adaptive"]', ("pi", "adaptive")),
        ("pruning.engage_ratio=1", 1.0),
        ("pruning.engage_ratio=5e-1", 0.5),
        ("pruning.enabled=false", False),
        ("model.max_tokens=9", 9),
        ("model.max_tokens=null", None),
        ('tools.enabled=["read_file","bash"]', ("read_file", "bash")),
        ("permissions.deny=[]", ()),
        ("pruning.adaptive.soft_trim.max_chars=2000", 2000),
        ("pi.prune_protect=3", 3),
        ("ui.theme=[gone]", "[gone]"),
        ('models."claude-3.5".context_window=5', 5),
    ],
)
def test_a_set_value_is_typed_by_its_declaration(here, given, value):
    assert here.load(given).value(assignment(given)[0]) == value


def test_environment_variables_set_their_keys_and_empty_ones_nothing(here):
    values = {
        "PRUNECLI_PROVIDER": "demo",
        "ANTHROPIC_BASE_URL": "http://localhost:11434",
        "PRUNECLI_SANDBOX": "require",
        "PRUNECLI_STRATEGY": "pi",
    }
    for name, key in VARIABLES.items():
        assert here.load(environ={name: values.get(name, "x")}).value(key) == values.get(name, "x")
        assert here.load(environ={name: ""}).origin(key) == "default"


def test_a_named_file_is_read_instead_of_the_users_files(here):
    here.user('[ui]\ntheme = "a"\n')
    here.settings("[ui]\nmouse = false\n")
    other = here.root / "other.toml"
    other.write_text('[model]\nname = "x"\n')
    config = here.load(config_file=other)
    assert (config.model.name, config.ui.theme, config.ui.mouse) == ("x", "prune-dark", True)
    with pytest.raises(ConfigError, match=r"absent\.toml: no such file"):
        here.load(config_file=here.root / "absent.toml")


def test_a_relative_program_home_is_refused(here):
    with pytest.raises(ConfigError, match="PRUNECLI_HOME: expected an absolute path, got 'data'"):
        here.load(environ={"PRUNECLI_HOME": "data"})


def test_the_built_in_configuration_needs_no_files():
    assert Config().tools.bash_timeout == 120


def test_a_start_without_files_imports_neither_a_parser_nor_a_strategy(tmp_path):
    script = (
        "import sys; from pathlib import Path; from prunecli.config.sources import load\n"
        "from prunecli.util.paths import Places\n"
        "load(Places.of({'HOME': sys.argv[1]}), Path(sys.argv[1]), {})\n"
        "heavy = ('tomllib', 'tomli_w', 'difflib', 'importlib.util', 'asyncio', 'textual', 'rich', 'anthropic')\n"
        "print([name for name in sys.modules if name in heavy or name.startswith('prunecli.context.strategies.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]", done.stderr
