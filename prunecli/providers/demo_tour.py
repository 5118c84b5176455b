"""The tour of the demo model: a small project with a bug, fixed with the real tools, then pruned.

Each step depends on the result of the previous one, so the tour reacts to a denial or an error.
"""

import re

from prunecli.plugins.features import available
from prunecli.providers.demo_script import REAL_MODEL, WHO, Answered, Call, Reply, Scene, code, problem

FOLDER = "prunecli-demo"
MARK = "Part of the prunecli tour"
"""A line in every file of the tour. A file without it belongs to the user and is left alone."""

PARSER = f'''"""{MARK}: durations such as 90, 2m or 1h30m."""

UNITS = {{"s": 1, "m": 60, "h": 3600}}


def parse(text):
    """The duration in seconds; a number without a unit means seconds."""
    total = 0
    digits = ""
    for char in text:
        if char.isdigit():
            digits += char
        else:
            total = int(digits) * UNITS[char]
            digits = ""
    return total + int(digits or 0)
'''

TEST_PARSER = f'''"""{MARK}: the test of parser.py."""

from parser import parse

CASES = {{"90": 90, "2m": 120, "45s": 45, "1h30m": 5400, "1h0m5s": 3605}}
CASES |= {{f"{{m}}m{{s}}s": 60 * m + s for m in range(1, 8) for s in (5, 20, 35, 50)}}

failed = 0
for text, expected in CASES.items():
    found = parse(text)
    passed = found == expected
    failed += not passed
    print(f"{{'ok' if passed else 'FAILED':6}} parse({{text!r}}) gives {{found}}, expected {{expected}}")
print(f"{{len(CASES) - failed}} passed, {{failed}} failed")
raise SystemExit(1 if failed else 0)
'''

BUG = "total = int(digits)"
FIXED = "total += int(digits)"
MEMO = (
    f"{FOLDER}/parser.py parses durations; parse() set total instead of adding to it. Fixed with +=, "
    "checked with test_parser.py."
)
PRUNE_TOKENS = 1_050
"""Enough tokens to prune both runs of the test with any tokenizer, but not the files before them."""
LINGER = 0.8
"""Seconds between the text of a step and its calls, to give people time to read."""

STEP_BY_STEP = "tour, step by step"
GO_ON = "go on with the tour"
GUIDE = (STEP_BY_STEP, GO_ON, *filter(available, ["/context"]), GO_ON, *filter(available, ["/cost"]))
"""The lines that Enter sends, in order: the steps of the tour, then commands."""
INTRODUCTION = """\
A two-minute tour in five Enters, on a recorded session of 91 requests (entireio/git-sync, MIT).
The model is a script that fixes a bug in a scratch folder; tools, context and pruning are real.
Dollars are what this would cost at the recorded model's prices. Nothing is charged.
Press Enter to start. When the prompt proposes a line, Enter sends it."""

_TOUR = r"(?:(?:start|show me|take|run|begin|go on with) )?(?:the |a )?(?:demo|tour)(?:, step by step)?"

_FILES = {f"{FOLDER}/parser.py": PARSER, f"{FOLDER}/test_parser.py": TEST_PARSER}
_WRITES = [Call("write", {"path": path, "content": content}) for path, content in _FILES.items()]
_READS = [Call("read", {"path": path}) for path in _FILES]
_TEST = Call("bash", {"command": f"python3 -B {FOLDER}/test_parser.py"})
_FIX = Call("edit", {"path": f"{FOLDER}/parser.py", "old_string": BUG, "new_string": FIXED})
_LOOKS = [Call("ls", {"path": FOLDER}), Call("grep", {"pattern": "total", "path": FOLDER})]


def is_tour(words: str) -> bool:
    """Return whether these words ask for the tour, or for its next step."""
    return bool(re.fullmatch(_TOUR, " ".join(words.lower().strip(" .!?\n").split())))


def reply_to(scene: Scene) -> Reply:
    """Return the next step of the tour."""
    stopped = next((result for result in scene.results if result.stopped), None)
    failed = next((result for result in scene.results if result.is_error), None)
    if failed and (stopped or scene.step in ("rewrite", "read", "fix", "fixuntested", "retest")):
        return _stop(stopped or failed)
    return _NEXT.get(scene.step, _begin)(scene)


def _begin(scene: Scene) -> Reply:
    """Return the first step, or the one at which the tour paused."""
    missing = [code(name) for name in ("read", "write", "edit", "bash") if name not in scene.tools]
    if missing:
        return Reply(f"{WHO} The tour needs tools that are not enabled: {', '.join(missing)}.")
    if scene.words.startswith("go on"):
        paused = {"read": _test, "retest": _prune}.get(scene.step_before)
        return paused(scene) if paused else Reply("The tour is not paused. `tour` starts it.")
    return _step(
        scene,
        "write",
        f"{WHO} My lines are scripted; the tools, the context and the pruning are real.\n\n"
        f"First I'll write a small project with a bug to {code(FOLDER + '/')}. In *ask* mode you are asked before "
        "anything is written or run; Shift+Tab changes the mode.",
        *_WRITES,
    )


def _after_write(scene: Scene) -> Reply:
    if not any(result.is_error for result in scene.results):
        return _look(scene)
    words = "That failed, probably because an earlier tour left its files. I'll read them before I overwrite them."
    return _step(scene, "found", words, *_READS)


def _after_found(scene: Scene) -> Reply:
    read = [result for result in scene.results if not result.is_error]
    if not read:
        return _stop(scene.results[0])
    if foreign := next((result for result in read if MARK not in result.text), None):
        path = code(foreign.call.input.get("path"))
        return Reply(f"{path} is not a file of the tour, so I'll leave it alone and stop here.")
    return _step(scene, "rewrite", "They are from the tour. I'll write them again.", *_WRITES)


def _look(scene: Scene) -> Reply:
    words = "Now I'll look around. Listing and searching change nothing, so they run in parallel."
    can_look = any(call.name in scene.tools for call in _LOOKS)
    return _step(scene, "look", words, *_LOOKS) if can_look else _read(scene)


def _read(scene: Scene) -> Reply:
    return _step(scene, "read", "I'll read both files. You can expand each result on the screen.", *_READS)


def _after_read(scene: Scene) -> Reply:
    return Reply(_PAUSE_READ) if _in_steps(scene) else _test(scene)


def _test(scene: Scene) -> Reply:
    return _step(scene, "test", "Now the test.", _TEST)


def _after_test(scene: Scene) -> Reply:
    result = scene.results[-1]
    if not result.is_error:
        return Reply("The test passes before the fix, so someone else fixed the bug. I'll stop here.")
    if "FAILED" not in result.text:
        words = f"{problem(result)}\n\nThe test cannot run here. I'll fix the bug anyway: a `+` is missing."
        return _step(scene, "fixuntested", words, _FIX)
    words = "Durations with two parts fail: `parse` sets `total` instead of adding to it. I'll add the missing `+`."
    return _step(scene, "fix", words, _FIX)


def _retest(scene: Scene) -> Reply:
    return _step(scene, "retest", "I'll run the test again.", _TEST)


def _after_retest(scene: Scene) -> Reply:
    return Reply(_PAUSE_FIXED) if _in_steps(scene) else _prune(scene)


def _prune(scene: Scene) -> Reply:
    if "prun_with_memo" not in scene.tools:
        return Reply(
            f"The bug is fixed. `prun_with_memo` is not enabled, so nothing is pruned.\n\n{_COMMANDS}"
        )
    return _step(
        scene,
        "prune",
        "The bug is fixed. The test output is no longer needed, but every request would still carry it. I'll remove "
        "it and leave a memo of what I learned. Your messages are never removed, and the session file keeps "
        "everything.",
        Call("prun_with_memo", {"tokens": PRUNE_TOKENS, "memo": MEMO}),
    )


def _after_prune(scene: Scene) -> Reply:
    result = scene.results[-1]
    if result.is_error:
        return Reply(f"{problem(result)}\n\n{_COMMANDS}")
    said = result.text.replace("Will remove", "Removed", 1).replace(", before the next turn", "", 1)
    memo = f"\n\nI now see only the memo:\n\n> {MEMO}" if said.startswith("Removed") else ""
    return Reply(f"{said}{memo}\n\n{_COMMANDS}\n\nThe project is in `{FOLDER}/`; you can delete it.")


_NEXT = {
    "write": _after_write,
    "found": _after_found,
    "rewrite": _look,
    "look": _read,
    "read": _after_read,
    "test": _after_test,
    "fix": _retest,
    "fixuntested": _prune,
    "retest": _after_retest,
    "prune": _after_prune,
}
"""For each step, the function that returns the next step."""


def _in_steps(scene: Scene) -> bool:
    return "step by step" in scene.words or scene.words.startswith("go on")


def _step(scene: Scene, step: str, words: str, *calls: Call) -> Reply:
    return Reply(words, tuple(call for call in calls if call.name in scene.tools), step, LINGER)


def _stop(result: Answered) -> Reply:
    again = (
        "`prunecli demo` runs the tour in a scratch folder."
        if "Not allowed:" in result.text
        else "`tour` starts again."
    )
    return Reply(f"{problem(result)}\n\nI'll stop here. {again}")


_SUGGESTED = """\
- `/cost` shows the bill by turn, and what pruning saved of it
- `/undo` takes a prune back, and says first what that costs
- `/context` shows what can be dropped, and what was pruned and why; `r` there restores an entry
- `/prune-stats` shows tokens scanned, pruned and protected
- `help` lists what else I understand"""
_THERE = "\n".join(line for line in _SUGGESTED.split("\n") if available(line) == line)
_COMMANDS = f"Now it is your turn:\n\n{_THERE}\n\n{REAL_MODEL}"

_PAUSE_READ = """\
Every request sends the whole context again, and half of it was old tool output. The session was idle, so its cache \
was cold, and pruning before my first request cost nothing: see the ✂ line above, and `pruned` in the second line \
from the bottom.

**Enter** to continue: I'll run the test and fix the bug."""

_PAUSE_FIXED = """\
It passes. **Enter** to look at the context: what fills it, what was pruned, and what else you could drop. Esc \
closes it.

Then **Enter** again: I'll prune the test output myself and leave a memo."""
