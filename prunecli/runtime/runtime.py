"""The agent of one directory: the interface for front ends.

Front ends read the session's stream and call the methods here, nothing below. This module keeps the state that
changes during a session; `choices` computes the options in effect.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.decide import Done, Limits, Mailbox, Spending, unfinished
from prunecli.agent.gatekeeper import nobody
from prunecli.agent.hooks import Recordable
from prunecli.agent.oversized import checked
from prunecli.agent.policy import Policy
from prunecli.config.effective import Config
from prunecli.context.bill import Bill
from prunecli.context.compaction import CompactionPlan
from prunecli.context.economics import last_use
from prunecli.context.state import Context
from prunecli.model.events import (
    Event,
    Origin,
    Record,
    SettingChanged,
    UserMessage,
)
from prunecli.model.messages import Block, Json, Text
from prunecli.model.notes import TYPED, prompt, typed
from prunecli.model.signals import Notice, SessionEvent
from prunecli.providers.models import ModelInfo, expectations_of, token_factor
from prunecli.providers.provider import Provider
from prunecli.providers.tokenizer import counter
from prunecli.runtime import toolbox
from prunecli.runtime.added_folders import AddedFolders
from prunecli.runtime.balance import Balance
from prunecli.runtime.choices import Choices
from prunecli.runtime.counting import chosen_in, interrupted, refold
from prunecli.runtime.forms import Elicit
from prunecli.runtime.guide import Guide
from prunecli.runtime.host import Inquiries, Task
from prunecli.runtime.offered_models import OfferedModels, record_prices
from prunecli.runtime.parts import Parts
from prunecli.runtime.preamble import begin
from prunecli.runtime.refusals import Refusals
from prunecli.runtime.resuming import Resuming, clear_half_done, fresh
from prunecli.runtime.running import readiness, run_of
from prunecli.runtime.session_model import Connections, SessionModel
from prunecli.runtime.session_sandbox import SessionSandbox
from prunecli.runtime.setup import Setup, Status, keeper_of, rules_of
from prunecli.safety.project_rules import ProjectRules
from prunecli.session.loading import LONG_BYTES
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.tools.tool import FilesSeen, Tool, ToolContext
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.runtime import given_images
else:
    given_images = lazy("prunecli.runtime.given_images")


class Runtime:
    """The agent of one directory. `provider_for` returns the provider of a model name.

    For a task named `who`, `within` is the runtime that started it; both share permissions, sandbox and saved files.
    When a screen opens, it shows `notices` and `introduction`, then runs the `opening` commands before any prompt.
    `guide` holds the prompts that Enter on an empty input sends.
    """

    def __init__(
        self,
        setup: Setup,
        provider_for: Callable[[str], Provider],
        info_of: Callable[[str], ModelInfo],
        within: "Runtime | None" = None,
        who: str = "",
        agent: str = "",
    ) -> None:
        self.setup, self.who, self.within = setup, who, within
        self.config = setup.config
        self.store = Store(setup.places.sessions)
        self.mailbox, self.bill = Mailbox(), Bill()
        self.run_limits, self.spending = Limits(), Spending()
        self.asker: Callable[[Asked], Awaitable[Answer]] = nobody
        self.notices, self.opening = list[str](), list[str]()
        self.agent = agent
        self.fill_form: Elicit | None = None
        self.on_task: list[Callable[[Task], None]] = []
        self.introduction, self.guide, self.leaves_for_tour = "", Guide(), False
        self.on_session: list[Callable[[Session], None]] = []
        self.questions: asyncio.Lock = within.questions if within else asyncio.Lock()
        self.offered = OfferedModels(setup, lambda model: self.config.service(model).base_url, info_of)
        info_of = self.offered.info
        self.connections: Connections = within.connections if within else Connections(provider_for, info_of)
        self.files_seen, self.project_rules = FilesSeen(), ProjectRules(setup.places.rules_file)
        self.refusals = Refusals(setup.places.endpoints_file, setup.clock, self.offered.address)
        self._task: asyncio.Task[object] | None = None
        self._choices: Choices | None = None
        self.balance = Balance(lambda: self.session, lambda: self.choices, lambda: self.bill.requests)
        if within is None:
            self.gatekeeper = keeper_of(setup, self._ask, self.project_rules, self._warn)
            self.sandbox = SessionSandbox(setup, self.config, self.gatekeeper)
        else:
            self.gatekeeper, self.sandbox = within.gatekeeper, within.sandbox
        self.tools: dict[str, Tool] = toolbox.load_tools(
            self.config.tools.enabled, self.sandbox.wanted, self.config.installed
        )
        self.resuming: Resuming | None = None
        self.session_model, self.expectations = SessionModel(info_of, setup), expectations_of(setup.places)
        self.session: Session = fresh(setup, self.config.model.name, self.store, self.new_context())
        self.folders = AddedFolders(self)
        self.inquiries: Inquiries = Inquiries(self, within.inquiries if within else None)
        self.parts: Parts = Parts(self.config.installed, self, within.parts if within else None)
        self._watch(self.session)

    # Sessions ------------------------------------------------------------------------------------------------

    def new_session(self, session_id: str = "", parent: Mapping[str, Json] | None = None) -> Session:
        """Start a new session, with this id if given, that goes on from `parent`. The current one does not change."""
        model, context = self.config.model.name, self.new_context()
        self.switch(fresh(self.setup, model, self.store, context, session_id, parent))
        return self.session

    def open_session(
        self,
        path: Path,
        *,
        writable: bool = True,
        fork: bool = False,
        at: int | None = None,
        fork_id: str = "",
    ) -> Session:
        """Resume the session of a file, or a copy of it (up to record `at`, with the id `fork_id` if given). Raises
        SessionError, OSError; the current session then stays."""
        clock, writes = self.setup.clock, writable and not fork
        session = Session.load(path, self.new_context(), writable=writes, clock=clock, shorten=self.shorten)
        if fork:
            where = self.store, self.setup.cwd
            session = session.forked(self.new_context(), *where, at=at, session_id=fork_id)
        else:
            clear_half_done(session, self.setup)
        self.switch(session)
        return session

    def resume(self, path: Path, *, writable: bool = True, fork: bool = False) -> None:
        """Resume like `open_session`, but let the front end load a long session through `resuming`. Raises
        SessionError, OSError."""
        self.drop_resuming()
        if path.stat().st_size <= LONG_BYTES:
            self.open_session(path, writable=writable, fork=fork)
        else:
            self.resuming = Resuming(path, self.new_context(), self, writable=writable, fork=fork)

    def drop_resuming(self) -> None:
        if self.resuming is not None:
            self.resuming.close()
            self.resuming = None

    def switch(self, session: Session, bill: Bill | None = None) -> None:
        """Switch to another loaded session; `bill` is its bill if known."""
        self.session.close()
        self.resuming = None
        self.mailbox = self.mailbox.emptied()
        self.files_seen = FilesSeen()
        self._watch(session, bill)
        self.session = session
        self.session_model.resumed(session, self.config)
        for follow in self.on_session:
            follow(session)
        self.parts.each(lambda part: part.switched(session))

    def new_context(self) -> Context:
        """Make an empty context that counts with the configured estimator."""
        return Context(counter(self.config.pruning.estimator), token_factor)

    def _watch(self, session: Session, bill: Bill | None = None) -> None:
        self.bill = self.billed(Bill(), session.records, session.context) if bill is None else bill
        session.subscribe(self._bill)
        session.subscribe(readiness(self))
        session.running.shorten = self.shorten

    def _bill(self, event: SessionEvent) -> None:
        if isinstance(event, Record):
            self.bill = self.billed(self.bill, [event], self.session.context)

    def billed(self, bill: Bill, records: Sequence[Record], context: Context) -> Bill:
        """Return the bill after these records of the session with this context."""
        price = Choices(self.config, context.settings, self.connections.info_of).price
        return reduce(lambda before, record: before.after(record, price), records, bill)

    # Running -------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self._task is not None

    async def submit(self, words: str, origin: Origin = "prompt", given: tuple[Block, ...] = ()) -> Done:
        """Send a prompt, with the files it mentions and the blocks `given`, and run until the agent is idle again.

        Raises UsageError for blank words, PromptTooLarge, PromptBlocked, ProviderError, StorageFailed.
        """
        async with self.parts.prompt(words) as (text, mentioning):
            if text.strip() or not given:
                checked(text, self.choices.window)
            if self.session.context.in_progress:
                self.give_up()
            changes = [Text(change)] if (change := self.prepare()) else []
            planning = (self.gatekeeper.mode, origin, self.who) == ("plan", "prompt", "")
            self._task = asyncio.current_task()  # so that Esc stops hooks and servers
            try:
                mentioned = await self.parts.mentioned(text) if origin == "prompt" else ()
                await self.parts.prompted(text)
                files = await _attached(self, given, mentioning)
            finally:
                self._task = None
            if text != words:
                self.session.emit(SettingChanged(TYPED, words))
            self.session.emit(prompt((Text(text), *mentioned, *changes), origin, planning=planning))
            for file in files:
                self.session.emit(file.at(self.session.next_seq))
            return await self.go_on()

    async def go_on(self) -> Done:
        """Continue the session after a crash, a failure or a limit."""
        self.prepare()
        self.parts.each(lambda part: part.starting())
        self._task = asyncio.current_task()
        try:
            await self.parts.begins()
            self.spending = self.within.spending if self.within else Spending()
            return await run_of(self).run()
        finally:
            await self.parts.idle()
            self.parts.each(lambda part: part.rests())
            self._task = None

    def give_up(self) -> None:
        """Answer the calls that have no result, because something else takes their place. Raises StorageFailed."""
        self.parts.each(lambda part: part.abandoned())
        if (exchange := self.session.context.in_progress) and exchange.unanswered:
            self.session.answer_open_calls()

    @property
    def unfinished(self) -> bool:
        return unfinished(self.session.context)

    def interrupt(self) -> None:
        """Cancel the current run, if any (Esc)."""
        if self._task is not None:
            self._task.cancel()

    def steer(self, words: str) -> None:
        """Deliver a message after the current tool calls. Raises UsageError if it is blank, and PromptTooLarge."""
        self.mailbox.steering.append(UserMessage((Text(checked(words, self.choices.window)),), "steering"))

    def follow_up(self, words: str) -> None:
        """Queue a message for when the agent is done. Raises UsageError if it is blank, and PromptTooLarge."""
        self.mailbox.follow_ups.append(UserMessage((Text(checked(words, self.choices.window)),), "follow_up"))

    async def compact(self, focus: str = "", plan: CompactionPlan | None = None) -> bool:
        plan = plan or self.policy.plan_compaction(self.session.context, focus)
        if plan is None:
            return False
        before = self.session.context.boundary
        self._task = asyncio.current_task()
        try:
            await run_of(self).compact(plan, trigger="manual")
            await asyncio.to_thread(self.session.commit)
        finally:
            self._task = None
        return self.session.context.boundary != before

    def prepare(self) -> str:
        """Record the preamble before a run. Return a note to the model about changes since then, or ""."""
        self.session.mend()
        tools, trusted = toolbox.fit_tools(self).values(), self.gatekeeper.trusted
        given = self.session, self.setup, tools, self.session_model, self.choices.model
        return begin(*given, window=self.choices.window, trusted=trusted, parts=self.parts)

    def tool_context(
        self, *, approved: bool = False, granted: bool = False, reads: bool = False
    ) -> ToolContext:
        """Return the context of the next tool call by the model; the parameters are those of `Executor.context`."""
        how = {"approved": approved, "granted": granted, "reads": reads}
        return toolbox.tool_context(self, **how)

    # In force now --------------------------------------------------------------------------------------------

    def shorten(self, event: Event, seq: int, context: Context) -> Event:
        """Hold back a part of an interrupted call's output, even in a session that is being loaded."""
        return interrupted(event, seq, context, lambda: chosen_in(context, self.choices, self.tools))

    @property
    def choices(self) -> Choices:
        """Model settings and policy in effect: the same object until something changes them."""
        context, model = self.session.context, self.session_model
        endpoint = context.caches, model.asked, model.kept, self.refusals.of
        recall = "recall" in self.tools and (context.tool_names is None or "recall" in context.tool_names)
        before = self.config, dict(context.settings), self.connections.info_of, recall
        now = Choices(*before, *endpoint, self.expectations, self.balance.losing, *context.cache.learned)
        if self._choices is None or self._choices != now:
            self._choices = now
        return self._choices

    @property
    def policy(self) -> Policy:
        return self.choices.policy_at(self.setup.clock())

    @property
    def model_name(self) -> str:
        """The model of this session, with aliases resolved."""
        return self.choices.model.name

    @property
    def provider(self) -> Provider:
        return self.connections.of(self.model_name)

    def child(self, setup: Setup, who: str, agent: str) -> "Runtime":
        """Return a runtime for a task of the definition `agent`, which `who` names in questions."""
        return Runtime(setup, self.connections.provider_for, self.connections.info_of, self, who, agent)

    def status(self) -> Status:
        context, policy, keeper = self.session.context, self.policy, self.gatekeeper
        return Status(
            self.balance.beside(policy.ledger(context)),
            policy.waiting(context),
            self.bill,
            self.model_name,
            keeper.mode,
            self.choices.pruning,
            self.running,
            not context.counts.is_reported,
            keeper.trusted,
            tuple(map(typed, (*self.mailbox.steering, *self.mailbox.follow_ups))),
            self.session.name,
            self.sandbox.word,
            more=self.parts.status(),
            saved=self.balance.saved,
            cached_at=last_use(context, policy.market) or 0,
        )

    async def _ask(self, asked: Asked) -> Answer:
        self.parts.waits("permission_prompt", "", "Permission needed", asked.call)
        return await self.asker(asked)

    def _warn(self, words: str) -> None:
        self.session.tell(Notice(words, "warning"))

    # Called by commands --------------------------------------------------------------------------------------

    def emit(self, event: Event) -> Record:
        """Record an event by the user: a setting, an undo, a pin."""
        return self.session.emit(event)

    def set_model(self, name: str) -> ModelInfo:
        """Switch to another model, starting with the next request. Raises PrunecliError if it has no provider."""
        self.connections.check(name)
        self.session_model.asked = ""
        self.emit(SettingChanged("model.name", name))
        record_prices(self.session, self.choices.model)
        return self.choices.model

    def use_config(self, config: Config) -> None:
        """Use another configuration. A changed estimator folds the session again."""
        sandboxed, rules = self.sandbox.wants(config), rules_of(config)
        tools = toolbox.load_tools(config.tools.enabled, sandboxed, config.installed)
        self.sandbox.use(config)
        self.config, self.tools = config, tools
        self.gatekeeper.use_rules(rules)
        self.parts.each(lambda part: part.configured())
        if self.session.context.counts.counter.name != config.pruning.estimator:
            refold(self.session, self.new_context(), self.on_session)

    async def close(self) -> None:
        """Close connections and the session file."""
        await self.parts.finish()
        await self.parts.close()
        await self.connections.close()
        self.sandbox.close(keep=any(part.keeps_sandbox for part in self.parts.values()))
        self.drop_resuming()
        self.session.close()


async def _attached(runtime: Runtime, given: Sequence[Block], words: str) -> list[Recordable]:
    """Return what is recorded after a prompt: the blocks given with it, and what its words mention."""
    mentioned = await runtime.parts.attachments(run_of(runtime), words)
    if not given:
        return mentioned

    return [*await given_images.attached(given, runtime.choices.media), *mentioned]
