"""A progress bar costs the model one line, and what was folded can be recalled."""

import json
import re
from pathlib import Path

from prunecli.model.events import ToolResult
from prunecli.model.messages import Text, ToolUse
from tests.scripted import calls, says
from tests.starting import start

BAR = "for i in $(seq 1 300); do printf '\\r%3d%% |########|' $i; done; echo; echo 'epoch 1 val_acc=0.91'"


async def results(
    folder: Path, *rounds: ToolUse, sets: tuple[str, ...] = (), keep: bool = True
) -> dict[int, ToolResult]:
    script = [*map(calls, rounds), says("ok")]
    runtime = start(folder, script, sets=("permissions.mode=auto", *sets), keep_log=keep)
    await runtime.submit("go")
    found = {r.seq: r.event for r in runtime.session.records if isinstance(r.event, ToolResult)}
    assert all(f"recall {seq} raw" in said(one) for seq, one in found.items() if "recall " in said(one))
    await runtime.close()
    return found


def said(result: ToolResult) -> str:
    shown = result.spilled.shown if result.spilled else None
    return shown or "".join(block.text for block in result.content if isinstance(block, Text))


async def test_a_progress_bar_is_a_line_and_another_line_says_what_was_folded(tmp_path: Path) -> None:
    (result,) = (await results(tmp_path, ToolUse("t", "bash", {"command": BAR}))).values()
    bar, epoch, note = said(result).splitlines()
    assert (bar, epoch) == ("300% |########|", "epoch 1 val_acc=0.91")
    assert re.fullmatch(r"\[4,785 bytes of overwritten text and colors folded \| recall \d+ raw\]", note)


async def test_recall_brings_back_the_bytes(tmp_path: Path) -> None:
    first = ToolUse("t", "bash", {"command": BAR})
    (seq,) = await results(tmp_path / "a", first)
    again = ToolUse("u", "recall", {"entry": seq, "lines": "raw"})
    _, other = found = await results(tmp_path / "b", first, again)
    assert said(found[other]).startswith("\r  1% |########|\r  2% ")
    none = ToolUse("v", "recall", {"entry": other, "lines": "raw"})
    *_, refused = (await results(tmp_path / "c", first, again, none)).values()
    assert said(refused) == f"Entry {other} has no bytes besides its text"


async def test_without_a_log_or_recall_there_is_no_handle(tmp_path: Path) -> None:
    use = ToolUse("t", "bash", {"command": BAR})
    (unlogged,) = (await results(tmp_path / "a", use, keep=False)).values()
    alone = (await results(tmp_path / "b", use, sets=(f"tools.enabled={json.dumps(['bash'])}",))).popitem()[1]
    for one in (unlogged, alone):
        assert said(one).endswith("overwritten text and colors folded]")


async def test_what_a_command_prints_of_a_file_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    write = ToolUse("t", "bash", {"command": "printf 'a\\rb\\033[1mc' > bar.txt"})
    shows = ToolUse("u", "bash", {"command": "cat bar.txt"})
    _, printed = (await results(tmp_path / "work", write, shows)).values()
    assert said(printed) == "a\rb\x1b[1mc"
