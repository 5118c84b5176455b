"""What planning one more request costs each strategy, and the ledger, in sessions of any length. Run as a script.

    python tests/benchmarks/bench_planning.py [entries ...] [mix errors tiny] [strategies ...]

Three kinds of session: a realistic mix, all errors, all tiny results; in the last two nothing can be pruned by what
prunes results. Each is folded and the strategy asked as after a resume, which reads everything once ("first"). Then
it is asked for HELD requests while a gate holds its proposals back ("held": the median). They are applied, and what
that changed is read again with the next request ("then"). It goes on for REQUESTS requests, each an answer with a
call and its result, the proposal applied each time: median and worst, and the median of those that a user message
begins ("turn": every twentieth). The ledger is asked after each request. Times are milliseconds of the processor, so
that other work on the machine hardly counts; folding is not in them. Nothing here is asserted: machines differ. The
garbage collector is off while the clock runs: its pauses grow with the whole heap.
"""

import gc
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.ledger import ledger, prun_applied
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.model.events import AssistantMessage, Event, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.providers.models import load_expectations
from prunecli.util.paths import PACKAGE

EXPECTATIONS = load_expectations(PACKAGE / "data")
SIZES = (1_000, 10_000, 100_000)
REQUESTS = 100
HELD = 20
WINDOW = 200_000
TURN = 20
TOOLS = ("read", "read", "read", "bash", "bash", "grep", "edit", "write", "ls", "recall")
VOCABULARY = [f"{a}_{b}" for a in ("parse", "state", "node", "walk", "cache", "prune") for b in range(200)]

Length = Callable[[random.Random], int]


def _view(*of: Any, **more: Any) -> View:
    return View(*of, **more, expectations=EXPECTATIONS)


class Session:
    """A session that grows; `length` gives the characters of a result."""

    def __init__(self, length: Length, errors: float) -> None:
        self.context = Context(Chars4())
        self.chance = random.Random(7)
        self.length, self.errors = length, errors
        self.seq = self.calls = 0

    def add(self, event: Event) -> None:
        self.context.apply(Record(self.seq, 1_700_000_000_000 + self.seq, event))
        self.seq += 1

    def words(self, length: int) -> str:
        text = " ".join(self.chance.choices(VOCABULARY, k=length // 9 + 1))[:length]
        return "\n".join(text[at : at + 60] for at in range(0, len(text), 60))

    def step(self) -> None:
        """One exchange with one call, after a user message where a turn begins."""
        if self.calls % TURN == 0:
            self.add(UserMessage((Text(self.words(80)),)))
        self.calls += 1
        tool = self.chance.choice(TOOLS)
        given = (
            {"path": f"src/file_{self.chance.randrange(60)}.py"} if tool != "bash" else {"command": "make"}
        )
        if tool in ("edit", "write"):
            given |= {"old_string": self.words(600), "new_string": self.words(700)}
        use = f"toolu_{self.calls}"
        said = (Text(self.words(100)), ToolUse(use, tool, given))
        self.add(AssistantMessage(said, "m", "tool_use", Usage(self.context.counts.length.chars // 4, 50)))
        failed = self.chance.random() < self.errors
        self.add(ToolResult(use, tool, (Text(self.words(self.length(self.chance))),), failed))


KINDS: dict[str, tuple[Length, float]] = {
    "mix": (lambda chance: min(30_000, int(chance.lognormvariate(6.8, 1.2))), 0.06),
    "errors": (lambda chance: min(30_000, int(chance.lognormvariate(6.8, 1.2))), 1.0),
    "tiny": (lambda chance: chance.randrange(2, 30), 0.0),
}


def session(kind: str, entries: int) -> Session:
    made = Session(*KINDS[kind])
    while made.seq < entries:
        made.step()
    return made


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    given = work()
    return (time.process_time() - start) * 1000, given


def run(kind: str, entries: int, one: Chosen) -> tuple[float, ...]:
    """A row of the table."""
    made = session(kind, entries)
    gc.collect()
    gc.disable()
    first, _ = timed(lambda: plan(made, one))
    held = [timed(lambda: plan(made, one))[0] for _ in range(HELD) if not made.step()]
    apply(made, one)
    then, _ = timed(lambda: plan(made, one))
    ledger(_view(made.context, WINDOW), [one])
    inside, beginning, ledgers = [], [], []
    for _ in range(REQUESTS):
        begins = made.calls % TURN == 0
        made.step()
        took, _ = timed(lambda: plan(made, one))
        (beginning if begins else inside).append(took)
        apply(made, one)
        ledgers.append(timed(lambda: ledger(_view(made.context, WINDOW), [one]))[0])
    gc.enable()
    middle, turn, told, waiting = map(statistics.median, (inside, beginning, ledgers, held))
    return first, waiting, then, middle, max(inside), turn, told, max(ledgers)


def plan(made: Session, one: Chosen) -> object:
    return one.propose(_view(made.context, WINDOW))


def apply(made: Session, one: Chosen) -> None:
    view = _view(made.context, WINDOW)
    if edits := one.propose(view).edits:
        made.add(prun_applied(view, "strategy", edits, strategy=one.name))


def memory(one: Chosen, entries: int = 10_000) -> tuple[float, float]:
    """Bytes an entry that the fold takes without its text, and that the strategy's memo adds."""
    tracemalloc.start()
    made = session("mix", entries)
    texts = sum(sum(map(len, entry.texts)) for entry in made.context.entries.values())
    folded = tracemalloc.get_traced_memory()[0]
    plan(made, one)
    gc.collect()
    planned = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (folded - texts) / entries, (planned - folded) / entries


def main() -> None:
    words, config = sys.argv[1:], Config()
    sizes = [int(word) for word in words if word.isdigit()] or SIZES
    shipped = list(config.strategies.names())
    names = [name for name in shipped if name in words] or shipped
    kinds = [kind for kind in KINDS if kind in words] or KINDS
    heads = ("entries", "first", "held", "then", "median", "worst", "turn", "ledger", "worst")
    print(" " * 30 + "".join(f"{head:>10}" for head in heads))
    for kind in kinds:
        for name in names:
            for entries in sizes:
                figures = "".join(f"{figure:10.3f}" for figure in run(kind, entries, chosen(config, name)))
                print(f"{kind + ' ' + name:30}{entries:>10,}{figures}", flush=True)
    if words:
        return
    print("\nbytes an entry: fold without texts, memo (edits proposed and not yet applied included)")
    for name in names:
        folded, index = memory(chosen(config, name))
        print(f"{name:24}{folded:9.0f}{index:9.0f}")


if __name__ == "__main__":
    main()
