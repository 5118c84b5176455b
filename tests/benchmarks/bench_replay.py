"""How many messages a second each strategy replays on one core. Run as a module.

    python -m tests.benchmarks.bench_replay [rounds] [every] [strategies ...]

Every sixth of the real sessions (or as given) is read, counted, searched for quotes and cut once, as replay does, and
then played under each strategy, `auto` with its shortened results. A message is a user message, a response
or a result. The figure is in CPU time, with the best of the rounds (four) of each session, so that other programs on
the machine affect it little. The first line is the time of reading. Nothing here is asserted: machines differ.
"""

import gc
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from prunecli.features.replay.replay import NO_PRUNING, Setting, Stage
from prunecli.features.replay.replayer import Replayer
from prunecli.features.replay.script import Script, script_of
from prunecli.features.replay.subcommand import Asked, stage_of
from prunecli.model.events import AssistantMessage, ToolResult, UserMessage
from prunecli.session.importers.source import read_source
from prunecli.util.launch_options import Launch
from tests.sessions import SESSIONS

MESSAGES = (UserMessage, AssistantMessage, ToolResult)


def scripts_of(stage: Stage, paths: Sequence[Path]) -> list[Script]:
    """The sessions, prepared for all plays."""
    scripts = [script_of(read_source(path).records, stage.counter, name=path.name) for path in paths]
    for script in scripts:
        assert script.quotes is not None
        assert script.further is not None
    return scripts


def played(stage: Stage, scripts: Sequence[Script], setting: Setting, rounds: int) -> float:
    """CPU seconds of playing the sessions under a setting."""
    best = [math.inf] * len(scripts)
    parts = [stage.part(script, setting, script.largest_prompt) for script in scripts]
    for _ in range(rounds):
        gc.collect()
        for at, (script, part) in enumerate(zip(scripts, parts, strict=True)):
            start = time.process_time()
            Replayer(script, part).play()
            best[at] = min(best[at], time.process_time() - start)
    return sum(best)


def main() -> None:
    """Measure and print."""
    counts = [int(one) for one in sys.argv[1:] if one.isdigit()]
    named = [one for one in sys.argv[1:] if not one.isdigit()]
    rounds, every = (*counts, *(4, 6)[len(counts) :])
    stage = stage_of(Asked(Launch(), strategies=tuple(named)))
    paths = SESSIONS[::every]
    start = time.process_time()
    scripts = scripts_of(stage, paths)
    took = time.process_time() - start
    messages = sum(isinstance(step.event, MESSAGES) for script in scripts for step in script.steps)
    print(f"{len(scripts)} sessions, {messages:,} messages, read and prepared in {took:.2f} s")
    for setting in (Setting(NO_PRUNING, "always", spill=False), *stage.settings):
        speed = messages / played(stage, scripts, setting, rounds)
        print(f"{setting.strategy:24} {speed:8,.0f} messages a second")


if __name__ == "__main__":
    main()
