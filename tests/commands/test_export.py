"""/export: the session that is open, as a file in the working directory."""

import json
import re
from pathlib import Path

import pytest

from prunecli.commands.command import InThread, Say, run_line
from prunecli.util.errors import PrunecliError
from tests.scripted import says
from tests.starting import start


def answer(effects: object) -> Say:
    assert isinstance(effects, list)
    [said] = effects
    if isinstance(said, InThread):
        assert re.fullmatch(r"Exporting \d+ records", said.words)
        try:
            [said] = said.work()
        except PrunecliError as error:
            return Say(error.message, "error")
    assert isinstance(said, Say)
    return said


async def test_the_session_is_written_in_each_format(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hello there.")])
    await runtime.submit("say hello")
    folder = runtime.setup.cwd
    assert answer(run_line(runtime, "/export")).level == "info"
    assert "Hello there." in (folder / f"prunecli-{runtime.session.id}.md").read_text()
    for name in ("html", "pi", "messages"):
        assert answer(run_line(runtime, f"/export {name} out.{name}")).level == "info"
    messages = json.loads((folder / "out.messages").read_text())["messages"]
    assert messages[-1]["content"][0]["text"] == "Hello there."
    assert (folder / "out.html").stat().st_mode & 0o777 == 0o600
    await runtime.close()


@pytest.mark.parametrize(
    "given", ["my talk.html", '"my talk.html"', 'html "my talk.html"', "html my talk.html"]
)
async def test_a_file_name_may_have_spaces(tmp_path: Path, given: str) -> None:
    runtime = start(tmp_path, [says("Hello there.")])
    await runtime.submit("say hello")
    assert answer(run_line(runtime, f"/export {given}")).text == "Wrote my talk.html."
    assert (runtime.setup.cwd / "my talk.html").read_text().startswith("<!doctype html>")
    await runtime.close()


async def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hello there.")])
    assert answer(run_line(runtime, "/export")).level == "warning"
    await runtime.submit("say hello")
    (runtime.setup.cwd / "there.md").write_text("mine")
    assert "exists" in answer(run_line(runtime, "/export markdown there.md")).text
    assert answer(run_line(runtime, "/export talk.html")).text == "Wrote talk.html."
    assert "no format" in answer(run_line(runtime, "/export docx")).text
    assert (runtime.setup.cwd / "there.md").read_text() == "mine"
    await runtime.close()
