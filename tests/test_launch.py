"""Starting: who answers, through which proxy, and what a start without a key does."""

import gc
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.cli.demo import PRICES
from prunecli.cli.launch import demo_launch, in_scratch_folder, launch
from prunecli.commands.command import Quit, run_line
from prunecli.front.presentation.completion import as_command
from prunecli.providers import endpoints
from prunecli.providers.demo_tour import is_tour
from prunecli.providers.models import ModelTable
from prunecli.runtime import reconfiguring
from prunecli.runtime.make import CHANGED_SETTINGS, make_runtime
from prunecli.safety.sandbox import landlock
from prunecli.safety.trust import TrustStore
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PRUNECLI_SANDBOX": "off", **more}


def test_without_a_key_the_screen_opens_on_the_demo_model_and_says_how_to_add_a_real_one(
    tmp_path: Path,
) -> None:
    runtime = make_runtime(Launch(cwd=tmp_path), environ(tmp_path))
    assert runtime.model_name == "demo"
    assert any("/login" in notice and '"tour"' in notice for notice in runtime.notices)


def test_a_server_of_the_users_own_needs_no_key(tmp_path: Path) -> None:
    runtime = make_runtime(Launch(cwd=tmp_path), environ(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:1"))
    assert runtime.model_name != "demo"
    assert runtime.notices == []


def test_headless_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no API key"):
        make_runtime(Launch(headless=True, cwd=tmp_path), environ(tmp_path))


def test_a_headless_start_that_is_refused_leaves_the_garbage_collector_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        launch(Launch(headless=True, cwd=tmp_path), environ(tmp_path))
    assert gc.isenabled()


def test_no_key_reaches_a_child(tmp_path: Path) -> None:
    given = {one.key_variable: f"secret-of-{one.name}" for one in endpoints.KNOWN.values()}
    kept = {"HF_TOKEN": "the-users-own"}
    runtime = make_runtime(Launch(cwd=tmp_path), environ(tmp_path, **given, **kept, COPY="secret-of-zai"))
    for env in (runtime.setup.child_env, runtime.setup.approved_env):
        assert "secret-of" not in "".join(env.values())
        assert env["HF_TOKEN"] == "the-users-own"


def test_instructions_of_the_project_are_read_once_it_is_trusted(tmp_path: Path) -> None:
    work = tmp_path / "repo" / "deep"
    work.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "AGENTS.md").write_text("from the root")
    (work / "CLAUDE.md").write_text("from the folder")
    (tmp_path / "AGENTS.md").write_text("above the repository")
    for trust, expected in ((False, []), (True, ["from the root", "from the folder"])):
        runtime = make_runtime(Launch(cwd=work, trust=trust), environ(tmp_path))
        runtime.prepare()
        system = b"".join(runtime.session.context.preamble.system).decode()
        assert [
            words for words in ("from the root", "from the folder", "above") if words in system
        ] == expected


def test_the_tour_has_a_scratch_folder_of_its_own(tmp_path: Path) -> None:
    asked = demo_launch()
    assert "Press Enter to start" in asked.introduction
    assert (asked.prompt, asked.guide[0]) == ("", "tour, step by step")
    assert asked.cwd is not None
    assert list(asked.cwd.iterdir()) == []
    asked.cwd.rmdir()
    for words in ("tour", "Start the tour."):
        assert is_tour(words)
    headless = in_scratch_folder(
        Launch(prompt="tour", headless=True, cwd=tmp_path, flags={"--model": "demo"})
    )
    assert (headless.prompt, headless.trust, headless.cwd != tmp_path) == ("tour", True, True)
    assert headless.cwd is not None
    headless.cwd.rmdir()


def test_the_tour_typed_in_a_session_leaves_for_that_folder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    runtime = make_runtime(Launch(cwd=tmp_path / "work"), environ(tmp_path))
    assert as_command("tour") == "/tour"
    assert run_line(runtime, "/tour") == [Quit()]
    assert runtime.leaves_for_tour
    touring = make_runtime(Launch(cwd=tmp_path / "work", introduction="hello"), environ(tmp_path))
    assert not any(isinstance(effect, Quit) for effect in run_line(touring, "/tour"))
    assert not touring.leaves_for_tour


def test_the_recorded_session_of_the_tour_is_real_small_and_free_to_share(tmp_path: Path) -> None:
    path = Places.of(environ(tmp_path)).shipped_data / "demo-session.jsonl.gz"
    assert path.stat().st_size < 60_000
    with gzip.open(path) as file:
        first = json.loads(file.readline())
    assert (first["license"], first["format"]) == ("MIT", "agent-session/1")
    assert f"{first['models'][first['model']]} requests" in demo_launch().introduction
    prices = ModelTable.load(Places.of(environ(tmp_path)).shipped_data).info(first["model"]).prices
    assert {f"models.demo.prices.{name}={getattr(prices, name):g}" for name in ("input", "output")} <= set(
        PRICES
    )


def test_trusting_a_directory_keeps_the_demo_model(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    runtime = make_runtime(Launch(cwd=tmp_path / "work"), environ(tmp_path))
    reconfiguring.trust(runtime)
    assert runtime.model_name == "demo"
    reconfiguring.reload(runtime)
    assert runtime.model_name == "demo"


@pytest.mark.skipif(landlock.version() >= landlock.NEEDED_VERSION, reason="Landlock works here without bwrap")
def test_where_a_sandbox_is_required_and_there_is_none_nothing_starts(tmp_path: Path) -> None:
    asked = Launch(cwd=tmp_path, sets=("sandbox.mode=require",))
    with pytest.raises(UsageError, match="'require', but bwrap: it is not installed") as refused:
        make_runtime(asked, {**environ(tmp_path), "PATH": str(tmp_path)})
    assert "--set" in refused.value.message
    assert "auto" in refused.value.hint


def test_changed_instructions_are_untrusted_and_reported(tmp_path: Path) -> None:
    """A pull that changes AGENTS.md does not act silently, in a headless run neither."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "AGENTS.md").write_text("be kind\n")
    environment = environ(tmp_path)
    TrustStore(Places.of(environment).trust_store).trust(work)
    asked = Launch(cwd=work, headless=True, sets=("model.name=demo",), no_session=True)
    kept = make_runtime(asked, environment)
    assert kept.gatekeeper.trusted
    assert CHANGED_SETTINGS not in kept.notices
    (work / "AGENTS.md").write_text("be evil\n")
    changed = make_runtime(asked, environment)
    assert not changed.gatekeeper.trusted
    assert CHANGED_SETTINGS in changed.notices
    assert changed.opening[:1] == ["/trust"]
    assert CHANGED_SETTINGS not in make_runtime(replace(asked, headless=False), environment).notices
