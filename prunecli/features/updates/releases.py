"""Which release is the newest, and how this installation is updated."""

import asyncio
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.util.errors import PrunecliError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from importlib import metadata

    import httpx2
else:
    httpx2 = lazy("httpx2")
    metadata = lazy("importlib.metadata")

RELEASES = "https://pypi.org/pypi/prunecli/json"
"""The index's own description of the package (PyPI's JSON API): one GET without anything about the user."""
SECONDS = 5.0
"""For the whole answer: an address that drips bytes must not hold the command."""
MOST_BYTES = 5_000_000
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,4}")


@frozen
class Installation:
    """How this copy came here, the command that updates it, and whether we run that after a yes."""

    how: str
    command: tuple[str, ...]
    runs: bool = False

    @property
    def line(self) -> str:
        return shlex.join(self.command)


def installation(prefix: Path, made_from: str = "", python: str = sys.executable) -> Installation:
    """Return how the environment at `prefix` was made: uv and pipx leave a file there, Homebrew a path.

    `made_from`: the text of the distribution's direct_url.json, "" for a release of an index.
    """
    if (prefix / "uv-receipt.toml").is_file():
        return Installation("installed by uv", ("uv", "tool", "upgrade", "prunecli"), runs=True)
    if (prefix / "pipx_metadata.json").is_file():
        return Installation("installed by pipx", ("pipx", "upgrade", "prunecli"), runs=True)
    if "Cellar" in prefix.parts:
        return Installation("installed by Homebrew", ("brew", "upgrade", "prunecli"))
    if source := _checkout(made_from):
        return Installation(f"run from the checkout {source}", ("git", "-C", source, "pull"))
    return Installation("installed by pip", (python, "-m", "pip", "install", "--upgrade", "prunecli"))


def _checkout(made_from: str) -> str:
    """Return the folder of an installation from a local folder, "" for any other (PEP 610)."""
    try:
        url = json.loads(made_from)["url"] if made_from else ""
    except (ValueError, KeyError, TypeError):
        return ""
    return url.removeprefix("file://") if isinstance(url, str) and url.startswith("file://") else ""


def direct_url() -> str:
    """Return the installed distribution's direct_url.json, "" for a release of an index."""
    try:
        return metadata.distribution("prunecli").read_text("direct_url.json") or ""
    except metadata.PackageNotFoundError:
        return ""


def is_newer(version: str, than: str) -> bool:
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    found = _VERSION.match(version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


async def newest(address: str = RELEASES, seconds: float = SECONDS) -> str:
    """Return the version of the newest release. Raises PrunecliError."""
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(timeout=seconds, follow_redirects=False) as client,
            client.stream("GET", address, headers={"accept": "application/json"}) as response,
        ):
            response.raise_for_status()
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise PrunecliError(f"{address}: the answer is too long")
        version = json.loads(body)["info"]["version"]
    except httpx2.HTTPError as error:
        said = str(error).splitlines()[:1] or [type(error).__name__]
        raise PrunecliError(f"{address}: {said[0]}") from error
    except TimeoutError as error:
        raise PrunecliError(f"{address}: no answer within {seconds:g} s") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PrunecliError(f"{address}: the answer names no version") from error
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise PrunecliError(f"{address}: the answer names no version")
    return version
