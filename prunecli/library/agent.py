"""The agent as an object: run, watch, steer, stop and continue it."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.decide import Done, at_rest
from prunecli.front.headless.run import NOTHING_TO_DO
from prunecli.library.events import AgentEvent, EventsOf, Finished, Pruned
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Json, plain_text
from prunecli.model.signals import Notice, SessionEvent
from prunecli.runtime import Runtime, Status
from prunecli.runtime.make import make_runtime
from prunecli.runtime.notices import opening_notices
from prunecli.runtime.resuming import take_back_cut
from prunecli.safety.permissions.verdict import MODES, Mode
from prunecli.tools.inputs import definition
from prunecli.tools.tool import Tool
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import Launch

LOGGER = logging.getLogger("prunecli")

Permissions: TypeAlias = Callable[[Asked], "bool | Answer | Awaitable[bool | Answer]"]
"""A function that decides on a call if mode and rules do not: True allows it once, False denies it, and an `Answer`
also has text for the model."""


class Agent:
    """One session of the agent in a directory, for `async with`. Raises PrunecliError.

    `session` is the id, an id prefix or the name of a session to continue. `permissions` decides on calls that need
    approval; without it they are denied. `trust`: use the directory's own settings and let tools change it; otherwise
    the agent only reads, unless the user has trusted the directory. `tools` are added to the configured ones.
    `save=False` keeps no log. `settings` are configuration keys with `__` for the dot, such as `model__name="opus"`.
    """

    def __init__(
        self,
        *,
        cwd: Path | str | None = None,
        session: str | None = None,
        permissions: Permissions | None = None,
        trust: bool = False,
        mode: Mode = "ask",
        tools: Iterable[Tool] = (),
        max_turns: int | None = None,
        max_cost: float | None = None,
        save: bool = True,
        environ: Mapping[str, str] | None = None,
        **settings: Json,
    ) -> None:
        sets = tuple(
            f"{key.replace('__', '.')}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in settings.items()
        )
        if mode not in MODES:
            raise UsageError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        self._launch = Launch(
            headless=True,
            trust=trust,
            cwd=Path(cwd) if cwd is not None else None,
            sets=sets,
            flags={"--permission-mode": mode},
            no_session=not save,
            max_turns=max_turns,
            max_cost=max_cost,
            resume=session,
        )
        self._environ = dict(os.environ if environ is None else environ)
        self._permissions = permissions
        self._tools = {tool.name: tool for tool in tools}
        self._made: Runtime | None = None
        self._notices: list[str] = []
        self._task: asyncio.Task[Done] | None = None
        self._stopped = False
        self._failed: Exception | None = None

    @classmethod
    def resume(cls, session: str, **options: Any) -> Self:
        """Return an agent that continues a session: `Agent(session=...)` with the same options."""
        return cls(session=session, **options)

    async def __aenter__(self) -> Self:
        """Make the agent ready. Raises ConfigError, UsageError, SessionError."""
        runtime = await asyncio.to_thread(make_runtime, self._launch, self._environ)
        try:
            _check(self._tools.values(), runtime)
        except UsageError:
            await runtime.close()
            raise
        runtime.asker = self._ask if self._permissions else runtime.asker
        self._notices = opening_notices(runtime)
        self._made = runtime
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the run, if any, and close the session."""
        await self._end()
        await self._runtime.close()

    @property
    def _runtime(self) -> Runtime:
        if self._made is None:
            raise UsageError("the agent is not ready", "use it in `async with Agent(...) as agent:`")
        return self._made

    # Running -------------------------------------------------------------------------------------------------

    async def run(self, prompt: str | None = None) -> AsyncIterator[AgentEvent]:
        """Send a prompt and yield events, `Finished` last. Without a prompt, continue an interrupted session.

        Leaving the loop early or canceling its task stops the run, with a complete log. Raises ProviderError if the
        model can't be reached, UsageError if the agent is running, and errors of `permissions`.
        """
        runtime = self._runtime
        if self._task is not None:
            raise UsageError("the agent is running", "steer it, or stop it first")
        runtime.tools.update(self._tools)  # reloading the configuration removes them
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        for line in self._notices:
            events.put_nowait(Notice(line))
        self._notices, self._stopped, self._failed = [], False, None
        made = EventsOf(runtime)

        def read(event: SessionEvent) -> None:
            for one in made.of(event):
                events.put_nowait(one)

        leave = runtime.session.subscribe(read)
        task = self._task = asyncio.create_task(self._work(prompt))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield self._finished(task)
        finally:
            await self._end()
            leave()

    async def _work(self, prompt: str | None) -> Done:
        runtime = self._runtime
        if prompt is None:
            take_back_cut(runtime)
            rest = at_rest(runtime.session.context)
            if rest and rest.reason == "finished":
                return Done("finished", rest.note or NOTHING_TO_DO)
            done = await runtime.go_on()
        else:
            done = await runtime.submit(prompt)
        while done.reason == "finished" and (runtime.mailbox.steering or runtime.mailbox.follow_ups):
            done = await runtime.go_on()  # a message that came while the run ended
        return done

    def _finished(self, task: "asyncio.Task[Done]") -> Finished:
        if self._failed is not None:
            raise self._failed
        done = Done("interrupted") if task.cancelled() else task.result()
        return Finished(done.reason, self.text, done.note)

    async def _end(self) -> None:
        task = self._task
        if task is not None:
            self.stop()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # retrieved, since nobody raises it if the loop over `run` was left
            self._task = None

    def stop(self) -> None:
        """Stop the run as Esc does; its last event is `Finished("interrupted")`. Without a run, do nothing."""
        if self._task is not None and not self._task.done() and not self._stopped:
            self._stopped = True
            self._task.cancel()

    async def stop_jobs(self) -> list[str]:
        """Stop all background commands, as leaving `async with` does. Return a line for each."""
        return await self._runtime.parts.finish()

    def steer(self, text: str) -> None:
        """Send a message to the running agent, after its current tool calls. Raises UsageError if it is not
        running."""
        if self._task is None or self._task.done():
            raise UsageError("the agent is not running", "send the message with run()")
        self._runtime.steer(text)

    async def _ask(self, asked: Asked) -> Answer:
        assert self._permissions is not None  # noqa: S101  # only then is this the asker
        try:
            answer = self._permissions(asked)
            if isawaitable(answer):
                answer = await answer
        except Exception as error:  # noqa: BLE001  # `run` raises it once the log is complete
            self._failed = error
            self._runtime.interrupt()
            return Answer("deny", "the permission callback failed")
        if isinstance(answer, Answer):
            return answer
        return Answer("once" if answer is True else "deny")

    # State ---------------------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The id of the session, for `Agent.resume`."""
        return self._runtime.session.id

    @property
    def path(self) -> Path | None:
        """The file of the session; None without one."""
        return self._runtime.session.path

    @property
    def text(self) -> str:
        """The last answer, or ""."""
        items = self._runtime.session.context.items
        answers = (item.event for item in reversed(items) if isinstance(item.event, AssistantMessage))
        last = next(answers, None)
        return plain_text(last.content) if isinstance(last, AssistantMessage) else ""

    @property
    def status(self) -> Status:
        """All figures: ledger, bill, model, mode."""
        return self._runtime.status()

    @property
    def mode(self) -> Mode:
        """The mode, which decides which calls run without asking. It can be set at any time."""
        return self._runtime.gatekeeper.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        """Change the mode, starting with the next call. Raises UsageError."""
        if mode not in MODES:
            raise UsageError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        self._runtime.gatekeeper.mode = mode


def _check(tools: Iterable[Tool], runtime: Runtime) -> None:
    for tool in tools:
        if tool.name in runtime.tools:
            raise UsageError(f"tool {tool.name}: a built-in tool has this name", "use another name")
        try:
            definition(tool)
        except (AttributeError, KeyError, TypeError, NameError) as error:
            raise UsageError(
                f"tool {tool.name}: {error!r}",
                "a tool has name, description, parallel, Input (a dataclass of simple types), summary and run",
            ) from error


async def ask(
    prompt: str,
    *,
    cwd: Path | None = None,
    trust: bool = False,
    mode: Mode = "ask",
    environ: Mapping[str, str] | None = None,
    notice: Callable[[str], object] = LOGGER.warning,
    **settings: Json,
) -> str:
    """Run the agent once with the default tools and return its final message.

    Never asks the user: calls that `mode` (ask, edits, plan, auto) does not allow are denied. `notice` gets each
    notice for the user; by default, the logger `prunecli` does. `settings` are configuration keys with `__` for the
    dot, such as `model__name="opus"`. Raises PrunecliError.
    """
    async with Agent(cwd=cwd, trust=trust, mode=mode, environ=environ, **settings) as agent:
        async for event in agent.run(prompt):
            match event:
                case Notice(text=text) if text:
                    notice(text)
                case Pruned(text=text):
                    notice(text)
                case Finished(note=note) if note:
                    notice(note)
                case _:
                    pass
        for line in await agent.stop_jobs():
            notice(line)
        return agent.text
