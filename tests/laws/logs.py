"""Random logs: what sessions look like, and what they never should but may."""

import json
from dataclasses import dataclass, field

from hypothesis import strategies as st

from prunecli.model.edits import Edit, EditKind
from prunecli.model.events import (
    SUMMARY_UNDO,
    AssistantMessage,
    Attached,
    AttemptBilled,
    CompactionApplied,
    Event,
    FilesSaved,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    Spilled,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Document, Image, Text, Thinking, ToolUse, Usage, tool_uses
from prunecli.model.notes import SYSTEM, notice

TOOLS = ("read", "bash", "grep", "edit", "write", "ls", "prun", "image_read", "todo")
WORK_TOOLS = ("read", "read", "read", "read", "read", "ls", "grep", "bash", "edit", "write")
LINES = st.integers(0, 200)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).map(lambda words: f"w{words}")


@dataclass
class Draft:
    """A log being written: what a step may refer to."""

    records: list[Record] = field(default_factory=list)
    open_calls: list[ToolUse] = field(default_factory=list)
    calls: int = 0

    def add(self, event: Event) -> None:
        seq = len(self.records)
        self.records.append(Record(seq, 1_700_000_000_000 + seq * 1000, event))

    def seqs(self, kind: type) -> list[int]:
        return [record.seq for record in self.records if isinstance(record.event, kind)]


STEPS = (
    "user",
    "assistant",
    "assistant",
    "result",
    "result",
    "result",
    "steer",
    "command",
    "notice",
    "attach",
    "prune",
    "prune",
)
RARE = (
    "revert",
    "pin",
    "again",
    "rewind",
    "compact",
    "unsummarize",
    "saved",
    "orphan",
    "sent",
    "refusal",
    "thinking",
    "billed",
    "fixed",
    "fixed",
    "alone",
    "tells",
    "tells",
)


@st.composite
def logs(draw: st.DrawFn, max_steps: int = 40, *, rare: bool = True) -> list[Record]:
    """A log of up to `max_steps` steps, each of which appends a record or a few."""
    log = Draft()
    log.add(UserMessage((Text(draw(WORDS)),)))
    steps = st.sampled_from((*STEPS, *RARE, "signed") if rare else STEPS)
    for step in draw(st.lists(steps, max_size=max_steps)):
        _step(draw, log, step)
    return log.records


@st.composite
def sessions(draw: st.DrawFn, steps: int = 20) -> list[Record]:
    """A log that begins with work, call after call answered, and goes on as `logs` do."""
    log = Draft()
    log.add(UserMessage((Text(draw(WORDS)),)))
    for _ in range(draw(st.integers(5, 8))):
        _step(draw, log, "work")
    for step in draw(st.lists(st.sampled_from((*STEPS, *STEPS, *RARE, *["work"] * 12)), max_size=steps)):
        _step(draw, log, step)
    return log.records


def _step(draw: st.DrawFn, log: Draft, step: str) -> None:
    match step:
        case "user":
            log.add(UserMessage((Text(draw(WORDS)),)))
        case "steer":
            log.add(UserMessage((Text(draw(WORDS)),), "steering"))
        case "notice":
            log.add(notice("skills", "said " * draw(st.integers(1, 80)), kept=draw(st.booleans())))
        case "fixed":
            words = (Text(draw(WORDS)), Text(f"[plan mode] {len(log.records)}"))
            log.add(UserMessage(words, fixed=draw(st.sampled_from([(1,), (1,), (0, 1), (7,)]))))
        case "alone":
            log.add(notice("agents", "said", fixed=True))
        case "tells":
            log.add(SettingChanged(SYSTEM, draw(st.booleans())))
        case "command":
            output = "out " * draw(st.integers(1, 80))
            log.add(UserMessage((Text("!ls"), Text(output)), "command"))
        case "attach":
            log.add(_attachment(draw))
        case "again":
            shown = tuple(draw(st.lists(st.integers(0, len(log.records)), min_size=1, max_size=3)))
            log.add(UserMessage((Text("/restore"), Text("out " * 20)), "command", shown))
        case "assistant" | "thinking" | "refusal":
            _assistant(draw, log, step)
        case "result":
            if log.open_calls:
                call = log.open_calls.pop(0)
                log.add(ToolStarted(call.id, call.name, call.input))
                log.add(_result(draw, call))
        case "work":
            _assistant(draw, log, step)
            while log.open_calls:
                log.add(_result(draw, log.open_calls.pop(0), st.sampled_from([1, 8, 40, 150])))
        case "orphan":
            log.add(_result(draw, ToolUse("toolu_nobody", "read", {})))
        case "sent":
            log.add(RequestSent("m", 10, "00"))
        case "billed":
            usage = Usage(draw(LINES), draw(LINES), draw(st.sampled_from([None, 0, 900])))
            places = st.integers(-1, len(log.records) + 1)
            ready = (
                CompactionApplied("The gist.", draw(places), draw(places)) if draw(st.booleans()) else None
            )
            reason = "summary" if ready else draw(st.sampled_from(["cut", "stopped", "summary"]))
            log.add(AttemptBilled("m", usage, reason, prepared=ready))
        case "saved":
            moment = draw(st.sampled_from(["before", "after"]))
            log.add(
                FilesSaved("0" * 40, "/w", moment, draw(st.sampled_from(["tools", "rewind"])), ("big",), 3)
            )
        case _:
            _decide(draw, log, step)


def _assistant(draw: st.DrawFn, log: Draft, step: str) -> None:
    blocks: list[Block] = [Thinking("hm", "sig")] if step == "thinking" else []
    if draw(st.booleans()):
        blocks.append(Text(draw(st.one_of(WORDS, st.just(" ")))))
    calls = []
    for _ in range(draw(st.integers(int(step == "work"), 3))):
        log.calls += 1
        path = draw(st.sampled_from(["a.py", "a.py", "b/c.py"]))
        name = draw(st.sampled_from(TOOLS if step != "work" else WORK_TOOLS))
        lines = draw(st.sampled_from([{}, {}, {"offset": 10}, {"limit": 30}])) if name == "read" else {}
        calls.append(ToolUse(f"toolu_{log.calls}", name, {"path": path, **lines}))
    log.open_calls = list(calls)
    reason = "refusal" if step == "refusal" else "tool_use" if calls else "end_turn"
    log.add(AssistantMessage((*blocks, *calls), "m", reason, Usage(draw(st.integers(0, 500)), 5)))


def _result(draw: st.DrawFn, call: ToolUse, lines: st.SearchStrategy[int] = LINES) -> ToolResult:
    content: list[Text | Image] = [Text("line\n" * draw(lines))]
    if draw(st.integers(0, 9)) == 0:
        content.append(Image("image/png", "iVBORw0KGgo="))
    return ToolResult(call.id, call.name, tuple(content), draw(st.integers(0, 5)) == 0)


def _attachment(draw: st.DrawFn) -> UserMessage:
    given = {"path": draw(st.sampled_from(["a.py", "b/c.py"]))}
    content: list[Block] = [Text(f"[attached: {given['path']}]"), Text("line\n" * draw(LINES))]
    kind = draw(st.sampled_from(["text", "text", "text", "image", "document", "nothing"]))
    if kind == "image":
        content[1:] = [Image("image/png", "iVBORw0KGgo=", 750, 100)]
    elif kind == "document":
        content[1:] = [Document("application/pdf", "JVBERi0=", draw(st.integers(0, 3)))]
    elif kind == "nothing":
        del content[1:]  # damaged: nothing of what was attached is there
    spilled = Spilled(7, "line\n[5 of 6 lines held back | recall 1]") if draw(st.booleans()) else None
    call = Attached(draw(st.sampled_from(["read", "ls"])), given, given, spilled if kind == "text" else None)
    return UserMessage(tuple(content), "attachment", attached=draw(st.sampled_from([call, call, call, None])))


def _decide(draw: st.DrawFn, log: Draft, step: str) -> None:
    anything = st.integers(0, len(log.records))
    match step:
        case "prune":
            edits = draw(st.lists(_edits(log), min_size=1, max_size=4))
            log.add(PrunApplied("strategy", tuple(edits), draw(st.sampled_from([None, "opencode"]))))
        case "revert":
            log.add(PrunReverted(tuple(draw(st.lists(anything, max_size=3)))))
        case "unsummarize":
            found = [*log.seqs(CompactionApplied), draw(anything)]
            log.add(PrunReverted((draw(st.sampled_from(found[-3:])),), (SUMMARY_UNDO,)))
        case "pin":
            log.add(Pinned(tuple(draw(st.lists(anything, max_size=3))), draw(st.booleans())))
        case "rewind":
            log.add(Rewound(draw(anything)))
            log.open_calls = []
        case "compact":
            head = draw(anything)
            log.add(CompactionApplied("what was said", head, head + draw(st.integers(1, 20))))
        case "signed":
            head, tail = min(draw(st.sampled_from([-1, -1, 0, 2])), len(log.records)), draw(anything)
            block = {"type": "compaction", "content": "the gist", "signature": "c2ln", "later": [{"x": None}]}
            words = draw(st.sampled_from(["", "as the user said"]))
            log.add(
                CompactionApplied(
                    "what was said", head, tail, model="claude-opus-5-5", block=block, words=words
                )
            )


@st.composite
def _edits(draw: st.DrawFn, log: Draft) -> Edit:
    kinds: list[EditKind] = ["drop", "clear", "trim", "memo", "cut", "strip", "repair"]
    kind = draw(st.sampled_from(kinds))
    wanted = AssistantMessage if kind in ("drop", "memo", "strip", "cut") else ToolResult
    seqs = log.seqs(wanted)
    if wanted is ToolResult:
        seqs += [
            one.seq for one in log.records if getattr(one.event, "origin", "") in ("attachment", "command")
        ]
    seq = draw(st.sampled_from(seqs)) if seqs and draw(st.integers(0, 9)) else draw(st.integers(0, 60))
    text = None if kind in ("drop", "strip") else draw(WORDS)
    if kind == "cut":
        made = next((one.event for one in log.records if one.seq == seq), None)
        calls = tool_uses(made.content) if isinstance(made, AssistantMessage) else ()
        use = draw(st.sampled_from([*(call.id for call in calls), "call_x"]))
        return Edit(kind, seq, use, json.dumps({"path": text}), 10, draw(st.integers(2, 12)))
    return Edit(kind, seq, None, text, 10, 2)
