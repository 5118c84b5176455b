"""The tour of the demo model: a small project with a bug, fixed with the real tools, then pruned.

Each step is chosen by what came back from the one before, so a denial or an error is answered, not played over.
"""

from prunecli.providers.demo_conversation import Answered, Call, Conversation, Reply, label_of
from prunecli.providers.demo_wording import REAL_MODEL, WHO, code, doing, has_pruned, outcome, pruned, quoted

FOLDER = "prunecli-demo"
MARK = "Part of the prunecli tour"
"""Stands in each file of the tour; a file without it is the user's and is left alone."""

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
PRUNE_TOKENS = 800
"""Both runs of the test, whichever way tokens are counted, and not the files before them."""
LINGER = 0.8
"""Seconds between the words of a step and its calls, so that a person can read along."""

STEP_BY_STEP = "tour, step by step"
GUIDE = (STEP_BY_STEP, "go on with the tour", "go on with the tour", "/undo", "/cost")
"""What Enter says, when the person is ready for it: the model's steps, then commands of their own."""
INTRODUCTION = """\
A two-minute tour: the model is a script, everything else is real.
It fixes a bug in a new folder, prunes, and shows the bill.
You are asked before anything is written or run.
Press Enter to start. When the prompt proposes a line, Enter sends it."""

_FILES = {f"{FOLDER}/parser.py": PARSER, f"{FOLDER}/test_parser.py": TEST_PARSER}
_TEST = Call("bash", {"command": f"python3 -B {FOLDER}/test_parser.py"})
_NEEDED = ("read", "write", "edit", "bash")


def reply_to(said: Conversation) -> Reply:
    """The next step of the tour."""
    step = _STEPS.get(said.label)
    if step is None:
        return _go_on(said) if said.words.startswith("go on") else _begin(said)
    if refused := next((a for a in said.last if a.denied or a.interrupted), None):
        return Reply(_stopped(refused))
    return step(said)


def _go_on(said: Conversation) -> Reply:
    """Goes on where a tour step by step has paused."""
    paused = label_of(said.earlier[-1].call.id) if said.earlier else ""
    if paused in ("read", "retest", "fix"):
        return _test(said) if paused == "read" else _prune(said, "The bug is fixed.")
    return Reply("The tour does not wait anywhere. `tour` starts it.")


def _in_steps(said: Conversation) -> bool:
    return "step by step" in said.words or said.words.startswith("go on")


def _begin(said: Conversation) -> Reply:
    missing = [code(name) for name in _NEEDED if name not in said.tools]
    if missing:
        return Reply(f"{WHO} The tour needs tools that are not enabled here: {', '.join(missing)}.")
    return _step(
        said,
        "write",
        f"{WHO} My words are written beforehand; the tools, the context and the pruning are real.\n\n"
        f"First I write a small project with a bug into {code(FOLDER + '/')}. In the mode *ask* you are asked "
        "before anything is written or run; Shift+Tab changes the mode.",
        *_writes(),
    )


def _after_write(said: Conversation) -> Reply:
    if not any(answered.is_error for answered in said.last):
        return _look(said)
    reads = [Call("read", {"path": path}) for path in _FILES]
    return _step(
        said,
        "found",
        "That failed: most likely the files are there from an earlier tour, and `write` never overwrites what I "
        "have not read. So I read them first.",
        *reads,
    )


def _after_found(said: Conversation) -> Reply:
    if all(answered.is_error for answered in said.last):
        return Reply(_stopped(said.run[0]))
    foreign = [a for a in said.last if MARK not in a.text and not a.is_error]
    if foreign:
        path = code(foreign[0].call.input.get("path"))
        return Reply(f"{path} is not a file of the tour, so I leave it alone and stop here.")
    return _step(said, "rewrite", "They are the tour's own. I write them anew.", *_writes())


def _after_rewrite(said: Conversation) -> Reply:
    failed = _failed(said)
    return Reply(_stopped(failed)) if failed else _look(said)


def _look(said: Conversation) -> Reply:
    calls = (Call("ls", {"path": FOLDER}), Call("grep", {"pattern": "total", "path": FOLDER}))
    words = "Now I look around. Listing and searching change nothing, so both run at the same time."
    if not any(call.name in said.tools for call in calls):
        return _read(said)
    return _step(said, "look", words, *calls)


def _read(said: Conversation) -> Reply:
    reads = [Call("read", {"path": path}) for path in _FILES]
    return _step(said, "read", "I read both files. Each result can be unfolded on the screen.", *reads)


def _after_read(said: Conversation) -> Reply:
    if failed := _failed(said):
        return Reply(_stopped(failed))
    if _in_steps(said):
        return Reply(_PAUSE_READ)
    return _test(said)


def _test(said: Conversation) -> Reply:
    return _step(said, "test", "Now the test.", _TEST)


def _after_test(said: Conversation) -> Reply:
    result = said.last[-1]
    if not result.is_error:
        return Reply("The test passes, which it should not before the fix. Somebody was faster; I stop here.")
    if "FAILED" in result.text:
        words = (
            "It fails where a duration has two parts: `parse` sets `total` instead of adding to it. One character "
            "is missing, and `edit` changes nothing else."
        )
    else:
        words = (
            f"{outcome(result)}\n\nSo the test can't run here. I fix the bug all the same: a `+` is missing."
        )
    path = f"{FOLDER}/parser.py"
    return _step(said, "fix", words, Call("edit", {"path": path, "old_string": BUG, "new_string": FIXED}))


def _after_fix(said: Conversation) -> Reply:
    if failed := _failed(said):
        return Reply(_stopped(failed))
    ran = any(a.call.name == "bash" and "FAILED" in a.text for a in said.run)
    return _step(said, "retest", "Once more the test.", _TEST) if ran else _prune(said, "The bug is fixed.")


def _after_retest(said: Conversation) -> Reply:
    if failed := _failed(said):
        return Reply(_stopped(failed))
    return Reply(_PAUSE_FIXED) if _in_steps(said) else _prune(said, "It passes.")


def _prune(said: Conversation, words: str) -> Reply:
    if "prun_with_memo" not in said.tools:
        return Reply(f"{words} `prun_with_memo` is not enabled here, so nothing is pruned.\n\n{_COMMANDS}")
    return _step(
        said,
        "prune",
        f"{words} The test's output now only fills the context: every further request would carry it. I remove it "
        "and leave a memo of what I learned. The user's words are never removed, and the session's file keeps "
        "everything.",
        Call("prun_with_memo", {"tokens": PRUNE_TOKENS, "memo": MEMO}),
    )


def _after_prune(said: Conversation) -> Reply:
    if failed := _failed(said):
        return Reply(f"{outcome(failed)}\n\n{_COMMANDS}")
    result = said.last[-1]
    parts = [pruned(result)]
    if said.memos and has_pruned(result):
        parts += ["All that I still see of it is the memo:", quoted(said.memos[-1])]
    commands = _COMMANDS_NEXT if _in_steps(said) else _COMMANDS
    parts += [commands, f"The project is in {code(FOLDER + '/')}; delete it when you like."]
    return Reply("\n\n".join(parts))


_COMMANDS = f"""\
Now it is your turn:

- `/context` shows the whole window: what is live, what was pruned and why; `r` there restores an entry
- `/prune-stats` shows the sums: tokens scanned, pruned, protected
- `/undo` takes the last prune back, `/prune` prunes by strategy at once
- `/cost` is the bill; the demo model costs nothing
- `help` tells what else I understand

{REAL_MODEL}"""

_PAUSE_READ = """\
That was reading. Look at the last line of the screen but one: it counts the tokens of tool results, which are most \
of what an agent sends, again with every request.

**Enter** goes on: I run the test and fix the bug."""

_PAUSE_FIXED = """\
It passes. The test's output is of no more use now, but every request would still carry it.

**Enter** goes on: I prune it. Nothing is lost by it, as you will see."""

_COMMANDS_NEXT = f"""\
Now it is your turn. The line at the bottom proposes the next command, **Enter** runs it:

- `/undo` takes the prune back: everything is in the context again
- `/cost` is the bill, request by request, and what the prune did to it; the demo model costs nothing

After that: `/prune-stats` lists the prunes, `/context` shows the whole window and why each entry is in it, \
`help` tells what else I understand.

{REAL_MODEL}"""

_STEPS = {
    "write": _after_write,
    "found": _after_found,
    "rewrite": _after_rewrite,
    "look": _read,
    "read": _after_read,
    "test": _after_test,
    "fix": _after_fix,
    "retest": _after_retest,
    "prune": _after_prune,
}


def _step(said: Conversation, label: str, words: str, *calls: Call) -> Reply:
    enabled = tuple(call for call in calls if call.name in said.tools)
    return Reply(words, enabled, label, LINGER)


def _writes() -> list[Call]:
    return [Call("write", {"path": path, "content": content}) for path, content in _FILES.items()]


def _failed(said: Conversation) -> Answered | None:
    return next((answered for answered in said.last if answered.is_error), None)


def _stopped(answered: Answered) -> str:
    if not answered.denied:
        return f"{outcome(answered)}\n\nSo I stop here. `tour` starts again."
    reason, _, word = answered.text.partition(" They said: ")
    if reason.startswith("Not allowed"):
        return (
            f"I am not allowed to {doing(answered.call)}:{reason.partition(':')[2]}\n\nSo I stop here. "
            "`prunecli demo` gives the tour in a scratch folder of its own."
        )
    said = f" (The answer was: {word.rstrip('.')}.)" if word else ""
    return f"You did not allow me to {doing(answered.call)}, so I stop here.{said} `tour` starts again."
