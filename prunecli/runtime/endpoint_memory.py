"""The file with data about endpoints: the fields they reject and the models they list.

The file is a JSON object in the data folder, with a section for each subject. It can be deleted at any time. Failures
to read or write it are ignored.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prunecli.model.codec import foreign_object
from prunecli.model.messages import Json
from prunecli.private_file import make_private, write_private

LASTS_MS = 30 * 24 * 3600 * 1000
"""Milliseconds after which an entry expires, because gateways are updated."""


def recall(path: Path, section: str) -> dict[str, Any]:
    value = _whole(path).get(section)
    return dict(value) if isinstance(value, dict) else {}


def remember(path: Path, section: str, value: Mapping[str, Json]) -> None:
    with suppress(OSError):
        make_private(path.parent)
        write_private(path, json.dumps({**_whole(path), section: value}, indent=1).encode())


def bare(address: str) -> str:
    """Return the URL of an endpoint without user name and password, for use as a key; Anthropic's URL for ""."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() or "api.anthropic.com"


def _whole(path: Path) -> dict[str, Any]:
    try:
        return foreign_object(path.read_bytes())
    except OSError:
        return {}
