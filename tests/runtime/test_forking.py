"""Copies of sessions from the command line."""

import os
from pathlib import Path

import pytest

from prunecli.runtime.make import make_runtime
from prunecli.util.errors import SessionNotFound
from prunecli.util.launch_options import Launch
from tests.scripted import says
from tests.starting import start


async def two_prompts(tmp_path: Path) -> tuple[str, int]:
    runtime = start(tmp_path, [says("One."), says("Two.")])
    await runtime.submit("first")
    at = runtime.session.records[-1].seq
    await runtime.submit("second")
    await runtime.close()
    return runtime.session.id, at


async def opened(tmp_path: Path, resume: str, *, fork: bool = True, headless: bool = True) -> list[str]:
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    asked = Launch(
        headless=headless,
        resume=resume,
        fork=fork,
        trust=True,
        cwd=tmp_path / "work",
        flags={"--model": "demo"},
    )
    runtime = make_runtime(asked, environ)
    texts = [entry.text for entry in runtime.session.context.items]
    await runtime.close()
    return texts


@pytest.mark.parametrize("headless", [True, False])
async def test_a_session_is_copied_whole_or_up_to_an_entry(tmp_path: Path, headless: bool) -> None:
    name, at = await two_prompts(tmp_path)
    assert await opened(tmp_path, name, headless=headless) == ["first", "One.", "second", "Two."]
    assert await opened(tmp_path, f"{name}@{at}", headless=headless) == ["first", "One."]


@pytest.mark.parametrize("where", ["@999", "@x", "@"])
async def test_an_entry_that_is_not_there_is_said(tmp_path: Path, where: str) -> None:
    name, _ = await two_prompts(tmp_path)
    with pytest.raises(SessionNotFound):
        await opened(tmp_path, f"{name}{where}")


async def test_without_fork_an_at_sign_is_part_of_the_name(tmp_path: Path) -> None:
    name, at = await two_prompts(tmp_path)
    with pytest.raises(SessionNotFound):
        await opened(tmp_path, f"{name}@{at}", fork=False)
