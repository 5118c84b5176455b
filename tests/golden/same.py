"""Says "same" if the program decides and sends what it did, or shows what differs: `python -m tests.golden.same`.

Three measures: the golden requests, the replay of every recorded session, and the end-to-end tests (`--no-tests`
leaves these out). Rows of `auto` and `pi` must be equal to the last digit, totals of other strategies to 0.3 % of
their cost. `--write` makes the present figures the new baseline, which needs a reason in the same commit.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden.requests import GOLDEN, written
from tests.sessions import SESSIONS

ROWS = Path(__file__).parent / "rows.jsonl"
SITUATIONS = {
    "5m": ["--model", "claude-opus-4-6", "--cache-ttl", "5m"],
    "1h": ["--model", "claude-opus-4-6", "--cache-ttl", "1h"],
    "bound 5m": ["--model", "claude-opus-5-5", "--cache-ttl", "5m"],
    "bound 1h": ["--model", "claude-opus-5-5", "--cache-ttl", "1h"],
}
EXACT = ("auto", "pi")
NEAR = 0.003
FIGURES = (
    *(
        "requests",
        "tokens",
        "peak",
        "cache_read",
        "cache_write",
        "cost_with_rereads",
        "cost_with_any_rereads",
    ),
    *("pruned_results", "spilled_results", "regret", "edit_regret", "thinking_breaks"),
)


def rows() -> Iterator[tuple[str, list[Any]]]:
    """Replay all sessions. A key is a situation, a strategy and, for the exact ones, a session."""
    for situation, flags in SITUATIONS.items():
        done = subprocess.run(
            [sys.executable, "-m", "prunecli", "replay", *map(str, SESSIONS), *flags, "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"replay failed: {done.stderr}")
        report = json.loads(done.stdout)
        for row in report["sessions"]:
            if row["strategy"] in EXACT:
                yield f"{situation}, {row['strategy']}, {row['session']}", figures(row)
        for row in report["totals"]:
            yield f"{situation}, {row['strategy']}, total", figures(row)


def figures(row: dict[str, Any]) -> list[Any]:
    return [round(value, 6) if isinstance(value := row[name], float) else value for name in FIGURES]


def differs(key: str, before: list[Any], after: list[Any]) -> bool:
    """Whether two rows differ more than they may."""
    if key.split(", ")[1] in EXACT:
        return before != after
    cost = FIGURES.index("cost_with_rereads")
    return abs(after[cost] - before[cost]) > NEAR * before[cost]


def changes(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> Iterator[str]:
    """Return a line for each row that differs."""
    for key in before.keys() | after.keys():
        if key not in before or key not in after:
            yield f"{key}: only {'before' if key in before else 'after'}"
        elif differs(key, before[key], after[key]):
            pairs = zip(FIGURES, before[key], after[key], strict=True)
            yield f"{key}: " + ", ".join(f"{name} {old} -> {new}" for name, old, new in pairs if old != new)


def main() -> int:
    """Compare, or write the baseline. Return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make the present figures the baseline")
    parser.add_argument("--no-tests", action="store_true", help="leave out the end-to-end tests")
    asked = parser.parse_args()
    now, requests = dict(rows()), written()
    if asked.write:
        ROWS.write_text("".join(json.dumps([key, *row]) + "\n" for key, row in now.items()))
        GOLDEN.write_text(requests)
        return 0
    known = {key: row for key, *row in map(json.loads, ROWS.open())}
    found = sorted(changes(known, now))
    old, new = GOLDEN.read_text().splitlines(), requests.splitlines()
    found += [f"golden request: {line}" for line in new if line not in set(old)]
    print("\n".join(found) or "replay rows and golden requests: same")
    if asked.no_tests:
        return bool(found)
    tests = [sys.executable, "-m", "pytest", "-q", "-n", "4", "--assert=plain", "tests/e2e", "tests/vectors"]
    failed = subprocess.run(tests, check=False).returncode
    print("same" if not found and not failed else "different")
    return bool(found or failed)


if __name__ == "__main__":
    sys.exit(main())
