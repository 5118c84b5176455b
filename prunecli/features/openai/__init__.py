"""OpenAI's Responses API and Chat Completions, as a provider, for OpenAI and all servers that speak them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.provider("openai", "prunecli.features.openai.definition")
    patching = "prunecli.features.openai.apply_patch"
    app.tool(f"{patching}:ApplyPatch", "apply_patch", enabled=False, suits=f"{patching}:suits")
