"""Makes a run of the agent from the parts of a runtime."""

import threading
from collections.abc import Sequence
from importlib import import_module
from os import urandom
from typing import TYPE_CHECKING

from prunecli.agent.attempts import Attempts
from prunecli.agent.execute import Executor
from prunecli.agent.hooks import Recordable
from prunecli.agent.loop import Run, prepare_summary
from prunecli.agent.retry import RetryPolicy
from prunecli.context.compaction import CompactionPlan
from prunecli.model.events import UserMessage
from prunecli.model.messages import Usage
from prunecli.model.notes import typed
from prunecli.model.signals import SessionEvent, ToolCallDelta
from prunecli.runtime.counting import Measuring
from prunecli.runtime.host import Host
from prunecli.runtime.preamble import known_tools
from prunecli.session.session import Reader
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tools.processes import command
else:
    command = lazy("prunecli.tools.processes.command")


JUDGE = "prunecli.safety.permissions.judge"
"""Takes 25 ms to import."""


def readiness(host: Host) -> Reader:
    """Return a reader that starts what the first command would wait for, while the model writes the first call.

    Earlier, it would delay the request, and an answer without a call needs none of it.
    """
    is_ready = False

    def handle(told: SessionEvent) -> None:
        nonlocal is_ready
        if is_ready or not isinstance(told, ToolCallDelta) or "bash" not in host.tools:
            return
        is_ready = True
        host.sandbox.begin()
        threading.Thread(target=import_module, args=(JUDGE,), name="permissions", daemon=True).start()
        command.get_ready()

    return handle


def run_of(host: Host) -> Run:
    """Return a run of the host's current session, which begins at once."""
    executor = Executor(
        host.session,
        known_tools(host.session.context, host.tools),
        host.tool_context,
        host.gatekeeper,
        host.parts.before_change,
        Measuring(host.session, lambda: host.choices),
        who=host.who,
        questions=host.questions,
        workbench=host.sandbox.workbench,
    )
    run = Run(
        host.session,
        host.provider,
        executor,
        lambda: host.policy,
        lambda: host.choices.model_settings,
        host.mailbox,
        host.run_limits,
        jitter=_jitter,
        cost=lambda usage: host.choices.price("", usage),
        stop_sending=lambda field: host.refusals.add(host.model_name, field),
        complained=host.balance.said,
        answering=lambda reported, asked: host.choices.answering(reported, asked),
        spending=host.spending,
    )

    async def attach(message: UserMessage) -> Sequence[Recordable]:
        return await host.parts.attachments(run, typed(message), strict=False)

    run.attach = None if host.who else attach
    run.hooks = executor.hooks = host.parts.hooks()
    return run


async def prepare(host: Host, plan: CompactionPlan) -> str:
    """Ask once for a summary in the background, show nothing, and record it as paid for but not yet used.
    Return why there is none."""

    def spent(usage: Usage) -> None:
        host.spending.spent += host.choices.price("", usage)

    attempts = Attempts(host.session, host.provider, RetryPolicy(1, 1), spent=spent, is_quiet=True)
    return await prepare_summary(attempts, host.choices.model_settings, plan, host.policy.market)


def _jitter() -> float:
    return int.from_bytes(urandom(4)) / 2**32
