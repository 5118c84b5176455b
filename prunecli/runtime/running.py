"""Make a run of the agent, and the context of its calls, from the parts of a runtime."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from prunecli.agent.decide import Purse
from prunecli.agent.execute import Executor
from prunecli.agent.loop import Run
from prunecli.runtime import toolbox
from prunecli.runtime.counting import Measuring
from prunecli.runtime.preamble import known_tools
from prunecli.tools.tool import ToolContext

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime


def run_of(runtime: "Runtime") -> Run:
    """A run of the runtime's present session."""
    head = runtime.within or runtime
    runtime.purse = Purse() if runtime.within is None else runtime.within.purse
    executor = Executor(
        runtime.session,
        known_tools(runtime.session.context, runtime.tools),
        partial(context_of, runtime),
        runtime.gatekeeper,
        runtime.files.before,
        Measuring(runtime.session, lambda: runtime.choices),
        who=runtime.subagents.who,
        questions=head.questions,
    )
    run = Run(
        runtime.session,
        runtime.provider,
        executor,
        lambda: runtime.policy,
        lambda: runtime.choices.model_settings,
        runtime.mailbox,
        runtime.run_limits,
        cost=lambda usage: runtime.choices.price("", usage),
        forgo=lambda field: runtime.refusals.add(runtime.model_name, field),
        complained=runtime.balance.said,
        purse=runtime.purse,
    )
    return runtime.hooking.on(run)


def context_of(
    runtime: "Runtime", *, approved: bool = False, granted: bool = False, reads: bool = False
) -> ToolContext:
    """The context of the next tool call by the model; the parameters are those of `Executor.context`."""
    context = toolbox.tool_context(
        runtime.setup,
        runtime.session,
        runtime.files_seen,
        lambda: runtime.choices,
        approved=approved,
        reads=reads,
        confine=runtime.sandbox.confine(granted=granted, reads=reads),
        servers=runtime.servers.in_use,
    )
    return replace(context, run_task=runtime.subagents.run, recall_of=runtime.subagents.original)
