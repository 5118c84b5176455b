"""Known endpoints with the Messages API: their addresses, keys and limitations.

`[model] endpoint = "NAME"` selects one. The answers come from each vendor's documentation, read in November 2026,
from the sources of vLLM and SGLang, or from tests with a real server. `prunecli doctor --probe` tests an endpoint
directly. The table in docs/models.md is generated from these values.
"""

import re
import sys
from collections.abc import Mapping
from typing import Literal, TypeAlias

from prunecli.providers.registry import Cloud, Keys
from prunecli.util.frozen import frozen

Answer: TypeAlias = Literal["yes", "no", "ignored", "model", "?"]
"""`ignored`: accepted without effect; `model`: depends on the model; `?`: not documented and not checked here."""

FEATURES = ("cache_control", "count_tokens", "thinking", "images", "betas", "server tools", "JSON errors")
"""The features that `Endpoint.answers` describes, in order."""

_VARIABLE = re.compile(r"\{(\w+)\}")
_HOST_PART = re.compile(r"[a-zA-Z0-9-]{1,63}")


@frozen
class Endpoint:
    """One endpoint.

    `base_url` may contain environment variables in braces. `key_variable` is the variable of the key, which `bearer`
    sends as `Authorization: Bearer` instead of `x-api-key`. Unless `needs_key`, the endpoint works without a key.
    `models` is an example of its model names, `port` the port of a local server (0 for others), `note` any other
    advice, and `source` the source of this information. `cloud` is the one whose credentials do instead of a key.
    """

    name: str
    title: str
    base_url: str
    key_variable: str
    models: str
    answers: tuple[Answer, ...]
    bearer: bool = False
    needs_key: bool = True
    port: int = 0
    note: str = ""
    source: str = "docs"
    cloud: Cloud | None = None

    @property
    def keys(self) -> Keys:
        """The sources of the endpoint's key."""
        return Keys(self.key_variable, f"{self.name}.key", bearer=self.bearer, required=self.needs_key)

    def address(self, environ: Mapping[str, str]) -> str:
        """Return the base URL with its variables filled in. Raises a ValueError that names a variable without a
        usable value."""

        def value(found: re.Match[str]) -> str:
            given = environ.get(found[1], "").strip()
            if not _HOST_PART.fullmatch(given):
                wrong = f"{found[1]} is {given!r}" if given else f"{found[1]} is not set"
                raise ValueError(f"part of the URL of {self.title} comes from the environment: {wrong}")
            return given

        return _VARIABLE.sub(value, self.base_url)


KNOWN: Mapping[str, Endpoint] = {
    one.name: one
    for one in (
        Endpoint(
            "anthropic", "Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-5",
            ("yes", "yes", "yes", "yes", "yes", "yes", "yes"),
        ),
        Endpoint(
            "llamacpp", "llama.cpp", "http://127.0.0.1:8080", "LLAMA_API_KEY", "any; the server has one model",
            ("ignored", "yes", "model", "model", "ignored", "no", "yes"), needs_key=False, port=8080,
            note="tools need --jinja and a model whose template has them", source="run",
        ),
        Endpoint(
            "ollama", "Ollama", "http://127.0.0.1:11434", "OLLAMA_API_KEY", "qwen3-coder, gpt-oss:20b",
            ("no", "no", "model", "model", "?", "no", "yes"), bearer=True, needs_key=False, port=11434,
            note="version 0.14 or newer; raise its context length; thinking budgets are not enforced",
        ),
        Endpoint(
            "lmstudio", "LM Studio", "http://127.0.0.1:1234", "LM_API_TOKEN", "openai/gpt-oss-20b",
            ("?", "?", "model", "model", "?", "no", "?"), needs_key=False, port=1234,
            note="a key only if Require Authentication is on",
        ),
        Endpoint(
            "vllm", "vLLM", "http://127.0.0.1:8000", "VLLM_API_KEY", "the name it was started with",
            ("ignored", "yes", "model", "model", "ignored", "no", "yes"), bearer=True, needs_key=False, port=8000,
            note="tools need --enable-auto-tool-choice and --tool-call-parser",
        ),
        Endpoint(
            "sglang", "SGLang", "http://127.0.0.1:30000", "SGLANG_API_KEY", "the name it was started with",
            ("ignored", "yes", "model", "model", "ignored", "no", "yes"), bearer=True, needs_key=False, port=30000,
            note="tools need --tool-call-parser; cached tokens need --enable-cache-report; no Messages API before "
            '2026: provider = "openai"',
        ),
        Endpoint(
            "litellm", "LiteLLM proxy", "http://127.0.0.1:4000", "LITELLM_API_KEY", "model_name in its config.yaml",
            ("model", "yes", "model", "model", "model", "model", "yes"), needs_key=False, port=4000,
            note="OpenAI, Gemini and others: see below", source="run",
        ),
        Endpoint(
            "openrouter", "OpenRouter", "https://openrouter.ai/api", "OPENROUTER_API_KEY",
            "anthropic/claude-sonnet-5, openai/gpt-5", ("model", "?", "model", "model", "?", "?", "?"), bearer=True,
        ),
        Endpoint(
            "deepseek", "DeepSeek", "https://api.deepseek.com/anthropic", "DEEPSEEK_API_KEY",
            "deepseek-v4-pro, deepseek-flash", ("ignored", "?", "yes", "no", "ignored", "no", "?"),
            note="ignores thinking budgets, honors effort; maps claude- names to its own models",
        ),
        Endpoint(
            "zai", "Z.ai", "https://api.z.ai/api/anthropic", "ZAI_API_KEY", "glm-5.3, glm-4.5-air",
            ("?", "?", "?", "?", "?", "?", "?"), bearer=True,
        ),
        Endpoint(
            "moonshot", "Moonshot", "https://api.moonshot.ai/anthropic", "MOONSHOT_API_KEY", "kimi-k3, kimi-k2.6",
            ("?", "?", "model", "model", "?", "?", "?"), bearer=True,
            note="kimi-k3 always thinks; in China api.moonshot.cn",
        ),
        Endpoint(
            "minimax", "MiniMax", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "MiniMax-M3, MiniMax-M2.7",
            ("?", "?", "yes", "model", "?", "?", "?"), bearer=True,
            note="no images before M3; in China api.minimaxi.com",
        ),
        Endpoint(
            "bedrock", "Amazon Bedrock", "https://bedrock-mantle.{AWS_REGION}.api.aws/anthropic",
            "AWS_BEARER_TOKEN_BEDROCK", "anthropic.claude-sonnet-5", ("yes", "yes", "yes", "yes", "?", "?", "yes"),
            bearer=True, needs_key=False, cloud="aws",
            note="with a Bedrock API key, or with AWS credentials and pip install 'prunecli[bedrock]'",
        ),
        Endpoint(
            "vertex", "Google Vertex", "https://aiplatform.googleapis.com/v1", "ANTHROPIC_VERTEX_ACCESS_TOKEN",
            "claude-sonnet-5", ("yes", "yes", "yes", "yes", "?", "?", "yes"), bearer=True, needs_key=False,
            cloud="google",
            note="with Google credentials and pip install 'prunecli[vertex]'; CLOUD_ML_REGION is the region",
        ),
        Endpoint(
            "foundry", "Microsoft Foundry",
            "https://{ANTHROPIC_FOUNDRY_RESOURCE}.services.ai.azure.com/anthropic", "ANTHROPIC_FOUNDRY_API_KEY",
            "the deployment's name", ("yes", "?", "yes", "yes", "?", "?", "yes"),
            note="with a key; Entra ID tokens go into ANTHROPIC_AUTH_TOKEN with model.base_url",
        ),
    )
}  # fmt: skip
"""All known endpoints by name."""


def markdown() -> str:
    """Return the table for the documentation."""
    heads = ("`endpoint`", "for", "base URL", "key", "model names", *FEATURES)
    rows = [heads, tuple("---" for _ in heads)]
    for one in KNOWN.values():
        how = "Bearer" if one.bearer else "x-api-key"
        key = f"{one.key_variable} ({how}{'' if one.needs_key else '; optional'})"
        rows.append((f"`{one.name}`", one.title, one.base_url, key, one.models, *one.answers))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
