"""/cost: cost per model, per turn and per request, and the effect of pruning."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from itertools import accumulate
from unicodedata import east_asian_width

from prunecli.commands.command import Effect as Effect_
from prunecli.commands.command import Say, Table
from prunecli.context.cache_miss import counted_kinds, kind_of
from prunecli.context.spending import BilledTurn, Effect, Paid, Pruning, effects, turns
from prunecli.model.events import AssistantMessage
from prunecli.providers.models import SEARCH_USD
from prunecli.runtime import Runtime
from prunecli.runtime.balance import billed
from prunecli.util.errors import UsageError
from prunecli.util.figures import counted, in_tokens, money, share, short

_HEADINGS = ("", "entry", "input", "read", "write", "hit", "output", "cost", "not sent", "saved")
"""Token columns: uncached input, cache reads and writes, cache share, output, and tokens that pruning kept out."""

ALIASES = ("usage",)
UNKNOWN = "$ ?"
MOST_ROWS = 1_000
"""Maximum requests and turns to list, newest first; `prunecli sessions audit` lists all."""
_WORDS = 20
"""Columns for the beginning of a prompt."""
_Entry = tuple[Paid, Effect | None]


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    return () if before else (("all", "every request"),)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect_]:
    """Show cost per model and turn (N: requests of turn N), and the net effect of pruning."""
    choices = runtime.choices
    responses = billed(runtime.session, choices)
    if not responses:
        return [Say("No cost yet: no request has been answered.")]
    found = list(effects(responses, choices.known_price))
    bill = turns(runtime.session.records, responses, found)
    entries: list[_Entry] = list(zip(responses, found, strict=True))
    zone = runtime.setup.zone
    if arguments and arguments != "all":
        return [_of_turn(bill, arguments, zone)]
    models = list(dict.fromkeys(response.model for response in responses))
    rows = [
        _row(model or "(no name)", "", [entry for entry in entries if entry[0].model == model])
        for model in models
    ]
    if len(models) > 1:
        rows.append(_row("all", "", entries))
    rows.append(("",) * len(_HEADINGS))
    below: list[tuple[tuple[str, ...], ...]] = [()] * len(rows)
    if arguments == "all":
        rows += _requests(entries, zone)
    else:
        for turn in bill[: -MOST_ROWS - 1 : -1]:
            of_turn = list(zip(turn.responses, turn.effects, strict=True))
            rows.append(_row(_name(turn), "", of_turn))
            below.append(tuple(_requests(of_turn, zone)))
    note = _note(runtime.balance.now, responses, len(runtime.session.context.prune_history.fetches))
    if searches := sum(response.usage.web_search_requests or 0 for response in responses):
        note += f"\nWeb searches by the endpoint: {searches}, {money(searches * SEARCH_USD)}."
    note += "".join(f"\n{line}" for line in runtime.parts.gather(lambda part: part.spent()))
    told = [record.event for record in runtime.session.records if isinstance(record.event, AssistantMessage)]
    if misses := counted_kinds(kind_of(event.cache_miss) for event in told):
        note += f"\nCache misses, as the endpoint explains them: {misses}."
    if copied := runtime.bill.copied:
        note += f"\nThis copy cost {money(runtime.bill.cost)}; the session that it was copied from, {money(copied)}."
    if (lost := runtime.session.context.unseen.cost_of_edits()).blocks:
        note += f"\nPruning cost {lost}."
    folded = arguments != "all"
    lines_note = f"/cost N lists the requests of turn N, /cost all every request.\n{note}" if folded else ""
    table = Table("Cost", _HEADINGS, tuple(rows), tuple(range(1, 10)), note, lines_note)
    return [replace(table, below=tuple(below)) if folded else table]


def _of_turn(bill: Sequence[BilledTurn], word: str, zone: tzinfo | None) -> Effect_:
    """Return the requests of the turn with this number. Raises UsageError for any other word."""
    turn = next((turn for turn in bill if str(turn.number) == word and not turn.summaries), None)
    if turn is None:
        raise UsageError(f"no turn {word!r} has a cost", "/cost lists the turns, /cost all every request")
    entries = list(zip(turn.responses, turn.effects, strict=True))
    rows = (_row(_name(turn), "", entries), *_requests(entries, zone))
    return Table(f"Cost of turn {turn.number}", _HEADINGS, rows, tuple(range(1, 10)))


def _name(turn: BilledTurn) -> str:
    if turn.summaries:
        return "compaction" if turn.summaries == "summary" else "prepared summary"
    columns = list(accumulate(1 + (east_asian_width(char) in "WF") for char in turn.words))
    fits = sum(column < _WORDS for column in columns)
    words = turn.words if columns[-1:] <= [_WORDS] else f"{turn.words[:fits].rstrip()}…"
    return f"{turn.number} {words}" if turn.number else "before the first prompt"


def _requests(entries: Sequence[_Entry], zone: tzinfo | None) -> list[tuple[str, ...]]:
    newest = entries[: -MOST_ROWS - 1 : -1]
    return [_row(_when(one[0], zone), str(one[0].seq), [one]) for one in newest]


def net(balance: float) -> str:
    """Return the balance as text: saved $1.84 net, cost $0.12 net."""
    return f"{'saved' if balance >= 0 else 'cost'} {money(abs(balance))} net"


def _row(name: str, entry: str, entries: Sequence[_Entry]) -> tuple[str, ...]:
    responses = [one for one, _ in entries]
    usages = [response.usage for response in responses]
    read = sum(usage.cache_read_input_tokens or 0 for usage in usages)
    written = sum(usage.cache_creation_input_tokens or 0 for usage in usages)
    prompt = sum(usage.prompt_tokens for usage in usages)
    return (
        name,
        entry or f"×{len(responses)}",
        short(sum(usage.input_tokens for usage in usages)),
        short(read),
        short(written),
        share(read / prompt) if prompt else "-",
        "~" * any(response.is_partial for response in responses)
        + short(sum(usage.output_tokens for usage in usages)),
        _total(responses),
        f"~{short(sum(response.withheld for response in responses))}"
        if any(response.withheld for response in responses)
        else "",
        _saved(entries),
    )


def _saved(entries: Sequence[_Entry]) -> str:
    """Return the net savings of pruning; "" for none, "?" if the price is unknown."""
    if any(effect is None for _, effect in entries):
        return "?"
    net = sum(effect.balance for _, effect in entries if effect)
    return "" if not net else f"{'lost ' if net < 0 else ''}~{money(abs(net))}"


def _total(responses: Sequence[Paid]) -> str:
    """Return the sum of the known costs, with "+ ?" if some are unknown."""
    known = [response.cost for response in responses if response.cost is not None]
    if not known:
        return UNKNOWN
    return money(sum(known)) + (" + ?" if len(known) < len(responses) else "")


def _when(one: Paid, zone: tzinfo | None) -> str:
    when = datetime.fromtimestamp(one.timestamp / 1000).astimezone(zone).strftime("%H:%M:%S")
    return when + ("" if one.kind == "answer" else f" {one.kind}")


def _note(found: Pruning, responses: Sequence[Paid], fetches: int) -> str:
    lines = []
    if len(responses) > MOST_ROWS:
        lines.append(
            f"The newest {MOST_ROWS:,} requests; `prunecli sessions audit ID` lists all {len(responses):,}."
        )
    unknown = sorted({response.model or "(no name)" for response in responses if response.cost is None})
    if unknown:
        names = ", ".join(unknown)
        lines.append(f'No known price for {names}; set [models."NAME"] prices in config.toml.')
    if not found.withheld and not found.rewritten:
        lines.append("Pruning has saved nothing so far.")
    elif found.saved is None or found.cost is None or found.regret is None or found.balance is None:
        rewriting = (
            f", and ~{in_tokens(found.rewritten)} were rewritten to the cache" if found.rewritten else ""
        )
        lines.append(
            f"Without pruning, requests would have sent ~{in_tokens(found.withheld)} more{rewriting}; prices unknown."
        )
    else:
        parts = [f"Without pruning, requests would have sent ~{in_tokens(found.withheld)} more"]
        if found.rewritten:
            parts.append(f"rewriting ~{in_tokens(found.rewritten)} to the cache cost ~{money(found.cost)}")
        if fetches:
            parts.append(f"fetching {counted(fetches, 'result')} again cost ~{money(found.regret)}")
        if parts[1:]:
            parts[0] += f", for ~{money(found.saved)}"
        lines.append("; ".join(parts) + ".")
        lines.append(f"Pruning {net(found.balance)} in this session.")
    if found.cleared:
        lines.append(f"The endpoint itself pruned ~{short(found.cleared)} of these tokens.")
    return "\n".join(lines)
