"""What stands before the messages of a session: its system prompt and its tools, as they are recorded with it."""

from collections.abc import Iterable
from datetime import date

from prunecli.agent.prompt import Surroundings, find_instructions, system_prompt
from prunecli.model.messages import Json
from prunecli.model.requests import Preamble
from prunecli.runtime.setup import Setup
from prunecli.tools.tool import Tool, definition


def preamble(
    setup: Setup, tools: Iterable[Tool], begun: int, *, window: int, trusted: bool
) -> tuple[Preamble, dict[str, Json]]:
    """The preamble of now, and the setting that records it. `window` is in tokens.

    The date in it is that on which the session began (`begun`, unix ms): a prefix that changed at midnight would
    break the prompt cache and all thinking that is bound to it.
    """
    definitions = [definition(tool) for tool in tools]
    place = Surroundings(
        setup.cwd,
        setup.platform,
        date.fromtimestamp(begun / 1000).isoformat(),
        window,
        any(tool["name"] == "prun" for tool in definitions),
    )
    texts = system_prompt(place, find_instructions(setup.cwd, setup.places.config, trusted=trusted))
    return Preamble.of(texts, tuple(definitions)), {"system": list(texts), "tools": definitions}
