"""Records whose checksum is good and whose shapes are wrong, and everything that reads a session."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import strategies as st

from prunecli.agent.assemble import ModelSettings, assemble
from prunecli.context.outline import Outline
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.export.exporters.formats import ENDINGS, exported
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
    CompactionApplied,
    FilesSaved,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    Spilled,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import (
    PDF,
    Document,
    Image,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from prunecli.model.record_codec import record_to_json
from prunecli.model.requests import PREAMBLE
from prunecli.model.touches import Touches
from prunecli.runtime.sessions import Costs, line_of, row_of
from prunecli.runtime.toolbox import load_tools
from prunecli.session.audit import audit
from prunecli.session.importers.source import read_source
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.session_search import search
from prunecli.session.store import Store
from prunecli.session.timeline import is_open, points, trees_after
from prunecli.session.verify import verify_session
from prunecli.util.errors import SessionTooNew
from prunecli.util.paths import Places
from tests.session.exporters.sample import PIXEL, numbered

TREE = "a" * 40
USAGE = Usage(10, 2, 100, 0)
BLOCK = {"type": "compaction", "content": "all of it", "signature": "c2ln", "tool_changes": []}


def every_kind() -> list[Record]:
    """A session that holds each kind of record and each kind of block."""
    call, other = (
        ToolUse("t1", "read", {"path": "a.txt", "offset": 1}),
        ToolUse("t2", "bash", {"command": "ls"}),
    )
    return numbered(
        SessionStarted("s-1", "/w", "claude-x", parent={"id": "s-0", "seq": 4}),
        SettingChanged(PREAMBLE, {"system": ["be brief"], "tools": [{"name": "read", "input_schema": {}}]}),
        UserMessage((Text("read them"), Image("image/png", PIXEL, 8, 8))),
        RequestSent("claude-x", 100, "0" * 64, (0,)),
        AttemptBilled("claude-x", USAGE, "stopped"),
        AssistantMessage((Thinking("hm", "sig"), Text("now"), call, other), "claude-x", "tool_use", USAGE),
        FilesSaved(TREE, "/w", "before", "tools", ("big",), 5),
        ToolStarted("t1", "read", {"path": "a.txt"}, Touches(("a.txt",), (), ("src",), ("ls",))),
        ToolResult("t1", "read", (Text("output " * 50),), details={"lines": 3, "path": "a.txt"}),
        ToolResult("t2", "bash", (Text("a\nb"),), True, {"exit_code": 1, "diff": "x"}, 7),
        PrunApplied(
            "strategy", (Edit("clear", 7, "t1", "[cleared]", 90, 5),), "pi", (1,), 85, 1, None, "why"
        ),
        AssistantMessage(
            (RedactedThinking("x"), Text("done"), Opaque({"type": "server"})), "claude-x", usage=USAGE
        ),
        RunEnded("finished"),
        RunEnded("error", "API key rejected (401)\n/login to replace it"),
        UserMessage((Text("!ls"), Text("a\nb")), "command"),
        Pinned((7,)),
        PrunReverted((9,)),
        PrunApplied("model", (Edit("drop", 4), Edit("memo", 4, None, "memo")), memo="memo"),
        CompactionApplied("summary", 2, 10, 200, 20, "", "claude-x", USAGE),
        CompactionApplied("all of it", 0, 17, block=BLOCK, words="what was said"),
        SettingChanged("model.name", "claude-x"),
        SettingChanged("session.name", "Reading"),
        UserMessage((Text("more"),), "steering"),
        AssistantMessage((Text("sure"),), "claude-x", usage=USAGE),
        Rewound(20),
        FilesSaved(TREE, "/w", "after"),
        UserMessage((Text("last"),)),
        UserMessage(
            (Text("[attached: a.txt]"), Text("one\ntwo\nthree")),
            "attachment",
            attached=Attached(
                "read", {"path": "a.txt"}, {"path": "/w/a.txt", "lines": 3}, Spilled(5, "one\n[2 lines]")
            ),
        ),
        UserMessage((Text("[attached: b.pdf]"), Document(PDF, "JVBERi0=", 2)), "attachment"),
        AttemptBilled(
            "claude-x",
            USAGE,
            "summary",
            prepared=CompactionApplied("the gist", 20, 26, block=BLOCK),
            sha256="ab",
        ),
    )


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2.5,
    10**12,
    10**39,
    1e300,
    "",
    "x",
    "\ud800",
    "\x1b[2J",
    [],
    [1],
    ["x"],
    [[]],
    [{}],
    {},
    {"a": 1},
    {"type": ["x"]},
    [{"type": "hologram", "x": 1}],
    [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}],
    [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}],
    [{"type": "thinking", "thinking": "x", "signature": "y"}],
    [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "", "data": "x"},
            "width": -1,
            "height": 1e9,
        }
    ],
    [{"type": "image", "source": 1}],
    [{"type": "blob", "sha256": "../x", "bytes": -1, "media_type": "text/plain"}],
)


def places(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a JSON value, the value itself left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*so_far, key)
        yield from places(item, (*so_far, key))


HEAD = ("seq", "timestamp", "type")


@st.composite
def mutated(draw: st.DrawFn) -> tuple[bytes, int]:
    """The file of `every_kind` in which one to three values of one record were replaced, removed or added, and the
    number of that record."""
    records = [json.loads(json.dumps(record_to_json(one))) for one in every_kind()]
    seq = draw(st.integers(0, len(records) - 1))
    for _ in range(draw(st.integers(1, 3))):
        found = [place for place in places(records[seq]) if place[0] not in HEAD]
        if not found:
            break
        *way, last = draw(st.sampled_from(found))
        parent = records[seq]
        for key in way:
            parent = parent[key]
        if draw(st.integers(0, 5)):
            parent[last] = deepcopy(draw(st.sampled_from(ODD)))
        else:
            del parent[last]
    return b"".join(map(line_of_json, records)), seq


def line_of_json(value: dict[str, Any]) -> bytes:
    """A line of a session file with a checksum that is right."""
    body = json.dumps(value, separators=(",", ":"))[:-1].encode("ascii")
    return body + b',"crc":"%08x"}\n' % crc32(body)


def use_everything(path: Path, root: Path) -> Session:
    """Loads a session and does with it all that can be done without a screen; the loaded session."""
    session = Session.load(path, Context(Chars4()), writable=False)
    request = assemble(session.context, ModelSettings("claude-x"))
    request.body()
    verify_session(path, read_log(path))
    records = session.records
    audit(records, Context(Chars4()), lambda _model, _usage: 0.0).lines()
    for name in ENDINGS:
        exported(records, name)
    read_source(path)
    tools = load_tools(["read", "bash"])

    def shown_by(name: str, given: Mapping[str, Any]) -> str:
        return tools[name].summary(given) if name in tools else ""

    present_all(Presenter(shown_by, lambda _: None), records)
    Outline(session.context, records, shown_by)
    points(records)
    is_open(records, "/w")
    trees_after(records, 5, "/w")
    list(search([path], "output"))
    store = Store(root)
    for one in store.list():
        costs = Costs.of(Places.of({"HOME": str(root)}))
        json.dumps(row_of(one, costs))
        line_of(one, costs)
    if session.read_only.startswith("read-only: it needs"):
        with pytest.raises(SessionTooNew):
            session.forked(Context(Chars4()), store, root)
        return session
    copy = session_copy(session, store, root)
    assert [one.seq for one in copy.records][: len(records)] == [one.seq for one in records]
    return session


def session_copy(session: Session, store: Store, cwd: Path) -> Session:
    """A copy of a session, loaded again from its file."""
    copy = session.forked(Context(Chars4()), store, cwd)
    copy.close()
    assert copy.path is not None
    found = Session.load(copy.path, Context(Chars4()), writable=True)
    found.close()
    return found
