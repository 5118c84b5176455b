"""Events: the contents of a session's log, one frozen value for each kind of record.

An event is what happened; a `Record` adds its identity (`seq`, dense from 0) and time.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from prunecli.model.edits import Edit
from prunecli.model.messages import Block, Json, Text, Usage
from prunecli.model.touches import Touches
from prunecli.util.frozen import frozen

Origin: TypeAlias = Literal["prompt", "steering", "follow_up", "command", "import", "attachment"]
PruneSource: TypeAlias = Literal["model", "strategy", "user"]
EndReason: TypeAlias = Literal["finished", "interrupted", "error", "limit"]

BilledReason: TypeAlias = Literal["cut", "stopped", "summary", "task", "title"]

SavedMoment: TypeAlias = Literal["before", "after"]
SavedReason: TypeAlias = Literal["tools", "rewind"]

SUMMARY_UNDO = "summary_undo"
"""The feature of logs in which a summary may be taken back."""
LOG_VERSION = 1
"""The session file version that this program writes."""


@frozen
class SessionStarted:
    """The first record of each session.

    `parent` is `{"id", "seq"}` of the session it was copied from up to that record, or None. With `tool_use_id`, the
    session is not a copy: that call of the parent's agent started it as a task. Without `seq`, nothing was copied: it
    goes on from the parent by a handoff.
    """

    id: str
    cwd: str
    model: str
    version: int = LOG_VERSION
    parent: Mapping[str, Json] | None = None
    requires: tuple[str, ...] = ()

    @property
    def copied_to(self) -> int:
        """The last record that was copied from another session, -1 for none."""
        seq = (self.parent or {}).get("seq")
        return seq if isinstance(seq, int) and not (self.parent or {}).get("tool_use_id") else -1


@frozen
class Spilled:
    """A result that was too long to send whole. `shown` is sent in place of its texts; its other blocks are sent.

    `tokens` is the raw estimate of the part held back: the texts minus `shown`.
    """

    tokens: int
    shown: str


def shown_of(content: tuple[Block, ...], spilled: Spilled) -> tuple[Block, ...]:
    """Return the part of a long content that is sent."""
    return Text(spilled.shown), *(block for block in content if not isinstance(block, Text))


@frozen
class Attached:
    """The call that would return the content of an attachment; `details` and `spilled` as for `ToolResult`."""

    tool_name: str
    input: Mapping[str, Json]
    details: Mapping[str, Json] = field(default_factory=dict)
    spilled: Spilled | None = None


@frozen
class UserMessage:
    """A message the user typed; never pruned.

    With origin `command` (a `!cmd` or a `/restore`), block 0 is what was typed and the rest is output, which may be
    pruned. `restores` are the entries whose originals a `/restore` shows again; the entry is pinned. With origin
    `attachment`, block 0 names an attachment of the message before it, and the rest is its content, a result of the
    call in `attached`. An attachment is not the user's words, and may be pruned.

    `fixed` are the indices of the texts that are fixed sentences of prunecli, never of anything that a repository can
    write. They are sent as a system message behind the user's, if the model takes that (`notes.SYSTEM`).
    """

    content: tuple[Block, ...]
    origin: Origin = "prompt"
    restores: tuple[int, ...] = ()
    attached: Attached | None = None
    fixed: tuple[int, ...] = ()

    @property
    def has_output(self) -> bool:
        """Whether the message has more than the user's words: the output of a command, or an attachment."""
        return self.origin in ("command", "attachment") and len(self.content) > 1

    @property
    def sent(self) -> tuple[Block, ...]:
        """The blocks that are sent; of a long attachment, only the shown part."""
        if self.attached is None or self.attached.spilled is None:
            return self.content
        return *self.content[:1], *shown_of(self.content[1:], self.attached.spilled)


@frozen
class AssistantMessage:
    """One response.

    `stop_reason` is the endpoint's, or `interrupted` if the user stopped it. `input_transformations`: the endpoint's
    reports of changes to the request, such as dropped thinking; unknown kinds are unchanged, () means no changes,
    None no report. `thinking_tokens`: the part of `usage.output_tokens` spent on thinking, None if not reported.
    `applied_edits`: the endpoint's own edits of its copy of the request, unchanged; None for none. `message_id` is
    the endpoint's id of the response, recorded where the next request names it; `cache_miss`: its reason why the
    prompt of the response before was not read from the cache.
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
    message_id: str = ""
    cache_miss: Mapping[str, Json] | None = None


@frozen
class ToolStarted:
    """Written durably before a tool runs: after a crash it shows that the tool may have partly run.

    `touches` is what the tool declared for this call; None if it declares nothing, and in older records.
    """

    tool_use_id: str
    tool_name: str
    input: Mapping[str, Json]
    touches: Touches | None = None


@frozen
class ToolResult:
    """The answer to one call. `content` is whole; `spilled` describes the part that is sent, None for all of it.

    `details` is for the screen and for plans (a prun); it is never sent. `tokens` is the raw estimate, by the shipped
    tokenizer, of what is sent, so that resuming a session needs no tokenizer; None if another program or estimator
    made the record.
    """

    tool_use_id: str
    tool_name: str
    content: tuple[Block, ...]
    is_error: bool = False
    details: Mapping[str, Json] = field(default_factory=dict)
    duration_ms: int = 0
    tokens: int | None = None
    spilled: Spilled | None = None

    @property
    def sent(self) -> tuple[Block, ...]:
        """The blocks that are sent: the content, or its shown part and the blocks that are not text."""
        return self.content if self.spilled is None else shown_of(self.content, self.spilled)


@frozen
class PrunApplied:
    """A prune with its exact edits, and the four fields of phi-core's record.

    `thinking_blocks` is the expected number of thinking blocks that the endpoint drops because of it. `shown_tokens`
    is its amount for people, at the ratio of endpoint to raw tokens when it was made; None in older logs.
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
    shown_tokens: int | None = None


@frozen
class PrunReverted:
    """Reverts edits: `seqs` name PrunApplied records (undo) or single targets (restore, which also pins).

    If it `requires` SUMMARY_UNDO, its seq names a CompactionApplied, whose summary is taken back.
    """

    seqs: tuple[int, ...]
    requires: tuple[str, ...] = ()


@frozen
class Pinned:
    """Pins or unpins entries: strategies and prun leave pinned entries alone."""

    seqs: tuple[int, ...]
    pinned: bool = True


@frozen
class Rewound:
    """Continues the conversation from `to_seq`: later records stay in the log but leave the context."""

    to_seq: int


@frozen
class CompactionApplied:
    """A summary that replaces the entries between `head_end` and `tail_start`.

    `usage` is the cost of writing it. `block` is the summary made and signed by the endpoint, None if the model wrote
    the summary on prunecli's request. The block is sent back unchanged, and `summary` only to a model or an endpoint
    that does not accept the block. `words` are the user's messages in that range. They are sent at the position of
    this record, because nothing may come between the block and the kept turns.
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


@frozen
class RequestSent:
    """A request that was sent, provable from the log alone: `sha256` is the chain over the canonical bytes."""

    model: str
    tokens: int
    sha256: str
    cache_marks: tuple[int, ...] = ()


@frozen
class AttemptBilled:
    """Usage that the endpoint reported for an attempt whose answer is not in the log.

    `cut`: the stream broke off and is tried again, or failed. `stopped`: the user stopped it before any text.
    `summary`: a summary that was not used. The prompt was billed in full. `usage.output_tokens` is the output
    reported by then, or an estimate of the received output if that is more: most endpoints report output only at the
    end of an answer. `title`: a title for the session. `task`: a request of a task, whose answer is in the log of its
    own session; `child` is `{"id", "seq"}` of it. `prepared` is a summary that was written
    ahead: paid for, and not in effect until it is recorded by itself. `sha256` is the chain over the messages that
    the endpoint summarized in it, "" if the model did: its block is accepted only in their place.
    """

    model: str
    usage: Usage
    reason: BilledReason = "cut"
    child: Mapping[str, Json] | None = None
    prepared: CompactionApplied | None = None
    sha256: str = ""


@frozen
class FilesSaved:
    """A snapshot of the workspace's files; never sent. `tree` names it in the snapshots of the directory `root`.

    `before`: nothing has changed since the newest user message or rewind. The next snapshot, `after`, is taken at the
    end of the work, so the differences between the two are the changes of that work. `skipped` are paths that the
    snapshot does not cover (too large, nested repositories).
    """

    tree: str
    root: str
    moment: SavedMoment
    reason: SavedReason = "tools"
    skipped: tuple[str, ...] = ()
    duration_ms: int = 0


@frozen
class SettingChanged:
    """A setting of this session, by its dotted key; this includes `session.name`."""

    key: str
    value: Json


@frozen
class RunEnded:
    """The agent is idle again; `reason` is the reason.

    `error` is the error message with its hint on the next line, "" for other reasons.
    """

    reason: EndReason
    error: str = ""


@frozen
class Unknown:
    """A record of a kind that this version does not know. It stays in the file and has no effect.

    `why` is the error in a malformed record of a known kind, or "" for an unknown kind.
    """

    type: str
    payload: Mapping[str, Json]
    why: str = ""


WITH_CONTENT = (UserMessage, AssistantMessage, ToolResult)
"""The events that hold blocks."""

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


def is_edit(event: Event) -> bool:
    """Return whether an event makes or reverts edits. Taking a summary back is not one."""
    return isinstance(event, PrunApplied) or (isinstance(event, PrunReverted) and not event.requires)


@frozen
class Record:
    """An event in the log: `seq` is its identity, `timestamp` (unix ms) is strictly increasing.

    `extra` holds keys that this version does not know, unchanged, for writing the record again. If a known key
    contains an unknown part, `extra` has the whole key. None if there are none.
    """

    seq: int
    timestamp: int
    event: Event
    extra: Mapping[str, Json] | None = None
