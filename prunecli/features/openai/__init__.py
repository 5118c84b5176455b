"""OpenAI's Responses API and Chat Completions, as a provider, for OpenAI and all servers that speak them."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.provider("openai", "prunecli.features.openai.definition")
    app.tool(
        "prunecli.features.openai.apply_patch:ApplyPatch", "apply_patch", enabled=False, suits=is_trained
    )


def is_trained(model: str) -> bool:
    """Return whether a model is trained on apply_patch. It stands here because each start asks."""
    return re.match(r"(?:.*/)?(?:gpt-(?:4\.1|[5-9]|\d\d|oss)|codex|o[34](?:-|$))", model.lower()) is not None
