"""The agent loop: carries out the steps that `next_action` decides. One `Run` lasts until the agent is idle.

Esc cancels the run. Cancellation is handled only here: finished results are kept, open calls are answered as
interrupted, and partial text is kept with the thinking before it and marked. So the history is always valid.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Literal

from prunecli.agent.assemble import (
    ModelSettings,
    assemble,
    compaction_request,
    searches_change,
    sent,
    summary_request,
    system_messages_change,
)
from prunecli.agent.attempts import Attempts
from prunecli.agent.decide import (
    Act,
    Compact,
    Done,
    Limits,
    Mailbox,
    Prune,
    Send,
    Spending,
    Steer,
    next_action,
)
from prunecli.agent.execute import Executor
from prunecli.agent.hooks import Attach, Hooks, deliver
from prunecli.agent.journal import Journal
from prunecli.agent.oversized import way_around
from prunecli.agent.policy import TOO_LONG, Policy
from prunecli.agent.retry import RetryPolicy, Sleep
from prunecli.agent.summaries import WHOLE, FailedSummaries, record_summary, summary_in, unfinished
from prunecli.context.compaction import CompactionPlan, last_word, measured, summarized_sha256
from prunecli.context.economics import Market
from prunecli.context.repair import (
    leave_out_images,
    named_entry,
    repair_image,
    strip_stale,
    strip_thinking,
    summary_as_text,
)
from prunecli.context.view import View
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    EndReason,
    PrunApplied,
    RunEnded,
    UserMessage,
)
from prunecli.model.messages import OTHER_WIRE, Usage
from prunecli.model.requests import COMPACTION, MAX_BODY_BYTES, Request
from prunecli.model.signals import Notice, SummaryEnded, SummaryStarted
from prunecli.plugins.features import available
from prunecli.providers.provider import Provider, Response
from prunecli.util.errors import (
    BadRequest,
    ContextOverflow,
    FieldRefused,
    NoSummaryNow,
    ProviderError,
    SignatureRejected,
    SummaryRejected,
)

LARGE_BODY_BYTES = 8_000_000
"""Above this size, a rejection for length is assumed to be caused by images."""

NOT_READ = "this model does not accept summaries by the endpoint, so it is sent as text"


@dataclass(slots=True)
class Run:
    """One run of the agent and its dependencies.

    `cost` converts usage to USD; `sleep` and `jitter` let tests control retries. `forgo(field)` records an optional
    field that the endpoint rejects, and returns whether `model` omits the field from then on. `complained` are the
    strategies' problems already reported to the user. `answering(reported, asked)` returns the model to bill for an
    answer. `hooks` run at each step; None if there are none. `purse` holds the amount spent, including by tasks of
    this run. `attach` reads the files mentioned in a message; None if nothing is to be attached.
    """

    session: Journal
    provider: Provider
    executor: Executor
    policy: Callable[[], Policy]
    model: Callable[[], ModelSettings]
    mailbox: Mailbox
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    sleep: Sleep = asyncio.sleep
    jitter: Callable[[], float] = lambda: 0.5
    cost: Callable[[Usage], float] = lambda _: 0.0
    stop_sending: Callable[[str], bool] = lambda _: False
    complained: set[str] = field(default_factory=set)
    answering: Callable[[str, str], str] = lambda reported, asked: reported or asked
    hooks: Hooks | None = None
    spending: Spending = field(default_factory=Spending)
    attach: Attach | None = None
    _attempts: Attempts = field(init=False)
    _failed: FailedSummaries = field(init=False)

    def __post_init__(self) -> None:
        self._failed = FailedSummaries(self.session, self.model)
        ways = self.retry, lambda seconds: self.sleep(seconds), self.jitter, self._spend
        self._attempts = Attempts(self.session, self.provider, *ways)

    async def run(self) -> Done:
        """Run until there is nothing to do, and record why the run ended.

        Raises ProviderError if the model can't be reached, StorageFailed if the log can't be written.
        """
        self.session.settle()
        try:
            done = await self._steps()
        except asyncio.CancelledError:
            self._attempts.stopped()
            await self._end("interrupted")
            return Done("interrupted")
        except ProviderError as error:
            await self._end("error", "\n".join(filter(None, [error.message, error.hint])))
            raise
        await self._end(done.reason)
        return done

    async def _steps(self) -> Done:
        while True:
            limits, policy = replace(self.limits, cost=self.spending.spent), self.policy()
            if self._failed.are_too_many:
                limits = replace(limits, compacted_at=last_word(self.session.context))
            match next_action(self.session.context, self.mailbox.inbox(), policy, limits):
                case Act(calls):
                    await self.executor.execute(calls)
                case Steer(messages):
                    await deliver(self.session, self.mailbox, messages, self.hooks, self.attach)
                case Prune(events):
                    for event in await self.hooks.before_prunes(events) if self.hooks else events:
                        self.session.emit(event)
                case Compact(plan):
                    await self.compact(plan)
                case Send():
                    await self._send(policy)
                case Done() as done:
                    more = await self._hooks_go_on(done)
                    if more is None:
                        return done
                    self.session.emit(more)
            if self.hooks and (why := self.hooks.stop) is not None:
                return Done("limit", why or "stopped by a hook")

    async def _hooks_go_on(self, done: Done) -> UserMessage | None:
        """Return the message from a hook that keeps the agent working after it finished a turn."""
        finished = done.reason == "finished" and self.limits.turns > 0
        return await self.hooks.before_stop() if self.hooks and finished else None

    async def _end(self, reason: EndReason, error: str = "") -> None:
        self.session.answer_open_calls()
        self.session.keep(RunEnded(reason, error))
        await asyncio.to_thread(self.session.commit)

    # The model's turn ----------------------------------------------------------------------------------------

    async def _send(self, policy: Policy) -> None:
        for problem in set(policy.problems(self.session.context)) - self.complained:
            self.complained.add(problem)
            self.session.tell(Notice(problem, "warning"))
        try:
            await self._request()
        except ContextOverflow as refused:
            try:
                await self._overflowed(refused)
            except ContextOverflow as length:
                way = length.hint or way_around(self.session.context)
                raise ContextOverflow(length.message, way) from refused
        except BadRequest as refused:
            view = policy.view(self.session.context)
            if (remedy := repair_image(view, refused.message)) is None and (
                entry := named_entry(view, refused.message)
            ):
                raise BadRequest(
                    refused.message, available(f"/doctor {entry.seq} to leave that content out")
                ) from refused
            await self._again(remedy, refused)

    async def _overflowed(self, refused: ContextOverflow) -> None:
        """Resend a request that was too long after each remedy, until the endpoint accepts it.

        The remedies: leave out images, prune, compact once, and the last resort without the model.
        """
        context, length = self.session.context, refused
        for remedy in (self._lighten, self._make_room, self._shorten):
            before = context.sha256()
            await remedy()
            if context.sha256() == before:
                continue
            if length is refused:
                self.session.tell(Notice(f"{length.message}; sending it again, shorter", "warning"))
            try:
                await self._request()
            except ContextOverflow as again:
                length = again
            else:
                return
        await self._again(self.policy().overflow(context), length, said=length is not refused)

    async def _lighten(self) -> None:
        """Omit images from a request that is large in bytes, until it has half its size."""
        if (size := self.session.context.wire.size) > LARGE_BODY_BYTES:
            self._leave_out_images(size // 2)

    def _leave_out_images(self, excess: int) -> None:
        lighter = leave_out_images(self.policy().view(self.session.context), excess)
        if lighter is not None:
            self.session.emit(lighter)

    async def _make_room(self) -> None:
        for event in self.policy().make_room(self.session.context):
            self.session.emit(event)

    async def _shorten(self) -> None:
        plan = self.policy().shorten(self.session.context)
        again = self.limits.compacted_at < last_word(self.session.context) and not self._failed.are_too_many
        if plan and again:
            await self.compact(plan, short=True)

    async def _again(self, remedy: PrunApplied | None, refused: ProviderError, *, said: bool = False) -> None:
        """Record a remedy, so that it stays in effect, and resend. Raises `refused` if there is no remedy."""
        if remedy is None:
            raise refused
        how = remedy.reason if remedy.reason not in ("", TOO_LONG) else "sending it again, shorter"
        if not said:
            self.session.tell(Notice(f"{refused.message}; {how}", "warning"))
        self.session.emit(remedy)
        await self._request()

    async def _request(self) -> None:
        if (size := self.session.context.wire.size) > MAX_BODY_BYTES:
            self._leave_out_images(size - MAX_BODY_BYTES * 3 // 4)
            if (size := self.session.context.wire.size) > MAX_BODY_BYTES:
                raise ContextOverflow(f"the request is too large for the endpoint ({size:,} bytes)")
        begun = monotonic()
        request, response = await self._answered(self._next)
        duration = round((monotonic() - begun) * 1000)
        self._spend(response.usage)
        self.limits = replace(self.limits, turns=self.limits.turns + 1)
        model = self.answering(response.model, request.model)
        self.session.keep(_answer(response, request, model, duration))
        for loss in self.session.context.unseen.told(request.model):
            self.session.tell(Notice(loss, "warning"))

    def _spend(self, usage: Usage) -> None:
        self.spending.spent += self.cost(usage)

    async def _next(self, policy: Policy) -> Request:
        context = self.session.context
        request = assemble(context, self.model(), policy.cut(context))
        self.session.emit(sent(request))
        await asyncio.to_thread(self.session.commit)
        return request

    async def _answered(
        self, make: Callable[[Policy], Awaitable[Request]], *, summary: bool = False
    ) -> tuple[Request, Response]:
        """Send a request and return it with its response.

        The request is resent without optional fields and thinking that the endpoint rejects: first without thinking
        from the named block on, then without any thinking.
        """
        places = ["named", "all"]
        while True:
            policy = self.policy()
            if change := searches_change(self.session.context, policy.searches):
                self.session.emit(change)
            if change := system_messages_change(self.session.context, policy.tells):
                self.session.emit(change)
            if not policy.reads_summaries and (plain := summary_as_text(self._view(), NOT_READ)):
                self.session.emit(plain)
            if policy.leaves_out and (stale := strip_stale(self._view())):
                self.session.emit(stale)
            request = await make(policy)
            try:
                return request, await self._attempts.until_answered(request, summary=summary)
            except FieldRefused as refused:
                field = next(filter(request.can_omit, refused.fields), "")
                if not field or not self.stop_sending(field):
                    raise
                self.session.tell(_rejected(field))
            except SummaryRejected as refused:
                if (plain := summary_as_text(self._view(), "the summary is sent as text")) is None:
                    raise
                self.session.tell(Notice(f"{refused.message}; {plain.reason}", "warning"))
                self.session.emit(plain)
            except SignatureRejected as refused:
                remedy = None
                while places and remedy is None:
                    named = places.pop(0) == "named"
                    remedy = strip_thinking(self._view(), refused.message if named else "")
                if remedy is None:
                    raise
                self.session.tell(Notice(f"{refused.message}; {remedy.reason}", "warning"))
                self.session.emit(remedy)

    def _view(self) -> View:
        return self.policy().view(self.session.context)

    async def compact(
        self, plan: CompactionPlan, *, short: bool = False, trigger: Literal["auto", "manual"] = "auto"
    ) -> None:
        """Ask for a summary and record it. A failed, canceled or useless one changes nothing.

        `short` omits the messages that stay, because the whole request is too long.
        """
        context = self.session.context
        self.limits = replace(self.limits, compacted_at=last_word(context))
        if self.hooks and not await self.hooks.before_compaction(trigger, plan.focus):
            return
        self.session.tell(SummaryStarted(context.counts.context_tokens, plan.focus))
        try:
            event = await self._summarized(plan, short=short)
        except ProviderError as error:
            told = short and isinstance(error, ContextOverflow)
            event = "its request doesn't fit either" if told else str(error)
        finally:
            self._attempts.stopped_summary()
            self.session.tell(SummaryEnded())
        if isinstance(event, str):
            stop = self._failed.add() if trigger == "auto" else ""
            self.session.tell(Notice(f"compaction failed: {event}{stop}", "warning"))
            return
        prunes = self.policy().prunes_of_kept(context, event)
        with_it = await self.hooks.before_prunes(prunes) if self.hooks and prunes else prunes
        record_summary(self.session, event, with_it)
        self._failed.clear()
        if self.hooks:
            await self.hooks.after_compaction()

    async def _summarized(self, plan: CompactionPlan, *, short: bool) -> CompactionApplied | str:
        """Return the event of a summary by the endpoint, or by the model if the plan requires it or the endpoint
        makes none.

        Return the reason why there is none: it was not whole, is empty or saves nothing. The usage of an unused
        attempt is recorded.
        """
        context, why = self.session.context, ""
        self._foretell(plan)
        if plan.ready:
            return measured(context, plan.ready)

        async def ask(policy: Policy) -> Request:
            nonlocal plan
            if plan.by_endpoint and (why or not policy.compacts):
                plan = policy.instead(context, plan, short=short)
                self._foretell(plan)
            if plan.by_endpoint:
                return compaction_request(context, self.model(), plan, policy.market)
            return summary_request(context, self.model(), plan, policy.market, short=short)

        while True:
            try:
                _, response = await self._answered(ask, summary=True)
            except (BadRequest, ContextOverflow, NoSummaryNow) as refused:
                if not plan.by_endpoint:
                    raise
                why = refused.message
            else:
                block, text, flaw = summary_in(response, by_endpoint=plan.by_endpoint)
                if (block or not plan.by_endpoint) and not flaw:
                    event = plan.event(context, text, block)
                    if event.tokens_after < event.tokens_before:
                        self._spend(response.usage)
                        return replace(event, model=self.model().name, usage=response.usage)
                    flaw = "the summary would not make the context smaller"
                self._attempts.bill("summary", response.usage)
                if not plan.by_endpoint or (block and not unfinished(response.stop_reason)):
                    return flaw
                why = flaw if block else f"the endpoint made no summary ({response.stop_reason})"
                if response.content and not block and response.stop_reason in WHOLE:
                    self.stop_sending(COMPACTION)  # the endpoint ignored the field and answered normally
            self.session.tell(Notice(f"{why}; the model writes one instead"))

    def _foretell(self, plan: CompactionPlan) -> None:
        if thinking := plan.thinking(self.session.context):
            self.session.tell(Notice(f"In the turns that stay, this {thinking}"))


async def prepare_summary(
    attempts: Attempts, model: ModelSettings, plan: CompactionPlan, market: Market
) -> str:
    """Ask for a summary, and record it as paid for and not in effect. Return why there is none.

    What it cost is recorded if it is stopped or of no use, too.
    """
    context = attempts.session.context
    ask = compaction_request if plan.by_endpoint else summary_request
    try:
        response = await attempts.until_answered(ask(context, model, plan, market), summary=True)
    except ProviderError as error:
        return error.message
    finally:
        attempts.stopped_summary()
    block, text, flaw = summary_in(response, by_endpoint=plan.by_endpoint)
    if plan.by_endpoint and not block:
        flaw = flaw or f"the endpoint made no summary ({response.stop_reason})"
    ready = None if flaw else replace(plan.event(context, text, block), model=model.name)
    attempts.bill("summary", response.usage, ready, summarized_sha256(context, plan))
    return flaw


def _answer(response: Response, request: Request, model: str, duration_ms: int) -> AssistantMessage:
    return AssistantMessage(
        response.content,
        model,
        response.stop_reason,
        response.usage,
        response.request_id,
        duration_ms,
        response.input_transformations,
        response.thinking_tokens,
        response.applied_edits,
        response.message_id if request.diagnostics is not None else "",
        response.cache_miss,
    )


def _rejected(field: str) -> Notice:
    name = field.removeprefix(OTHER_WIRE)
    return Notice(f"This endpoint rejects `{name}`; later requests omit it", "warning")
