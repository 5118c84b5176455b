"""Posts a hook's input to its address under the rules for fetching web pages: only to public hosts, after checking
the IP address.

This machine and the hosts in `[tools.web] private` are also allowed, because a hook's address is written or approved
by the user. Redirects are not followed, and no credentials are sent except the hook's headers.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic

import httpx2

from prunecli.features.hooks.replies import Ran
from prunecli.features.hooks.settings import Hook
from prunecli.model.messages import Json
from prunecli.tools.web.access import Web
from prunecli.tools.web.address import parsed
from prunecli.tools.web.download import requested
from prunecli.util.errors import ToolError
from prunecli.util.hosts import is_loopback
from prunecli.util.sanitize import one_line

MAX_ANSWER = 200_000
"""Maximum bytes of an answer. A longer answer is a failure, because a decision must not be cut."""
_NAMED = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_MOST_WHY = 200


async def post_hook(hook: Hook, given: Mapping[str, Json], *, env: Mapping[str, str], web: Web) -> Ran:
    """Post the input and return the answer as if a command had printed it. Raises only a cancellation."""
    begun = monotonic()
    out, problem = "", ""
    try:
        async with asyncio.timeout(hook.timeout):
            out = await _posted(hook, given, env, web)
    except TimeoutError:
        problem = f"no answer within {hook.timeout:g} s, so it was stopped"
    except (ToolError, httpx2.HTTPError) as error:
        problem = one_line(str(error).strip() or type(error).__name__)[:_MOST_WHY]
    took = round((monotonic() - begun) * 1000)
    return Ran(None if problem else 0, out, "", took, problem)


async def _posted(hook: Hook, given: Mapping[str, Json], env: Mapping[str, str], web: Web) -> str:
    """Return the body of a successful answer. Raises ToolError, HTTPError."""
    if is_loopback(hook.host):
        host = f"[{hook.host}]" if ":" in hook.host else hook.host
        web = replace(web, private=(*web.private, host), route=lambda _: ("", ""))
    address = parsed(hook.url, web.private)
    headers = {name: _filled(name, value, hook, env) for name, value in hook.headers}
    headers = {"content-type": "application/json", **headers}
    body = json.dumps(given).encode("ascii")
    async with requested(address, web, "POST", headers, body) as response:
        if not response.is_success:
            raise ToolError(f"HTTP status {response.status_code}")
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_ANSWER:
                raise ToolError(f"its answer is longer than {MAX_ANSWER:,} bytes")
    return data.decode("utf-8", "replace")


def _filled(name: str, value: str, hook: Hook, env: Mapping[str, str]) -> str:
    """Return a header with its allowed variables filled in. Other variables are empty, as in Claude Code. Raises
    ToolError."""

    def variable(match: re.Match[str]) -> str:
        wanted = match[1] or match[2]
        return env.get(wanted, "") if wanted in hook.variables else ""

    filled = _NAMED.sub(variable, value)
    if not filled.isascii() or not filled.isprintable():
        raise ToolError(f"the header {name} would contain invalid characters")
    return filled
