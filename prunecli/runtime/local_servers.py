"""Finds model servers on this machine: llama.cpp, Ollama, LM Studio, vLLM, SGLang and LiteLLM on their usual ports.

Sends only GET requests without a key to 127.0.0.1. Identifies a server by its responses, because other web servers
use the same ports.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from prunecli.providers.endpoints import KNOWN
from prunecli.providers.model_list import page_of
from prunecli.runtime.offered_models import Rows
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from http import client
else:
    client = lazy("http.client")

HOST = "127.0.0.1"
PORTS_VARIABLE = "PRUNECLI_LOCAL_PORTS"
"""Ports to check instead of the usual ones, separated by commas; "none" for no ports."""

SECONDS = 1.0
"""Time limit of a request."""

_MOST_BYTES = 1_000_000
_OLLAMA = (0, 14)
"""The first version that supports the Messages API."""


@frozen
class LocalServer:
    """A server. `problem` is the reason that it can't be used, or ""."""

    title: str
    address: str
    models: Rows = ()
    problem: str = ""


class _Answer(NamedTuple):
    status: int
    server: str
    body: bytes

    @property
    def value(self) -> Any:
        try:
            return json.loads(self.body) if self.status == 200 else None
        except (ValueError, RecursionError):
            return None


def ports(environ: Mapping[str, str]) -> tuple[int, ...]:
    """Return the ports to check. Invalid words in the variable are ignored."""
    given = environ.get(PORTS_VARIABLE, "")
    if not given:
        return tuple(one.port for one in KNOWN.values() if one.port)
    words = (word.strip() for word in given.split(","))
    return tuple(int(word) for word in words if word.isascii() and word.isdigit() and 0 < int(word) < 65536)


def find(places: Sequence[int], seconds: float = SECONDS) -> list[LocalServer]:
    """Return the servers on these ports, in order. May block for a few times `seconds`, so call it in a thread."""
    if not places:
        return []
    with ThreadPoolExecutor(len(places), thread_name_prefix="local") as pool:
        found = pool.map(lambda port: _server(port, seconds), places)
        return [one for one in found if one is not None]


def invitation(found: Sequence[LocalServer]) -> str:
    usable = [one for one in found if one.models]
    if not usable:
        return ""
    if len(usable) == 1:
        models = "1 model" if len(usable[0].models) == 1 else f"{len(usable[0].models)} models"
        return f"{usable[0].title} runs on this machine ({models}). /local to use it"
    return f"{' and '.join(one.title for one in usable)} run on this machine. /local to use one"


def invitation_within(places: Sequence[int], seconds: float) -> str:
    """Return the invitation if it is available within this time, else ""."""
    lines = list[str]()
    thread = Thread(target=lambda: lines.append(invitation(find(places))), name="local", daemon=True)
    thread.start()
    thread.join(seconds)
    return next(iter(lines), "")


def _server(port: int, seconds: float) -> LocalServer | None:
    address = f"http://{HOST}:{port}"

    def get(path: str) -> _Answer:
        return _get(port, path, seconds)

    listed = get("/v1/models")
    if not listed.status:
        return None
    rows, owners = page_of(listed.body).models, _owners(listed)
    if "llamacpp" in owners or (rows and listed.server == "llama.cpp"):
        return LocalServer(KNOWN["llamacpp"].title, address, rows)
    if known := next((KNOWN[one] for one in ("vllm", "sglang") if one in owners), None):
        return LocalServer(known.title, address, rows)
    if version := _text(get("/api/version").value, "version"):
        return _ollama(address, rows, version)
    if windows := _of_lm_studio(get("/api/v0/models").value):
        return LocalServer(KNOWN["lmstudio"].title, address, windows)
    if get("/health/liveliness").value == "I'm alive!":
        problem = "" if rows else 'needs a key: set model.endpoint = "litellm", then /login'
        return LocalServer(KNOWN["litellm"].title, address, rows, problem)
    return None


def _ollama(address: str, rows: Rows, version: str) -> LocalServer | None:
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", version)
    if numbers is None:
        return None
    old = (int(numbers[1]), int(numbers[2])) < _OLLAMA
    problem = f"is too old ({numbers[0]}): the Messages API needs 0.14 or newer" if old else ""
    problem = problem or ("" if rows else "has no model: ollama pull NAME")
    return LocalServer(KNOWN["ollama"].title, address, () if old else rows, problem)


def _of_lm_studio(value: Any) -> Rows:
    """Return the language models from LM Studio's own list, with their loaded context windows."""
    rows = value.get("data") if isinstance(value, dict) else None
    mine = [row for row in rows if isinstance(row, dict) and "state" in row] if isinstance(rows, list) else []
    speaking = [row for row in mine if row.get("type") in ("llm", "vlm")]
    data = [
        {
            "id": row.get("id"),
            "context_length": row.get("loaded_context_length") or row.get("max_context_length"),
        }
        for row in speaking
    ]
    return page_of(json.dumps({"data": data}).encode()).models


def _owners(listed: _Answer) -> set[str]:
    value = listed.value
    rows = value.get("data") if isinstance(value, dict) else None
    return {_text(row, "owned_by") for row in rows} if isinstance(rows, list) else set()


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _get(port: int, path: str, seconds: float) -> _Answer:
    """Return the response to a GET request; status 0 for a failure or timeout."""

    connection = client.HTTPConnection(HOST, port, timeout=seconds)
    until = time.monotonic() + seconds
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = b""
        while len(body) < _MOST_BYTES and time.monotonic() < until and (part := answer.read1(65_536)):
            body += part
        return _Answer(answer.status, answer.getheader("Server", ""), body)
    except (OSError, client.HTTPException, ValueError):
        return _Answer(0, "", b"")
    finally:
        connection.close()
