"""Long sessions as files, for the benchmarks: what an agent writes in weeks, made in seconds.

Four records to an exchange (request, answer with a call, start, result), a prompt every tenth exchange.
"""

from pathlib import Path

from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    Record,
    RequestSent,
    RunEnded,
    SessionStarted,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.record_codec import encode_record
from prunecli.providers.tokenizer import SHIPPED
from prunecli.util.paths import slug

BEGUN = 1_760_000_000_000
_CODE = """    def parse_{n}(self, tokens: list[Token], at: int) -> Node:
        \"\"\"Reads rule {n}; raises ParseError where it does not apply — see grammar §{n}.\"\"\"
        token = tokens[at + {n} % 7]
        if token.kind != "NAME" and not self.allows(token, {n}):
            raise ParseError(f"line {{token.line}}: expected a name, got {{token.text!r}}")
        return Node({n}, token, [self.parse_{m}(tokens, at + 1)])
"""


def events(exchanges: int, result_bytes: int, cwd: str, session_id: str, compact_every: int) -> list[Event]:
    """What happened in a session of so many exchanges, with a compaction after so many (0: none)."""
    found: list[Event] = [SessionStarted(session_id, cwd, "claude-sonnet-5-5")]
    for number in range(exchanges):
        if number % 10 == 0:
            if number:
                found.append(RunEnded("finished"))
            found.append(
                UserMessage((Text(f"Prompt {number // 10}: make rule {number} of the parser stricter"),))
            )
        if compact_every and number and number % compact_every == 0:
            summary = f"Rules 0 to {number} of the parser were made stricter. " * 20
            found.append(CompactionApplied(summary, 1, len(found) - 40, 160_000, 12_000))
        found.append(RequestSent("claude-sonnet-5-5", 20_000 + number, f"{number:064x}"))
        path = f"src/parser/rules_{number % 300}.py"
        call = ToolUse(f"toolu_{number:08d}", "read", {"path": path, "offset": number % 90, "limit": 220})
        words = (
            f"I'll read `{path}` first.\n\nRule **{number}** is what the test calls:\n\n* it allows too much"
        )
        usage = Usage(120, 90, 20_000 + number, 800)
        found.append(
            AssistantMessage(
                (Text(words), call), "claude-sonnet-5-5", "tool_use", usage, f"req_{number}", 2100
            )
        )
        found.append(ToolStarted(call.id, call.name, call.input))
        text = "".join(_CODE.format(n=number + line, m=line) for line in range(1 + result_bytes // 420))
        if number % 5:  # most of what tools give is ASCII
            text = text.encode("ascii", "replace").decode()
        details = {"path": path, "first_line": 1, "last_line": text.count("\n")}
        tokens = SHIPPED.count(text[:result_bytes])
        found.append(
            ToolResult(call.id, call.name, (Text(text[:result_bytes]),), False, details, 3, tokens=tokens)
        )
    found.append(
        AssistantMessage((Text("That was the last one."),), "claude-sonnet-5-5", usage=Usage(10, 5, 9, 9))
    )
    found.append(RunEnded("finished"))
    return found


def write(path: Path, happened: list[Event]) -> int:
    """Writes them as a session file; its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for seq, event in enumerate(happened):
            file.write(encode_record(Record(seq, BEGUN + 1_500 * seq, event)))
    return path.stat().st_size


def session_file(
    data: Path, cwd: Path, *, entries: int, result_bytes: int = 2_600, compact_every: int | None = None
) -> Path:
    """A session of this directory with so many entries (messages of user, model and tools), below a data folder.

    Unless it is told otherwise there is a compaction after each 600 KB of results.
    """
    if compact_every is None:
        compact_every = 600_000 // result_bytes
    session_id = f"20260101-000000-{entries:06x}"
    path = data / "sessions" / slug(cwd.resolve()) / f"{session_id}.jsonl"
    write(path, events(int(entries / 2.1), result_bytes, str(cwd), session_id, compact_every))
    return path
