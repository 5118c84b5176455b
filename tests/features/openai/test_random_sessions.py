"""Random sessions on each wire and from one vendor to the other, with every kind of edit: no request is rejected, a
wire carries what the log says and nothing else, and what was cut comes back byte for byte."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import InThread, run_line
from prunecli.context.outline import Outline
from prunecli.features.inspector.inspecting import Listing
from prunecli.features.openai.tables import short_id
from prunecli.features.openai.wording import FAILED
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.model.events import AssistantMessage, CompactionApplied, PrunApplied, Record, RequestSent
from prunecli.model.messages import tool_uses
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.paths import Places
from tests.context.project import project
from tests.endpoint.script import Call, Reply
from tests.endpoint.script import Thinking as Thought
from tests.endpoint.server import Endpoint
from tests.features.openai.test_vendors import RULES, opened
from tests.openai_endpoint.server import OpenAiEndpoint
from tests.replay.through import Clock
from tests.runtime.test_recalled_inputs import recalled

SUMMARY = "[This is prunecli, not the user.]"
STEPS = 13
CLAUDE, GPT = ("claude-opus-5-5", "claude-sonnet-4-6"), ("gpt-5.5", "gpt-6-sol")
ODD = ("\r\n", "\x1b[31m", "\u2028", "\x00", "é😀", '"\\', "\t", "EOF", "[input pruned — x")
"""What an input may contain besides words."""
ACTS = (
    *("/prune", "/prune {0}", "/prune {0}-{1} memo it <was> so", "/prune {0} input", "/undo", "/undo"),
    *(
        "/redo",
        "/restore {0}",
        "/restore {0} in-place",
        "/pin {0}",
        "away",
        "away",
        "rewind",
        "resume",
        "compact",
    ),
)


class Model:
    """What all models say, drawn from a seed. `asked` are the long texts that its calls have sent, by id."""

    def __init__(self, seed: int, asked: dict[str, list[str]]) -> None:
        self._random, self.asked = random.Random(seed), asked

    def __call__(self, request: Any, index: int) -> Reply:
        if "compaction" in request or SUMMARY in str(request)[-6_000:]:
            return Reply("A summary of what was done.")
        content: list[object] = [Thought(f"Hm {index}. " * 60)] if self._random.random() < 0.5 else []
        calls = [self._call(request) for _ in range(self._random.choice((0, 0, 1, 2)))]
        return Reply([*content, f"Step {index}.", *calls])  # type: ignore[list-item]

    def _call(self, request: Any) -> Call:
        chance, number = self._random, len(self.asked)
        text = self._text(number)
        shown = re.findall(r"recall (\d+) input", str(request)) or ["1"]
        name, given, texts = chance.choice(
            (
                ("read", {"path": "a.txt", "offset": number % 9 + 1}, []),
                ("write", {"path": f"w{number}.txt", "content": text}, [text]),
                ("edit", {"path": "a.txt", "old_string": text, "new_string": text[::-1]}, [text, text[::-1]]),
                ("bash", {"command": f"cat > h.txt <<'EOF'\n{text}\nEOF"}, [text]),
                ("apply_patch", {"input": patch(number, text)}, [patch(number, text)]),
                ("mcp__far__put", {"cells": [{"source": [text, "x"]}, {"source": text}]}, [text, text]),
                ("recall", {"entry": int(chance.choice(shown)), "lines": "input"}, []),
                ("prun", {"entries": str(chance.randrange(2, 20))}, []),
                ("prun_with_memo", {"entries": str(chance.randrange(2, 20)), "memo": "It was <so>."}, []),
            )
        )
        id_ = f"call_{number}_{'x' * chance.choice((1, 70))}"
        self.asked[id_] = texts
        return Call(name, given, id_)

    def _text(self, number: int) -> str:
        words = [f"word{number}x", *ODD]
        return "w" + "".join(self._random.choice(words) + " " for _ in range(self._random.choice((90, 400))))


def patch(number: int, text: str) -> str:
    """A patch that adds a file; some of its lines may be none of a patch."""
    return f"*** Begin Patch\n*** Add File: p{number}.txt\n+{text}\n*** End Patch"


async def act(runtime: Runtime, what: str, chance: random.Random, clock: Clock) -> None:
    """Do what a person may do."""
    heads = [one.seq for one in runtime.session.context.exchanges] or [3]
    if what == "away":
        clock.now += 2 * 3_600_000
    elif what == "compact":
        await runtime.compact()
    elif what == "rewind":
        await rewind(runtime, chance.choice(points_of(runtime)).seq, conversation=True, files=False)
    else:
        some = chance.choice(heads)
        for effect in run_line(runtime, what.format(some, some + chance.randrange(6))):
            if isinstance(effect, InThread):
                assert await asyncio.to_thread(lambda work=effect.work: list(work()))


Carried = tuple[list[tuple[str, Any]], list[tuple[str, str]], str]
"""Calls with their inputs, results with their texts, and what the user's role says, in order."""


def recorded(records: Sequence[Record], *, translated: bool) -> Carried:
    """What the next request carries by the slow projection of the log."""
    messages = [json.loads(message.canonical) for message in project(records)]
    calls, results, words = on_messages({"messages": messages})
    if not translated:
        return calls, results, words
    failed = {b["tool_use_id"] for m in messages for b in m["content"] if b.get("is_error")}
    marked = [(short_id(id_), FAILED * (id_ in failed) + text) for id_, text in results]
    return [(short_id(id_), given) for id_, given in calls], marked, words


def on_messages(body: Any) -> Carried:
    """What a body of the Messages API carries."""
    blocks = [(m["role"], b) for m in body["messages"] for b in m["content"]]
    calls = [(b["id"], b["input"]) for _, b in blocks if b["type"] == "tool_use"]
    results = [(b["tool_use_id"], joined(b["content"])) for _, b in blocks if b["type"] == "tool_result"]
    return (
        calls,
        results,
        "\n\n".join(b["text"] for role, b in blocks if (role, b["type"]) == ("user", "text")),
    )


def on_chat(body: Any) -> Carried:
    """What a body of Chat Completions carries."""
    calls, results, words = list[tuple[str, Any]](), list[tuple[str, str]](), list[str]()
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            calls.append((call["id"], json.loads(call["function"]["arguments"])))
        if message["role"] == "tool":
            results.append((message["tool_call_id"], joined(message["content"])))
        elif message["role"] == "user":
            words.extend(parts(message["content"]))
    return calls, results, "\n\n".join(words)


def on_responses(body: Any) -> Carried:
    """What a body of the Responses API carries."""
    calls, results, words = list[tuple[str, Any]](), list[tuple[str, str]](), list[str]()
    for item in body["input"]:
        if item["type"] == "function_call":
            calls.append((item["call_id"], json.loads(item["arguments"])))
        elif item["type"] == "function_call_output":
            results.append((item["call_id"], joined(item["output"])))
        elif item.get("role") == "user":
            words.extend(parts(item["content"]))
    return calls, results, "\n\n".join(words)


def parts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def joined(content: Any) -> str:
    return "\n".join(parts(content))


READERS = {"messages": on_messages, "chat": on_chat, "responses": on_responses}


def small(folder: Path) -> None:
    """Numbers with which `auto` prunes small contexts, and inputs too."""
    shipped = json.loads((Places.of({}).shipped_data / "expectations.json").read_text())
    odds = {name: [0.02] * len(row) for name, row in shipped["inputs"].items() if name != "sizes"}
    file = Places.of({"HOME": str(folder / "home")}).expectations_file
    file.parent.mkdir(parents=True)
    file.write_text(
        json.dumps({**shipped, "inputs": odds, "min_tokens": 20, "min_batch": 20, "return_tokens": 4_000})
    )


async def session(folder: Path, wire: str, seed: int) -> Counter[str]:
    """A random session, held against everything said above; the kinds of edits in it."""
    chance, clock, asked = random.Random(seed), Clock(1_700_000_000_000), dict[str, list[str]]()
    small(folder)
    protocol = wire if wire != "messages" else chance.choice(("chat", "responses"))
    sets = (
        f"model.name={chance.choice(CLAUDE if wire == 'messages' else GPT)}",
        f"pruning.strategy={('auto', 'prune_old_observations', 'auto', 'aggressive')[seed % 4]}",
        *("pruning.prune_old_observations.keep_last_n=2", "permissions.mode=auto", "tools.snapshots=false"),
        *("compaction.keep_first_turns=0", "compaction.keep_recent_turns=2", "compaction.on_return=auto"),
    )
    others = [f"/model {name}" for name in (*CLAUDE, *GPT) if seed % 4 > 1]
    acts = chance.sample([*ACTS, *others], STEPS)
    seconds = lambda: clock.now / 1000  # noqa: E731
    async with (
        Endpoint(Model(seed, asked), clock=seconds) as claude,
        OpenAiEndpoint(Model(seed + 1, asked), rules=RULES, clock=seconds) as gpt,
    ):
        gpt6 = tuple(
            f'models."gpt-6-sol".{one}'
            for one in (f"base_url={gpt.api}", "provider=openai", f"wire={protocol}")
        )
        opening = lambda: opened(folder, claude, gpt, protocol, *gpt6, *sets, clock=clock)  # noqa: E731
        runtime = opening()
        for number, what in enumerate(acts):
            clock.now += 60_000
            await runtime.submit(f"Prompt {number}: go on.")
            check(runtime, claude, gpt, protocol)
            if what != "resume":
                await act(runtime, what, chance, clock)
                continue
            before, path = runtime.session.context, runtime.session.path
            await runtime.close()
            runtime = opening()
            assert path is not None
            runtime.open_session(path)
            assert runtime.session.context.sha256() == before.sha256()
            assert runtime.session.context.counts.context_tokens == before.counts.context_tokens
        await runtime.close()
        events = [record.event for record in runtime.session.records]
        assert runtime.session.path is not None
        report = verify_session(runtime.session.path, read_log(runtime.session.path))
        assert report.clean, report.lines
        for record in runtime.session.records:
            made = record.event
            if isinstance(made, AssistantMessage) and record.seq in runtime.session.context.entries:
                wanted = [text for call in tool_uses(made.content) for text in asked[call.id]]
                if wanted:
                    back = await recalled(runtime, record.seq)
                    assert [text for text in wanted if text not in back] == []
    edits = Counter(edit.kind for one in events if isinstance(one, PrunApplied) for edit in one.edits)
    return edits + Counter(summary=sum(isinstance(one, CompactionApplied) for one in events))


def check(runtime: Runtime, claude: Endpoint, gpt: OpenAiEndpoint, protocol: str) -> None:
    """The last request was taken and carries what the log says; the parts of the context are its whole."""
    assert [one.refusal for one in (*claude.rejected, *gpt.rejected)] == []
    records, context = runtime.session.records, runtime.session.context
    last = max(at for at, record in enumerate(records) if isinstance(record.event, RequestSent))
    by_claude = records[last].event.model in CLAUDE
    body = (claude if by_claude else gpt).requests[-1].json
    carried = READERS["messages" if by_claude else protocol](body)
    assert carried == recorded(records[:last], translated=not by_claude)
    outline = Outline(context, records)
    keys = [row.key for row in Listing(outline).done()]
    top = [node.tokens for key in keys if (node := outline.node(key)).key.kind == "turn" or key.seq == -1]
    assert abs(sum(top) - context.counts.context_tokens) <= len(top)


@pytest.mark.parametrize("wire", list(READERS))
@pytest.mark.parametrize(
    "part", [pytest.param(one, marks=[pytest.mark.long] * (one != 3)) for one in range(32)]
)
async def test_random_sessions_are_taken_carried_verified_and_recalled(
    tmp_path: Path, wire: str, part: int
) -> None:
    found = Counter[str]()
    for seed in range(3 * part, 3 * part + 3):
        found += await session(tmp_path / str(seed), wire, seed)
    assert part != 3 or found.keys() == {"drop", "clear", "trim", "memo", "cut", "strip", "summary"}, found
