"""Known endpoints of OpenAI's protocols: their addresses, keys, default protocol and limitations.

`[model] endpoint = "NAME"` selects one. `source` tells where the answers were read in November 2026; "run": a real
server gave them. `prunecli doctor --probe` tests an endpoint directly. The table in docs/models.md is generated from
these values.
"""

import sys
from collections.abc import Mapping
from typing import Literal, TypeAlias

from prunecli.features.openai.tables import OPENAI, PLAIN, Dialect
from prunecli.providers.endpoints import Answer, Endpoint
from prunecli.providers.registry import Keys
from prunecli.util.frozen import frozen

WireName: TypeAlias = Literal["responses", "chat"]

FEATURES = ("responses", "cached tokens", "reasoning sent back", "images", "stream usage", "web search")
"""The features that `answers` describes, in order."""


@frozen
class OpenAiEndpoint(Endpoint):
    """One endpoint. `wire` is its default protocol; `key_header` carries the key if it is no bearer token."""

    wire: WireName = "chat"
    dialect: Dialect = PLAIN
    key_header: str = ""
    bearer: bool = True

    @property
    def keys(self) -> Keys:
        """See `Endpoint.keys`. The file is not that of the same vendor's Messages API, whose key may differ."""
        return Keys(self.key_variable, f"{self.name}.key", bearer=True, required=self.needs_key)


def _local(name: str, title: str, port: int, variable: str, models: str, **more: object) -> OpenAiEndpoint:
    answers: tuple[Answer, ...] = ("yes", "yes", "model", "model", "yes", "no")
    given = {"answers": answers, "needs_key": False, "port": port, **more}
    return OpenAiEndpoint(name, title, f"http://127.0.0.1:{port}/v1", variable, models, **given)  # type: ignore[arg-type]


_REPLAYS = Dialect(thinks_always=True)

KNOWN: Mapping[str, OpenAiEndpoint] = {
    one.name: one
    for one in (
        OpenAiEndpoint(
            "openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.5, gpt-6-sol",
            ("yes", "yes", "yes", "yes", "yes", "yes"), wire="responses", dialect=OPENAI,
            source="platform.openai.com/docs",
        ),
        OpenAiEndpoint(
            "azure", "Azure OpenAI", "https://{AZURE_OPENAI_RESOURCE}.openai.azure.com/openai/v1",
            "AZURE_OPENAI_API_KEY", "the deployment's name", ("yes", "yes", "yes", "yes", "yes", "no"),
            wire="responses", dialect=OPENAI, key_header="api-key",
            note="with a key; Entra ID needs a gateway",
            source="learn.microsoft.com/azure",
        ),
        OpenAiEndpoint(
            "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY",
            "gemini-2.5-pro, gemini-3.8-flash", ("no", "yes", "yes", "yes", "yes", "no"),
            dialect=Dialect(signs_calls=True),
            note="thought signatures are sent back with their calls; other models' calls get Google's placeholder",
            source="ai.google.dev/gemini-api/docs/openai",
        ),
        OpenAiEndpoint(
            "xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7, grok-code-fast-1",
            ("yes", "yes", "yes", "yes", "yes", "yes"), wire="responses",
            dialect=Dialect(has_cache_key=True, encrypts=True), note="calls Chat Completions deprecated",
            source="docs.x.ai",
        ),
        OpenAiEndpoint(
            "groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b",
            ("yes", "yes", "?", "model", "yes", "no"), dialect=Dialect("max_completion_tokens"),
            source="console.groq.com/docs",
        ),
        OpenAiEndpoint(
            "mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "devstral-latest",
            ("no", "yes", "no", "model", "yes", "no"),
            dialect=Dialect(stream_usage=False, thinks_back=False, nine=True, has_cache_key=True),
            note="caches with prompt_cache_key; reports usage unasked; its ids of calls have nine characters",
            source="docs.mistral.ai",
        ),
        OpenAiEndpoint(
            "deepseek", "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY",
            "deepseek-v4-pro, deepseek-flash", ("yes", "yes", "yes", "model", "yes", "no"), dialect=_REPLAYS,
            note="with tools, wants the reasoning of every call back",
            source="api-docs.deepseek.com",
        ),
        OpenAiEndpoint(
            "moonshot", "Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "kimi-k3, kimi-k2.6",
            ("?", "yes", "yes", "model", "yes", "no"), dialect=_REPLAYS,
            source="platform.moonshot.ai/docs",
        ),
        OpenAiEndpoint(
            "together", "Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY",
            "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", ("?", "?", "?", "model", "yes", "no"),
            source="docs.together.ai",
        ),
        OpenAiEndpoint(
            "fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY",
            "accounts/fireworks/models/glm-5", ("yes", "yes", "model", "model", "yes", "no"),
            source="docs.fireworks.ai",
        ),
        OpenAiEndpoint(
            "cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "gpt-oss-120b, zai-glm-4.7",
            ("no", "yes", "?", "no", "yes", "no"), dialect=Dialect("max_completion_tokens"),
            source="inference-docs.cerebras.ai",
        ),
        OpenAiEndpoint(
            "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-5.5",
            ("yes", "yes", "yes", "model", "yes", "no"),
            source="openrouter.ai/docs",
        ),
        OpenAiEndpoint(
            "litellm", "LiteLLM proxy", "http://127.0.0.1:4000/v1", "LITELLM_API_KEY",
            "model_name in its config.yaml", ("yes", "yes", "model", "model", "yes", "model"), needs_key=False,
            port=4000, source="run",
        ),
        _local(
            "llamacpp", "llama.cpp", 8080, "LLAMA_API_KEY", "any; the server has one model", source="run",
            note="tools need --jinja and a model whose template has them",
        ),
        _local(
            "ollama", "Ollama", 11434, "OLLAMA_API_KEY", "qwen3-coder, gpt-oss:20b",
            answers=("yes", "no", "model", "model", "yes", "no"), note="raise its context length",
            source="docs.ollama.com",
        ),
        _local(
            "lmstudio", "LM Studio", 1234, "LM_API_TOKEN", "openai/gpt-oss-20b", source="lmstudio.ai/docs",
        ),
        _local(
            "vllm", "vLLM", 8000, "VLLM_API_KEY", "the name it was started with",
            note="tools need --enable-auto-tool-choice and --tool-call-parser",
            source="docs.vllm.ai",
        ),
        _local(
            "sglang", "SGLang", 30000, "SGLANG_API_KEY", "the name it was started with",
            note="tools need --tool-call-parser; cached tokens need --enable-cache-report",
            source="docs.sglang.io",
        ),
    )
}  # fmt: skip
"""All known endpoints by name."""

VENDORS: Mapping[str, str] = {
    "gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "codex-": "openai",
    "gemini-": "gemini", "grok-": "xai",
}  # fmt: skip
"""The endpoint of a model whose name begins so, where nothing else is configured."""


def markdown() -> str:
    """Return the table for the documentation."""
    heads = ("`endpoint`", "for", "base URL", "key", "model names", "protocol", *FEATURES, "read at")
    rows = [heads, tuple("---" for _ in heads)]
    for one in KNOWN.values():
        key = f"{one.key_variable}{'' if one.needs_key else ' (optional)'}"
        rows.append(
            (f"`{one.name}`", one.title, one.base_url, key, one.models, one.wire, *one.answers, one.source)
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
