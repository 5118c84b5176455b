"""prunecli in somebody else's program: the pruning engine on plain messages, and the agent in ten lines.

from prunecli.library import prune_messages
shorter = prune_messages(messages, "pi", window=200_000, prune_protect=20_000)

from prunecli.library import ask
print(await ask("What does this project do?", trust=True))
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prunecli.asked import Launch
from prunecli.config import Config
from prunecli.config.references import chosen
from prunecli.context.inspect import inspect
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.errors import ConfigError
from prunecli.model.messages import Json, plain_text
from prunecli.runtime.make import make_runtime
from prunecli.session.importers.anthropic_messages import records_of


def prune_messages(
    messages: Sequence[Mapping[str, Json]],
    strategy: str,
    *,
    window: int = 200_000,
    counter: TokenCounter | None = None,
    **options: Json,
) -> list[dict[str, Json]]:
    """Anthropic messages as one strategy would send them: valid, with every word of the user.

    `options` are the strategy's, by name; `counter` counts tokens (characters / 4 by default); `window` is in
    tokens. The messages given are not changed. Raises ValueError that names a malformed message, ConfigError for
    an unknown strategy or option.
    """
    config = Config()
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        config = config.with_value(f"{strategy}.{name}", text)
    inspection = inspect(
        records_of(messages), [chosen(config, strategy)], window=window, counter=counter or Chars4()
    )
    return [json.loads(message.canonical) for message in inspection.messages]


async def ask(
    prompt: str,
    *,
    cwd: Path | None = None,
    trust: bool = False,
    mode: str = "ask",
    environ: Mapping[str, str] | None = None,
    **settings: Json,
) -> str:
    """One run of the agent with the default tools and prun; its last words.

    Nobody is asked: what `mode` (ask, edits, plan, auto) does not let pass is denied. `settings` are configuration
    keys with `__` for the dot: `model__name="opus"`. Raises PrunecliError.
    """
    sets = tuple(
        f"{key.replace('__', '.')}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    )
    asked = Launch(headless=True, trust=trust, cwd=cwd, sets=sets, flags={"--permission-mode": mode})
    runtime = make_runtime(asked, os.environ if environ is None else environ)
    try:
        await runtime.submit(prompt)
        last: Any = runtime.session.context.items[-1].event
        return plain_text(last.content)
    finally:
        await runtime.close()


__all__ = ["ConfigError", "ask", "prune_messages"]
