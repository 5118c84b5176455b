"""The effect of hooks on a run: implements `agent.hooks` with Claude Code's events and PrePrune."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from prunecli.agent.hooks import Ruling
from prunecli.context.impact import impact
from prunecli.context.state import Context
from prunecli.features.hooks.hooking import Hooking, blocked
from prunecli.features.hooks.names import (
    input_for_hooks,
    input_from_hooks,
    response_for_hooks,
    tool_name,
    tool_names,
)
from prunecli.features.hooks.replies import Reply, strictest
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, Event, PrunApplied, UserMessage
from prunecli.model.messages import Json, Text, ToolUse, plain_text
from prunecli.model.notes import GO_ON, notice, typed
from prunecli.runtime.vetoes import MAX_STOPS, all_vetoed, some_vetoed, stops
from prunecli.tools.tool import ToolOutput
from prunecli.util.sanitize import one_line


class Moments:
    """The hooks of one run (`agent.hooks.Hooks`)."""

    def __init__(self, hooking: Hooking) -> None:
        self._hooking = hooking
        self._runtime = hooking.runtime

    @property
    def stop(self) -> str | None:
        """The reason why a hook ended the run. Reading the property clears it."""
        why, self._hooking.stop = self._hooking.stop, None
        return why

    async def admits(self, message: UserMessage) -> bool:
        """Run UserPromptSubmit for a message that came while the agent worked; return whether the message is
        allowed."""
        replies = await self._hooking.fire("UserPromptSubmit", prompt=typed(message))
        if why := blocked(replies):
            self._hooking.say(f"A hook blocked your message, so it was not sent: {why}")
            return False
        self._hooking.tell_model(replies)
        return True

    # Calls ---------------------------------------------------------------------------------------------------

    async def before_call(self, call: ToolUse) -> Ruling:
        replies = await self._hooking.fire(
            "PreToolUse", *tool_names(call.name, call.input), **self._call(call)
        )
        if not replies:
            return Ruling()
        said = strictest(replies)
        given, notes = dict(call.input), [_noted(reply, reply.context) for reply in replies if reply.context]
        for reply in replies:
            if reply.changed is not None:
                given = input_from_hooks(call.name, given, reply.changed)
                shown = json.dumps({key: given[key] for key in given if given[key] != call.input.get(key)})
                notes.append(_noted(reply, f"changed the input of this call: {shown[:2000]}"))
        changed = given if given != dict(call.input) else None
        why = f"{one_line(said.name)}: {said.reason}" if said.reason else ""
        return Ruling(said.decision, why, changed, "\n".join(notes))

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        """Run PostToolUse or PostToolUseFailure. Return the output followed by the hooks' messages."""
        text = plain_text(output.content)
        if output.is_error:
            event, more = "PostToolUseFailure", {"error": text, "is_interrupt": False}
        else:
            shown = response_for_hooks(call.name, call.input, text, self._runtime.setup.cwd)
            event, more = "PostToolUse", {"tool_response": shown}
        names = tool_names(call.name, call.input)
        replies = await self._hooking.fire(event, *names, **self._call(call), **more)
        notes = [note, *(_noted(reply, reply.context) for reply in replies if reply.context)]
        added = tuple(Text(one) for one in notes if one)
        return replace(output, content=(*output.content, *added)) if added else output

    def _call(self, call: ToolUse) -> dict[str, Json]:
        return {
            "tool_name": tool_name(call.name, call.input),
            "tool_input": input_for_hooks(call.name, call.input, self._runtime.setup.cwd),
            "tool_use_id": call.id,
        }

    # Prunes --------------------------------------------------------------------------------------------------

    async def before_prunes(self, prunes: Sequence[PrunApplied]) -> Sequence[Event]:
        """Run PrePrune. An entry that a hook keeps is pinned, and the strategies decide again without it.

        A veto of all entries applies until the next user message. A prune that the model asked for is then recorded
        without edits, so that it is not proposed again.
        """
        if not self._hooking.has("PrePrune"):
            return prunes
        context = self._runtime.session.context
        replies = await self._hooking.fire("PrePrune", **self._proposal(prunes))
        if why := blocked(replies):
            self._hooking.say(f"A hook blocked a prune: {why}")
            return all_vetoed(self._runtime, prunes, f"kept by a hook: {one_line(why)}")
        targets = {edit.seq for prune in prunes for edit in prune.edits}
        pins = {seq for reply in replies for seq in (*reply.veto, *reply.pin) if seq in context.entries}
        pins -= {seq for reply in replies for seq in reply.veto} - targets
        vetoed = pins & targets
        if vetoed:
            self._hooking.say(
                f"A hook keeps {len(vetoed)} of {len(targets)} entries that would be pruned; they are pinned now"
            )
        return some_vetoed(self._runtime, prunes, vetoed, pins)

    def _proposal(self, prunes: Sequence[PrunApplied]) -> dict[str, Json]:
        context = self._runtime.session.context
        found = impact(context, prunes, self._runtime.policy.market)
        change = found.change
        return {
            "edits": [self._edit(context, prune, edit) for prune in prunes for edit in prune.edits],
            "tokens_removed": sum(prune.tokens_removed for prune in prunes),
            "cost_usd": change.cost if change else None,
            "saved_usd_per_request": change.gain if change else None,
            "thinking_blocks": found.lost.blocks,
        }

    def _edit(self, context: Context, prune: PrunApplied, edit: Edit) -> dict[str, Json]:
        entry = context.entries[edit.seq]
        calls = [entry.call] if entry.call else list(entry.exchange.calls) if entry.exchange else []
        named: Mapping[str, Json] = {}
        if calls:
            given = input_for_hooks(calls[0].name, calls[0].input, self._runtime.setup.cwd)
            named = {"tool_name": tool_name(calls[0].name, calls[0].input), "tool_input": given}
        return {
            "kind": edit.kind,
            "seq": edit.seq,
            **named,
            "tool_use_id": edit.tool_use_id,
            "tokens_before": edit.tokens_before,
            "tokens_after": edit.tokens_after,
            "source": prune.source,
            "strategy": prune.strategy,
            "reason": prune.reason,
        }

    # The end -------------------------------------------------------------------------------------------------

    async def before_compaction(self, trigger: Literal["auto", "manual"], focus: str) -> bool:
        replies = await self._hooking.fire("PreCompact", trigger, trigger=trigger, custom_instructions=focus)
        if why := blocked(replies):
            self._hooking.say(f"A hook blocked the compaction: {why}")
        return not why

    async def after_compaction(self) -> None:
        """Run SessionStart again, as after any loss of context."""
        named = {"source": "compact", "model": self._runtime.model_name}
        self._hooking.tell_model(await self._hooking.fire("SessionStart", "compact", **named))

    async def before_stop(self) -> UserMessage | None:
        """Run Stop, or SubagentStop for a task. Return the message that continues the run, or None."""
        agent, context = self._hooking.agent, self._runtime.session.context
        event, names = ("SubagentStop", (agent,)) if agent else ("Stop", ())
        before = stops(context)
        session, answers = self._runtime.session, (item.event for item in reversed(context.items))
        last = next((answer for answer in answers if isinstance(answer, AssistantMessage)), None)
        more: dict[str, Json] = {"last_assistant_message": plain_text(last.content) if last else ""}
        if agent:
            more |= {"agent_type": agent, "agent_id": session.id, "agent_transcript_path": str(session.path)}
        replies = await self._hooking.fire(event, *names, stop_hook_active=before > 0, **more)
        said = [reply for reply in replies if reply.decision == "deny"]
        if not said or self._hooking.stop is not None:
            return None
        if before >= MAX_STOPS:
            self._hooking.say(f"Hooks continued the run {MAX_STOPS} times in a row; it stops now")
            return None
        title = f"{GO_ON} {', '.join(one_line(one.name) for one in said)}"
        return notice(title, "\n".join(one.reason for one in said), kept=True)


def _noted(reply: Reply, text: str) -> str:
    return f"[hook {one_line(reply.name)}] {text}"
