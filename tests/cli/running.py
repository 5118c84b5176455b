"""The program in a process of its own, as a shell starts it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import RequestSent, SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.session.session import Session
from tests import preloaded
from tests.endpoint import Endpoint


def prunecli(environ: Mapping[str, str], *words: str, given: str = "") -> Any:
    """Runs the program in the working directory of the `environ` fixture; `given` is its standard input."""
    return preloaded.run(words, cwd=work_of(environ), env=environ, given=given)


def work_of(environ: Mapping[str, str]) -> Path:
    """The working directory."""
    return Path(environ["PRUNECLI_HOME"]).parent / "work"


def with_endpoint(environ: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    """The environment with a key and an endpoint on this machine."""
    return {**environ, "ANTHROPIC_API_KEY": "sk-ant-test-000000", "ANTHROPIC_BASE_URL": endpoint.base_url}


def kept_session(environ: Mapping[str, str], name: str = "mine", said: str = "what was said") -> Path:
    """A session with one message; its file."""
    path = Path(environ["PRUNECLI_HOME"]) / "sessions" / "x" / f"{name}.jsonl"
    session = Session(SessionStarted(name, str(work_of(environ)), "m"), Context(Chars4()), path=path)
    session.emit(UserMessage((Text(said),)))
    session.emit(RequestSent("m", 1, "wrong"))
    session.close()
    return path
