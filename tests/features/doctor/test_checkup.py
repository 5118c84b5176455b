"""What `doctor` finds, and what it says to do."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import InThread, Table, run_line
from prunecli.config.effective import Config
from prunecli.config.sources import load
from prunecli.features.doctor.checkup import Finding, Patient, checkup
from prunecli.features.doctor.subcommand import in_columns
from prunecli.model.requests import Request
from prunecli.providers.models import Offer
from prunecli.providers.provider import Provider, StreamEvent
from prunecli.util.errors import ConfigError, ConnectionLost, PrunecliError, Unauthorized
from prunecli.util.paths import Places
from tests.files import put
from tests.starting import start

KEY = {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}


class Answering:
    """A provider that lists two models, or fails."""

    def __init__(self, error: PrunecliError | None = None) -> None:
        self._error = error
        self.closed = False

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        raise NotImplementedError
        yield

    async def models(self) -> tuple[Offer, ...]:
        if self._error:
            raise self._error
        return (Offer("a", 1), Offer("my-listed", 8_192))

    async def close(self) -> None:
        self.closed = True


def examined(
    folder: Path,
    given: Mapping[str, str] = KEY,
    *,
    error: PrunecliError | None = None,
    size: tuple[int, int] | None = (80, 24),
    sets: tuple[str, ...] = (),
    free: int = 10**10,
    broken: str = "",
) -> dict[str, Finding]:
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", **given}
    places = Places.of(environ)
    provider = Answering(error)

    def load_config() -> Config:
        if broken:
            raise ConfigError(broken, "mend it")
        return load(places, folder, environ, sets=sets)

    patient = Patient(places, folder, environ, load_config, lambda _: provider, size, free=lambda _: free)
    found = list(checkup(patient))
    assert "0123456789" not in repr(found)
    return {one.name: one for one in found}


OF_FEATURES = ("language servers", "telemetry")


def test_what_needs_no_endpoint_is_said_before_it_is_asked(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **KEY}
    places, asked = Places.of(environ), list[Config]()

    def provider(config: Config) -> Provider:
        asked.append(config)
        return Answering(None)

    patient = Patient(places, tmp_path, environ, lambda: load(places, tmp_path, environ), provider, (80, 24))
    found = checkup(patient)
    names = [next(found).name for _ in range(4)]
    assert (names, asked) == (["prunecli", "terminal", "configuration", "credentials"], [])
    assert [one.name for one in found][:2] == ["model", "endpoint"]
    assert len(asked) == 1


def test_a_narrow_terminal_breaks_lines_between_words() -> None:
    one = Finding("sandbox", "warning", "none, commands run with your permissions", "apt install bubblewrap")
    assert in_columns(one, 50).split("\n") == [
        "note  sandbox           none, commands run with",
        "      your permissions  (apt install bubblewrap)",
    ]
    assert "\n" not in in_columns(one, 0)


def test_where_all_is_well_every_line_is_ok_but_for_the_sandbox(tmp_path: Path) -> None:
    found = examined(tmp_path)
    assert {name for name, one in found.items() if one.state != "ok"} == {"sandbox"}
    assert [name for name in found if name not in OF_FEATURES] == [
        "prunecli",
        "terminal",
        "configuration",
        "credentials",
        "model",
        "endpoint",
        "features",
        "sandbox",
        "rg",
        "sessions",
    ]
    assert found["credentials"].said == "from ANTHROPIC_API_KEY"
    assert found["endpoint"].said == "https://api.anthropic.com answers, 2 models"


def test_configured_mcp_servers_are_named_and_none_is_started(tmp_path: Path) -> None:
    assert "MCP servers" not in examined(tmp_path)
    started = tmp_path / "started"
    sets = (
        "mcp.files.command=touch",
        f'mcp.files.args=["{started}"]',
        "mcp.docs.url=https://example.com/mcp",
        "mcp.docs.enabled=false",
    )
    found = examined(tmp_path, sets=sets)["MCP servers"]
    assert (found.state, found.said) == ("ok", "docs (off), files; /mcp shows their state")
    assert not started.exists()


def test_without_a_key_it_says_how_to_add_one_and_asks_nobody(tmp_path: Path) -> None:
    found = examined(tmp_path, {})
    assert found["credentials"].state == "problem"
    assert "prunecli login" in found["credentials"].hint
    assert "not checked" in found["endpoint"].said


def test_the_demo_model_needs_neither_key_nor_network(tmp_path: Path) -> None:
    found = examined(tmp_path, {}, sets=("model.name=demo",), error=ConnectionLost("no"))
    assert found["credentials"].state == "warning"
    assert found["endpoint"].state == "ok"


@pytest.mark.parametrize(
    ("error", "said"),
    [(Unauthorized("401"), "rejects the key"), (ConnectionLost("gone", "check base_url"), "gone")],
)
def test_an_endpoint_that_fails_is_a_problem_with_its_reason(
    tmp_path: Path, error: PrunecliError, said: str
) -> None:
    found = examined(tmp_path, error=error)
    assert found["endpoint"].state == "problem"
    assert said in found["endpoint"].said


def test_a_server_of_the_users_own_needs_no_key_and_is_asked(tmp_path: Path) -> None:
    found = examined(tmp_path, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"})
    assert found["credentials"].state == "warning"
    assert "answers" in found["endpoint"].said


def test_a_configuration_that_is_wrong_is_named_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    found = examined(tmp_path, broken="config.toml: ui.theme: no")
    assert (found["configuration"].state, found["configuration"].hint) == ("problem", "mend it")
    assert {"credentials", "rg", "sessions"} <= found.keys()


def test_damaged_numbers_behind_pruning_are_a_problem_of_the_configuration(tmp_path: Path) -> None:
    own = Places.of({"HOME": str(tmp_path)}).expectations_file
    put(own, "{}")
    found = examined(tmp_path)["configuration"]
    assert found.state == "problem"
    assert found.said.startswith(f"{own}: not a table of expectations")
    assert "--fit" in found.hint


def test_a_key_file_that_others_can_read_is_a_problem(tmp_path: Path) -> None:
    key = tmp_path / ".config" / "prunecli" / "key"
    put(key, "sk-ant-0123456789")
    key.chmod(0o644)
    found = examined(tmp_path, {})
    assert found["credentials"].state == "problem"
    assert "chmod 600" in found["credentials"].hint


@pytest.mark.parametrize(
    ("size", "given", "said"),
    [
        (None, {}, "none"),
        ((80, 24), {"TERM": "dumb"}, "dumb, 80x24, 16 colors"),
        ((20, 5), {}, "20x5"),
        ((80, 24), {"NO_COLOR": "1"}, "no colors"),
        ((80, 24), {"COLORTERM": "truecolor"}, "16M colors"),
    ],
)
def test_the_terminal_is_described(
    tmp_path: Path, size: tuple[int, int] | None, given: dict[str, str], said: str
) -> None:
    assert said in examined(tmp_path, {**KEY, **given}, size=size)["terminal"].said


def test_a_session_folder_that_cannot_be_used_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    found = examined(tmp_path, {**KEY, "PRUNECLI_HOME": str(tmp_path / "taken")})
    assert (found["sessions"].state, "not a folder" in found["sessions"].said) == ("problem", True)
    environ = {"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "open")}
    open_to_all = Places.of(environ).sessions_of(tmp_path)
    open_to_all.mkdir(parents=True)
    open_to_all.chmod(0o755)
    found = examined(tmp_path, {**KEY, "PRUNECLI_HOME": str(tmp_path / "open")})
    assert "readable by others (mode 0755)" in found["sessions"].said
    assert examined(tmp_path, free=1)["sessions"].state == "warning"


def test_a_model_that_nothing_is_known_about_is_named(tmp_path: Path) -> None:
    found = examined(tmp_path, sets=("model.name=my-model",))
    assert "window unknown" in found["model"].said
    assert '[models."my-model"]' in found["model"].hint
    listed = examined(tmp_path, sets=("model.name=my-listed",))["model"]
    assert listed.hint == "the endpoint says 8.2K tokens; /model uses that"


def test_the_command_checks_in_a_thread_and_shows_a_table(tmp_path: Path) -> None:
    effect = run_line(start(tmp_path, sets=["model.name=demo"]), "/doctor")[0]
    assert isinstance(effect, InThread)
    table = effect.work()[0]
    assert isinstance(table, Table)
    assert [row[1] for row in table.rows][:3] == ["prunecli", "terminal", "configuration"]


def test_the_subcommand_prints_one_line_each_and_fails_where_something_is_bad(
    tmp_path: Path,
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PRUNECLI_HOME": str(tmp_path / "p")}
    bad = CliRunner().invoke(
        app, ["doctor"], env={**environ, "ANTHROPIC_API_KEY": None, "ANTHROPIC_BASE_URL": None}
    )
    assert bad.exit_code == 1
    assert len(bad.stdout.strip().split("\n")) == 9 + sum(name in bad.stdout for name in OF_FEATURES)
    assert "BAD   credentials" in bad.stdout
    demo = CliRunner().invoke(app, ["doctor", "--probe"], env={**environ, "PRUNECLI_MODEL": "demo"})
    assert (demo.exit_code, "not probed: the embedded demo model" in demo.stdout) == (0, True)
