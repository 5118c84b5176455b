"""What comes after the first frame: the runtime is made and meets the frame, and what is needed soon is warmed."""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from prunecli.errors import ConfigError, PrunecliError

if TYPE_CHECKING:
    from prunecli.runtime import Runtime
    from prunecli.tui.app import PrunecliApp
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.themes import Theme

IDLE_SECONDS = 1.5
"""The tokenizer is loaded when nothing was typed for so long: it holds the interpreter for a moment."""
TICK_SECONDS = 1.0


class Beginning:
    """Begins one application. `make` makes the runtime, in a thread; `prompt` is said as soon as it can be."""

    def __init__(self, app: "PrunecliApp", make: "Callable[[], Runtime]", prompt: str) -> None:
        self._app = app
        self._make = make
        self._prompt = prompt

    async def run(self) -> None:
        """Begins. Raises PrunecliError where there can be no runtime."""
        runtime, theme, problem = await asyncio.to_thread(self._prepare)
        from prunecli.tui.conversation import Conversation

        app, frame = self._app, self._app.frame
        app.meet(runtime, theme)
        await frame.furnish(app.palette)
        conversation = Conversation(runtime, frame)
        conversation.begin()
        app.conversation = conversation
        if runtime.introduction:
            conversation.say(runtime.introduction)
        for notice in [*runtime.notices, *problem]:
            conversation.warn_of(notice)
        if self._prompt and not runtime.opening:
            conversation.submit(self._prompt)
        elif self._prompt:
            conversation.fill_prompt(self._prompt)
        for line in runtime.opening:
            conversation.command(line)
        app.set_interval(TICK_SECONDS, conversation.tick)
        await self._warm(runtime, conversation)

    def _prepare(self) -> "tuple[Runtime, Theme, list[str]]":
        """For a thread: what takes time before the agent can be spoken to."""
        runtime = self._make()
        from prunecli.tui import conversation, themes
        from prunecli.tui.transcript import view

        del conversation, view  # imported here, where nobody waits for it
        places, name, few_colors = runtime.setup.places, runtime.config.ui.theme, self._app.has_few_colors
        try:
            return runtime, themes.theme_for(places, name, few_colors=few_colors), []
        except ConfigError as error:
            theme = themes.theme_for(places, themes.DEFAULT, few_colors=few_colors)
            return runtime, theme, [f"{error.message}; using {theme.name}"]

    async def _warm(self, runtime: "Runtime", conversation: "Conversation") -> None:
        """What will be needed soon, in threads."""
        from prunecli.commands.command import all_commands
        from prunecli.tui import outside
        from prunecli.tui.arriving import painted
        from prunecli.tui.transcript.warm import warm

        await painted(conversation)  # a thread that imports would hold the first look at the session up
        await conversation.load_typed()
        branch = await asyncio.to_thread(outside.branch_of, runtime.setup.cwd)
        self._app.frame.masthead.show_branch(branch)
        await asyncio.to_thread(warm)
        await asyncio.to_thread(all_commands)
        try:
            ready = getattr(runtime.provider, "warm", None)
        except PrunecliError as error:
            conversation.complain(error)
        else:
            if ready:
                await asyncio.to_thread(ready)
        self._when_idle(runtime, conversation)

    def _when_idle(self, runtime: "Runtime", conversation: "Conversation") -> None:
        """Loads the tokenizer as soon as nobody types."""
        wait = conversation.typed_at + IDLE_SECONDS - time.monotonic()
        if wait > 0:
            self._app.set_timer(wait, lambda: self._when_idle(runtime, conversation))
        else:
            from prunecli.runtime.counting import warm

            warm(runtime.config.pruning.estimator)
            gc.freeze()
