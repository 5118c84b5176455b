"""Hands a session off to prunecli and sends one more prompt."""

from pathlib import Path

from prunecli.model.events import Record, SettingChanged
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.session.importers.handoff import find
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.launch_options import Launch
from tests.endpoint import Endpoint

NEXT = "And now?"


def environment(endpoint: Endpoint, home: Path) -> dict[str, str]:
    """The environment of a user of both agents."""
    return {
        "HOME": str(home),
        "PRUNECLI_HOME": str(home / "prunecli"),
        "ANTHROPIC_API_KEY": "sk-ant-test-0000000000",
        "ANTHROPIC_BASE_URL": endpoint.base_url,
    }


def imported_part(records: list[Record]) -> list[Record]:
    """The records before those of this program."""
    ends = [record.seq for record in records if isinstance(record.event, SettingChanged)]
    return records[: ends[0]]


async def handed_over(
    endpoint: Endpoint, wanted: str, home: Path, cwd: Path, *sets: str, model: str = ""
) -> tuple[Runtime, Path]:
    """Go on with the session that `-r @AGENT:...` names. The closed runtime, whose log verifies, and the file."""
    environ = environment(endpoint, home)
    flags = {"--model": model} if model else {}
    asked = Launch(headless=True, trust=True, cwd=cwd, resume=wanted, flags=flags, sets=sets)
    runtime = make_runtime(asked, environ)
    try:
        await runtime.submit(NEXT)
    finally:
        await runtime.close()
    assert runtime.session.path is not None
    report = verify_session(runtime.session.path, read_log(runtime.session.path))
    assert report.clean, report.lines
    return runtime, find(wanted, environ, cwd).path
