"""What holds for all tests: they do not depend on load, on a random draw, or on the settings of the user.

Laws draw the same cases each time, so that a change fails for what it does. `--hypothesis-profile=search` draws new
ones; run it over the laws now and then, and keep each case that it finds as a test.
"""

import asyncio
import compileall
import gc
import os
import zlib
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.wires import WIRES, choose

settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("search", settings.get_profile("house"), derandomize=False)
settings.load_profile("house")

_SETTINGS = (
    "PRUNECLI_HOME XDG_CONFIG_HOME XDG_DATA_HOME NO_COLOR COLUMNS LINES VISUAL EDITOR CLAUDE_CONFIG_DIR "
    "CODEX_HOME PI_CODING_AGENT_DIR GEMINI_CLI_HOME OPENCODE_DB ANTHROPIC_AUTH_TOKEN PRUNECLI_MODEL "
    "PRUNECLI_PROVIDER PRUNECLI_SANDBOX PRUNECLI_STRATEGY PRUNECLI_THEME"
)
SLOW = tuple(
    f"{Path(__file__).parent}/{name}"
    for name in (
        *(
            "e2e/",
            "faults/",
            "features/lsp/",
            "features/openai/test_random",
            "features/test_removal",
            "golden/",
            "laws/",
            "peers/",
            "replay/",
            "tui/vim/test_keys",
            "tui/vim/test_walk",
        ),
        *(
            "features/otel/test_program",
            "features/proxy/test_attach",
            "features/proxy/test_faults",
            "features/proxy/test_recorded",
            "features/proxy/test_storms",
        ),
        *("proposals/test_unasked", "screenshots/", "vectors/"),
        *(
            "acp/test_streams",
            "agent/permissions/test_corpora",
            "cli/test_output",
            "distribution/",
            "mcp/test_faults",
        ),
        *("agent/permissions/test_hostile_kinds", "sandbox/test_attacks"),
        *("features/proxy/test_bound", "mcp/test_hub", "mcp/test_real_servers", "proposals/test_crashing"),
        *(
            "proposals/test_equality",
            "quality/",
            "providers/test_clouds",
            "providers/test_demo_tour",
            "providers/test_lazy_import",
        ),
        *("providers/test_memory", "runtime/test_rewinding", "sandbox/test_probes", "session/test_damage"),
        *("session/importers/test_hostile", "test_library_agent", "test_ways_out"),
        *("tui/screens/test_handoff_picker", "tui/screens/test_sessions", "tui/screens/test_unfolding"),
        *("tui/test_commands_shown", "tui/test_compacting", "tui/test_crashing", "tui/test_effects"),
        *("tui/test_inquiring", "tui/test_inspector", "tui/test_mcp", "tui/test_permission"),
        *("tui/test_planning", "tui/test_program", "tui/test_rewind", "tui/test_robust"),
        *("tui/snapshots/", "tui/test_session_loading", "tui/test_storage", "tui/test_storms"),
        *("tui/transcript/test_hostile", "tui/transcript/test_transcript_view", "tui/widgets/test_menu"),
    )
)
"""Where a test takes a second or more: laws, corpora, real terminals, subprocesses, pictures. They run where they are
asked for by path or `-m slow`, and in `.ci/run`."""
FAST = "not slow"

for _name in _SETTINGS.split():
    os.environ.pop(_name, None)


def pytest_configure(config: pytest.Config) -> None:
    """Compile everything once, before the workers and the programs that tests start would each do it."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        config.option.markexpr = config.option.markexpr.removeprefix(f"{FAST} and ")
    if not hasattr(config, "workerinput"):
        root = Path(__file__).parents[1]
        for folder in ("prunecli", "tests"):
            compileall.compile_dir(root / folder, quiet=2)
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave slow files unread where they do not run."""
    return True if str(collection_path).startswith(SLOW) and config.option.markexpr.startswith(FAST) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """The protocol that scripted models speak, that of a tenth of the tests or of all; and a dose of slow tests."""
    parser.addoption("--wire", choices=("tenth", *WIRES), default="tenth", help="see tests/through.py")
    parser.addoption(
        "--dose", metavar="PERCENT:SEED", default="100:", help="run a share of the slow tests only"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose the wire of the test."""
    choose(item.nodeid, item.config.getoption("--wire"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests, before they are chosen by their marks, and keep the dose of them that was asked for."""
    percent, _, seed = config.getoption("--dose").partition(":")
    left_out = []
    for item in items:
        if str(item.path).startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and zlib.crc32(f"{seed}{item.nodeid}".encode()) % 100 >= int(
            percent
        ):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage less often: looking through what collecting made takes long, and all of that stays."""
    gc.collect()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


_TASKS: list["asyncio.Task[Any]"] = []


class _Watched(asyncio.DefaultEventLoopPolicy):
    """Makes event loops that remember their tasks."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.set_task_factory(_remembered)
        return loop


def _remembered(
    loop: asyncio.AbstractEventLoop, work: "Coroutine[Any, Any, Any]", **more: Any
) -> "asyncio.Task[Any]":
    task = asyncio.Task(work, loop=loop, **more)
    _TASKS.append(task)
    return task


asyncio.set_event_loop_policy(_Watched())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Fail a test that leaves a task whose exception nobody retrieved. asyncio only logs that, at some later time."""
    yield
    tasks, _TASKS[:] = _TASKS[:], []
    lost = [task for task in tasks if getattr(task, "_log_traceback", False)]
    for task in lost:
        task._log_traceback = False  # type: ignore[attr-defined]  # said here
    assert not lost, [(task.get_coro(), task.exception()) for task in lost]
