"""Sessions formatted for lists, with costs from the model table."""

from datetime import datetime
from functools import reduce
from typing import Any

from prunecli.model.messages import Usage
from prunecli.providers.models import ModelTable, cost
from prunecli.runtime.offered_models import listed_prices, with_prices
from prunecli.session.digest import LONG_PROMPTS, Digest
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed
from prunecli.util.figures import age, counted, in_tokens, money, short
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line


@frozen
class Costs:
    """Prices for sums of usage: those of the table, else those that the session recorded. Cache writes whose lifetime
    no endpoint reported count as five-minute writes."""

    table: ModelTable

    @staticmethod
    def of(places: Places) -> "Costs":
        return Costs(ModelTable.load(places.shipped_data))

    def of_session(self, digest: Digest) -> float:
        """Return the cost of a session in USD; models without a known price count as 0."""
        recorded, spent = listed_prices(digest.prices), 0.0
        for model, usage in digest.usage().items():
            info = with_prices(self.table.info(model), recorded)
            for above, longest in zip((0, *LONG_PROMPTS), (*LONG_PROMPTS, 0), strict=True):
                more = digest.usage_above(longest, model)
                spent += cost(_difference(usage, more), info, "5m", above + 1) or 0.0
                usage = more
        return spent


def _difference(whole: Usage, part: Usage) -> Usage:
    return Usage(
        whole.input_tokens - part.input_tokens,
        whole.output_tokens - part.output_tokens,
        (whole.cache_read_input_tokens or 0) - (part.cache_read_input_tokens or 0),
        (whole.cache_creation_input_tokens or 0) - (part.cache_creation_input_tokens or 0),
        (whole.web_search_requests or 0) - (part.web_search_requests or 0),
        (whole.cache_1h_input_tokens or 0) - (part.cache_1h_input_tokens or 0),
    )


def totals(digest: Digest) -> Usage:
    return reduce(Usage.plus, digest.usage().values(), Usage(0, 0, 0, 0, 0))


def facts_of(one: Listed, now_ms: int) -> str:
    prompts = counted(one.digest.prompts, "prompt")
    tokens = f"{in_tokens(one.digest.context)}" if one.digest.context else ""
    return " · ".join(filter(None, [prompts, tokens, age(now_ms - one.changed)]))


def row_of(one: Listed, costs: Costs) -> dict[str, Any]:
    """Return a session as `sessions list --json` prints it: times in unix ms, cost in USD."""
    digest, usage = one.digest, totals(one.digest)
    return {
        "id": one.id,
        "name": digest.name,
        "title": one.title,
        "cwd": digest.cwd,
        "started": digest.started,
        "changed": one.changed,
        "bytes": one.size,
        "prompts": digest.prompts,
        "entries": digest.entries,
        "models": list(digest.spent),
        "context_tokens": digest.context,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "web_search_requests": usage.web_search_requests,
        "cost_usd": round(costs.of_session(digest), 6),
        "first_prompt": digest.first,
        "last_prompt": digest.last,
        "path": str(one.path),
    }


def line_of(one: Listed, costs: Costs, mark: str = "") -> str:
    """Return a session as one line with its context and cost, as /resume shows them. `mark` precedes the label."""
    when = datetime.fromtimestamp(one.changed / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    context, spent = short(one.digest.context), money(costs.of_session(one.digest))
    mark = mark or ("fork: " if one.digest.is_copy else "")
    head, cwd = one_line(one.digest.head), one_line(one.cwd)
    label = one_line(one.label) + (f" → {head}" if head else "")
    return f"{one.id}  {when}  {context:>6}  {spent:<9}  {mark}{label}  ({cwd})"


def hit_row(hit: Hit) -> dict[str, Any]:
    """Return a hit as `sessions search --json` prints it."""
    return {
        "session": hit.path.stem,
        "seq": hit.seq,
        "timestamp": hit.timestamp,
        "who": hit.who,
        "excerpt": hit.excerpt,
        "path": str(hit.path),
    }
