"""The context inspector without a screen: browse the context of a session and edit it by hand.

An edit is planned again when it is carried out, because the session may have changed since the preview.
"""

from collections.abc import Iterator
from dataclasses import replace

from prunecli.context.impact import Impact, impact
from prunecli.context.labels import Key
from prunecli.context.manual_edits import Act, Plan, plan, refused
from prunecli.context.outline import Node, Outline, WindowMap, undivided, window_map
from prunecli.context.pressure import room
from prunecli.context.spill import kind_of
from prunecli.features.inspector.listing import largest_result
from prunecli.runtime.entry_numbers import carry_out
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.toolbox import summaries


class Inspecting:
    """The map and the tree of the current session. `refresh` follows its log."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._follow()

    def _follow(self) -> None:
        runtime = self._runtime
        session, tools = runtime.session, runtime.tools
        self._session = session
        self.outline = Outline(
            session.context,
            session.records,
            summaries(tools, runtime.setup.cwd),
        )
        self._look()

    def _look(self) -> None:
        policy = self._runtime.policy
        self.ledger = policy.ledger(self._session.context)
        ledger = self.ledger
        whole = undivided(self.outline, policy.window, ledger.pruned_tokens, ledger.held_tokens)
        self.map: WindowMap = replace(whole, limit=policy.limit)
        if self.outline.is_measured:
            self._draw_map()

    def _draw_map(self) -> None:
        policy = self._runtime.policy
        reserve = policy.window - room(policy.window, policy.max_tokens)
        pruned, held = self.ledger.pruned_tokens, self.ledger.held_tokens
        parts = window_map(self.outline, policy.window, reserve, pruned, held)
        self.map = replace(parts, limit=policy.limit)

    def measuring(self) -> Iterator[None]:
        """Compute the map and the cache state, in small steps."""
        yield from self.outline.measuring()
        self._draw_map()

    @property
    def is_measured(self) -> bool:
        """Whether the computation is complete, so that every query is fast."""
        return self.outline.is_measured

    def refresh(self) -> bool:
        """Update to the end of the log; return whether anything changed."""
        if self._session is not self._runtime.session or self.outline.context is not self._session.context:
            self._follow()
            return True
        if not self.outline.take(self._session.records):
            return False
        self._look()
        return True

    def node(self, key: Key) -> Node | None:
        """Return the node of a key; None if the node is gone. The agent may have worked since the rows were laid
        out."""
        try:
            return self.outline.node(key)
        except KeyError:
            return None

    def why(self, key: Key) -> str:
        """Return why the strategies in effect keep a live result; "" if they would prune it, and for other nodes."""
        return self.ledger.spared.get(key.seq, "") if key.kind in ("result", "turn") else ""

    def largest(self) -> Key | None:
        return largest_result(self._runtime.policy.view(self._session.context))

    def above(self, key: Key) -> list[Key]:
        place = self.outline.place(key.seq) if key.seq >= 0 else None
        turn = None if place is None else self.outline.turn_at(place)
        if turn is None or turn.seq == key.seq:
            return []
        home = self.outline.context.entries[key.seq].exchange
        return [Key("turn", turn.seq), *([Key("exchange", home.seq)] if home else [])]

    def path(self, key: Key) -> list[Key]:
        """Return the path to a row of a sorted list in the tree: its ancestors, then its node."""
        above = self.above(key)
        return [*above, Key("turn", key.seq) if key.kind == "prompt" and not above else key]

    def plan(self, act: Act, key: Key, memo: str = "") -> Plan:
        if act != "undo" and self.node(key) is None:
            return refused("this entry is gone")
        return plan(self._runtime.policy.view(self._session.context), self.outline, act, key, memo)

    def impact(self, planned: Plan) -> Impact:
        return impact(self._session.context, planned.events, self._runtime.policy.market)

    def raise_cap(self, key: Key) -> str:
        """Double the cap on further results of this result's kind, as `/prune-config` does. Return what changed, or
        why nothing did."""
        entry = self._session.context.entries.get(key.seq)
        if entry is None or entry.spilled is None or entry.call is None:
            return "Only for a result that was sent in part"
        kind, runtime = kind_of(entry.call, entry.touches), self._runtime
        cap = runtime.choices.caps.of(kind) if kind else 0
        if not cap:
            return "Results of this kind are already sent whole"
        runtime.use_config(runtime.config.with_value(f"spill.{kind}", str(2 * cap)))
        return f"spill.{kind} = {2 * cap} for this session; what was sent stays as it is"

    def carry_out(self, act: Act, key: Key, memo: str = "") -> Plan:
        """Plan the edit again and record it; a plan without events does nothing. Raises StorageFailed,
        SessionTooNew."""
        planned = self.plan(act, key, memo)
        carry_out(self._runtime, planned.events)
        self.refresh()
        return planned
