"""The figures of a replay: one row for each strategy and session, and their totals."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from prunecli.model.messages import Json, Usage

_MOST = ("peak",)
"""Figures whose total is the maximum, not the sum."""
_KEPT = ("session", "agent")


@dataclass(slots=True)
class Row:
    """The effect of a strategy on a session. Costs are USD of prompts; tokens are those of the model.

    `cost_with_rereads` adds fetching results that an edit quotes after they were pruned or held back;
    `cost_with_any_rereads` adds those that any text quotes. `edit_regret` counts the former, `regret` the latter.
    `cache_breaks` are requests in which edits caused cached content to be written again. `thinking_breaks` are
    requests with edits in a part that had been sent, cached or not; `edits_in_round` are those inside an open tool
    round. `dropped_answers` are the model's own messages that were dropped with their results.
    """

    session: str
    agent: str
    strategy: str
    gate: str
    spill: bool
    requests: int = 0
    tokens: int = 0
    peak: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    cost_with_rereads: float = 0.0
    cost_with_any_rereads: float = 0.0
    cache_breaks: int = 0
    pruned_results: int = 0
    spilled_results: int = 0
    regret: int = 0
    edit_regret: int = 0
    thinking_breaks: int = 0
    edits_in_round: int = 0
    dropped_answers: int = 0

    def sent(self, usage: Usage, cost: float) -> None:
        """Count a request."""
        self.requests += 1
        self.tokens += usage.prompt_tokens
        self.peak = max(self.peak, usage.prompt_tokens)
        self.cache_read += usage.cache_read_input_tokens or 0
        self.cache_write += usage.cache_creation_input_tokens or 0
        self.cost += cost

    @property
    def setting(self) -> tuple[str, str, bool]:
        """The key that distinguishes the rows of one session: strategy, gate and whether results are spilled."""
        return self.strategy, self.gate, self.spill

    @property
    def name(self) -> str:
        """The setting in words."""
        return f"{self.strategy} + spill" if self.spill and self.strategy != "auto" else self.strategy

    def to_json(self) -> dict[str, Json]:
        """Return the row of a session."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def total_to_json(self) -> dict[str, Json]:
        """Return the row of a total: no session, no agent."""
        return {key: value for key, value in self.to_json().items() if key not in _KEPT}


def totals(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each setting, in order of appearance."""
    found: dict[tuple[str, str, bool], Row] = {}
    for row in rows:
        whole = found.setdefault(row.setting, Row("", "", *row.setting))
        for item in fields(Row):
            if item.type in (int, float):
                one: Any = getattr(row, item.name)
                before: Any = getattr(whole, item.name)
                setattr(whole, item.name, max(before, one) if item.name in _MOST else before + one)
    return list(found.values())


def ratio(value: float, base: float) -> float:
    """Return a value relative to the base; 1 if the base is 0."""
    return value / base if base else 1.0
