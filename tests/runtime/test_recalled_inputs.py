"""An input that was cut comes back byte for byte, by the tool, by /restore, after a resume and after a rewind."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import run_line
from prunecli.model.events import Rewound
from prunecli.model.messages import ToolUse, plain_text
from prunecli.runtime import Runtime
from prunecli.tools.recall import Recall, RecallInput
from tests.scripted import calls, says
from tests.starting import closed, results, start

LINE = "a line of words\n"
TEXTS = {
    "lines": LINE * 30,
    "CR LF": "one\r\ntwo\r\n" * 40,
    "overwritten": "10%\r20%\r30%\b\b\x1b[2K\x1b[31mred\x1b[0m\n" * 20,
    "control": "".join(map(chr, range(32))) * 20 + "\x7f\x85",
    "blanks": " \n\t\n" * 100,
    "no line end": " ".join(map(str, range(6_000))),
    "huge": "".join(f"{at:06} {LINE}" for at in range(2_000)),
    "wide": "é😀\u2028\u0301" * 100 + "\ufeff",
    "like a page": (LINE + "[lines 1-2 of 9 | next: recall 4 lines input 3-9]\n") * 20,
    "like JSON": json.dumps([{"text": "\\u0041\n", "at": at} for at in range(40)], indent=1),
}
CALLS = {
    "write": lambda text: {"path": "a.txt", "content": text},
    "edit": lambda text: {"path": "a.txt", "edits": [{"old_string": text}, {"new_string": text}]},
    "bash": lambda text: {"command": f"cat <<'EOF' >a\n{text}\nEOF\ncat >b <<'EOF'\n{text}\nEOF"},
    "NotebookEdit": lambda text: {"notebook_path": "a.ipynb", "new_source": text},
    "apply_patch": lambda text: {"input": f"*** Begin Patch\n*** Add File: a\n{text}*** End Patch"},
    "mcp__far__put": lambda text: {"cells": [{"source": [text, "x"]}, [[text]]], "path": text[:40]},
}


async def page_of(runtime: Runtime, seq: int, lines: str = "input") -> str:
    """What recall says of an answer's inputs."""
    output = await Recall().run(RecallInput(seq, lines), runtime.tool_context(reads=True))
    return plain_text(output.content)


async def recalled(runtime: Runtime, seq: int) -> str:
    """The same on all its pages, as each names the next one."""
    lines, found = "input", ""
    end = re.compile(rf"\n\[lines (\S+) of [\d,]+ \| next: recall {seq} lines (input \S+)\]\Z")
    while lines:
        page = await page_of(runtime, seq, lines)
        more, lines = end.search(page), ""
        if more:
            page, lines = page[: more.start()] + "\n" * (":" not in more[1].partition("-")[2]), more[2]
        found += page
    return found


def long_strings(value: Any) -> list[str]:
    """The strings of an input that are long enough to be cut."""
    if isinstance(value, str):
        return [value] if len(value) >= 240 else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in long_strings(one)]


@pytest.mark.parametrize("name", list(TEXTS))
async def test_what_was_cut_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    text, sets = TEXTS[name], ("permissions.mode=auto", "tools.snapshots=false", "ui.confirm=never")
    made = [ToolUse(f"t{at}", tool, given(text)) for at, (tool, given) in enumerate(CALLS.items())]
    runtime = start(tmp_path, [calls(*made), says("done")], sets=sets)
    await runtime.submit("go on")
    whole, head = runtime.session.context.messages(), runtime.session.context.exchanges[0].seq
    run_line(runtime, f"/prune {head} input")
    assert sum(map(len, long_strings(sent(runtime)))) == 0
    again = await closed(runtime)
    ask = ToolUse("r", "recall", {"entry": head, "lines": "input"})
    runtime = start(tmp_path, [calls(ask), says("done")], sets=sets)
    runtime.open_session(again)
    await runtime.submit("look again")
    back = await recalled(runtime, head)
    for call in made:
        assert [one for one in long_strings(call.input) if one not in back and call.name != "bash"] == []
    assert back.count(text) >= 2 * len(made) - 3
    assert results(runtime)[-1] == await page_of(runtime, head)
    runtime.emit(Rewound(runtime.session.context.exchanges[1].seq))
    assert await recalled(runtime, head) == back
    run_line(runtime, f"/restore {head} in-place")
    assert runtime.session.context.messages()[: len(whole)] == whole
    await runtime.close()


def sent(runtime: Runtime) -> list[Any]:
    """The inputs that the next request has."""
    blocks = [json.loads(one) for message in runtime.session.context.messages() for one in message.blocks]
    return [block["input"] for block in blocks if block["type"] == "tool_use"]
