"""/handoff GOAL: this session's agent writes a draft of the first prompt of a new session, for the user to edit."""

from collections.abc import Sequence
from functools import partial

from prunecli.commands.command import WORKING, Effect, FillPrompt, Say, Work, switched
from prunecli.model.events import AssistantMessage, SettingChanged
from prunecli.model.messages import plain_text
from prunecli.model.notes import TYPED
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import is_busy
from prunecli.util.errors import UsageError

NOT_IN = {
    "headless": "ask for a summary with -p, and start a new session with it",
    "editor": "Start prunecli in a terminal to hand a session off.",
}
ASKED = """\
Write the first prompt of a new session for this goal: {}

That session does not see this conversation. Say what the goal needs and nothing else: the files that matter, with a \
few words on each; decisions and their reasons; what was tried and failed; open questions; and the first step. Call \
no tools. Answer with the prompt only."""
UNFINISHED = "The draft was not completed, so this session continues."


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Continue in a new session: /handoff GOAL drafts its first prompt, for you to edit."""
    if is_busy(runtime):
        return [WORKING]
    goal = arguments.strip()
    if not goal:
        raise UsageError(
            "/handoff: no goal given", "say what the new session is for: /handoff fix the parser"
        )
    if not runtime.session.context.exchanges:
        return [Say("Nothing to hand off: this session is empty.", "warning")]
    return [Work(f"Handing off: {goal}", partial(_hand_off, runtime, goal))]


async def _hand_off(runtime: Runtime, goal: str) -> Sequence[Effect]:
    runtime.emit(SettingChanged(TYPED, f"/handoff {goal}"))
    done = await runtime.submit(ASKED.format(goal))
    draft = _draft(runtime) if done.reason == "finished" else ""
    if not draft:
        return [Say(UNFINISHED, "warning")]
    unheard = runtime.status().waiting
    runtime.new_session(parent={"id": runtime.session.id})
    said = Say("New session, below the old one in /tree. Edit the draft and send it.")
    return [*switched(unheard), said, FillPrompt(draft)]


def _draft(runtime: Runtime) -> str:
    """Return the text of the last answer if it is whole, else ""."""
    events = (record.event for record in reversed(runtime.session.records))
    answer = next((event for event in events if isinstance(event, AssistantMessage)), None)
    whole = answer is not None and answer.stop_reason in ("end_turn", "stop_sequence")
    return plain_text(answer.content).strip() if answer and whole else ""
