"""What the demo model answers: help, phrases done step by step, or the tour. One request, one reply."""

from collections.abc import Sequence

from prunecli.providers import demo_tour
from prunecli.providers.demo_asked import LOOKING, MAX_CHARS, Asked, asked
from prunecli.providers.demo_conversation import Answered, Call, Conversation, Reply, label_of
from prunecli.providers.demo_phrases import Move
from prunecli.providers.demo_wording import (
    PRUNING,
    REAL_MODEL,
    WHO,
    code,
    count,
    doing,
    doing_all,
    has_pruned,
    outcome,
)

_MEMO_CALLS = 12
_MEMO_CHARS = 1_000
_SUMMARY_CALLS = 60
_PHRASES = (
    ("read", "`read README.md` · `read a.py and b.py` · `read a.py lines 10-20`"),
    ("ls", "`list` · `list src`"),
    ("grep", "`search for import in src`"),
    ("find", "`find files *.py`"),
    ("bash", "`run git status`"),
    ("write", "`write notes.txt: some text`"),
    ("edit", "`edit notes.txt: some -> any` · `replace some with any in notes.txt`"),
    ("prun", "`prune 2000 tokens`"),
    ("prun_with_memo", "`forget that, but remember the port is 8080` · `forget everything`"),
    ("recall", "`recall 17`"),
)


def reply_to(said: Conversation) -> Reply:
    """The answer to a request: always the same to the same one."""
    if said.asks_summary:
        return Reply(_summary(said))
    if said.shown is not None:
        return _on_output(said.words, said.shown)
    found = asked(said.words)
    match found.kind:
        case "tour":
            return demo_tour.reply_to(said)
        case "work":
            return _work(said, found)
        case "stop":
            return Reply("All right. `help` tells what I can do.")
        case "help":
            return Reply(help_text(said.tools))
        case "unknown":
            return Reply(f"{_not_understood(said.words)}\n\n{help_text(said.tools)}")


def help_text(tools: frozenset[str]) -> str:
    """Who answers here, what it can do with these tools, and how to get a real model."""
    phrases = [f"- {examples}" for tool, examples in _PHRASES if tool in tools]
    joined = "Join them with `;` or `and then`: `run make; read build.log`."
    works = [
        "I understand a few phrases only, but the tools I call, the context and the pruning are real:",
        "\n".join(["- `tour`: fixes a small bug and shows what pruning is", *phrases]),
        joined,
    ]
    return "\n\n".join([WHO, *works, REAL_MODEL])


def _not_understood(words: str) -> str:
    if not words.strip():
        return "There was nothing to read in that."
    if len(words) > MAX_CHARS:
        return f"That is more than I take: {MAX_CHARS:,} characters."
    return f"I did not understand {code(words)}."


def _on_output(command: str, output: str) -> Reply:
    lines = count(len(output.splitlines()), "line")
    return Reply(f"I see what {code(command)} printed ({lines}). {WHO} `help` tells what I can do.")


def _summary(said: Conversation) -> str:
    """What a compaction gets: no understanding, only the calls and how they ended."""
    done = [f"- {doing(a.call)}{' (failed)' if a.is_error else ''}" for a in said.earlier]
    listed = "\n".join(done[-_SUMMARY_CALLS:]) or "- nothing"
    return f"{WHO} What it called, in order:\n{listed}"


# Phrases, step by step ---------------------------------------------------------------------------------------


def _work(said: Conversation, found: Asked) -> Reply:
    step = int(said.label) + 1 if said.label.isdigit() else 0
    left = found.moves[step:]
    if step == 0 and (missing := _missing(said, found.moves)):
        return Reply(f"{WHO} {missing}")
    stopped = any(answered.denied or answered.interrupted for answered in said.last)
    failed = any(answered.is_error for answered in said.run)
    if not left or stopped or (failed and not _only_looks(left[0])):
        return Reply(_report(said, step, left, stopped=stopped))
    calls = tuple(_with_memo(call, said) for call in left[0])
    begins = f"{WHO} `help` tells what I can do. {REAL_MODEL}\n\n" if said.begins else ""
    start = "I'll" if step == 0 else "Now I'll"
    return Reply(f"{begins}{start} {doing_all(calls)}.", calls, str(step))


def _only_looks(move: Move) -> bool:
    """After a failure only looking goes on: what changes something may have needed the step that failed."""
    return all(call.name in LOOKING for call in move)


def _missing(said: Conversation, moves: Sequence[Move]) -> str:
    wanted = dict.fromkeys(call.name for move in moves for call in move)
    missing = [code(name) for name in wanted if name not in said.tools]
    if not missing:
        return ""
    tools = (
        f"the tool {missing[0]}, which is"
        if len(missing) == 1
        else f"the tools {', '.join(missing)}, which are"
    )
    return f"For this I would need {tools} not enabled here (`[tools] enabled` in the configuration)."


def _report(said: Conversation, step: int, left: Sequence[Move], *, stopped: bool) -> str:
    edited = {a.call.input.get("path") for a in said.run if a.call.name == "edit" and not a.is_error}
    parts = [
        _refused(answered) if answered.denied else outcome(answered)
        for answered in said.run
        if answered.is_error or answered.call.name != "read" or answered.call.input.get("path") not in edited
    ]
    if len({label_of(answered.call.id) for answered in said.run}) < step:
        parts.insert(0, "The earlier steps are no longer in my context: they were pruned.")
    if any(map(has_pruned, said.last)):
        parts.append("`/undo` brings it back, `/prune-stats` and `/context` show what is left.")
    if left:
        undone = "; ".join(doing_all(move) for move in left)
        parts.append(f"I stop here. Not done: {undone}.")
    elif stopped:
        parts.append("I stop here.")
    return "\n\n".join(parts)


def _refused(answered: Answered) -> str:
    said, _, word = answered.text.partition(" They said: ")
    if said.startswith("Not allowed"):
        return f"I am not allowed to {doing(answered.call)}:{said.partition(':')[2]}"
    return f"You did not allow me to {doing(answered.call)}." + (f" The answer was: {word}" if word else "")


def _with_memo(call: Call, said: Conversation) -> Call:
    """The call, with a memo of what was done where it needs one and the user gave none."""
    if call.name != "prun_with_memo" or call.input["memo"]:
        return call
    done = [a for a in (*said.earlier, *said.run) if a.call.name not in PRUNING]
    parts = [doing(a.call) + (" (failed)" if a.is_error else "") for a in done[-_MEMO_CALLS:]]
    memo = "Done before: " + "; ".join(parts) if parts else "Nothing was done that needs remembering."
    return Call(call.name, {**call.input, "memo": memo[:_MEMO_CHARS]})
