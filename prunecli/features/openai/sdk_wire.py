"""Sends requests through the openai SDK, which is imported when the connections are made: 0.6 s of CPU.

The SDK gets its address, headers and HTTP client from prunecli, so that it reads neither a proxy nor a credential
from the environment; only at OpenAI itself do its variables for the organization and the project apply.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prunecli.providers.failures import MAX_ERROR_BYTES
from prunecli.providers.network import Route
from prunecli.providers.wire import http_client
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import httpx2
    import openai
else:
    httpx2 = lazy("httpx2")
    openai = lazy("openai")

_ERROR_SECONDS = 10.0
_CUSTOM = "OPENAI_CUSTOM_HEADERS"
_OF_THE_ACCOUNT = ("OpenAI-Organization", "OpenAI-Project")


class _Refused(Exception):
    """Carries an unsuccessful response past the SDK, which would read its body without a limit."""

    def __init__(self, response: "httpx2.Response") -> None:
        super().__init__(response.status_code)
        self.response = response


class OpenAiWire:
    """A `Wire` over the openai SDK. `headers` hold the credential."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        route: Route,
        connect_seconds: float,
        *,
        is_openai: bool,
    ) -> None:
        given: dict[str, Any] = dict(headers)
        self._omitted = {} if "Authorization" in headers else {"Authorization": openai.Omit()}
        if not is_openai:
            custom = [line.partition(":")[0].strip() for line in os.environ.get(_CUSTOM, "").splitlines()]
            omitted = dict.fromkeys((*_OF_THE_ACCOUNT, *filter(None, custom)), openai.Omit())
            given = {**omitted, **given}
        client = http_client(base_url, {}, route, connect_seconds)
        client.event_hooks = {"response": [_keep_refusals]}
        self._client = openai.AsyncOpenAI(
            api_key="in the headers",
            base_url=base_url,
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=connect_seconds),
            default_headers=given,
            http_client=client,
        )

    async def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> "httpx2.Response":
        """See `Wire.send`."""
        raw: Any = {"cast_to": httpx2.Response, "stream": True, "stream_cls": openai.AsyncStream[object]}
        kind = {"Content-Type": "application/json"} if body else {}
        raw["options"] = {"headers": {**self._omitted, **kind, **headers}}
        try:
            if body is None:
                found: httpx2.Response = await self._client.get(path, **raw)
            else:
                found = await self._client.post(path, content=body, **raw)
        except _Refused as refused:
            return refused.response
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.HTTPError):
                raise error.__cause__  # noqa: B904  # it has a cause of its own
            raise httpx2.ConnectError(str(error)) from error
        return found

    async def close(self) -> None:
        await self._client.close()


async def _keep_refusals(response: "httpx2.Response") -> None:
    if response.is_success:
        return
    body = bytearray()
    try:
        async with asyncio.timeout(_ERROR_SECONDS):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_ERROR_BYTES:
                    break
    except (TimeoutError, httpx2.HTTPError):
        pass  # the status says enough
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    kind = {"content-type": response.headers.get("content-type", "")}
    raise _Refused(httpx2.Response(response.status_code, headers={**headers, **kind}, content=bytes(body)))
