"""Lets prunecli solve tasks of SWE-bench with and without pruning: README.md."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).parents[2]
SETTINGS: Mapping[str, Sequence[str]] = {"no_pruning": ("--set", "pruning.enabled=false"), "auto": ()}
KEYS = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
LONGEST_S = 3_600
ASK = "Solve this issue in the repository in the current directory. Leave its tests as they are.\n\n"
Task = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a task is worked on: a folder, or a container if `inside` has the words that run a program in it."""

    folder: str
    prunecli: str
    environ: Mapping[str, str]
    inside: tuple[str, ...] = ()

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program in the folder. Its failure is a result, not an error."""
        where = None if self.inside else self.folder
        return subprocess.run(
            [*self.inside, *words],
            cwd=where,
            env=dict(self.environ),
            input=given,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )


@dataclass(frozen=True)
class Run:
    """What came of a task: USD, turns, and whether it was solved; None if another program has to say."""

    task: str
    patch: str
    cost: float
    turns: int
    end: str
    solved: bool | None = None


@contextmanager
def place(task: Task, to: Path, environ: Mapping[str, str]) -> Iterator[Place]:
    """A fresh copy of the task's repository; it stays below `to` if it is a folder."""
    if folder := task.get("folder"):
        shutil.copytree(folder, to / "work")
        program = str(Path(sys.executable).with_name("prunecli"))
        yield Place(str(to / "work"), program, {**environ, "PRUNECLI_HOME": str(to / "home")})
        return
    name = f"prunecli-{uuid4().hex[:8]}"
    usual = f"swebench/sweb.eval.x86_64.{task['instance_id'].replace('__', '_1776_')}:latest".lower()
    keys = [word for key in KEYS if key in environ for word in ("-e", key)]
    image = str(task.get("image_name") or usual)
    inside = ("docker", "exec", "-i", "-w", "/testbed", name)
    words = ["docker", "run", "-d", "--rm", "--name", name, "-v", f"{ROOT}:/prunecli:ro", *keys, image]
    subprocess.run([*words, "sleep", "infinity"], check=True, capture_output=True, env=dict(environ))
    try:
        there = Place("/testbed", "/opt/p/bin/prunecli", environ, inside)
        source = "cp -r /prunecli /opt/source && pip install -q uv && uv venv -q --python 3.11 /opt/p"
        made = there.run("sh", "-c", f"{source} && uv pip install -q --python /opt/p/bin/python /opt/source")
        if made.returncode:
            raise SystemExit(f"{task['instance_id']}: prunecli could not be installed: {made.stderr[-500:]}")
        yield there
    finally:
        subprocess.run(["docker", "rm", "-f", name], check=False, capture_output=True)


def solve(task: Task, setting: str, to: Path, more: Sequence[str], environ: Mapping[str, str]) -> Run:
    """Let prunecli work on a task, and return its patch and what it cost."""
    name = str(task["instance_id"])
    with place(task, to / setting / name, environ) as there:
        before = there.run("git", "rev-parse", "HEAD").stdout.strip()
        flags = ("--output-format", "json", "--trust", "--permission-mode", "auto", "--sandbox", "off")
        done = there.run(
            there.prunecli, "-p", *flags, *SETTINGS[setting], *more, given=ASK + task["problem_statement"]
        )
        try:
            said = json.loads(done.stdout.strip().rpartition("\n")[2])
        except ValueError:
            raise SystemExit(f"{name}: prunecli gave no result: {done.stderr[-500:]}") from None
        there.run("git", "add", "-A")
        patch = there.run("git", "diff", "--cached", before).stdout
        found = Run(name, patch, said["total_cost_usd"] or 0.0, said["num_turns"], said["subtype"])
        if tests := task.get("tests"):
            return replace(found, solved=there.run("sh", "-c", tests).returncode == 0)
        return found


def report(runs: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """Yield a line for each setting, and what differs by task."""
    for setting, each in runs.items():
        graded = [one.solved for one in each if one.solved is not None]
        solved = f"{sum(graded)} of {len(graded)} solved" if graded else "solved: ask SWE-bench's harness"
        cost, turns = sum(one.cost for one in each), sum(one.turns for one in each)
        yield f"{setting:12} {len(each)} tasks · {solved} · ${cost:.2f} · {turns} turns"
    plain, pruned = (list(runs[name]) for name in SETTINGS)
    pairs = [(a.solved, b.solved) for a, b in zip(plain, pruned, strict=True)]
    lost, won = pairs.count((True, False)), pairs.count((False, True))
    yield f"solved only without pruning: {lost}, only with it: {won}"


def main(words: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.run", description=__doc__)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--to", type=Path, required=True, help="a new folder for predictions and runs")
    parser.add_argument("--limit", type=int, help="only the first tasks")
    parser.add_argument("more", nargs="*", help="after --: further flags of prunecli, such as --model NAME")
    given = parser.parse_args(words)
    tasks = [json.loads(line) for line in given.tasks.read_text().splitlines() if line.strip()][: given.limit]
    given.to.mkdir(parents=True)
    runs: dict[str, list[Run]] = {setting: [] for setting in SETTINGS}
    for task in tasks:
        for setting, each in runs.items():
            each.append(run := solve(task, setting, given.to, given.more, environ))
            print(f"{run.task} {setting}: {run.end}, ${run.cost:.2f}, solved: {run.solved}", file=sys.stderr)
            prediction = {"instance_id": run.task, "model_name_or_path": f"prunecli-{setting}"}
            with (given.to / f"{setting}.preds.jsonl").open("a") as file:
                file.write(json.dumps({**prediction, "model_patch": run.patch}) + "\n")
    print("\n".join(report(runs)))


if __name__ == "__main__":
    main()
