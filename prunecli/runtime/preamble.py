"""What stands before the messages of a session: its system prompt and its tools, as they are recorded with it."""

from collections.abc import Iterable

from prunecli.agent.prompt import Surroundings, find_instructions, system_prompt
from prunecli.model.messages import Json
from prunecli.model.requests import Preamble
from prunecli.runtime.setup import Setup
from prunecli.tools.tool import Tool, definition


def preamble(
    setup: Setup, tools: Iterable[Tool], *, window: int, trusted: bool
) -> tuple[Preamble, dict[str, Json]]:
    """The preamble of now, and the setting that records it. `window` is in tokens."""
    definitions = [definition(tool) for tool in tools]
    place = Surroundings(
        setup.cwd,
        setup.platform,
        setup.today().isoformat(),
        window,
        any(tool["name"] == "prun" for tool in definitions),
    )
    texts = system_prompt(place, find_instructions(setup.cwd, setup.places.config, trusted=trusted))
    return Preamble.of(texts, tuple(definitions)), {"system": list(texts), "tools": definitions}
