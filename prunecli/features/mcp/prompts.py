"""Prompts of servers as slash commands: `/server:prompt` and its arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.commands.command import Effect, InThread, Say, Submit
from prunecli.util.errors import ToolError

if TYPE_CHECKING:
    from prunecli.features.mcp.servers import RemoteServers


def send_prompt(servers: "RemoteServers", word: str, arguments: str) -> Sequence[Effect]:
    """Return the effects of calling a prompt. The last argument takes the remaining text."""
    prompt = dict(servers.prompts()).get(word)
    if prompt is None:
        return [Say(f"No prompt named /{word}. /mcp lists the servers.", "error")]
    try:
        given = prompt.given(arguments)
    except ValueError as error:
        return [Say(f"/{word}: {error}", "error")]

    def work() -> Sequence[Effect]:
        try:
            text = servers.prompt_text(word, given)
        except ToolError as error:
            return [Say(str(error), "error")]
        return [Submit(text) if text.strip() else Say(f"/{word} is empty.")]

    return [InThread(f"Getting /{word}", work)]
