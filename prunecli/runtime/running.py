"""Make a run of the agent, and the context of its calls, from the parts of a runtime."""

from typing import TYPE_CHECKING

from prunecli.agent.execute import Executor
from prunecli.agent.loop import Run
from prunecli.runtime import toolbox
from prunecli.runtime.counting import Measuring
from prunecli.runtime.host import Host
from prunecli.runtime.preamble import known_tools
from prunecli.tools.tool import Servers, ToolContext

if TYPE_CHECKING:
    from prunecli.runtime.subagents import Subagents


def run_of(host: Host) -> Run:
    """A run of the host's present session."""
    executor = Executor(
        host.session,
        known_tools(host.session.context, host.tools),
        host.tool_context,
        host.gatekeeper,
        host.files.before,
        Measuring(host.session, lambda: host.choices),
        who=host.who,
        questions=host.questions,
    )
    return Run(
        host.session,
        host.provider,
        executor,
        lambda: host.policy,
        lambda: host.choices.model_settings,
        host.mailbox,
        host.run_limits,
        cost=lambda usage: host.choices.price("", usage),
        forgo=lambda field: host.refusals.add(host.model_name, field),
        complained=host.balance.said,
        answering=lambda reported, asked: host.choices.answering(reported, asked),
        purse=host.purse,
    )


def context_of(
    host: Host, tasks: "Subagents", servers: Servers | None, *, approved: bool, granted: bool, reads: bool
) -> ToolContext:
    """The context of the next tool call by the model; the last three are those of `Executor.context`."""
    return toolbox.tool_context(
        host.setup,
        host.session,
        host.files_seen,
        lambda: host.choices,
        tasks,
        approved=approved,
        reads=reads,
        confine=host.sandbox.confine(granted=granted, reads=reads),
        servers=servers,
    )
