"""Events: the contents of a session's log, one frozen value for each kind of record.

An event says what happened; a `Record` adds its identity (`seq`, dense from 0) and time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prunecli.model.edits import Edit
from prunecli.model.messages import Block, Json, Usage
from prunecli.model.touches import Touches

Origin: TypeAlias = Literal["prompt", "steering", "follow_up", "command", "import"]
PruneSource: TypeAlias = Literal["model", "strategy", "user"]
EndReason: TypeAlias = Literal["finished", "interrupted", "error", "limit"]

BilledReason: TypeAlias = Literal["cut", "stopped", "summary"]

SavedMoment: TypeAlias = Literal["before", "after"]
SavedReason: TypeAlias = Literal["tools", "rewind"]

LOG_VERSION = 1
"""The session file version that this program writes."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The first record of each session. `parent` is `{"id", "seq"}` of a forked session, or None."""

    id: str
    cwd: str
    model: str
    version: int = LOG_VERSION
    parent: Mapping[str, Json] | None = None
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message the user typed; never pruned.

    With origin `command` (a `!cmd` or a `/restore`), block 0 is what was typed and the rest is output, which may be
    pruned. `restores` are the entries whose originals a `/restore` shows again; the entry is pinned.
    """

    content: tuple[Block, ...]
    origin: Origin = "prompt"
    restores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One response.

    `stop_reason` is the endpoint's, or `interrupted` if the user stopped it. `input_transformations`: the endpoint's
    reports of changes to the request, such as dropped thinking; unknown kinds as they came, () for no changes, None
    if it does not report. `thinking_tokens`: the part of `usage.output_tokens` spent on thinking, None if not
    reported. `applied_edits`: the endpoint's own edits of its copy of the request, as they came, None for none.
    """

    content: tuple[Block, ...]
    model: str = ""
    stop_reason: str = "end_turn"
    usage: Usage = Usage()
    request_id: str = ""
    duration_ms: int = 0
    input_transformations: tuple[Mapping[str, Json], ...] | None = None
    thinking_tokens: int | None = None
    applied_edits: tuple[Mapping[str, Json], ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Written durably before a tool runs: after a crash it shows that the tool may have partly run.

    `touches` is what the tool declared for this call; None if it declares nothing, and in older records.
    """

    tool_use_id: str
    tool_name: str
    input: Mapping[str, Json]
    touches: Touches | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call.

    `details` is for the screen and for plans (a prun); it is never sent. `tokens` is the raw estimate of its content
    by the shipped tokenizer, so that resuming a session needs none; None if another program or estimator made the
    record.
    """

    tool_use_id: str
    tool_name: str
    content: tuple[Block, ...]
    is_error: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    duration_ms: int = 0
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class PrunApplied:
    """A prune with its exact edits; the four fields of phi-core's record stand beside them.

    `thinking_blocks` is the expected number of thinking blocks that the endpoint drops because of it.
    """

    source: PruneSource
    edits: tuple[Edit, ...]
    strategy: str | None = None
    pruned_timestamps: tuple[int, ...] = ()
    tokens_removed: int = 0
    messages_removed: int = 0
    memo: str | None = None
    reason: str = ""
    thinking_blocks: int = 0


@dataclass(frozen=True, slots=True)
class PrunReverted:
    """Reverts edits: `seqs` name PrunApplied records (undo) or single targets (restore, which also pins)."""

    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pinned:
    """Pins or unpins entries: strategies and prun leave pinned entries alone."""

    seqs: tuple[int, ...]
    pinned: bool = True


@dataclass(frozen=True, slots=True)
class Rewound:
    """Continues the conversation from `to_seq`: later records stay in the log but leave the context."""

    to_seq: int


@dataclass(frozen=True, slots=True)
class CompactionApplied:
    """A summary that replaces the entries between `head_end` and `tail_start`.

    `usage` is the cost of writing it. `block` is the summary as the endpoint made and signed it, None if the model
    wrote it on our request: the block is sent back as it came, and `summary` only to a model or an endpoint that does
    not accept it. `words` are the user's messages in that range. They are sent where this record stands, because
    nothing may come between the block and the kept turns.
    """

    summary: str
    head_end: int
    tail_start: int
    tokens_before: int = 0
    tokens_after: int = 0
    focus: str = ""
    model: str = ""
    usage: Usage = Usage()
    block: Mapping[str, Json] | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class RequestSent:
    """What was sent, provable from the log alone: `sha256` is the chain over the canonical bytes."""

    model: str
    tokens: int
    sha256: str
    cache_marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptBilled:
    """Usage that the endpoint reported for an attempt whose answer is not in the log.

    `cut`: the stream broke off and is tried again, or failed. `stopped`: the user stopped it before any text.
    `summary`: a summary that was not used. The prompt was billed in full; `usage.output_tokens` is what had been
    reported by then, which most endpoints do only at the end of an answer.
    """

    model: str
    usage: Usage
    reason: BilledReason = "cut"


@dataclass(frozen=True, slots=True)
class FilesSaved:
    """A snapshot of the workspace's files; never sent. `tree` names it in the snapshots of the directory `root`.

    `before`: nothing has been changed yet since the newest user message or rewind; the next one, `after`, is
    taken when the work is over: what differs between the two was changed by it. `skipped` are paths that the
    snapshot says nothing of (too large, repositories of their own).
    """

    tree: str
    root: str
    moment: SavedMoment
    reason: SavedReason = "tools"
    skipped: tuple[str, ...] = ()
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A setting of this session, by its dotted key; `session.name` too."""

    key: str
    value: Json


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The agent is idle again; `reason` says why."""

    reason: EndReason


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record of a kind this version does not know: kept in the file, without effect.

    `why` says what is wrong with one of a known kind that is malformed, "" for a kind not known.
    """

    type: str
    payload: Mapping[str, Json]
    why: str = ""


Event: TypeAlias = (
    SessionStarted
    | UserMessage
    | AssistantMessage
    | ToolStarted
    | ToolResult
    | PrunApplied
    | PrunReverted
    | Pinned
    | Rewound
    | CompactionApplied
    | RequestSent
    | AttemptBilled
    | FilesSaved
    | SettingChanged
    | RunEnded
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Record:
    """An event in the log: `seq` is its identity, `timestamp` (unix ms) is strictly increasing.

    `extra` holds keys that this version does not know, as they came, for whoever writes the record again; where a
    key of the payload holds something unknown deeper inside, that key as a whole. None where there is nothing.
    """

    seq: int
    timestamp: int
    event: Event
    extra: Mapping[str, Json] | None = None
