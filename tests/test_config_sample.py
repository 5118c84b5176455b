"""sample-config.toml: the file at the top level is what the classes make, and every line of it is right."""

import re
import tomllib
from dataclasses import replace

from prunecli.cli.flags import FLAGS
from prunecli.config.effective import Config
from prunecli.config.options import Spill
from prunecli.config.sample import sample, unset
from prunecli.config.schema import Schema
from prunecli.config.sources import FLAGS as CONFIG_FLAGS
from prunecli.config.strategies import shipped_strategies
from prunecli.context.expectations import KINDS
from prunecli.features.mcp.options import McpServer
from prunecli.util.paths import PACKAGE
from tests.configuring import desk

SAMPLE = PACKAGE.parent / "sample-config.toml"
UNCOMMENT = re.compile(r"^#(?! |$)", re.MULTILINE)


def test_the_file_at_the_top_level_is_fresh():
    """Stale? `python -m prunecli.config.sample > sample-config.toml`."""
    assert SAMPLE.read_text() == sample(Schema())


def test_as_it_stands_it_changes_nothing(tmp_path):
    here = desk(tmp_path)
    here.user(sample(Schema(here.strategies)))
    assert here.load().layers == ()


def test_uncommented_every_value_is_the_default(tmp_path):
    here = desk(tmp_path)
    here.user(UNCOMMENT.sub("", sample(Schema(here.strategies))))
    config = here.load()
    plain = Config()
    for section in ("tools", "compaction", "permissions", "sandbox"):
        assert getattr(config, section) == getattr(plain, section)
    assert replace(config.pruning, spill=Spill()) == plain.pruning
    assert {kind: getattr(config.pruning.spill, kind) for kind in KINDS} == {
        kind: unset()[kind] for kind in KINDS
    }
    assert config.model.max_tokens == unset()["max_tokens"]
    assert config.strategy_options("pi") == here.strategies.options_class("pi")()
    documented = {item.key for item in config.items(["pi", "adaptive", "importance"])}
    assert documented == {".".join(key) for key in config.found}
    server = config.section("mcp")["my-server"]
    assert replace(server, command="npx", args=(), env={}, headers={}) == McpServer(command="npx")


def test_the_shipped_one_uncommented_loads_too(tmp_path):
    here = desk(tmp_path)
    text = SAMPLE.read_text()
    here.user(UNCOMMENT.sub("", text))
    here.load(strategies=shipped_strategies())
    assert all(len(line) <= 110 for line in text.splitlines())
    assert set(tomllib.loads(text)) == {
        "model",
        "tools",
        "pruning",
        "compaction",
        "permissions",
        "sandbox",
        "hooks",
        "otel",
        "output_style",
        "plugins",
        "titles",
        "ui",
        "updates",
    }


def test_it_names_no_flag_that_does_not_exist():
    text = sample(Schema())
    known = {name for flag in FLAGS for name in flag.names}
    commands = {"--save", "--all"}  # of slash commands, and of `config show`
    assert set(re.findall(r"--[a-z][a-z-]+", text)) - known - commands == set()


def test_the_flags_that_set_a_key_are_those_of_the_command_line():
    assert {flag.name for flag in FLAGS if flag.field == "flags"} == set(CONFIG_FLAGS)
