"""Claude at Amazon Bedrock and Google Vertex with the credentials of these clouds, which sign each request or renew a
token, through the clients of the anthropic SDK (the extras `prunecli[bedrock]` and `prunecli[vertex]`).

Bedrock is reached at its endpoint with the Messages API. Credentials are found as the cloud's own programs find them:
in the environment, in a profile, in a file, by an instance's role.
"""

import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from prunecli.providers.registry import Cloud
from prunecli.providers.wire import ACCEPT, Endpoint, SdkWire, no_credential, sdk_options
from prunecli.util.errors import ConfigError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import anthropic
    import httpx2
else:
    anthropic = lazy("anthropic")
    httpx2 = lazy("httpx2")

aws_errors: Any = lazy("botocore.exceptions")
google_errors: Any = lazy("google.auth.exceptions")

VERTEX = "https://aiplatform.googleapis.com/v1"
"""The address of `endpoint = "vertex"`: the SDK replaces it by that of the region."""

_LIBRARIES: Mapping[Cloud, tuple[str, str]] = {
    "aws": ("boto3", "bedrock"),
    "google": ("google.auth", "vertex"),
}
_HINTS: Mapping[Cloud, str] = {
    "aws": "sign in to AWS (`aws sso login`, AWS_PROFILE, AWS_ACCESS_KEY_ID), or set AWS_BEARER_TOKEN_BEDROCK",
    "google": "sign in to Google Cloud (`gcloud auth application-default login`, GOOGLE_APPLICATION_CREDENTIALS) "
    "and set ANTHROPIC_VERTEX_PROJECT_ID",
}


def check_library(cloud: Cloud, find: Callable[[str], object] = find_spec) -> None:
    """Raise ConfigError if the library that finds a cloud's credentials is not installed."""
    library, extra = _LIBRARIES[cloud]
    try:
        found = find(library)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ConfigError(f"the package {library} is not installed", f"pip install 'prunecli[{extra}]'")


class CloudWire(SdkWire):
    """Sends requests as a cloud expects them. Raises Unauthorized if there is no credential or it has expired."""

    def __init__(
        self, cloud: Cloud, endpoint: Endpoint, environ: Mapping[str, str], connect_seconds: float
    ) -> None:
        self.hint, self._cloud = _HINTS[cloud], cloud
        options = {**sdk_options(connect_seconds), "default_headers": dict(ACCEPT)}
        try:
            super().__init__((_bedrock if cloud == "aws" else _vertex)(endpoint, environ, options))
        except (anthropic.AnthropicError, ValueError) as error:
            raise no_credential(error, self.hint) from error

    async def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> "httpx2.Response":
        """See `Wire.send`."""
        try:
            return await super().send(path, body, headers)
        except (OSError, RuntimeError, ValueError, self._errors) as error:
            if isinstance(error, OSError) or isinstance(error.__cause__, OSError):
                raise httpx2.ConnectError(str(error)) from error  # what renews tokens was not reached
            raise no_credential(error, self.hint) from error

    @property
    def _errors(self) -> type[Exception]:
        found: type[Exception] = (
            aws_errors.BotoCoreError if self._cloud == "aws" else google_errors.GoogleAuthError
        )
        return found

    def _body(self, body: bytes) -> dict[str, Any]:
        return {"body": json.loads(body)} if self._cloud == "google" else {"content": body}


def _bedrock(endpoint: Endpoint, environ: Mapping[str, str], options: dict[str, Any]) -> Any:
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    return anthropic.AsyncAnthropicBedrockMantle(base_url=endpoint.base_url, aws_region=region, **options)


def _vertex(endpoint: Endpoint, environ: Mapping[str, str], options: dict[str, Any]) -> Any:
    if project := environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or environ.get("GOOGLE_CLOUD_PROJECT"):
        options["project_id"] = project
    return anthropic.AsyncAnthropicVertex(
        base_url=None if endpoint.base_url == VERTEX else endpoint.base_url,
        region=environ.get("CLOUD_ML_REGION") or "global",
        access_token=endpoint.auth_token,
        **options,
    )
