"""The setup of a replay (configuration, models, prices and settings), and replaying one session with it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from prunecli.agent.policy import Policy
from prunecli.agent.system_prompt import PromptFacts, system_prompt
from prunecli.config.effective import Config
from prunecli.context.expectations import KINDS, Caps, Expectations
from prunecli.context.spill import cut_of
from prunecli.context.strategy import Chosen, Proposal
from prunecli.context.tokens import TokenCounter
from prunecli.context.view import View
from prunecli.features.replay.fit import CAPS, FitData, Recording, cuts_by
from prunecli.features.replay.prefix import Validation, validated
from prunecli.features.replay.rates import Table, rates_by_size
from prunecli.features.replay.replayer import Part, ReplayConfig, Replayer, Spill, Watch
from prunecli.features.replay.rows import Row
from prunecli.features.replay.script import Script, Step, script_of
from prunecli.features.replay.series import Series
from prunecli.model.events import ToolResult
from prunecli.model.messages import Json, ToolUse
from prunecli.model.requests import CacheTtl, Preamble, takes, tool_names
from prunecli.model.touches import named
from prunecli.providers.models import token_factor
from prunecli.providers.tokenizer import counter
from prunecli.runtime.choices import Choices
from prunecli.runtime.toolbox import load_tools
from prunecli.session.importers.origin import Kind
from prunecli.session.importers.remote import SessionFile
from prunecli.session.importers.source import Source, read_source
from prunecli.tools.inputs import definition
from prunecli.util.frozen import frozen

NO_PRUNING = "no_pruning"
_LARGE_WINDOW = 1_000_000
"""The window assumed for a session whose prompts are larger than the known window."""
_NEVER = 1 << 40
"""A size of the context that is never reached."""
Reader: TypeAlias = Callable[..., Source]
"""Reads a session file, like `read_source`."""


@frozen
class Setting:
    """One way to prune: a strategy, or several joined by `+`; its gate; whether results are spilled."""

    strategy: str
    gate: str
    spill: bool

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of its strategies in running order."""
        return tuple(self.strategy.split("+"))


@frozen
class Replayed:
    """A session under each setting. The first row is without pruning."""

    rows: tuple[Row, ...]
    validation: Validation
    notices: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()


@dataclass(frozen=True)
class Stage:
    """The setup of a replay.

    `fixed` replaces the tokens of system prompt and tools, `factor_of` the known tokens of a model per raw token.
    `compactions`: also play compactions that an importer leaves out because the file still has the content they
    replaced. `summaries`: the tokens of context from which on recordings of other agents are summarized as the
    program would, None for never; without pruning, never. `plots`: keep the course of each play.
    """

    config: Config
    table: Table
    settings: tuple[Setting, ...]
    ttl: CacheTtl
    expectations: Expectations
    fixed: int | None = None
    compactions: bool = False
    plots: bool = False
    summaries: int | None = None
    kept: bool = False
    factor_of: Callable[[str], float] = token_factor
    _terms: dict[object, ReplayConfig] = field(default_factory=dict)
    _failures: dict[str, str] = field(default_factory=dict)

    @cached_property
    def counter(self) -> TokenCounter:
        """The counter of the configured estimator."""
        return counter(self.config.pruning.estimator)

    def replay(self, path: SessionFile, read: Reader = read_source) -> Replayed:
        """Read a session and play it without pruning, then under each setting. Raises SessionError and OSError."""
        source = read(path, compactions=self.compactions)
        origin = source.imported.origin
        agent = "prunecli" if source.native else origin.agent or origin.kind
        script = script_of(source.records, self.counter, name=_name(path), agent=agent)
        series = [Series() for _ in range(len(self.settings) + 1)] if self.plots else []
        rows = self.play(script, *(one.watch for one in series))
        for row, one in zip(rows, series, strict=False):
            one.name = row.name
        notices = (
            *_damaged(path, source.notices),
            *self.failures,
            *self.assumptions(script),
            *self._other_ttl(script),
            *_untimed(script, source.kind),
        )
        real = source if self.compactions else read(path, compactions=True)
        return Replayed(
            rows,
            validated(real.records, script.counter),
            notices,
            tuple(series),
        )

    def evidence(self, path: SessionFile, read: Reader = read_source) -> FitData:
        """Read a session and play it for `--fit`. Raises SessionError and OSError."""
        source = read(path, compactions=self.compactions)
        script = script_of(source.records, self.counter)
        base, witness = self.part(script, Setting(NO_PRUNING, "always", spill=False)), Recording()
        player = Replayer(script, base, witness.watch)
        player.play()
        found = witness.evidence(player, self.expectations.min_tokens)
        least = self.expectations.caps["normal"].least
        known = {caps.of(kind) for caps in self.expectations.caps.values() for kind in KINDS}
        for cap in sorted({*CAPS, *known} - {0}):
            caps = Caps(**dict.fromkeys(KINDS, cap), least=least)
            capped = Replayer(script, replace(base, spill=_spill(caps, base.preamble, script)))
            capped.play()
            found.add(cuts_by(cap, capped, witness))
        return found

    def play(self, script: Script, *watches: Watch) -> tuple[Row, ...]:
        """Play a script without pruning, then under each setting.

        `watches` are called after each request: one for all plays, or one for each.
        """
        return tuple(self.plays(script, *watches))

    def plays(self, script: Script, *watches: Watch) -> Iterator[Row]:
        """Yield the row of each play as soon as it has ended."""
        self._failures.clear()
        settings = (Setting(NO_PRUNING, "always", spill=False), *self.settings)
        each = watches if len(watches) > 1 else (watches or (None,)) * len(settings)
        peak = 0
        for setting, watch in zip(settings, each, strict=True):
            row = Replayer(script, self.part(script, setting, peak), watch).play()
            peak = peak or row.peak
            yield row

    @property
    def failures(self) -> list[str]:
        """The first failure of each strategy with code of the user, in the last script that was played."""
        return list(self._failures.values())

    def assumptions(self, script: Script) -> list[str]:
        """Return a line for each model of a script whose prices are unknown."""
        return [text for name in script.models if (text := self.table.assumed(name))]

    def _other_ttl(self, script: Script) -> list[str]:
        """Return a line if the recording's endpoint kept prefixes for another time."""
        ttl = script.cache_ttl
        if ttl in (None, self.ttl):
            return []
        return [
            f"some sessions were recorded with a {ttl} cache, but are replayed with {self.ttl}: see --cache-ttl"
        ]

    def part(self, script: Script, setting: Setting, peak: int = 0) -> Part:
        """Return the inputs for playing a script under a setting. `peak` is the largest prompt without pruning, in
        tokens."""
        window = self._window(script, peak)
        recorded = next(iter(script.models), "")
        model, info = self.table.name(recorded), self.table.info(recorded)
        preamble = script.preamble or self._preamble(script, window)
        fixed = self.fixed
        if fixed is None:
            pieces = Preamble.of(tuple(preamble.get("system") or ()), tuple(preamble.get("tools") or ()))
            texts = (*pieces.system, *pieces.tools)
            fixed = round(self.factor_of(model) * sum(self.counter.count(text.decode()) for text in texts))
        return Part(
            setting.strategy,
            setting.gate,
            lambda recorded: self._terms_of(
                recorded,
                setting,
                window,
                recall="recall" in tool_names(preamble),
                compacts=script.numbered or self._summarizes,
            ),
            self.table.name,
            preamble,
            fixed,
            info.lifetime_ms(self.ttl),
            self.expectations.reply_tokens,
            _spill(self._caps(setting), preamble, script) if setting.spill else None,
            self.factor_of,
            cache=info.cache or "breakpoints",
            judges=self.kept,
            summary_tokens=self.expectations.summary_tokens
            if self._summarizes and not script.numbered
            else 0,
        )

    @property
    def _summarizes(self) -> bool:
        """Whether summaries are made that the recordings of other agents do not have."""
        return self.summaries is not None or self.config.compaction.on_return == "auto"

    def _caps(self, setting: Setting) -> Caps:
        """Return the configured caps on results."""
        config = self._config_of(setting)
        return Choices(config, {}, self.table.info_of, expectations=self.expectations).caps

    def _terms_of(
        self, recorded: str, setting: Setting, window: int, *, recall: bool, compacts: bool
    ) -> ReplayConfig:
        key = recorded, setting, window, recall, compacts
        if key not in self._terms:
            info, config, ttl = self.table.info(recorded, window), self._config_of(setting), self.ttl
            choices = Choices(
                config, {}, lambda _: info, recall, asked=info.name, expectations=self.expectations
            )
            self._terms[key] = ReplayConfig(
                self._here(choices.policy_at(None), setting, compacts=compacts),
                rates_by_size(info, ttl),
            )
        return self._terms[key]

    def _here(self, policy: Policy, setting: Setting, *, compacts: bool) -> Policy:
        """Return the policy for a recording, without compactions unless its program made them like prunecli.

        `no_pruning` without spill is pruning turned off: nothing is cleared near the window either.
        """
        if not compacts:
            policy = policy._replace(
                compaction=replace(policy.compaction, enabled=False),
                market=policy.market._replace(limit=0),
            )
        return policy._replace(
            chosen=tuple(
                replace(one, strategy=_Noted(one, self._failures)) if one.foreign else one
                for one in policy.chosen
            ),
            enabled=setting.spill or setting.strategy != NO_PRUNING,
        )

    def _config_of(self, setting: Setting) -> Config:
        names = json.dumps(setting.strategies) if len(setting.strategies) > 1 else setting.strategy
        config = self.config
        if self._summarizes:
            largest = round((self.summaries or _NEVER) / config.compaction.compact_at_pct)
            config = config.with_value("compaction.max_context_tokens", str(largest))
        return (
            config.with_value("pruning.strategy", names)
            .with_value("pruning.gate", setting.gate)
            .with_value("pruning.enabled", "true")
            .with_value("pruning.spill.enabled", str(setting.spill).lower())
            .with_value("model.cache_ttl", self.ttl)
        )

    def _window(self, script: Script, peak: int) -> int:
        """Return the window of the recording's models, or a large one if prompts do not fit.

        They do not fit if the models have a larger window than is known, or if a compaction is not played.
        """
        known = max((self.table.info_of(name).context_window for name in script.models), default=0)
        known = known or self.config.pruning.context_tokens
        return known if max(script.largest_prompt, peak) <= known else _LARGE_WINDOW

    def _preamble(self, script: Script, window: int) -> dict[str, Json]:
        """Return prunecli's own system prompt and tools, as for a new session in the recording's directory."""
        tools = [
            definition(tool)
            for tool in load_tools(self.config.tools.enabled, installed=self.config.installed).values()
        ]
        can_prune = any(tool["name"] == "prun" for tool in tools)
        begun = script.steps[0].at if script.steps else 0
        today = date.fromtimestamp(begun / 1000).isoformat()
        place = PromptFacts(Path(script.cwd or "/"), "linux, sh", today, window, can_prune)
        return {"system": list(system_prompt(place, ())), "tools": tools}


class _Noted:
    """A strategy with code of the user that notes its first failure. In the figures, it would only prune nothing."""

    Options: type = object

    def __init__(self, chosen: Chosen, failures: dict[str, str]) -> None:
        self._chosen = chosen
        self._failures = failures

    def propose(self, view: View, *_: object, **__: object) -> Proposal:
        """Return the proposal of the strategy, with its own options and functions."""
        proposal = self._chosen.propose(view)
        if proposal.problem:
            self._failures.setdefault(self._chosen.name, proposal.problem)
        return proposal


def _damaged(path: SessionFile, notices: Sequence[str]) -> list[str]:
    """Return the damage to a file as one line, or nothing."""
    more = f", and {len(notices) - 1:,} more" if len(notices) > 1 else ""
    return [f"{path}: {notices[0]}{more}"] if notices else []


def _untimed(script: Script, kind: Kind) -> list[str]:
    """Return a line if the recording has no timestamps. Importers then give its records regular ones."""
    if len(script.requests) < 2:
        return []
    first, last = script.steps[0], script.steps[-1]
    if kind != "messages" and last.at - first.at > last.source - first.source:
        return []
    return ["some sessions have no timestamps, and are replayed without pauses, so their cache never expires"]


def _name(path: SessionFile) -> str:
    """Return the name of a session's file without the suffixes of its format; of one at a URL, that."""
    if not isinstance(path, Path):
        return str(path)
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    return name.removesuffix(".jsonl").removesuffix(".json")


def _spill(caps: Caps, preamble: Mapping[str, Json], script: Script) -> Spill:
    """Return a function that holds results back like the program. Each is cut once for all strategies with the same
    caps."""
    recall, lines = "recall" in tool_names(preamble), takes(preamble, "recall", "lines")
    cuts = script.cuts.setdefault((caps, recall, lines), {})

    def spill(result: ToolResult, call: ToolUse, step: Step, seq: int) -> ToolResult:
        if step.source not in cuts:
            touches = step.touches or named(call.name, call.input)
            cuts[step.source] = cut_of(
                result, call, touches, seq, caps, script.counter, recall=recall, lines=lines
            )
        cut = cuts[step.source]
        return result if cut is None else cut.of(result, seq)

    return spill
