"""Everything after the first frame: create the runtime, connect it to the frame, and preload what is needed soon."""

import asyncio
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from prunecli.util.errors import ConfigError, PrunecliError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.commands import command
    from prunecli.runtime import Runtime, local_servers, outside
    from prunecli.tui import conversation as tui_conversation
    from prunecli.tui import slices
    from prunecli.tui.app import PrunecliApp
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.themes import Theme
    from prunecli.tui.transcript import highlight, palette
    from prunecli.util import commonmark
else:
    command = lazy("prunecli.commands.command")
    commonmark = lazy("prunecli.util.commonmark")
    highlight = lazy("prunecli.tui.transcript.highlight")
    local_servers = lazy("prunecli.runtime.local_servers")
    outside = lazy("prunecli.runtime.outside")
    palette = lazy("prunecli.tui.transcript.palette")
    slices = lazy("prunecli.tui.slices")
    tui_conversation = lazy("prunecli.tui.conversation")

TICK_SECONDS = 1.0
WARM_SECONDS = 0.1
"""Seconds after the session was painted before anything is preloaded: imports would delay the first keys."""


class Startup:
    """The startup of one application. `make` creates the runtime in a thread; `prompt` is submitted when possible."""

    def __init__(self, app: "PrunecliApp", make: "Callable[[], Runtime]", prompt: str) -> None:
        self._app = app
        self._make = make
        self._prompt = prompt

    async def run(self) -> None:
        """Start. Raises PrunecliError if the runtime cannot be created."""
        runtime, theme, problem = await asyncio.to_thread(self._prepare)

        app, frame = self._app, self._app.frame
        app.meet(runtime, theme)
        await frame.mount_details(app.palette)
        conversation = tui_conversation.Conversation(runtime, frame, app)
        conversation.begin()
        app.conversation = conversation
        if runtime.introduction:
            conversation.say(runtime.introduction)
        for notice in [*runtime.notices, *problem]:
            conversation.warn_of(notice)
        if self._prompt and not runtime.opening:
            conversation.runs.submit(self._prompt)
        elif self._prompt:
            conversation.prompt.fill(self._prompt)
        for line in runtime.opening:
            conversation.command(line)
        app.set_interval(TICK_SECONDS, conversation.tick)
        await self._warm(runtime, conversation)

    def _prepare(self) -> "tuple[Runtime, Theme, list[str]]":
        """Do the slow part of starting, in a thread."""
        runtime = self._make()
        from prunecli.tui import conversation, themes
        from prunecli.tui.transcript import transcript_view as view

        del conversation, view  # imported here, where no key waits
        places, name, few_colors = runtime.setup.places, runtime.config.ui.theme, self._app.has_few_colors
        try:
            return runtime, themes.theme_for(places, name, few_colors=few_colors), []
        except ConfigError as error:
            theme = themes.theme_for(places, themes.DEFAULT, few_colors=few_colors)
            return runtime, theme, [f"{error.message}; using {theme.name}"]

    async def _warm(self, runtime: "Runtime", conversation: "Conversation") -> None:
        """Preload in threads what will be needed soon."""
        await slices.painted(
            self._app.frame
        )  # importing in a thread would delay the first paint of the session
        await self._load_typed(conversation)
        await asyncio.sleep(WARM_SECONDS)
        await self._say_sandbox(runtime, conversation)
        await self._say_local(runtime, conversation)
        branch = await asyncio.to_thread(outside.branch_of, runtime.setup.cwd)
        self._app.frame.masthead.show_branch(branch)
        await asyncio.to_thread(warm)
        await asyncio.to_thread(command.all_commands, runtime.config.installed)
        await asyncio.to_thread(runtime.parts.gather, lambda part: part.offered())
        try:
            ready = getattr(runtime.provider, "warm", None)
        except PrunecliError as error:
            conversation.complain(error)
        else:
            if ready:
                await asyncio.to_thread(ready)
        await runtime.parts.shown(conversation.greet)
        gc.freeze()

    async def _say_sandbox(self, runtime: "Runtime", conversation: "Conversation") -> None:
        """Find out which sandbox works, and tell the user. Nothing is tried in an untrusted directory."""
        if line := await asyncio.to_thread(runtime.sandbox.line):
            conversation.say(line)
            conversation.show_status()

    async def _say_local(self, runtime: "Runtime", conversation: "Conversation") -> None:
        """Offer a model server on this machine to a user without a key."""
        if runtime.setup.local_ports:
            servers = await asyncio.to_thread(local_servers.find, runtime.setup.local_ports)
            if line := local_servers.invitation(servers):
                conversation.say(line)

    async def _load_typed(self, conversation: "Conversation") -> None:
        entries, draft = await conversation.prompt_store.load()
        prompt = conversation.prompt
        if not draft.text:
            prompt.past.preload(entries)
        elif prompt.is_empty and not prompt.past.entries:
            prompt.past.preload(entries)
            prompt.restore(draft)
            conversation.hint("Unsent draft from last time")
        else:  # the user has typed something, so leave the prompt alone
            prompt.past.preload([*entries, draft.expanded()])
            conversation.hint(f"{prompt.keys.hint('older')} for the unsent draft from last time")


def warm() -> None:
    """Import and prepare Markdown and code highlighting: 130 to 220 ms, so call it in a thread."""
    commonmark.parser().parse("# a\n\n- b `c` **d** [e](f)\n\n| g |\n|---|\n| h |\n")
    for language in ("python", "bash", "json", "diff"):
        highlight.highlight("x = 1\n", language, palette.inks(palette.Palette()))
